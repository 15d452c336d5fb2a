//! Faults that need no privileges: knee is killed, stopped or interrupted at any moment, calls are cut short, files
//! cannot grow, descriptors run out, a clock steps. At every moment the recording must be readable or refused with a
//! message. Faults while knee observes a program are in `live/faults.rs`.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const KNEE: &str = env!("CARGO_BIN_EXE_knee");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn report(folder: &Path) -> Output {
    Command::new(KNEE).args(["report", "out"]).current_dir(folder).output().unwrap()
}

/// A sweep of a shell under limits: `limits` are shell commands that run before the shell becomes knee.
fn limited(folder: &Path, limits: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$@\""), "sh", KNEE]).args(arguments);
    command.current_dir(folder).output().unwrap()
}

const SWEEP: &[&str] =
    &["sweep", "-t", "1,2", "--runs", "4", "--warm-up", "1", "--collector", "proc", "-q", "-o", "out"];
const PROGRAM: &[&str] = &["--", "sh", "-c", "echo $1 ops/s; sleep 0.01", "x", "{threads}"];

fn start(folder: &Path) -> Child {
    Command::new(KNEE)
        .args([SWEEP, PROGRAM].concat())
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_knee_killed_at_any_moment_leaves_a_readable_recording_or_none() {
    let (mut read, mut refused) = (0, 0);
    // From the start to somewhere near the end. The exact moment does not matter: every outcome is checked.
    for moment in 0..24 {
        let folder = tempfile::tempdir().unwrap();
        let mut knee = start(folder.path());
        std::thread::sleep(Duration::from_millis(moment * moment));
        knee.kill().unwrap();
        knee.wait().unwrap();
        let output = report(folder.path());
        match output.status.code() {
            Some(0) => {
                read += 1;
                assert!(!output.stdout.is_empty());
            }
            // Not even meta.json had been written.
            Some(5) => {
                refused += 1;
                let errors = text(&output.stderr);
                assert!(errors.contains("no meta.json") && !folder.path().join("out/meta.json").exists(), "{errors}");
            }
            status => panic!("{status:?} after {moment}: {}", text(&output.stderr)),
        }
    }
    assert_eq!(read + refused, 24);
}

#[test]
fn stopping_and_continuing_knee_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut knee = start(folder.path());
    let send = |signal: &str| {
        let sent = Command::new("kill").args([signal, &knee.id().to_string()]).stderr(Stdio::null()).status();
        assert!(sent.is_ok());
    };
    // Waiting calls return early (EINTR) when a stopped process continues.
    for _ in 0..20 {
        send("-STOP");
        send("-CONT");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(knee.wait().unwrap().success());
    let output = report(folder.path());
    assert!(output.status.success() && text(&output.stdout).contains("4 runs"), "{}", text(&output.stdout));
}

#[test]
fn a_signal_to_end_at_any_moment_keeps_the_runs_so_far() {
    for moment in 0..18 {
        let folder = tempfile::tempdir().unwrap();
        let mut knee = start(folder.path());
        std::thread::sleep(Duration::from_millis(moment * moment));
        let signal = ["-INT", "-TERM", "-HUP"][moment as usize % 3];
        assert!(Command::new("kill").args([signal, &knee.id().to_string()]).stderr(Stdio::null()).status().is_ok());
        // Before knee listens for signals, the signal ends it at once; the signal can also come after the end.
        let status = knee.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 130) | None), "{moment}: {status:?}");
        let output = report(folder.path());
        let errors = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 5)), "{moment}: {errors}");
        assert!(output.status.success() || errors.contains("no meta.json"), "{moment}: {errors}");
    }
}

#[test]
fn harmless_signals_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut knee = start(folder.path());
    for turn in 0..60 {
        let signal = ["-CHLD", "-WINCH", "-URG", "-CONT"][turn % 4];
        assert!(Command::new("kill").args([signal, &knee.id().to_string()]).stderr(Stdio::null()).status().is_ok());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(knee.wait().unwrap().success());
    let output = report(folder.path());
    assert!(output.status.success() && text(&output.stdout).contains("4 runs"), "{}", text(&output.stdout));
}

/// A sweep by a knee that has `targets/misfortune.c` preloaded.
fn unlucky(folder: &Path, what: &str) -> Output {
    let (source, library) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/targets/misfortune.c"), folder.join("unlucky.so"));
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&library).arg(source).status();
    assert!(built.unwrap().success());
    let mut knee = Command::new(KNEE);
    knee.args([SWEEP, &["--format", "json"], PROGRAM].concat()).current_dir(folder);
    knee.env("LD_PRELOAD", &library).env("KNEE_TEST_MISFORTUNE", what).output().unwrap()
}

#[test]
fn interrupted_and_partial_system_calls_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = unlucky(folder.path(), "calls");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["curve"][0]["runs"], &answer["curve"][1]["runs"]), (&4.into(), &4.into()));
    // Each run printed what it was asked to print, so its output was read to the end.
    assert_eq!(answer["curve"][1]["throughput"]["median"], 2.0, "{:#}", answer["curve"]);
    let output = report(folder.path());
    assert!(output.status.success() && text(&output.stdout).contains("4 runs"), "{}", text(&output.stdout));
}

#[test]
fn a_step_of_the_wall_clock_changes_no_measured_time() {
    let folder = tempfile::tempdir().unwrap();
    let output = unlucky(folder.path(), "clock");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for point in answer["curve"].as_array().unwrap() {
        // The program sleeps for 10 ms; the clock steps by an hour.
        let seconds = point["seconds"]["max"].as_f64().unwrap();
        assert!((0.01..600.0).contains(&seconds), "{point:#}");
    }
    assert!(report(folder.path()).status.success());
}

/// The size of files is limited to some blocks of 512 bytes: writes get shorter and then fail, as on a full disk.
#[test]
fn a_file_that_cannot_grow_is_named_in_the_error() {
    let mut failed = 0;
    for blocks in [0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 64] {
        let folder = tempfile::tempdir().unwrap();
        let limits = format!("trap '' XFSZ; ulimit -f {blocks}");
        let output = limited(folder.path(), &limits, &[SWEEP, PROGRAM].concat());
        let errors = text(&output.stderr);
        if !output.status.success() {
            failed += 1;
            assert_eq!(output.status.code(), Some(1), "{blocks}: {errors}");
            assert!(errors.contains("File too large") && errors.contains("out"), "{blocks}: {errors}");
        }
        // What was complete before is still there.
        let output = report(folder.path());
        assert!(matches!(output.status.code(), Some(0 | 5)), "{blocks}: {}", text(&output.stderr));
    }
    assert!(failed >= 3, "the limits were meant to be too small");
}

#[test]
fn a_lack_of_descriptors_is_reported() {
    let mut failed = 0;
    for descriptors in [4, 5, 6, 8, 10, 12, 16, 24, 64] {
        let folder = tempfile::tempdir().unwrap();
        let output = limited(folder.path(), &format!("ulimit -n {descriptors}"), &[SWEEP, PROGRAM].concat());
        let errors = text(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            // With very few descriptors not even the loader can open its libraries.
            Some(127) => assert!(errors.contains("shared lib"), "{descriptors}: {errors}"),
            Some(1 | 3) => {
                failed += 1;
                assert!(errors.contains("Too many open files"), "{descriptors}: {errors}");
            }
            status => panic!("{descriptors}: {status:?} {errors}"),
        }
    }
    assert!(failed >= 1, "the limits were meant to be too small");
}

/// A recording that is whole is not called damaged where knee may open too few files to read it.
#[test]
fn a_lack_of_descriptors_is_no_damage_of_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(KNEE).args([SWEEP, PROGRAM].concat()).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut failed = 0;
    for descriptors in 3..16 {
        let output = limited(folder.path(), &format!("ulimit -n {descriptors}"), &["report", "out"]);
        let errors = text(&output.stderr);
        match output.status.code() {
            Some(0 | 127) => {}
            Some(1) => {
                failed += 1;
                assert!(errors.contains("Too many open files"), "{descriptors}: {errors}");
                assert!(!errors.contains("damaged"), "{descriptors}: {errors}");
            }
            status => panic!("{descriptors}: {status:?} {errors}"),
        }
    }
    assert!(failed >= 1, "the limits were meant to be too small");
}
