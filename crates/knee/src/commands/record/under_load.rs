//! `knee record --load`: one observed run of a server while its load runs.

use crate::cli;
use crate::commands::shared::answer::OUTPUT;
use crate::commands::sweep::explain;
use crate::failure::{Failure, Status};
use crate::job;
use crate::naming;
use crate::plan::Planned;
use crate::serving::{self, ServingPlan, nothing_done};
use crate::sweep::output::Capture;
use crate::sweep::record::row;
use crate::sweep::with_throughput;
use crate::target;
use crate::throughput::{Forms, Found, Scanner, choose, tools};
use collect::load::{Loading, Server, Serving};
use collect::{Collector, Command, Error, Exit, Observer, RunOptions, Stop};
use recording::meta::{Load, Meta};
use recording::tables::{Run, RunKind};
use recording::{RunId, Writer};
use std::ffi::OsString;

/// The only run of the recording.
pub(super) const RUN: RunId = RunId(0);

/// The load's last lines that an error shows.
const LAST_LINES: usize = 10;

/// A load, with its options checked.
pub(super) struct UnderLoad {
    words: Vec<OsString>,
    plan: ServingPlan,
    forms: Forms,
}

impl UnderLoad {
    /// The load that the options ask for, if they do.
    ///
    /// # Errors
    /// When they are wrong, or its program is missing.
    pub(super) fn from_options(options: &cli::Record) -> anyhow::Result<Option<UnderLoad>> {
        let (Some(load), Some(plan)) = (options.serve.load.as_deref(), job::serving(&options.serve)?) else {
            return Ok(None);
        };
        let words = serving::words(load)?;
        if let Some(program) = words.first() {
            target::check(program, None, std::env::var_os("PATH").as_deref())?;
        }
        Ok(Some(UnderLoad { words, plan, forms: job::forms(options.throughput.as_deref())? }))
    }

    /// What `meta.json` says about the load.
    pub(super) fn described(&self) -> Load {
        Load {
            command: self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            processors: self.plan.processors.clone(),
            ready: self.plan.ready.option(),
        }
    }

    /// Starts the server, runs the load to its end, and ends the server. The flag is true when the user ended the load
    /// early.
    pub(super) fn observe(
        &self,
        collector: Collector,
        (argv, env): (&[OsString], Vec<(OsString, OsString)>),
        stop: &Stop,
        writer: &mut Writer,
        meta: &mut Meta,
    ) -> anyhow::Result<(Run, bool)> {
        let named = naming::variables(argv, &env, collector, |name| std::env::var_os(name));
        let env = env.into_iter().chain(named).collect();
        let command = Command { argv: argv.to_vec(), env, cwd: None, processors: Vec::new() };
        let ServingPlan { ready, ready_within, stop_within, processors } = self.plan.clone();
        let load = Command { argv: self.words.clone(), env: Vec::new(), cwd: None, processors };
        let serving = Serving { load, ready, ready_within, stop_within };
        // The user's Ctrl-C ends the load, and what was seen is kept.
        let options = RunOptions { interactive: true, ..RunOptions::default() };
        let (mut server_output, mut load_output) = (Capture::new(None), Capture::new(Some(Scanner::new(&self.forms))));
        let mut observer = Observer::new(collector);
        let server = Server { command: &command, options: &options, sink: &mut server_output, stop };
        let loading = Loading { serving: &serving, sink: &mut load_output };
        let finished = observer.run_under(server, loading, writer, RUN);
        meta.notes.extend(observer.notes());
        let ((server_output, _), (load_output, found)) = (server_output.finish(), load_output.finish());
        let finished = finished.map_err(|error| match serving::of_error(&error) {
            Some(why) => {
                let last = server_output.last_lines(LAST_LINES);
                let failure = Failure::new(Status::Target, why);
                if last.is_empty() { failure.into() } else { failure.hint(last.join("\n")).into() }
            }
            None if matches!(error, Error::Interrupted) => {
                Failure::new(Status::Interrupted, "interrupted before the server was ready").into()
            }
            None => explain(error.into()),
        })?;
        let folder = writer.folder().join(OUTPUT);
        server_output.write(&folder, RUN.0, "")?;
        load_output.write(&folder, RUN.0, ".load")?;
        let found = Found { load: tools::read(&load_output.text()), ..found };
        let stopped = stop.requested();
        let useless = nothing_done(&found, self.forms.given).filter(|_| !stopped);
        if useless.is_some() && finished.exit != Exit::Status(0) {
            let next = "--ready says when the server takes requests, if it listens before that";
            let last = load_output.last_lines(LAST_LINES);
            let hint = if last.is_empty() { next.to_owned() } else { format!("{}\n{next}", last.join("\n")) };
            return Err(Failure::new(Status::Target, format!("the load failed: {}", finished.exit)).hint(hint).into());
        }
        meta.notes.extend(useless);
        if finished.load.as_ref().is_some_and(|load| load.server_killed) {
            meta.notes.push(serving::SERVER_KILLED.to_owned());
        }
        let (chosen, note) = choose(&self.forms, std::slice::from_ref(&found));
        meta.notes.extend(note);
        meta.throughput = chosen.as_ref().map(|chosen| chosen.throughput.clone());
        // The number of threads is counted later.
        let planned = Planned { case: 0, kind: RunKind::Traced, threads: 1, block: 0 };
        Ok((with_throughput(row(RUN, planned, &finished), &found, chosen.as_ref()), stopped))
    }
}
