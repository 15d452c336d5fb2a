//! One thread that is busy all the time sets the pace, however the others wait for it.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};

const STORE: &str = "store@app app.c:10";

/// What each of the threads runs at the baseline and with two threads, milliseconds of a second: a consumer, and those
/// who offer it work in a loop.
fn program(base: &[u64], two: &[u64]) -> Tables {
    let names = ["consumer", "a", "b"];
    let cpu = |run: &[u64]| run.iter().sum::<u64>() as f64 * 1e-3;
    let sketch =
        Sketch::new(2).clean_cpu(1, &around(1.0), &around(cpu(base))).clean_cpu(2, &around(1.0), &around(cpu(two)));
    [(1, base), (2, two)]
        .into_iter()
        .fold(sketch, |sketch, (count, shares)| {
            sketch.traced(count, |run| {
                for (name, share) in names.iter().zip(shares) {
                    let stack = if *name == "consumer" { STORE } else { "offer@app app.c:30" };
                    run.thread(name).runs(ms(*share), stack).preempted(ms(1000 - share));
                }
            })
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn one_thread_that_is_always_busy_sets_the_pace() {
        let answer = answer_for(&program(&[1000, 300], &[1000, 400, 400]));
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert!(
            cause.summary.contains("the stage that is busy 100 % of the time: one thread in store (app.c:10)"),
            "{}",
            cause.summary
        );
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("store"));
        let books: f64 = answer.account[1].lines.iter().map(|line| line.seconds).sum();
        let account = &answer.account[1];
        assert!((account.useful + books + account.unexplained - account.capacity).abs() < 1e-6, "{account:?}");
    }

    /// All threads take 1.25 times as long, and have the same shares of the work.
    #[test]
    fn a_busy_thread_with_its_old_share_sets_the_pace_on_a_slower_machine() {
        let answer = answer_for(&program(&[800, 320], &[1000, 200, 200]));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    }

    /// The collector takes as much as the waiting for the busy thread.
    #[test]
    fn the_pace_is_told_before_what_is_as_large_beside_it() {
        let wait = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < offer@app app.c:31";
        let collector = "v8::internal::Heap::CollectGarbage()@node < worker@node";
        let tables = Sketch::new(2)
            .clean_cpu(1, &around(1.0), &around(1.3))
            .clean_cpu(2, &around(1.0), &around(1.651))
            .traced(1, |run| {
                run.thread("consumer").runs(ms(1000), STORE);
                run.thread("a").runs(ms(300), "offer@app app.c:30").preempted(ms(700));
            })
            .traced(2, |run| {
                run.thread("consumer").runs(ms(1000), STORE);
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(150), "offer@app app.c:30").locks(0x50, ms(850), wait, "consumer");
                }
                run.thread_at("helper", ms(300)).runs(ms(351), collector);
            })
            .tables();
        let answer = answer_for(&tables);
        let first: Vec<CauseId> = answer.verdict.causes.iter().map(|cause| cause.id).collect();
        assert_eq!(first, [CauseId::CONDITION_WAIT, CauseId::ALLOCATOR], "{}", answer.verdict.summary);
        assert!(
            answer.verdict.causes[0].lost_seconds < answer.verdict.causes[1].lost_seconds,
            "{}",
            answer.verdict.summary
        );
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn two_busy_threads_set_no_pace() {
        let answer = answer_for(&program(&[1000, 300], &[1000, 900]));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none());
    }

    #[test]
    fn a_busy_thread_that_takes_longer_with_more_threads_sets_no_pace() {
        let answer = answer_for(&program(&[700, 600], &[1000, 400, 400]));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none());
    }

    #[test]
    fn a_busy_thread_that_shares_its_work_sets_no_pace() {
        let answer = answer_for(&program(&[1000], &[800, 500, 500]));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none());
    }

    #[test]
    fn a_busy_thread_beside_others_that_do_the_same_sets_no_pace() {
        let tables = Sketch::new(2)
            .clean_cpu(1, &around(1.0), &around(1.0))
            .clean_cpu(2, &around(1.0), &around(1.5))
            .traced(1, |run| {
                run.thread("main").runs(ms(1000), STORE);
            })
            .traced(2, |run| {
                run.thread("main").runs(ms(1000), STORE);
                run.thread("a").runs(ms(500), STORE).preempted(ms(500));
            })
            .tables();
        assert!(found(&answer_for(&tables), CauseId::CONDITION_WAIT).is_none());
    }
}
