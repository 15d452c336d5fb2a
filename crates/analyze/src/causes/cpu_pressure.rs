//! `cpu-pressure`: other programs had the processors that the program could have used.
//!
//! Evidence: the program's threads were ready to run while a processor that it may use ran something else, and the
//! timed runs saw other programs too.

use super::blame::by_weight;
use super::{Description, NOT_TRACED, Outcome, evidence};
use crate::account::Ledger;
use crate::answer::{Cause, CauseId};
use crate::curve::seconds;
use crate::facts::{Facts, interval, large, share, significant};
use crate::model::is_kernel_thread;
use crate::statistics::MIN_SHARE;
use std::collections::BTreeMap;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::CpuPressure,
    title: "Other programs on the processors",
    what: "The program's threads were ready to run while other programs had the processors.",
    why: "The processors are shared: what others use is missing here, and a thread that holds a lock may have to wait.",
    example: "A backup runs on the same machine during the measurement.",
    disproved_by: "Repeat the sweep on an idle machine: if it is as slow, other programs are not the cause.",
    detect,
};

fn detect(facts: &Facts<'_, '_>, description: &Description) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    for ledger in facts.in_order() {
        let traced = ledger.charged(CauseId::CpuPressure);
        if !significant(ledger, traced) {
            continue;
        }
        let Some(clean) = foreign(facts, ledger) else {
            return Outcome::Unsure(format!(
                "other programs took {:.3} s of the traced run at {} threads; it is not known what they took of the \
                 timed runs",
                traced.0, ledger.account.threads
            ));
        };
        let lost = (traced.0.min(clean), traced.1);
        if significant(ledger, lost) {
            return Outcome::Found(vec![cause(ledger, lost, clean, description)]);
        }
    }
    let disturbed = |l: &&Ledger| large(l, l.charged(CauseId::CpuPressure).0 + l.disturbed);
    match facts.ledgers.iter().find(disturbed) {
        Some(ledger) => Outcome::Unsure(format!(
            "other programs disturbed the traced run at {} threads, but not the timed ones: repeat it",
            ledger.account.threads
        )),
        None => Outcome::Clear(format!(
            "threads that were ready to run lost less than {:.0} % of the capacity to other programs",
            MIN_SHARE * 100.0
        )),
    }
}

/// Processor-seconds per unit of work that other programs took of the timed runs, median; the kernel's own threads have
/// the same share of it as in the traced run.
fn foreign(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<f64> {
    let others = facts.clean.foreign_per_unit(ledger.account.threads)?;
    Some(others * (1.0 - ledger.traced.kernel_threads()))
}

fn cause(ledger: &Ledger<'_, '_>, lost: (f64, f64), clean: f64, description: &Description) -> Cause {
    let mut others: BTreeMap<&str, f64> = BTreeMap::new();
    for other in ledger.traced.foreign.iter().filter(|o| !is_kernel_thread(&o.name)) {
        *others.entry(other.name.as_str()).or_default() += seconds(other.running_ns);
    }
    let others = by_weight(others);
    Cause {
        id: CauseId::CpuPressure,
        share: share(ledger, lost.0),
        lost_seconds: lost.0,
        interval: interval(ledger, lost),
        threads: ledger.account.threads,
        summary: match others.first() {
            Some((name, _)) => {
                format!("Other programs, most of all {name}, had the processors while threads were ready to run.")
            }
            None => "Other programs had the processors while threads were ready to run.".to_owned(),
        },
        culprit: None,
        evidence: [
            evidence(
                "time of other programs in the traced run",
                seconds(ledger.traced.trace.foreign_ns) * (1.0 - ledger.traced.kernel_threads()),
                "seconds",
                "traces",
            ),
            evidence("time of other programs in the timed runs, per unit of work", clean, "seconds", "runs"),
        ]
        .into_iter()
        .chain(others.iter().take(3).map(|(name, s)| evidence(format!("of that, {name}"), *s, "seconds", "foreign")))
        .collect(),
        remedies: vec![
            "stop the other programs, or measure on an idle machine".to_owned(),
            "give the program processors of its own: a cpuset, or taskset for both sides".to_owned(),
        ],
        disproved_by: description.disproved_by.to_owned(),
    }
}
