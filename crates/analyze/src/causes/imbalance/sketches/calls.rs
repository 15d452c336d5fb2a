//! Threads that finish apart and make system calls.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, ms};

/// Two threads, of which the second takes longer. All of their time is in `dup`, which they make so many times.
fn in_calls(made: [u64; 2]) -> Answer {
    const DUP: u32 = 32;
    let stack = "dup@libc.so.6 < work@app app.c:5";
    let tables = Sketch::new(2)
        .clean(1, &around(1.4))
        .clean_cpu(2, &around(1.0), &around(1.7))
        .traced(1, |run| {
            run.thread("one").runs_in_kernel(ms(1400), DUP, stack);
            run.syscalls("one", DUP, "dup", 100_000);
        })
        .traced(2, |run| {
            main_joins(run, ms(1000));
            run.thread("a").runs_in_kernel(ms(700), DUP, stack);
            run.thread("b").runs_in_kernel(ms(1000), DUP, stack);
            run.syscalls("a", DUP, "dup", made[0]);
            run.syscalls("b", DUP, "dup", made[1]);
        })
        .tables();
    answer_for(&tables)
}

mod positive {
    use super::*;

    #[test]
    fn who_makes_more_calls_has_more_to_do() {
        let answer = in_calls([41_000, 59_000]);
        assert!(found(&answer, CauseId::IMBALANCE).is_some(), "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    /// A lock in the kernel is not fair: who gets it less often takes longer for the same calls.
    #[test]
    fn threads_that_make_the_same_calls_have_equal_shares() {
        let answer = in_calls([50_000, 50_001]);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        let missing = missing(&answer, CauseId::IMBALANCE);
        assert!(missing.contains("dup as often as the others, 50001 times"), "{missing}");
        assert!(found(&in_calls([500, 501]), CauseId::IMBALANCE).is_some(), "too few calls tell nothing");
    }
}
