//! Threads that have no task while another one of their pool is still busy.
//!
//! Such a thread waits for the next task as a stage of a pipeline waits for the stage before it. Two things tell them
//! apart: in a pool, the threads that run meanwhile do the same work, and the thread that would bring the next task
//! waits for them. Where tasks are too short to see who waits for whom, the shares of the whole run tell it: one thread
//! of the pool is always busy, and the others are not.
//!
//! Rooms: [`busy`] when threads are busy, and who ends a wait; [`caller`] a caller that takes part in the pool's work;
//! [`for_pool`] who waits for the pool; [`full`] who waits for a worker that has all of the work; [`joins`] who has done its
//! part and joins the others; [`largest_task`] a task that has most of the work.
//! May import: `account::lines`, `account::timeline`, `model`, `runtimes`, `statistics`, `recording`.

mod busy;
mod caller;
mod for_pool;
mod full;
mod joins;
mod largest_task;

use super::lines::Why;
use super::timeline::pace::Busiest;
use crate::model::Traced;
use crate::model::similar_threads::{self, Calls};
use crate::model::stacks::Stacks;
use crate::statistics::MIN_SHARE;
pub use busy::are_told_by_shares;
use busy::{Busy, MOST, THROUGHOUT, at_work, has_work, is_ended_by};
use for_pool::{WaitForPool, for_pool};
pub use full::who_has_all;
pub use largest_task::{LargestTask, largest_task};
use recording::tables::{Slice, State, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The threads of a pool have work side by side for at least this share of the time in which any of them has. If they never
/// have, tasks are handed out one at a time and the giver waits for each result, so that no thread's share of the work is
/// too large.
///
/// Decides: whether waiting for a task can be unequal work.
/// From: chosen: the same bound as `PARALLEL_SHARE` of `account::serial_code`, below which a program counts as one
/// whose threads run one at a time.
/// Shown by: `tasks_that_are_handed_out_one_at_a_time_are_waited_for`.
/// Wrong if: one task takes more than nine tenths of the time: the work is unequal, but the answer says that threads
/// wait for work.
const SIDE_BY_SIDE: f64 = 0.1;

/// In a pool with unequal shares, the thread with the next largest share runs for at most this part of the time of the
/// first, which always has work.
///
/// Decides: whether threads that wait for tasks do so because one of their pool gets most of them.
/// From: chosen: with four fifths, the loss on two processors is a tenth of the capacity, twice the smallest that counts.
/// Shown by: `one_hot_key_gives_its_thread_the_largest_share`.
/// Wrong if: two of many threads have all the work: they are equally busy, and the others are told as waiting for a stage.
const NEXT_SHARE: f64 = 0.8;

/// A thread that has more to do than the others of its pool, all the time.
#[derive(Debug, Clone)]
pub struct LargestShare {
    /// The thread.
    pub busiest: Busiest,
    /// The threads that do the same work, itself included.
    pub pool: BTreeSet<ThreadId>,
}

/// The thread of a pool that has the largest share of its work, if one is always busy and others are not. `pools`: see
/// [`pools`].
pub fn largest_share(traced: &Traced<'_>, pools: &[BTreeSet<ThreadId>]) -> Option<LargestShare> {
    let busiest = Busiest::new(traced, 1.0).filter(|busiest| busiest.is_ahead(NEXT_SHARE) && !traced.loaded())?;
    let pool = pools.iter().find(|pool| pool.len() > 1 && pool.contains(&busiest.thread))?;
    let busy = |threads: &dyn Fn(ThreadId) -> bool| {
        let slices = traced.slices.iter().filter(|s| pool.contains(&s.thread) && threads(s.thread));
        Busy::from_slices(slices, has_work).between(traced.measured.0, traced.measured.1)
    };
    let (all, others) = (busy(&|_| true), busy(&|thread| thread != busiest.thread));
    // If the others have work mostly when the first has none, it is given out one piece at a time.
    let beside = all.several > MOST * others.any;
    (beside && others.any > MIN_SHARE * all.any).then(|| LargestShare { busiest, pool: pool.clone() })
}

/// Waits of a pool in which one thread has the largest share: those of the other threads for work from outside the pool,
/// and those of who brings it for the pool.
fn beside_largest(
    traced: &Traced<'_>,
    stacks: &Stacks<'_>,
    pools: &[BTreeSet<ThreadId>],
    why: &QuickMap<WaitId, Why>,
) -> Vec<WaitId> {
    let Some(LargestShare { busiest, pool }) = largest_share(traced, pools) else { return Vec::new() };
    let short = |wait: &Wait| are_told_by_shares(traced, wait.blocked_ns as f64, wait.count);
    let may_be = |wait: &&Wait| matches!(why.get(&wait.wait), Some(Why::Condition | Why::Futex)) && short(wait);
    let waits: Vec<&Wait> = traced.waits.values().copied().filter(may_be).collect();
    let others = waits.iter().filter(|wait| pool.contains(&wait.thread) && wait.thread != busiest.thread);
    let fed: Vec<(WaitId, ThreadId)> =
        others.filter_map(|wait| Some((wait.wait, giver(traced, wait, &pool)?))).collect();
    let givers: BTreeSet<ThreadId> = fed.iter().map(|(_, giver)| *giver).collect();
    // A giver that is busy, or waits for something else, may be what keeps tasks from the others.
    let (begin, end) = traced.measured;
    let mut for_pool = for_pool(traced, why, &givers, &pool);
    for_pool.retain(|giver, waits| {
        let thread = traced.threads.get(giver);
        let (ran, blocked) = thread.map_or((0.0, 0.0), |t| (t.running_ns as f64, t.blocked_ns as f64));
        ran <= MOST * traced.length_ns() as f64 && waits.between(begin, end) > MOST * blocked
    });
    let fed = fed.into_iter().filter(|(_, giver)| for_pool.contains_key(giver)).map(|(wait, _)| wait);
    // The busiest may bring the others' work itself, between its own parts of it.
    let busiest_alone = BTreeSet::from([busiest.thread]);
    let by_busiest = waits.iter().filter(|wait| {
        wait.thread != busiest.thread && pool.contains(&wait.thread) && is_ended_by(traced, wait, &busiest_alone)
    });
    let by_busiest: Vec<WaitId> = match does_the_same(traced, stacks, &busiest, &pool) {
        true => by_busiest.map(|wait| wait.wait).collect(),
        false => Vec::new(),
    };
    let by_pool = waits.iter().filter(|wait| for_pool.contains_key(&wait.thread) && is_ended_by(traced, wait, &pool));
    fed.chain(by_pool.map(|wait| wait.wait)).chain(by_busiest).collect()
}

/// True when nearly all that the busiest thread of a pool does is what the next busiest one does, too. One that does
/// more may keep the others waiting with it: with a serial part of the program, say.
///
/// Decides: whether waits that the busiest thread itself ends are for its too large share of the work.
/// From: the model: who brings the others' work and does nothing else besides has kept the rest to itself. How much is
/// nearly all: see [`THROUGHOUT`]. One program, of which this thread has 92 % of the work, showed the need.
/// Shown by: `a_thread_with_the_largest_share_may_give_out_the_rest`,
/// `a_busy_thread_that_does_more_than_the_others_has_no_larger_share`.
/// Wrong if: a serial part is run by the functions that all threads run.
fn does_the_same(traced: &Traced<'_>, stacks: &Stacks<'_>, busiest: &Busiest, pool: &BTreeSet<ThreadId>) -> bool {
    let calls = traced.thread_calls(stacks);
    let ran = |thread: &ThreadId| traced.threads.get(thread).map_or(0, |t| t.running_ns);
    let next = pool.iter().filter(|thread| **thread != busiest.thread).max_by_key(|thread| ran(thread));
    let alike = next.and_then(|next| Some(similar_threads::overlap(calls.get(&busiest.thread)?, calls.get(next)?)));
    alike.is_some_and(|alike| alike > THROUGHOUT)
}

/// Waits at conditions that are for a next task, where there are not enough tasks for all threads.
pub(super) fn out_of_work(traced: &Traced<'_>, stacks: &Stacks<'_>, why: &QuickMap<WaitId, Why>) -> Vec<WaitId> {
    let at = |wait: &Wait| why.get(&wait.wait).copied();
    // A wait of unknown purpose may be one too: the threads that end it, and what they do meanwhile, decide.
    let may_be = |why: Option<Why>| matches!(why, Some(Why::Condition | Why::Futex));
    let joins = joins::after_own_share(traced, stacks, why);
    let conditions = || traced.waits.values().copied().filter(|w| may_be(at(w)) && w.blocked_ns > 0);
    if conditions().next().is_none() {
        return joins;
    }
    let pools = pools(traced, stacks);
    let mut candidates: BTreeMap<&BTreeSet<ThreadId>, Vec<(&Wait, ThreadId)>> = BTreeMap::new();
    let mut callers: BTreeMap<&BTreeSet<ThreadId>, Option<ThreadId>> = BTreeMap::new();
    for wait in conditions() {
        let Some(pool) = pools.iter().find(|pool| pool.len() > 1 && pool.contains(&wait.thread)) else { continue };
        // Tasks that are divided by the pool's own threads: who called the pool has given them all.
        let giver = match stacks.view(wait.user_stack, wait.syscall.is_some()).without_job {
            true => *callers.entry(pool).or_insert_with(|| caller(traced, why, pool)),
            false => giver(traced, wait, pool),
        };
        candidates.entry(pool).or_default().extend(giver.map(|giver| (wait, giver)));
    }
    // What runs during a wait shorter than the sampling period is not known, nor when a thread slept in a summed-up
    // stretch: both may be ordinary hand-overs.
    let whole = |s: &Slice| s.count == 1 && s.spent_ns == s.end_ns.saturating_sub(s.start_ns);
    let long = |s: &Slice| whole(s) && s.spent_ns >= traced.trace.sample_period_ns;
    let mut found = beside_largest(traced, stacks, &pools, why);
    found.extend(joins);
    found.extend(caller::without_share(traced, stacks, why));
    found.extend(full::for_who_has_all(traced, why));
    found.extend(largest_task::without_share(traced, stacks, why));
    for (pool, waits) in candidates {
        let busy = at_work(traced, pool);
        let all = busy.between(0, u64::MAX);
        if all.several < SIDE_BY_SIDE * all.any {
            continue;
        }
        let givers: BTreeSet<ThreadId> = waits.iter().map(|w| w.1).collect();
        let for_pool = for_pool(traced, why, &givers, pool);
        let givers: HashMap<WaitId, Option<&WaitForPool>> =
            waits.iter().map(|(wait, giver)| (wait.wait, for_pool.get(giver))).collect();
        let mut sums: HashMap<WaitId, (f64, f64)> = HashMap::new();
        for slice in traced.slices.iter().filter(|s| s.state == State::Blocked && long(s)) {
            let Some((wait, giver)) = slice.wait.and_then(|w| givers.get_key_value(&w)) else { continue };
            let (ran, gave) = sums.entry(*wait).or_default();
            *ran += busy.between(slice.start_ns, slice.end_ns).any;
            *gave += giver.map_or(0.0, |giver| giver.between(slice.start_ns, slice.end_ns));
        }
        let throughout = |wait: &&Wait| {
            let (ran, gave) = sums.get(&wait.wait).copied().unwrap_or_default();
            ran.min(gave) > THROUGHOUT * wait.blocked_ns as f64
        };
        found.extend(waits.iter().map(|w| w.0).filter(throughout).map(|w| w.wait));
    }
    found
}

/// Groups of threads that do the same work, by what their samples show.
pub fn pools(traced: &Traced<'_>, stacks: &Stacks<'_>) -> Vec<BTreeSet<ThreadId>> {
    let calls = traced.thread_calls(stacks);
    let mut pools: Vec<(BTreeSet<ThreadId>, &Calls)> = Vec::new();
    for (thread, calls) in calls {
        match pools.iter_mut().find(|(_, first)| similar_threads::overlap(first, calls) > MOST) {
            Some((pool, _)) => drop(pool.insert(*thread)),
            None => pools.push((BTreeSet::from([*thread]), calls)),
        }
    }
    pools.into_iter().map(|(pool, _)| pool).collect()
}

/// The thread outside the pool that ended most of a wait.
fn giver(traced: &Traced<'_>, wait: &Wait, pool: &BTreeSet<ThreadId>) -> Option<ThreadId> {
    let mut by: BTreeMap<ThreadId, u64> = BTreeMap::new();
    for wake in traced.wakes.get(&wait.wait).into_iter().flatten() {
        if let Some(waker) = wake.waker.filter(|waker| !pool.contains(waker)) {
            let sum = by.entry(waker).or_default();
            *sum = sum.saturating_add(wake.blocked_ns);
        }
    }
    let (waker, ended) = by.into_iter().max_by_key(|(_, ns)| *ns)?;
    (ended as f64 > MOST * wait.blocked_ns as f64).then_some(waker)
}

/// The thread outside the pool that waited longest for the pool's threads.
fn caller(traced: &Traced<'_>, why: &QuickMap<WaitId, Why>, pool: &BTreeSet<ThreadId>) -> Option<ThreadId> {
    let outside: BTreeSet<ThreadId> = traced.threads.keys().filter(|t| !pool.contains(t)).copied().collect();
    let waited = for_pool(traced, why, &outside, pool).into_iter();
    waited
        .map(|(thread, waits)| (thread, waits.between(0, u64::MAX)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(t, _)| t)
}
