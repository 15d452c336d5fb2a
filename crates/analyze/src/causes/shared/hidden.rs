//! Whether a cause without booked time may hide in what the account could not explain.

use super::Meta;
use super::unexplained::unexplained;
use crate::account::lines::Shape;
use crate::account::pieces::Activity;
use crate::account::{Ledger, LineId, Unexplained};
use crate::facts::{Facts, has_loss, in_proportion, large};
use crate::model::resources::is_hidden;

/// Where a cause that makes threads wait may hide. What the observed run does not show may have been a wait of any kind.
pub(crate) const WAITS: &[Unexplained] = &[Unexplained::Wait, Unexplained::Unseen, Unexplained::IdleInTimedRuns];

/// Where a cause that takes processor time may hide: in samples without a stack.
pub(crate) const RUNS: &[Unexplained] = &[Unexplained::NoStack];

/// Where a cause that does both may hide.
pub(crate) const WAITS_AND_RUNS: &[Unexplained] =
    &[Unexplained::Wait, Unexplained::Unseen, Unexplained::IdleInTimedRuns, Unexplained::NoStack];

/// Lines that may hold a cause that just makes code take longer, and shows nowhere else unless it was observed.
pub(crate) const CODE: &[LineId] = &[LineId::SameFunctions, LineId::NewFunctions];

/// Why the cause cannot be excluded, if so: at a count with a loss, enough for a cause stays unexplained, and this
/// cause's time could be part of it.
pub(crate) fn hiding(facts: &Facts<'_, '_>, meta: &Meta) -> Option<String> {
    facts.in_order().into_iter().filter(|ledger| has_loss(ledger)).find_map(|ledger| {
        let fits = |part: &&(Unexplained, f64)| part.1 > 0.0 && meta.hides_in.contains(&part.0);
        let parts: Vec<_> = ledger.unexplained.iter().filter(fits).collect();
        let seconds: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        // No more can hide than is unexplained in total: gains elsewhere reduce that.
        let seconds = seconds.min(ledger.account.unexplained);
        large(ledger, seconds).then(|| {
            let names: Vec<&str> = parts.iter().map(|(what, _)| unexplained(*what)).collect();
            format!(
                "{} stays unexplained, and it may be among that: {}",
                in_proportion(ledger, seconds),
                names.join(", ")
            )
        })
    })
}

/// Why a cause that makes threads wait, or leaves them without work, cannot be excluded where a runtime's compiler used
/// the processors that they left: these would have been idle, but do not show as idle.
pub(crate) fn behind_compiler(facts: &Facts<'_, '_>, meta: &Meta) -> Option<String> {
    facts.in_order().into_iter().filter(|ledger| !ledger.scales()).find_map(|ledger| {
        let compiling = ledger.sum(|id| id == LineId::Compiling).0;
        let waited = ledger.split.spent.iter().filter_map(|(kind, seconds)| match kind {
            Activity::Blocked(why) if meta.claims(LineId::blocked(*why)) => Some(seconds),
            _ => None,
        });
        // Time in which threads had no work is not in their waits.
        let shape = Shape::ALL.into_iter().any(|shape| meta.claims(LineId::Shape(shape)));
        let most = if shape { f64::INFINITY } else { waited.sum::<f64>() / ledger.work };
        let seconds = compiling.min(most);
        large(ledger, seconds).then(|| {
            format!(
                "the runtime's compiler took up to {} that would have been idle otherwise: with it gone, that would show",
                in_proportion(ledger, seconds)
            )
        })
    })
}

/// Seconds of an account in which threads wait while tasks of a scheduler, or threads of an interpreter, may wait for
/// something that is not visible; `None` where that is little, or nothing is lost.
pub(crate) fn behind_tasks(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<f64> {
    let waits = ledger.traced.waits.values();
    let hidden = waits.filter(|w| is_hidden(ledger.traced, &facts.model.stacks, w));
    let traced: f64 = hidden.filter_map(|w| ledger.split.by_wait.get(&w.wait)).sum();
    let seconds = traced * ledger.scale;
    (has_loss(ledger) && large(ledger, seconds)).then_some(seconds)
}
