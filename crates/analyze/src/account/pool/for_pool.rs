//! When threads outside a pool wait for it, directly or through other threads: `main` waits for the thread that collects
//! the results, which waits for the pool.
//! Imports `busy`, `account::lines`, `model`, `recording`.

use super::busy::{Busy, MOST, is_ended_by};
use crate::account::lines::Why;
use crate::model::Traced;
use recording::tables::{Slice, State, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Between a thread and the pool that it waits for are at most this many other threads.
///
/// Decides: whether a thread that would give out tasks waits for the pool.
/// From: seen in a recording of CPython 3.11: the thread of `ProcessPoolExecutor` that feeds the queue waits for the one
/// that manages the workers, and that one for the workers. One more is chosen, for a giver that waits for the main thread.
/// Shown by: `a_giver_waits_for_the_pool_through_the_threads_that_collect_its_results`.
/// Wrong if: a library has one more: its idle workers are told as waiting for a stage.
const BETWEEN: usize = 2;

/// When a thread waits for a pool.
#[derive(Debug)]
pub(super) struct WaitForPool {
    /// Its own waiting, and that of the threads between it and the pool.
    steps: Vec<Busy>,
}

impl WaitForPool {
    /// For how long it waits in a stretch of time, at most, nanoseconds: as long as each thread on the way does.
    pub(super) fn between(&self, start: u64, end: u64) -> f64 {
        self.steps.iter().map(|step| step.between(start, end).any).fold(f64::INFINITY, f64::min)
    }
}

/// For each giver of tasks that waits for threads of the pool, when it does.
pub(super) fn for_pool(
    traced: &Traced<'_>,
    why: &QuickMap<WaitId, Why>,
    givers: &BTreeSet<ThreadId>,
    pool: &BTreeSet<ThreadId>,
) -> BTreeMap<ThreadId, WaitForPool> {
    let definite = |why: Why| matches!(why, Why::Condition | Why::Join | Why::Barrier | Why::Lock | Why::Futex);
    let outside = |wait: &&Wait| !pool.contains(&wait.thread);
    let is_definite = |wait: &&Wait| why.get(&wait.wait).copied().is_some_and(definite);
    let mut of: BTreeMap<ThreadId, Vec<&Wait>> = BTreeMap::new();
    for wait in traced.waits.values().copied().filter(outside).filter(is_definite) {
        of.entry(wait.thread).or_default().push(wait);
    }
    // For each thread that waits for the pool, its waits and the thread for which it waits, if that is not of the pool.
    let mut known: BTreeMap<ThreadId, (BTreeSet<WaitId>, Option<ThreadId>)> = BTreeMap::new();
    for (thread, waits) in &of {
        let direct: BTreeSet<WaitId> = waits.iter().filter(|w| is_ended_by(traced, w, pool)).map(|w| w.wait).collect();
        if !direct.is_empty() {
            known.insert(*thread, (direct, None));
        }
    }
    for _ in 0..BETWEEN {
        let through = of.iter().filter(|(thread, _)| !known.contains_key(*thread));
        let found: Vec<_> =
            through.filter_map(|(thread, waits)| Some((*thread, behind(traced, waits, &known)?))).collect();
        known.extend(found.into_iter().map(|(thread, (waits, via))| (thread, (waits, Some(via)))));
    }
    let way = |giver: ThreadId| {
        let next = |thread: &ThreadId| known.get(thread).and_then(|(_, via)| *via);
        std::iter::successors(Some(giver), next).take(BETWEEN + 1)
    };
    let givers: Vec<ThreadId> = givers.iter().copied().filter(|giver| known.contains_key(giver)).collect();
    let on_the_way: BTreeSet<ThreadId> = givers.iter().flat_map(|giver| way(*giver)).collect();
    let mut slices: HashMap<ThreadId, Vec<Slice>> = HashMap::new();
    for slice in traced.slices.iter().filter(|slice| on_the_way.contains(&slice.thread)) {
        let waits = known.get(&slice.thread).map(|(waits, _)| waits);
        if slice.wait.is_some_and(|wait| waits.is_some_and(|waits| waits.contains(&wait))) {
            slices.entry(slice.thread).or_default().push(slice);
        }
    }
    let step = |thread: &ThreadId| {
        let slices = slices.get(thread).into_iter().flatten().copied();
        Busy::from_slices(slices, |state| state == State::Blocked)
    };
    let waits = |giver: ThreadId| WaitForPool { steps: way(giver).map(|thread| step(&thread)).collect() };
    givers.into_iter().map(|giver| (giver, waits(giver))).collect()
}

/// The waits of a thread that threads known to wait for the pool ended, and the one of these that ended most: if that is
/// most of the time that the thread waited.
fn behind(
    traced: &Traced<'_>,
    waits: &[&Wait],
    known: &BTreeMap<ThreadId, (BTreeSet<WaitId>, Option<ThreadId>)>,
) -> Option<(BTreeSet<WaitId>, ThreadId)> {
    let mut found: BTreeMap<ThreadId, (u64, BTreeSet<WaitId>)> = BTreeMap::new();
    for wait in waits {
        let wakers = traced.wakes.get(&wait.wait).into_iter().flatten().filter_map(|wake| wake.waker);
        let through: BTreeSet<ThreadId> = wakers.filter(|waker| known.contains_key(waker)).collect();
        if let Some(via) = through.into_iter().find(|via| is_ended_by(traced, wait, &BTreeSet::from([*via]))) {
            let (blocked, waits) = found.entry(via).or_default();
            *blocked = blocked.saturating_add(wait.blocked_ns);
            waits.insert(wait.wait);
        }
    }
    let (via, (blocked, found)) = found.into_iter().max_by_key(|(_, (blocked, _))| *blocked)?;
    let all: f64 = waits.iter().map(|wait| wait.blocked_ns as f64).sum();
    (blocked as f64 > MOST * all).then_some((found, via))
}
