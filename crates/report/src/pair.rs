//! Two cases whose runs were made in the same blocks: two commands against each other, or one against itself.
//!
//! The JSON of [`Pair`] is an interface: `docs/pair.schema.json` describes it, a test holds both together. Fields may
//! be added, never renamed.

use analyze::answer::{Comparison, Knee};
use recording::meta::Machine;
use serde::Serialize;

/// Version of the pair's shape, "major.minor".
pub const FORMAT: &str = "1.0";

/// Two cases and what their comparison came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Who says so; the format is [`FORMAT`].
    pub knee: Knee,
    /// The machine that ran both.
    pub machine: Machine,
    /// False when it was stopped early, or is not finished yet.
    pub complete: bool,
    /// False when the program chose its threads by itself; then `threads` is the number of processors.
    pub thread_counts_given: bool,
    /// The two, in their order: A and B.
    pub cases: [Side; 2],
    /// What it came to.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// What it is called: A, B.
    pub name: String,
    /// The command with its placeholders.
    pub command: Vec<String>,
    /// Folder of its recording, inside that of the pair; `knee report` shows it in full.
    pub recording: String,
}
