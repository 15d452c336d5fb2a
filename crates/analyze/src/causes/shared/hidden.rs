//! Whether a cause to which nothing was booked may hide in what the account could not explain.

use super::Meta;
use super::unexplained::unexplained;
use crate::account::lines::Shape;
use crate::account::pieces::Activity;
use crate::account::{Ledger, LineId, Unexplained};
use crate::facts::{Facts, has_loss, in_proportion, large};
use crate::model::resources::is_hidden;

/// Where a cause may hide that makes threads wait.
pub(crate) const WAITS: &[Unexplained] = &[Unexplained::Wait, Unexplained::Unseen];

/// Where one may hide that takes processor time of which a missing stack would tell.
pub(crate) const RUNS: &[Unexplained] = &[Unexplained::NoStack];

/// Where one may hide that does both.
pub(crate) const WAITS_AND_RUNS: &[Unexplained] = &[Unexplained::Wait, Unexplained::Unseen, Unexplained::NoStack];

/// Lines that may hold a cause that makes the same code take longer, and shows in nothing else where it was not watched.
pub(crate) const CODE: &[LineId] = &[LineId::SameFunctions, LineId::NewFunctions];

/// Why the cause is not clear, if it is not: at a count with a loss, as much as makes a cause stays unexplained, and
/// this cause's time could be among it.
pub(crate) fn hiding(facts: &Facts<'_, '_>, meta: &Meta) -> Option<String> {
    facts.in_order().into_iter().filter(|ledger| has_loss(ledger)).find_map(|ledger| {
        let fits = |part: &&(Unexplained, f64)| part.1 > 0.0 && meta.hides_in.contains(&part.0);
        let parts: Vec<_> = ledger.unexplained.iter().filter(fits).collect();
        let seconds: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        // No more can hide than is unexplained in the end: gains elsewhere take from it.
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

/// Why a cause that makes threads wait, or leaves them without work, is not clear where a runtime's compiler took what
/// they left: processors that would have been idle meanwhile do not show.
pub(crate) fn behind_compiler(facts: &Facts<'_, '_>, meta: &Meta) -> Option<String> {
    facts.in_order().into_iter().filter(|ledger| !ledger.scales()).find_map(|ledger| {
        let compiling = ledger.sum(|id| id == LineId::Compiling).0;
        let waited = ledger.split.spent.iter().filter_map(|(kind, seconds)| match kind {
            Activity::Blocked(why) if meta.claims(LineId::blocked(*why)) => Some(seconds),
            _ => None,
        });
        // How long threads had no work for is not in their waits.
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

/// Seconds of an account in which threads wait where the tasks of a scheduler, or the threads of an interpreter, wait for
/// something that nobody can see; none where that is little, or nothing is lost.
pub(crate) fn behind_tasks(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<f64> {
    let waits = ledger.traced.waits.values();
    let hidden = waits.filter(|w| is_hidden(ledger.traced, &facts.model.stacks, w));
    let traced: f64 = hidden.filter_map(|w| ledger.split.by_wait.get(&w.wait)).sum();
    let seconds = traced * ledger.scale;
    (has_loss(ledger) && large(ledger, seconds)).then_some(seconds)
}
