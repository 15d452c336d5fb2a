//! What trials say about a cause, from timed runs made in the same blocks.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::answer_for;
use analyze::answer::{CauseId, Judgement};
use analyze::compare::experiment::{Aim, Findings, TrialRuns, blocks_for, judge, kept};
use recording::Tables;
use recording::meta::{Shows, Tried};
use recording::synthetic::{Sketch, ms};

/// Eight runs with two threads that take about so many seconds; `step` decides in which blocks a run is a little longer.
fn runs(seconds: f64, step: i32) -> Tables {
    let near: Vec<f64> = (0..8).map(|i| seconds * (1.0 + 0.004 * f64::from((i * step) % 5 - 2))).collect();
    Sketch::new(2).clean(2, &near).tables()
}

fn trial(aim: Aim, tables: &Tables) -> TrialRuns<'_> {
    TrialRuns { aim, preloaded: true, control: false, tables, same_output: true }
}

fn found(trials: &[TrialRuns<'_>]) -> Findings {
    judge(&runs(1.0, 3), trials, 2)
}

#[test]
fn a_faster_program_confirms_what_the_trial_takes_away() {
    let (fast, same) = (runs(0.5, 7), runs(1.0, 4));
    let control = TrialRuns { control: true, ..trial(Aim::Misses, &same) };
    let findings = found(&[trial(Aim::Removes, &fast), trial(Aim::EasesSeveral, &fast), control]);
    let shows: Vec<Shows> = findings.results.iter().map(|result| result.shows).collect();
    assert_eq!(shows, [Shows::Confirms, Shows::Supports, Shows::Nothing]);
    assert_eq!(findings.shows, Shows::Confirms);
    let change = findings.results[0].change.as_ref().unwrap();
    assert!((change.speed - 2.0).abs() < 0.03 && change.judgement == Judgement::Better, "{change:?}");
    assert!(!findings.preload_changes);
}

#[test]
fn a_program_that_is_no_faster_refutes_only_what_was_taken_away() {
    let same = runs(1.0, 7);
    let shows = |aim| found(&[trial(aim, &same)]).shows;
    assert_eq!(shows(Aim::Removes), Shows::Refutes);
    assert_eq!([Aim::Eases, Aim::EasesSeveral, Aim::Misses].map(shows), [Shows::Nothing; 3]);
    // What comes in its place may cost more: slower is no evidence.
    assert_eq!(found(&[trial(Aim::Removes, &runs(1.3, 7))]).shows, Shows::Nothing);
}

#[test]
fn a_small_effect_confirms_nothing() {
    let little = found(&[trial(Aim::Removes, &runs(0.975, 7))]);
    assert_eq!(little.results[0].change.as_ref().unwrap().judgement, Judgement::Better);
    assert_eq!(little.shows, Shows::Refutes, "less than a cause costs");
}

#[test]
fn what_an_empty_library_changes_counts_for_no_library() {
    let (fast, slow) = (runs(0.5, 7), runs(1.2, 4));
    let control = TrialRuns { control: true, ..trial(Aim::Misses, &slow) };
    let setting = TrialRuns { preloaded: false, ..trial(Aim::Eases, &fast) };
    let findings = found(&[trial(Aim::Removes, &fast), setting, control]);
    let shows: Vec<Shows> = findings.results.iter().map(|result| result.shows).collect();
    assert!(findings.preload_changes);
    assert_eq!(shows, [Shows::Nothing, Shows::Confirms, Shows::Nothing]);
}

#[test]
fn another_output_is_no_success() {
    let fast = runs(0.5, 7);
    let findings = found(&[TrialRuns { same_output: false, ..trial(Aim::Removes, &fast) }]);
    assert_eq!(findings.shows, Shows::Nothing);
    assert!(findings.results[0].change.is_some());
}

#[test]
fn all_trials_together_are_judged_at_one_error() {
    assert_eq!([1, 2, 3, 6, 12].map(blocks_for), [6, 7, 7, 8, 9]);
    let fast = runs(0.5, 7);
    let many: Vec<TrialRuns<'_>> = (0..12).map(|_| trial(Aim::Removes, &fast)).collect();
    let findings = found(&many);
    assert!(findings.results[0].change.as_ref().unwrap().interval.is_none(), "eight blocks are too few for twelve");
    assert_eq!(findings.shows, Shows::Nothing);
}

#[test]
fn a_trial_without_runs_says_nothing() {
    let other = Sketch::new(2).clean(4, &[1.0; 8]).tables();
    let findings = found(&[trial(Aim::Removes, &other)]);
    assert!(findings.results[0].change.is_none() && findings.shows == Shows::Nothing);
}

/// A recording's trials come back with its answer, at the cause that they were aimed at.
#[test]
fn kept_trials_find_their_cause() {
    let locked = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < work@app app.c:5";
    let tables = Sketch::new(2)
        .clean(1, &[1.0; 5])
        .clean(2, &[1.0; 5])
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), "work@app app.c:5");
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread.runs(ms(10), "work@app app.c:5").locks(0x10, ms(10), locked, locked);
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    let tried = |cause: CauseId, function: Option<&str>| Tried {
        trial: "adaptive-mutex".to_owned(),
        title: "mutexes that spin before they sleep".to_owned(),
        cause: cause.name().to_owned(),
        function: function.map(str::to_owned),
        threads: 2,
        times_as_fast: 1.4,
        low: Some(1.3),
        high: Some(1.5),
        shows: Shows::Confirms,
    };
    let first = &answer.verdict.causes[0];
    let function = first.culprit.as_ref().and_then(|culprit| culprit.function.clone());
    let numbers: Vec<Option<usize>> = kept(
        &[tried(first.id, function.as_deref()), tried(first.id, Some("elsewhere")), tried(CauseId::HEAT, None)],
        &answer.verdict,
    )
    .iter()
    .map(|trial| trial.number)
    .collect();
    assert_eq!(numbers, [Some(0), None, None]);
    let mut tables = tables;
    tables.meta.tried = vec![tried(first.id, function.as_deref())];
    assert_eq!(answer_for(&tables).tried[0].number, Some(0));
}
