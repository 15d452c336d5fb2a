//! What is known of a run as a whole, and what was lost. May import: the BPF side and the other rooms of `trace`.

use super::consumer::Consumer;
use crate::bpf::abi::*;
use recording::tables::*;

impl Consumer<'_> {
    pub(super) fn trace(&self, end_ns: u64) -> Trace {
        let now = self.processors();
        let since = |value: fn(&ProcessorRecord) -> u64| {
            let sum = |records: &[ProcessorRecord]| records.iter().map(value).sum::<u64>();
            sum(&now).saturating_sub(sum(&self.processors_at_begin))
        };
        Trace {
            run: self.run,
            begin_ns: self.begin_ns.unwrap_or(end_ns),
            end_ns,
            processors: now.len() as u32,
            sample_period_ns: 1_000_000_000 / self.programs.sample_hz,
            idle_ns: since(|p| p.idle_ns),
            foreign_ns: since(|p| p.foreign_ns),
            observer_ns: since(|p| p.observer_ns),
        }
    }

    pub(super) fn losses(&self) -> Vec<Loss> {
        let counts = self.programs.globals.read(0).map_or([0; 16], |globals| globals.losses);
        let kernel = LOSSES.iter().zip(counts).filter_map(|(what, count)| {
            let what = (*what)?;
            let of = (what == LOST_SAMPLES).then_some(self.sampled + count);
            Some((what, count, of))
        });
        let (untold, places) = self.roll.untold();
        let stacks = self.sampled + self.roll.told.paths();
        kernel
            .chain([
                ("outermost frames of stacks", self.cut_stacks, Some(stacks)),
                ("stacks of wait places", untold, Some(places)),
                ("marks that could not be listened to", self.programs.failed_marks(), None),
                ("system calls on the timeline", self.untold_calls, None),
            ])
            .filter(|(_, count, _)| *count > 0)
            .map(|(what, count, of)| Loss { run: self.run, what: what.to_owned(), count, of })
            .collect()
    }
}
