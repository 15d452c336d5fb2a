//! What removing a cause would bring, and what trials showed.

use super::curve::Interval;
use super::verdict::{Cause, CauseId, Verdict};
use serde::{Deserialize, Serialize};

/// What the program would do without its causes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// Why nothing is predicted; null where something is, and where no cause was found.
    pub refused: Option<String>,
    /// What is predicted: of each cause all and half of it, in the order of the causes; then of the first two together.
    pub removals: Vec<Removed>,
}

impl WhatIf {
    /// What is predicted without all of one cause of the verdict.
    #[must_use]
    pub fn without(&self, verdict: &Verdict, cause: &Cause) -> Option<&Removed> {
        let number = verdict.causes.iter().position(|other| std::ptr::eq(other, cause))?;
        self.removals.iter().find(|removed| removed.numbers == [number] && removed.part >= 1.0)
    }
}

/// What a trial showed: the program with something changed, beside the unchanged one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Which of `verdict.causes` it was aimed at, counted from 0; null when the answer has that cause no longer.
    pub number: Option<usize>,
    /// The trial.
    #[serde(flatten)]
    pub tried: recording::meta::Tried,
}

/// What the program would do without one cause, or two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Removed {
    /// The causes.
    pub causes: Vec<CauseId>,
    /// Which of `verdict.causes` they are, counted from 0.
    pub numbers: Vec<usize>,
    /// How much of them is removed: 1 for all, 0.5 for half.
    pub part: f64,
    /// True where the speeds are upper bounds: something else may take the place of what is removed.
    pub at_most: bool,
    /// Its curve: one point per thread count at which the cause costs time, ascending.
    pub points: Vec<Foreseen>,
    /// One sentence on the thread count that the cause's own numbers are from.
    pub summary: String,
}

/// The speed that is predicted for one thread count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    /// The thread count.
    pub threads: u32,
    /// Speed over that of the program as it is, at the same thread count.
    pub times_as_fast: f64,
    /// Its 90 % interval; of an upper bound, from 1 to the bound's own upper end.
    pub interval: Interval,
    /// Speed over that of the program as it is, at the baseline.
    pub speedup: f64,
}
