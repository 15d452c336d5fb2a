//! Unequal shares among goroutines.
//!
//! Goroutines move between threads, so neither a thread's end nor its time tells that a goroutine had more to do than
//! the others. The goroutine that runs while processors are idle because others have ended tells it, if several of its
//! kind had run side by side.

use crate::account::Ledger;
use crate::account::criticality::Idle;
use crate::account::lines::Why;
use crate::account::pieces::Activity;
use crate::answer::{Cause, Unit};
use crate::causes::shared::blame::{by_weight, named, running};
use crate::causes::shared::{Meta, evidence, found};
use crate::facts::Facts;
use crate::model::Traced;
use crate::model::stacks::Stacks;
use crate::model::task_sleeps::SleepReason;
use crate::model::tasks::{TaskStart, start};
use crate::runtimes::{Parked, Primitive, is_first_task};
use crate::statistics::{MIN_SHARE, median};
use recording::{StackId, ThreadId};
use std::collections::BTreeMap;

/// The goroutines still running, after others have ended, run one function when that is more than half of what runs
/// then: no other function can have as much.
///
/// Decides: whether the function of the goroutines still running is named.
/// From: the definition of a majority.
/// Shown by: `goroutines_of_unequal_shares_are_an_imbalance`.
/// Wrong if: a background goroutine runs more than the last goroutine with a share of the work: the background
/// goroutine is named.
const MOST: f64 = 0.5;

/// Several goroutines run a function when, for at least this share of its time, two or more run it at once.
///
/// Decides: whether the goroutines still running had a larger share of the work, or are merely what starts the others.
/// From: chosen: the same bound as `PARALLEL_SHARE` of `account/serial_code.rs`, below which a program counts as one
/// whose threads run one at a time.
/// Shown by: `what_starts_goroutines_one_by_one_and_goroutines_that_wait_are_no_imbalance`.
/// Wrong if: the last goroutine runs more than ten times as long as all others ran beside it, and samples cannot tell
/// the goroutines apart.
const SIDE_BY_SIDE: f64 = 0.1;

/// That time side by side must also be at least this many sampling periods long: a goroutine that moves to another
/// thread overlaps with itself by one.
///
/// Decides: whether goroutines that were seen side by side only for a moment count as running side by side.
/// From: chosen: well above the one sample of overlap that a goroutine leaves when it moves to another thread.
/// Shown by: `goroutines_of_unequal_shares_are_an_imbalance`, with 300 samples side by side.
/// Wrong if: all goroutines but the last are done within ten milliseconds: that they ran side by side does not count.
const FEWEST_SAMPLES: f64 = 10.0;

/// Samples of one thread belong to one stretch if they are at most this many sampling periods apart.
///
/// Decides: for how long a thread is taken to have run a function.
/// From: chosen; no measurement.
/// Shown by: `what_starts_goroutines_one_by_one_and_goroutines_that_wait_are_no_imbalance`.
/// Wrong if: samples are unevenly spaced, as on a machine with steal time: stretches break off, and time side by side
/// is missed.
const NEAR: f64 = 1.5;

/// A goroutine that waits and one that has ended both leave a processor idle. Goroutines have ended if waiting
/// goroutines were seen in at most this share of the looks at them; without such looks, if the time that threads slept
/// for waiting goroutines is at most this share of the time that they slept for ended ones.
///
/// Decides: whether idle processors are attributed to goroutines that have ended.
/// From: the smallest loss that is called a cause: anything below it could not make up one.
/// Shown by: `what_starts_goroutines_one_by_one_and_goroutines_that_wait_are_no_imbalance`.
/// Wrong if: a program with unequal shares has a goroutine that sleeps on a timer now and then: the imbalance stays
/// unsure.
const OTHERWISE: f64 = MIN_SHARE;

fn ended(idle: Idle) -> bool {
    matches!(idle, Idle::Waiting(Activity::Blocked(Why::Ended) | Activity::Woken(Why::Ended)))
}

/// The cause, or why it is not certain.
pub(super) fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Cause, String> {
    let (traced, stacks) = (ledger.traced, &facts.model.stacks);
    let mut seen = ledger.split.criticality.during(ended);
    seen.retain(|(at, _)| ledger.serial_code.function(at.stack).is_none());
    let mut by_start: BTreeMap<TaskStart, f64> = BTreeMap::new();
    for (at, weight) in &seen {
        if let Some(start) = start(stacks, at.stack) {
            *by_start.entry(start).or_default() += weight;
        }
    }
    let all: f64 = seen.iter().map(|s| s.1).sum();
    let nobody = || "goroutines have ended and processors idle; which goroutines are left is not known".to_owned();
    let (function, weight) = by_weight(by_start).into_iter().next().ok_or_else(nobody)?;
    if weight <= MOST * all {
        return Err(nobody());
    }
    let name = function.1.unwrap_or("code without a name");
    let together = together(traced, stacks, function);
    let lives = traced.tasks.started_with(function);
    let seen_apart = lives.first().is_some_and(|longest| longest.is_left_in(&traced.few_tasks_left));
    let beside =
        together.several >= SIDE_BY_SIDE * together.any && together.several >= FEWEST_SAMPLES * together.sample;
    if !beside && !seen_apart {
        return Err(format!(
            "goroutines have ended and processors idle while {name} runs, of which one runs at a time: it may be what \
             starts the others, or a serial part"
        ));
    }
    let (ends, waits) = sleeping(traced, stacks);
    // What goroutines were seen to wait for tells more than what threads did before they slept.
    let others_wait = others_wait(facts, ledger).unwrap_or(waits > OTHERWISE * ends);
    if others_wait {
        return Err(format!(
            "goroutines have ended, but others wait for locks, channels or the clock: which of it leaves processors idle \
             while {name} runs is not known"
        ));
    }
    let of_it: Vec<_> = seen.iter().filter(|(at, _)| start(stacks, at.stack) == Some(function)).copied().collect();
    let culprit = running(facts, &of_it, |_| None).map(|r| r.culprit);
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let mut rows = Vec::new();
    if let [longest, rest @ ..] = lives.as_slice()
        && let Some(middle) = median(&rest.iter().map(|life| life.samples as f64).collect::<Vec<_>>())
    {
        let time = |samples: f64| samples * together.sample;
        rows.extend([
            evidence("goroutines seen to run it", lives.len() as f64, Unit::Of("goroutines"), "samples"),
            evidence("CPU time of the longest", time(longest.samples as f64), Unit::Seconds, "samples"),
            evidence("CPU time of the middle one of the others", time(middle), Unit::Seconds, "samples"),
        ]);
    }
    rows.extend([
        evidence(format!("share of {name} in what runs when others have ended"), weight / all, Unit::Share, "samples"),
        evidence(format!("time in which several goroutines run {name}"), together.several, Unit::Seconds, "samples"),
        evidence(format!("time in which any runs {name}"), together.any, Unit::Seconds, "samples"),
    ]);
    Ok(Cause {
        summary: format!("Goroutines that run {name} end apart: when others have ended, the last is still busy{at}."),
        culprit,
        evidence: rows,
        remedies: vec![
            "cut the work into many more parts than there are goroutines, which take one when they are free: an atomic \
             counter, or a channel of parts that are not too small"
                .to_owned(),
            "or weigh the shares by what they cost, the largest first".to_owned(),
        ],
        ..found(ledger, meta, lost)
    })
}

/// How long goroutines that start with one function were seen to run, seconds.
struct Together {
    /// Two or more at once.
    several: f64,
    any: f64,
    /// Median time between two samples of a thread, seconds.
    sample: f64,
}

fn together<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>, function: TaskStart<'t>) -> Together {
    let mut known: BTreeMap<Option<StackId>, bool> = BTreeMap::new();
    let mut threads: BTreeMap<ThreadId, Vec<(u64, bool)>> = BTreeMap::new();
    for sample in &traced.samples {
        let is = *known.entry(sample.user_stack).or_insert_with_key(|stack| start(stacks, *stack) == Some(function));
        threads.entry(sample.thread).or_default().push((sample.time_ns, is));
    }
    threads.values_mut().for_each(|samples| samples.sort_unstable());
    let pairs = || threads.values().flat_map(|samples| samples.iter().zip(samples.iter().skip(1)));
    let distances: Vec<f64> = pairs().map(|(a, b)| b.0.saturating_sub(a.0) as f64).collect();
    let sample = median(&distances).unwrap_or(0.0);
    let mut changes: Vec<(u64, i32)> = pairs()
        .filter(|(a, b)| a.1 && b.1 && b.0.saturating_sub(a.0) as f64 <= NEAR * sample)
        .flat_map(|(a, b)| [(a.0, 1), (b.0, -1)])
        .collect();
    changes.sort_unstable();
    let (mut several, mut any, mut running, mut since) = (0_u64, 0_u64, 0, 0);
    for (time, change) in changes {
        any += if running > 0 { time - since } else { 0 };
        several += if running > 1 { time - since } else { 0 };
        running += change;
        since = time;
    }
    Together { several: several as f64 * 1e-9, any: any as f64 * 1e-9, sample: sample * 1e-9 }
}

/// Whether goroutines of the program were seen to wait for anything but the end of others, in more than a small part of the
/// looks. The first goroutine waits for the end of others at a channel, too, as where a pool tells it that all is done. None
/// where they were not looked at often enough.
fn others_wait(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<bool> {
    let (traced, stacks) = (ledger.traced, &facts.model.stacks);
    let (begin, end) = traced.measured;
    let waits = |stack: StackId, timer: bool| {
        let view = stacks.view(Some(stack), false);
        let joins = view.parked == Some(Parked::TaskWaits(Primitive::Join));
        let waits = matches!(view.parked, Some(Parked::TaskWaits(_) | Parked::Sleeps | Parked::Polls));
        let at_channel = view.parked == Some(Parked::TaskWaits(Primitive::Condition));
        let is_first = || start(stacks, Some(stack)).and_then(|(_, name)| name).is_some_and(is_first_task);
        waits && !joins && view.own.is_some() && (timer || !(at_channel && is_first()))
    };
    let mut known: BTreeMap<(StackId, bool), bool> = BTreeMap::new();
    let mut looks: BTreeMap<u64, bool> = BTreeMap::new();
    let rows = facts.model.tables.parked_tasks.iter().filter(|row| row.run == traced.run.run);
    for row in rows.filter(|row| (begin..=end).contains(&row.time_ns)) {
        let waiting = row.user_stack.is_some_and(|stack| {
            *known.entry((stack, row.timer == Some(true))).or_insert_with(|| waits(stack, row.timer == Some(true)))
        });
        *looks.entry(row.time_ns).or_default() |= waiting;
    }
    let waiting = looks.values().filter(|waiting| **waiting).count() as f64;
    traced.tasks_seen.then_some(waiting > OTHERWISE * looks.len() as f64)
}

/// How many nanoseconds threads of Go's scheduler slept because goroutines had ended, and because goroutines waited.
fn sleeping(traced: &Traced<'_>, stacks: &Stacks<'_>) -> (f64, f64) {
    let (mut ends, mut waits) = (0.0, 0.0);
    for wait in traced.waits.values() {
        let parked = stacks.view(wait.user_stack, wait.syscall.is_some()).parked;
        let blocked = wait.blocked_ns as f64;
        match (traced.task_sleeps.reason(wait.wait), parked) {
            (Some(SleepReason::Ended), _) => ends += blocked,
            (_, Some(Parked::Waits(_) | Parked::TaskWaits(_) | Parked::Sleeps | Parked::Polls)) => waits += blocked,
            _ => {}
        }
    }
    (ends, waits)
}
