//! The threads of a run that have ended: their rows, made as soon as nothing can change them, and what of them those who
//! live on may still name. Everything else about them is forgotten, so that a program may make threads for ever.
//!
//! May import: the BPF records and the other rooms of `trace`.

use super::intern::Interner;
use super::kept::{Gone, Kept};
use super::parts::Rows;
use super::record::futex_operation;
use super::rows::{CallCounts, CallTiming, Maker, Who};
use super::slices::thread_id;
use super::told::Told;
use crate::bpf::abi::*;
use recording::tables::*;
use recording::{RunId, ThreadId};
use std::collections::{HashMap, HashSet};
use std::mem::take;

/// New places, and ended threads, after which rows of ended threads are taken out of the kernel's tables: a quarter of
/// its tables of places and of threads.
const PLACES: u32 = 32_768;
const THREADS: usize = 4_096;

/// Sums over the threads of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) running_ns: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) migrations: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// What other programs ran meanwhile, without knee; known at the end.
    pub(crate) foreign_ns: u64,
}

impl Totals {
    fn add(&mut self, thread: &Thread) {
        self.running_ns += thread.running_ns;
        self.voluntary_switches += thread.voluntary_switches;
        self.involuntary_switches += thread.involuntary_switches;
        self.migrations += thread.migrations;
        self.minor_faults += thread.minor_faults.unwrap_or(0);
        self.major_faults += thread.major_faults.unwrap_or(0);
    }
}

/// Threads whose rows are not made yet, beside those of the kernel's tables.
#[derive(Debug, Default)]
struct Batch {
    threads: Vec<Ended>,
    /// What their records held.
    pending: Kept,
    calls: CallCounts,
}

/// What tells a thread.
#[derive(Debug, Clone, Copy)]
struct Ended {
    thread: u32,
    pid: u32,
    /// Its number as the program itself sees it.
    number: u32,
}

impl Batch {
    fn append(&mut self, mut more: Batch) {
        self.threads.append(&mut more.threads);
        self.pending.places.append(&mut more.pending.places);
        self.pending.edges.append(&mut more.pending.edges);
        self.calls.append(&mut more.calls);
    }
}

/// All threads of a run, as far as they are remembered.
#[derive(Debug)]
pub(super) struct Roll {
    run: RunId,
    pub(super) told: Told,
    /// Rows that are not written yet.
    pub(super) rows: Rows,
    /// Threads of which more may be on its way, and those of which everything has come.
    fresh: Batch,
    ripe: Batch,
    who: Who,
    /// Threads that were there when observing began, by process and number.
    first: HashMap<(u32, u32), ThreadId>,
    /// Processes that are, or have been, the target's.
    pids: HashSet<u32>,
    places_then: u32,
    /// Wait places that were written or wait to be, and those of which no stack was told.
    waits: u64,
    untold: u64,
    /// Sums over all, and the latest end.
    pub(super) totals: Totals,
    pub(super) last_end_ns: Option<u64>,
    /// The largest handle of a thread, plus 1.
    pub(super) next_thread: u32,
}

impl Roll {
    pub(super) fn new(run: RunId) -> Roll {
        Roll {
            run,
            told: Told::default(),
            rows: Rows::default(),
            fresh: Batch::default(),
            ripe: Batch::default(),
            who: Who::default(),
            first: HashMap::new(),
            pids: HashSet::new(),
            places_then: 0,
            waits: 0,
            untold: 0,
            totals: Totals::default(),
            last_end_ns: None,
            next_thread: 0,
        }
    }

    /// Takes a thread that has ended, or lives on at the end of the run. What it told last may still be on its way.
    pub(super) fn add(&mut self, record: &ThreadRecord, row: Thread) {
        for cached in record.syscalls.iter().filter(|cached| cached.count > 0) {
            *self.fresh.calls.entry((record.thread, cached.number)).or_default() += u64::from(cached.count);
        }
        self.fresh.pending.pending(record);
        self.fresh.threads.push(Ended { thread: record.thread, pid: record.pid, number: record.inner_tid });
        self.pids.insert(record.pid);
        for (operation, count) in record.futexes.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.rows.futexes.push(FutexOperation {
                run: self.run,
                thread: thread_id(record.thread),
                operation: futex_operation(operation),
                count: u64::from(*count),
            });
        }
        self.totals.add(&row);
        self.last_end_ns = self.last_end_ns.max(Some(row.end_ns));
        self.next_thread = self.next_thread.max(row.thread.0 + 1);
        self.rows.threads.push(row);
    }

    /// Notes a thread that was there when observing began: somebody will ask for it at the end.
    pub(super) fn add_first(&mut self, record: &ThreadRecord) {
        self.first.insert((record.pid, record.tid), thread_id(record.thread));
    }

    /// A thread that was there when observing began.
    pub(super) fn first(&self, pid: u32, tid: u32) -> Option<ThreadId> {
        self.first.get(&(pid, tid)).copied()
    }

    /// Everything has come that the threads told which were added so far.
    pub(super) fn ripen(&mut self) {
        self.ripe.append(take(&mut self.fresh));
    }

    /// Whether so much is new that room should be made.
    pub(super) fn is_due(&self, places: u32) -> bool {
        let ended = self.ripe.threads.len();
        ended > 0 && (places.saturating_sub(self.places_then) > PLACES || ended > THREADS)
    }

    /// The threads that can be settled.
    pub(super) fn gone(&self) -> Gone {
        let threads = &self.ripe.threads;
        Gone {
            threads: threads.iter().map(|ended| ended.thread).collect(),
            numbers: threads.iter().map(|ended| ended.number).collect(),
        }
    }

    /// Makes the rows of threads that can be settled, and forgets them. `kept` is what was taken out of the kernel's
    /// tables for them, and `alive` what lived before that; `foreign` tells the processes that the kernel side took for
    /// other programs.
    pub(super) fn settle(
        &mut self,
        (gone, kept): (&Gone, Kept),
        places: u32,
        alive: &[ThreadRecord],
        foreign: impl Fn(u32) -> bool,
        interner: &mut Interner,
        timing: CallTiming,
    ) {
        let live = |record: &ThreadRecord| Ended { thread: record.thread, pid: record.pid, number: record.inner_tid };
        let others: Vec<Ended> = alive.iter().map(live).chain(self.fresh.threads.iter().copied()).collect();
        let batch = take(&mut self.ripe);
        self.make(batch, kept, &others, interner, timing);
        // What is on its way from a waker, to a holder, or from who created somebody.
        let pending = self.fresh.pending.edges.iter().map(|(key, _)| key);
        let told = alive.iter().flat_map(|record| [record.edge.waker_place, record.waker_place, record.created_place]);
        let names = told.chain(pending.clone().map(|key| key.waker_place)).collect();
        let held = alive.iter().flat_map(|record| [record.edge.holder, record.holder]);
        let numbers: HashSet<u32> = held.chain(pending.map(|key| key.holder)).collect();
        self.who.owners.retain(|(_, number), _| numbers.contains(number));
        self.who.processes.clear();
        self.told.forget(&gone.threads, &names);
        let living: HashSet<u32> = others.iter().map(|other| other.pid).collect();
        self.pids.retain(|pid| living.contains(pid) || foreign(*pid));
        self.places_then = places;
    }

    /// Makes the rows of all that is left.
    pub(super) fn settle_rest(&mut self, kept: Kept, interner: &mut Interner, timing: CallTiming) {
        self.ripen();
        let batch = take(&mut self.ripe);
        self.make(batch, kept, &[], interner, timing);
    }

    fn make(&mut self, batch: Batch, kept: Kept, others: &[Ended], interner: &mut Interner, timing: CallTiming) {
        for ended in others.iter().chain(&batch.threads) {
            self.who.processes.insert(ended.thread, ended.pid);
            self.who.owners.insert((ended.pid, ended.number), ended.thread);
        }
        let kept = kept.with(batch.pending);
        let mut calls = batch.calls;
        for (key, count) in &kept.syscalls {
            *calls.entry((key.thread, key.number)).or_default() += count;
        }
        // The waits know only the address; whose lock it is was seen when the wait ended.
        self.told.mmap_locks.extend(&kept.mmap_locks);
        let rows = self.maker(interner, timing).rows(&kept, &calls);
        self.waits += rows.waits.len() as u64;
        self.untold += rows.untold();
        self.rows.extend(rows);
    }

    /// What makes rows.
    pub(super) fn maker<'m>(&'m self, interner: &'m mut Interner, timing: CallTiming) -> Maker<'m> {
        Maker { run: self.run, told: &self.told, who: &self.who, interner, timing }
    }

    /// Adds other programs. Until it was enrolled, the child that became the target counted as one: a tenth of a
    /// millisecond.
    pub(super) fn add_foreign(&mut self, rows: Vec<Foreign>) {
        self.rows.foreign.extend(rows.into_iter().filter(|other| !self.pids.contains(&other.pid)));
    }

    /// Waits whose stack never found room, and waits in all.
    pub(super) fn untold(&self) -> (u64, u64) {
        (self.untold, self.waits)
    }

    /// Adds a wait that began before observing did.
    pub(super) fn count_wait(&mut self, told: bool) {
        self.waits += 1;
        self.untold += u64::from(!told);
    }

    /// Forgets everything about threads that have ended but the stories of their places: a live view needs no more.
    pub(super) fn forget_ended(&mut self, places: u32) {
        self.places_then = places;
        self.ripe = Batch::default();
        self.pids.clear();
    }

    /// Forgets what rows would be made of.
    pub(super) fn forget_rows(&mut self) {
        self.rows.futexes.clear();
        for batch in [&mut self.fresh, &mut self.ripe] {
            batch.pending = Kept::default();
            batch.calls.clear();
        }
    }
}

#[cfg(test)]
mod tests;
