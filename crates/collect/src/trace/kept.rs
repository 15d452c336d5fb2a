//! Rows of the kernel's tables that belong to threads that have ended, taken out to make room for others.
//!
//! A program that makes threads all the time would fill the tables otherwise. May import: the BPF side.

use crate::bpf::Programs;
use crate::bpf::abi::*;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

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

    /// Forgets what was taken out: a live view does not need it.
    pub(super) fn forget(&mut self) {
        let (places_then, ended_then) = (self.places_then, self.ended_then);
        *self = Kept { places_then, ended_then, ..Kept::default() };
    }

    /// Takes what a thread's record holds that is not yet in the tables.
    pub(super) fn pending(&mut self, record: &ThreadRecord) {
        let (wait, edge) = (&record.wait, &record.edge);
        if wait.place != 0 && wait.count > 0 {
            let key = PlaceKey { thread: record.thread, kind: wait.kind, object: wait.object, path: wait.path };
            let value = PlaceValue {
                place: wait.place,
                told: 0,
                count: wait.count,
                blocked_ns: wait.blocked_ns,
                runnable_ns: wait.runnable_ns,
                longest_ns: wait.longest_ns,
                bars: wait.bars,
            };
            self.places.push((key, value));
        }
        if edge.place != 0 && edge.count > 0 {
            let key = EdgeKey {
                place: edge.place,
                waker: edge.waker,
                waker_place: edge.waker_place,
                waker_call: edge.waker_call,
                holder: edge.holder,
            };
            self.edges.push((key, EdgeValue { count: edge.count, blocked_ns: edge.blocked_ns }));
        }
    }

    /// Takes out everything that is left, and sums up what belongs together.
    pub(super) fn rest(&mut self, programs: &Programs) {
        self.places.extend(programs.places.iter().flatten());
        self.edges.extend(programs.edges.iter().flatten());
        self.places = sum_up(std::mem::take(&mut self.places), |sum, value: &PlaceValue| {
            sum.count += value.count;
            sum.blocked_ns += value.blocked_ns;
            sum.runnable_ns += value.runnable_ns;
            sum.longest_ns = sum.longest_ns.max(value.longest_ns);
            for (bar, more) in sum.bars.iter_mut().zip(value.bars) {
                *bar += more;
            }
        });
        self.edges = sum_up(std::mem::take(&mut self.edges), |sum, value: &EdgeValue| {
            sum.count += value.count;
            sum.blocked_ns += value.blocked_ns;
        });
        self.calls.extend(programs.calls.iter().flatten());
        self.locks.extend(programs.locks.iter().flatten());
        self.syscalls.extend(programs.syscalls.iter().flatten());
    }
}

/// One row a key.
fn sum_up<K: Eq + Hash, V>(rows: Vec<(K, V)>, add: impl Fn(&mut V, &V)) -> Vec<(K, V)> {
    let mut sums: HashMap<K, V> = HashMap::with_capacity(rows.len());
    for (key, value) in rows {
        match sums.get_mut(&key) {
            Some(sum) => add(sum, &value),
            None => drop(sums.insert(key, value)),
        }
    }
    sums.into_iter().collect()
}
