//! The shape of a prediction: what `knee predict --format json` prints (see `docs/prediction.schema.json`). Field names are
//! an interface: fields may be added, never renamed.

use crate::answer::{CauseId, Interval, Knee};
use recording::meta::Counted;
use serde::Serialize;

/// What more processors would bring to the program of a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// The version of knee that made it.
    pub knee: Knee,
    /// The command with its placeholders.
    pub command: Vec<String>,
    /// What the sweep counted: absent for threads, the usual case.
    #[serde(skip_serializing_if = "Counted::is_threads")]
    pub counted: Counted,
    /// Counts within the processors whose speeds it is made from, ascending; speeds are over that of the first.
    pub based_on: Vec<u32>,
    /// Counts above the processors, whose phases and shares it uses as well.
    pub beyond_processors: Vec<u32>,
    /// Threads that the program has whatever the number of processors; null where their number follows the count.
    pub fixed_threads: Option<u32>,
    /// Why nothing is predicted; null where something is.
    pub refused: Option<NotKnown>,
    /// One point per number of processors, ascending.
    pub points: Vec<Predicted>,
    /// What the reader should know before believing the numbers.
    pub notes: Vec<String>,
}

/// Something that cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotKnown {
    /// Why.
    pub why: String,
    /// Which machine or sweep would tell.
    pub would_tell: String,
}

/// The speed with a number of processors. Speeds are times that of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// The processors.
    pub processors: u32,
    /// The predicted speed; null where a single figure would say more than is known.
    pub times_as_fast: Option<f64>,
    /// True where the speed is an upper bound, because one count alone does not show what threads do to each other.
    pub at_most: bool,
    /// Its 90 % range; null where even that is not known.
    pub range: Option<Interval>,
    /// Why there is no single figure, or no range.
    pub not_known: Option<NotKnown>,
    /// The replay by shares, without anything that threads do to each other; null without an observed run.
    pub replay: Option<ReplayEnds>,
    /// The law of Amdahl alone, with a serial share that may exceed 1; null with one count.
    pub amdahl: Option<f64>,
    /// The universal scalability law alone, where it was asked for and three counts tell its parameters.
    pub usl: Option<f64>,
    /// What limits the program there; null where nothing takes a twentieth of the processors.
    pub limit: Option<PredictedLimit>,
    /// What was measured there; null where it was not.
    pub measured: Option<MeasuredSpeed>,
}

/// The two ends of the replay by shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReplayEnds {
    /// The speed if the work takes as much processor time as in the largest count's runs.
    pub as_recorded: f64,
    /// The speed if it takes no more than at the baseline.
    pub as_alone: f64,
}

/// What limits the program with a number of processors: what keeps them from useful work, the part whose share
/// grows most from the largest measured count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PredictedLimit {
    /// The cause that it is charged to; null for what no evidence explains.
    pub cause: Option<CauseId>,
    /// Its share of the processors there, 0 to 1.
    pub share: f64,
}

/// A measured speed beside a predicted one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredSpeed {
    /// The speed.
    pub times_as_fast: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// Predicted over measured, minus 1; null without a single figure.
    pub error: Option<f64>,
    /// Whether the range holds it; null without a range.
    pub in_range: Option<bool>,
    /// The same error of the universal scalability law, where that was asked for.
    pub usl_error: Option<f64>,
}
