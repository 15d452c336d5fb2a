//! The causes, one file each, and their registry.
//!
//! A cause is *found* with its culprit and evidence, *clear* when what was checked shows that it is not there, or
//! *unsure* when evidence is missing. May import: `facts`, `answer`, what these import, and its own rooms.

pub mod cpu_pressure;
pub mod lock_groups;
pub mod none;
pub mod not_yet;
pub mod oversubscription;
pub mod remedies;
pub mod user_lock;

use crate::answer::{Cause, CauseId, Evidence};
use crate::facts::Facts;

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
    [&user_lock::DESCRIPTION, &oversubscription::DESCRIPTION, &cpu_pressure::DESCRIPTION]
        .into_iter()
        .chain(not_yet::DESCRIPTIONS)
}

/// The documentation of a cause.
pub fn describe(id: CauseId) -> Option<&'static Description> {
    all().chain([&none::DESCRIPTION]).find(|d| d.id == id)
}

/// One row of evidence.
pub(crate) fn evidence(what: impl Into<String>, value: f64, unit: &'static str, source: &'static str) -> Evidence {
    Evidence { what: what.into(), value, unit, source }
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
