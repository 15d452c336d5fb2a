//! What grows with the count, and locks and pools as queues.

use super::curve::Interval;
use super::verdict::Site;
use recording::WaitId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The kind of item that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A line of the account, processor-seconds.
    Loss,
    /// A function in user space, seconds on processors.
    Function,
    /// A lock of the program or its libraries, in seconds that threads were blocked by it.
    Lock,
    /// A system call, in calls.
    SystemCall,
    /// Processor time of the timed runs, in user space or in the kernel, seconds.
    ProcessorTime,
    /// A counter of the timed runs: context switches, page faults, in events.
    Counter,
}

/// One item at each traced thread count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// What kind of thing.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its largest amount at any count minus that at the baseline: seconds or calls per unit of work.
    pub growth: f64,
    /// Standard error of the growth from sampling; 0 for what was counted.
    pub sampling_error: f64,
    /// Its amounts.
    pub at: Vec<At>,
}

/// An amount at one thread count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct At {
    /// The thread count.
    pub threads: u32,
    /// Seconds or calls per unit of work.
    pub per_unit: f64,
}

/// What is waited for in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// A lock of the program or of its libraries.
    Lock,
    /// One of a few things.
    Pool,
}

/// A lock or a pool as a queue: how busy it is, and how many would wait if more came. A thread that gets it without
/// waiting leaves no trace. How busy it is and how many threads come are therefore worked out from how many waited and how
/// long each held it (see `statistics::queueing`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// The thread count of the run.
    pub threads: u32,
    /// What it is.
    pub kind: QueueKind,
    /// How many can hold one at once: 1 for a lock.
    pub size: usize,
    /// The lock's address; null for a pool.
    pub object: Option<String>,
    /// Its variable, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_name: Option<String>,
    /// The waits for it, by which tables and lanes know that a row is about it.
    #[serde(skip)]
    pub waits: BTreeSet<WaitId>,
    /// Where the program acquires it; null where no stack tells.
    pub site: Option<Site>,
    /// Share of the time that it is held, 0 to 1; of a pool, of all that it has.
    pub utilisation: f64,
    /// Its 95 % interval, from how many waits and holds were seen.
    pub utilisation_interval: Interval,
    /// How long it was looked at, seconds.
    pub observed_seconds: f64,
    /// Times a second that a thread acquires it, with or without waiting.
    pub arrivals_per_second: f64,
    /// How long it is held, mean, seconds.
    pub hold_seconds: f64,
    /// Its 95 % interval.
    pub hold_interval: Interval,
    /// Variance of the holds over their mean squared: 0 where all are equal, 1 where they are exponential.
    pub hold_variation: f64,
    /// Holds seen from start to end, which that is from.
    pub holds: usize,
    /// Threads that waited for it.
    pub waiters: usize,
    /// Times a second that one had to wait.
    pub waits_per_second: f64,
    /// How long each of these waited, mean, seconds.
    pub wait_seconds: f64,
    /// Threads that waited at a time, mean.
    pub waiting: f64,
    /// Threads that would wait at a time if twice as many came; null where it would be too many to serve.
    pub waiting_at_twice: Option<Bounded>,
    /// How many times the load it is the limit at: 1 over the utilisation.
    pub limit_at: f64,
    /// The same in a sentence, where the run was one of a server or alone and it is near its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A mean with its 95 % interval, which may have no upper end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; null where there is none.
    pub high: Option<f64>,
}
