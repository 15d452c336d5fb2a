//! The sweep's loop: makes the planned runs, keeps what they measured, goes on where a thread count fails.
//!
//! Rooms: `output` what the target printed; `record` a finished run as a row; `stray` observed runs to be made
//! again; `progress` what the user sees meanwhile;
//! here the order of things. May import: `executor`, `plan`, `template`, `throughput`, recording.

mod output;
mod progress;
pub(crate) mod record;
mod stray;
#[cfg(test)]
mod tests;

pub(crate) use progress::{Mode as ProgressMode, Progress};

use crate::executor::{Executor, RunRequest};
use crate::plan::Planned;
use crate::template::Template;
use crate::throughput::{Chosen, Forms, Found, Scanner, choose};
use collect::{Error, Exit, Finished, Stop};
use output::{Capture, Output};
use recording::meta::Meta;
use recording::tables::{Run, RunKind};
use recording::{RunId, Writer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The program's last lines that an error shows.
const LAST_LINES: usize = 10;

/// What to sweep.
pub(crate) struct Sweep<'s> {
    pub(crate) template: &'s Template,
    pub(crate) plan: &'s [Planned],
    pub(crate) forms: &'s Forms,
    pub(crate) stop: &'s Stop,
    /// Where the target's output is kept.
    pub(crate) output: PathBuf,
    /// Show the target's output after each run.
    pub(crate) show_output: bool,
}

/// A thread count at which the program could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) why: String,
    /// The run's last lines.
    pub(crate) output: Vec<String>,
}

/// What became of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Timed runs that succeeded.
    pub(crate) timed: u32,
    /// Counts that failed, by thread count.
    pub(crate) broken: BTreeMap<u32, Broken>,
    pub(crate) interrupted: bool,
}

/// The state between two runs.
struct Going<'s, 'p> {
    sweep: &'s Sweep<'s>,
    progress: &'p mut Progress<'p>,
    outcome: Outcome,
    /// Rows whose throughput is not known before the form is chosen.
    pending: Vec<(Run, Found)>,
    chosen: Option<Option<Chosen>>,
    /// Set when observing has failed once: it would fail again.
    cannot_trace: bool,
    times: stray::Times,
}

impl<'s> Sweep<'s> {
    /// Makes the runs. What the user should know is added to `meta.notes`; `meta.throughput` is set.
    ///
    /// # Errors
    /// When knee itself fails: the target cannot be started, the recording cannot be written. A target that fails is
    /// told by [`Outcome::broken`].
    pub(crate) fn run(
        &'s self,
        executor: &mut dyn Executor,
        writer: &mut Writer,
        meta: &mut Meta,
        progress: &'s mut Progress<'s>,
    ) -> anyhow::Result<Outcome> {
        let mut going = Going {
            sweep: self,
            progress,
            outcome: Outcome::default(),
            pending: Vec::new(),
            chosen: None,
            cannot_trace: false,
            times: stray::Times::default(),
        };
        let made = going.all(executor, writer, meta);
        going.progress.clear();
        // Also after a failure: the runs until then are worth keeping.
        let kept = going.choose(writer, meta);
        made.and(kept)?;
        Ok(going.outcome)
    }
}

impl Going<'_, '_> {
    fn all(&mut self, executor: &mut dyn Executor, writer: &mut Writer, meta: &mut Meta) -> anyhow::Result<()> {
        let first_block = self.sweep.plan.first().map(|p| (p.kind, p.block));
        for (number, planned) in self.sweep.plan.iter().enumerate() {
            if self.sweep.stop.requested() {
                self.outcome.interrupted = true;
                return Ok(());
            }
            if Some((planned.kind, planned.block)) != first_block {
                self.choose(writer, meta)?;
            }
            let skip = self.outcome.broken.contains_key(&planned.threads);
            if skip || (self.cannot_trace && planned.kind == RunKind::Traced) {
                continue;
            }
            self.progress.starts(self.sweep.plan, number);
            self.one(*planned, RunId(number as u32), executor, writer, meta)?;
        }
        self.observe_again(executor, writer, meta)?;
        // The last run, too, may have been ended by the signal that the user sent.
        self.outcome.interrupted |= self.sweep.stop.requested();
        Ok(())
    }

    /// Repeats observed runs that are not like the timed ones.
    fn observe_again(
        &mut self,
        executor: &mut dyn Executor,
        writer: &mut Writer,
        meta: &mut Meta,
    ) -> anyhow::Result<()> {
        let mut run = self.sweep.plan.len() as u32;
        // Each pass adds a run for each count that it names, and their number is bounded.
        loop {
            let strays = self.times.strays();
            let broken = |threads: &u32| self.outcome.broken.contains_key(threads);
            if self.cannot_trace || strays.is_empty() || strays.iter().any(broken) {
                return Ok(());
            }
            for threads in strays {
                if self.sweep.stop.requested() {
                    return Ok(());
                }
                let planned = Planned { kind: RunKind::Traced, threads, block: 0 };
                self.progress.repeats(planned);
                self.one(planned, RunId(run), executor, writer, meta)?;
                run += 1;
            }
        }
    }

    fn one(
        &mut self,
        planned: Planned,
        run: RunId,
        executor: &mut dyn Executor,
        writer: &mut Writer,
        meta: &mut Meta,
    ) -> anyhow::Result<()> {
        let (argv, env) = self.sweep.template.at(planned.threads);
        let request = RunRequest { run, kind: planned.kind, threads: planned.threads, argv, env };
        let mut capture = Capture::new(Scanner::new(self.sweep.forms));
        let result = executor.run(&request, &mut capture, writer);
        let (output, found) = capture.finish();
        output.write(&self.sweep.output, run.0)?;
        if self.sweep.show_output {
            self.progress.output(planned, &output.lines());
        }
        match result {
            Ok(finished) => self.finished(planned, run, &finished, &output, found, writer, meta),
            Err(Error::Interrupted) => {
                self.outcome.interrupted = true;
                Ok(())
            }
            Err(error @ Error::Timeout { .. }) => {
                self.breaks(planned, &error.to_string(), &output, meta);
                Ok(())
            }
            // Without the causes the curve is still worth having.
            Err(error) if planned.kind == RunKind::Traced => {
                self.cannot_trace = true;
                let why = anyhow::Error::from(error);
                meta.notes.push(format!("the runs could not be observed, so there are no causes: {why:#}"));
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one run, used here only")]
    fn finished(
        &mut self,
        planned: Planned,
        run: RunId,
        finished: &Finished,
        output: &Output,
        found: Found,
        writer: &mut Writer,
        meta: &mut Meta,
    ) -> anyhow::Result<()> {
        // A target that dies of the user's Ctrl-C has not failed.
        if finished.exit != Exit::Status(0) && self.sweep.stop.requested() {
            self.outcome.interrupted = true;
            return Ok(());
        }
        let row = record::row(run, planned, finished);
        match finished.exit {
            // Its row is left out: one run without a throughput would turn the whole sweep to wall times.
            Exit::Status(0) if self.sweep.forms.given && !found.any() => {
                self.breaks(planned, "the throughput pattern matched no number in its output", output, meta);
                return Ok(());
            }
            Exit::Status(0) => {
                self.outcome.timed += u32::from(planned.kind == RunKind::Clean);
                self.progress.ended(planned, finished.wall_ns);
            }
            Exit::Status(status) => self.breaks(planned, &format!("exit status {status}"), output, meta),
            Exit::Signal(signal) => self.breaks(planned, &record::signal_name(signal), output, meta),
        }
        match &self.chosen {
            None => self.pending.push((row, found)),
            Some(chosen) => {
                let row = with_throughput(row, &found, chosen.as_ref());
                self.times.add(&row);
                writer.append(&[row])?;
            }
        }
        Ok(())
    }

    /// The count is given up; the others go on.
    fn breaks(&mut self, planned: Planned, why: &str, output: &Output, meta: &mut Meta) {
        let threads = report::words::plural(planned.threads.into(), "thread");
        let observed = if planned.kind == RunKind::Traced { " while it was observed" } else { "" };
        meta.notes
            .push(format!("with {threads} a run failed{observed} ({why}); no more runs were made with that count"));
        let broken = Broken { why: why.to_owned(), output: output.last_lines(LAST_LINES) };
        self.progress.breaks(planned, &broken);
        self.outcome.broken.insert(planned.threads, broken);
    }

    /// Chooses the throughput's form, once, and writes the rows that waited for it.
    fn choose(&mut self, writer: &mut Writer, meta: &mut Meta) -> anyhow::Result<()> {
        if self.chosen.is_some() {
            return Ok(());
        }
        let good = self.pending.iter().filter(|(run, _)| run.exit_status == Some(0));
        let runs: Vec<Found> = good.map(|(_, found)| found.clone()).collect();
        let (chosen, note) = choose(self.sweep.forms, &runs);
        meta.notes.extend(note);
        meta.throughput = chosen.as_ref().map(|c| c.throughput.clone());
        writer.set_meta(meta)?;
        let rows: Vec<Run> =
            self.pending.drain(..).map(|(run, found)| with_throughput(run, &found, chosen.as_ref())).collect();
        rows.iter().for_each(|row| self.times.add(row));
        writer.append(&rows)?;
        self.chosen = Some(chosen);
        Ok(())
    }
}

fn with_throughput(mut run: Run, found: &Found, chosen: Option<&Chosen>) -> Run {
    run.throughput = chosen.and_then(|c| c.value(found));
    run
}
