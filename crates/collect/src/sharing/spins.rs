//! Samples in waiting loops, by thread and by what the loop reads.

use super::input::{LINE, Sampled};
use recording::tables::Loss;
use recording::{RunId, StackId};
use resolve::decode::{SampledAccess, Spin};
use std::collections::{BTreeMap, HashMap};

/// Samples from which on a polled address is watched: a few milliseconds of waiting.
///
/// Decides: from how many samples on a polled address is watched.
/// From: chosen: a few milliseconds of waiting.
/// Shown by: `bench/sharing`.
/// Wrong if: a run is too short for so many samples.
const NOMINATED: u64 = 5;

/// Combinations of thread and loop that are told apart (some 10 MiB); samples of further ones are only counted.
///
/// Decides: how many threads and loops are told apart.
/// From: memory: some 10 MiB.
/// Wrong if: the waiting loops come last.
const TALLIES: usize = 1 << 16;

/// Limit of what is remembered from sample to sample, before it starts over: a sample that does not show what its loop
/// reads is then treated as the first one there, and counting up to [`NOMINATED`] begins again.
///
/// Decides: how many places and polled addresses are remembered from sample to sample.
/// From: memory; chosen.
/// Wrong if: a program has very many sampled addresses.
const REMEMBERED: usize = 1 << 16;

/// A load of a waiting loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Read {
    pub(super) instruction: u64,
    pub(super) address: u64,
    pub(super) width: u16,
}

/// Samples of one thread with one call stack in one loop that reads the same places.
#[derive(Debug, Clone)]
pub(super) struct SpinTally {
    pub(super) space: u32,
    pub(super) thread: u32,
    /// The load whose address is not known, or the loop's start.
    instruction: u64,
    /// The bytes of the load whose address is not known.
    width: u16,
    /// In the order of the code.
    reads: Vec<Read>,
    pub(super) samples: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) pauses: bool,
    pub(super) yields: bool,
    pub(super) takes: bool,
    pub(super) user_stack: Option<StackId>,
}

impl SpinTally {
    /// What the loop waits for, as instruction, address and width. If it reads several addresses: the one that others
    /// were seen to write most. `written` tells how much an address was written.
    pub(super) fn awaited(&self, written: impl Fn(u32, u64) -> u64) -> (u64, Option<u64>, u16) {
        let most = self.reads.iter().max_by_key(|read| written(self.space, read.address));
        most.map_or((self.instruction, None, self.width), |read| (read.instruction, Some(read.address), read.width))
    }
}

/// Address space, thread, start of the loop, what it reads, and the call stack.
type SpinKey = (u32, u32, u64, Vec<Read>, Option<StackId>);

/// All samples in waiting loops of a run.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    tallies: BTreeMap<SpinKey, SpinTally>,
    /// What a thread was last seen to read in a loop, for samples that do not show it.
    last: HashMap<(u32, u32, u64), Vec<Read>>,
    /// Number of samples by what was read, until that is nominated.
    counts: HashMap<(u32, Read), u64>,
    fresh: Vec<(u32, Read)>,
    /// All samples, and those for which there was no room.
    samples: u64,
    dropped: u64,
}

impl Tallies {
    /// Counts a sample in a loop. `found`: the accesses around it.
    pub(super) fn add(&mut self, space: u32, sampled: &Sampled<'_>, spin: &Spin, found: &[SampledAccess]) {
        let place = (space, sampled.thread, spin.head);
        let mut reads: Vec<Read> = Vec::new();
        for polled in &spin.polled {
            let seen = found.iter().find(|access| access.instruction == polled.instruction);
            if let Some(address) = polled.fixed.or(seen.map(|access| access.address)) {
                reads.push(Read { instruction: polled.instruction, address, width: polled.width });
            }
        }
        if reads.len() < spin.polled.len() {
            // A loop reads the same addresses in each round, so an earlier sample may have shown them.
            let known = self.last.get(&place).map(Vec::as_slice).unwrap_or_default();
            let missing = |one: &&Read| !reads.iter().any(|read| read.instruction == one.instruction);
            let more: Vec<Read> = known.iter().filter(missing).copied().collect();
            reads.extend(more);
            reads.sort_unstable();
        }
        if self.last.len() >= REMEMBERED || self.counts.len() >= REMEMBERED {
            self.last.clear();
            self.counts.clear();
        }
        if !reads.is_empty() {
            self.last.insert(place, reads.clone());
        }
        for read in &reads {
            let count = self.counts.entry((space, *read)).or_default();
            *count += 1;
            if *count == NOMINATED {
                self.fresh.push((space, *read));
            }
        }
        let last = spin.polled.last();
        let key = (space, sampled.thread, spin.head, reads.clone(), sampled.user_stack);
        self.samples += 1;
        if self.tallies.len() >= TALLIES && !self.tallies.contains_key(&key) {
            self.dropped += 1;
            return;
        }
        let tally = self.tallies.entry(key).or_insert_with(|| SpinTally {
            space,
            thread: sampled.thread,
            instruction: last.map_or(spin.head, |polled| polled.instruction),
            width: last.map_or(0, |polled| polled.width),
            reads,
            samples: 0,
            first_ns: sampled.time_ns,
            last_ns: sampled.time_ns,
            pauses: spin.pauses,
            yields: spin.yields,
            takes: spin.takes,
            user_stack: sampled.user_stack,
        });
        tally.samples += 1;
        tally.first_ns = tally.first_ns.min(sampled.time_ns);
        tally.last_ns = tally.last_ns.max(sampled.time_ns);
    }

    /// Addresses that were read in loops often enough since the last call: address space, address, width.
    pub(super) fn nominated(&mut self) -> Vec<(u32, u64, u16)> {
        self.fresh.drain(..).map(|(space, read)| (space, read.address, read.width)).collect()
    }

    /// The cache lines that loops read.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let reads = self.tallies.values().flat_map(|tally| tally.reads.iter().map(|read| (tally.space, read)));
        reads.map(|(space, read)| (space, read.address / LINE))
    }

    pub(super) fn losses(&self, run: RunId) -> Option<Loss> {
        let (count, of) = (self.dropped, Some(self.samples));
        (count > 0).then(|| Loss { run, what: "samples in loops that wait".to_owned(), count, of })
    }

    /// All tallies, in a fixed order.
    pub(super) fn all(&self) -> impl Iterator<Item = &SpinTally> {
        self.tallies.values()
    }
}
