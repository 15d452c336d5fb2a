//! What tasks waited for while their scheduler's threads slept: looks at the tasks themselves.
//!
//! A thread of a task scheduler sleeps because no task can run, and its stack shows only the task that it had run last.
//! Where the recording has looks at all waiting tasks (of Go), a task may have waited for a lock, or for one of a few
//! things, while the thread slept. A processor was free for that task, so the thread counts as having waited for the same.
//! Where nothing at all ran and no task waited for anything from outside, all tasks waited for one that slept.

use super::stacks::Stacks;
use super::task_pools::{self, TaskPool};
use super::tasks::start;
use crate::runtimes::{Parked, Primitive, is_first_task, is_package_source};
use recording::tables::{Reason, Slice, State, Wait};
use recording::{RunId, Slices, StackId, Tables, ThreadId, WaitId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// For how long before and after it a look at the tasks is valid, nanoseconds.
///
/// Decides: how far from a look at a run's tasks a thread's sleep is still explained by it.
/// From: the pause between two looks is 10 ms, and longer with many goroutines or on a busy machine.
/// Shown by: `far_from_a_look_nothing_is_told`.
/// Wrong if: what tasks wait for changes faster than looks are taken: the shares stay right, but single slices do not.
const REACH_NS: u64 = 25_000_000;

/// The fewest looks at a run's tasks after which a lock that they wait for would have been seen.
///
/// Decides: whether a sleeping thread of a scheduler may hide a task that waits for a lock.
/// From: arithmetic: what takes 5 % of the time is missed by 59 looks in one of 20 cases (0.95 to the power of 59).
/// Shown by: `few_looks_clear_nothing`.
/// Wrong if: the looks and the waits happen in step.
const ENOUGH_LOOKS: usize = 59;

/// The tasks that waited for a lock or for one of a few things when they were looked at; if there were none and nothing
/// ran, those that slept.
#[derive(Debug)]
struct Look {
    time_ns: u64,
    waiting: Vec<(ParkedAt, u32)>,
}

/// Where a task waits, and whether at the channel of a timer.
type ParkedAt = (StackId, bool);

impl Look {
    fn count(&self) -> u64 {
        self.waiting.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Where one of them waits.
    fn place(&self, number: u64) -> Option<ParkedAt> {
        let mut left = number;
        let within = |(place, count): &(ParkedAt, u32)| match left.checked_sub(u64::from(*count)) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(*place),
        };
        self.waiting.iter().find_map(within)
    }
}

/// Whether the tasks of a run were looked at often enough, between these two times, that a lock which they wait for would
/// show. A look in which the stack of a task is unknown tells too little for that.
pub(super) fn well_seen(tables: &Tables, run: RunId, (begin, end): (u64, u64)) -> bool {
    let rows = tables.parked_tasks.iter().filter(|row| row.run == run && (begin..=end).contains(&row.time_ns));
    let (unknown, known): (Vec<_>, Vec<_>) = rows.partition(|row| row.user_stack.is_none() && row.count > 0);
    let unknown: HashSet<u64> = unknown.into_iter().map(|row| row.time_ns).collect();
    let known: HashSet<u64> = known.into_iter().map(|row| row.time_ns).collect();
    known.difference(&unknown).count() >= ENOUGH_LOOKS
}

/// Gives sleeps of a scheduler's threads waits of their own where tasks waited for a lock or for one of a few things
/// meanwhile; at any time to no more threads than there are such tasks. Calling it again changes nothing.
pub fn tell_tasks(tables: &mut Tables) {
    if tables.parked_tasks.is_empty() {
        return;
    }
    let (looks, idle) = {
        let stacks = Stacks::new(tables);
        (looks(tables, &stacks), idle_waits(tables, &stacks))
    };
    for (run, looks) in looks {
        if looks.iter().all(|look| look.waiting.is_empty()) || already(tables, run, &looks) {
            continue;
        }
        let Some(idle) = idle.get(&run) else { continue };
        let mut told = TaskWaits::new(tables, run);
        let ranks = ranks(tables, run, idle);
        let slices = std::mem::take(&mut tables.slices);
        for (at, slice) in slices.iter().enumerate() {
            match ranks.get(&at) {
                Some(rank) => told.cut(&slice, *rank, &looks, &mut tables.slices),
                None => tables.slices.push(slice),
            }
        }
        told.write(tables);
    }
}

/// Whether waits of these looks are among the run's already.
fn already(tables: &Tables, run: RunId, looks: &[Look]) -> bool {
    let stacks: HashSet<StackId> = looks.iter().flat_map(|look| &look.waiting).map(|((stack, _), _)| *stack).collect();
    tables.waits.iter().any(|wait| wait.run == run && wait.user_stack.is_some_and(|stack| stacks.contains(&stack)))
}

/// The looks of each run, in order.
fn looks(tables: &Tables, stacks: &Stacks<'_>) -> BTreeMap<RunId, Vec<Look>> {
    let mut times: BTreeMap<(RunId, u64), Vec<(ParkedAt, u32)>> = BTreeMap::new();
    let mut asleep: BTreeMap<(RunId, u64), Asleep> = BTreeMap::new();
    let found = task_pools::of_runs(tables, stacks).into_iter();
    let places = |pools: Vec<TaskPool>| pools.into_iter().flat_map(|pool| pool.waits).collect();
    let pools: HashMap<RunId, HashSet<StackId>> = found.map(|(run, pools)| (run, places(pools))).collect();
    for row in &tables.parked_tasks {
        let waiting = times.entry((row.run, row.time_ns)).or_default();
        let for_thing = |stack: &StackId| {
            let view = stacks.view(Some(*stack), false);
            let by_name = matches!(view.parked, Some(Parked::TaskWaits(Primitive::Lock | Primitive::Pool)));
            // The allocator's and the collector's own semaphores are no locks of the program.
            let waits =
                (by_name && view.theme.is_none()) || pools.get(&row.run).is_some_and(|pool| pool.contains(stack));
            // The first task hands work out, and ends by taking all permits of a semaphore: it waits for the others.
            let first = || start(stacks, Some(*stack)).is_some_and(|(_, name)| name.is_some_and(is_first_task));
            // A package that the program was built with may start tasks of its own for what the program asks of it.
            let file = view.entry.as_ref().and_then(|code| code.frame.file.as_deref());
            waits && (view.own.is_some() || file.is_some_and(is_package_source)) && !first()
        };
        let Some(stack) = row.user_stack.filter(|_| row.count > 0) else {
            // A task whose stack is unknown may wait for anything.
            asleep.entry((row.run, row.time_ns)).or_default().waits_outside |= row.count > 0;
            continue;
        };
        if for_thing(&stack) {
            waiting.push(((stack, false), row.count));
        }
        let view = stacks.view(Some(stack), false);
        let timer = row.timer == Some(true);
        let others = asleep.entry((row.run, row.time_ns)).or_default();
        match view.parked {
            Some(parked) if (timer || parked == Parked::Sleeps) && view.own.is_some() => {
                others.sleeping.push(((stack, timer), row.count));
            }
            Some(Parked::Polls | Parked::TaskWaits(Primitive::Lock | Primitive::Pool)) => others.waits_outside = true,
            _ => {}
        }
    }
    let running = running(tables);
    for (at, asleep) in asleep {
        let runs = || running.get(&at.0).is_some_and(|stretches| is_within(stretches, at.1));
        if let Some(waiting) = times.get_mut(&at).filter(|w| w.is_empty() && !asleep.waits_outside && !runs()) {
            *waiting = asleep.sleeping;
        }
    }
    let mut looks: BTreeMap<RunId, Vec<Look>> = BTreeMap::new();
    for ((run, time_ns), waiting) in times {
        looks.entry(run).or_default().push(Look { time_ns, waiting });
    }
    looks
}

/// The tasks of a look that slept, and whether others waited for something that no task of the program brings, or for a
/// lock.
#[derive(Debug, Default)]
struct Asleep {
    sleeping: Vec<(ParkedAt, u32)>,
    waits_outside: bool,
}

/// When any thread of a run was running, for runs whose tasks were looked at: start and end of each stretch, in order.
fn running(tables: &Tables) -> HashMap<RunId, Vec<(u64, u64)>> {
    let looked: HashSet<RunId> = tables.parked_tasks.iter().map(|row| row.run).collect();
    let mut all: HashMap<RunId, Vec<(u64, u64)>> = HashMap::new();
    for slice in tables.slices.iter().filter(|s| s.state == State::Running && looked.contains(&s.run)) {
        all.entry(slice.run).or_default().push((slice.start_ns, slice.end_ns));
    }
    for stretches in all.values_mut() {
        stretches.sort_unstable();
        stretches.dedup_by(|next, before| {
            let joined = next.0 <= before.1;
            before.1 = if joined { before.1.max(next.1) } else { before.1 };
            joined
        });
    }
    all
}

fn is_within(stretches: &[(u64, u64)], time_ns: u64) -> bool {
    let at = stretches.partition_point(|stretch| stretch.0 <= time_ns);
    at.checked_sub(1).and_then(|i| stretches.get(i)).is_some_and(|stretch| time_ns < stretch.1)
}

/// The waits of each run in which a thread of a scheduler had no task that could run.
fn idle_waits(tables: &Tables, stacks: &Stacks<'_>) -> HashMap<RunId, HashSet<WaitId>> {
    let mut idle: HashMap<RunId, HashSet<WaitId>> = HashMap::new();
    for wait in &tables.waits {
        let parked = stacks.view(wait.user_stack, wait.syscall.is_some()).parked;
        if parked.is_some_and(|parked| !matches!(parked, Parked::Spare | Parked::TaskWaits(_))) {
            idle.entry(wait.run).or_default().insert(wait.wait);
        }
    }
    idle
}

/// Of each slice in which a thread of a scheduler sleeps, by its place in the table: how many others that run more did so
/// when it began. A scheduler keeps spare threads, which hardly ever run: tasks wait for the others.
fn ranks(tables: &Tables, run: RunId, idle: &HashSet<WaitId>) -> HashMap<usize, u64> {
    let sleeps = |slice: &Slice| {
        slice.run == run
            && slice.state == State::Blocked
            && slice.end_ns > slice.start_ns
            && slice.wait.is_some_and(|wait| idle.contains(&wait))
    };
    let mut asleep: Vec<(usize, Slice)> = tables.slices.iter().enumerate().filter(|(_, s)| sleeps(s)).collect();
    let mut ran: HashMap<ThreadId, u64> = HashMap::new();
    for slice in tables.slices.iter().filter(|slice| slice.run == run && slice.state == State::Running) {
        let sum = ran.entry(slice.thread).or_default();
        *sum = sum.saturating_add(slice.spent_ns);
    }
    let order = |thread: ThreadId| (Reverse(ran.get(&thread).copied().unwrap_or(0)), thread);
    asleep.sort_by_key(|(_, slice)| (slice.start_ns, order(slice.thread)));
    let mut until: BTreeMap<(Reverse<u64>, ThreadId), u64> = BTreeMap::new();
    let mut ranks = HashMap::with_capacity(asleep.len());
    for (at, slice) in asleep {
        until.retain(|_, end| *end > slice.start_ns);
        ranks.insert(at, until.range(..order(slice.thread)).count() as u64);
        until.insert(order(slice.thread), slice.end_ns);
    }
    ranks
}

/// The waits that a run gets.
struct TaskWaits {
    run: RunId,
    next: u32,
    waits: BTreeMap<(ThreadId, ParkedAt), Wait>,
    /// Time that waits of the recording lose to these, nanoseconds.
    taken: HashMap<WaitId, u64>,
}

impl TaskWaits {
    fn new(tables: &Tables, run: RunId) -> TaskWaits {
        let last = tables.waits.iter().filter(|wait| wait.run == run).map(|wait| wait.wait.0).max().unwrap_or(0);
        TaskWaits { run, next: last.saturating_add(1), waits: BTreeMap::new(), taken: HashMap::new() }
    }

    /// Cuts a slice at the borders between looks, and tells what each part was for.
    fn cut(&mut self, slice: &Slice, rank: u64, looks: &[Look], to: &mut Slices) {
        let length = u128::from(slice.end_ns - slice.start_ns);
        let (mut start_ns, mut spent) = (slice.start_ns, 0);
        for (end_ns, place) in parts(slice, rank, looks) {
            // The parts' time adds up to the whole.
            let until = u128::from(slice.spent_ns) * u128::from(end_ns - slice.start_ns) / length;
            let spent_ns = (until as u64).saturating_sub(spent);
            spent += spent_ns;
            let wait = place.and_then(|place| self.wait(slice, place, spent_ns)).or(slice.wait);
            to.push(Slice { start_ns, end_ns, spent_ns, wait, ..*slice });
            start_ns = end_ns;
        }
    }

    fn wait(&mut self, slice: &Slice, (stack, timer): ParkedAt, spent_ns: u64) -> Option<WaitId> {
        let TaskWaits { run, next, waits, taken } = self;
        let wait = waits.entry((slice.thread, (stack, timer))).or_insert_with(|| {
            let wait = WaitId(*next);
            *next = next.saturating_add(1);
            Wait {
                run: *run,
                wait,
                thread: slice.thread,
                reason: Reason::Futex,
                syscall: None,
                object: None,
                operation: None,
                what: None,
                expected: None,
                timed: timer,
                user_stack: Some(stack),
                kernel_stack: None,
                count: 0,
                blocked_ns: 0,
                runnable_ns: 0,
                longest_ns: 0,
            }
        });
        wait.count += u64::from(slice.count);
        wait.blocked_ns = wait.blocked_ns.saturating_add(spent_ns);
        wait.longest_ns = wait.longest_ns.max(if slice.count == 1 { spent_ns } else { 0 });
        let taken = taken.entry(slice.wait?).or_default();
        *taken = taken.saturating_add(spent_ns);
        Some(wait.wait)
    }

    fn write(self, tables: &mut Tables) {
        for wait in tables.waits.iter_mut().filter(|wait| wait.run == self.run) {
            if let Some(taken) = self.taken.get(&wait.wait) {
                wait.blocked_ns = wait.blocked_ns.saturating_sub(*taken);
            }
        }
        tables.waits.extend(self.waits.into_values());
    }
}

/// The parts of a slice: the end of each, and where the task waited that is told for it.
fn parts(slice: &Slice, rank: u64, looks: &[Look]) -> Vec<(u64, Option<ParkedAt>)> {
    let mut parts = Vec::new();
    let mut at = slice.start_ns;
    let first = looks.partition_point(|look| look.time_ns.saturating_add(REACH_NS) <= slice.start_ns);
    for (number, look) in looks.iter().enumerate().skip(first) {
        if look.time_ns.saturating_sub(REACH_NS) >= slice.end_ns {
            break;
        }
        let (begin, end) = reach(looks, number);
        let (begin, end) = (begin.max(at), end.min(slice.end_ns));
        let waiting = look.count();
        if begin >= end || rank >= waiting {
            continue;
        }
        if begin > at {
            parts.push((begin, None));
        }
        // Another one at each look, so that each kind gets its part.
        let chosen = (number as u64).wrapping_mul(STRIDE).wrapping_add(rank) % waiting;
        parts.push((end, look.place(chosen)));
        at = end;
    }
    if at < slice.end_ns {
        parts.push((slice.end_ns, None));
    }
    parts
}

/// A prime: whatever the number of waiting tasks, each has its turn.
///
/// Decides: which of several waiting tasks is chosen, at each look, as the reason for a thread's sleep.
/// From: arithmetic: a stride that shares no factor with the number of tasks visits all of them.
/// Shown by: `each_lock_gets_its_part`.
/// Wrong if: the number of waiting tasks is an exact multiple of this; the same tasks are then chosen again and again.
const STRIDE: u64 = 7919;

/// From when to when a look speaks: half the way to its neighbours, and not far.
fn reach(looks: &[Look], number: usize) -> (u64, u64) {
    let Some(time) = looks.get(number).map(|look| look.time_ns) else { return (0, 0) };
    let middle = |other: &Look| other.time_ns / 2 + time / 2 + (other.time_ns % 2 + time % 2) / 2;
    let before = number.checked_sub(1).and_then(|at| looks.get(at)).map_or(0, middle);
    let after = looks.get(number + 1).map_or(u64::MAX, middle);
    (before.max(time.saturating_sub(REACH_NS)), after.min(time.saturating_add(REACH_NS)))
}
