//! Locks and pools as queues: how busy each is, and how many threads would wait if more came. This shows a limit before
//! it is a cause.

use crate::account::Ledger;
use crate::answer::{Bounded, Interval, Queue, QueueKind, Site};
use crate::model::Model;
use crate::model::code::place;
use crate::model::futex::{Purpose, object};
use crate::model::resources::{Usage, usage};
use crate::sharing::variable_at;
use crate::statistics::NORMAL_95;
use crate::statistics::queueing::{offered, waiting};
use crate::words::{percent, said, two_digits};
use recording::WaitId;
use recording::tables::Wait;
use std::collections::{BTreeMap, BTreeSet};

/// Decides: how many locks of a run are examined as queues: those with the most waiting.
/// From: chosen; no measurement: each examination goes through the timelines once.
/// Wrong if: more than twenty locks are busy, and one with less waiting than those is nearer to its limit.
const MOST_LOCKS: usize = 20;

/// Decides: from which utilisation on a busy lock or pool is reported in a sentence, for a server under load or a run
/// alone.
/// From: a queue of exponential holds makes an arrival wait for 2.3 holds at 0.7, and for twice that at 0.82
/// (Kleinrock, *Queueing Systems* I, 1975, 3.2); below 0.7, the load can grow by half.
/// Shown by: `a_busy_lock_is_told_before_it_is_the_limit`.
/// Wrong if: the load is to grow by more than half: the table then has the row that matters, but there is no sentence.
const NEAR: f64 = 0.7;

/// Decides: from which utilisation on a lock or a pool is reported as the limit now. It also is where the upper end of
/// the interval reaches 100 %.
/// From: chosen: the rest is less than what handing over takes, and the load at which it is the limit would be told as
/// 1.0 times that of today.
/// Shown by: `a_lock_that_is_always_held_is_the_limit`.
/// Wrong if: the load can still grow by a twentieth before threads queue up.
const FULL: f64 = 0.95;

/// A lock or a pool that threads waited for.
struct Waited<'a> {
    kind: QueueKind,
    size: usize,
    object: Option<u64>,
    site: Option<Site>,
    waits: BTreeSet<WaitId>,
    rows: Vec<&'a Wait>,
}

/// The locks and pools of a traced run whose holds were seen often enough, the busiest first.
pub fn queues<'t>(model: &Model<'t>, ledger: &Ledger<'_, 't>) -> Vec<Queue> {
    let waited = waited(model, ledger);
    if waited.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Queue> = waited.iter().filter_map(|waited| queue(model, ledger, waited)).collect();
    found.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    found
}

/// Pools, and locks at an address that several threads share. If each thread waits at a futex of its own, the recording
/// does not tell locks apart.
fn waited<'t>(model: &Model<'t>, ledger: &Ledger<'_, 't>) -> Vec<Waited<'t>> {
    let traced = ledger.traced;
    let row = |wait: &WaitId| traced.waits.get(wait).copied();
    let pools = &ledger.resources.pools;
    let mut found: Vec<Waited<'t>> = pools
        .iter()
        .filter_map(|pool| {
            let rows = pool.waits.iter().filter_map(row).collect();
            let site = Some(pool.place.site());
            let waits = pool.waits.clone();
            Some(Waited { kind: QueueKind::Pool, size: pool.size?, object: None, site, waits, rows })
        })
        .collect();
    let mut locks: BTreeMap<_, Waited<'t>> = BTreeMap::new();
    for futex in ledger.futexes.values().filter(|futex| futex.purpose == Purpose::Lock) {
        let (wait, address) = (futex.wait, object(traced, futex.wait));
        if found.iter().any(|pool| pool.waits.contains(&wait.wait)) {
            continue;
        }
        let lock = locks.entry(address).or_insert_with(|| Waited {
            kind: QueueKind::Lock,
            size: 1,
            object: Some(address.1),
            site: None,
            waits: BTreeSet::new(),
            rows: Vec::new(),
        });
        lock.waits.insert(wait.wait);
        lock.rows.push(wait);
    }
    let blocked = |waited: &Waited<'_>| waited.rows.iter().map(|wait| wait.blocked_ns as f64).sum::<f64>();
    let mut locks: Vec<Waited<'t>> = locks.into_values().filter(|lock| threads(lock) > 1).collect();
    locks.sort_by(|a, b| blocked(b).total_cmp(&blocked(a)));
    locks.truncate(MOST_LOCKS);
    for lock in &mut locks {
        let most = lock.rows.iter().max_by_key(|wait| wait.blocked_ns);
        let view = most.map(|wait| model.stacks.view(wait.user_stack, true));
        lock.site = view.and_then(|view| view.own.or(view.entry).or(view.leaf)).map(|code| code.site());
    }
    found.extend(locks);
    found
}

fn threads(waited: &Waited<'_>) -> usize {
    waited.rows.iter().map(|wait| wait.thread).collect::<BTreeSet<_>>().len()
}

fn queue(model: &Model<'_>, ledger: &Ledger<'_, '_>, waited: &Waited<'_>) -> Option<Queue> {
    let traced = ledger.traced;
    let used = usage(traced, &waited.waits, waited.size)?;
    let Usage { seconds, waits, holds, hold, variation, .. } = used;
    if seconds <= 0.0 || waits <= 0.0 {
        return None;
    }
    let (size, waiters) = (waited.size, threads(waited));
    let had_to_wait = waits / seconds * hold;
    // Waits are counted and holds are sampled: the relative variance of each.
    let (of_waits, of_hold) = (waits.recip(), variation / holds as f64);
    let within = NORMAL_95 * (of_waits + of_hold).sqrt();
    let at = |times: f64| offered(size, waiters, had_to_wait * times.max(0.0));
    let (held, low, high) = (at(1.0)?, at(1.0 - within)?, at(1.0 + within)?);
    let twice = |held: f64| waiting(size, 2.0 * held, variation);
    let share = |held: f64| held / size as f64;
    let interval = Interval { low: share(low), high: share(high) };
    let mut queue = Queue {
        threads: traced.shown_count(),
        kind: waited.kind,
        size,
        object: waited.object.map(|address| format!("{address:#x}")),
        object_name: waited
            .object
            .and_then(|address| variable_at(model.tables, traced.run.run, address))
            .map(str::to_owned),
        waits: waited.waits.clone(),
        site: waited.site.clone(),
        utilisation: share(held),
        utilisation_interval: interval,
        observed_seconds: seconds,
        arrivals_per_second: held / hold,
        hold_seconds: hold,
        hold_interval: {
            let half = NORMAL_95 * hold * of_hold.sqrt();
            Interval { low: (hold - half).max(0.0), high: hold + half }
        },
        hold_variation: variation,
        holds,
        waiters,
        waits_per_second: waits / seconds,
        wait_seconds: used.waited / waits,
        waiting: used.waited / seconds,
        waiting_at_twice: twice(held).map(|mean| Bounded { mean, low: twice(low).unwrap_or(mean), high: twice(high) }),
        limit_at: share(held).max(f64::MIN_POSITIVE).recip(),
        summary: None,
    };
    if traced.is_only_run || traced.loaded() {
        queue.summary = summary(&queue);
    }
    Some(queue)
}

/// The sentence for a queue that is near its limit.
fn summary(queue: &Queue) -> Option<String> {
    let (low, high) = (queue.utilisation_interval.low, queue.utilisation_interval.high);
    if queue.utilisation < NEAR {
        return None;
    }
    let what = match (queue.kind, queue.size) {
        (QueueKind::Lock, _) => "the lock".to_owned(),
        (QueueKind::Pool, 1) => "the one resource".to_owned(),
        (QueueKind::Pool, size) => format!("the pool of {size}"),
    };
    let name = queue.object_name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let site = queue.site.as_ref().map(|site| format!(" that {} takes", place(site))).unwrap_or_default();
    let words = match queue.utilisation >= FULL || high >= 1.0 {
        true => format!("{what}{name}{site} is held all the time: it is the limit"),
        false => format!(
            "{what}{name}{site} is {} utilised ({:.0} to {:.0} %): at {} times the load it is the limit",
            percent(queue.utilisation),
            100.0 * low,
            100.0 * high,
            two_digits(queue.limit_at)
        ),
    };
    Some(said(words, || "queue".to_owned()))
}
