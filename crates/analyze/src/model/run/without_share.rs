//! Workers that get no work: threads that wait all the time where a busy one takes its work, or that were made with it.
//!
//! Imports `model::code`, `model::stacks`, `recording`.

use super::Traced;
use crate::model::code::{Code, Owner};
use crate::model::stacks::Stacks;
use recording::meta::Counted;
use recording::tables::Wait;
use recording::{StackId, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Decides: whether a thread that only waits is a worker without work: it waits at one place for at least this share of
/// the run, and a thread that works also waits there, or has the function in at least this share of its samples.
/// From: the definition of a majority: what a worker does for each part of its work is done below the function that takes
/// the parts, so that nearly all of its samples have it.
/// Shown by: `a_worker_that_gets_no_work_has_no_share`, `a_thread_that_waits_for_something_else_is_no_worker`.
/// Wrong if: a thread that waits for a signal or a timer does so in a function below which the workers run, too, as in a
/// program with one loop for everything.
const MOST: f64 = 0.5;

/// A function by module and name.
type CalledFunction<'t> = (&'t str, &'t str);

/// Threads that hardly run, and wait where another one takes its work: in a function below which that one works, or in
/// one in which it waits, too, called from the same function. Or that were made at the same line as one that works, where
/// just as many threads are made as were asked for: these are the workers, also those that ended when they found no work.
/// They wait in code of the program: the workers of a task scheduler share whatever there is.
pub(in crate::model) fn without_share<'t>(run: &Traced<'t>, stacks: &Stacks<'t>) -> BTreeSet<ThreadId> {
    let main = run.main().map(|thread| thread.thread);
    let helpers = run.helpers();
    let serves = |thread: &ThreadId| run.services.contains_key(thread) || run.fixed_threads.contains(thread);
    let idle: Vec<ThreadId> =
        helpers.iter().copied().filter(|thread| Some(*thread) != main && !serves(thread)).collect();
    if idle.is_empty() {
        return BTreeSet::new();
    }
    let works = |thread: &ThreadId| Some(*thread) != main && !helpers.contains(thread);
    let working = working_in(run, stacks, works);
    let takes: BTreeSet<_> =
        run.waits.values().filter(|wait| works(&wait.thread)).filter_map(|wait| taken_in(wait, stacks)).collect();
    let mut longest: BTreeMap<ThreadId, &Wait> = BTreeMap::new();
    for wait in run.waits.values() {
        let known = longest.entry(wait.thread).or_insert(wait);
        if wait.blocked_ns > known.blocked_ns {
            *known = wait;
        }
    }
    let crew = crew(run, stacks, works);
    let waits_for_work = |thread: &ThreadId| {
        let Some(wait) = longest.get(thread) else { return false };
        let Some(taken) = taken_in(wait, stacks) else { return false };
        let all_the_time = wait.blocked_ns as f64 >= MOST * run.length_ns() as f64;
        crew.contains(thread) || all_the_time && (working.contains(&taken.0) || takes.contains(&taken))
    };
    idle.into_iter().filter(waits_for_work).collect()
}

/// Threads that were made at one line of the program, as many as were asked for, if one of them works. None where no number
/// was asked for.
///
/// Decides: whether a thread that hardly runs is a worker without work, also when it has ended.
/// From: reasoned, not measured: a program that is asked for n threads and makes n at one line divides its work among them.
/// Two programs whose keys all hash to one worker showed the need.
/// Shown by: `a_worker_that_finds_nothing_and_ends_has_no_share`, `a_thread_that_ends_at_once_may_be_no_worker`.
/// Wrong if: the stages of a pipeline are started in one loop, as many as were asked for, and one hardly has work.
fn crew(run: &Traced<'_>, stacks: &Stacks<'_>, works: impl Fn(&ThreadId) -> bool) -> BTreeSet<ThreadId> {
    let mut made: BTreeMap<(&str, &str, Option<u32>), BTreeSet<ThreadId>> = BTreeMap::new();
    for thread in run.threads.values() {
        let own = thread.created_stack.and_then(|stack| stacks.view(Some(stack), true).own);
        if let Some(own) = own
            && let Some((module, function)) = key(&own)
        {
            made.entry((module, function, own.frame.line)).or_default().insert(thread.thread);
        }
    }
    if run.is_only_run || run.counted == Counted::Processors {
        return BTreeSet::new();
    }
    let asked = run.run.threads as usize;
    let crews = made.into_values().filter(|crew| crew.len() == asked && crew.iter().any(&works));
    crews.flatten().collect()
}

/// The innermost function of the program in which a thread waits, and its caller, if that is the program's too.
fn taken_in<'t>(wait: &Wait, stacks: &Stacks<'t>) -> Option<(CalledFunction<'t>, Option<CalledFunction<'t>>)> {
    let frames = stacks.frames(wait.user_stack?);
    let mut own = frames.iter().filter(|code| code.owner == Owner::Own).filter_map(key);
    Some((own.next()?, own.next()))
}

/// The functions of the program that are in most of the samples of one of these threads.
fn working_in<'t>(
    run: &Traced<'t>,
    stacks: &Stacks<'t>,
    works: impl Fn(&ThreadId) -> bool,
) -> BTreeSet<CalledFunction<'t>> {
    let mut counts: HashMap<(ThreadId, Option<StackId>), u64> = HashMap::new();
    for sample in run.samples.iter().filter(|sample| works(&sample.thread)) {
        *counts.entry((sample.thread, sample.user_stack)).or_default() += 1;
    }
    let mut all: HashMap<ThreadId, u64> = HashMap::new();
    let mut seen: HashMap<(ThreadId, (&str, &str)), u64> = HashMap::new();
    for ((thread, stack), count) in counts {
        *all.entry(thread).or_default() += count;
        let frames = stack.map(|stack| stacks.frames(stack)).unwrap_or_default();
        let own: BTreeSet<_> = frames.iter().filter(|code| code.owner == Owner::Own).filter_map(key).collect();
        own.into_iter().for_each(|function| *seen.entry((thread, function)).or_default() += count);
    }
    let most = |thread: &ThreadId, count: u64| count as f64 >= MOST * all.get(thread).copied().unwrap_or(0) as f64;
    seen.into_iter().filter(|((thread, _), count)| most(thread, *count)).map(|((_, function), _)| function).collect()
}

fn key<'t>(code: &Code<'t>) -> Option<CalledFunction<'t>> {
    Some((code.module, code.name()?))
}
