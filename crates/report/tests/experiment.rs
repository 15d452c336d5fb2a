//! Trials of a program, as people and as scripts read what they show.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;

use analyze::answer::{Answer, Knee, TrialResult};
use analyze::compare::curve_change;
use recording::meta::{Counted, Shows, Tried};
use recording::synthetic::Sketch;
use report::experiment::{Experiment, FORMAT, KeepLines, NotMade, Suspect, TrialRow, told};
use report::terminal::{Style, SweepFiles, render, render_experiment};
use serde_json::Value;
use std::path::Path;

/// A trial whose program takes so many seconds, where the unchanged one takes 1.
fn row(id: &str, title: &str, seconds: f64, shows: Shows) -> TrialRow {
    let runs = |seconds: f64, step: i32| {
        let near: Vec<f64> = (0..8).map(|i| seconds * (1.0 + 0.004 * f64::from((i * step) % 5 - 2))).collect();
        Sketch::new(2).clean(2, &near).tables()
    };
    TrialRow {
        id: id.to_owned(),
        title: title.to_owned(),
        variables: [("LD_PRELOAD".to_owned(), format!("/lib/{id}.so"))].into(),
        wrapper: Vec::new(),
        change: curve_change(&runs(1.0, 3), &runs(seconds, 7), 2, 0.01),
        failed: None,
        shows,
        proves: "the C library's malloc and free cost this much".to_owned(),
        cannot_show: "which of the program's allocations it is".to_owned(),
        control: false,
        keep: None,
        instead: None,
    }
}

fn experiment() -> Experiment {
    let keep = KeepLines {
        shell: "LD_PRELOAD=/lib/tcmalloc.so ./app\u{1b}[2J --threads={threads}".to_owned(),
        dockerfile: Some("ENV LD_PRELOAD=\"/lib/tcmalloc.so\"".to_owned()),
        unit: Some("Environment=\"LD_PRELOAD=/lib/tcmalloc.so\"".to_owned()),
    };
    let mut made = Experiment {
        knee: Knee { version: "0.1.0".to_owned(), format: FORMAT.to_owned() },
        command: ["./app\u{1b}[2J", "--threads={threads}"].map(str::to_owned).to_vec(),
        machine: recording::synthetic::meta(2).machine,
        threads: 2,
        counted: Counted::Threads,
        thread_counts_given: true,
        complete: true,
        suspect: Some(Suspect {
            recording: Some("/data/knee-app".to_owned()),
            cause: "allocator".to_owned(),
            title: "Allocator".to_owned(),
            function: Some("malloc".to_owned()),
            predicted: Some("Without it the program would be at most 2.1 times as fast with 2 threads.".to_owned()),
        }),
        shows: Shows::Confirms,
        summary: String::new(),
        trials: vec![
            TrialRow { keep: Some(keep), ..row("tcmalloc", "tcmalloc as the allocator", 0.5, Shows::Confirms) },
            TrialRow {
                failed: Some("the program failed: exit status 3".to_owned()),
                change: None,
                ..row("jemalloc", "jemalloc as the allocator", 1.0, Shows::Nothing)
            },
            row("thread-cache", "malloc with larger thread caches", 1.0, Shows::Nothing),
            TrialRow { control: true, ..row("one-arena", "one heap for all threads (control)", 1.4, Shows::Nothing) },
        ],
        left_out: vec![NotMade {
            id: "mimalloc".to_owned(),
            title: "mimalloc as the allocator".to_owned(),
            why: "libmimalloc.so.3 is not installed; --with FILE names one".to_owned(),
        }],
        warnings: vec!["1 timed block was disturbed and made again".to_owned()],
    };
    made.summarise(false);
    made
}

fn text(experiment: &Experiment, width: usize, unicode: bool) -> String {
    let mut out = Vec::new();
    let style = Style { colour: false, width, unicode, whole: false };
    render_experiment(experiment, Path::new("knee-try-app-20260101-120000"), style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn as_shown() {
    insta::assert_snapshot!("experiment", text(&experiment(), 80, true));
    let mut out = Vec::new();
    report::markdown::render_experiment(&experiment(), &mut out).unwrap();
    insta::assert_snapshot!("experiment_markdown", String::from_utf8(out).unwrap());
}

#[test]
fn the_sentence_says_what_the_trials_show() {
    let summary = |shows: Shows, first: TrialRow| {
        let mut made = Experiment { shows, trials: vec![first], ..experiment() };
        made.summarise(false);
        made.summary
    };
    let title = "tcmalloc as the allocator";
    let refuted = summary(Shows::Refutes, row("tcmalloc", title, 1.0, Shows::Refutes));
    assert!(refuted.starts_with("Not confirmed: allocator in malloc. With 2 threads the program is 1.00"), "{refuted}");
    let supported = summary(Shows::Supports, row("tcmalloc", title, 0.5, Shows::Supports));
    assert!(supported.starts_with("Supported by experiment, not proven: allocator in malloc."), "{supported}");
    let open = summary(Shows::Nothing, row("tcmalloc", title, 1.0, Shows::Nothing));
    assert_eq!(open, "With 2 threads the trials neither confirm allocator in malloc nor refute it.");
    let mut own = Experiment { thread_counts_given: false, ..experiment() };
    own.summarise(false);
    assert!(own.summary.contains("malloc. The program is 2.00 times as fast"), "{}", own.summary);
    let mut alone = Experiment { suspect: None, shows: Shows::Nothing, ..experiment() };
    alone.summarise(true);
    assert!(alone.summary.contains("2.0") && alone.summary.contains("tcmalloc"), "{}", alone.summary);
    assert!(alone.warnings.last().unwrap().contains("changes nothing"), "{:?}", alone.warnings);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (width, unicode) in [(70, false), (80, true), (120, true)] {
        for line in text(&experiment(), width, unicode).lines() {
            // What people copy is never broken.
            let copied = line.contains("LD_PRELOAD") || line.contains("knee-try-app");
            assert!(copied || report::text::width(line) <= width, "{width}: {line}");
            assert!(unicode || line.is_ascii(), "{line}");
            assert!(!line.contains('\u{1b}'), "{line}");
        }
    }
}

#[test]
fn the_json_fits_its_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let fits = jsonschema::draft202012::options().build(&schema).unwrap();
    let json = |experiment: &Experiment| -> Value {
        let mut out = Vec::new();
        report::json::render(experiment, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    };
    for made in [experiment(), Experiment { suspect: None, ..experiment() }] {
        let value = json(&made);
        let problems: Vec<String> = fits.iter_errors(&value).map(|e| format!("{} {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
    let value = json(&experiment());
    let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
    // A field that the schema does not describe would be an undocumented interface.
    for (here, there) in [
        ("", "/properties"),
        ("/suspect", "/properties/suspect/properties"),
        ("/trials/0", "/properties/trials/items/properties"),
        ("/trials/0/keep", "/properties/trials/items/properties/keep/properties"),
        ("/left_out/0", "/properties/left_out/items/properties"),
    ] {
        assert_eq!(names(value.pointer(here).unwrap()), names(schema.pointer(there).unwrap()), "{here}");
    }
    let mut broken = value;
    broken["trials"][0]["shows"] = "perhaps".into();
    assert!(!fits.is_valid(&broken));
}

/// An answer with trials of its first cause.
fn tried(trials: &[(Shows, f64)]) -> Answer {
    let mut answer = common::user_lock();
    let trial = |(shows, speed): &(Shows, f64)| TrialResult {
        number: Some(0),
        tried: Tried {
            trial: "random-per-thread".to_owned(),
            title: "a state of random for each thread".to_owned(),
            cause: "user-lock".to_owned(),
            function: Some("random".to_owned()),
            threads: 2,
            times_as_fast: *speed,
            low: Some(speed - 0.1),
            high: Some(speed + 0.1),
            shows: *shows,
        },
    };
    answer.tried = trials.iter().map(trial).collect();
    answer
}

#[test]
fn an_answer_says_what_its_trials_showed() {
    let of = |trials: &[(Shows, f64)]| {
        let answer = tried(trials);
        told(&answer, &answer.verdict.causes[0])
    };
    assert_eq!(of(&[]), None);
    let told = of(&[(Shows::Supports, 3.0), (Shows::Confirms, 1.2), (Shows::Confirms, 1.5)]).unwrap();
    assert!(told.starts_with("confirmed by experiment: 1.50 times as fast (1.40 to 1.60)"), "{told}");
    assert!(of(&[(Shows::Supports, 1.5), (Shows::Refutes, 1.0)]).unwrap().starts_with("not confirmed"));
    let answer = tried(&[(Shows::Confirms, 1.5)]);
    let mut out = Vec::new();
    let style = Style { colour: false, width: 80, unicode: true, whole: true };
    render(&answer, &SweepFiles { recording: Path::new("x"), beside: &[] }, style, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("   Tried      Confirmed by experiment: 1.50 times as fast"), "{text}");
    let mut out = Vec::new();
    report::markdown::render(&answer, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("   - Tried: Confirmed by experiment"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/answer.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut out = Vec::new();
    report::json::render(&answer, &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert!(jsonschema::draft202012::options().build(&schema).unwrap().is_valid(&value));
    assert_eq!(value["tried"][0]["shows"], "confirms");
}
