//! `heat`: the processors slowed themselves down because of heat or power.
//!
//! Evidence: how often the processors throttled themselves, in the timed runs.
//!
//! May import: `answer`, `facts`, `shared`, `recording`.

use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::facts::Facts;
use recording::tables::RunKind;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const HEAT: CauseId = CauseId::new("heat");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::HEAT,
    colour: "#b9777d",
    title: "Heat",
    what: "The processors slowed themselves down because of heat or power.",
    why: "The same work takes more time, and more of it the more processors work.",
    example: "A laptop on a cushion.",
    disproved_by: "Let the machine cool down and repeat the sweep: if the times are the same, it is not the cause.",
    lines: |_| None,
    hides_in: &[],
    may_be_in: &[],
    standing: shared::Standing::Outside,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge,
};

/// Decides: whether heat is told: the processors must have slowed down in more than this share of the timed runs of a count.
/// From: reasoned, not measured: the median of the runs is then one of a hot processor.
/// Wrong if: few runs were slowed down, but by much, or the kernel counts a moment that cost nothing.
const HOT: f64 = 0.5;

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    for ledger in facts.in_order() {
        let threads = ledger.account.threads;
        let runs = facts.model.tables.runs.iter().filter(|r| r.kind == RunKind::Clean && r.threads == threads);
        let (all, hot) =
            runs.fold((0_u32, 0_u32), |(all, hot), r| (all + 1, hot + u32::from(r.thermal_throttles > Some(0))));
        if f64::from(hot) <= HOT * f64::from(all) {
            continue;
        }
        return Outcome::Outside(Condition {
            id: meta.id,
            threads,
            seconds: None,
            share: None,
            by: Vec::new(),
            summary: format!(
                "the processors throttled themselves because of heat or power in {hot} of {all} timed runs"
            ),
            evidence: vec![evidence("timed runs with throttled processors", f64::from(hot), Unit::Of("runs"), "runs")],
            remedies: vec!["let the machine cool down, or fix the processors' clock below its limit".to_owned()],
        });
    }
    Outcome::Nothing
}

#[cfg(test)]
mod sketches;
