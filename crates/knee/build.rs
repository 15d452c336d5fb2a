//! Tells the binary which sources it is built from: git's description of them where these are a checkout, and the time that
//! belongs to them (SOURCE_DATE_EPOCH, else the last commit's). The time of the build itself is nowhere, so that the same
//! sources give the same binary.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let epoch = env::var("SOURCE_DATE_EPOCH").ok();
    if is_checkout() {
        // HEAD moves when another branch is checked out, its log when there is a commit, tags when there is a release.
        for name in ["HEAD", "logs/HEAD", "refs/tags", "packed-refs"] {
            let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
            // A path that does not exist would make every build a new one.
            path.inspect(|path| println!("cargo::rerun-if-changed={path}"));
        }
        // So many digits whatever git would think enough for the clone at hand: the same sources, the same version.
        let commit = git(&["describe", "--tags", "--always", "--abbrev=12", "--match", "v[0-9]*"]);
        commit.inspect(|commit| println!("cargo::rustc-env=KNEE_COMMIT={commit}"));
    }
    let committed = || is_checkout().then(|| git(&["log", "-1", "--format=%ct"])).flatten();
    if let Some(epoch) = epoch.or_else(committed) {
        println!("cargo::rustc-env=KNEE_SOURCE_EPOCH={epoch}");
    }
}

/// Sources unpacked inside the checkout of something else have nothing to do with its commits.
fn is_checkout() -> bool {
    let top = git(&["rev-parse", "--show-toplevel"]).and_then(|top| Path::new(&top).canonicalize().ok());
    top.is_some() && top == Path::new("../..").canonicalize().ok()
}

/// What git says in this package's folder; absent where there is no git, no checkout, or nothing to say.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A hook that builds would pass on its own idea of the checkout.
    command.args(arguments).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
