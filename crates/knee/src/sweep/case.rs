//! The state of one case while its runs are made: its recording, its form of throughput, its failed counts.

use super::stray;
use crate::plan::Planned;
use crate::plan::template::Template;
use crate::serving::SERVER_KILLED;
use crate::throughput::{Chosen, Forms, Found, choose_for_runs};
use analyze::curve::{so_far, undecided};
use analyze::disturbance::{Usual, disturbance};
use recording::meta::Meta;
use recording::tables::{Run, RunKind};
use recording::{RunId, Writer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a case runs and where its recording goes.
pub(crate) struct Case<'c> {
    pub(crate) template: &'c Template,
    pub(crate) writer: &'c mut Writer,
    pub(crate) meta: &'c mut Meta,
    /// Where the target's output is kept.
    pub(crate) output: PathBuf,
}

/// A thread count at which the program could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) why: String,
    /// The last lines that the run printed.
    pub(crate) output: Vec<String>,
}

/// The result of a case.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Timed runs that succeeded.
    pub(crate) timed: u32,
    /// Counts that failed, by thread count.
    pub(crate) broken: BTreeMap<u32, Broken>,
}

/// The state of a case between two of its runs.
pub(super) struct OpenCase<'c> {
    pub(super) case: Case<'c>,
    pub(super) outcome: Outcome,
    /// Timed runs of the current block. Whether the block is kept is only known at its end.
    block: Vec<(Run, Found)>,
    /// Timed runs that were kept and written. They show what is usual on this machine, and whether more are needed.
    kept: Vec<Run>,
    /// Rows that wait for the choice of a throughput form, because their throughput is unknown until then.
    pending: Vec<(Run, Found)>,
    chosen: Option<Option<Chosen>>,
    /// Set once observing has failed, because it would fail again.
    cannot_trace: bool,
    /// Set when its server had to be killed once.
    killed: bool,
    processors: u32,
    times: stray::Times,
    runs: u32,
}

impl<'c> OpenCase<'c> {
    /// `processors` is the number of processors that the target may use.
    pub(super) fn new(case: Case<'c>, processors: u32) -> OpenCase<'c> {
        OpenCase {
            processors,
            case,
            outcome: Outcome::default(),
            block: Vec::new(),
            kept: Vec::new(),
            pending: Vec::new(),
            chosen: None,
            cannot_trace: false,
            killed: false,
            times: stray::Times::default(),
            runs: 0,
        }
    }

    /// A handle for the next run of this case's recording.
    pub(super) fn next_run(&mut self) -> RunId {
        let run = RunId(self.runs);
        self.runs += 1;
        run
    }

    /// True when the run would fail as an earlier one did.
    pub(super) fn skips(&self, planned: Planned) -> bool {
        self.outcome.broken.contains_key(&planned.threads) || (self.cannot_trace && planned.kind == RunKind::Traced)
    }

    /// Counts whose observed runs should be made again.
    pub(super) fn strays(&self) -> Vec<u32> {
        let mut strays = self.times.strays();
        strays.retain(|threads| !self.cannot_trace && !self.outcome.broken.contains_key(threads));
        strays
    }

    pub(super) fn cannot_trace(&mut self, error: collect::Error) {
        self.cannot_trace = true;
        let why = anyhow::Error::from(error);
        self.case.meta.notes.push(format!("the runs could not be observed, so there are no causes: {why:#}"));
    }

    pub(super) fn breaks(&mut self, planned: Planned, broken: Broken) {
        let with = self.case.meta.counted.many(planned.threads);
        let observed = if planned.kind == RunKind::Traced { " while it was observed" } else { "" };
        self.case.meta.notes.push(format!(
            "with {with} a run failed{observed} ({}); no more runs were made with that count",
            broken.why
        ));
        self.outcome.broken.insert(planned.threads, broken);
    }

    /// Notes, once, that the server had to be killed.
    pub(super) fn server_was_killed(&mut self) {
        if !std::mem::replace(&mut self.killed, true) {
            self.case.meta.notes.push(SERVER_KILLED.to_owned());
        }
    }

    /// Adds a finished run.
    pub(super) fn add(&mut self, row: Run, found: Found) -> anyhow::Result<()> {
        if row.kind == RunKind::Clean {
            self.block.push((row, found));
            return Ok(());
        }
        self.write(row, found)
    }

    /// True when something disturbed a run of the current block.
    pub(super) fn disturbed(&self) -> bool {
        self.block.iter().any(|(run, _)| {
            let like = self.kept.iter().filter(|kept| kept.threads == run.threads);
            let processors = self.case.meta.usable_at(run.threads).min(self.processors);
            disturbance(run, &Usual::from_runs(like, processors), processors).is_some()
        })
    }

    /// Ends the block: its runs are kept as timed ones (`Clean`), or marked as disturbed.
    pub(super) fn settle(&mut self, kind: RunKind) -> anyhow::Result<()> {
        for (mut row, found) in std::mem::take(&mut self.block) {
            row.kind = kind;
            if kind == RunKind::Clean {
                self.outcome.timed += u32::from(row.exit_status == Some(0));
            }
            self.write(row, found)?;
        }
        Ok(())
    }

    fn write(&mut self, row: Run, found: Found) -> anyhow::Result<()> {
        match &self.chosen {
            None => self.pending.push((row, found)),
            Some(chosen) => {
                let row = with_throughput(row, &found, chosen.as_ref());
                self.append(&[row])?;
            }
        }
        Ok(())
    }

    fn append(&mut self, rows: &[Run]) -> anyhow::Result<()> {
        rows.iter().for_each(|row| self.times.add(row, self.case.meta.usable_at(row.threads)));
        self.kept.extend(rows.iter().filter(|row| row.kind == RunKind::Clean).cloned());
        Ok(self.case.writer.append(rows)?)
    }

    /// True when the timed runs so far leave open whether the program loses time.
    pub(super) fn undecided(&self) -> bool {
        undecided(&self.kept, self.processors)
    }

    /// The largest count and its speed-up, as far as the timed runs show it.
    pub(super) fn so_far(&self) -> Option<(u32, f64)> {
        so_far(&self.kept)
    }

    /// The form of the throughput that the runs so far show; none where it is chosen already.
    pub(super) fn choice(&self, forms: &Forms) -> Option<Choice> {
        if self.chosen.is_some() {
            return None;
        }
        let good = self.pending.iter().filter(|(run, _)| run.exit_status == Some(0));
        let runs: Vec<(Found, u32, f64)> =
            good.map(|(run, found)| (found.clone(), run.threads, seconds(run))).collect();
        let (chosen, note) = choose_for_runs(forms, &runs);
        Some(Choice { chosen, note, of_nothing: runs.is_empty() })
    }

    /// Takes the throughput's form, and writes the rows that waited for it.
    pub(super) fn choose(&mut self, choice: Choice) -> anyhow::Result<()> {
        let Choice { chosen, note, .. } = choice;
        let Case { writer, meta, .. } = &mut self.case;
        meta.notes.extend(note);
        meta.throughput = chosen.as_ref().map(|c| c.throughput.clone());
        writer.set_meta(meta)?;
        let rows: Vec<Run> =
            self.pending.drain(..).map(|(run, found)| with_throughput(run, &found, chosen.as_ref())).collect();
        self.chosen = Some(chosen);
        self.append(&rows)
    }
}

/// A form of the throughput, and what the user should know about it.
#[derive(Debug, Default)]
pub(super) struct Choice {
    chosen: Option<Chosen>,
    note: Option<String>,
    /// True where every run failed.
    of_nothing: bool,
}

impl Choice {
    /// True where other cases may use the time that they print.
    pub(super) fn allows_times(&self) -> bool {
        self.of_nothing || self.is_time()
    }

    /// True where the program's time is used.
    pub(super) fn is_time(&self) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| chosen.throughput.times)
    }
}

fn seconds(run: &Run) -> f64 {
    run.wall_ns as f64 * 1e-9
}

/// Adds what the program or its load printed.
pub(crate) fn with_throughput(mut run: Run, found: &Found, chosen: Option<&Chosen>) -> Run {
    run.throughput = chosen.and_then(|c| c.value(found, seconds(&run)));
    if let Some(report) = &found.load {
        run.load_errors = report.errors;
        (run.latency_median_ns, run.latency_99_ns) = (report.median_ns, report.at_99_ns);
    }
    run
}
