//! The causes, one file each, and their registry.
//!
//! A cause is *found* with its culprit and evidence, *clear* when what was checked shows that it is not there, or
//! *unsure* when evidence is missing. May import: `facts`, `answer`, what these import, and its own rooms.

pub mod allocator;
pub mod blame;
pub mod condition_wait;
pub mod cpu_pressure;
pub mod cpu_quota;
pub mod extra_work;
pub mod failing_syscall;
pub mod false_sharing;
mod goroutine_shares;
pub(crate) mod hidden;
pub mod imbalance;
pub mod io_wait;
pub mod kernel_lock;
pub mod kernel_locks;
mod line_sharing;
pub mod lock_groups;
pub mod lock_style;
pub mod memory_bound;
pub mod none;
pub mod oversubscription;
pub mod page_fault;
mod pool_shares;
pub mod remedies;
pub mod repeated;
pub mod serial_phase;
mod shared_memory;
pub mod slower_code;
pub mod spin_wait;
pub mod thread_creation;
pub mod true_sharing;
pub mod user_lock;

use crate::account::Ledger;
use crate::answer::{Cause, CauseId, Evidence};
use crate::facts::{Facts, in_proportion, interval, large, share, significant};
use crate::statistics::MIN_SHARE;

/// What looking for a cause came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is there: once, or once for each culprit.
    Found(Vec<Cause>),
    /// It is not there: what was checked.
    Clear(String),
    /// It can be neither claimed nor excluded: what is missing.
    Unsure(String),
}

/// A cause as it is documented and looked for.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Its name in answers.
    pub id: CauseId,
    /// Its name for people.
    pub title: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Why it costs time.
    pub why: &'static str,
    /// A typical example.
    pub example: &'static str,
    /// What observation would show that a verdict of this cause is wrong.
    pub disproved_by: &'static str,
    /// Looks for it.
    pub detect: fn(&Facts<'_, '_>, &Description) -> Outcome,
}

/// All causes but `none`, which is what remains when none of them is found.
pub fn all() -> impl Iterator<Item = &'static Description> {
    [
        &user_lock::DESCRIPTION,
        &condition_wait::DESCRIPTION,
        &imbalance::DESCRIPTION,
        &serial_phase::DESCRIPTION,
        &allocator::DESCRIPTION,
        &kernel_lock::DESCRIPTION,
        &page_fault::DESCRIPTION,
        &thread_creation::DESCRIPTION,
        &failing_syscall::DESCRIPTION,
        &io_wait::DESCRIPTION,
        &oversubscription::DESCRIPTION,
        &cpu_pressure::DESCRIPTION,
        &cpu_quota::DESCRIPTION,
        &memory_bound::DESCRIPTION,
        &extra_work::DESCRIPTION,
        &spin_wait::DESCRIPTION,
        &false_sharing::DESCRIPTION,
        &true_sharing::DESCRIPTION,
    ]
    .into_iter()
}

/// The documentation of a cause.
pub fn describe(id: CauseId) -> Option<&'static Description> {
    all().chain([&none::DESCRIPTION]).find(|d| d.id == id)
}

/// One row of evidence.
pub(crate) fn evidence(what: impl Into<String>, value: f64, unit: &'static str, source: &'static str) -> Evidence {
    Evidence { what: what.into(), value, unit, source }
}

/// A cause with its numbers, to be completed by words, culprit and evidence.
pub(crate) fn found(ledger: &Ledger<'_, '_>, description: &Description, lost: (f64, f64)) -> Cause {
    Cause {
        id: description.id,
        share: share(ledger, lost.0),
        lost_seconds: lost.0,
        interval: interval(ledger, lost),
        threads: ledger.account.threads,
        summary: String::new(),
        culprit: None,
        evidence: Vec::new(),
        remedies: Vec::new(),
        disproved_by: description.disproved_by.to_owned(),
    }
}

/// Looks for a cause that lines of the account carry: at each count at which they are significant, `explain` says what
/// it is, or what is missing to call it found.
pub(crate) fn by_lines<'t>(
    facts: &Facts<'_, 't>,
    description: &Description,
    explain: impl Fn(&Facts<'_, 't>, &Ledger<'_, 't>, (f64, f64), &Description) -> Result<Vec<Cause>, String>,
) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    let mut missing = None;
    for ledger in facts.in_order() {
        let lost = ledger.charged(description.id);
        if !significant(ledger, lost) {
            continue;
        }
        match explain(facts, ledger, lost, description) {
            Ok(causes) if !causes.is_empty() => return Outcome::Found(causes),
            Ok(_) => {}
            Err(why) => missing = missing.or(Some(why)),
        }
    }
    missing.map_or_else(|| not_significant(facts, description.id), Outcome::Unsure)
}

/// What is said about a cause that lines carry and that is not significant at any count.
pub(crate) fn not_significant(facts: &Facts<'_, '_>, id: CauseId) -> Outcome {
    match facts.heaviest(id) {
        Some((ledger, charged)) if facts.any_loss() && large(ledger, charged) => Outcome::Unsure(format!(
            "{} is booked to it, which is within the noise: more or longer runs would tell",
            in_proportion(ledger, charged)
        )),
        _ => Outcome::Clear(format!("it takes less than {:.0} % of the capacity at every count", MIN_SHARE * 100.0)),
    }
}

/// What the lines of a cause with this name sum to, with the standard error from sampling.
pub(crate) fn line(ledger: &Ledger<'_, '_>, id: CauseId, what: &str) -> (f64, f64) {
    let lines = ledger.account.lines.iter().filter(|l| l.cause == id && l.what == what);
    let (sum, variance) = lines.fold((0.0, 0.0), |(s, v), l| (s + l.seconds, v + l.sampling_error.powi(2)));
    (sum, f64::sqrt(variance))
}

/// Rounded to what a sentence needs: `320 ms`, `1.5 s`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 0.95e-3 => format!("{:.0} µs", seconds * 1e6),
        s if s < 0.0095 => format!("{:.1} ms", seconds * 1e3),
        s if s < 0.95 => format!("{:.0} ms", seconds * 1e3),
        s if s < 9.5 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// What every cause says that needs a traced run and has none.
pub(crate) const NOT_TRACED: &str = "no run was traced, so nothing is known about where the time went";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_one_description() {
        let ids: Vec<CauseId> = all().map(|d| d.id).collect();
        let once: std::collections::BTreeSet<CauseId> = ids.iter().copied().collect();
        assert_eq!((ids.len(), once.len()), (18, 18));
        assert!(ids.iter().chain([&CauseId::None]).all(|id| describe(*id).is_some_and(|d| d.id == *id)));
    }
}
