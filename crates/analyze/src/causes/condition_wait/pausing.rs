//! Work that comes from a thread, or a task, that sleeps by the clock: nothing runs meanwhile, and nothing but the clock
//! could go on.

use crate::account::Ledger;
use crate::account::lines::Why;
use crate::answer::{Cause, Culprit, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named, waits};
use crate::causes::shared::{Meta, evidence, found};
use crate::facts::Facts;
use crate::model::code::place;
use recording::ThreadId;
use std::collections::{BTreeMap, BTreeSet};

/// Decides: whether one place is where the program sleeps: it must have at least this share of the time slept, and threads
/// that do not wait for work themselves must sleep for as much of it.
/// From: chosen: with less, the rest is enough for another sleeper that could be the one.
/// Shown by: `who_waits_for_work_from_a_thread_that_sleeps_is_told_where_it_sleeps`.
/// Wrong if: the work comes from the place with the smaller part.
const ONE_PLACE: f64 = 0.8;

/// Where the program sleeps while threads wait for work.
pub(super) struct Pause {
    culprit: Culprit,
    times: u64,
    slept: f64,
}

/// The only place at which the program sleeps; `None` where there are several, or it has no name, and where the threads
/// that sleep are those that wait: each may then hold what the others wait for.
pub(super) fn pausing(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, waiters: &BTreeSet<ThreadId>) -> Option<Pause> {
    let helpers = ledger.traced.helpers();
    let (mut views, mut by_place) = (Vec::new(), BTreeMap::new());
    let (mut times, mut slept, mut by_waiters) = (0_u64, 0.0, 0.0);
    for (wait, _) in waits(ledger, |why| why == Why::Sleep).filter(|(wait, _)| !helpers.contains(&wait.thread)) {
        let view = facts.model.stacks.view(wait.user_stack, wait.syscall.is_some());
        let seconds = wait.blocked_ns as f64 * 1e-9;
        times = times.saturating_add(wait.count);
        slept += seconds;
        // Threads that run tasks wait and sleep for any of them.
        let runs_tasks = ledger.traced.task_sleeps.reason(wait.wait).is_some();
        by_waiters += if waiters.contains(&wait.thread) && !runs_tasks { seconds } else { 0.0 };
        let at = view.own.as_ref().map(|own| place(&own.site()));
        *by_place.entry(at).or_insert(0.0) += seconds;
        views.push((view, seconds));
    }
    by_place.remove(&None);
    let most = by_place.into_values().fold(0.0, f64::max);
    let culprit = culprit(&views, Blamed::Own)?;
    let apart = by_waiters < (1.0 - ONE_PLACE) * slept;
    (most >= ONE_PLACE * slept && apart && slept > 0.0).then_some(Pause { culprit, times, slept })
}

/// The cause. `waiters`: how many threads waited for work meanwhile.
pub(super) fn cause(pause: Pause, waiters: usize, ledger: &Ledger<'_, '_>, lost: (f64, f64), meta: &Meta) -> Cause {
    Cause {
        summary: format!("Threads wait for work that comes after a sleep for a fixed time in {}.", named(&pause.culprit)),
        evidence: vec![
            evidence("times it slept", pause.times as f64, Unit::Of("waits"), "waits"),
            evidence("time slept", pause.slept, Unit::Seconds, "waits"),
            evidence("threads that waited", waiters as f64, Unit::Of("threads"), "waits"),
        ],
        remedies: vec![
            "wait for the event itself (a condition variable, a channel, a future) instead of looking again after a pause"
                .to_owned(),
            "or hand out more work at a time".to_owned(),
        ],
        culprit: Some(pause.culprit),
        ..found(ledger, meta, lost)
    }
}
