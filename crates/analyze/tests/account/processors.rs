//! Sweeps that change the number of processors and not that of threads.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Answer, CauseId};
use recording::meta::Counted;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const WORK: &str = "mix@app app.c:5 < work@app app.c:9";
const LOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < add@app app.c:7 < work@app app.c:9";
const READ: &str = "clock_nanosleep@libc.so.6 < fetch@app app.c:8 < work@app app.c:9";

/// Four threads on one processor, then on two: each takes its turn for 10 ms.
fn takes_turns(sketch: Sketch, processors: u32, rounds: u64) -> Sketch {
    let each = u64::from(4 / processors);
    sketch.traced(processors, move |run| {
        main_joins(run, ms(rounds * each * 10));
        for worker in 0..4_u64 {
            let mut thread = run.thread(&format!("worker-{worker}"));
            for _ in 0..rounds {
                let before = worker / u64::from(processors);
                thread = if before > 0 { thread.preempted(ms(10 * before)) } else { thread };
                thread = thread.runs(ms(10), WORK);
                let after = each - before - 1;
                thread = if after > 0 { thread.preempted(ms(10 * after)) } else { thread };
            }
        }
    })
}

#[test]
fn more_threads_than_processors_are_no_loss_by_themselves() {
    let sketch = Sketch::new(2).counting_processors();
    let sketch = sketch.clean_cpu(1, &around(1.2), &around(1.2)).clean_cpu(2, &around(0.602), &around(1.204));
    let answer = answer_for(&takes_turns(takes_turns(sketch, 1, 30), 2, 30).tables());
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
    assert!(answer.verdict.summary.starts_with("With 2 processors the program is 2.0 times as fast as with 1."));
    assert!(!answer.verdict.summary.contains("thread"), "{}", answer.verdict.summary);
    let capacity: Vec<f64> = answer.account.iter().map(|account| account.capacity).collect();
    assert!((capacity[0] - 1.2).abs() < 0.03 && (capacity[1] - 1.204).abs() < 0.03, "{capacity:?}");
    assert_eq!(answer.account.iter().map(|a| a.working_threads).collect::<Vec<_>>(), [Some(4); 2]);
    assert_eq!(answer.curve.iter().map(|p| p.processors).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert!(missing(&answer, CauseId::OVERSUBSCRIPTION).contains("only in a sweep of thread counts"));
    assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
}

/// Two threads that share a lock: on one processor they take turns anyway.
fn locked() -> Answer {
    let sketch = Sketch::new(2).counting_processors();
    let sketch = sketch
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(0.95), &around(1.05))
        .traced(1, |run| {
            main_joins(run, ms(1000));
            for worker in 0..2 {
                let mut thread = run.thread(&format!("worker-{worker}"));
                for round in 0..50 {
                    if round > 0 || worker > 0 {
                        thread = thread.preempted(ms(10));
                    }
                    thread = thread.runs(ms(10), WORK);
                }
            }
        })
        .traced(2, |run| {
            main_joins(run, ms(950));
            for worker in 0..2 {
                let other = format!("worker-{}", 1 - worker);
                let mut thread = run.thread(&format!("worker-{worker}"));
                for round in 0..50 {
                    if round > 0 || worker > 0 {
                        thread = thread.locks(0x7f00, ms(9), LOCK, &other);
                    }
                    thread = thread.runs(ms(10), WORK);
                }
            }
            run.syscalls("worker-0", recording::synthetic::FUTEX, "futex", 3_000);
            run.syscalls("worker-1", recording::synthetic::FUTEX, "futex", 3_000);
        });
    answer_for(&sketch.tables())
}

#[test]
fn what_keeps_a_second_processor_idle_is_told_of_processors() {
    let answer = locked();
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert_eq!(cause.threads, 2);
    assert!(cause.evidence.iter().any(|row| row.what == "futex calls with 1 processor"), "{:#?}", cause.evidence);
    assert_eq!(answer.counted, Counted::Processors);
    assert!(answer.verdict.summary.starts_with("With 2 processors the program is 1.1 times as fast as with 1."));
}

/// Four threads that mostly sleep: a second processor does not make that shorter, so sleeping keeps it from helping.
/// What one processor was already idle for belongs to the work.
#[test]
fn who_sleeps_gains_nothing_by_a_second_processor() {
    let mut sketch = Sketch::new(2).counting_processors();
    for processors in [1, 2] {
        sketch = sketch.clean_cpu(processors, &around(1.0), &around(0.4)).traced(processors, |run| {
            main_joins(run, ms(1000));
            for worker in 0..4_u64 {
                let mut thread = run.thread(&format!("worker-{worker}"));
                if worker > 0 {
                    thread = thread.blocks(Reason::Sleep, ms(20 * worker), READ);
                }
                for _ in 0..10 {
                    thread = thread.runs(ms(10), WORK).blocks(Reason::Sleep, ms(84), READ);
                }
            }
        });
    }
    let answer = answer_for(&sketch.tables());
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("fetch"));
    let account = &answer.account[1];
    let sleeping: f64 = account.lines.iter().filter(|l| l.what == "sleeping").map(|l| l.seconds).sum();
    assert!(sleeping < 0.55 * account.capacity, "{:#?}", answer.account);
}
