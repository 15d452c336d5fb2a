//! One observed run without a curve.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{CauseId, LimitationKind};
use recording::Tables;
use recording::synthetic::{Sketch, ms};

const WAIT: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < update@app app.c:40";
const WORK: &str = "work@app app.c:5";

/// Two workers on four processors that share a lock and sometimes write.
fn run(threads: u32) -> Tables {
    let mut tables = Sketch::new(4)
        .traced(threads, |run| {
            main_joins(run, ms(999));
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100 {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(8), WORK).runs_in_kernel(ms(2), 1, "write@libc.so.6 < save@app app.c:9"),
                        false => thread.locks(0x100, ms(10), WAIT, other),
                    };
                }
                run.syscalls(name, 1, "write", 50);
            }
        })
        .tables();
    tables.meta.thread_counts.clear();
    tables
}

#[test]
fn one_run_has_an_account_of_all_processors_and_the_causes_that_a_run_shows() {
    for threads in [0, 2] {
        let answer = answer_for(&run(threads));
        assert_balanced(&answer);
        assert!(answer.curve.is_empty() && answer.knee_at.is_none());
        let account = &answer.account[0];
        // Four processors for a second; 0.8 s of the two threads' time in user space is work.
        assert!((account.capacity - 4.0).abs() < 0.01, "{account:?}");
        assert!((account.useful - 0.8).abs() < 0.01, "{account:?}");
        assert!(account.unexplained.abs() < 0.01, "{account:?}");
        let line = |what: &str| account.lines.iter().find(|l| l.what == what).map_or(0.0, |l| l.seconds);
        assert!((line("waiting for locks") - 1.0).abs() < 0.01, "{account:?}");
        assert!((line("too few threads at work") - 2.0).abs() < 0.05, "{account:?}");
        assert!((line("kernel time in write") - 0.2).abs() < 0.01, "{account:?}");
        assert_eq!(answer.verdict.causes[0].id, CauseId::SERIAL_PHASE, "{:#?}", answer.verdict);
        let lock = found(&answer, CauseId::USER_LOCK).unwrap();
        assert!(lock.summary.contains("update (app.c:40)"), "{}", lock.summary);
        assert!(answer.verdict.summary.starts_with("The program ran for 1.0 s and kept 1.0 of 4 processors busy."));
        for id in [CauseId::EXTRA_WORK, CauseId::MEMORY_BOUND, CauseId::FALSE_SHARING, CauseId::SPIN_WAIT] {
            assert!(missing(&answer, id).contains("only in a sweep"), "{id:?}");
        }
        assert!(
            answer.limitations.iter().any(|l| l.what == LimitationKind::Scaling && l.unlock.is_some()),
            "{:?}",
            answer.limitations
        );
    }
}

#[test]
fn a_run_that_keeps_its_processors_busy_has_no_cause() {
    let tables = Sketch::new(2)
        .traced(0, |run| {
            run.thread("a").runs(ms(500), WORK);
            run.thread("b").runs(ms(500), WORK);
        })
        .tables();
    let answer = answer_for(&tables);
    assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
    assert!(answer.verdict.summary.contains("only in a sweep"), "{}", answer.verdict.summary);
}

#[test]
fn a_run_that_failed_is_answered_and_only_threads_that_work_count() {
    let mut tables = run(3);
    for row in &mut tables.runs {
        row.exit_status = Some(3);
    }
    let answer = answer_for(&tables);
    assert_eq!(answer.account[0].threads, 2, "the main thread only waits for the two");
    assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
    assert!(!answer.warnings.iter().any(|w| w.contains("left out")), "{:?}", answer.warnings);
}

#[test]
fn in_a_short_run_too_the_thread_that_starts_the_others_is_none_of_them() {
    let tables = Sketch::new(2)
        .traced(0, |run| {
            run.thread("main").runs(ms(4), "main@app app.c:80").blocks(
                recording::tables::Reason::Futex,
                ms(46),
                "__pthread_clockjoin_ex@libc.so.6 < main@app app.c:90",
            );
            run.thread("a").runs(ms(50), WORK);
            run.thread("b").runs(ms(50), WORK);
        })
        .tables();
    assert_eq!(answer_for(&tables).account[0].threads, 2);
}

#[test]
fn a_single_thread_that_sleeps_is_not_said_to_run_alone() {
    let tables = Sketch::new(2)
        .traced(0, |run| {
            let sleep = "nanosleep@libc.so.6 < main@app app.c:9";
            run.thread("main").runs(ms(4), "main@app app.c:8").blocks(recording::tables::Reason::Sleep, ms(196), sleep);
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(!answer.verdict.causes[0].summary.contains("runs alone"), "{:#?}", answer.verdict);
}
