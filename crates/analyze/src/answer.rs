//! The answer: what a sweep's analysis says, and the shape of `--format json`.
//!
//! Field names are an interface (see `docs/answer.schema.json`): fields may be added, never renamed. All times are
//! seconds; those of the account and of causes are processor-seconds per unit of work, where a unit of work is one
//! whole execution unless the program prints a throughput.

use recording::meta::Counted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The version of knee that made the answer.
    pub knee: Knee,
    /// The command with its placeholders.
    pub command: Vec<String>,
    /// Environment variables that were set for it, with their placeholders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// The load that asked it for work, if it is a server. Times and counts are then those of the time of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<recording::meta::Load>,
    /// The machine that ran it.
    pub machine: recording::meta::Machine,
    /// What is counted: absent for threads, the usual case; `processors` where the sweep changed the processors that
    /// the program could use. All fields named `threads` then hold that count.
    #[serde(skip_serializing_if = "Counted::is_threads")]
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
    /// What the program would do without its causes, as far as that can be foretold.
    pub what_if: WhatIf,
    /// What trials showed, where some were made.
    pub tried: Vec<TrialResult>,
    /// What could not be seen.
    pub limitations: Vec<Limitation>,
    /// What the reader should know before believing the numbers: disturbed runs, losses, a heavy trace.
    pub warnings: Vec<String>,
}

/// What a server answered in an observed run. A request takes from its first data until the answer begins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Requests {
    /// The thread count of the run.
    pub threads: u32,
    /// Requests answered. Several that are sent at once over one connection count as one.
    pub count: u64,
    /// How many a second.
    pub per_second: f64,
    /// How long each took, mean, seconds.
    pub seconds: f64,
    /// The services that it asked meanwhile, those that took longest first.
    pub services: Vec<ServiceReplies>,
}

/// Replies of a service that a server asked, such as a database.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceReplies {
    /// Address and port.
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Knee {
    /// Version of knee.
    pub version: String,
    /// Version of the recording's format, "major.minor".
    pub format: String,
}

/// Median and range of repeated measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One thread count of the curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// Speed over the smallest thread count's.
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
    pub counters: BTreeMap<&'static str, f64>,
}

/// The load of a server at one count: medians of the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

/// Where the processors' time went at one thread count. `useful` + all lines + `unexplained` = `capacity`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    /// The thread count.
    pub threads: u32,
    /// The most threads that worked at once, where the sweep changed the processors and not the threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_threads: Option<u32>,
    /// Processor-seconds per unit of work that the program could have used: min(threads, processors) × time.
    pub capacity: f64,
    /// CPU time per unit of work at the smallest thread count, and what the work waits for there: what the work takes.
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// A cause, by the name used in answers. Each cause's folder defines its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct CauseId(&'static str);

impl CauseId {
    /// The cause of this name: lower-case words with hyphens between them.
    pub const fn new(name: &'static str) -> CauseId {
        CauseId(name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The conclusion.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Two plain sentences at most.
    pub summary: String,
    /// Causes found, most lost seconds first; those of the thread count that the verdict is about come before those
    /// that show only at other counts. Never empty: `none` alone when nothing is wrong, and `none` first when the program
    /// scales: those that follow are small losses.
    pub causes: Vec<Cause>,
    /// Why a larger thread count than that of the first cause collapses; null where none does.
    pub beyond: Option<Beyond>,
    /// What the machine took from the program: other programs, a quota, other virtual machines, heat. None of it is a
    /// cause in the program, and the shares of causes refer to the rest of the loss.
    pub machine: Vec<Condition>,
    /// Causes that were looked for and excluded: a loss of 5 % of the capacity due to them would have been seen with 95
    /// % certainty (`power`).
    pub clear: Vec<CauseId>,
    /// Causes that can be neither claimed nor excluded.
    pub unsure: Vec<Unsure>,
    /// For each cause that was looked for and not found, how much of it could have been missed, where a run was
    /// observed.
    pub power: Vec<Power>,
}

/// A thread count beyond the one that the verdict is about, at which the program is far slower.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beyond {
    /// The thread count.
    pub threads: u32,
    /// Time per unit of work over that of the count that the verdict is about.
    pub slower: f64,
    /// True when the first cause there is the verdict's own, at the same place.
    pub same: bool,
    /// One sentence.
    pub summary: String,
    /// Causes at that count, most lost seconds first. Empty where none is certain.
    pub causes: Vec<Cause>,
}

/// Something that the machine took from the program at one thread count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// What kind of thing took it.
    pub id: CauseId,
    /// The thread count that the numbers are from.
    pub threads: u32,
    /// Processor-seconds per unit of work that threads of the program wanted and did not get; null where not known.
    pub seconds: Option<f64>,
    /// The same as a share of the capacity, 0 to 1.
    pub share: Option<f64>,
    /// Which programs took them, by name, most first.
    pub by: Vec<String>,
    /// One sentence.
    pub summary: String,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
    /// What to do for an undisturbed sweep.
    #[serde(rename = "try")]
    pub remedies: Vec<String>,
}

/// How much of a cause could have been missed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Power {
    /// The cause.
    pub id: CauseId,
    /// The thread count at which most of it could have been missed.
    pub threads: u32,
    /// Share of the capacity that it takes at most, with 95 % certainty.
    pub at_most: f64,
    /// CPU samples of the observed run.
    pub samples: u64,
    /// Of the time in which threads wanted to run at the same time, the share in which they did, in the observed run:
    /// what threads do to each other shows only then.
    pub exposure: f64,
    /// Undisturbed timed runs at that count.
    pub undisturbed_runs: u32,
    /// Breakpoint trials at shared memory in the observed run.
    pub trials: u64,
}

/// A cause that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// Which.
    pub id: CauseId,
    /// Share of the loss at that thread count, 0 to 1. The shares of one thread count never sum to more than 1.
    pub share: f64,
    /// Processor-seconds per unit of work.
    pub lost_seconds: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// The thread count that the numbers are from.
    pub threads: u32,
    /// One sentence.
    pub summary: String,
    /// The code or object to blame; null for causes outside the program.
    pub culprit: Option<Culprit>,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
    /// What to change.
    #[serde(rename = "try")]
    pub remedies: Vec<String>,
    /// What observation would show that this verdict is wrong.
    pub disproved_by: String,
}

/// What the program would do without its causes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WhatIf {
    /// Why nothing is foretold; null where something is, and where no cause was found.
    pub refused: Option<String>,
    /// What is foretold: of each cause all and half of it, in the order of the causes; then of the first two together.
    pub removals: Vec<Removed>,
}

impl WhatIf {
    /// What is foretold without all of one cause of the verdict.
    #[must_use]
    pub fn without(&self, verdict: &Verdict, cause: &Cause) -> Option<&Removed> {
        let number = verdict.causes.iter().position(|other| std::ptr::eq(other, cause))?;
        self.removals.iter().find(|removed| removed.numbers == [number] && removed.part >= 1.0)
    }
}

/// What a trial showed: the program with something changed, beside the unchanged one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialResult {
    /// Which of `verdict.causes` it was aimed at, counted from 0; null when the answer has that cause no longer.
    pub number: Option<usize>,
    /// The trial.
    #[serde(flatten)]
    pub tried: recording::meta::Tried,
}

/// What the program would do without one cause, or two.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// The speed that is foretold for one thread count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Foreseen {
    /// The thread count.
    pub threads: u32,
    /// Speed over that of the program as it is, at the same thread count.
    pub times_as_fast: f64,
    /// Its 90 % interval; of an upper bound, from 1 to the bound's own upper end.
    pub interval: Interval,
    /// Speed over that of the program as it is, at the smallest thread count.
    pub speedup: f64,
}

/// The code or object that causes a loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Culprit {
    /// The function; for a lock inside a library, the library function that owns it.
    pub function: Option<String>,
    /// File name of the module that holds the function.
    pub module: String,
    /// Source file, without its folders.
    pub file: Option<String>,
    /// The same with its folders, as the compiler recorded it; absent where it recorded none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The same relative to the repository that knee was called in; absent where the file is not in it. Answers are made
    /// without it, because it is no fact of the recording: who prints one adds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// Address of the lock or other object, in hexadecimal.
    pub object: Option<String>,
    /// That object in words, where known: the variable, or the members in a cache line.
    pub object_name: Option<String>,
    /// The program's own call sites, most time first.
    pub callers: Vec<Site>,
}

impl Culprit {
    /// Where it is, without an address.
    pub fn site(&self) -> Site {
        Site {
            function: self.function.clone(),
            module: self.module.clone(),
            file: self.file.clone(),
            path: self.path.clone(),
            relative: self.relative.clone(),
            line: self.line,
            address: String::new(),
        }
    }
}

/// A place in the program's code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Site {
    /// The function; null when it has no symbol.
    pub function: Option<String>,
    /// File name of the module.
    pub module: String,
    /// Source file, without its folders.
    pub file: Option<String>,
    /// The same with its folders, as the compiler recorded it; absent where it recorded none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The same relative to the repository that knee was called in; absent where the file is not in it. Answers are made
    /// without it, because it is no fact of the recording: who prints one adds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// Address in the module's file, in hexadecimal; it identifies the place where there is no symbol. Empty for a
    /// named function that was made at run time.
    pub address: String,
}

/// One number and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// What was measured.
    pub what: String,
    /// The value.
    pub value: f64,
    /// The unit of the value.
    pub unit: Unit,
    /// Where it comes from: the table or kernel interface.
    pub source: &'static str,
}

/// The unit of an [`Evidence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// Events per second.
    PerSecond,
    /// Times as much as something else.
    Ratio,
    /// A part of a whole, 0 to 1.
    Share,
    /// A number of these things, named in the plural: `calls`.
    Of(&'static str),
}

impl Unit {
    /// The name in the JSON answer.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Microseconds => "microseconds",
            Unit::PerSecond => "1/second",
            Unit::Ratio => "ratio",
            Unit::Share => "share",
            Unit::Of(what) => what,
        }
    }
}

impl Serialize for Unit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A cause that stays open.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unsure {
    /// Which.
    pub id: CauseId,
    /// What evidence is missing, and how to get it.
    pub missing: String,
}

/// Something that could not be seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limitation {
    /// What could not be seen.
    pub what: String,
    /// Why not, and what the answer lacks because of it.
    pub why: String,
    /// The command that makes it visible.
    pub unlock: Option<String>,
}

impl Limitation {
    /// What a recording without timed runs cannot show: how speed depends on the thread count.
    pub const SCALING: &'static str = "scaling";
}

impl Answer {
    /// Why there is no curve, if nothing was timed.
    #[must_use]
    pub fn no_curve(&self) -> Option<&str> {
        self.limitations.iter().find(|l| l.what == Limitation::SCALING).map(|l| l.why.as_str())
    }
}

/// The kind of item that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// What kind of thing.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its largest amount at any count minus that at the smallest count: seconds or calls per unit of work.
    pub growth: f64,
    /// Standard error of the growth from sampling; 0 for what was counted.
    pub sampling_error: f64,
    /// Its amounts.
    pub at: Vec<At>,
}

/// An amount at one thread count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct At {
    /// The thread count.
    pub threads: u32,
    /// Seconds or calls per unit of work.
    pub per_unit: f64,
}

/// What is waited for in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// A lock of the program or of its libraries.
    Lock,
    /// One of a few things.
    Pool,
}

/// A lock or a pool as a queue: how busy it is, and how many would wait if more came. Who gets it without waiting
/// leaves no trace, so that how busy it is, and how many come, are worked out (see `statistics::queueing`) from how
/// many waited and how long each held it.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// The process that has it.
    #[serde(skip)]
    pub pid: u32,
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
    /// Holds seen from begin to end, which that is from.
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounded {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; null where there is none.
    pub high: Option<f64>,
}

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
