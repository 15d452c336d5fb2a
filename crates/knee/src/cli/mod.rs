//! The arguments: names, help texts, examples.
//!
//! May import: `gate`, `plan`, `serving`, `trials`, `version`, `collect`, clap.

mod reading;
mod running;
mod values;

pub(crate) use reading::{
    Completions, Diff, Doctor, Explain, ExplainFormat, Export, Import, Law, Man, Predict, PredictionFormat, Report,
    Show, ShowFormat, Table, Target, View, WhatIf,
};
pub(crate) use running::{Compare, Lab, LabCommand, Making, Observing, Record, Serve, Sweep, SweepOptions, Try, Watch};

use crate::version;
use clap::{Parser, Subcommand, ValueEnum};
use collect::rights::Task;
use std::ffi::OsString;

/// Finds out why a multithreaded program does not get faster with more threads.
#[derive(Debug, Parser)]
#[command(name = "knee", version, long_version = version::long(), max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Parses knee's command line. `knee -- PROGRAM`, with nothing before `--`, is a sweep of that program.
///
/// # Errors
/// As clap reports them.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.get(1).is_some_and(|word| word == "--") && words.len() > 2 {
        words.insert(1, "sweep".into());
    }
    Cli::try_parse_from(words)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a program at several thread counts and says what stops it from scaling
    Sweep(Box<Sweep>),
    /// Observes one run of a program, or one that runs already, and says where its time goes
    Record(Record),
    /// Shows what the threads of a program do now, and its hottest functions, waits and locks
    Watch(Watch),
    /// Shows the answer of a recording again
    Report(Report),
    /// Says how many times as fast the program would be without each cause of its answer
    WhatIf(WhatIf),
    /// Says how fast the program would be with more processors, as a range
    Predict(Predict),
    /// Shows a table of an observed run: its threads, locks, waits, functions, lanes, ...
    Show(Show),
    /// Serves the page of a recording with all of its detail, for a browser on this machine
    View(View),
    /// Writes an observed run in a format of another tool
    Export(Export),
    /// Reads a profile that perf made, so that knee shows where its processor time went
    Import(Import),
    /// Runs two commands in turn and says which is faster, or that it cannot be told
    Compare(Compare),
    /// Tries what makes a program faster, to show whether a cause is really the cause
    Try(Box<Try>),
    /// Compares two recordings, before and after a change
    Diff(Diff),
    /// Says what a cause is, what it costs and what would disprove it
    Explain(Explain),
    /// Lists the programs of the lab, each with a known bottleneck; runs and explains them
    Lab(Lab),
    /// Says what this machine lets knee see, and how to unlock the rest
    Doctor(Doctor),
    /// Prints a completion script for a shell
    Completions(Completions),
    /// Prints a manual page, or writes all of them
    #[command(hide = true)]
    Man(Man),
}

impl Command {
    /// The task for which the command needs its privileges.
    pub(crate) fn task(&self) -> Task {
        match self {
            Command::Sweep(_)
            | Command::Record(_)
            | Command::Watch(_)
            | Command::Compare(_)
            | Command::Try(_)
            | Command::Lab(_)
            | Command::Doctor(_) => Task::Observing,
            Command::Report(_)
            | Command::WhatIf(_)
            | Command::Predict(_)
            | Command::Show(_)
            | Command::View(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Diff(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Man(_) => Task::Reading,
        }
    }
}

/// Examples of the whole tool, also shown by `knee` alone.
pub(crate) const EXAMPLES: &str = "\
Examples:
  Why does a program not get faster with more processors?
    knee -- ./app input.dat

  Why does it not get faster with more threads, where it takes their number?
    knee sweep -t 1,2,4 -- ./birthday --threads={threads}

  What do the threads of a program that runs already wait for?
    sudo knee record -p 4711 --for 10s

  Which of two builds is faster with 4 threads?
    knee compare -t 4 -- ./old --threads={threads} -- ./new --threads={threads}

`knee doctor` says what this machine lets it see, `knee lab` has programs to try
it on, and `knee COMMAND --help` more examples.";

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For scripts (see docs/answer.schema.json)
    Json,
}

/// How an answer or a comparison is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerFormat {
    /// For people
    #[default]
    Text,
    /// For scripts (see docs/answer.schema.json)
    Json,
    /// For a comment on a pull request
    Markdown,
    /// For code scanning: SARIF 2.1.0, paths relative to the repository
    Sarif,
}

#[cfg(test)]
mod tests;
