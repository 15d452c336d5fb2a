//! A task of a scheduler (a goroutine, say) that has more to do than the others that start with the same function. Tasks
//! move between threads, so the threads' own times do not tell.
//! Imports `busy`, `account::lines`, `model`, `statistics`, `recording`.

use super::busy::MOST;
use crate::account::lines::Why;
use crate::model::Traced;
use crate::model::similar_threads;
use crate::model::stacks::Stacks;
use crate::model::task_sleeps::SleepReason;
use crate::model::tasks::{Task, TaskStart};
use crate::runtimes::Primitive;
use crate::statistics::MIN_SHARE;
use recording::{QuickMap, WaitId};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The task runs for at least this share of the measured time.
///
/// Decides: whether a task has so much to do that the others wait for it.
/// From: the same bound as `RUNS` of `account::timeline::pace`. How long a task is ready to run is not known.
/// Shown by: `one_goroutine_that_gets_most_of_the_work_has_the_largest_share`.
/// Wrong if: a collector and other tasks keep the processors from it: nothing is told.
const RUNS: f64 = 0.55;

/// The next task of its kind runs for at most this part of its time.
///
/// Decides: whether one of the tasks has more to do than the others.
/// From: chosen: shares of 2 to 1. `NEXT_SHARE`, the bound for threads, is less strict: their times are exact, while those
/// of tasks are only sampled.
/// Shown by: `goroutines_with_equal_shares_that_wait_have_no_largest_one`.
/// Wrong if: two of many tasks have all the work: the answer says that threads wait for each other.
const NEXT: f64 = 0.5;

/// A task that has more to do than the others of its kind, all the time.
#[derive(Debug, Clone, Copy)]
pub struct LargestTask<'t> {
    /// What these tasks start with.
    pub start: TaskStart<'t>,
    /// How many of them run.
    pub tasks: usize,
    /// Share of the measured time in which it runs, 0 to 1.
    pub runs: f64,
    /// The same of the next one.
    pub next: f64,
}

/// The task with the largest share, if one has most of the work of its kind and the others wait for more.
pub fn largest_task<'t>(traced: &Traced<'t>, stacks: &Stacks<'_>) -> Option<LargestTask<'t>> {
    let length = traced.length_ns() as f64;
    if traced.loaded() || length <= 0.0 || !waits_for_others(traced) {
        return None;
    }
    let share = |task: &Task<'_>| task.samples as f64 * traced.trace.sample_period_ns as f64 / length;
    let calls = OnceCell::new();
    let alike = |a: &Task<'_>, b: &Task<'_>| {
        let calls = calls.get_or_init(|| similar_threads::task_calls(stacks, &traced.samples));
        let both = calls.get(&a.number).zip(calls.get(&b.number));
        both.is_some_and(|(a, b)| similar_threads::overlap(a, b) > MOST)
    };
    let mut kinds: BTreeMap<TaskStart<'_>, Vec<Task<'t>>> = BTreeMap::new();
    for task in traced.tasks.all() {
        kinds.entry(task.start).or_default().push(*task);
    }
    let mut found = kinds.into_iter().filter_map(|(start, mut tasks)| {
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.samples), task.first));
        let [largest, rest @ ..] = tasks.as_slice() else { return None };
        // One that ends early has no share of the work that comes later.
        let lives = |task: &&Task<'_>| beside(task, largest) > MOST;
        let next = rest.iter().filter(lives).map(share).reduce(f64::max)?;
        let runs = share(largest);
        // Tasks that hardly run may do something else: samples do not tell.
        let told = runs >= RUNS && next <= NEXT * runs && next > MIN_SHARE * runs;
        // One function may start tasks that do different things, such as the stages of a pipeline.
        let same = || rest.iter().filter(lives).all(|task| alike(task, largest));
        (told && same()).then(|| LargestTask {
            start,
            tasks: rest.iter().filter(lives).count() + 1,
            runs: runs.min(1.0),
            next,
        })
    });
    found.next()
}

/// The share of the larger one's life in which both live.
fn beside(task: &Task<'_>, larger: &Task<'_>) -> f64 {
    let both = task.last.min(larger.last).saturating_sub(task.first.max(larger.first));
    both as f64 / larger.last.saturating_sub(larger.first).max(1) as f64
}

/// True when most of the tasks' waiting is for what other tasks bring.
fn waits_for_others(traced: &Traced<'_>) -> bool {
    let (mut brought, mut all) = (0.0, 0.0);
    for wait in traced.waits.values() {
        let blocked = wait.blocked_ns as f64;
        match traced.task_sleeps.reason(wait.wait) {
            Some(reason) if is_brought(reason) => (brought, all) = (brought + blocked, all + blocked),
            Some(SleepReason::Spare) | None => {}
            Some(_) => all += blocked,
        }
    }
    brought > MOST * all
}

fn is_brought(reason: SleepReason) -> bool {
    matches!(reason, SleepReason::Waits(Primitive::Condition) | SleepReason::Elsewhere(Primitive::Condition))
}

/// The waits of threads that find no task because one task has most of the work.
pub(super) fn without_share(traced: &Traced<'_>, stacks: &Stacks<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    if largest_task(traced, stacks).is_none() {
        return Vec::new();
    }
    let brought = |wait: &WaitId| traced.task_sleeps.reason(*wait).is_some_and(is_brought);
    let waits = traced.waits.keys().copied().filter(|wait| why.get(wait) == Some(&Why::Condition));
    waits.filter(brought).collect()
}
