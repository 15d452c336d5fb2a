//! `cpu-quota`: the control group's quota of processor time is used up, and all threads stand still.
//!
//! Evidence: the time that the group held its threads back, in the timed runs and in the observed one.
//!
//! May import: `account`, `answer`, `curve`, `facts`, `shared`, `words`.

use crate::account::{Ledger, LineId};
use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::curve::seconds;
use crate::facts::{Facts, large};
use crate::words::percent;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const CPU_QUOTA: CauseId = CauseId::new("cpu-quota");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::CPU_QUOTA,
    colour: "#8e959e",
    title: "A quota of processor time",
    what: "The control group stops the program when its share of a period is used up.",
    why: "All its threads stand still until the next period.",
    example: "A container with a limit of one processor that runs eight threads.",
    disproved_by: "Raise the limit: if the time does not fall, it is not the cause.",
    lines: |id| match id {
        LineId::Throttled => Some("held back by the CPU quota"),
        _ => None,
    },
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
        let (observed, _) = meta.charged(ledger);
        let clean = facts.clean.median(threads, |r| r.throttled_ns.map_or(f64::NAN, seconds) / facts.clean.work(r));
        let lost = match clean {
            Some(clean) => observed.min(clean),
            None if ledger.traced.is_only_run => observed,
            None => continue,
        };
        if large(ledger, lost) {
            return Outcome::Outside(condition(ledger, lost, clean, meta));
        }
    }
    Outcome::Nothing
}

fn condition(ledger: &Ledger<'_, '_>, lost: f64, clean: Option<f64>, meta: &Meta) -> Condition {
    let periods = ledger.traced.run.throttled_periods.unwrap_or(0);
    let held_back = ledger.traced.run.throttled_ns.map_or(0.0, seconds);
    let share = lost / ledger.account.capacity.max(f64::MIN_POSITIVE);
    Condition {
        id: meta.id,
        threads: ledger.account.threads,
        seconds: Some(lost),
        share: Some(share),
        by: Vec::new(),
        summary: format!(
            "the control group's quota is used up and held its threads back for {} of the processor time",
            percent(share)
        ),
        evidence: clean
            .map(|clean| evidence("time held back in the timed runs, per unit of work", clean, Unit::Seconds, "runs"))
            .into_iter()
            .chain([
                evidence("time held back in the observed run", held_back, Unit::Seconds, "runs"),
                evidence("periods in which that happened", periods as f64, Unit::Of("periods"), "runs"),
            ])
            .collect(),
        remedies: vec![
            "raise the limit (cpu.max of the control group; --cpus of the container)".to_owned(),
            "or start no more threads than the quota has processors, so that it is used evenly".to_owned(),
        ],
    }
}

#[cfg(test)]
mod sketches;
