//! Programs that scale: a small cause is a remark, and not the answer.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use analyze::answer::{Answer, CauseId};
use analyze::answer_for;
use common::*;
use recording::synthetic::{Sketch, ms};

const LOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < add@app app.c:30 < work@app app.c:60";
const WORK: &str = "work@app app.c:61";

/// Two threads of which each waits for the other's lock for so many of 500 ms.
fn waiting(wait: u64) -> Answer {
    let wall = 0.5 + wait as f64 * 1e-3;
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(wall), &around(1.0));
    let sketch = with_base(sketch, WORK).traced(2, |run| {
        for (name, other) in [("a", "b"), ("b", "a")] {
            (0..10)
                .fold(run.thread(name), |thread, _| thread.runs(ms(50), WORK).locks(0x100, ms(wait / 10), LOCK, other));
        }
    });
    answer_for(&sketch.tables())
}

#[test]
fn a_program_that_loses_a_tenth_scales() {
    let answer = waiting(60);
    let ids: Vec<CauseId> = answer.verdict.causes.iter().map(|cause| cause.id).collect();
    assert_eq!(ids, [CauseId::NONE, CauseId::USER_LOCK]);
    let told = &answer.verdict.summary;
    assert!(
        told.contains("It scales; 11 % of the processor time is lost. The largest part, 11 %: Threads wait"),
        "{told}"
    );
}

#[test]
fn a_lock_that_costs_a_fifth_is_the_answer() {
    let answer = waiting(120);
    assert_eq!(answer.verdict.causes.first().map(|cause| cause.id), Some(CauseId::USER_LOCK));
    assert!(!answer.verdict.summary.contains("It scales"), "{}", answer.verdict.summary);
}
