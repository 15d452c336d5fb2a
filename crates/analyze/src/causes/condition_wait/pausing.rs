//! Work that comes from a thread, or a task, that sleeps by the clock: nothing runs meanwhile, and nothing but the clock
//! could go on.

use crate::account::Ledger;
use crate::account::lines::Why;
use crate::answer::{Cause, Culprit, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named, waits};
use crate::causes::shared::{Meta, evidence, found};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::stack_view::View;
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
pub(super) fn pausing<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    waiters: &BTreeSet<ThreadId>,
) -> Option<Pause> {
    // A thread that hardly ever runs counts where it brings the others their work.
    let (helpers, brings) = (ledger.traced.helpers(), bring_work(ledger, waiters));
    let apart = |thread| helpers.contains(thread) && !brings.contains(thread);
    let (mut views, mut by_place) = (Vec::new(), BTreeMap::new());
    let (mut times, mut slept, mut by_waiters) = (0_u64, 0.0, 0.0);
    for (wait, _) in waits(ledger, |why| why == Why::Sleep).filter(|(wait, _)| !apart(&wait.thread)) {
        let view = facts.model.stacks.view(wait.user_stack, wait.syscall.is_some());
        let seconds = wait.blocked_ns as f64 * 1e-9;
        times = times.saturating_add(wait.count);
        slept += seconds;
        // Threads that run tasks wait and sleep for any of them.
        let runs_tasks = ledger.traced.task_sleeps.reason(wait.wait).is_some();
        // Who brings the others their work may wait for their answers as well.
        let waits_too = waiters.contains(&wait.thread) && !runs_tasks && !brings.contains(&wait.thread);
        by_waiters += if waits_too { seconds } else { 0.0 };
        let spots = match view.own {
            None if ledger.traced.clocked.contains(&wait.wait) => hands_out(facts, ledger, wait.thread, seconds),
            _ => vec![(view, seconds)],
        };
        for (view, seconds) in spots {
            // Where the stack breaks off before the program's own code, the function that it called is known.
            let called = view.entry.filter(|entry| entry.name().is_some());
            let at = view.own.or(called).map(|code| place(&code.site()));
            *by_place.entry(at).or_insert(0.0) += seconds;
            views.push((view, seconds));
        }
    }
    by_place.remove(&None);
    let most = by_place.into_values().fold(0.0, f64::max);
    let culprit = culprit(&views, Blamed::Own)?;
    let others_sleep = by_waiters < (1.0 - ONE_PLACE) * slept;
    (most >= ONE_PLACE * slept && others_sleep && slept > 0.0).then_some(Pause { culprit, times, slept })
}

/// Decides: whether a thread brings the others their work, so that it may wait for their answers as well: it must end more than this share of the time in which they wait
/// for some.
/// From: reasoned, not measured: with more than half there cannot be a second one.
/// Shown by: `who_hands_out_a_round_sleeps_and_waits_for_the_answers`, `who_sleeps_in_turn_with_those_that_wait_hands_out_no_work`.
/// Wrong if: several threads bring equal parts: none of them counts, and where they sleep is not told.
const BRINGS: f64 = 0.5;

/// The threads that end most of the blocked time in which these threads wait for work.
fn bring_work(ledger: &Ledger<'_, '_>, waiters: &BTreeSet<ThreadId>) -> BTreeSet<ThreadId> {
    let mut ended: BTreeMap<Option<ThreadId>, u128> = BTreeMap::new();
    for (wait, _) in waits(ledger, |why| why == Why::Condition).filter(|(wait, _)| waiters.contains(&wait.thread)) {
        for wake in ledger.traced.wakes.get(&wait.wait).into_iter().flatten() {
            *ended.entry(wake.waker).or_default() += u128::from(wake.blocked_ns);
        }
    }
    let all: u128 = ended.values().sum();
    ended.into_iter().filter(|(_, ns)| *ns as f64 > BRINGS * all as f64).filter_map(|(waker, _)| waker).collect()
}

/// Where the thread of an event loop wakes others after it slept: such a thread waits in no code of the program. Weighted by
/// the seconds that it slept, in proportion to the wake-ups.
fn hands_out<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    thread: ThreadId,
    seconds: f64,
) -> Vec<(View<'t>, f64)> {
    let wakes = ledger.traced.wakes.values().flatten().filter(|wake| wake.waker == Some(thread));
    let views = wakes.map(|wake| (facts.model.stacks.view(wake.waker_stack, true), wake.count as f64));
    let views: Vec<(View<'t>, f64)> = views.filter(|(view, _)| view.own.is_some()).collect();
    let all: f64 = views.iter().map(|(_, count)| count).sum();
    views.into_iter().map(|(view, count)| (view, seconds * count / all)).collect()
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
