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
/// From: the model: what the giver waits for is taken by one worker only, and another one that could take it is idle.
/// Shown by: `who_gives_all_to_one_worker_waits_for_it`, `a_stage_beside_idle_helpers_is_waited_for`.
/// Wrong if: the idle thread was started for something else and waits below the same function: see
/// [`Traced::without_share`].
pub(super) fn for_who_has_all(traced: &Traced<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    let idle = &traced.without_share;
    if idle.is_empty() {
        return Vec::new();
    }
    let parents: BTreeSet<_> = idle.iter().filter_map(|thread| traced.threads.get(thread)?.parent).collect();
    let (main, helpers) = (traced.main().map(|thread| thread.thread), traced.helpers());
    let works = |thread: &&&Thread| {
        let is = thread.thread;
        Some(is) != main && !helpers.contains(&is) && thread.parent.is_some_and(|parent| parents.contains(&parent))
    };
    let workers: BTreeSet<ThreadId> = traced.threads.values().filter(works).map(|thread| thread.thread).collect();
    // Where several are busy, one that is not makes little difference.
    if workers.len() != 1 {
        return Vec::new();
    }
    let may_be = |wait: &&Wait| {
        matches!(why.get(&wait.wait), Some(Why::Condition | Why::Futex))
            && !workers.contains(&wait.thread)
            && !idle.contains(&wait.thread)
            && is_ended_by(traced, wait, &workers)
    };
    traced.waits.values().copied().filter(may_be).map(|wait| wait.wait).collect()
}
