//! Two recordings, or two cases of a sweep, compared.

use super::curve::Interval;
use super::items::Kind;
use recording::meta::Counted;
use serde::Serialize;

/// How the runs of two recordings were made, which decides what may be concluded from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setup {
    /// One after the other, before and after a change.
    Apart,
    /// Two commands in the same blocks, in random order.
    Interleaved,
    /// The same command twice in the same blocks: what differs is noise.
    Same,
}

/// Two recordings compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How their runs were made.
    pub setup: Setup,
    /// What is counted: threads or processors.
    pub counted: Counted,
    /// One sentence.
    pub summary: String,
    /// Times at the thread counts that both have.
    pub curve: Vec<CurveChange>,
    /// What changed by more than the noise, by thread count and kind, largest change first.
    pub changes: Vec<Change>,
    /// What the reader should know before believing the numbers.
    pub warnings: Vec<String>,
}

/// Whether a change can be told from noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Faster: the whole interval says so.
    Better,
    /// Slower: the whole interval says so.
    Worse,
    /// The interval includes both.
    Unclear,
}

/// One thread count before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurveChange {
    /// The thread count.
    pub threads: u32,
    /// Median seconds per unit of work before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// Speed after over speed before.
    pub speed: f64,
    /// Its 95 % interval; null when one of the two has fewer than two runs, or when there are too few blocks. For
    /// interleaved runs, the intervals of all thread counts hold together with 95 % certainty.
    pub interval: Option<Interval>,
    /// Better, worse, or cannot be told from noise.
    pub judgement: Judgement,
    /// Blocks in which both were run; null for recordings made one after the other.
    pub blocks: Option<u32>,
    /// Half the interval's width, as a share of the speed. A difference of this size is found in half of all
    /// comparisons, one twice as large in nearly all. Null without an interval.
    pub resolution: Option<f64>,
}

/// One item that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The thread count.
    pub threads: u32,
    /// What kind of thing.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Seconds or calls per unit of work before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// Standard error of the difference from sampling; 0 for what was counted.
    pub sampling_error: f64,
}
