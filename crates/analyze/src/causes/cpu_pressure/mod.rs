//! `cpu-pressure`: other programs had the processors that the program could have used.
//!
//! Evidence: the program's threads were ready to run while a processor that it may use ran something else, and the
//! timed runs saw other programs too.
//!
//! May import: `account`, `answer`, `curve`, `facts`, `runtimes`, `shared`, `statistics`, `words`.

use crate::account::{Ledger, LineId};
use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::blame::by_weight;
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::curve::seconds;
use crate::facts::{Facts, large};
use crate::runtimes::kernel;
use crate::statistics::NORMAL_95;
use crate::words::percent;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const CPU_PRESSURE: CauseId = CauseId::new("cpu-pressure");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::CPU_PRESSURE,
    colour: "#a3a9b1",
    title: "Other programs",
    what: "The program's threads were ready to run while other programs had the processors.",
    why: "The processors are shared: what others use is missing here, and a thread that holds a lock may have to wait.",
    example: "A backup runs on the same machine during the measurement.",
    disproved_by: "Repeat the sweep on an idle machine: if it is as slow, other programs are not the cause.",
    lines: |id| {
        Some(match id {
            LineId::OtherPrograms => "ready; other programs ran",
            LineId::OtherProgramsTimed => "other programs, timed runs",
            _ => return None,
        })
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
        let (lost, error) = meta.charged(ledger);
        if !large(ledger, lost) || lost <= NORMAL_95 * error {
            continue;
        }
        // A single run has no timed runs to compare with.
        let Some(clean) = foreign(facts, ledger).or(ledger.traced.is_only_run.then_some(lost)) else { continue };
        if large(ledger, lost.min(clean)) {
            return Outcome::Outside(condition(ledger, lost.min(clean), clean, meta));
        }
    }
    Outcome::Nothing
}

/// Median processor-seconds per unit of work that other programs took from the timed runs, without kernel threads,
/// whose share is that of the traced run.
fn foreign(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<f64> {
    let others = facts.clean.foreign_per_unit(ledger.account.threads)?;
    Some(others * (1.0 - ledger.traced.kernel_threads()))
}

fn condition(ledger: &Ledger<'_, '_>, lost: f64, clean: f64, meta: &Meta) -> Condition {
    let mut others: BTreeMap<&str, f64> = BTreeMap::new();
    for other in ledger.traced.foreign.iter().filter(|o| !kernel::is_thread(&o.name)) {
        *others.entry(other.name.as_str()).or_default() += seconds(other.running_ns);
    }
    let others = by_weight(others);
    let share = lost / ledger.account.capacity.max(f64::MIN_POSITIVE);
    let named: Vec<String> = others.iter().take(3).map(|(name, _)| (*name).to_owned()).collect();
    let who = named.first().map(|name| format!(", most of all {name},")).unwrap_or_default();
    Condition {
        id: meta.id,
        threads: ledger.account.threads,
        seconds: Some(lost),
        share: Some(share),
        summary: format!("other programs{who} took {} of the processor time that it could have used", percent(share)),
        by: named,
        evidence: [
            evidence(
                "time of other programs in the observed run",
                seconds(ledger.traced.trace.foreign_ns) * (1.0 - ledger.traced.kernel_threads()),
                Unit::Seconds,
                "traces",
            ),
            evidence("time of other programs in the timed runs, per unit of work", clean, Unit::Seconds, "runs"),
        ]
        .into_iter()
        .chain(
            others.iter().take(3).map(|(name, s)| evidence(format!("of that, {name}"), *s, Unit::Seconds, "foreign")),
        )
        .collect(),
        remedies: vec![
            "stop the other programs, or measure on an idle machine".to_owned(),
            "give the program processors of its own: a cpuset, or taskset for both sides".to_owned(),
        ],
    }
}

#[cfg(test)]
mod sketches;
