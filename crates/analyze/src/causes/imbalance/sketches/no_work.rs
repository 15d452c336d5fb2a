//! Workers that get no work, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, ms};

const APPLY: &str = "apply@app app.c:20 < worker@app app.c:60";
const START: &str = "pthread_create@libc.so.6 < main@app app.c:90";
const NEXT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < next_batch@app app.c:40 < worker@app app.c:58";

/// The threads of a program whose second worker finds nothing to do and ends after 50 ms, each with where it was made;
/// `others` more are made where the first one was.
fn ends_at_once(made: [&str; 2], others: u64, waits: &str) -> Answer {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    let tables = with_base(sketch, APPLY)
        .traced(2, |run| {
            main_joins(run, ms(1000));
            run.thread("a").created_at(made[0]).runs(ms(1000), APPLY);
            run.thread("b").created_at(made[1]).locks(0x101, ms(50), waits, "main");
            for _ in 0..others {
                run.thread("c").created_at(made[0]).locks(0x102, ms(50), NEXT, "main");
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

/// A second in which `a` runs `APPLY`, and `b` runs it for `b_runs` milliseconds and waits at `stack` for the rest.
fn second(b_runs: u64, stack: &str) -> Answer {
    let cpu = 1.0 + b_runs as f64 * 1e-3;
    let sketch = Sketch::new(2).clean(1, &around(cpu)).clean_cpu(2, &around(1.0), &around(cpu));
    let tables = with_base(sketch, APPLY)
        .traced(2, |run| {
            main_joins(run, ms(1000));
            run.thread("a").locks(0x100, ms(1), NEXT, "main").runs(ms(999), APPLY);
            let b = run.thread("b");
            let b = if b_runs > 0 { b.runs(ms(b_runs), APPLY) } else { b };
            b.locks(0x101, ms(1000 - b_runs), stack, "a");
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

/// A second in which main waits at a full queue for `a`, which always works in `code`; `b` was started by main, too, at `made`, and
/// waits at `stack` all the time.
fn full(code: &str, made: &str, stack: &str) -> Answer {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.05));
    let put = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < put@app app.c:44 < main@app app.c:95";
    let tables = sketch
        .traced(1, |run| {
            run.thread("main").runs(ms(50), "read@app app.c:93 < main@app app.c:95").locks(0x200, ms(950), put, "w");
            run.thread("w").created_at(START).runs(ms(1000), APPLY);
        })
        .traced(2, |run| {
            let mut main = run.thread("main");
            for _ in 0..50 {
                main = main.runs(ms(1), "read@app app.c:93 < main@app app.c:95").locks(0x200, ms(19), put, "a");
            }
            run.thread("a").created_at(START).runs(ms(1000), code);
            run.thread("b").created_at(made).locks(0x101, ms(1000), stack, "main");
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

mod positive {
    use super::*;

    #[test]
    fn who_gives_all_to_one_worker_waits_for_it() {
        let answer = full(APPLY, START, NEXT);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert_eq!(
            cause.summary,
            "One of 2 workers has all of the work, and the other one waits for it in next_batch (app.c:40): apply (app.c:20), \
             called from worker (app.c:60)."
        );
        assert!(cause.share > 0.9, "{cause:?}");
    }

    #[test]
    fn a_worker_that_gets_no_work_has_no_share() {
        let in_the_loop = NEXT.replace("next_batch@app app.c:40 < ", "");
        for (stack, place) in [(NEXT, "next_batch (app.c:40)"), (&in_the_loop, "worker (app.c:58)")] {
            let answer = second(0, stack);
            let cause = found(&answer, CauseId::IMBALANCE).unwrap();
            let expected = format!(
                "One of 2 workers has all of the work, and the other one waits for it in {place}: apply (app.c:20), called \
                 from worker (app.c:60)."
            );
            assert_eq!(cause.summary, expected);
            assert!(cause.share > 0.9, "{cause:?}");
            assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
        }
    }

    /// All of the work is inlined into the line that takes it.
    #[test]
    fn the_place_where_a_worker_waits_and_works_is_said_once() {
        let answer =
            full("worker@app app.c:58", START, "?@libc.so.6 < pthread_cond_wait@libc.so.6 < worker@app app.c:58");
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        let expected = "One of 2 workers has all of the work, and the other one waits for it: worker (app.c:58).";
        assert_eq!(cause.summary, expected);
    }

    /// Its queue is empty when it looks, and closed: all of the work is in the first one's.
    #[test]
    fn a_worker_that_finds_nothing_and_ends_has_no_share() {
        let answer = ends_at_once([START; 2], 0, NEXT);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(cause.summary.starts_with("One of 2 workers has all of the work"), "{}", cause.summary);
        assert!(cause.share > 0.9, "{cause:?}");
        assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    /// A thread that waits elsewhere for something else is no worker, so the busy one is a stage.
    #[test]
    fn a_stage_beside_idle_helpers_is_waited_for() {
        let signals = "?@libc.so.6 < sigwait@libc.so.6 < signals@app app.c:80";
        let answer =
            full("store@app app.c:30 < writer@app app.c:70", "pthread_create@libc.so.6 < main@app app.c:85", signals);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    /// Made elsewhere, more threads than were asked for, or one that waits in a library's scheduler: nothing says that they
    /// would share the work.
    #[test]
    fn a_thread_that_ends_at_once_may_be_no_worker() {
        let watch = "pthread_create@libc.so.6 < main@app app.c:95";
        let scheduler = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < park@libtasks.so";
        for (made, others, waits) in [([START, watch], 0, NEXT), ([START; 2], 1, NEXT), ([START; 2], 0, scheduler)] {
            let answer = ends_at_once(made, others, waits);
            assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
            assert!(found(&answer, CauseId::SERIAL_PHASE).is_some(), "{:#?}", answer.verdict);
        }
    }

    /// It waits in a function of its own, such as a timer's, or in that of a queue, but for another stage: the program has
    /// one worker.
    #[test]
    fn a_thread_that_waits_for_something_else_is_no_worker() {
        let timer = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < tick@app app.c:80 < timer@app app.c:81";
        for stack in [timer, &NEXT.replace("worker@app app.c:58", "writer@app app.c:70")] {
            let answer = second(0, stack);
            assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
            assert!(found(&answer, CauseId::SERIAL_PHASE).is_some(), "{:#?}", answer.verdict);
        }
    }
}

mod clean {
    use super::*;

    #[test]
    fn workers_that_are_both_busy_have_no_cause() {
        let answer = second(980, NEXT);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}
