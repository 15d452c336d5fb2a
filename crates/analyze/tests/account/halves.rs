//! Both halves of a loss are scaled to the timed runs, whatever the observed run was like.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Account, Answer, CauseId};
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::RunKind;

/// Two threads that each work for half a second and wait for a lock that the other has.
fn takes_turns(run: &mut RunSketch<'_>, waits_ms: u64) {
    run.thread("a").runs(ms(500), RANDOM.work).locks(0x7f00, ms(waits_ms), RANDOM.wait, "b");
    run.thread("b").locks(0x7f00, ms(waits_ms), RANDOM.wait, "a").runs(ms(500), RANDOM.work);
}

/// The timed runs take 0.8 s with two threads, 1.0 s of processor time.
fn answer(one_ms: u64, two: impl FnOnce(&mut RunSketch<'_>)) -> Answer {
    let tables = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(0.8), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(one_ms), RANDOM.work);
        })
        .traced(2, two)
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

fn charged(account: &Account, cause: CauseId) -> f64 {
    account.lines.iter().filter(|l| l.cause == cause).map(|l| l.seconds).sum()
}

fn is_about(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() < 0.01
}

#[test]
fn an_observed_run_that_waited_less_still_tells_what_was_waited_for() {
    // The observed run has 0.2 s of idle time, the timed runs 0.6 s.
    let answer = answer(1000, |run| takes_turns(run, 100));
    let account = &answer.account[1];
    assert!(is_about(charged(account, CauseId::USER_LOCK), 0.6), "{account:#?}");
    assert!(is_about(account.unexplained, 0.0), "{account:#?}");
    assert_eq!(ids(&answer), [CauseId::USER_LOCK]);
}

#[test]
fn an_observed_run_that_hardly_waited_tells_nothing_about_the_rest() {
    let answer = answer(1000, |run| takes_turns(run, 10));
    let account = &answer.account[1];
    assert!(charged(account, CauseId::USER_LOCK) < 0.1 && account.unexplained > 0.5, "{account:#?}");
    assert!(found(&answer, CauseId::USER_LOCK).is_none(), "{:#?}", answer.verdict);
    let told = |w: &String| w.contains("processors idle in the timed runs");
    assert!(answer.warnings.iter().any(told), "{:?}", answer.warnings);
}

#[test]
fn a_slow_observed_run_of_the_smallest_count_makes_no_gain() {
    // It took 5 % longer than the timed runs; that of the larger count did not.
    let answer = answer(1050, |run| takes_turns(run, 300));
    let account = &answer.account[1];
    assert!(charged(account, CauseId::EXTRA_WORK).abs() < 0.01, "{account:#?}");
    assert!(is_about(charged(account, CauseId::USER_LOCK), 0.6), "{account:#?}");
    assert!(is_about(account.unexplained, 0.0), "{account:#?}");
}

#[test]
fn growth_is_that_of_the_timed_runs_and_names_what_grew() {
    // Observing made the lock's code take three times as long.
    let tables = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(0.6), &around(1.2))
        .traced(1, |run| {
            run.thread("a").runs(ms(900), RANDOM.work).runs(ms(100), RANDOM.owner);
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(450), RANDOM.work).runs(ms(350), RANDOM.owner);
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let account = &answer.account[1];
    let grown: f64 = account.lines.iter().map(|l| l.seconds).sum();
    assert!(is_about(grown, 0.2) && is_about(account.unexplained, 0.0), "{account:#?}");
    assert!(account.lines.iter().all(|l| l.seconds > -0.01), "{account:#?}");
}

#[test]
fn what_others_took_of_the_observed_run_alone_is_in_no_line() {
    let disturbed = |timed_ns: u64| {
        let mut tables = Sketch::new(2)
            .clean_cpu(1, &around(1.0), &around(1.0))
            .clean_cpu(2, &around(0.8), &around(1.0))
            .traced(1, |run| {
                run.thread("a").runs(ms(1000), RANDOM.work);
            })
            .traced(2, |run| {
                run.thread("a").runs(ms(500), RANDOM.work).preempted(ms(100)).locks(0x7f00, ms(200), RANDOM.wait, "b");
                run.thread("b").preempted(ms(100)).locks(0x7f00, ms(200), RANDOM.wait, "a").runs(ms(500), RANDOM.work);
            })
            .tables();
        tables.traces[1].foreign_ns = ms(200);
        for run in tables.runs.iter_mut().filter(|r| r.kind == RunKind::Clean) {
            run.foreign_ns = Some(timed_ns);
        }
        answer_for(&tables)
    };
    let alone = disturbed(0);
    assert_balanced(&alone);
    assert!(is_about(charged(&alone.account[1], CauseId::CPU_PRESSURE), 0.0), "{:#?}", alone.account[1]);
    assert!(is_about(charged(&alone.account[1], CauseId::USER_LOCK), 0.6), "{:#?}", alone.account[1]);
    assert!(condition(&alone, CauseId::CPU_PRESSURE).is_none());
    // The timed runs had the same disturbance.
    let usual = disturbed(ms(200));
    assert_balanced(&usual);
    assert!(is_about(charged(&usual.account[1], CauseId::CPU_PRESSURE), 0.2), "{:#?}", usual.account[1]);
    assert!(is_about(charged(&usual.account[1], CauseId::USER_LOCK), 0.4), "{:#?}", usual.account[1]);
    // The lock is judged by the rest of the loss, and comes first.
    let first = &usual.verdict.causes[0];
    assert!(first.id == CauseId::USER_LOCK && first.share > 0.95, "{:#?}", usual.verdict);
    assert!(usual.verdict.summary.contains("Apart from other programs, which took 12"), "{}", usual.verdict.summary);
}
