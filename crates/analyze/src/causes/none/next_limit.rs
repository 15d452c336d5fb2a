//! What would limit a program next that loses nothing on these processors: a thread that is always busy, and that
//! others wait for.

use crate::account::Ledger;
use crate::account::lines::Why;
use crate::account::pool::pools;
use crate::causes::shared::blame::{named, running};
use crate::causes::shared::holders::seen;
use crate::facts::Facts;
use crate::model::resources::hand_over::Hold;
use crate::words::percent;
use recording::ThreadId;
use std::collections::{BTreeMap, BTreeSet};

/// A thread is always busy when it runs or waits for a processor for more than this share of its life.
///
/// Decides: whether one thread is reported as the next limit of a program that loses nothing.
/// From: chosen: the same bound as for a load generator that is always busy; the rest is the pauses while a pipeline
/// fills and drains.
/// Shown by: `a_stage_that_is_always_busy_is_the_next_limit`.
/// Wrong if: the thread polls: it is busy, but would not be the limit.
const BUSY: f64 = 0.9;

/// Decides: which threads may be the next limit: they must live for more than this share of the run.
/// From: reasoned, not measured: what ends earlier cannot have limited most of the run.
/// Shown by: `a_stage_that_is_always_busy_is_the_next_limit`.
/// Wrong if: the run begins with a long start, and the stage that limits the rest is there for less than half.
const LIVES: f64 = 0.5;

/// Other threads must also wait for that thread, for more than this share of their lives.
///
/// Decides: whether the thread that is always busy is reported as the next limit.
/// From: chosen: with more processors, a tenth would cost the program twice the smallest loss that is called a cause.
/// Shown by: `a_stage_that_is_always_busy_is_the_next_limit`; the near miss is `equal_threads_have_no_next_limit`.
/// Wrong if: others wait for it only because there are too few processors now.
const WAITED: f64 = 0.1;

/// The sentence; none where there is no such thread.
pub(super) fn sentence(facts: &Facts<'_, '_>) -> Option<String> {
    let ledger = facts.ledgers.last().filter(|ledger| !ledger.traced.is_only_run)?;
    let (thread, busy) = thread(ledger)?;
    // A thread that does the same as others is no stage: they could do its work, or will with more processors.
    let stage = |pool: &BTreeSet<ThreadId>| pool.len() == 1 && pool.contains(&thread);
    if !pools(ledger.traced, &facts.model.stacks).iter().any(stage) {
        return None;
    }
    let (start, end) = ledger.traced.measured;
    let culprit = running(facts, &seen(ledger, &[Hold { thread, start, end }]), |_| None)?.culprit;
    Some(format!(
        "With more processors, one thread would be the next limit, most in {}: it runs or waits for a processor for {} of the \
         time with {}, and others wait for it.",
        named(&culprit),
        percent(busy),
        ledger.traced.count()
    ))
}

/// The thread, and the part of its life in which it is busy.
fn thread(ledger: &Ledger<'_, '_>) -> Option<(ThreadId, f64)> {
    let traced = ledger.traced;
    let helpers = traced.helpers();
    let own = |thread: &ThreadId| !helpers.contains(thread) && !traced.services.contains_key(thread);
    let life = |thread: &ThreadId| traced.threads.get(thread).map_or(0, |t| t.end_ns.saturating_sub(t.start_ns));
    let mut waited: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let mut waiters: BTreeMap<ThreadId, u64> = BTreeMap::new();
    for wait in traced.waits.values().filter(|wait| own(&wait.thread)) {
        let brought = ledger
            .reasons
            .get(&wait.wait)
            .is_some_and(|why| matches!(why, Why::Condition | Why::Lock | Why::Pool | Why::Task));
        for wake in traced.wakes.get(&wait.wait).into_iter().flatten().filter(|_| brought) {
            let Some(waker) = wake.waker.filter(|waker| *waker != wait.thread) else { continue };
            let sum = waited.entry(waker).or_default();
            *sum = sum.saturating_add(wake.blocked_ns);
            waiters.insert(wait.thread, life(&wait.thread));
        }
    }
    let busy = |thread: &ThreadId| {
        let t = traced.threads.get(thread)?;
        let busy = t.running_ns.saturating_add(t.runnable_ns).saturating_add(t.preempted_ns);
        Some(busy as f64 / life(thread).max(1) as f64)
    };
    let length = traced.length_ns();
    let always = |thread: &&ThreadId| {
        life(thread) as f64 > LIVES * length as f64 && busy(thread).is_some_and(|busy| busy > BUSY)
    };
    let mut candidates = traced.threads.keys().filter(|thread| own(thread)).filter(always);
    let (only, None) = (candidates.next()?, candidates.next()) else { return None };
    let others: u64 = waiters.iter().filter(|(thread, _)| *thread != only).map(|(_, life)| life).sum();
    let long = waited.get(only).is_some_and(|waited| *waited as f64 > WAITED * others.max(1) as f64);
    Some((*only, busy(only)?)).filter(|_| long)
}
