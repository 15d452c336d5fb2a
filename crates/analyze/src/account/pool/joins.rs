//! A thread that has divided its work, has done its own part and waits for those that have the others: tasks of a fork-join
//! pool of Java do so, and a main thread that computes one of the parts itself.
//! Imports `busy`, `account::lines`, `model`, `recording`, `statistics`.

use super::busy::{MOST, THROUGHOUT, at_work, busy_during, is_joined, long_in_sum, ran_beside};
use crate::account::lines::Why;
use crate::model::Traced;
use crate::model::similar_threads::{self, Calls};
use crate::model::stacks::Stacks;
use crate::statistics::MIN_SHARE;
use recording::tables::Wait;
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// Waits for the end of others' parts, of threads that have had a part of the same work.
///
/// Decides: whether time in which one thread runs and another waits for its end is told as unequal shares, or as a phase
/// that one thread runs alone.
/// From: the model: both ran the same function side by side, and one had less of it. A parallel stream of Java, of which one
/// task has nine tenths of the lines, showed the need; for the bounds, see [`MOST`], [`THROUGHOUT`] and [`MIN_SHARE`].
/// Shown by: `who_joins_after_its_own_share_had_a_smaller_one`,
/// `who_joins_a_thread_that_is_kept_from_its_processor_had_a_smaller_share_too`, `who_joins_others_without_a_share_has_none`.
/// Wrong if: a thread runs some of a function's work beside another one, and what the other one runs afterwards,
/// in the same function, cannot be divided.
pub(super) fn after_own_share(traced: &Traced<'_>, stacks: &Stacks<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    let mut joins: BTreeMap<ThreadId, Vec<&Wait>> = BTreeMap::new();
    for wait in traced.waits.values().copied() {
        if why.get(&wait.wait) == Some(&Why::Join) && wait.blocked_ns > 0 {
            joins.entry(wait.thread).or_default().push(wait);
        }
    }
    if joins.is_empty() || traced.loaded() {
        return Vec::new();
    }
    let calls = similar_threads::innermost_functions(stacks, &traced.samples);
    joins.into_iter().flat_map(|(thread, waits)| of_thread(traced, &calls, thread, &waits)).collect()
}

fn of_thread(traced: &Traced<'_>, calls: &BTreeMap<ThreadId, Calls>, thread: ThreadId, waits: &[&Wait]) -> Vec<WaitId> {
    let alike = |of: &Calls| calls.get(&thread).is_some_and(|own| similar_threads::overlap(own, of) > MOST);
    let others: BTreeSet<ThreadId> =
        calls.iter().filter(|(other, of)| **other != thread && alike(of)).map(|(other, _)| *other).collect();
    let for_others: Vec<&Wait> = waits.iter().copied().filter(|wait| is_joined(traced, wait, &others)).collect();
    let Some(blocked) = long_in_sum(traced, &for_others) else { return Vec::new() };
    let busy = at_work(traced, &others);
    let share = ran_beside(traced, thread, &others, &busy).unwrap_or(0.0);
    if share < MIN_SHARE * busy.between(0, u64::MAX).any {
        return Vec::new();
    }
    let ids: BTreeSet<WaitId> = for_others.iter().map(|wait| wait.wait).collect();
    if busy_during(traced, thread, &ids, &busy) < THROUGHOUT * blocked { Vec::new() } else { ids.into_iter().collect() }
}
