//! `cpu-quota`: the control group's quota of processor time is used up, and all threads stand still.
//!
//! Evidence: the time that the group held its threads back, in the timed runs and in the observed one.

use super::{Description, NOT_TRACED, Outcome, evidence, found, not_significant};
use crate::account::Ledger;
use crate::account::pieces::Kind;
use crate::answer::{Cause, CauseId};
use crate::curve::seconds;
use crate::facts::{Facts, has_loss, large, significant};
use crate::words::count_threads;
use recording::tables::RunKind;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::CpuQuota,
    title: "A quota of processor time",
    what: "The control group stops the program when its share of a period is used up.",
    why: "All its threads stand still until the next period.",
    example: "A container with a limit of one processor that runs eight threads.",
    disproved_by: "Raise the limit: if the time does not fall, it is not the cause.",
    detect,
};

fn detect(facts: &Facts<'_, '_>, description: &Description) -> Outcome {
    let counted = |kind| facts.model.tables.runs.iter().any(|r| r.kind == kind && r.throttled_ns.is_some());
    if !counted(RunKind::Clean) && !counted(RunKind::Traced) {
        let held_back = |l: &Ledger| has_loss(l) && large(l, ready(l));
        return match facts.ledgers.is_empty() || facts.ledgers.iter().any(held_back) {
            true => Outcome::Unsure("whether a quota held the threads back is not in this recording".to_owned()),
            false => Outcome::Clear("threads that are ready to run lose next to nothing".to_owned()),
        };
    }
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    for ledger in facts.in_order() {
        let threads = ledger.account.threads;
        let observed = ledger.charged(CauseId::CpuQuota);
        if !significant(ledger, observed) {
            continue;
        }
        let clean = facts.clean.median(threads, |r| r.throttled_ns.map_or(f64::NAN, seconds) / facts.clean.work(r));
        let lost = match clean {
            Some(clean) => (observed.0.min(clean), observed.1),
            None if ledger.traced.alone => observed,
            None => continue,
        };
        if !significant(ledger, lost) {
            return Outcome::Unsure(format!(
                "a quota held back the observed run with {}, but not the timed ones: repeat it",
                count_threads(threads)
            ));
        }
        let periods = ledger.traced.run.throttled_periods.unwrap_or(0);
        return Outcome::Found(vec![Cause {
            summary: "The control group's quota of processor time is used up, and the threads have to stand still."
                .to_owned(),
            evidence: vec![
                evidence("time held back in the timed runs, per unit of work", clean.unwrap_or(0.0), "seconds", "runs"),
                evidence(
                    "time held back in the observed run",
                    ledger.traced.run.throttled_ns.map_or(0.0, seconds),
                    "seconds",
                    "runs",
                ),
                evidence("periods in which that happened", periods as f64, "periods", "runs"),
            ],
            remedies: vec![
                "raise the limit (cpu.max of the control group; --cpus of the container)".to_owned(),
                "or start no more threads than the quota has processors, so that it is used evenly".to_owned(),
            ],
            ..found(ledger, description, lost)
        }]);
    }
    not_significant(facts, description.id)
}

/// Idle capacity, in the unit of the lines, charged to threads that were ready to run: a quota cannot take more.
fn ready(ledger: &Ledger<'_, '_>) -> f64 {
    let kinds = ledger.split.charged.iter();
    let ready = kinds.filter(|(k, _)| matches!(k, Kind::Preempted | Kind::Ready | Kind::Woken(_)));
    ready.map(|(_, s)| s).sum::<f64>() * ledger.scale
}
