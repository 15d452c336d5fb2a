//! `meta.json`: what was run, where, what was available, what was lost.

use crate::words::CapabilityKind;
use serde::{Deserialize, Serialize};

/// The format that this crate writes. Minor versions add tables and columns; older readers would misread a new major.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 12 };

/// Version of the recording's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Readers refuse another major version.
    pub major: u32,
    /// Readers ignore what a newer minor version added.
    pub minor: u32,
}

impl std::fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// How far the sweep got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// Still being written, or the writer was killed.
    Unfinished,
    /// Stopped by the user; what was written is complete.
    Interrupted,
    /// All planned runs were made.
    Finished,
}

/// The machine that ran the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors online.
    pub processors: u32,
    /// Processors that the target was allowed to use (affinity, cpuset).
    pub usable_processors: u32,
    /// Physical cores among the usable processors; fewer than `usable_processors` when these are hardware threads.
    pub usable_cores: u32,
    /// The tightest CPU quota of the target's control groups, thousandths of a processor; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_milliprocessors: Option<u64>,
    /// Model name.
    pub model: String,
    /// Architecture, as `uname -m` says it.
    pub architecture: String,
    /// Kernel release.
    pub kernel: String,
    /// Hypervisor, if the machine reports one.
    pub hypervisor: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Distribution, from os-release.
    pub distribution: Option<String>,
}

/// What the counts of a sweep count: those in `thread_counts`, and in the column `threads` of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Threads that the program is told to use.
    #[default]
    Threads,
    /// Processors that the program may run on; it chooses its own number of threads.
    Processors,
}

impl Counted {
    /// The word for one of them.
    pub fn word(self) -> &'static str {
        match self {
            Counted::Threads => "thread",
            Counted::Processors => "processor",
        }
    }

    /// The count with its word: "1 thread", "4 processors".
    pub fn many(self, count: u32) -> String {
        format!("{count} {}{}", self.word(), if count == 1 { "" } else { "s" })
    }

    /// True for threads. This default is not written to the file: older readers know nothing else.
    pub fn is_threads(&self) -> bool {
        *self == Counted::Threads
    }
}

/// The load of a server: a command that runs beside the program and asks it for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The command with its placeholders, one element per argument.
    pub command: Vec<String>,
    /// The processors that the load was kept to; if empty, it could run wherever knee may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<u32>,
    /// When the server counted as ready: a port, address or regular expression, as for `--ready`; absent: when it
    /// listened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

/// Where the number of units of work per second comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// The regular expression whose first group is the number; for a known load, its name and the line.
    pub pattern: String,
    /// What the program counts, as far as its output says: `Mops/s`, `requests/s`.
    pub unit: String,
    /// True when the user gave the pattern, false when a common form was recognised.
    pub given: bool,
    /// True when the number is the seconds that the work took: the throughput of a run is then one run in so many seconds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub times: bool,
}

impl Throughput {
    /// True where the program counts its work; the time that it prints is no such count.
    pub fn counts_work(&self) -> bool {
        !self.times
    }
}

/// Something that this machine may allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// What: `eBPF`, `hardware counters`, ...
    pub what: String,
    /// Whether it can be used.
    pub available: bool,
    /// The finding in words: the version, or why it is missing.
    pub why: String,
    /// The answers that are not available without it.
    pub costs: String,
    /// The command that would unlock it, if there is one.
    pub unlock: Option<String>,
}

impl Capability {
    /// Its kind.
    pub fn kind(&self) -> CapabilityKind {
        CapabilityKind::named(&self.what)
    }
}

/// The origin of a recording that knee did not make itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool whose output was read: `perf script`.
    pub tool: String,
    /// The files that were read.
    pub files: Vec<String>,
}

/// What one of the user's own functions does: it is in no table of known libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionKind {
    /// Takes or releases a lock.
    Lock,
    /// Takes one of several things of a kind from a pool, or gives it back.
    Pool,
    /// Waits for or signals a condition, a queue, or another thread's call.
    Condition,
    /// Waits until all threads have arrived.
    Barrier,
    /// Belongs to a library, not to the program: reports name its caller instead.
    RuntimeFrame,
}

/// A function that the user described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFunction {
    /// Its name as reports show it, with or without parameters and type arguments.
    pub function: String,
    /// What it is.
    pub kind: FunctionKind,
}

/// What a trial shows about the cause that it was aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// The cause costs time: the program is faster without it.
    Confirms,
    /// The program is faster, but the trial eases other causes as well.
    Supports,
    /// The program is no faster without it.
    Refutes,
    /// None of these.
    Nothing,
}

/// A trial: the program with something changed, run in the same blocks as the unchanged one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its name: `tcmalloc`.
    pub trial: String,
    /// What was changed, in words.
    pub title: String,
    /// The id of the cause that it was aimed at: `allocator`.
    pub cause: String,
    /// The function that the cause was found in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The thread count, or number of processors.
    pub threads: u32,
    /// Speed over that of the unchanged program.
    pub times_as_fast: f64,
    /// The ends of its interval, which holds for all trials of the experiment together with 95 % certainty; absent with too
    /// few blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// See `low`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What it shows about the cause.
    pub shows: Shows,
}

/// The contents of `meta.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Format of the recording.
    pub format: FormatVersion,
    /// Version of knee that wrote it.
    pub knee: String,
    /// How far it got.
    pub completion: Completion,
    /// When the sweep began, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// The command with its placeholders, one element per argument.
    pub command: Vec<String>,
    /// Environment set for the target, with its placeholders.
    pub environment: Vec<(String, String)>,
    /// Thread counts in the order of the command line; counts of processors in a sweep over processors.
    pub thread_counts: Vec<u32>,
    /// What the counts are of (since format 1.7).
    #[serde(default, skip_serializing_if = "Counted::is_threads")]
    pub counted: Counted,
    /// In a sweep over processors, their numbers: a count of n ran on the first n (since format 1.7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processor_order: Vec<u32>,
    /// The load that asks the program for work, if it is a server (since format 1.8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Timed runs planned at each count.
    pub runs_per_count: u32,
    /// Seed of the random order.
    pub order_seed: u64,
    /// The machine.
    pub machine: Machine,
    /// The clock that all times in the tables are taken from.
    pub clock: String,
    /// The program's own measure of work, when it prints one.
    pub throughput: Option<Throughput>,
    /// What was available, as probed before the first run.
    pub capabilities: Vec<Capability>,
    /// Set when another tool's profile was imported: then there are only samples and what follows from them. Of a
    /// thread's times only the running time is known, as an estimate; its other times and counts in the tables are 0
    /// and mean nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The folder where the program ran; absent for imported profiles and running programs (since format 1.11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Trials that were made of the program later (since format 1.11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// Functions that the user described (since format 1.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<NamedFunction>,
    /// What the user should know before believing the numbers, in plain sentences.
    pub notes: Vec<String>,
}

impl Meta {
    /// Processors that the program may use in runs of a count; at least 1.
    pub fn usable_at(&self, count: u32) -> u32 {
        let usable = self.machine.usable_processors.max(1);
        match self.counted {
            Counted::Threads => usable,
            Counted::Processors => count.clamp(1, usable),
        }
    }
}
