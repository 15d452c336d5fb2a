//! A thread that has divided its work, has done its own part and waits for those that have the others: tasks of a fork-join
//! pool of Java do so, and a main thread that computes one of the parts itself.
//! Imports `busy`, `account::lines`, `model`, `recording`, `statistics`.

use super::busy::{Busy, MOST, THROUGHOUT, are_short};
use crate::account::lines::Why;
use crate::model::Traced;
use crate::model::similar_threads::{self, Calls};
use crate::model::stacks::Stacks;
use crate::statistics::MIN_SHARE;
use recording::tables::{Slice, State, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// Waits for the end of others' parts, of threads that have had a part of the same work.
///
/// Decides: whether time in which one thread runs and another waits for its end is told as unequal shares, or as a phase
/// that one thread runs alone.
/// From: the model: both ran the same function side by side, and one had less of it. A parallel stream of Java, of which one
/// task has nine tenths of the lines, showed the need; for the bounds, see [`MOST`], [`THROUGHOUT`] and [`MIN_SHARE`].
/// Shown by: `who_joins_after_its_own_share_had_a_smaller_one`, `who_joins_others_without_a_share_has_none`.
/// Wrong if: a thread runs some of a function's work beside another one, and what that runs afterwards, in the same
/// function, cannot be divided.
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

/// True where these threads ended most of a wait, or may have: who wakes another one when it ends has no thread any more.
fn may_be_ended_by(traced: &Traced<'_>, wait: &Wait, others: &BTreeSet<ThreadId>) -> bool {
    let wakes = traced.wakes.get(&wait.wait).into_iter().flatten();
    let by = wakes.filter(|wake| wake.waker.is_none_or(|waker| others.contains(&waker)));
    by.map(|wake| wake.blocked_ns as f64).sum::<f64>() > MOST * wait.blocked_ns as f64
}

fn of_thread(traced: &Traced<'_>, calls: &BTreeMap<ThreadId, Calls>, thread: ThreadId, waits: &[&Wait]) -> Vec<WaitId> {
    let alike = |of: &Calls| calls.get(&thread).is_some_and(|own| similar_threads::overlap(own, of) > MOST);
    let others: BTreeSet<ThreadId> =
        calls.iter().filter(|(other, of)| **other != thread && alike(of)).map(|(other, _)| *other).collect();
    let for_others: Vec<&&Wait> = waits.iter().filter(|wait| may_be_ended_by(traced, wait, &others)).collect();
    let blocked: f64 = for_others.iter().map(|wait| wait.blocked_ns as f64).sum();
    let count = for_others.iter().fold(0, |n: u64, wait| n.saturating_add(wait.count));
    if blocked <= 0.0 || are_short(traced, blocked, count) {
        return Vec::new();
    }
    let running = |slice: &Slice| slice.state == State::Running;
    let busy =
        Busy::from_slices(traced.slices.iter().filter(|s| others.contains(&s.thread)), |state| state == State::Running);
    // Before the others began, there was nobody to share with.
    let since = others.iter().filter_map(|t| traced.threads.get(t)).map(|t| t.start_ns).min().unwrap_or(0);
    let own: Vec<Slice> = traced.slices.line(thread).iter().filter(|s| running(s) && s.start_ns >= since).collect();
    let ran: f64 = own.iter().map(|s| s.spent_ns as f64).sum();
    let beside: f64 = own.iter().map(|s| busy.between(s.start_ns, s.end_ns).any).sum();
    if beside < MOST * ran || beside < MIN_SHARE * busy.between(0, u64::MAX).any {
        return Vec::new();
    }
    let ids: BTreeSet<WaitId> = for_others.iter().map(|wait| wait.wait).collect();
    let waiting = |slice: &Slice| slice.state == State::Blocked && slice.wait.is_some_and(|wait| ids.contains(&wait));
    let slices = traced.slices.line(thread).iter().filter(waiting);
    let meanwhile: f64 = slices.map(|s| busy.between(s.start_ns, s.end_ns).any).sum();
    if meanwhile < THROUGHOUT * blocked { Vec::new() } else { ids.into_iter().collect() }
}
