//! `knee try` as a user sees it. The programs print how fast they are, so that no test depends on a clock.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn knee(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("LD_PRELOAD")
        .env_remove("GLIBC_TUNABLES")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// A script that prints a throughput; `line` is run first.
fn script(folder: &Path, line: &str) -> PathBuf {
    let path = folder.join("job");
    fs::write(&path, format!("#!/bin/sh\nspeed=1000\n{line}\necho $((speed + $$ % 3)) ops/s\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn trial<'a>(answer: &'a Value, id: &str) -> &'a Value {
    answer["trials"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap()
}

const USUAL: &[&str] = &["try", "--no-wait", "-o", "out", "--format", "json", "--warm-up", "0"];

#[test]
fn a_setting_that_helps_is_shown_with_the_lines_that_keep_it() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "[ \"$GLIBC_TUNABLES\" ] && speed=1500");
    let output = knee(folder.path(), &[USUAL, &["--trial", "huge-pages", "--", "./job"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output);
    let row = trial(&answer, "huge-pages");
    assert_eq!((&row["change"]["judgement"], &row["change"]["blocks"]), (&"better".into(), &8.into()), "{answer:#}");
    let speed = row["change"]["speed"].as_f64().unwrap();
    assert!((1.49..1.51).contains(&speed), "{speed}");
    assert_eq!(row["keep"]["shell"], "GLIBC_TUNABLES='glibc.malloc.hugetlb=1' ./job");
    assert_eq!(row["keep"]["dockerfile"], "ENV GLIBC_TUNABLES=\"glibc.malloc.hugetlb=1\"");
    assert_eq!(row["keep"]["unit"], "Environment=\"GLIBC_TUNABLES=glibc.malloc.hugetlb=1\"");
    assert!(answer["summary"].as_str().unwrap().contains("1.50 times as fast"), "{answer:#}");
    assert_eq!(fs::read(folder.path().join("out/experiment.json")).unwrap(), output.stdout);
    let again = knee(folder.path(), &["report", "out", "--format", "json"]);
    assert_eq!(again.stdout, output.stdout, "{}", text(&again.stderr));
    let shown = text(&knee(folder.path(), &["report", "out"]).stdout);
    assert!(shown.contains("malloc with huge pages") && shown.contains("Dockerfile"), "{shown}");
    let page = knee(folder.path(), &["report", "out", "--html", "page.html"]);
    assert_eq!(page.status.code(), Some(2), "{}", text(&page.stderr));
}

/// As a full disk leaves it: the index names the trial, and its runs are not there.
#[test]
fn a_trial_without_its_runs_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "[ \"$GLIBC_TUNABLES\" ] && speed=1500");
    let made = knee(folder.path(), &[USUAL, &["--trial", "huge-pages", "--trial", "nothing", "--", "./job"]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    for gone in ["out/nothing/output", "out/nothing"] {
        fs::remove_dir_all(folder.path().join(gone)).unwrap();
        let again = knee(folder.path(), &["report", "out", "--format", "json"]);
        assert!(again.status.success(), "{}", text(&again.stderr));
        let answer = json(&again);
        let before = json(&made);
        let [now, before] = [&answer, &before].map(|answer| &trial(answer, "huge-pages")["change"]);
        assert_eq!((&now["speed"], &now["judgement"]), (&before["speed"], &"better".into()), "{now:#}");
        let left = answer["left_out"].as_array().unwrap().iter().find(|left| left["id"] == "nothing").unwrap();
        assert!(left["why"].as_str().unwrap().starts_with("its runs cannot be read: "), "{answer:#}");
        assert!(answer["trials"].as_array().unwrap().iter().all(|row| row["id"] != "nothing"));
    }
}

/// As a knee that was ended at once leaves it.
#[test]
fn trials_without_the_unchanged_program_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), ":");
    let made = knee(folder.path(), &[USUAL, &["--trial", "nothing", "--", "./job"]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    for gone in ["out/unchanged/meta.json", "out/unchanged"] {
        let gone = folder.path().join(gone);
        if gone.is_dir() {
            fs::remove_dir_all(gone).unwrap()
        } else {
            fs::remove_file(gone).unwrap()
        }
        let again = knee(folder.path(), &["report", "out"]);
        let errors = text(&again.stderr);
        assert_eq!(again.status.code(), Some(5), "{errors}");
        assert!(
            errors.contains("the runs of the unchanged program cannot be read") && errors.contains("knee try"),
            "{errors}"
        );
    }
}

#[test]
fn the_same_program_is_neither_faster_nor_slower() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), ":");
    let output = knee(folder.path(), &[USUAL, &["--trial", "nothing", "--trial", "nothing", "--", "./job"]].concat());
    let answer = json(&output);
    for id in ["nothing", "nothing-2"] {
        let row = trial(&answer, id);
        let interval = &row["change"]["interval"];
        let (low, high) = (interval["low"].as_f64().unwrap(), interval["high"].as_f64().unwrap());
        assert!(low > 0.98 && high < 1.02 && row["keep"].is_null(), "{answer:#}");
    }
    assert_eq!(answer["shows"], "nothing");
}

#[test]
fn a_trial_that_fails_or_prints_something_else_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "[ \"$GLIBC_TUNABLES\" ] && exit 3");
    let arguments = [USUAL, &["--trial", "huge-pages", "--trial", "nothing", "--", "./job"]].concat();
    let answer = json(&knee(folder.path(), &arguments));
    let row = trial(&answer, "huge-pages");
    assert_eq!(row["failed"], "the program failed: exit status 3", "{answer:#}");
    assert!(row["keep"].is_null() && row["change"].is_null());
    assert!(trial(&answer, "nothing")["change"]["speed"].is_number(), "the others go on");

    let other = tempfile::tempdir().unwrap();
    script(other.path(), "[ \"$GLIBC_TUNABLES\" ] && speed=1500 && echo more");
    let arguments = [USUAL, &["--same-output", "sorted", "--trial", "huge-pages", "--", "./job"]].concat();
    let answer = json(&knee(other.path(), &arguments));
    assert!(trial(&answer, "huge-pages")["failed"].is_null(), "its output differs from run to run: {answer:#}");
    assert!(answer["warnings"].to_string().contains("in each run"), "{answer:#}");
    fs::write(other.path().join("job"), "#!/bin/sh\necho 1000 ops/s\n[ \"$GLIBC_TUNABLES\" ] && echo more; exit 0\n")
        .unwrap();
    fs::remove_dir_all(other.path().join("out")).unwrap();
    let answer = json(&knee(other.path(), &arguments));
    assert_eq!(trial(&answer, "huge-pages")["failed"], "the program printed something else", "{answer:#}");
}

#[test]
fn mistakes_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), ":");
    let refused = |arguments: &[&str], part: &str| {
        let output = knee(folder.path(), arguments);
        let errors = text(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(part), "{arguments:?}: {errors}");
    };
    refused(&["try", "-t", "2", "--", "./job"], "does not occur in the command");
    refused(&["try", "--", "./job", "{threads}"], "the thread count is missing");
    refused(&["try", "--trial", "tcmaloc", "--", "./job"], "did you mean tcmalloc?");
    refused(&["try", "--trial", "go-gc", "--", "./job"], "it is not a Go program");
    refused(&["try", "--suspect", "alocator", "--", "./job"], "did you mean allocator?");
    refused(&["try", "--suspect", "serial-phase", "--", "./job"], "only a change of the program shows it");
    refused(&["try"], "Usage: knee try");
    let missing = knee(folder.path(), &["try", "--", "./missing"]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stderr));
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["job"], "nothing was created");
    let list = knee(folder.path(), &["try", "--list"]);
    assert!(list.status.success() && text(&list.stdout).contains("random-per-thread"));
}

#[test]
fn a_cause_that_the_user_suspects_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "case $GLIBC_TUNABLES in *hugetlb*) speed=1500;; esac");
    let quick = [USUAL, &["--quick", "--suspect", "page-fault", "--", "./job"]].concat();
    let answer = json(&knee(folder.path(), &quick));
    assert_eq!(answer["suspect"]["cause"], "page-fault");
    assert!(answer["suspect"]["recording"].is_null() && answer["shows"] == "confirms", "{answer:#}");
    let ids: Vec<&str> = answer["trials"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    let blocks = &answer["trials"][0]["change"]["blocks"];
    assert!((6..=8).contains(&blocks.as_u64().unwrap()), "as many as are needed: {blocks}");
    assert!(ids.contains(&"keep-memory") && ids.contains(&"huge-pages"), "{ids:?}");
}

/// A recording's program is run where it ran, with its variables.
#[test]
fn the_program_of_a_recording_is_run_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    script(&there, "[ \"$KEY\" = value ] || exit 9; [ \"$GLIBC_TUNABLES\" ] && speed=1500");
    let sweep =
        ["sweep", "--quick", "--no-wait", "-q", "--no-trace", "-t", "1,2", "--env", "KEY=value", "-o", "../swept"];
    let output = knee(&there, &[&sweep[..], &["--", "./job", "{threads}"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let arguments = ["try", "swept", "--no-wait", "--format", "json", "-o", "out", "--trial", "huge-pages"];
    let answer = json(&knee(folder.path(), &arguments));
    assert_eq!(answer["threads"], 2, "{answer:#}");
    assert_eq!(answer["command"], serde_json::json!(["./job", "{threads}"]));
    assert_eq!(trial(&answer, "huge-pages")["change"]["judgement"], "better", "{answer:#}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The kept recording of a program that starts a thread for each small task. In its place runs a script that is faster with
/// the trial, or is not.
#[test]
fn the_recording_keeps_what_its_trials_showed() {
    let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/spawn"));
    for (line, shows, told) in [
        ("[ \"$GLIBC_TUNABLES\" ] && speed=1500", "confirms", "Confirmed by experiment: 1.50 times as fast"),
        (":", "nothing", "Neither confirmed nor refuted: 1.00 times as fast"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        script(folder.path(), line);
        let recording = folder.path().join("kept");
        copy(fixture, &recording);
        let file = recording.join("meta.json");
        let mut meta: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        meta["command"] = serde_json::json!(["./job", "{threads}"]);
        fs::write(&file, meta.to_string()).unwrap();
        let before = text(&knee(folder.path(), &["report", "kept"]).stdout);
        assert!(before.contains("thread-creation") && !before.contains("xperiment"), "{before}");
        let arguments = ["try", "kept", "--no-wait", "--format", "json", "-o", "out", "--trial", "stack-cache"];
        let answer = json(&knee(folder.path(), &arguments));
        assert_eq!(answer["suspect"]["cause"], "thread-creation", "{answer:#}");
        assert_eq!(answer["shows"], shows, "{answer:#}");
        let after = text(&knee(folder.path(), &["report", "kept"]).stdout);
        let words = after.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(told), "{after}");
        let kept: Value = serde_json::from_slice(&fs::read(recording.join("verdict.json")).unwrap()).unwrap();
        assert_eq!((&kept["tried"][0]["number"], &kept["tried"][0]["shows"]), (&0.into(), &shows.into()));
        assert!(fs::read_to_string(recording.join("report.html")).unwrap().contains(&told[..20]));
    }
}

/// Processes whose environment names a file in this folder.
fn with_library_of(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environments = processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    let name = format!("LD_PRELOAD={}", folder.join("out/preload").display());
    environments.filter(|environment| String::from_utf8_lossy(environment).contains(&name)).count()
}

#[test]
fn ctrl_c_leaves_no_process_and_no_library_behind() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    script(&at, "[ \"$LD_PRELOAD\" ] && sleep 300");
    let mut knee = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["try", "--no-wait", "-q", "-o", "out", "--warm-up", "0", "--trial", "empty-preload", "--", "./job"])
        .current_dir(&at)
        .env_remove("LD_PRELOAD")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    while with_library_of(&at) == 0 {
        assert!(begin.elapsed().as_secs() < 60 && knee.try_wait().unwrap().is_none(), "the trial never ran");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &knee.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(knee.wait().unwrap().code(), Some(130));
    assert_eq!(with_library_of(&at), 0);
}

/// knee's own libraries do what their trials say, and nothing else.
#[test]
fn the_preloaded_libraries_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/targets/numbers.c");
    let built =
        Command::new("cc").args(["-O1", "-pthread", "-o", "numbers", source]).current_dir(folder.path()).status();
    assert!(built.unwrap().success());
    let trials = ["empty-preload", "random-per-thread", "adaptive-mutex", "cache-lines"];
    let named: Vec<&str> = trials.iter().flat_map(|trial| ["--trial", *trial]).collect();
    let arguments = [USUAL, &["--runs", "1"], &named, &["--", "./numbers"]].concat();
    let output = knee(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = |case: &str| {
        let run = folder.path().join("out").join(case).join("output/run-000.out");
        let lines = fs::read_to_string(run).unwrap();
        lines.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let unchanged = printed("unchanged");
    assert!(unchanged.len() == 5 && unchanged[3] == "apart less" && unchanged[4] == "kind 0", "{unchanged:?}");
    assert_eq!(printed("empty-preload"), unchanged);
    let differing = |case: &str| {
        let lines = printed(case).into_iter().enumerate().filter(|(at, line)| *line != unchanged[*at]);
        lines.map(|(_, line)| line).collect::<Vec<String>>()
    };
    // The first thread draws what it draws without the library; so does a thread that seeds.
    assert_eq!(differing("random-per-thread"), Vec::<String>::new());
    assert_eq!(differing("adaptive-mutex"), ["kind 3"]);
    assert_eq!(differing("cache-lines"), ["apart a line"]);
}
