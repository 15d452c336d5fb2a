//! The answer: what a sweep's analysis says, and the shape of `--format json`.
//!
//! Field names are an interface (see `docs/answer.schema.json`): fields may be added, never renamed. All times are
//! seconds; those of the account and of causes are processor-seconds per unit of work, where a unit of work is one
//! whole execution unless the program prints a throughput.
//!
//! Rooms: this file the answer as a whole; `curve` the timed runs; `account` where the time went; `verdict` causes, and what stays open; `what_if` what a
//! repair would bring; `items` what grows with the count, locks and pools as queues; `comparison` two recordings;
//! `names` what is a constant in an answer that was made and text in one that was read back.
//!
//! May import: `recording`, serde.

mod account;
mod comparison;
mod curve;
mod items;
mod names;
mod verdict;
mod what_if;

pub use account::*;
pub use comparison::*;
pub use curve::*;
pub use items::*;
pub use names::Constant;
pub use verdict::*;
pub use what_if::*;

use recording::meta::Counted;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The version of knee that made the answer.
    pub knee: Knee,
    /// The command with its placeholders.
    pub command: Vec<String>,
    /// Environment variables that were set for it, with their placeholders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// The load that asked it for work, if it is a server. Times and counts are then those of the time of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<recording::meta::Load>,
    /// The machine that ran it.
    pub machine: recording::meta::Machine,
    /// What is counted: absent for threads, the usual case; `processors` where the sweep changed the processors that
    /// the program could use. All fields named `threads` then hold that count.
    #[serde(default, skip_serializing_if = "Counted::is_threads")]
    pub counted: Counted,
    /// Where units of work came from; null when a run is the unit.
    pub throughput: Option<recording::meta::Throughput>,
    /// One point per thread count, ascending.
    pub curve: Vec<Point>,
    /// The last thread count worth using; null when the curve has not bent.
    pub knee_at: Option<u32>,
    /// One account per traced thread count, ascending.
    pub account: Vec<Account>,
    /// What takes more per unit of work with more threads, by kind, largest growth first.
    pub growth: Vec<Growth>,
    /// Locks and pools as queues, of the observed run of each thread count, the busiest first. Of those alone whose
    /// holds were seen often enough.
    pub queues: Vec<Queue>,
    /// Requests that a server answered in the observed run of each thread count, where they were counted.
    pub requests: Vec<Requests>,
    /// Why the program does not get faster.
    pub verdict: Verdict,
    /// What the program would do without its causes, as far as that can be predicted.
    pub what_if: WhatIf,
    /// What trials showed, where some were made.
    pub tried: Vec<TrialResult>,
    /// What could not be seen.
    pub limitations: Vec<Limitation>,
    /// What the reader should know before believing the numbers: disturbed runs, losses, a heavy trace.
    pub warnings: Vec<String>,
}

/// What a server answered in an observed run. A request takes from its first data until the answer begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// The thread count of the run.
    pub threads: u32,
    /// Requests answered. Several that are sent at once over one connection count as one, except streams of HTTP/2.
    pub count: u64,
    /// How many a second.
    pub per_second: f64,
    /// How long each took, mean, seconds.
    pub seconds: f64,
    /// The services that it asked meanwhile, those that took longest first.
    pub services: Vec<ServiceReplies>,
}

/// Replies of a service that a server asked, such as a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceReplies {
    /// Address and port, or the path of a socket in the file system.
    pub address: String,
    /// The program there; null where it is not known.
    pub program: Option<String>,
    /// Replies for each request of the server, mean.
    pub replies_per_request: f64,
    /// From asking until a reply began, mean, seconds.
    pub seconds: f64,
    /// The same of all replies as a share of the requests' time; above 1 where several are asked at once.
    pub share: f64,
}

/// Version of the tool and of its formats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Version of knee.
    pub version: String,
    /// Version of the recording's format, "major.minor".
    pub format: String,
}

/// Something that could not be seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limitation {
    /// What could not be seen.
    pub what: LimitationKind,
    /// Why not, and what the answer lacks because of it.
    pub why: String,
    /// The command that makes it visible.
    pub unlock: Option<String>,
}

/// What could not be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitationKind {
    /// What a recording without timed runs cannot show: how speed depends on the thread count.
    Scaling,
    /// What a recording without observed runs cannot show.
    Causes,
    /// What another tool's profile cannot show: waiting.
    Waiting,
    /// And what threads do to each other's memory.
    SharedMemory,
    /// What the machine did not allow, in the recording's words.
    Capability(String),
}

impl LimitationKind {
    /// In words.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            LimitationKind::Scaling => "scaling",
            LimitationKind::Causes => "causes",
            LimitationKind::Waiting => "waiting",
            LimitationKind::SharedMemory => "shared memory",
            LimitationKind::Capability(words) => words,
        }
    }
}

impl Serialize for LimitationKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.words())
    }
}

impl<'de> Deserialize<'de> for LimitationKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LimitationKind, D::Error> {
        let words = String::deserialize(deserializer)?;
        let plain =
            [LimitationKind::Scaling, LimitationKind::Causes, LimitationKind::Waiting, LimitationKind::SharedMemory];
        Ok(plain.into_iter().find(|kind| kind.words() == words).unwrap_or(LimitationKind::Capability(words)))
    }
}

impl Answer {
    /// Why there is no curve, if nothing was timed.
    #[must_use]
    pub fn no_curve(&self) -> Option<&str> {
        self.limitations.iter().find(|l| l.what == LimitationKind::Scaling).map(|l| l.why.as_str())
    }
}
