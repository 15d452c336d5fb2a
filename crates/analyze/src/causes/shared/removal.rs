//! How much of the processor time at the baseline is in code that would not run without a cause.

use super::Meta;
use super::blame::sources;
use crate::account::growth::line;
use crate::account::lines::Why;
use crate::account::profile::{Doing, Spot, spot};
use crate::account::{Ledger, LineId};
use crate::facts::Facts;
use std::collections::BTreeSet;

/// The share of the processor time at the baseline in code whose growth would be charged to the cause.
pub(in crate::causes) fn own_lines(_: &Facts<'_, '_>, meta: &Meta, _: &Ledger<'_, '_>, base: &Ledger<'_, '_>) -> f64 {
    let failing = crate::account::growth::failing(base.traced);
    let part = |doing: Doing<'_>| match doing {
        Doing::Function(..) | Doing::Unknown => 0.0,
        Doing::Call(number) if meta.claims(LineId::FailingCall(number)) => failing.get(&number).copied().unwrap_or(0.0),
        Doing::Call(number) => f64::from(u8::from(meta.claims(LineId::Call(number)))),
        other => f64::from(u8::from(meta.claims(line(other)))),
    };
    let samples: f64 = base.profile.counts.iter().map(|(doing, count)| part(*doing) * *count as f64).sum();
    samples / base.profile.total.max(1) as f64
}

/// The share of the processor time at the baseline in the kernel, called from where threads wait for a lock of the
/// kernel at this count. Who no longer takes the lock makes other calls, or none.
pub(in crate::causes) fn same_callers<'t>(
    facts: &Facts<'_, 't>,
    _: &Meta,
    at: &Ledger<'_, 't>,
    base: &Ledger<'_, 't>,
) -> f64 {
    let waiting = sources(facts, at, |why| why == Why::KernelLock, |doing| doing == Doing::KernelLock);
    let callers: BTreeSet<Spot<'_>> = waiting.iter().map(|(view, _)| spot(view)).filter(|s| s.1.is_some()).collect();
    let called = |doing: Doing<'_>| matches!(doing, Doing::Call(_) | Doing::Fault | Doing::KernelLock);
    let found = base.profile.sites.iter().filter(|((doing, spot), _)| called(*doing) && callers.contains(spot));
    let samples: u64 = found.map(|(_, (count, _))| count).sum();
    samples as f64 / base.profile.total.max(1) as f64
}
