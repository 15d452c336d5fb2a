//! Rows of the kernel's tables that belong to threads that have ended, taken out to make room for others.
//!
//! A program that makes threads all the time would fill the tables otherwise. May import: the BPF side.

use crate::bpf::Programs;
use crate::bpf::abi::*;
use std::collections::HashSet;

/// New places, and ended threads, after which the tables are looked through: a quarter of the tables of places and of
/// threads.
const PLACES: u32 = 32_768;
const THREADS: usize = 4_096;

/// What was taken out.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) places: Vec<(PlaceKey, PlaceValue)>,
    pub(super) edges: Vec<(EdgeKey, EdgeValue)>,
    pub(super) calls: Vec<(CallKey, CallValue)>,
    pub(super) locks: Vec<(LockKey, LockValue)>,
    pub(super) syscalls: Vec<(SyscallKey, u64)>,
    places_then: u32,
    ended_then: usize,
}

impl Kept {
    /// Whether so much is new that room should be made.
    pub(super) fn full(&self, places: u32, ended: usize) -> bool {
        ended > self.ended_then
            && (places.saturating_sub(self.places_then) > PLACES || ended - self.ended_then > THREADS)
    }

    /// Takes out the rows of ended threads.
    pub(super) fn take(&mut self, programs: &mut Programs, places: u32, ended: &HashSet<u32>) {
        (self.places_then, self.ended_then) = (places, ended.len());
        let before = self.places.len();
        // A row that cannot be removed is not kept either: it would count twice.
        macro_rules! move_out {
            ($table:ident, $gone:expr) => {
                let rows: Vec<_> = programs.$table.iter().flatten().filter($gone).collect();
                for (key, value) in rows {
                    if programs.$table.remove(&key).is_ok() {
                        self.$table.push((key, value));
                    }
                }
            };
        }
        move_out!(places, |(key, _)| ended.contains(&key.thread));
        let gone: HashSet<u32> = self.places[before..].iter().map(|(_, value)| value.place).collect();
        move_out!(edges, |(key, _)| gone.contains(&key.place));
        move_out!(calls, |(key, _)| ended.contains(&key.thread));
        move_out!(locks, |(key, _)| ended.contains(&key.thread));
        move_out!(syscalls, |(key, _)| ended.contains(&key.thread));
    }

    /// Takes out everything that is left.
    pub(super) fn rest(&mut self, programs: &Programs) {
        self.places.extend(programs.places.iter().flatten());
        self.edges.extend(programs.edges.iter().flatten());
        self.calls.extend(programs.calls.iter().flatten());
        self.locks.extend(programs.locks.iter().flatten());
        self.syscalls.extend(programs.syscalls.iter().flatten());
    }
}
