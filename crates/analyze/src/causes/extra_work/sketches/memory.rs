//! Memory that each thread allocates for what it repeats, and that a garbage collector takes back.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{RunSketch, Sketch, ms};

const BUILD: &str = "build@app app.js:120 < work@app app.js:9";
const WORK: &str = "count@app app.js:50 < work@app app.js:10";

/// Each of 1, 2 and 4 threads builds a table for 300 ms and has its part of 800 ms of other work. Each collects for 150 ms,
/// called from `at`. Two processors.
fn builds(at: &str) -> Answer {
    let collects = format!("v8::internal::Heap::CollectGarbage()@node < {at}");
    let traced = |threads: u64| {
        let collects = collects.clone();
        move |run: &mut RunSketch<'_>| {
            for name in ["a", "b", "c", "d"].into_iter().take(threads as usize) {
                let mut thread = run.thread(name);
                for i in 0..300 {
                    let line = format!("build@app app.js:{} < work@app app.js:9", 100 + i % 60);
                    thread = thread.runs(ms(1), &line);
                    thread = if threads > 2 { thread.runnable(ms(1)) } else { thread };
                }
                for _ in 0..150 {
                    thread = thread.runs(ms(1), &collects);
                    thread = if threads > 2 { thread.runnable(ms(1)) } else { thread };
                }
                thread.runs(ms(800 / threads), WORK);
            }
        }
    };
    let cpu = |threads: u64| (450 * threads + 800) as f64 / 1000.0;
    let tables = Sketch::new(2)
        .clean(1, &around(cpu(1)))
        .clean_cpu(2, &around(cpu(2) / 2.0), &around(cpu(2)))
        .clean_cpu(4, &around(cpu(4) / 2.0), &around(cpu(4)))
        .traced(1, traced(1))
        .traced(2, traced(2))
        .traced(4, traced(4))
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

#[test]
fn what_each_thread_builds_for_itself_is_collected_for_each() {
    let answer = builds(BUILD);
    let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!(cause.summary.starts_with("Each thread does all of build"), "{}", cause.summary);
    // 300 ms of building and 150 of collecting, once more.
    assert!((cause.lost_seconds - 0.45).abs() < 0.05, "{cause:?}");
    let collected = cause.evidence.iter().find(|row| row.what.contains("garbage collector")).unwrap();
    assert!((collected.value - 0.15).abs() < 0.02, "{collected:?}");
    assert!(missing(&answer, CauseId::ALLOCATOR).contains("builds for itself"), "{:#?}", answer.verdict);
}

/// Near miss: other code allocates, and the table is only built meanwhile.
#[test]
fn a_collector_that_other_code_fills_is_no_repeated_work() {
    let answer = builds(WORK);
    let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!((cause.lost_seconds - 0.3).abs() < 0.05, "{cause:?}");
    let allocator = found(&answer, CauseId::ALLOCATOR).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!((allocator.lost_seconds - 0.15).abs() < 0.02, "{allocator:?}");
}
