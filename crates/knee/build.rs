//! Tells the binary which sources it is built from: git's description of them, if they are a checkout, and their time
//! (SOURCE_DATE_EPOCH, else that of the last commit). The time of the build is not included, so that the same sources
//! give the same binary.
//!
//! Also makes the libraries in `preload`, which trials load before a program's own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    preloads();
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let epoch = env::var("SOURCE_DATE_EPOCH").ok();
    if is_checkout() {
        // HEAD moves when another branch is checked out, its log when there is a commit, tags when there is a release.
        for name in ["HEAD", "logs/HEAD", "refs/tags", "packed-refs"] {
            let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
            // A path that does not exist would make cargo run this script in every build.
            path.inspect(|path| println!("cargo::rerun-if-changed={path}"));
        }
        // A fixed number of digits: git's default depends on the clone, but the same sources must give the same
        // version.
        let commit = git(&["describe", "--tags", "--always", "--abbrev=12", "--match", "v[0-9]*"]);
        commit.inspect(|commit| println!("cargo::rustc-env=KNEE_COMMIT={commit}"));
    }
    let committed = || is_checkout().then(|| git(&["log", "-1", "--format=%ct"])).flatten();
    if let Some(epoch) = epoch.or_else(committed) {
        println!("cargo::rustc-env=KNEE_SOURCE_EPOCH={epoch}");
    }
}

/// Each source becomes a library of the same name. Where there is no C compiler for the target it stays empty, and knee says so
/// when a trial needs it.
fn preloads() {
    println!("cargo::rerun-if-changed=preload");
    println!("cargo::rerun-if-env-changed=CC");
    let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        println!("cargo::error=OUT_DIR is not set: this script is to be run by cargo");
        return;
    };
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let arch = target("ARCH");
    // The libraries link to nothing, so the host's compiler can build them for any C library on its own architecture.
    let native = arch == env::consts::ARCH;
    let compiler = match env::var("CC") {
        Ok(compiler) if native => compiler,
        _ if native => "cc".to_owned(),
        _ => format!("{arch}-linux-gnu-gcc"),
    };
    let mut missing = Vec::new();
    for name in ["nothing", "random", "mutex", "lines"] {
        let (source, library) = (format!("preload/{name}.c"), folder.join(format!("{name}.so")));
        let mut command = Command::new(&compiler);
        command.args(["-O2", "-std=c11", "-fPIC", "-shared", "-nostdlib", "-ffreestanding", "-fno-builtin", "-s"]);
        // No build id, so that the same sources give the same library.
        command.args(["-ftls-model=initial-exec", "-Wl,--build-id=none", "-o"]).arg(&library).arg(&source);
        if !command.output().is_ok_and(|output| output.status.success()) {
            missing.push(name);
            if let Err(error) = fs::write(&library, []) {
                println!("cargo::error=failed to write {}: {error}", library.display());
            }
        }
    }
    if !missing.is_empty() {
        println!(
            "cargo::warning={compiler} failed to build {}: knee will lack the trials that use them",
            missing.join(", ")
        );
    }
}

/// Sources unpacked inside another project's checkout have nothing to do with its commits.
fn is_checkout() -> bool {
    let top = git(&["rev-parse", "--show-toplevel"]).and_then(|top| Path::new(&top).canonicalize().ok());
    top.is_some() && top == Path::new("../..").canonicalize().ok()
}

/// What git prints in this package's folder; none without git, without a checkout, or without output.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // When a git hook runs the build, these variables point to the hook's checkout.
    command.args(arguments).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
