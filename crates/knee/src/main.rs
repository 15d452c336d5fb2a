//! knee, the command line: arguments in, an answer and an exit status out.
//!
//! Rooms: `bounds` sweeps over processors; `cli` the arguments; `commands` one file per subcommand; `file` sweep files;
//! `lab` where the lab's are found; `job` what a sweep has to do; `plan` the runs to make; `target` looks for the
//! program; `index` the list of a sweep's cases; `sweep` makes the runs; `throughput` numbers in the program's output;
//! `trials` what `knee try` changes; `executor` one run, by crate `collect`; `observing` the choice of a collector;
//! `naming` variables that make runtimes name their code; `failure` exit statuses; `gate` the conditions under which
//! knee fails, for scripts; `mistakes` guesses what was meant; `ui` the only place that writes to the terminal;
//! `interrupt` Ctrl-C; `quiet` the look at the machine before the first run; `serving` servers under load; `version`
//! which knee this is; `view` the server of a page; `watch` the live view. In tests, `examples`: command lines in the
//! documentation.
#![forbid(unsafe_code)]

mod bounds;
mod cli;
mod commands;
#[cfg(test)]
mod examples;
mod executor;
mod failure;
mod file;
mod gate;
mod index;
mod interrupt;
mod job;
mod lab;
mod mistakes;
mod naming;
mod observing;
mod plan;
mod quiet;
mod serving;
mod sweep;
mod target;
mod throughput;
mod trials;
mod ui;
mod version;
mod view;
mod watch;

use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os()) {
        Ok(Cli { command: Some(command) }) => command,
        Ok(Cli { command: None }) => return ui::done(commands::about::welcome::run()),
        Err(error) => {
            // Guessing what was meant needs no privileges, so drop them before looking at files.
            let bare = collect::rights::keep_for(collect::rights::Task::Reading).is_ok();
            return ui::refused(&error, bare);
        }
    };
    // Must happen before any other thread exists.
    if let Err(error) = collect::rights::keep_for(command.task()) {
        return ui::done(Err(error.into()));
    }
    ui::done(match command {
        Command::Sweep(options) => commands::sweep::run(&options),
        Command::Record(options) => commands::record::run(&options),
        Command::Watch(options) => commands::watch::run(&options),
        Command::Report(options) => commands::report::run(&options),
        Command::View(options) => commands::view::run(&options),
        Command::Export(options) => commands::export::run(&options),
        Command::Import(options) => commands::import::run(&options),
        Command::WhatIf(options) => commands::what_if::run(&options),
        Command::Predict(options) => commands::predict::run(&options),
        Command::Show(options) => commands::show::run(&options),
        Command::Compare(options) => commands::compare::run(&options),
        Command::Try(options) => commands::experiment::run(&options),
        Command::Diff(options) => commands::diff::run(&options),
        Command::Explain(options) => commands::about::explain::run(&options),
        Command::Lab(options) => commands::lab::run(&options),
        Command::Doctor(options) => commands::about::doctor::run(&options),
        Command::Completions(options) => commands::about::completions::run(&options),
        Command::Man(options) => commands::about::man::run(&options),
    })
}
