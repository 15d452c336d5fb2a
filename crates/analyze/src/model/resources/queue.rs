//! A lock in front of a pool: its holder keeps it while it waits for one of a few things, and other threads wait for
//! the lock.

use super::hand_over::hand_overs;
use super::pool::{Pool, function};
use crate::model::futex::{FutexWait, Purpose};
use crate::model::run::Traced;
use recording::WaitId;
use recording::tables::{Slice, State};
use std::collections::{BTreeMap, BTreeSet};

/// Decides: whether waits for a lock count as waits for the pool that the lock's holder waits for: it must wait for the
/// pool for more than this share of the time that it holds the lock.
/// From: the definition of a majority: if threads waited less for the lock, they would wait for the pool instead.
/// Shown by: `tests`, a lock around the end of a channel, as Rust's receivers need when threads share them.
/// Wrong if: the lock is also held for long for other reasons: making the pool larger then helps less than the answer
/// says.
const MOST: f64 = 0.5;

/// Adds the waits for a lock that the acquiring function takes first, where the lock's holder mostly waits for the
/// pool.
pub(super) fn add<'t>(pool: &mut Pool<'t>, traced: &Traced<'t>, futexes: &BTreeMap<WaitId, FutexWait<'t>>) {
    let place = function(&pool.place);
    let first = |wait: &&FutexWait<'_>| {
        wait.purpose == Purpose::Lock && wait.view.own.is_some_and(|own| function(&own) == place)
    };
    let locks: Vec<&FutexWait> =
        futexes.values().filter(first).filter(|w| !pool.waits.contains(&w.wait.wait)).collect();
    let waits: BTreeSet<WaitId> = locks.iter().map(|w| w.wait.wait).collect();
    if waits.is_empty() {
        return;
    }
    let (mut held, mut waiting) = (0.0, 0.0);
    for hold in hand_overs(traced, &waits).holds {
        held += (hold.end - hold.start) as f64;
        let within = |s: &Slice| s.end_ns.min(hold.end).saturating_sub(s.start_ns.max(hold.start));
        let for_one = |s: &Slice| s.state == State::Blocked && s.wait.is_some_and(|w| pool.waits.contains(&w));
        let slices = traced.within(hold.thread, hold.start, hold.end).filter(for_one);
        waiting += slices.map(|s| within(&s) as f64).sum::<f64>();
    }
    if waiting > MOST * held {
        pool.waiters.extend(locks.iter().map(|w| w.wait.thread));
        pool.waits.extend(waits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::futex::classify;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::Reason;

    const LOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < checkout@app pool.c:52 < work@app app.c:5";
    const TAKE: &str = "read@libc.so.6 < checkout@app pool.c:53 < work@app app.c:5";

    /// Two threads take the lock in turn and wait for a thing for `waiting` milliseconds while they hold it. Returns
    /// how many waits the pool then has.
    fn waits(waiting: u64) -> usize {
        let tables = Sketch::new(2)
            .traced(2, |run| {
                for (name, other, first) in [("a", "b", true), ("b", "a", false)] {
                    (0..30).fold(run.thread(name), |thread, round| match (round % 2 == 0) == first {
                        true => thread
                            .blocks(Reason::Pipe, ms(waiting), TAKE)
                            .runs(ms(10 - waiting), "checkout@app pool.c:54"),
                        false => thread.locks(0x900, ms(10), LOCK, other),
                    });
                }
            })
            .tables();
        let model = Model::new(&tables);
        let run = &model.traced[0];
        let futexes = classify(run, &model.stacks, model.numbers);
        let waits: BTreeSet<WaitId> =
            tables.waits.iter().filter(|w| w.reason == Reason::Pipe).map(|w| w.wait).collect();
        let place = model.stacks.view(tables.waits.iter().find_map(|w| w.user_stack), true).own.unwrap();
        let mut pool = Pool { place, waits, waiters: BTreeSet::new(), size: None, holds: Vec::new() };
        add(&mut pool, run, &futexes);
        pool.waits.len()
    }

    #[test]
    fn who_waits_behind_one_that_waits_for_the_pool_waits_for_it_too() {
        assert_eq!(waits(9), 4);
        assert_eq!(waits(2), 2, "the lock is held for other work");
    }
}
