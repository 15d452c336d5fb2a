//! When some threads are busy, and who ends a wait: what the rules about pools have in common.
//! Imports `model`, `recording`.

use crate::model::Traced;
use recording::tables::{Slice, State, Wait};
use recording::{ThreadId, WaitId};
use std::collections::BTreeSet;

/// More than half: no other thread can have as much.
///
/// Decides: which threads do the same work and form a pool, which thread ended a wait for a task, and whether the
/// thread that hands out the tasks waits for that pool.
/// From: the definition of a majority.
/// Shown by: `a_stage_that_does_something_else_is_waited_for`,
/// `a_giver_that_waits_for_somebody_else_may_have_tasks_to_give`.
/// Wrong if: two stages spend more than half of their time in calls that they have in common: they are taken for one
/// pool.
pub(super) const MOST: f64 = 0.5;

/// For at least this share of a thread's wait for a task, another thread of its pool must run, and the giver (the
/// thread that hands out tasks) must wait for the pool.
///
/// Decides: whether a thread waits because there is no further task, which is unequal work.
/// From: chosen: the rest covers handing over the tasks, and time in which the busy thread has no processor.
/// Shown by: `a_giver_that_runs_meanwhile_is_the_stage_that_sets_the_pace`,
/// `where_none_of_the_pool_runs_none_of_them_has_too_much_to_do`.
/// Wrong if: other programs keep the busy thread off its processor for more than a fifth of the time.
pub(super) const THROUGHOUT: f64 = 0.8;

/// Waits that last for this many sampling periods or more, on average, are looked at one by one.
///
/// Decides: for which waits of a pool the shares of the whole run tell that one thread gets most of the tasks.
/// From: chosen: ten samples tell what runs during a wait.
/// Shown by: `one_hot_key_gives_its_thread_the_largest_share`; the waits of
/// `a_task_that_is_larger_than_what_is_left_is_unequal_work` are longer.
/// Wrong if: the tasks of a frequent key take longer than that, and the giver does not wait throughout: the answer says
/// that threads wait for a stage.
const LONG_PERIODS: f64 = 10.0;

/// So many waits at one place are told by the shares of the whole run, however long each of them is.
///
/// Decides: as [`LONG_PERIODS`], for tasks that take longer.
/// From: reasoned, with one program in view, in which a thread waits 108 times for 19 ms: the tasks that are left over at
/// the end of a run are few, and a thread waits once for each. Who waits thirty times waits throughout the run.
/// Shown by: `tasks_of_a_hot_key_may_be_long`.
/// Wrong if: a program hands its tasks to the pool in thirty batches, and the last task of each is the same thread's.
const MANY_WAITS: u64 = 30;

/// True where the shares of the whole run tell more than a look at each wait. See [`MANY_WAITS`].
pub fn are_told_by_shares(traced: &Traced<'_>, blocked_ns: f64, count: u64) -> bool {
    count >= MANY_WAITS || are_short(traced, blocked_ns, count)
}

/// True where waits that took `blocked_ns` together are too short for samples to show what ran during each.
pub(super) fn are_short(traced: &Traced<'_>, blocked_ns: f64, count: u64) -> bool {
    blocked_ns < LONG_PERIODS * traced.trace.sample_period_ns as f64 * count as f64
}

/// True when threads of the pool ended most of a wait.
pub(super) fn is_ended_by(traced: &Traced<'_>, wait: &Wait, pool: &BTreeSet<ThreadId>) -> bool {
    ended(traced, wait, |waker| waker.is_some_and(|waker| pool.contains(&waker)))
}

/// The same of a wait for the end of a thread: who wakes another one when it ends is known no more.
pub(super) fn is_joined(traced: &Traced<'_>, wait: &Wait, pool: &BTreeSet<ThreadId>) -> bool {
    ended(traced, wait, |waker| waker.is_none_or(|waker| pool.contains(&waker)))
}

fn ended(traced: &Traced<'_>, wait: &Wait, by: impl Fn(Option<ThreadId>) -> bool) -> bool {
    let wakes = traced.wakes.get(&wait.wait).into_iter().flatten();
    wakes.filter(|wake| by(wake.waker)).map(|wake| wake.blocked_ns as f64).sum::<f64>() > MOST * wait.blocked_ns as f64
}

/// How long waits took together, nanoseconds; `None` where there are none, or too short ones to see what runs meanwhile.
pub(super) fn long_in_sum(traced: &Traced<'_>, waits: &[&Wait]) -> Option<f64> {
    let blocked: f64 = waits.iter().map(|wait| wait.blocked_ns as f64).sum();
    let count = waits.iter().fold(0, |n: u64, wait| n.saturating_add(wait.count));
    (blocked > 0.0 && !are_short(traced, blocked, count)).then_some(blocked)
}

/// How long a thread ran beside others, nanoseconds; `None` where it ran mostly alone. Before they began, it had nobody to
/// share with. `busy`: when any of them had work.
pub(super) fn ran_beside(
    traced: &Traced<'_>,
    thread: ThreadId,
    others: &BTreeSet<ThreadId>,
    busy: &Busy,
) -> Option<f64> {
    let since = others.iter().filter_map(|t| traced.threads.get(t)).map(|t| t.start_ns).min().unwrap_or(0);
    let runs = |s: &Slice| s.state == State::Running && s.end_ns > s.start_ns.max(since);
    let (mut ran, mut beside) = (0.0, 0.0);
    for slice in traced.slices.line(thread).iter().filter(runs) {
        let from = slice.start_ns.max(since);
        let part = (slice.end_ns - from) as f64 / (slice.end_ns - slice.start_ns) as f64;
        ran += part * slice.spent_ns as f64;
        beside += busy.between(from, slice.end_ns).any;
    }
    (beside >= MOST * ran).then_some(beside)
}

/// For how long of a thread's waits others were busy, nanoseconds.
pub(super) fn busy_during(traced: &Traced<'_>, thread: ThreadId, waits: &BTreeSet<WaitId>, busy: &Busy) -> f64 {
    let waiting = |slice: &Slice| slice.state == State::Blocked && slice.wait.is_some_and(|wait| waits.contains(&wait));
    let slices = traced.slices.line(thread).iter().filter(waiting);
    slices.map(|s| busy.between(s.start_ns, s.end_ns).any).sum()
}

/// Whether a thread in this state has work. One whose processor others have is busy, too.
pub(super) fn has_work(state: State) -> bool {
    matches!(state, State::Running | State::Runnable | State::Preempted)
}

/// When any of some threads has work.
pub(super) fn at_work(traced: &Traced<'_>, threads: &BTreeSet<ThreadId>) -> Busy {
    Busy::from_slices(traced.slices.iter().filter(|s| threads.contains(&s.thread)), has_work)
}

/// For how long at least one, and at least two, of some threads were in a state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Time {
    pub(super) any: f64,
    pub(super) several: f64,
}

/// These times, in nanoseconds, summed from the beginning up to each change.
#[derive(Debug)]
pub(super) struct Busy {
    sums: Vec<(u64, Time)>,
    /// By how much the sum grows per nanosecond after each change.
    rates: Vec<Time>,
}

impl Busy {
    pub(super) fn from_slices(slices: impl Iterator<Item = Slice>, counts: impl Fn(State) -> bool) -> Busy {
        let mut changes: Vec<(u64, f64)> = Vec::new();
        for slice in slices.filter(|s| counts(s.state) && s.end_ns > s.start_ns) {
            // Of a summed-up slice only the part spent in the state counts.
            let part = (slice.spent_ns as f64 / (slice.end_ns - slice.start_ns) as f64).min(1.0);
            changes.extend([(slice.start_ns, part), (slice.end_ns, -part)]);
        }
        changes.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1)));
        let mut busy = Busy { sums: Vec::with_capacity(changes.len()), rates: Vec::with_capacity(changes.len()) };
        let (mut running, mut since, mut sum) = (0.0_f64, 0, Time::default());
        for (time, change) in changes {
            let rate = rate(running);
            let passed = (time - since) as f64;
            sum = Time { any: sum.any + rate.any * passed, several: sum.several + rate.several * passed };
            running += change;
            since = time;
            busy.sums.push((time, sum));
            busy.rates.push(self::rate(running));
        }
        busy
    }

    fn until(&self, time: u64) -> Time {
        let after = self.sums.partition_point(|(at, _)| *at <= time);
        let Some(last) = after.checked_sub(1) else { return Time::default() };
        let (Some((at, sum)), Some(rate)) = (self.sums.get(last), self.rates.get(last)) else { return Time::default() };
        // After the last change no thread is in the state, but rounding may leave a small rate.
        let passed = if after == self.sums.len() { 0.0 } else { (time - at) as f64 };
        Time { any: sum.any + rate.any * passed, several: sum.several + rate.several * passed }
    }

    pub(super) fn between(&self, start: u64, end: u64) -> Time {
        let (a, b) = (self.until(start), self.until(end));
        Time { any: b.any - a.any, several: b.several - a.several }
    }
}

/// How much of one instant has at least one, and at least two, running threads; `running` may be fractional.
fn rate(running: f64) -> Time {
    Time { any: running.clamp(0.0, 1.0), several: (running - 1.0).clamp(0.0, 1.0) }
}
