//! The only way to crate `collect`: one run of the target, measured or observed.

use crate::naming;
use crate::serving::ServingPlan;
use collect::load::{Loading, Server, Serving, run_clean_under};
use collect::{Ahead, Collector, Error, Finished, Observer, OutputSink, RunOptions, Stop};
use recording::tables::RunKind;
use recording::{RunId, Writer};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A run to be made, with its placeholders replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunRequest {
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
    pub(crate) threads: u32,
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Where it runs; none for knee's own folder.
    pub(crate) folder: Option<PathBuf>,
    /// The command that asks it for work, if it is a server.
    pub(crate) load: Option<Vec<OsString>>,
}

/// The destinations of printed output.
pub(crate) struct Outputs<'a> {
    pub(crate) program: &'a mut dyn OutputSink,
    pub(crate) load: &'a mut dyn OutputSink,
}

/// Makes runs. The sweep's tests have one that starts no process.
pub(crate) trait Executor {
    /// Makes the run. The rows of an observed run go to `writer`, except its row in `runs`.
    ///
    /// # Errors
    /// When knee or the machine fails; the failure of a target is reported in `Finished::exit`.
    fn run(&mut self, request: &RunRequest, to: Outputs<'_>, writer: &mut Writer) -> Result<Finished, Error>;

    /// What the user should know about the names and stacks of the observed runs in a recording's folder so far.
    fn notes(&self, _folder: &Path) -> Vec<String> {
        Vec::new()
    }
}

/// The executor that starts processes.
pub(crate) struct Processes {
    timeout: Option<Duration>,
    stop: Stop,
    collector: Collector,
    /// For a sweep over processors, their numbers: a count of n runs on the first n.
    order: Vec<u32>,
    /// How a server runs under its load.
    serving: Option<ServingPlan>,
    /// One per recording: stacks and names are written only once, to the recording in which they occur first.
    observers: BTreeMap<PathBuf, Observer>,
    /// Loads the BPF programs of the next observed run while nothing is timed.
    ahead: Arc<Ahead>,
}

impl Processes {
    /// Observed runs use `collector`. `order`: for a sweep over processors, their numbers.
    pub(crate) fn new(timeout: Option<Duration>, stop: Stop, collector: Collector, order: Vec<u32>) -> Processes {
        Processes { timeout, stop, collector, order, serving: None, observers: BTreeMap::new(), ahead: Arc::default() }
    }

    /// The same executor for a server.
    pub(crate) fn serving(self, serving: Option<ServingPlan>) -> Processes {
        Processes { serving, ..self }
    }

    /// The same executor, which uses the programs that `ahead` has loaded.
    pub(crate) fn loaded(self, ahead: Arc<Ahead>) -> Processes {
        Processes { ahead, ..self }
    }

    /// The load of a request, when it has one.
    fn load(&self, request: &RunRequest) -> Option<Serving> {
        let (plan, argv) = (self.serving.as_ref()?, request.load.clone()?);
        let processors = plan.processors.clone();
        // The variables are for the server only.
        let load = collect::Command { argv, env: Vec::new(), cwd: request.folder.clone(), processors };
        let ServingPlan { ready, ready_within, stop_within, .. } = plan;
        Some(Serving { load, ready: ready.clone(), ready_within: *ready_within, stop_within: *stop_within })
    }
}

impl Executor for Processes {
    fn run(&mut self, request: &RunRequest, to: Outputs<'_>, writer: &mut Writer) -> Result<Finished, Error> {
        let mut env = request.env.clone();
        if request.kind == RunKind::Traced {
            let inherited = |name: &str| std::env::var_os(name);
            env.extend(naming::variables(&request.argv, &request.env, self.collector, inherited));
        }
        let processors = self.order.iter().take(request.threads as usize).copied().collect();
        let command = collect::Command { argv: request.argv.clone(), env, cwd: request.folder.clone(), processors };
        // Counting costs time at every context switch, so it is done in warm-up runs, not in timed ones.
        let options =
            RunOptions { timeout: self.timeout, count_events: request.kind == RunKind::WarmUp, interactive: false };
        if request.kind == RunKind::WarmUp {
            self.ahead.start();
        }
        let serving = self.load(request);
        let stop = self.stop.clone();
        let mut observer = (request.kind == RunKind::Traced).then(|| {
            let observer = self.observers.entry(writer.folder().to_owned());
            observer.or_insert_with(|| Observer::with(self.collector, Arc::clone(&self.ahead)))
        });
        let Outputs { program: sink, load } = to;
        let Some(serving) = &serving else {
            return match &mut observer {
                Some(observer) => observer.run(&command, &options, sink, &stop, writer, request.run),
                None => collect::run_clean(&command, &options, sink, &stop),
            };
        };
        let server = Server { command: &command, options: &options, sink, stop: &stop };
        let loading = Loading { serving, sink: load };
        match &mut observer {
            Some(observer) => observer.run_under(server, loading, writer, request.run),
            None => run_clean_under(server, loading),
        }
    }

    fn notes(&self, folder: &Path) -> Vec<String> {
        self.observers.get(folder).map_or_else(Vec::new, Observer::notes)
    }
}
