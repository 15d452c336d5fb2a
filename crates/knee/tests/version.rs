//! Which sources a build says that it is made from: `build.rs` is compiled alone and run in test folders, as cargo
//! would run it there.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// 2026-11-21, 00:00 UTC.
const COMMITTED: &str = "1795219200";

/// The build script as a program.
fn script(place: &Path) -> PathBuf {
    let program = place.join("build-script");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
    let compiled = Command::new("rustc").args(["--edition", "2024", "-o"]).arg(&program).arg(source).status().unwrap();
    assert!(compiled.success());
    program
}

/// A folder of sources: the script only looks at the folder where it runs.
fn sources(place: &Path, name: &str) -> PathBuf {
    let folder = place.join(name);
    fs::create_dir_all(folder.join("crates/knee")).unwrap();
    fs::write(folder.join("crates/knee/build.rs"), "").unwrap();
    folder
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", format!("{COMMITTED} +0000"))
        .env("GIT_COMMITTER_DATE", format!("{COMMITTED} +0000"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn commit(folder: &Path) {
    git(folder, &["init", "-q"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-q", "-m", "first"]);
}

/// The variables that the script gives the compiler, in its order.
fn variables(script: &Path, sources: &Path, epoch: Option<&str>) -> Vec<(String, String)> {
    let mut command = Command::new(script);
    // The temporary folder may lie inside somebody's checkout.
    command.env("GIT_CEILING_DIRECTORIES", script.parent().unwrap()).env_remove("SOURCE_DATE_EPOCH");
    command.envs(epoch.map(|epoch| ("SOURCE_DATE_EPOCH", epoch)));
    // A test inherits the folder of the real build, and the script writes there.
    command.env("OUT_DIR", script.parent().unwrap());
    let output = command.current_dir(sources.join("crates/knee")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let variables = text.lines().filter_map(|line| line.strip_prefix("cargo::rustc-env=")?.split_once('='));
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn without_a_checkout_only_the_builders_date_is_named() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let script = script(&place);
    let archive = sources(&place, "archive");
    assert_eq!(variables(&script, &archive, None), []);
    assert_eq!(variables(&script, &archive, Some("1763683200")), [pair("KNEE_SOURCE_EPOCH", "1763683200")]);

    // Another project's checkout, whose commits are not knee's.
    let other = sources(&place, "other");
    commit(&other);
    assert_eq!(variables(&script, &sources(&other, "vendor/knee"), None), []);
}

#[test]
fn a_checkout_is_named_by_its_commit_and_its_day() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let script = script(&place);
    let checkout = sources(&place, "checkout");
    commit(&checkout);

    let first = variables(&script, &checkout, None);
    let [(name, commit), epoch] = first.as_slice() else { panic!("{first:?}") };
    assert!(name == "KNEE_COMMIT" && commit.len() == 12 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{commit}");
    assert_eq!(*epoch, pair("KNEE_SOURCE_EPOCH", COMMITTED));
    assert_eq!(variables(&script, &checkout, None), first, "the same sources, the same version");

    let other_day = variables(&script, &checkout, Some("1763683200"));
    assert_eq!(other_day, [pair("KNEE_COMMIT", commit), pair("KNEE_SOURCE_EPOCH", "1763683200")]);

    git(&checkout, &["tag", "v1.2.3"]);
    git(&checkout, &["tag", "nightly"]);
    assert_eq!(
        variables(&script, &checkout, None),
        [pair("KNEE_COMMIT", "v1.2.3"), pair("KNEE_SOURCE_EPOCH", COMMITTED)]
    );
}
