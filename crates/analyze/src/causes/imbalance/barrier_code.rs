//! Barriers whose own code is what they cost: threads spin there for the last one, or meet so often that arriving and
//! leaving takes longer than the work between.

use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named};
use crate::causes::shared::{Meta, evidence, found, line};
use crate::facts::Facts;
use crate::runtimes::Primitive;
use recording::ThreadId;
use std::collections::BTreeMap;

/// The line of a barrier's code.
pub(super) const CODE: LineId = LineId::Synchronising(Why::Barrier);

/// What would disprove it: finer shares, as for unequal work, would make threads meet no less often.
const DISPROVED: &str = "Let threads meet only at every second step (even if the result is then wrong): if the time does not fall, the \
                         barrier is not the cause.";

/// Decides: whether a barrier is told by its code and not by who arrives last: more than this share of what it costs must
/// be its code.
/// From: the definition of a majority.
/// Shown by: `threads_that_spin_at_a_barrier_are_told_with_its_place`.
/// Wrong if: threads spin for a short while before they sleep, and one of them always has more to do: the answer names the
/// barrier, and not what the last thread runs.
const MOSTLY: f64 = 0.5;

/// Decides: whether all threads spend about as much of their time in a barrier's code: the least of these shares must be at
/// least this part of the largest.
/// From: reasoned, not measured: with shares of work of 2 to 1, the smallest that the other rules tell on two processors, who
/// has more to do hardly waits.
/// Shown by: `who_always_arrives_last_is_no_barrier_that_is_met_too_often`.
/// Wrong if: a slower processor makes one of the threads arrive last: the barrier is then not told.
const EVEN: f64 = 0.5;

/// Decides: which threads are compared: those that run for more than this part of the time of the one that runs most.
/// From: reasoned, not measured: threads that spin run all the time, as does the one that they wait for; who only starts and
/// joins them hardly runs.
/// Shown by: `who_never_waits_is_no_barrier_that_is_met_too_often`.
/// Wrong if: more threads than processors share the time so unevenly that one gets less than half of another's.
const MUCH: f64 = 0.5;

/// The cause, where most of the charge is for the code.
pub(super) fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Option<Cause> {
    if line(ledger, CODE).0 <= MOSTLY * lost.0 || !is_even(facts, ledger) {
        return None;
    }
    let sites: Vec<_> = ledger.profile.sites_of(|doing| doing == Doing::Synchronising(Why::Barrier)).collect();
    let samples: u64 = sites.iter().map(|(_, count)| count).sum();
    let views: Vec<_> = sites.into_iter().map(|(view, count)| (view, count as f64)).collect();
    let culprit = culprit(&views, Blamed::Own);
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let seconds = ledger.split.on_cpu * samples as f64 / ledger.profile.total.max(1) as f64;
    let threads = ledger.traced.asked();
    Some(Cause {
        summary: format!(
            "Threads wait for each other in the code of a barrier{at}: they meet too often for what they do in between."
        ),
        culprit,
        evidence: vec![
            evidence("time on a processor in the barrier's code", seconds, Unit::Seconds, "samples"),
            evidence("threads", f64::from(threads), Unit::Of("threads"), "threads"),
        ],
        remedies: vec![
            "do more between two meetings: several steps at a time, or a larger part of the data for each thread"
                .to_owned(),
            "or let fewer threads meet: with so little to do, one may be the fastest".to_owned(),
            "replace the barrier where a thread needs only its neighbours' results".to_owned(),
        ],
        disproved_by: DISPROVED.to_owned(),
        ..found(ledger, meta, lost)
    })
}

/// True where all threads that run much spend about as much of their time in the code. Who always has more to do spends less
/// there, or nothing.
fn is_even(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> bool {
    let mut threads: BTreeMap<ThreadId, (f64, f64)> = BTreeMap::new();
    for sample in &ledger.traced.samples {
        let seen = threads.entry(sample.thread).or_default();
        seen.1 += 1.0;
        if facts.model.stacks.view(sample.user_stack, false).primitive == Some(Primitive::Barrier) {
            seen.0 += 1.0;
        }
    }
    // Samples may be lost, and then more of one thread than of another: the times are exact.
    let ran = |thread: &ThreadId| ledger.traced.threads.get(thread).map_or(0.0, |t| t.running_ns as f64);
    let busiest = threads.keys().map(ran).fold(0.0, f64::max);
    let runs_much = |(thread, _): &(&ThreadId, &(f64, f64))| ran(thread) > MUCH * busiest;
    let members = || threads.iter().filter(runs_much).map(|(_, (inside, all))| inside / all);
    let (least, largest) = members().fold((1.0_f64, 0.0_f64), |(least, largest), s| (least.min(s), largest.max(s)));
    members().count() > 1 && largest > 0.0 && least >= EVEN * largest
}
