//! `steal`: the hypervisor gave processors of this machine to other virtual machines.
//!
//! Evidence: the stolen time that the hypervisor reports, in the timed runs.
//!
//! May import: `answer`, `curve`, `facts`, `shared`, `words`.

use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::curve::seconds;
use crate::facts::{Facts, large};
use crate::words::percent;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const STEAL: CauseId = CauseId::new("steal");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::STEAL,
    colour: "#7c838c",
    title: "Other virtual machines",
    what: "The hypervisor gave processors of this machine to other virtual machines.",
    why: "Threads that are on a processor stand still without noticing: everything takes longer, and differently long each time.",
    example: "A cloud machine whose neighbours compute.",
    disproved_by: "Repeat the sweep on a machine of its own, or at another hour: if the times are the same, it is not the cause.",
    lines: |_| None,
    hides_in: &[],
    may_be_in: &[],
    standing: shared::Standing::Outside,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    for ledger in facts.in_order() {
        let threads = ledger.account.threads;
        let stolen = facts.clean.median(threads, |r| r.steal_ns.map_or(f64::NAN, seconds) / facts.clean.work(r));
        let Some(stolen) = stolen.filter(|stolen| large(ledger, *stolen)) else { continue };
        let share = stolen / ledger.account.capacity.max(f64::MIN_POSITIVE);
        return Outcome::Outside(Condition {
            id: meta.id,
            threads,
            seconds: Some(stolen),
            share: Some(share),
            by: Vec::new(),
            summary: format!("the hypervisor gave {} of the processors to other virtual machines", percent(share)),
            evidence: vec![evidence("stolen time of the timed runs, per unit of work", stolen, Unit::Seconds, "runs")],
            remedies: vec!["measure on a machine with processors of its own".to_owned()],
        });
    }
    Outcome::Nothing
}

#[cfg(test)]
mod sketches;
