//! One thread that is busy all the time: the others cannot make the program faster than it is, whether they wait for it
//! asleep or in a loop.

use super::handed_in;
use super::stage::{MOST, one_thread, remedies};
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, Unit};
use crate::causes::shared::blame::{named, running, samples_of};
use crate::causes::shared::{self, Meta, evidence, found};
use crate::facts::{Facts, significant};
use std::collections::BTreeSet;

/// The cause, where most of what is lost is beside that thread. `lost`: all of the cause's lines.
pub(super) fn cause<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Option<Cause> {
    let pace = ledger.pace?;
    let beside = shared::line(ledger, LineId::Paced);
    if !significant(ledger, beside) || beside.0 <= MOST * lost.0 {
        return None;
    }
    let seen = samples_of(ledger, pace.thread);
    let culprit = running(facts, &seen, |_| None)?.culprit;
    let threads = BTreeSet::from([pace.thread]);
    let origin = handed_in::handed_in(facts, ledger, &threads, &seen);
    let from = origin.as_ref().map(|origin| format!(", whose work comes from {}", named(origin))).unwrap_or_default();
    let summary = format!(
        "Threads wait for the stage that is busy {:.0} % of the time: {} in {}{from}.",
        pace.has_work.min(1.0) * 100.0,
        one_thread(ledger, &threads),
        named(&culprit)
    );
    let seconds = ledger.traced.length_ns() as f64 * 1e-9;
    let evidence = vec![
        evidence("share of the time in which that thread has work", pace.has_work.min(1.0), Unit::Share, "slices"),
        evidence("time that it ran", pace.runs * seconds, Unit::Seconds, "slices"),
    ];
    let remedies = remedies(true, 1);
    Some(Cause { summary, culprit: Some(culprit), evidence, remedies, ..found(ledger, meta, lost) })
}
