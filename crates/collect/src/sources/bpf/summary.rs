//! The run as a whole: when it began, what the processors did meanwhile, and what the kernel side lost.

use super::thread::text;
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::build::Builder;
use crate::events::{Event, RunSummary};
use crate::machine::{usable_by, usable_processors};

/// The beginning of a run.
#[derive(Debug)]
pub(super) struct Beginning {
    /// Absent until the target executes.
    pub(super) begin_ns: Option<u64>,
    /// The processors that the target may run on.
    usable: Vec<usize>,
    processors: Vec<ProcessorRecord>,
}

impl Beginning {
    /// For a target that may run wherever knee may.
    pub(super) fn new() -> Beginning {
        Beginning { begin_ns: None, usable: usable_processors(), processors: Vec::new() }
    }

    /// The target may run where this process may.
    pub(super) fn runs_where(&mut self, pid: u32) {
        self.usable = usable_by(pid);
    }

    /// Sets the beginning of the run; only the first call has an effect.
    pub(super) fn set(&mut self, now_ns: u64, programs: &Programs) {
        if self.begin_ns.is_none() {
            self.begin_ns = Some(now_ns);
            self.processors = self.now(programs);
        }
    }

    /// The run from its beginning to `end_ns`.
    pub(super) fn summary(&self, end_ns: u64, programs: &Programs) -> RunSummary {
        let now = self.now(programs);
        let since = |value: fn(&ProcessorRecord) -> u64| {
            let sum = |records: &[ProcessorRecord]| records.iter().map(value).sum::<u64>();
            sum(&now).saturating_sub(sum(&self.processors))
        };
        RunSummary {
            begin_ns: self.begin_ns.unwrap_or(end_ns),
            end_ns,
            processors: now.len() as u32,
            sample_period_ns: 1_000_000_000 / programs.sample_hz,
            idle_ns: since(|p| p.idle_ns),
            foreign_ns: since(|p| p.foreign_ns),
            observer_ns: since(|p| p.observer_ns),
        }
    }

    /// The records of the processors that the target may use.
    pub(super) fn now(&self, programs: &Programs) -> Vec<ProcessorRecord> {
        self.usable.iter().map(|processor| programs.processors.read(*processor).unwrap_or_default()).collect()
    }
}

/// Emits what the kernel side lost. `sampled`: samples that were not lost.
pub(super) fn losses(programs: &Programs, sampled: u64, to: &mut Builder) {
    let counts = programs.globals.read(0).map_or([0; LOSS_SLOTS], |globals| globals.losses);
    for (what, count) in LOSSES.iter().zip(counts) {
        if let Some(what) = *what {
            to.add(Event::Lost { what, count, of: (what == LOST_SAMPLES).then_some(sampled + count) });
        }
    }
    to.add(Event::Lost { what: "marks that could not be listened to", count: programs.failed_marks(), of: None });
}

/// Emits the other programs, the busiest first. The target's own processes are left out: until it was enrolled, the
/// child that became the target counted as another program for a tenth of a millisecond.
pub(super) fn other_programs(programs: &Programs, is_targets: impl Fn(u32) -> bool, to: &mut Builder) {
    let others = programs.foreign.iter().flatten();
    // knee's own time is in the run's row.
    let mut others: Vec<(u32, ForeignValue)> =
        others.filter(|(pid, _)| *pid != std::process::id() && !is_targets(*pid)).collect();
    others.sort_by_key(|(pid, value)| (std::cmp::Reverse(value.running_ns), *pid));
    for (pid, value) in others {
        to.add(Event::Foreign { pid, name: text(&value.comm), running_ns: value.running_ns });
    }
}
