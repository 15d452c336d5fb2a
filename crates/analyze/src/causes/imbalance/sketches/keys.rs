//! Tasks that are given to threads by a key, of which one is frequent, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, ms, us};

const PRICE: &str = "price@app app.c:20 < worker@app app.c:60";
const NEXT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < next_task@app app.c:40 < worker@app app.c:58";
const FULL: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < put@app app.c:44 < main@app app.c:90";

/// A second in which `a` always works, and `b` runs `code` for `b_runs` microseconds of each millisecond and waits for a
/// task for the rest. The thread that hands out the tasks waits for `a`.
fn shares(b_runs: u64, code: &str) -> Answer {
    let cpu = 1.0 + b_runs as f64 * 1e-3;
    let sketch = Sketch::new(2).clean(1, &around(cpu)).clean_cpu(2, &around(1.0), &around(cpu));
    let tables = with_base(sketch, PRICE)
        .traced(2, |run| {
            let (mut giver, rounds) = (run.thread("giver"), 1000);
            for _ in 0..rounds {
                giver = giver.locks(0x200, us(1000), FULL, "a");
            }
            let mut a = run.thread("a");
            for _ in 0..rounds {
                a = a.runs(us(1000), PRICE);
            }
            let mut b = run.thread("b");
            for _ in 0..rounds {
                b = b.runs(us(b_runs), code).locks(0x101, us(1000 - b_runs), NEXT, "giver");
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
    fn one_hot_key_gives_its_thread_the_largest_share() {
        let answer = shares(200, PRICE);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert_eq!(
            cause.summary,
            "One of 2 threads that do the same work has most of it: it is busy 100 % of the time, and the others wait: \
             price (app.c:20), called from worker (app.c:60)."
        );
        assert!(cause.share > 0.9, "{cause:?}");
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }

    /// Forty waits of 20 ms, in which the giver runs for a part of the time.
    #[test]
    fn tasks_of_a_hot_key_may_be_long() {
        let sketch = Sketch::new(2).clean(1, &around(1.2)).clean_cpu(2, &around(1.0), &around(1.2));
        let tables = with_base(sketch, PRICE)
            .traced(2, |run| {
                let (mut giver, rounds) = (run.thread("giver"), 40);
                for _ in 0..rounds {
                    giver = giver.locks(0x200, us(17_500), FULL, "a").preempted(us(7500));
                }
                run.thread("a").runs(ms(1000), PRICE);
                let mut b = run.thread("b");
                for _ in 0..rounds {
                    b = b.runs(us(5000), PRICE).locks(0x101, us(20_000), NEXT, "giver");
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(
            cause.summary.starts_with("One of 2 threads that do the same work has most of it"),
            "{}",
            cause.summary
        );
    }

    /// The busy thread brings the other one's tasks itself.
    #[test]
    fn a_thread_with_the_largest_share_may_give_out_the_rest() {
        let answer = fed_by_the_busiest(2, "dispatch@app app.c:30 < worker@app app.c:60");
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(
            cause.summary.starts_with("One of 2 threads that do the same work has most of it"),
            "{}",
            cause.summary
        );
    }
}

/// A second in which `a` always works, `own` for `own_ms` of each 25 milliseconds, and gives `b` a task of 5 ms in each of
/// them, for which `b` waits.
fn fed_by_the_busiest(own_ms: u64, own: &str) -> Answer {
    let rounds = 40;
    let sketch = Sketch::new(2).clean(1, &around(1.2)).clean_cpu(2, &around(1.0), &around(1.2));
    let tables = sketch
        .traced(1, |run| {
            let mut a = run.thread("a");
            for _ in 0..rounds {
                a = a.runs(ms(30 - own_ms), PRICE).runs(ms(own_ms), own);
            }
        })
        .traced(2, |run| {
            let mut a = run.thread("a");
            for _ in 0..rounds {
                a = a.runs(ms(25 - own_ms), PRICE).runs(ms(own_ms), own);
            }
            let mut b = run.thread("b");
            for _ in 0..rounds {
                b = b.runs(ms(5), PRICE).locks(0x101, ms(20), NEXT, "a");
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

mod near_miss {
    use super::*;

    /// The thread that hands out the tasks also does what the others wait for.
    #[test]
    fn a_busy_thread_that_does_more_than_the_others_has_no_larger_share() {
        let answer = fed_by_the_busiest(10, "merge@app app.c:30 < main@app app.c:70");
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    /// The thread that waits does something else: the busy one is a stage.
    #[test]
    fn a_stage_beside_a_lighter_stage_has_no_larger_share() {
        let answer = shares(200, "print@app app.c:30 < printer@app app.c:80");
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    /// A pool that prefers one thread, and gives another one a task only while the first is not ready for it.
    #[test]
    fn tasks_that_come_one_at_a_time_give_no_thread_too_much() {
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
        let tables = with_base(sketch, PRICE)
            .traced(2, |run| {
                let (mut giver, rounds) = (run.thread("giver"), 1000);
                for _ in 0..rounds {
                    giver = giver.locks(0x200, us(850), FULL, "a").locks(0x200, us(150), FULL, "b");
                }
                let mut a = run.thread("a");
                for _ in 0..rounds {
                    a = a.runs(us(850), PRICE).locks(0x100, us(150), NEXT, "giver");
                }
                let mut b = run.thread("b");
                for _ in 0..rounds {
                    b = b.locks(0x101, us(850), NEXT, "giver").runs(us(150), PRICE);
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn about_equal_shares_have_no_cause() {
        let answer = shares(960, PRICE);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}
