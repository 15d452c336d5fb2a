//! Trials: changes to how a program is run. They show what a cause costs without changing the program itself.
//!
//! Rooms: `known` the trials, a file for each kind; `preload` libraries of knee's own that are loaded before the program's;
//! `program` what kind of program it is, and so which trials fit it; `choose` which of them are made; `apply` a command
//! with a trial's change; `output` whether the program still printed the same.
//!
//! Nothing is installed and no setting of the machine changes: a trial is variables and a wrapper for one run.
//!
//! May import: `failure`, `file`, `plan`, `analyze`, `recording`, `resolve`, clap, serde.

pub(crate) mod apply;
pub(crate) mod choose;
mod known;
pub(crate) mod output;
pub(crate) mod preload;
pub(crate) mod program;

pub(crate) use known::{ALL, EMPTY, find};

use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;
use preload::Source;

/// The name of the case that runs the program as it is.
pub(crate) const UNCHANGED: &str = "unchanged";

/// One trial.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Its name on the command line.
    pub(crate) id: &'static str,
    /// What is different, in a few words.
    pub(crate) title: &'static str,
    /// How the command is changed.
    pub(crate) changes: &'static [Change],
    /// The causes that it is made for, and what it shows about each if the program gets faster.
    pub(crate) aims: &'static [(CauseId, Aim)],
    /// Functions that the cause must be found in; empty: any.
    pub(crate) only_in: &'static [&'static str],
    /// What the program must be.
    pub(crate) needs: Needs,
    /// What it shows if the program gets faster.
    pub(crate) proves: &'static str,
    /// What it cannot show.
    pub(crate) limits: &'static str,
    /// What to do with it if it helps.
    pub(crate) keep: Keep,
}

/// One change to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A library of knee's own is loaded before the program's.
    Preload(Source),
    /// An installed library is loaded before the program's: the first of these file names that is there.
    Library(&'static [&'static str]),
    /// A variable is set. If it is set already, `join` is put between the old value and this one; without `join` the old
    /// value is replaced.
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: &'static str,
        /// What is put between two values.
        join: Option<&'static str>,
    },
    /// These words go before the command: another program, which runs it.
    Wrapper(&'static [&'static str]),
}

/// What kind of program a trial needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Anything.
    Nothing,
    /// A program that loads glibc.
    Glibc,
    /// A program that loads a C library.
    DynamicC,
    /// A program with OpenMP.
    OpenMp,
    /// A program with a BLAS that has threads of its own.
    Blas,
    /// A Go program.
    Go,
    /// A Java virtual machine.
    Java,
    /// CPython.
    Python,
    /// A program whose number of threads does not follow the number of processors.
    ThreadsByCount,
}

/// What to do with a trial that helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Keep the change as it is.
    Setting,
    /// The change is evidence; this is what to do in the program instead.
    Instead(&'static str),
    /// Nothing: the trial is never advice.
    Never,
}

impl Trial {
    /// What it shows about a cause in this function if the program gets faster; without a function, any may be meant.
    pub(crate) fn aim(&self, cause: CauseId, function: Option<&str>) -> Aim {
        let fits = self.only_in.is_empty() || function.is_none_or(|name| self.only_in.contains(&name));
        let aim = self.aims.iter().find(|(known, _)| fits && *known == cause);
        aim.map_or(Aim::Misses, |(_, aim)| *aim)
    }

    /// True if a library is loaded before the program's.
    pub(crate) fn preloads(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Preload(_) | Change::Library(_)))
    }
}
