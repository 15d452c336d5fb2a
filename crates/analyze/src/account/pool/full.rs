//! Who brings work waits for the worker that has all of it, while others get none.
//! Imports `busy`, `account::lines`, `model`, `recording`.

use super::busy::is_ended_by;
use crate::account::lines::Why;
use crate::model::Traced;
use recording::tables::{Thread, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::BTreeSet;

/// Waits at conditions that the only busy worker ends, of threads that are no workers, where another worker started by the
/// same thread gets no work: the queue of the busy one is full.
///
/// Decides: whether such waits are told as unequal shares, or as waiting for a busy stage.
/// From: the model: what the giver waits for is taken by one worker only, and another one that could take it is idle. One
/// program, whose ids all hash to one worker, showed the need.
/// Shown by: `who_gives_all_to_one_worker_waits_for_it`, `a_stage_beside_idle_helpers_is_waited_for`.
/// Wrong if: the idle thread was started for something else and waits below the same function: see
/// [`Traced::without_share`].
pub(super) fn for_who_has_all(traced: &Traced<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    let Some(worker) = who_has_all(traced) else { return Vec::new() };
    let workers = BTreeSet::from([worker]);
    let may_be = |wait: &&Wait| {
        matches!(why.get(&wait.wait), Some(Why::Condition | Why::Futex))
            && wait.thread != worker
            && !traced.without_share.contains(&wait.thread)
            && is_ended_by(traced, wait, &workers)
    };
    traced.waits.values().copied().filter(may_be).map(|wait| wait.wait).collect()
}

/// The only busy one of the workers that a thread has started, where others of them get no work. Where several are busy,
/// one that is not makes little difference.
pub fn who_has_all(traced: &Traced<'_>) -> Option<ThreadId> {
    let idle = traced.without_share.iter().filter_map(|thread| traced.threads.get(thread)?.parent);
    let parents: BTreeSet<ThreadId> = idle.collect();
    if parents.is_empty() {
        return None;
    }
    let (main, helpers) = (traced.main().map(|thread| thread.thread), traced.helpers());
    let works = |thread: &&&Thread| {
        let is = thread.thread;
        Some(is) != main && !helpers.contains(&is) && thread.parent.is_some_and(|parent| parents.contains(&parent))
    };
    let mut workers = traced.threads.values().filter(works).map(|thread| thread.thread);
    workers.next().filter(|_| workers.next().is_none())
}
