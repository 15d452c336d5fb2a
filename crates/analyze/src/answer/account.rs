//! Where the time went.

use super::curve::Interval;
use super::verdict::CauseId;
use serde::{Deserialize, Serialize};

/// Where the processors' time went at one thread count. `useful` + all lines + `unexplained` = `capacity`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// The thread count.
    pub threads: u32,
    /// The most threads that worked at once, where the sweep changed the processors and not the threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_threads: Option<u32>,
    /// Processor-seconds per unit of work that the program could have used: min(threads, processors) × time.
    pub capacity: f64,
    /// CPU time per unit of work at the baseline, and what the work waits for there: what the work takes.
    pub useful: f64,
    /// The part of the loss that no evidence explains. Negative when the parts found exceed the loss.
    pub unexplained: f64,
    /// Wall time (per unit of work) of the traced run over the clean median.
    pub traced_over_clean: f64,
    /// 95 % interval of the loss (capacity − useful), from the clean runs.
    pub loss_interval: Interval,
    /// Losses, largest first; a negative line is a gain.
    pub lines: Vec<Line>,
}

/// One named loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The cause that it is charged to.
    pub cause: CauseId,
    /// What it is in a few words: `waiting for locks`, `lock and futex code`.
    pub what: String,
    /// Processor-seconds per unit of work.
    pub seconds: f64,
    /// Standard error of `seconds` that comes from sampling; 0 for what was measured exactly.
    pub sampling_error: f64,
}
