//! Misfortune while the kernel observes: knee is killed at any moment of an observed run, descriptors and locked memory
//! run out, the disk is full. These tests load BPF programs and mount a small file system: they need root, and
//! `./dev live` runs them. No result depends on time: at every moment the outcome must be one of those allowed.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const KNEE: &str = env!("CARGO_BIN_EXE_knee");
const SWEEP: &[&str] = &["sweep", "-t", "1", "--runs", "2", "--warm-up", "0", "-q", "--format", "json", "-o", "out"];
const PROGRAM: &[&str] = &["--", "sh", "-c", "echo $$ >> pids; sleep 0.05; : {threads}"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A shell sets limits, then executes `before` and knee.
fn limited(folder: &Path, limits: &str, before: &[&str], knee: &Path) -> Output {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limits}; exec \"$@\""), "sh"])
        .args(before)
        .arg(knee)
        .args([SWEEP, PROGRAM].concat());
    command.current_dir(folder).output().unwrap()
}

/// True when a run was observed, or when the answer says why none was.
fn observed_or_said(answer: &Value) -> bool {
    let said = |list: &Value| list.as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("not be observed"));
    !answer["account"].as_array().unwrap().is_empty() || said(&answer["warnings"])
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn killed_at_any_moment_of_observing_it_leaves_no_target_and_a_recording_that_can_be_read() {
    for moment in 0..16 {
        let folder = tempfile::tempdir().unwrap();
        let mut knee = Command::new(KNEE)
            .args([SWEEP, &["--", "sh", "-c", "echo $$ >> pids; sleep 0.2; : {threads}"]].concat())
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(80 * moment));
        knee.kill().unwrap();
        knee.wait().unwrap();
        let output = Command::new(KNEE).args(["report", "out"]).current_dir(folder.path()).output().unwrap();
        let errors = text(&output.stderr);
        match output.status.code() {
            Some(0) => assert!(!output.stdout.is_empty()),
            Some(5) => assert!(errors.contains("no meta.json"), "{moment}: {errors}"),
            status => panic!("{moment}: {status:?} {errors}"),
        }
        // The kernel kills it when knee is gone; this may take until it gets a processor again.
        let pids = std::fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
        for pid in pids.lines() {
            let alive = || std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sh");
            let gone = (0..500).any(|_| {
                if alive() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                !alive()
            });
            assert!(gone, "{moment}: the target lives on");
        }
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn with_few_descriptors_the_curve_is_there_and_a_missing_cause_is_explained() {
    for descriptors in [8, 16, 20, 24, 32, 48, 64, 96, 128, 256] {
        let folder = tempfile::tempdir().unwrap();
        let output = limited(folder.path(), &format!("ulimit -n {descriptors}"), &[], Path::new(KNEE));
        let errors = text(&output.stderr);
        match output.status.code() {
            Some(0) => {
                let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(answer["curve"][0]["runs"], 2, "{descriptors}");
                assert!(observed_or_said(&answer), "{descriptors}: {:#}", answer["warnings"]);
            }
            Some(1 | 3) => assert!(errors.contains("Too many open files"), "{descriptors}: {errors}"),
            status => panic!("{descriptors}: {status:?} {errors}"),
        }
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn without_locked_memory_runs_are_still_observed() {
    for (limit, before) in [
        ("0", &[][..]),
        ("64", &[]),
        ("0", &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]),
        ("8", &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        // Another user must be able to reach it.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let knee = folder.path().join("knee");
        std::fs::copy(KNEE, &knee).unwrap();
        let output = limited(folder.path(), &format!("ulimit -l {limit}"), before, &knee);
        assert!(output.status.success(), "{limit} {before:?}: {}", text(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!answer["account"].as_array().unwrap().is_empty(), "{limit} {before:?}: {:#}", answer["warnings"]);
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_disk_that_fills_during_a_sweep_ends_it_in_words_and_keeps_what_was_whole() {
    let mut failed = 0;
    for kilobytes in [16, 32, 64, 96, 128, 256] {
        let folder = tempfile::tempdir().unwrap();
        let small = folder.path().join("small");
        std::fs::create_dir(&small).unwrap();
        let size = format!("size={kilobytes}k");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(&small).status().unwrap();
        assert!(mount.success());
        let run = |arguments: &[&str]| Command::new(KNEE).args(arguments).current_dir(&small).output().unwrap();
        let output = run(&[SWEEP, &["--", "sh", "-c", "sleep 0.02; : {threads}"]].concat());
        let report = run(&["report", "out"]);
        assert!(Command::new("umount").arg(&small).status().unwrap().success());
        let errors = text(&output.stderr);
        if !output.status.success() {
            failed += 1;
            assert_eq!(output.status.code(), Some(1), "{kilobytes} KiB: {errors}");
            assert!(errors.contains("No space left on device") && errors.contains("out"), "{kilobytes} KiB: {errors}");
        }
        assert!(matches!(report.status.code(), Some(0 | 5)), "{kilobytes} KiB: {}", text(&report.stderr));
    }
    assert!(failed >= 1, "the disks were meant to be too small");
}
