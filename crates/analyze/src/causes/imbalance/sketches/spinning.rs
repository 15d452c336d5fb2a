//! Threads that spin at a barrier, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, us};

const STEP: &str = "step@app grid.c:20 < work@app grid.c:30";
/// The length of a step, microseconds.
const STEP_US: u64 = 1370;
const MEET: &str = "pthread_barrier_wait@libc.so.6 < work@app grid.c:31";

/// Two threads make 730 steps of 1370 µs, which is no multiple of the sampling period. In each, `a` and `b` work for so many
/// microseconds and then spin at a barrier.
fn steps(a: u64, b: u64) -> Answer {
    let base = (a + b) as f64 * 730e-6;
    let tables = with_base(Sketch::new(2).clean(1, &around(base)).clean(2, &around(1.0)), STEP)
        .traced(2, |run| {
            for (name, work) in [("a", a), ("b", b)] {
                let mut thread = run.thread(name);
                for _ in 0..730 {
                    thread = thread.runs(us(work), STEP);
                    if work < STEP_US {
                        thread = thread.runs(us(STEP_US - work), MEET);
                    }
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

mod positive {
    use super::*;

    #[test]
    fn threads_that_spin_at_a_barrier_are_told_with_its_place() {
        let answer = steps(270, 270);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.share > 0.9, "{cause:?}");
        assert_eq!(
            cause.summary,
            "Threads wait for each other in the code of a barrier in work (grid.c:31): they meet too often for what they do \
             between."
        );
    }
}

mod near_miss {
    use super::*;

    /// The others spin for one that always has more to do.
    #[test]
    fn who_always_arrives_last_is_no_barrier_that_is_met_too_often() {
        let answer = steps(1300, 270);
        let told = found(&answer, CauseId::IMBALANCE).map(|cause| cause.summary.as_str()).unwrap_or_default();
        assert!(!told.contains("too often"), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_barrier_that_takes_little_is_no_cause() {
        let answer = steps(1350, 1350);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}
