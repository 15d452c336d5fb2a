//! What answers say in unusual cases.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{answer_for, around, repaired};
use recording::synthetic::{Sketch, ms};
use recording::tables::Loss;
use recording::words::{DROPPED_CALLS, HIDDEN_PROTOCOLS, UNFOLLOWED_STREAMS};

#[test]
fn what_all_traced_runs_lost_is_one_warning() {
    let mut tables = repaired();
    for run in tables.traces.iter().map(|t| t.run).collect::<Vec<_>>() {
        let frames = "outermost frames of stacks".to_owned();
        tables.losses.push(Loss { run, what: frames, count: 5, of: Some(100) });
        tables.losses.push(Loss { run, what: "samples".to_owned(), count: 7, of: None });
    }
    let warnings = answer_for(&tables).warnings;
    let told = [
        "some call stacks are cut off, so callers may be missing (in the traced runs: 5 of 100 with 1 thread, 5 of 100 \
         with 2 threads, 5 of 100 with 4 threads)",
        "samples were lost in the traced runs: 7 with 1 thread, 7 with 2 threads, 7 with 4 threads",
    ];
    assert_eq!(warnings, told);
}

/// Requests of HTTP/2 that could not be told apart are not lost: they count as one.
#[test]
fn connections_that_were_not_followed_are_told_as_that() {
    let mut tables = repaired();
    let run = tables.traces[0].run;
    for (what, count) in [(UNFOLLOWED_STREAMS, 2), (HIDDEN_PROTOCOLS, 3), (DROPPED_CALLS, 0)] {
        tables.losses.push(Loss { run, what: what.to_owned(), count, of: None });
    }
    let told = [
        "connections of HTTP/2 whose frames could not be followed, so requests that were under way at once on one of \
         them count as one (in the traced run: 2 with 1 thread)",
        "connections whose first data could not be read: where they are HTTP/2, requests that were under way at once \
         count as one (in the traced run: 3 with 1 thread)",
    ];
    assert_eq!(answer_for(&tables).warnings, told);
}

#[test]
fn a_speed_up_that_may_be_none_has_its_interval_in_the_first_sentence() {
    let noisy = |middle: f64| -> Vec<f64> { [0.7, 0.85, 1.0, 1.15, 1.3].map(|n| n * middle).to_vec() };
    let summary =
        |runs: &[f64]| answer_for(&Sketch::new(2).clean(1, &noisy(1.0)).clean(2, runs).tables()).verdict.summary;
    // The noise is in other blocks than that of one thread, or it would cancel out.
    let told = summary(&[1.3, 0.7, 1.15, 0.8, 0.95]);
    assert!(told.starts_with("With 2 threads the program is 1.1 times as fast as with 1 (0."), "{told}");
    let told = summary(&around(0.3));
    assert!(told.starts_with("With 2 threads the program is 3.3 times as fast as with 1. "), "{told}");
}

#[test]
fn far_slower_is_told_as_slow() {
    let tables = Sketch::new(2).clean(1, &around(0.1)).clean(2, &around(1.5)).tables();
    let summary = answer_for(&tables).verdict.summary;
    assert!(summary.starts_with("With 2 threads the program is 15 times slower than with 1."), "{summary}");
}

/// One of five runs took eight times as long: the possible loss is then a share of the capacity of such runs.
#[test]
fn runs_that_scatter_too_much_say_so_in_one_sentence() {
    let seconds = [0.5, 0.9, 4.0, 0.6, 0.8];
    let tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &seconds, &seconds.map(|s| 1.95 * s))
        .traced(1, |run| {
            run.thread("main").runs(ms(1000), "work@app app.c:5");
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(500), "work@app app.c:5");
            }
        })
        .tables();
    let summary = answer_for(&tables).verdict.summary;
    assert!(summary.contains("Too noisy to tell whether anything is lost with 2 threads"), "{summary}");
}

/// The same where the sweep has no other count within the processors: that nothing limits it up to one thread would say
/// nothing about the runs that were made.
#[test]
fn runs_beyond_the_processors_that_scatter_say_so_too() {
    let seconds = [0.32, 0.52, 0.53];
    let tables = Sketch::new(2)
        .clean(1, &[0.31, 0.309, 0.311])
        .clean_cpu(4, &seconds, &seconds.map(|s| 1.9 * s))
        .traced(1, |run| {
            run.thread("main").runs(ms(310), "work@app app.c:5");
        })
        .traced(4, |run| {
            for name in ["a", "b", "c", "d"] {
                run.thread(name).runs(ms(230), "work@app app.c:5");
            }
        })
        .tables();
    let summary = answer_for(&tables).verdict.summary;
    assert!(summary.contains("Too noisy to tell whether anything is lost with 4 threads"), "{summary}");
}

/// Threads that scale and spend part of their time in the allocator.
fn allocating(in_allocator: u64) -> Vec<String> {
    let malloc = "malloc@libc.so.6 < work@app app.c:7";
    let of = |threads: u64, run: &mut recording::synthetic::RunSketch<'_>| {
        for name in ["a", "b"].into_iter().take(threads as usize) {
            let whole = 1000 / threads;
            let part = whole * in_allocator / 100;
            run.thread(name).runs(ms(whole - part), "work@app app.c:5").runs(ms(part), malloc);
        }
    };
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(0.5));
    let answer = answer_for(&sketch.traced(1, |run| of(1, run)).traced(2, |run| of(2, run)).tables());
    let cause = &answer.verdict.causes[0];
    assert_eq!(cause.id, analyze::answer::CauseId::NONE, "{:#?}", answer.verdict);
    let rows = cause.evidence.iter().filter(|e| e.what.starts_with("processor time in"));
    rows.map(|row| format!("{} {:.2}", row.what, row.value)).collect()
}

#[test]
fn where_nothing_is_lost_what_costs_at_every_count_is_told() {
    assert_eq!(allocating(30), ["processor time in the memory allocator 0.30"]);
    assert_eq!(allocating(4), [""; 0]);
}
