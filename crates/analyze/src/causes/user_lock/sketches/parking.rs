//! Threads that park, and threads that hardly run.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::waiting::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms, us};
use recording::tables::Reason;

/// Java threads that take turns of ten milliseconds. `stacks`: where each of them parks.
fn parking(stacks: [&str; 2]) -> Tables {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    with_base(sketch, "void Shop.sell(int)@anonymous")
        .traced(2, |run| {
            for (i, (name, stack)) in ["a", "b"].into_iter().zip(stacks).enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100_usize {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(10), "void Shop.sell(int)@anonymous"),
                        false => thread.locks(0x100 + i as u64, ms(10), stack, ["b", "a"][i]),
                    };
                }
            }
        })
        .tables()
}

mod near_miss {
    use super::*;

    /// Threads that park wake others that park: this may be a lock, or two threads that wait for each other's answers. If a
    /// place's waits are ended by threads that never wait there, it is no lock.
    #[test]
    fn without_methods_names_parking_is_open_where_it_may_be_a_lock() {
        let at = |address: u32| format!("{PARK} < ?@anonymous a:{address}");
        let answer = answer_for(&parking([&at(1), &at(1)]));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
        assert!(missing(&answer, CauseId::USER_LOCK).contains("purpose"), "{:#?}", answer.verdict);
        assert_eq!(ids(&answer_for(&parking([&at(1), &at(2)]))), [CauseId::CONDITION_WAIT]);
    }

    /// A pool of two workers and a thread that gives them work; all park in the interpreter. The giver waits nearly always,
    /// too long for a thread that a worker could wait for at a lock.
    #[test]
    fn who_hardly_does_anything_else_holds_no_lock_that_others_wait_for() {
        let park = format!("{PARK} < Interpreter@anonymous < ?@libjvm.so");
        let task = "void Shop.sell(int)@anonymous";
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.9), &around(1.0));
        let tables = with_base(sketch, task)
            .traced(2, |run| {
                let mut giver = run.thread("main");
                for round in 0..10 {
                    let last = if round % 2 == 0 { "a" } else { "b" };
                    giver = giver.runs(ms(1), "void Shop.main()@anonymous").locks(0x300, ms(89), &park, last);
                }
                for (i, name) in ["a", "b"].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..10_usize {
                        let work = if round % 2 == i { 89 } else { 11 };
                        thread = thread.locks(0x100 + i as u64, ms(90 - work), &park, "main").runs(ms(work), task);
                    }
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        // No lock and no stage: the tasks that it hands out are of unequal size.
        assert_eq!(ids(&answer), [CauseId::IMBALANCE], "{:#?}", answer.verdict);
    }
}

/// Turns of ten milliseconds: the thread whose turn it is sleeps while it holds the lock.
#[test]
fn threads_that_hardly_run_are_the_workers_where_no_other_does() {
    let wait = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < wait_turn@app app.c:33";
    let pause = "clock_nanosleep@libc.so.6 < wait_turn@app app.c:35";
    let tables = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.001))
        .clean_cpu(2, &around(1.0), &around(0.001))
        .traced(1, |run| {
            main_joins(run, ms(1000));
            (0..100).fold(run.thread("worker-1"), |t, _| {
                t.runs(us(10), "work@app app.c:9").blocks(Reason::Sleep, ms(10), pause)
            });
        })
        .traced(2, |run| {
            main_joins(run, ms(1000));
            for (name, other, first) in [("worker-1", "worker-2", true), ("worker-2", "worker-1", false)] {
                let turns = (0..100).map(|turn| (turn % 2 == 0) == first);
                turns.fold(run.thread(name), |t, own| match own {
                    true => t.runs(us(10), "work@app app.c:9").blocks(Reason::Sleep, ms(10), pause),
                    false => t.locks(0x100, ms(10) + us(10), wait, other),
                });
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "it has two threads: {:#?}", answer.verdict);
    assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
}

#[test]
fn methods_tell_what_threads_of_java_park_for() {
    let queued = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
    let at = |methods: &str| format!("{PARK} < {methods} < void Shop.sell(int)@anonymous");
    let lock = at(&format!(
        "int {queued}.acquire(int)@anonymous < void java.util.concurrent.locks.ReentrantLock.lock()@anonymous"
    ));
    let answer = answer_for(&parking([&lock, &lock]));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
    assert_eq!(answer.verdict.causes[0].culprit.as_ref().unwrap().function.as_deref(), Some("void Shop.sell(int)"));
    let queue = at(&format!(
        "void {queued}$ConditionObject.await()@anonymous < java.lang.Object \
         java.util.concurrent.ArrayBlockingQueue.take()@anonymous"
    ));
    assert_eq!(ids(&answer_for(&parking([&queue, &queue]))), [CauseId::CONDITION_WAIT]);
}
