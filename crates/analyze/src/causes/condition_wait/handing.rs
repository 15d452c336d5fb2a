//! What it costs to hand work over: processor time in the code of conditions and queues, not waiting.

use super::stage::MOST;
use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named, on_cpu, waits};
use crate::causes::shared::{Meta, evidence, found, line};

const CODE: LineId = LineId::Synchronising(Why::Condition);

/// Why it is not clear whether that time is lost where there is nothing to compare with.
pub(super) const ONE_RUN: &str = "processor time goes to calls by which threads wait for each other and wake each other, as in any program \
                                  that has a queue: whether they cost more with more threads shows only in a sweep";

/// True where most of a loss is time in that code. `lost`: processor-seconds.
pub(super) fn is_mostly_code(ledger: &Ledger<'_, '_>, lost: f64) -> bool {
    line(ledger, CODE).0 > MOST * lost
}

/// The cause, where that code takes most of `lost`, and no stage is busy alone.
pub(super) fn cause(ledger: &Ledger<'_, '_>, lost: (f64, f64), meta: &Meta) -> Cause {
    let views: Vec<_> = ledger.profile.sites_of(is_code).map(|(view, n)| (view, n as f64)).collect();
    let culprit = culprit(&views, Blamed::Own);
    let at = culprit.as_ref().map(|c| format!(", most in {}", named(c))).unwrap_or_default();
    let times = waits(ledger, |w| w == Why::Condition).fold(0_u64, |sum, (wait, _)| sum.saturating_add(wait.count));
    Cause {
        summary: format!(
            "Threads wait for each other and wake each other so often that the calls for it take much of the processor time{at}."
        ),
        culprit,
        evidence: vec![
            evidence("processor time in these calls", on_cpu(ledger, is_code), Unit::Seconds, "samples"),
            evidence("times a thread waited", times as f64, Unit::Of("waits"), "waits"),
        ],
        remedies: vec![
            "hand over more at a time: several items, or a larger part of the data".to_owned(),
            "let the thread that has the work do it itself where it is short".to_owned(),
        ],
        ..found(ledger, meta, lost)
    }
}

fn is_code(doing: Doing<'_>) -> bool {
    doing == Doing::Synchronising(Why::Condition)
}
