//! Barriers that programs build from a lock and a condition: the last thread to arrive wakes all others, in the
//! function where they wait.
//!
//! A function that is called a barrier by its author is believed, also where only two threads meet.
//!
//! A queue differs: it is filled in one function and emptied in another. Threads that take turns differ: they are woken
//! together too, but all but one wait again at once. A thread that always arrives last never waits, so the set of
//! waiters alone does not tell.

use super::places::MOST;
use super::traffic::{AT_ONCE_NS, is_released_to_one};
use crate::model::code::Code;
use crate::model::run::Traced;
use crate::model::stacks::Stacks;
use crate::runtimes::{self, Primitive};
use recording::tables::{Reason, State, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// A function of a module.
type ModuleFunction<'t> = (&'t str, &'t str);

/// The fewest threads that can show a barrier without a name: two may simply hand work to each other.
///
/// Decides: how many threads must meet in a function in some run before it can be a barrier; it then is one in all
/// runs.
/// From: arithmetic: with two threads, one waits and the other wakes it, as at a queue.
/// Shown by: `a_barrier_that_the_program_built_is_one`, `two_threads_alone_show_no_barrier`.
/// Wrong if: only two threads ever meet there: the answer then says that one waits for the stage that the other runs.
const FEWEST: usize = 3;

/// The fewest rounds in which all threads must have been seen to be woken together.
///
/// Decides: whether waking all at once is a pattern and not a coincidence.
/// From: chosen: all of three threads may be woken at once by chance in one round, but hardly in four.
/// Shown by: `a_barrier_that_the_program_built_is_one`.
/// Wrong if: a program has only three phases with barriers between them: its threads are then reported as waiting for a
/// stage.
const ROUNDS: usize = 4;

/// A thread that takes the lock, looks at the condition and waits again runs no longer than this, nanoseconds of processor
/// time.
///
/// Decides: whether a thread that waits again at once was woken in vain, or has little work in each round.
/// From: chosen: the three take some microseconds, and more where the lock is contended.
/// Shown by: `threads_that_are_woken_in_vain_gather_nowhere`; the near miss is
/// `threads_with_little_work_in_each_round_meet_too`.
/// Wrong if: threads meet after less work than this: they are then told as waiting for a stage.
const IN_VAIN_NS: u64 = 20_000;

/// For each run, its waits in functions where threads gather in any of the runs.
pub fn gatherings<'t>(runs: &[Traced<'t>], stacks: &Stacks<'t>) -> Vec<BTreeSet<WaitId>> {
    let functions: BTreeSet<ModuleFunction<'t>> = runs.iter().flat_map(|run| of_run(run, stacks)).collect();
    let of = |run: &Traced<'t>, wait: &Wait| place(run, stacks, wait).is_some_and(|f| functions.contains(&f));
    runs.iter().map(|run| run.waits.values().filter(|wait| of(run, wait)).map(|w| w.wait).collect()).collect()
}

/// The program's function in which a thread waits for a condition, or at something whose name does not say what it is:
/// `Atomics.wait` of JavaScript, say, of which programs build locks, queues and barriers. None for what the traffic shows to
/// be a lock.
fn place<'t>(run: &Traced<'t>, stacks: &Stacks<'t>, wait: &Wait) -> Option<ModuleFunction<'t>> {
    let view = stacks.view(wait.user_stack, true);
    let may_be = match view.primitive {
        Some(Primitive::Condition) => true,
        None => !is_released_to_one(run, wait),
        Some(_) => false,
    };
    let at_condition = wait.reason == Reason::Futex && may_be;
    function(&view.own.filter(|_| at_condition && view.parked.is_none() && view.theme.is_none())?)
}

fn function<'t>(code: &Code<'t>) -> Option<ModuleFunction<'t>> {
    Some((code.module, code.name()?))
}

/// The functions of one run in which threads gather.
fn of_run<'t>(run: &Traced<'t>, stacks: &Stacks<'t>) -> Vec<ModuleFunction<'t>> {
    let mut waits: BTreeMap<ModuleFunction<'t>, BTreeSet<WaitId>> = BTreeMap::new();
    for wait in run.waits.values() {
        if let Some(function) = place(run, stacks, wait) {
            waits.entry(function).or_default().insert(wait.wait);
        }
    }
    waits.into_iter().filter(|(at, waits)| gathers(run, stacks, *at, waits)).map(|(at, _)| at).collect()
}

fn gathers<'t>(run: &Traced<'t>, stacks: &Stacks<'t>, at: ModuleFunction<'t>, waits: &BTreeSet<WaitId>) -> bool {
    let (mut threads, mut within, mut known): (BTreeSet<ThreadId>, f64, f64) = (BTreeSet::new(), 0.0, 0.0);
    for wait in waits.iter().filter_map(|w| run.waits.get(w)) {
        threads.insert(wait.thread);
        for wake in run.wakes.get(&wait.wait).into_iter().flatten() {
            let Some(waker) = wake.waker else { continue };
            known += wake.blocked_ns as f64;
            if stacks.view(wake.waker_stack, true).own.as_ref().and_then(function) == Some(at) {
                within += wake.blocked_ns as f64;
                threads.insert(waker);
            }
        }
    }
    let named = runtimes::is_named_a_barrier(at.1);
    let enough = threads.len() >= FEWEST && meets(run, waits, threads.len());
    within > MOST * known && (enough || (named && threads.len() > 1))
}

/// True when most of the time blocked ends together with that of all other threads but the last one, and hardly any of
/// it follows a wake-up in vain. Time decides and not the number of blocks: of two barriers with hardly any work between
/// them, threads pass the second one in any order, and lose all their time at the first.
fn meets(run: &Traced<'_>, waits: &BTreeSet<WaitId>, threads: usize) -> bool {
    let single = run.blocked(waits).filter(|s| s.count == 1);
    // Of millions of blocks, hardly any takes seconds: such lengths are kept elsewhere.
    let mut long: BTreeMap<(u64, ThreadId), u64> = BTreeMap::new();
    let mut blocks: Vec<(u64, ThreadId, u32)> = Vec::new();
    single.for_each(|s| {
        let length = s.end_ns.saturating_sub(s.start_ns);
        if length >= u64::from(u32::MAX) {
            long.insert((s.end_ns, s.thread), length);
        }
        blocks.push((s.end_ns, s.thread, u32::try_from(length).unwrap_or(u32::MAX)));
    });
    // The blocks of each wait are in order already: the stable sort joins such stretches.
    blocks.sort();
    let length = |block: &(u64, ThreadId, u32)| match block.2 {
        u32::MAX => long.get(&(block.0, block.1)).map_or(0.0, |length| *length as f64),
        length => f64::from(length),
    };
    let spent = |blocks: &[(u64, ThreadId, u32)]| blocks.iter().map(length).sum::<f64>();
    let (mut together, mut rounds, mut rest) = (0.0, 0, blocks.as_slice());
    while let Some(first) = rest.first() {
        let at_once = rest.partition_point(|b| b.0.saturating_sub(first.0) <= AT_ONCE_NS).max(1);
        let (group, later) = rest.split_at(at_once);
        let woken = || group.iter().map(|b| b.1).collect::<BTreeSet<ThreadId>>().len();
        // Most groups are too small, which needs no look at their threads.
        if group.len() > 1 && group.len() + 1 >= threads && met(woken(), threads) {
            (together, rounds) = (together + spent(group), rounds + 1);
        }
        rest = later;
    }
    let all = spent(&blocks);
    rounds >= ROUNDS && together > MOST * all && in_vain(run, waits) <= MOST * all
}

/// True when so many of the threads were woken at once that it was all but one.
fn met(woken: usize, threads: usize) -> bool {
    woken > 1 && woken + 1 >= threads
}

/// The time blocked, nanoseconds, of the blocks that began because the one before had ended in vain: right after it, and
/// after hardly any processor time.
fn in_vain(run: &Traced<'_>, waits: &BTreeSet<WaitId>) -> f64 {
    let threads: BTreeSet<ThreadId> = waits.iter().filter_map(|w| run.waits.get(w)).map(|w| w.thread).collect();
    let threads: Vec<ThreadId> = threads.into_iter().collect();
    let waits: QuickMap<WaitId, ()> = waits.iter().map(|wait| (*wait, ())).collect();
    let blocked = run.slices.of_lines(&threads, |line| {
        let (mut before, mut ran, mut blocked) = (None, 0_u64, 0.0);
        line.iter().for_each(|slice| {
            if slice.state == State::Running {
                ran = ran.saturating_add(slice.spent_ns);
            } else if slice.wait.is_some_and(|wait| waits.contains_key(&wait)) {
                let at_once = |end: u64| slice.start_ns.saturating_sub(end) <= AT_ONCE_NS;
                if before.is_some_and(at_once) && ran <= IN_VAIN_NS {
                    blocked += slice.end_ns.saturating_sub(slice.start_ns) as f64;
                }
                (before, ran) = (Some(slice.end_ns), 0);
            }
        });
        blocked
    });
    blocked.into_iter().sum()
}
