//! `knee compare` and `knee sweep --check-noise` as a user sees them. The programs print how fast they are, so that no
//! test depends on a clock.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use serde_json::Value;
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Prints a throughput that differs a little from run to run.
const SLOW: &[&str] = &["sh", "-c", "echo $((1000 + $$ % 7)) ops/s"];
const FAST: &[&str] = &["sh", "-c", "echo $((1100 + $$ % 7)) ops/s"];
const USUAL: &[&str] = &["compare", "--no-trace", "-o", "out", "--format", "json"];

#[test]
fn the_faster_command_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = knee(folder.path(), &[USUAL, &["--"], SLOW, &["--"], FAST].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output.stdout);
    assert_eq!((&answer["setup"], &answer["thread_counts_given"]), (&"interleaved".into(), &false.into()));
    let point = &answer["curve"][0];
    assert_eq!((&point["judgement"], &point["blocks"]), (&"better".into(), &10.into()), "{answer:#}");
    let speed = point["speed"].as_f64().unwrap();
    assert!((1.09..1.11).contains(&speed), "{speed}");
    assert_eq!(answer["cases"][1]["command"][2], FAST[2]);
    let kept = std::fs::read(folder.path().join("out/comparison.json")).unwrap();
    assert_eq!(kept, output.stdout);
    let again = knee(folder.path(), &["report", "out", "--format", "json"]);
    assert_eq!(again.stdout, output.stdout);
    let shown = text(&knee(folder.path(), &["report", "out"]).stdout);
    assert!(shown.starts_with("B is faster than A: 1."), "{shown}");
    // Warnings about a busy machine may also mention threads.
    let column = shown.lines().any(|line| line.starts_with("threads"));
    assert!(!column, "the commands chose their number of threads themselves: {shown}");
    let one = knee(folder.path(), &["report", "out/A"]);
    assert!(one.status.success(), "{}", text(&one.stderr));
    // In the other order B is slower.
    let arguments = [&["compare", "--no-trace", "--quick", "-o", "back", "--"][..], FAST, &["--"], SLOW].concat();
    let back = text(&knee(folder.path(), &arguments).stdout);
    assert!(back.starts_with("B is 1.") && back.contains(" times slower than A ("), "{back}");
}

#[test]
fn each_thread_count_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let command = |speed: &'static str| ["sh", "-c", speed, "x", "{threads}"];
    let (a, b) = (command("echo $((100 * $1)) ops/s"), command("echo $((100 * $1 + 20 * $1 - 20)) ops/s"));
    let arguments = [&["compare", "-t", "1,2", "--no-trace", "--format", "json", "--"][..], &a, &["--"], &b].concat();
    let output = knee(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output.stdout);
    let judged: Vec<&Value> = answer["curve"].as_array().unwrap().iter().map(|point| &point["judgement"]).collect();
    assert_eq!(judged, ["unclear", "better"], "{answer:#}");
    assert!(answer["summary"].as_str().unwrap().contains("With 2 threads: B is faster"), "{}", answer["summary"]);
}

#[test]
fn too_few_runs_give_no_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let output = knee(folder.path(), &[USUAL, &["--runs", "5", "--"], SLOW, &["--"], FAST].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output.stdout);
    assert_eq!((&answer["curve"][0]["judgement"], &answer["curve"][0]["interval"]), (&"unclear".into(), &Value::Null));
    assert!(answer["summary"].as_str().unwrap().contains("at least 6 are needed"), "{}", answer["summary"]);
}

#[test]
fn mistakes_are_explained() {
    for (arguments, status, part) in [
        (&["compare", "--", "true"][..], 2, "the second command is missing"),
        (&["compare", "--", "true", "--"], 2, "one of the two commands is empty"),
        (&["compare", "--", "a", "--", "b", "--", "c"], 2, "more than one --"),
        (&["compare", "-t", "2", "--", "true", "--", "true"], 2, "occurs in neither command"),
        (&["compare", "--", "true", "{threads}", "--", "true"], 2, "-t 4"),
        (&["compare", "--", "true", "--", "no-such-program"], 3, "cannot find the program no-such-program"),
        (&["compare", "--quick", "--no-trace", "--", "true", "--", "false"], 3, "B failed: exit status 1"),
        (&["sweep", "-t", "1", "--check-noise", "--param", "n=1,2", "--", "true", "{threads}", "{n}"], 2, "--param"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = knee(folder.path(), arguments);
        let errors = text(&output.stderr);
        assert!(output.status.code() == Some(status) && errors.contains(part), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_command_is_checked_against_itself() {
    let folder = tempfile::tempdir().unwrap();
    // Process ids serve as noise that depends on no clock.
    let command = ["sh", "-c", "echo $((10000 + $$ % 97)) ops/s", "x", "{threads}"];
    let arguments =
        [&["sweep", "-t", "2", "--check-noise", "-o", "out", "--format", "json", "--"][..], &command].concat();
    let output = knee(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output.stdout);
    assert_eq!((&answer["setup"], &answer["curve"][0]["blocks"]), (&"same".into(), &10.into()));
    let resolution = answer["curve"][0]["resolution"].as_f64().unwrap();
    assert!(resolution > 0.0 && resolution < 0.01, "{resolution}");
    assert_eq!(answer["changes"].as_array().unwrap().len(), 0);
    let shown = text(&knee(folder.path(), &["report", "out"]).stdout);
    assert!(shown.contains("seen from") && shown.contains("Differences of speed can be seen"), "{shown}");
    let page = knee(folder.path(), &["report", "out", "--html", "page.html"]);
    assert_eq!(page.status.code(), Some(2));
}

#[test]
fn help_shows_examples() {
    let folder = tempfile::tempdir().unwrap();
    let help = text(&knee(folder.path(), &["compare", "--help"]).stdout);
    insta::assert_snapshot!("compare", help);
}
