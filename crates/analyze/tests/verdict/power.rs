//! A cause is clear only where enough of it would have been seen.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Answer, CauseId};
use recording::synthetic::{Sketch, ms};

const WORK: &str = "work@app app.c:5";
const WAIT: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < update@app app.c:40 < work@app app.c:9";

/// Two threads that wait `locked` of every 100 ms for a lock, and both `kept` of every 100 ms for a processor that
/// another program has.
fn beside_others(locked: u64, kept: u64) -> Answer {
    let ran = 2.0 * (100 - locked - kept) as f64 / 100.0;
    let mut tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(ran)), WORK)
        .traced(2, |run| {
            let runs = 100 - locked - kept;
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..10 {
                a.extend([(runs, 0), (kept, 1), (locked, 2)]);
                b.extend([(runs, 0), (locked, 2), (kept, 1)]);
            }
            for (name, other, parts) in [("a", "b", a), ("b", "a", b)] {
                let mut thread = run.thread(name);
                for (length, what) in parts.into_iter().filter(|p| p.0 > 0) {
                    thread = match what {
                        0 => thread.runs(ms(length), WORK),
                        1 => thread.preempted(ms(length)),
                        _ => thread.locks(0x100, ms(length), WAIT, other),
                    };
                }
            }
        })
        .tables();
    tables.traces[1].foreign_ns = ms(20 * kept);
    for run in tables.runs.iter_mut() {
        run.foreign_ns = Some(ms(20 * kept));
    }
    answer_for(&tables)
}

/// Two threads that run for a second each, while other virtual machines have the two processors for `stolen` ms.
fn beside_machines(stolen: u64) -> Answer {
    let mut tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(2.0)), WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(1000), WORK);
            }
        })
        .tables();
    for run in tables.runs.iter_mut() {
        run.steal_ns = Some(ms(stolen));
    }
    answer_for(&tables)
}

fn power(answer: &Answer, id: CauseId) -> &analyze::answer::Power {
    answer.verdict.power.iter().find(|p| p.id == id).unwrap_or_else(|| panic!("{:#?}", answer.verdict))
}

#[test]
fn what_is_never_seen_in_a_quiet_run_is_clear() {
    let answer = beside_others(0, 0);
    let power = power(&answer, CauseId::USER_LOCK);
    assert!(power.at_most < 0.01 && power.exposure > 0.99, "{power:?}");
    assert!(answer.verdict.clear.contains(&CauseId::USER_LOCK), "{:#?}", answer.verdict);
}

#[test]
fn what_others_kept_from_being_seen_stays_unsure() {
    let answer = beside_others(3, 60);
    let power = power(&answer, CauseId::USER_LOCK);
    assert!(power.exposure < 0.5 && power.at_most > 0.05, "{power:?}");
    assert!(missing(&answer, CauseId::USER_LOCK).contains("too disturbed to exclude"), "{:#?}", answer.verdict);
    // Near miss: as little of it, without other programs.
    let answer = beside_others(3, 0);
    assert!(answer.verdict.clear.contains(&CauseId::USER_LOCK), "{:#?}", answer.verdict);
}

#[test]
fn nothing_is_clear_where_threads_hardly_ever_run_side_by_side() {
    let answer = beside_others(0, 90);
    assert!(!answer.verdict.clear.contains(&CauseId::USER_LOCK), "{:#?}", answer.verdict);
    assert!(!answer.verdict.clear.contains(&CauseId::FALSE_SHARING), "{:#?}", answer.verdict);
}

#[test]
fn what_other_virtual_machines_kept_from_being_seen_stays_unsure() {
    let answer = beside_machines(900);
    assert!(power(&answer, CauseId::FALSE_SHARING).exposure < 0.2, "{:#?}", answer.verdict.power);
    assert!(!answer.verdict.clear.contains(&CauseId::FALSE_SHARING), "{:#?}", answer.verdict);
    // Near miss: they take too little to hide anything.
    let answer = beside_machines(10);
    assert!(power(&answer, CauseId::FALSE_SHARING).exposure > 0.98, "{:#?}", answer.verdict.power);
}

/// What is found beside other programs must be there even if the runs were as far off as their differences say.
#[test]
fn what_may_be_nothing_in_disturbed_runs_stays_unsure() {
    const TIMES: [f64; 5] = [0.60, 0.90, 0.55, 0.75, 0.58];
    let answer = |disturbed: bool, waits: u64| {
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &TIMES, &[1.0; 5]);
        let mut tables = with_base(sketch, WORK)
            .traced(2, |run| {
                for (name, other) in [("a", "b"), ("b", "a")] {
                    (0..10).fold(run.thread(name), |t, _| t.runs(ms(50), WORK).locks(0x100, ms(waits), WAIT, other));
                }
            })
            .tables();
        if disturbed {
            tables.runs.iter_mut().for_each(|run| run.foreign_ns = Some(run.wall_ns / 4));
        }
        answer_for(&tables)
    };
    assert!(found(&answer(false, 10), CauseId::USER_LOCK).is_some(), "{:#?}", answer(false, 10).verdict);
    let told = answer(true, 10);
    assert!(missing(&told, CauseId::USER_LOCK).contains("disturbed every timed run"), "{:#?}", told.verdict);
}
