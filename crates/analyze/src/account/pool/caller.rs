//! A caller that takes part in the work of the threads that it started: it does its share, and waits for theirs.
//! Parallel loops of task libraries do so (oneTBB, parallel streams of Java), and hand-written ones.
//! Imports `busy`, `account::lines`, `model`, `recording`.

use super::busy::{MOST, THROUGHOUT, at_work, busy_during, is_ended_by, long_in_sum, ran_beside};
use crate::account::lines::Why;
use crate::model::Traced;
use crate::model::similar_threads::{self, Calls};
use crate::model::stacks::Stacks;
use recording::tables::Wait;
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::BTreeSet;

/// The threads that the caller started wait for it at most this part of the time that it waits for them.
///
/// Decides: whether the caller has had its share, or the threads wait for each other in turns.
/// From: chosen: where two threads hand each other parts, both wait; a tenth covers starting each loop.
/// Shown by: `a_caller_that_has_done_its_share_waits_for_unequal_ones`, `threads_that_wait_in_turns_have_no_shares`.
/// Wrong if: the larger share is now the caller's and now another thread's: they are told to wait for each other.
const BACK: f64 = 0.1;

/// Waits in which the main thread has no work left, while threads that it started are busy with the same work.
pub(super) fn without_share(traced: &Traced<'_>, stacks: &Stacks<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    let Some(main) = traced.main().map(|main| main.thread).filter(|_| !traced.loaded()) else { return Vec::new() };
    let may_be = |wait: &&Wait| matches!(why.get(&wait.wait), Some(Why::Condition | Why::Futex)) && wait.blocked_ns > 0;
    let waits: Vec<&Wait> = traced.waits.values().copied().filter(may_be).collect();
    if waits.iter().all(|wait| wait.thread != main) {
        return Vec::new();
    }
    // The caller comes to the work through other functions than the threads that it started.
    let calls = similar_threads::innermost_calls(stacks, &traced.samples);
    let alike = |of: &Calls| calls.get(&main).is_some_and(|own| similar_threads::overlap(own, of) > MOST);
    let others: BTreeSet<ThreadId> =
        calls.iter().filter(|(thread, of)| **thread != main && alike(of)).map(|(thread, _)| *thread).collect();
    if others.is_empty() || !others.iter().all(|thread| descends(traced, *thread, main)) {
        return Vec::new();
    }
    let sum = |waits: &[&Wait]| waits.iter().map(|wait| wait.blocked_ns as f64).sum::<f64>();
    let for_others: Vec<&Wait> =
        waits.iter().copied().filter(|w| w.thread == main && is_ended_by(traced, w, &others)).collect();
    let caller = BTreeSet::from([main]);
    let for_main: Vec<&Wait> =
        waits.into_iter().filter(|w| others.contains(&w.thread) && is_ended_by(traced, w, &caller)).collect();
    let Some(blocked) = long_in_sum(traced, &for_others).filter(|blocked| sum(&for_main) <= BACK * blocked) else {
        return Vec::new();
    };
    if ran_beside(traced, main, &others, &at_work(traced, &others)).is_none() {
        return Vec::new();
    }
    let ids: BTreeSet<WaitId> = for_others.iter().map(|wait| wait.wait).collect();
    // Who ends a wait must have been at work: a thread that waited itself only passes on what it waited for.
    let wakes = ids.iter().filter_map(|wait| traced.wakes.get(wait)).flatten();
    let last: BTreeSet<ThreadId> = wakes.filter_map(|wake| wake.waker).filter(|w| others.contains(w)).collect();
    let ran_meanwhile = busy_during(traced, main, &ids, &at_work(traced, &last));
    if ran_meanwhile < THROUGHOUT * blocked { Vec::new() } else { ids.into_iter().collect() }
}

/// True when a thread was started by another one, or by a thread that this one started, and so on.
fn descends(traced: &Traced<'_>, thread: ThreadId, from: ThreadId) -> bool {
    let parent = |thread: &ThreadId| traced.threads.get(thread).and_then(|t| t.parent);
    // A hostile recording may have a circle.
    std::iter::successors(parent(&thread), parent).take(traced.threads.len()).any(|ancestor| ancestor == from)
}
