//! Why the threads of a task scheduler sleep: what its tasks (goroutines, say) wait for.
//!
//! A task that waits leaves its thread to the scheduler, and the thread sleeps when no other task can run. The stack of
//! such a sleep ends in the task that the thread ran last. That task may run on another thread meanwhile, so its name
//! alone proves nothing: the waker has to fit.

use super::stack_view::View;
use super::stacks::Stacks;
use super::task_pools::TaskPool;
use crate::runtimes::{Parked, Primitive};
use recording::tables::{self, Slice, State, Wait, Wake};
use recording::{QuickMap, WaitId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Why a thread of a task scheduler sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepReason {
    /// A task waits for this, and the wakers fit. The stack shows where.
    Waits(Primitive),
    /// The same, but the stack shows another task.
    Elsewhere(Primitive),
    /// Fewer tasks than processors are left: others have ended, or wait for tasks to end.
    Ended,
    /// A task sleeps.
    Sleeps,
    /// A task waits for a file or a socket.
    Polls,
    /// The thread is no worker.
    Spare,
    /// Not known.
    Unknown,
}

/// Decides: for which reason a thread of a task scheduler sleeps: more than this share of its sleep, or of the wake-ups at a
/// place, must have that reason.
/// From: reasoned, not measured: with more than half there cannot be a second reason.
/// Shown by: `tests/goroutines.rs`.
/// Wrong if: a place serves two purposes in nearly equal parts: the larger is told for both, and none in equal parts.
const MOST: f64 = 0.5;

/// Why the task scheduler's threads of a run sleep.
#[derive(Debug, Default)]
pub struct TaskSleeps {
    reasons: HashMap<WaitId, SleepReason>,
    /// Single sleeps that ended in another way than the rest of their wait, by their length in nanoseconds.
    exceptions: HashSet<(WaitId, u64)>,
}

impl TaskSleeps {
    /// Finds them. `pools`: what the tasks pass to each other; `futex`: the number of that system call.
    pub fn new<'t>(
        waits: &BTreeMap<WaitId, &'t Wait>,
        wakes: &QuickMap<WaitId, Vec<&'t Wake>>,
        stacks: &Stacks<'t>,
        pools: &[TaskPool],
        futex: u32,
    ) -> TaskSleeps {
        let mut found = TaskSleeps::default();
        let parked: Vec<(&Wait, Parked, View)> = waits
            .values()
            .filter_map(|wait| {
                let view = stacks.view(wait.user_stack, wait.syscall.is_some());
                Some((*wait, view.parked?, view))
            })
            .collect();
        let ends = |wait: &Wait| wakes.get(&wait.wait).into_iter().flatten().copied();
        let mut groups: BTreeMap<WaitPlace, Fit> = BTreeMap::new();
        for (wait, what, view) in &parked {
            let Parked::Waits(primitive) = *what else { continue };
            let fit = groups.entry(place(primitive, view)).or_default();
            // A thread that looks for work also sleeps by the clock: the thread that is running when such a sleep ends
            // did not wake it.
            for wake in ends(wait).filter(|_| wait.reason == tables::Reason::Futex) {
                match fits(wake, primitive, stacks, futex) {
                    Some(true) => fit.yes += u128::from(wake.blocked_ns),
                    Some(false) if wake.count == 1 => {
                        found.exceptions.insert((wait.wait, wake.blocked_ns));
                    }
                    Some(false) => fit.no += u128::from(wake.blocked_ns),
                    None => {}
                }
            }
        }
        for (wait, what, view) in &parked {
            let reason = match *what {
                Parked::Spare => SleepReason::Spare,
                Parked::TaskWaits(_) if pools.iter().any(|p| wait.user_stack.is_some_and(|s| p.waits.contains(&s))) => {
                    SleepReason::Waits(Primitive::Pool)
                }
                // At the channel of a timer.
                Parked::TaskWaits(_) if wait.timed && wait.syscall.is_none() => SleepReason::Sleeps,
                // The stack is the task's own.
                Parked::TaskWaits(primitive) => SleepReason::Waits(primitive),
                Parked::Ended | Parked::Waits(Primitive::Join) => SleepReason::Ended,
                Parked::Waits(primitive) if groups.get(&place(primitive, view)).is_some_and(Fit::holds) => {
                    SleepReason::Waits(primitive)
                }
                // Known from a look at the tasks: there was no call, and no thread ended the wait.
                Parked::Sleeps if wait.syscall.is_none() => SleepReason::Sleeps,
                Parked::Sleeps if by_the_clock(ends(wait), stacks, futex) => SleepReason::Sleeps,
                Parked::Polls => SleepReason::Polls,
                _ => SleepReason::Unknown,
            };
            found.reasons.insert(wait.wait, reason);
        }
        let passed_on = found.passed_on(&parked, wakes, stacks);
        let usual = found.usual(&parked);
        for (wait, what, _) in &parked {
            let reason = match *what {
                Parked::Preempted => passed_on,
                Parked::Moved => usual,
                _ => None,
            };
            if let Some(reason) = reason {
                found.reasons.insert(wait.wait, reason);
            }
        }
        found
    }

    /// Explains sleeps of unknown reason by ended tasks, when most of their time lies where fewer tasks than processors
    /// are left.
    pub fn settle(&mut self, slices: impl Iterator<Item = Slice>, few_left: &[(u64, u64)]) {
        if few_left.is_empty() {
            return;
        }
        let mut asleep: HashMap<WaitId, (u64, u64)> = HashMap::new();
        for slice in slices.filter(|s| s.state == State::Blocked && s.end_ns > s.start_ns) {
            let Some(wait) = slice.wait.filter(|w| self.reasons.get(w) == Some(&SleepReason::Unknown)) else {
                continue;
            };
            // In a summed-up slice only a part of the time was slept.
            let length = slice.end_ns - slice.start_ns;
            let within = overlap(few_left, (slice.start_ns, slice.end_ns));
            let spent = slice.spent_ns.min(length);
            let part = u128::from(within) * u128::from(spent) / u128::from(length);
            let sums = asleep.entry(wait).or_default();
            sums.0 = sums.0.saturating_add(spent);
            sums.1 = sums.1.saturating_add(part as u64);
        }
        for (wait, (all, within)) in asleep {
            if within as f64 > MOST * all as f64 {
                self.reasons.insert(wait, SleepReason::Ended);
            }
        }
    }

    /// The reason for threads whose task moved to another thread before they slept: what tasks mostly wait for, by
    /// blocked time over all other sleeps, including those of unknown reason.
    fn usual(&self, parked: &[(&Wait, Parked, View<'_>)]) -> Option<SleepReason> {
        let others = parked
            .iter()
            .filter(|p| !matches!(p.1, Parked::Spare | Parked::Preempted | Parked::Moved | Parked::TaskWaits(_)));
        most(others.filter_map(|(wait, _, _)| Some((self.elsewhere(wait.wait)?, wait.blocked_ns))))
    }

    /// The reason of this sleep, for use with another sleep whose stack shows another task.
    fn elsewhere(&self, wait: WaitId) -> Option<SleepReason> {
        match self.reasons.get(&wait).copied()? {
            SleepReason::Waits(primitive) => Some(SleepReason::Elsewhere(primitive)),
            other => Some(other),
        }
    }

    /// Why threads sleep whose task was preempted. Such a thread wakes another one, which takes the task, and then
    /// sleeps itself. The reason for which the other had slept still holds. Returns the reason of most of them, by
    /// wake-ups.
    fn passed_on(
        &self,
        parked: &[(&Wait, Parked, View<'_>)],
        wakes: &QuickMap<WaitId, Vec<&Wake>>,
        stacks: &Stacks<'_>,
    ) -> Option<SleepReason> {
        let by_preempted = |w: &&&Wake| stacks.view(w.waker_stack, true).parked == Some(Parked::Preempted);
        // A spare thread, such as one that looks after the clock, has no task to hand on.
        let others = parked.iter().filter(|p| !matches!(p.1, Parked::Preempted | Parked::Spare));
        most(others.filter_map(|(wait, _, _)| {
            let ended = wakes.get(&wait.wait).into_iter().flatten().filter(by_preempted);
            Some((self.elsewhere(wait.wait)?, ended.fold(0_u64, |n, w| n.saturating_add(w.count))))
        }))
    }

    /// The reason of a wait; `None` where it is not a sleep of a task scheduler's thread.
    pub fn reason(&self, wait: WaitId) -> Option<SleepReason> {
        self.reasons.get(&wait).copied()
    }

    /// True for a single sleep that ended in another way than the others of its wait.
    pub fn is_exception(&self, wait: WaitId, ns: u64) -> bool {
        self.exceptions.contains(&(wait, ns))
    }
}

/// How many nanoseconds of a stretch lie in `stretches`, which are in order.
fn overlap(stretches: &[(u64, u64)], (start, end): (u64, u64)) -> u64 {
    let first = stretches.partition_point(|(_, to)| *to <= start);
    let inside = stretches.iter().skip(first).take_while(|(from, _)| *from < end);
    inside.map(|(from, to)| end.min(*to) - start.max(*from)).sum()
}

/// The reason that has more than half of the weight.
fn most(weights: impl Iterator<Item = (SleepReason, u64)>) -> Option<SleepReason> {
    let mut sums: Vec<(SleepReason, u128)> = Vec::new();
    for (reason, weight) in weights {
        match sums.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += u128::from(weight),
            None => sums.push((reason, u128::from(weight))),
        }
    }
    let all: u128 = sums.iter().map(|s| s.1).sum();
    sums.into_iter().find(|(_, sum)| *sum as f64 > MOST * all as f64).map(|s| s.0)
}

/// Whether sleeps were mostly ended by the clock (no waker, or the scheduler) and not by another task.
fn by_the_clock<'w>(ends: impl Iterator<Item = &'w Wake>, stacks: &Stacks<'_>, futex: u32) -> bool {
    let mut fit = Fit::default();
    for wake in ends {
        // The primitive does not matter: only a wake-up that tells nothing counts as the clock's.
        match fits(wake, Primitive::Join, stacks, futex) {
            None => fit.yes += u128::from(wake.blocked_ns),
            Some(_) => fit.no += u128::from(wake.blocked_ns),
        }
    }
    fit.holds()
}

/// Where tasks wait: what for, and the program's function (module, name) that waits.
type WaitPlace<'t> = (Primitive, Option<(&'t str, Option<&'t str>)>);

fn place<'t>(primitive: Primitive, view: &View<'t>) -> WaitPlace<'t> {
    (primitive, view.own.map(|c| (c.module, c.name())))
}

/// Nanoseconds of sleep whose end fits the supposed reason, and of sleep whose end does not.
#[derive(Debug, Default)]
struct Fit {
    yes: u128,
    no: u128,
}

impl Fit {
    fn holds(&self) -> bool {
        self.yes > self.no
    }
}

/// Whether a thread was woken by what its task waits for: a release for a lock, a message for a channel. `None` where
/// the wake-up tells nothing: an interrupt, or the scheduler, which wakes the next thread when it has found work.
fn fits(wake: &Wake, primitive: Primitive, stacks: &Stacks<'_>, futex: u32) -> Option<bool> {
    let view = stacks.view(wake.waker_stack, true);
    match wake.waker {
        Some(_) if wake.waker_syscall == Some(futex) && view.parked.is_none() => {
            Some(match primitive {
                // Things come back to a pool by a channel or a semaphore.
                Primitive::Pool => {
                    matches!(view.primitive, Some(Primitive::Pool | Primitive::Lock | Primitive::Condition))
                }
                _ => view.primitive == Some(primitive),
            })
        }
        // The end of the program, or of the thread.
        Some(_) if wake.waker_syscall.is_some_and(|n| n != futex) && wake.waker_stack.is_some() => Some(false),
        _ => None,
    }
}
