//! A count beyond the one that the verdict is about gets its own causes where it collapses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Answer, Beyond, CauseId};
use recording::synthetic::{RunSketch, Sketch, ms};

const WORK: &str = "work@app app.c:5";
const ORDERS: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < order@app app.c:40 < work@app app.c:9";
const STOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < stock@app app.c:70 < work@app app.c:9";

/// Threads that take turns with a lock: in every round each runs `own` ms beside the others, then 2 ms by itself.
fn takes_turns(run: &mut RunSketch<'_>, threads: u64, rounds: u64, own: u64, stack: &str) {
    for worker in 0..threads {
        let waker = format!("w{}", (worker + threads - 1) % threads);
        let mut thread = run.thread(&format!("w{worker}"));
        for _ in 0..rounds {
            thread = thread.runs(ms(own), WORK);
            for turn in 0..threads {
                thread = match turn == worker {
                    true => thread.runs(ms(2), WORK),
                    false => thread.locks(0x100, ms(2), stack, &waker),
                };
            }
        }
    }
}

/// One, two and four threads on two processors. With two, a fifth is lost to one lock; with four, runs take `seconds`,
/// and threads wait at `stack`.
fn swept(seconds: f64, stack: &'static str) -> Answer {
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(0.625), &around(1.0))
        .clean_cpu(4, &around(seconds), &around(1.0));
    let tables = with_base(sketch, WORK)
        .traced(2, |run| takes_turns(run, 2, 62, 6, ORDERS))
        .traced(4, |run| takes_turns(run, 4, (seconds * 1000.0 / 8.0) as u64, 0, stack))
        .tables();
    answer_for(&tables)
}

fn beyond(answer: &Answer) -> &Beyond {
    answer.verdict.beyond.as_ref().unwrap_or_else(|| panic!("{:#?}", answer.verdict))
}

#[test]
fn a_collapse_beyond_the_processors_has_its_own_cause() {
    let answer = swept(2.0, STOCK);
    let first = &answer.verdict.causes[0];
    assert_eq!((first.id, first.threads), (CauseId::USER_LOCK, 2), "{:#?}", answer.verdict);
    let beyond = beyond(&answer);
    assert_eq!((beyond.threads, beyond.same), (4, false));
    assert_eq!(beyond.causes[0].id, CauseId::USER_LOCK);
    assert!(beyond.summary.contains("with 4 threads it is 3.2 times slower than with 2"), "{}", beyond.summary);
    assert!(beyond.summary.contains("stock") && !beyond.summary.contains("order"), "{}", beyond.summary);
}

#[test]
fn where_the_reason_is_the_same_it_is_not_told_twice() {
    let answer = swept(2.0, ORDERS);
    let beyond = beyond(&answer);
    assert!(beyond.same && beyond.summary.ends_with("for the same reason"), "{beyond:#?}");
}

#[test]
fn a_larger_count_that_is_a_little_slower_has_nothing_to_say() {
    assert_eq!(swept(0.8, STOCK).verdict.beyond, None);
}

/// A count that takes no longer than two threads has not collapsed, whatever its threads wait for.
#[test]
fn a_larger_count_that_is_as_fast_has_nothing_to_say() {
    assert_eq!(swept(0.625, STOCK).verdict.beyond, None);
}
