//! Faults during an observed run: knee is killed at any moment, descriptors and locked memory run out, the disk is full.
//! These tests load BPF programs and mount a small file system: they need root, and `./dev live` runs them. No result
//! depends on time: at every moment the outcome must be one of those allowed.
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
    // Debian's `sh` has no limit of processes.
    let mut command = Command::new("bash");
    command
        .args(["-c", &format!("set -e; {limits}; exec \"$@\""), "bash"])
        .args(before)
        .arg(knee)
        .args([SWEEP, PROGRAM].concat());
    command.current_dir(folder).output().unwrap()
}

/// True when a run was observed, or the answer says why none was: an observed run failed, or none was made because not
/// even the simplest way to observe had what it needs.
fn observed_or_explained(answer: &Value) -> bool {
    let list = |name: &str| answer[name].as_array().unwrap();
    let failed = list("warnings").iter().any(|w| w.as_str().unwrap().contains("not be observed"));
    let no_way = list("limitations").iter().any(|limitation| {
        limitation["what"] == "observation through /proc"
            && limitation["why"].as_str().unwrap().contains("Too many open files")
    });
    !list("account").is_empty() || failed || no_way
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_knee_killed_while_it_observes_leaves_no_target_and_a_readable_recording() {
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
            assert!(gone, "{moment}: the target is still alive");
        }
    }
}

/// A child that is ended with the test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The kernel gives up checking a BPF program when a signal comes, even a stop and a continuation.
#[test]
#[ignore = "needs root: run ./dev live"]
fn stopping_and_continuing_knee_while_it_loads_programs_does_no_harm() {
    let target = Ended(Command::new("sleep").arg("100").stdout(Stdio::null()).spawn().unwrap());
    let pid = target.0.id().to_string();
    for moment in 0..8 {
        for arguments in
            [&["record", "-o", "out", "-p", &pid, "--for", "50ms"][..], &["record", "-o", "out", "--", "true"]]
        {
            let folder = tempfile::tempdir().unwrap();
            let knee = Command::new(KNEE)
                .args(arguments)
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(20 * moment));
            let storm = "i=0; while [ $i -lt 200 ]; do kill -STOP $0; kill -CONT $0; i=$((i+1)); done; kill -CONT $0";
            let sent = Command::new("sh").args(["-c", storm, &knee.id().to_string()]).stderr(Stdio::null()).status();
            assert!(sent.is_ok());
            let output = knee.wait_with_output().unwrap();
            assert!(output.status.success(), "{arguments:?} at {moment}: {}", text(&output.stderr));
        }
    }
}

/// Only eBPF can record a program that runs already. Without descriptors it cannot, and the message blames no missing
/// right.
#[test]
#[ignore = "needs root: run ./dev live"]
fn with_few_descriptors_a_running_program_is_refused_with_the_reason() {
    let target = Ended(Command::new("sleep").arg("100").stdout(Stdio::null()).spawn().unwrap());
    let pid = target.0.id().to_string();
    for descriptors in [8, 16, 24, 32, 40, 48, 56, 64] {
        let folder = tempfile::tempdir().unwrap();
        let mut knee = Command::new("sh");
        knee.args(["-c", &format!("ulimit -n {descriptors}; exec \"$@\""), "sh", KNEE]);
        knee.args(["record", "-o", "out", "-p", &pid, "--for", "50ms"]);
        let output = knee.current_dir(folder.path()).output().unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{descriptors}: {errors}");
        assert!(errors.contains("Too many open files") && errors.contains("ulimit -n"), "{descriptors}: {errors}");
        assert!(!errors.contains("container") && !errors.contains("--collector"), "{descriptors}: {errors}");
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
                assert!(
                    observed_or_explained(&answer),
                    "{descriptors}: {:#} {:#}",
                    answer["warnings"],
                    answer["limitations"]
                );
            }
            Some(1 | 3) => assert!(errors.contains("Too many open files"), "{descriptors}: {errors}"),
            status => panic!("{descriptors}: {status:?} {errors}"),
        }
    }
}

/// Run as a user that has no other processes, so that the limit counts only knee's.
#[test]
#[ignore = "needs root: run ./dev live"]
fn a_lack_of_processes_is_reported_and_knee_does_not_hang() {
    let mut failed = 0;
    for processes in [1, 2, 3, 4, 5, 6, 7, 8] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let knee = folder.path().join("knee");
        std::fs::copy(KNEE, &knee).unwrap();
        let nobody = ["timeout", "60", "setpriv", "--reuid=64321", "--regid=64321", "--clear-groups", "--"];
        let output = limited(folder.path(), &format!("ulimit -u {processes}"), &nobody, &knee);
        let errors = text(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(1) => {
                failed += 1;
                assert!(errors.contains("Resource temporarily unavailable"), "{processes}: {errors}");
                assert!(errors.contains("ulimit -u"), "{processes}: {errors}");
            }
            // Enough for knee, but too few for the program, which is a shell.
            Some(3) => assert!(errors.contains("fork"), "{processes}: {errors}"),
            status => panic!("{processes}: {status:?} {errors}"),
        }
    }
    assert!(failed >= 1, "the limits were meant to be too small");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_filter_of_system_calls_is_named_as_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/targets/filtered.c");
    let filtered = folder.path().join("filtered");
    assert!(Command::new("cc").args(["-O1", "-o"]).arg(&filtered).arg(source).status().unwrap().success());
    let run =
        |arguments: &[&str]| Command::new(&filtered).arg(KNEE).args(arguments).current_dir(folder.path()).output();
    let doctor = text(&run(&["doctor", "--format", "json"]).unwrap().stdout);
    let found: Value = serde_json::from_str(&doctor).unwrap();
    let about = |what: &str| found.as_array().unwrap().iter().find(|c| c["what"] == what).unwrap().clone();
    let bpf = about("kernel observation (eBPF)");
    assert!(bpf["why"].as_str().unwrap().contains("seccomp"), "{bpf:#}");
    assert!(bpf["unlock"].as_str().unwrap().contains("allow it the calls"), "{bpf:#}");
    let perf = about("observation by perf events");
    assert!(perf["unlock"].as_str().unwrap().contains("container"), "{perf:#}");
    // Without eBPF it observes through /proc.
    let output = run(&["record", "-o", "out", "--", "sleep", "0.1"]).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = run(&["record", "-o", "running", "-p", "1", "--for", "50ms"]).unwrap();
    assert!(output.status.code() == Some(4) && text(&output.stderr).contains("seccomp"), "{}", text(&output.stderr));
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
fn a_disk_that_fills_up_ends_the_sweep_with_a_message_and_keeps_complete_files() {
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
