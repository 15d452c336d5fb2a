//! The timed runs in numbers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Median and range of repeated measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Lower end of the 95 % interval of the median.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One thread count of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The thread count.
    pub threads: u32,
    /// Processors that the program could use, if the sweep changed them; `threads` is then the same number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Timed runs.
    pub runs: u32,
    /// Wall time of a run.
    pub seconds: Spread,
    /// Units of work a second, when the program prints them.
    pub throughput: Option<Spread>,
    /// Speed over the baseline's: that of the smallest thread count.
    pub speedup: f64,
    /// Its interval.
    pub speedup_interval: Interval,
    /// Speed-up over (threads / smallest thread count).
    pub efficiency: f64,
    /// Its interval.
    pub efficiency_interval: Interval,
    /// CPU time over wall time, median.
    pub processors_used: f64,
    /// What its load took and saw, if it is a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadPoint>,
    /// Medians by name: `user_seconds`, `system_seconds`, `voluntary_switches`, `cycles`, ...
    pub counters: BTreeMap<CounterId, f64>,
}

/// What is counted in a run. In the order of the names, which is that of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterId {
    /// Last-level cache misses.
    CacheMisses,
    /// Processor cycles in user space.
    Cycles,
    /// Processor-seconds that other programs had.
    ForeignSeconds,
    /// Instructions in user space.
    Instructions,
    /// Times that a thread was taken off its processor.
    InvoluntarySwitches,
    /// Page faults that read from a device.
    MajorFaults,
    /// The largest resident set, bytes.
    MaxRssBytes,
    /// Times that a thread moved to another processor.
    Migrations,
    /// Page faults without input or output.
    MinorFaults,
    /// Processor-seconds that other virtual machines had.
    StealSeconds,
    /// Processor-seconds in the kernel.
    SystemSeconds,
    /// Processor-seconds in user space.
    UserSeconds,
    /// Times that a thread gave up its processor to wait.
    VoluntarySwitches,
}

/// The load of a server at one count: medians of the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Processors that it ran on: its CPU time over wall time.
    pub processors_used: f64,
    /// Its threads that worked.
    pub threads: u32,
    /// Failed requests of a run, where the load prints them.
    pub errors: Option<f64>,
    /// Median time of a request, seconds, where the load prints it.
    pub latency_median: Option<f64>,
    /// Time within which 99 % of the requests were answered, seconds, where the load prints it.
    pub latency_99: Option<f64>,
}
