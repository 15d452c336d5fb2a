//! `knee import`, and what other commands do with an imported recording.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/perf-script").join(name);
    path.canonicalize().unwrap().to_string_lossy().into_owned()
}

fn knee(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knee")).args(arguments).current_dir(folder).output().unwrap()
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = knee(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(folder: &Path, arguments: &[&str], status: i32, part: &str) {
    let output = knee(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {errors}");
    assert!(errors.contains(part), "{arguments:?}: {errors}");
}

/// A folder with a recording of two profiles, and what importing printed.
fn imported() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let profiles = [format!("4={}", fixture("birthday-4.txt")), format!("1={}", fixture("birthday-1.txt"))];
    let answer = printed(folder.path(), &["import", &profiles[0], &profiles[1], "-o", "r"]);
    (folder, answer)
}

#[test]
fn profiles_at_two_counts_show_what_grew_and_no_cause() {
    let (folder, answer) = imported();
    let at = folder.path();
    assert!(answer.contains("From 1 thread to 4 the profiled processor time went from"), "{answer}");
    assert!(answer.contains("No timed runs") && !answer.contains("Scaling") && !answer.contains("Where the time went"));
    for cause in ["imbalance", "user-lock", "serial-phase", "condition-wait"] {
        assert!(answer.contains(cause), "{cause} is unsure: {answer}");
    }
    let functions = printed(at, &["show", "functions", "r", "--sort", "growth", "--format", "csv"]);
    assert!(functions.contains("__random,libc.so.6,"), "{functions}");
    assert!(functions.contains("[") && functions.lines().any(|line| line.contains(",kernel,")), "{functions}");
    let threads = printed(at, &["show", "threads", "r", "--format", "json"]);
    let threads: serde_json::Value = serde_json::from_str(&threads).unwrap();
    assert_eq!(threads["rows"].as_array().unwrap().len(), 4);
    assert!(threads["rows"][0]["blocked_s"].is_null() && threads["rows"][0]["running_s"].as_f64().unwrap() > 0.0);
    for table in ["locks", "waits", "syscalls", "sharing", "wakers"] {
        assert!(printed(at, &["show", table, "r"]).contains("imported from a profile"), "{table}");
    }
    assert!(printed(at, &["show", "lines", "r"]).contains("function"));
    assert!(printed(at, &["show", "timeline", "r"]).contains("birthday"));
    assert!(printed(at, &["export", "r", "--to", "folded", "-o", "-"]).contains("birthday;"));
    for format in ["perfetto", "firefox", "pprof", "csv", "parquet"] {
        printed(at, &["export", "r", "--to", format, "-o", &format!("out-{format}")]);
    }
    printed(at, &["report", "r", "--html", "page.html"]);
    let page = std::fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("Threads over time") && page.contains("What grew") && page.contains("Imported from"));
    assert!(!page.contains("Who waits for whom</h3>") && !page.contains("Repeat it"));
    refused(at, &["diff", "r", "r"], 2, "no timed runs to compare");
    assert_eq!(printed(at, &["report", "r"]), answer, "the recording gives the same answer again");
}

#[test]
fn the_answer_for_scripts_keeps_its_shape() {
    let (folder, _) = imported();
    let answer: serde_json::Value =
        serde_json::from_str(&printed(folder.path(), &["report", "r", "--format", "json"])).unwrap();
    assert_eq!((answer["curve"].as_array().unwrap().len(), answer["account"].as_array().unwrap().len()), (0, 0));
    assert_eq!(answer["verdict"]["causes"][0]["id"], "none");
    let own = analyze::causes::all().filter(|meta| !meta.standing.is_outside()).count();
    assert_eq!(answer["verdict"]["unsure"].as_array().unwrap().len(), own);
}

#[test]
fn standard_input_is_a_profile_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["import", "-", "-o", "r"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = std::fs::read(fixture("birthday-dwarf.txt")).unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let lines = printed(folder.path(), &["show", "lines", "r"]);
    assert!(lines.contains("birthday.c:"), "{lines}");
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("perf.data"), b"PERFILE2\0\0\0").unwrap();
    std::fs::write(at.join("text"), "hello\nworld\n").unwrap();
    std::fs::write(at.join("switches"), "app 12 [000] 1.0: sched:sched_switch: x\n\n").unwrap();
    refused(at, &["import", "perf.data"], 5, "perf script --header -i perf.data");
    refused(at, &["import", "text"], 5, "its first line is: hello");
    refused(at, &["import", "switches"], 5, "perf record -e cpu-clock");
    refused(at, &["import", "missing"], 2, "cannot read missing");
    refused(at, &["import", "."], 2, "cannot read .");
    refused(at, &["import", "text", "switches"], 2, "N=FILE");
    refused(at, &["import", "1=-", "2=-"], 2, "only once");
    refused(at, &["import"], 2, "FILE");
    let (one, again) = (format!("2={}", fixture("birthday-1.txt")), format!("2={}", fixture("birthday-4.txt")));
    refused(at, &["import", &one, &again], 2, "thread count 2");
    std::fs::create_dir(at.join("there")).unwrap();
    refused(at, &["import", &fixture("birthday-1.txt"), "-o", "there"], 2, "does not exist yet");
}
