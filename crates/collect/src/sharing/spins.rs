//! Samples in loops that wait, by thread and by what the loop reads. May import: resolve's loops.

use super::{LINE, Sampled};
use recording::StackId;
use resolve::decode::{SampledAccess, Spin};
use std::collections::{BTreeSet, HashMap};

/// A polled address is watched from so many samples on: a few milliseconds of waiting.
const NOMINATED: u64 = 5;

/// One thread in one loop, at one address.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    pub(super) space: u32,
    pub(super) thread: u32,
    pub(super) instruction: u64,
    pub(super) address: Option<u64>,
    pub(super) width: u16,
    pub(super) samples: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) pauses: bool,
    pub(super) yields: bool,
    pub(super) takes: bool,
    pub(super) user_stack: Option<StackId>,
    nominated: bool,
}

/// Instruction, address, width.
type Read = (u64, u64, u16);

/// Address space, thread, start of the loop, and address.
type Key = (u32, u32, u64, Option<u64>);

/// All of a run.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    tallies: HashMap<Key, Tally>,
    /// What a thread was last seen to read in a loop: for samples that do not tell.
    last: HashMap<(u32, u32, u64), Vec<Read>>,
}

impl Tallies {
    /// Counts a sample in a loop. `found`: the accesses around it.
    pub(super) fn add(&mut self, space: u32, sampled: &Sampled<'_>, spin: &Spin, found: &[SampledAccess]) {
        let place = (space, sampled.thread, spin.head);
        let mut read: Vec<Read> = Vec::new();
        for polled in &spin.polled {
            let seen =
                found.iter().find(|access| access.instruction == polled.instruction).map(|access| access.address);
            if let Some(address) = polled.fixed.or(seen) {
                read.push((polled.instruction, address, polled.width));
            }
        }
        if read.len() < spin.polled.len() {
            // What the loop reads does not change from round to round: an earlier sample may have told.
            let known = self.last.get(&place).cloned().unwrap_or_default();
            let missing = |one: &Read| !read.iter().any(|(instruction, ..)| *instruction == one.0);
            let more: Vec<_> = known.into_iter().filter(missing).collect();
            read.extend(more);
        }
        if !read.is_empty() {
            self.last.insert(place, read.clone());
        }
        // A loop that looks at several places waits for all of them: its time is counted once, with the place that was
        // read last in a round, which is mostly the one reached through the others.
        let main = read.last().copied();
        let instruction = main.map(|(instruction, ..)| instruction);
        let instruction =
            instruction.or_else(|| spin.polled.last().map(|polled| polled.instruction)).unwrap_or(spin.head);
        let address = main.map(|(_, address, _)| address);
        let key = (space, sampled.thread, spin.head, address);
        let tally = self.tallies.entry(key).or_insert_with(|| Tally {
            space,
            thread: sampled.thread,
            instruction,
            address,
            width: main.map_or_else(|| spin.polled.last().map_or(0, |polled| polled.width), |(.., width)| width),
            samples: 0,
            first_ns: sampled.time_ns,
            last_ns: sampled.time_ns,
            pauses: spin.pauses,
            yields: spin.yields,
            takes: spin.takes,
            user_stack: sampled.user_stack,
            nominated: false,
        });
        tally.samples += 1;
        tally.first_ns = tally.first_ns.min(sampled.time_ns);
        tally.last_ns = tally.last_ns.max(sampled.time_ns);
    }

    /// Addresses that were read in loops often enough since the last call: address space, address, width.
    pub(super) fn nominated(&mut self) -> Vec<(u32, u64, u16)> {
        let mut fresh = Vec::new();
        for tally in self.tallies.values_mut().filter(|tally| !tally.nominated && tally.samples >= NOMINATED) {
            tally.nominated = true;
            fresh.extend(tally.address.map(|address| (tally.space, address, tally.width)));
        }
        fresh
    }

    /// The cache lines that loops read.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.tallies.values().filter_map(|tally| Some((tally.space, tally.address? / LINE)))
    }

    /// All, in a fixed order.
    pub(super) fn all(&self) -> Vec<Tally> {
        let keys: BTreeSet<&Key> = self.tallies.keys().collect();
        keys.into_iter().filter_map(|key| self.tallies.get(key).cloned()).collect()
    }
}
