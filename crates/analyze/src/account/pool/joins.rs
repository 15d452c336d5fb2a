//! A thread that has done its own part of divided work, and waits for those that have the others: tasks of a fork-join pool of
//! Java do so, and a main thread that computes one of the parts itself. Or that finds no further part in its pool, to the end.
//! Imports `busy`, `account::lines`, `model`, `recording`, `statistics`.

use super::busy::{MOST, THROUGHOUT, at_work, busy_during, is_joined, long_in_sum, ran_beside};
use crate::account::lines::Why;
use crate::model::Traced;
use crate::model::similar_threads::{self, Calls, Near};
use crate::model::stacks::Stacks;
use crate::statistics::MIN_SHARE;
use recording::tables::{State, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// Waits for the end of others' parts, of threads that have had a part of the same work, and waits of a pool's threads for a
/// next task that never comes.
///
/// Decides: whether time in which one thread runs and another waits for its end, or for a task, is told as unequal shares, or
/// as a phase that one thread runs alone or a stage that is busy.
/// From: the model: both ran the same function side by side, and one had less of it. A parallel stream of Java, of which one
/// task has nine tenths of the lines, showed the need, and a parallel query of .NET over sorted rows, whose caller has the
/// longest; for the bounds, see [`MOST`], [`THROUGHOUT`] and [`MIN_SHARE`].
/// Shown by: `who_joins_after_its_own_share_had_a_smaller_one`,
/// `who_joins_a_thread_that_is_kept_from_its_processor_had_a_smaller_share_too`,
/// `who_joins_others_without_a_share_has_none`, `a_worker_without_a_further_task_had_a_smaller_share`,
/// `a_worker_that_gets_further_tasks_waits_for_them`, `a_share_that_is_compiled_in_another_way_is_the_same_work`,
/// `a_library_s_function_may_contain_the_program_s`.
/// Wrong if: a thread runs some of a function's work beside another one, and what the other one runs afterwards,
/// in the same function, cannot be divided.
pub(super) fn after_own_share(traced: &Traced<'_>, stacks: &Stacks<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    if traced.loaded() {
        return Vec::new();
    }
    let mut of: BTreeMap<ThreadId, Waits<'_>> = BTreeMap::new();
    for wait in traced.waits.values().copied().filter(|wait| wait.blocked_ns > 0) {
        match why.get(&wait.wait) {
            Some(Why::Join) => of.entry(wait.thread).or_default().joins.push(wait),
            Some(Why::Condition | Why::Futex) if is_to_the_end(traced, stacks, wait) => {
                of.entry(wait.thread).or_default().to_the_end.push(wait);
            }
            _ => {}
        }
    }
    if of.is_empty() {
        return Vec::new();
    }
    let work = Work {
        calls: similar_threads::innermost_functions(stacks, &traced.samples),
        near: similar_threads::near_functions(stacks, &traced.samples),
    };
    of.into_iter().flat_map(|(thread, waits)| of_thread(traced, &work, thread, &waits)).collect()
}

/// Waits of one thread for others' parts.
#[derive(Default)]
struct Waits<'t> {
    /// For the end of a thread or a task.
    joins: Vec<&'t Wait>,
    /// For a next task that never comes.
    to_the_end: Vec<&'t Wait>,
}

/// What the threads run.
struct Work {
    calls: BTreeMap<ThreadId, Calls>,
    near: BTreeMap<ThreadId, Near>,
}

impl Work {
    /// The threads that do the same as this one.
    fn like(&self, thread: ThreadId) -> BTreeSet<ThreadId> {
        let (Some(calls), Some(near)) = (self.calls.get(&thread), self.near.get(&thread)) else {
            return BTreeSet::new();
        };
        let alike =
            self.calls.iter().filter(|(_, of)| similar_threads::overlap(calls, of) > MOST).map(|(other, _)| *other);
        let nearly = self.near.iter().filter(|(_, of)| near.is_like(of, MOST)).map(|(other, _)| *other);
        alike.chain(nearly).filter(|other| *other != thread).collect()
    }
}

fn of_thread(traced: &Traced<'_>, work: &Work, thread: ThreadId, waits: &Waits<'_>) -> Vec<WaitId> {
    let others = work.like(thread);
    let joins = waits.joins.iter().copied().filter(|wait| is_joined(traced, wait, &others));
    let for_others: Vec<&Wait> = joins.chain(waits.to_the_end.iter().copied()).collect();
    let Some(blocked) = long_in_sum(traced, &for_others) else { return Vec::new() };
    let busy = at_work(traced, &others);
    let share = ran_beside(traced, thread, &others, &busy).unwrap_or(0.0);
    if share < MIN_SHARE * busy.between(0, u64::MAX).any {
        return Vec::new();
    }
    let ids: BTreeSet<WaitId> = for_others.iter().map(|wait| wait.wait).collect();
    if busy_during(traced, thread, &ids, &busy) < THROUGHOUT * blocked { Vec::new() } else { ids.into_iter().collect() }
}

/// True where most of a pool's thread's wait for a task is at its end. Who gets one later may have waited for what another
/// task does. The end of the process ends the wait, too.
fn is_to_the_end(traced: &Traced<'_>, stacks: &Stacks<'_>, wait: &Wait) -> bool {
    // Asked first: a thread may have many slices.
    if !stacks.view(wait.user_stack, wait.syscall.is_some()).without_task {
        return false;
    }
    let slices = || traced.slices.line(wait.thread).iter();
    let Some(last) = slices().filter(|slice| slice.wait == Some(wait.wait)).max_by_key(|slice| slice.end_ns) else {
        return false;
    };
    let later = slices().filter(|slice| slice.state == State::Running && slice.start_ns >= last.end_ns);
    let ran = later.fold(0, |sum: u64, slice| sum.saturating_add(slice.spent_ns));
    last.spent_ns as f64 > MOST * wait.blocked_ns as f64 && ran < traced.trace.sample_period_ns
}
