//! The verdict: its causes with culprits and evidence, what was excluded, and what stays open.

use super::curve::Interval;
use super::names::{Constant, kept_name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A cause, by the name used in answers. Each cause's folder defines its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CauseId(#[serde(deserialize_with = "kept_name")] Constant);

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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Causes that can be neither claimed nor excluded, most of what may be theirs first.
    pub unsure: Vec<Unsure>,
    /// For each cause that was looked for and not found, how much of it could have been missed, where a run was
    /// observed.
    pub power: Vec<Power>,
}

/// A thread count beyond the one that the verdict is about, at which the program is far slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// The code or object that causes a loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was measured.
    pub what: String,
    /// The value.
    pub value: f64,
    /// The unit of the value.
    pub unit: Unit,
    /// Where it comes from: the table or kernel interface.
    #[serde(deserialize_with = "kept_name")]
    pub source: Constant,
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

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
        let name = kept_name(deserializer)?;
        let plain = [Unit::Seconds, Unit::Milliseconds, Unit::Microseconds, Unit::PerSecond, Unit::Ratio, Unit::Share];
        Ok(plain.into_iter().find(|unit| unit.name() == name).unwrap_or(Unit::Of(name)))
    }
}

/// A cause that stays open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unsure {
    /// Which.
    pub id: CauseId,
    /// What evidence is missing, and how to get it.
    pub missing: String,
}
