//! The binary as a user or a script sees it: help texts, exit statuses, a sweep of a shell command.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::Path;
use std::process::{Command, Output};

fn knee(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap()
}

/// Exit status and standard error of a call that must fail.
fn fails(arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = knee(folder.path(), arguments);
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    (output.status.code().unwrap(), text(&output.stderr))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn help_texts() {
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments) in [("knee", &[][..]), ("sweep", &["sweep", "--help"]), ("doctor", &["doctor", "-h"])] {
        let output = knee(folder.path(), arguments);
        assert!(output.status.success());
        insta::assert_snapshot!(name, text(&output.stdout));
    }
}

/// A file or a pipe has no right edge, unless COLUMNS says so.
#[test]
fn files_and_pipes_get_whole_texts_unless_columns_is_set() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for arguments in [&["report", "birthday"][..], &["show", "functions", "birthday"], &["show", "waits", "pagesum"]] {
        let printed = |columns: Option<&str>| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
            command.args(arguments).current_dir(&fixtures).envs([("NO_COLOR", "1"), ("LC_ALL", "C.UTF-8")]);
            command.env_remove("COLUMNS").envs(columns.map(|columns| ("COLUMNS", columns)));
            text(&command.output().unwrap().stdout)
        };
        let whole = printed(None);
        assert!(!whole.contains('…') && !whole.contains("No room for"), "{arguments:?}: {whole}");
        for columns in [50, 80, 120] {
            let shown = printed(Some(&columns.to_string()));
            assert!(!shown.is_empty() && shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
        }
        assert_eq!(printed(Some("wide")), whole);
    }
}

#[test]
fn usage_errors() {
    for (arguments, part) in [
        (&["sweep", "-t", "0", "--", "true"][..], "at least 1 thread"),
        (&["sweep", "-t", "", "--", "true"], "a thread count is missing"),
        (&["sweep", "-t", "1,1", "--", "true"], "listed twice"),
        (&["sweep", "-t", "1"], "COMMAND"),
        (&["sweep", "--", "true", "{threads}"], "--threads <LIST>"),
        (&["--", "true", "{threads}"], "hint: for example: -t 1,2,4"),
        (&["sweep", "--processors", "1,9999", "--", "true"], "--processors 9999: the program may use"),
        (&["sweep", "--processors", "1", "-t", "1", "--", "true"], "cannot be used with"),
        (&["sweep", "--processors", "0", "--", "true"], "at least 1 processor"),
        (&["sweep", "--processors", "1", "--", "true", "{threads}"], "write {processors} where true takes it"),
        (&["sweep", "-t", "1", "--", "true", "4"], "OMP_NUM_THREADS={threads}"),
        (&["sweep", "-t", "1", "--env", "A", "--", "true", "{threads}"], "NAME=VALUE"),
        (&["sweep", "-t", "1", "--throughput", "x(", "--", "true", "{threads}"], "unclosed group"),
        (&["sweep", "-t", "1", "--throughput", "x", "--", "true", "{threads}"], "no group"),
        (&["sweep", "-t", "1", "--timeout", "0", "--", "true", "{threads}"], "above 0"),
        (&["sweep", "-t", "1", "-o", ".", "--", "true", "{threads}"], "-o DIR"),
        (&["sweep", "-t", "1", "-o", "no/such/parent", "--", "true", "{threads}"], "No such file"),
        (&["swep"], "'sweep'"),
        (&["./app", "--threads=4"], "hint: one run of ./app: knee record -- ./app --threads=4"),
        (&["sweep", "-t", "1", "2", "--", "true", "{threads}"], "hint: thread counts are one word"),
        (&["record", "./app", "4"], "hint: the program and its arguments go after --"),
        (&["report"], "hint: knee sweep and knee record make recordings"),
        (&["explain", "gremlins"], "no cause `gremlins`"),
        (&["explain", "quota"], "did you mean cpu-quota?"),
        (&["explain", "user-lok"], "did you mean user-lock?"),
        (&["explain", "user-lock", "--all"], "cannot be used with"),
        (&["diff", "."], "<AFTER>"),
    ] {
        let (status, errors) = fails(arguments);
        assert_eq!(status, 2, "{arguments:?}: {errors}");
        assert!(errors.contains(part), "{arguments:?}: {errors}");
    }
}

#[test]
fn missing_programs() {
    let (status, errors) = fails(&["sweep", "-t", "1", "--", "no-such-program", "{threads}"]);
    assert_eq!((status, errors.contains("cannot find the program no-such-program")), (3, true), "{errors}");
    let (status, errors) = fails(&["sweep", "-t", "1", "--", "./no-such-program", "{threads}"]);
    assert_eq!((status, errors.contains("No such file")), (3, true), "{errors}");
}

#[test]
fn unreadable_recordings() {
    let (status, errors) = fails(&["report", "."]);
    assert_eq!((status, errors.contains("no meta.json")), (5, true), "{errors}");
    assert!(errors.contains("hint: knee sweep and knee record make recordings"), "{errors}");
    assert_eq!(fails(&["report", "missing"]).0, 5);
    assert_eq!(fails(&["diff", "missing", "."]).0, 5);
}

const QUICK: [&str; 7] = ["sweep", "-t", "1,2", "--runs", "2", "--warm-up", "0"];

fn sweep(folder: &Path, options: &[&str], script: &str) -> Output {
    let arguments = [&QUICK[..], &["--no-trace", "-o", "out"], options, &["--", "sh", "-c", script, "x", "{threads}"]];
    knee(folder, &arguments.concat())
}

#[test]
fn a_failing_program_shows_its_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let output = sweep(folder.path(), &[], "echo starting; echo no such input >&2; exit 7");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("exit status 7") && errors.contains("  | no such input"), "{errors}");
    assert_eq!(errors.matches("no such input").count(), 1);
}

#[test]
fn a_count_that_fails_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let output = sweep(folder.path(), &[], "test $1 = 1");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("going on without this count"));
    assert!(text(&output.stdout).contains("with 2 threads a run failed (exit status 1)"), "{}", text(&output.stdout));
}

#[test]
fn a_pattern_that_matches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = sweep(folder.path(), &["--throughput", "rate=([0-9]+)"], "echo speed=3");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("matched no number") && errors.contains("  | speed=3"), "{errors}");
}

#[test]
fn a_run_that_takes_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let output = sweep(folder.path(), &["--timeout", "0.2"], "exec sleep 60");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("longer than 0.2 s"), "{}", text(&output.stderr));
}

#[test]
fn a_sweep_leaves_a_recording_that_report_reads_again() {
    let folder = tempfile::tempdir().unwrap();
    let output = sweep(folder.path(), &["--format", "json", "--env", "N={threads}"], "echo $N rate: $1 ops/s");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["curve"][1]["throughput"]["median"], 2.0);
    assert_eq!(answer["throughput"]["given"], false);
    let nearby = knee(folder.path(), &["report", "."]);
    assert!(text(&nearby.stderr).contains("hint: the newest recording in it is ./out"), "{}", text(&nearby.stderr));
    let inside = knee(folder.path(), &["report", "out/verdict.json"]);
    assert!(text(&inside.stderr).contains("hint: name the recording's folder: out"), "{}", text(&inside.stderr));
    let out = folder.path().join("out");
    assert_eq!(std::fs::read(out.join("verdict.json")).unwrap(), output.stdout);
    assert_eq!(std::fs::read_to_string(out.join("output/run-000.out")).unwrap().split(' ').nth(1), Some("rate:"));
    let again = knee(folder.path(), &["report", "out", "--format", "json"]);
    assert_eq!(again.stdout, output.stdout);
    let shown = knee(folder.path(), &["report", "out"]);
    let files = "Recording      out with verdict.json, report.html, output/";
    assert!(text(&shown.stdout).contains(files), "{}", text(&shown.stdout));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("id=\"scaling\""), "{}", page.len());
    let elsewhere = knee(folder.path(), &["report", "out", "--html", "page.html"]);
    assert!(elsewhere.status.success() && elsewhere.stdout.is_empty(), "{}", text(&elsewhere.stderr));
    assert!(folder.path().join("page.html").exists());
    for arguments in [&["show", "locks", "out"][..], &["export", "out", "--to", "folded", "-o", "x"]] {
        let (status, errors) = (knee(folder.path(), arguments).status.code(), knee(folder.path(), arguments).stderr);
        assert_eq!((status, text(&errors).contains("no observed run")), (Some(5), true), "{}", text(&errors));
    }
    assert!(knee(folder.path(), &["export", "out", "--to", "parquet", "-o", "copy"]).status.success());
    assert_eq!(knee(folder.path(), &["report", "copy", "--format", "json"]).stdout, output.stdout);
    let same = knee(folder.path(), &["diff", "out", "out"]);
    assert!(
        text(&same.stdout).contains("cannot be told, because at least 5 runs of each are needed"),
        "{}",
        text(&same.stdout)
    );
    let json = knee(folder.path(), &["diff", "out", "out", "--format", "json"]);
    let comparison: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(comparison["curve"][1]["speed"], 1.0);
}

#[test]
fn a_sweep_over_processors_keeps_the_program_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--processors", "1", "--runs", "2", "--warm-up", "0", "--no-trace", "-q", "-o", "out"];
    let script = "grep Cpus_allowed_list /proc/self/status | wc -w; echo $1 $PYTHON_CPU_COUNT $GOMAXPROCS";
    let command = ["sh", "-c", script, "x", "{processors}"];
    let before = ["--env", "GOMAXPROCS=3", "--format", "json", "--"];
    let output = knee(folder.path(), &[&["sweep"], &options[..], &before, &command].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = std::fs::read_to_string(folder.path().join("out/output/run-000.out")).unwrap();
    assert_eq!(printed, "2\n1 1 3\n");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["counted"], &answer["curve"][0]["processors"]), (&"processors".into(), &1.into()));
    assert_eq!(answer["curve"][0]["threads"], 1);
    assert!(answer["warnings"].to_string().contains("GOMAXPROCS=3 is set"), "{answer:#}");
    let shown = text(&knee(folder.path(), &["report", "out"]).stdout);
    assert!(shown.contains("\nprocessors  time") && shown.contains("PYTHON_CPU_COUNT"), "{shown}");
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("--processors") && page.contains(">processors</th>"), "{}", page.len());
}

#[test]
fn a_condition_for_failing_decides_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let status = |name: &str, condition: &str| {
        let options = ["--fail-if", condition, "--fail-if-unsure", "-o", name, "--no-trace", "-q"];
        let command = ["--", "sh", "-c", "sleep 0.02", "x", "{threads}"];
        let output = knee(folder.path(), &[&QUICK[..], &options, &command].concat());
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (code, errors) = status("slow", "seconds(2) > 0.000001");
    assert_eq!((code, errors.contains("knee: seconds(2) > 0.000001 is true")), (1, true), "{errors}");
    assert_eq!(status("fast", "seconds(2) > 1000000000").0, 0);
    let (code, errors) = status("none", "throughput(2) < 5");
    assert_eq!((code, errors.contains("cannot be told")), (6, true), "{errors}");
    let (code, errors) = status("never", "seconds(4) > 1");
    assert_eq!((code, errors.contains("does not run that count")), (2, true), "{errors}");
}

#[test]
fn a_program_without_options_is_swept_over_all_processors() {
    let folder = tempfile::tempdir().unwrap();
    let several = std::thread::available_parallelism().map_or(1, usize::from) > 1;
    let output = knee(folder.path(), &["--", "false"]);
    // `false` is started, and fails.
    assert_eq!(output.status.code(), Some(if several { 3 } else { 2 }), "{}", text(&output.stderr));
    let why = if several { "failed at every processor count" } else { "may use one processor" };
    assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
}

#[test]
fn the_page_of_a_sweep_over_a_parameter_links_to_those_of_its_cases() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--no-trace", "-q", "--param", "n=10,20", "-o", "out", "--", "sh", "-c"];
    let script = ["echo rate: $1$2 ops/s", "x", "{threads}", "{n}"];
    let output = knee(folder.path(), &[&QUICK[..], &arguments, &script].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("with comparison.json, report.html"), "{}", text(&output.stdout));
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let links: Vec<&str> = page.split("<a href=\"./").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() >= 2, "{links:?}");
    for link in links {
        let file = link.replace("%3D", "=").replace("%2C", ",");
        assert!(folder.path().join("out").join(&file).exists(), "{file}");
    }
    assert!(page.contains("class=\"heat "), "two values and two counts make a map");
    let elsewhere = knee(folder.path(), &["report", "out", "--html", "page.html"]);
    assert!(elsewhere.status.success(), "{}", text(&elsewhere.stderr));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let whole = folder.path().canonicalize().unwrap();
    assert!(page.contains(&format!("<a href=\"{}/out/", whole.display())), "links lead back to the recordings");
}

#[test]
fn causes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let all = text(&knee(folder.path(), &["explain"]).stdout);
    for line in all.lines().take_while(|line| !line.is_empty()) {
        let id = line.split(' ').next().unwrap();
        let one = text(&knee(folder.path(), &["explain", id]).stdout);
        assert!(one.starts_with(&format!("{id}: ")) && one.contains("What would disprove it"), "{id}: {one}");
    }
    assert_eq!(all.lines().take_while(|line| !line.is_empty()).count(), analyze::causes::with_none().count());
}

#[test]
fn after_ctrl_c_the_runs_so_far_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    // Rows appear when the first block is complete, so a run of the second block sends the Ctrl-C.
    let script = "test -d out/runs && { kill -INT $PPID; sleep 5; }; true";
    let output = sweep(folder.path(), &[], script);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("interrupted"), "{}", text(&output.stdout));
    assert!(folder.path().join("out/verdict.json").exists());
}

#[test]
fn manual_pages_and_versions() {
    let folder = tempfile::tempdir().unwrap();
    let short = text(&knee(folder.path(), &["-V"]).stdout);
    assert_eq!(short, concat!("knee ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(text(&knee(folder.path(), &["--version"]).stdout).starts_with(short.trim_end()));
    let page = text(&knee(folder.path(), &["man", "lab", "run"]).stdout);
    assert!(page.contains(".TH knee-lab-run 1") && page.contains("\\-\\-quick"), "{page}");
    assert!(knee(folder.path(), &["man", "--all", "pages/man1"]).status.success());
    let written = std::fs::read_to_string(folder.path().join("pages/man1/knee-lab-run.1")).unwrap();
    assert_eq!(written, page);
    let (status, errors) = fails(&["man", "swep"]);
    assert_eq!((status, errors.contains("no command `swep`")), (2, true), "{errors}");
}

#[test]
fn completions_for_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let output = knee(folder.path(), &["completions", "bash"]);
    assert!(text(&output.stdout).contains("complete -F _knee"));
}
