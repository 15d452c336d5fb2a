//! Threads that spin at a barrier, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, us};

const STEP: &str = "step@app grid.c:20 < work@app grid.c:30";
/// The length of a step, microseconds.
const STEP_US: u64 = 1370;
const MEET: &str = "pthread_barrier_wait@libc.so.6 < work@app grid.c:31";

/// Threads make 730 steps of 1370 µs, which is no multiple of the sampling period. In each, every one works for so many
/// microseconds and then spins at a barrier.
fn steps(work: &[u64]) -> Answer {
    let (base, threads) = (work.iter().sum::<u64>() as f64 * 730e-6, work.len() as u32);
    let sketch = Sketch::new(threads).clean(1, &around(base)).clean(threads, &around(1.0));
    let tables = with_base(sketch, STEP)
        .traced(threads, |run| {
            for (at, work) in work.iter().copied().enumerate() {
                let mut thread = run.thread(&format!("worker-{at}"));
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
        let answer = steps(&[270, 270]);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.share > 0.9, "{cause:?}");
        assert!(cause.disproved_by.contains("every second step"), "{}", cause.disproved_by);
        assert_eq!(
            cause.summary,
            "Threads wait for each other in the code of a barrier in work (grid.c:31): they meet too often for what they do \
             in between."
        );
    }
}

mod near_miss {
    use super::*;

    /// The others spin for one that always has more to do.
    #[test]
    fn who_always_arrives_last_is_no_barrier_that_is_met_too_often() {
        let answer = steps(&[1300, 270]);
        let told = found(&answer, CauseId::IMBALANCE).map(|cause| cause.summary.as_str()).unwrap_or_default();
        assert!(!told.contains("too often"), "{:#?}", answer.verdict);
    }

    /// The three others spin for as long as each other; the last one never does.
    #[test]
    fn who_never_waits_is_no_barrier_that_is_met_too_often() {
        let answer = steps(&[STEP_US, 270, 270, 270]);
        let told = found(&answer, CauseId::IMBALANCE).map(|cause| cause.summary.as_str()).unwrap_or_default();
        assert!(!told.contains("too often"), "{:#?}", answer.verdict);
        // The same threads without the last one do meet too often.
        let answer = steps(&[270, 270, 270]);
        assert!(found(&answer, CauseId::IMBALANCE).unwrap().summary.contains("too often"), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_barrier_that_takes_little_is_no_cause() {
        let answer = steps(&[1350, 1350]);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}
