//! Threads that have ended. Their sums are emitted as soon as nothing can change them; then everything about them is
//! forgotten except what living threads may still refer to. So memory stays bounded however many threads a program
//! makes.

use super::places::Places;
use super::sums::{CallCounts, CallTiming, Sums, Who};
use super::tables::{Gone, TableRows};
use super::thread_time::thread_id;
use crate::bpf::abi::*;
use crate::build::Builder;
use crate::events::{Event, ThreadLife};
use crate::stacks::Stacks;
use recording::ThreadId;
use std::collections::{HashMap, HashSet};
use std::mem::take;

/// After this many new places or ended threads, the rows of ended threads are taken out of the kernel's tables: a
/// quarter of what its tables of places and of threads hold.
const PLACES: u32 = 32_768;
const THREADS: usize = 4_096;

/// Threads whose sums are not emitted yet; further sums of theirs are in the kernel's tables.
#[derive(Debug, Default)]
struct Batch {
    threads: Vec<Ended>,
    /// The sums that were still in their records.
    pending: TableRows,
    calls: CallCounts,
}

/// What a thread is called by.
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
        self.pending.open.append(&mut more.pending.open);
        self.calls.append(&mut more.calls);
    }
}

/// The threads of a run that have ended and are not yet forgotten.
#[derive(Debug, Default)]
pub(super) struct EndedThreads {
    /// `fresh`: threads with events that may still be in the ring; `ripe`: threads without such events.
    fresh: Batch,
    ripe: Batch,
    who: Who,
    /// Threads that existed when observing began, by process and number.
    first: HashMap<(u32, u32), ThreadId>,
    /// Processes that are or were the target's.
    pids: HashSet<u32>,
    /// The largest place number when room was last made.
    places_then: u32,
    /// Wait places that were emitted, and those of them without a stack.
    waits: u64,
    without_stack: u64,
    /// The largest thread handle, plus 1.
    next_thread: u32,
}

impl EndedThreads {
    /// Takes a thread that has ended, or is still alive at the end of the run. Its last events may still be in the
    /// ring.
    pub(super) fn add(&mut self, record: &ThreadRecord, life: ThreadLife, to: &mut Builder) {
        for cached in record.syscalls.iter().filter(|cached| cached.count > 0) {
            *self.fresh.calls.entry((record.thread, cached.number)).or_default() += u64::from(cached.count);
        }
        self.fresh.pending.add_pending(record, life.end_ns);
        self.fresh.threads.push(Ended { thread: record.thread, pid: record.pid, number: record.inner_tid });
        self.pids.insert(record.pid);
        for (operation, count) in record.futexes.iter().enumerate().filter(|(_, count)| **count > 0) {
            to.add(Event::FutexCalls { thread: thread_id(record.thread), operation, count: u64::from(*count) });
        }
        self.next_thread = self.next_thread.max(life.thread.0 + 1);
        to.add(Event::Thread(life));
    }

    /// Notes a thread that existed when observing began: what it waited for then becomes known only at the end.
    pub(super) fn add_first(&mut self, record: &ThreadRecord) {
        self.first.insert((record.pid, record.tid), thread_id(record.thread));
    }

    /// The handle of a thread that existed when observing began.
    pub(super) fn first(&self, pid: u32, tid: u32) -> Option<ThreadId> {
        self.first.get(&(pid, tid)).copied()
    }

    /// The first handle that no thread has.
    pub(super) fn next_thread(&self) -> u32 {
        self.next_thread
    }

    /// To be called when the ring is empty: then it has no more events of the threads that were added so far.
    pub(super) fn ripen(&mut self) {
        self.ripe.append(take(&mut self.fresh));
    }

    /// Whether there is so much new that room should be made.
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

    /// Emits the sums of threads that can be settled, and forgets these threads. `rows` is what was taken out of the
    /// kernel's tables for them, and `alive` are the threads that were alive before that; `foreign` says whether the
    /// kernel side counted a process as another program.
    pub(super) fn settle(
        &mut self,
        (gone, rows): (&Gone, TableRows),
        alive: &[ThreadRecord],
        foreign: impl Fn(u32) -> bool,
        context: Context<'_, '_>,
    ) {
        let live = |record: &ThreadRecord| Ended { thread: record.thread, pid: record.pid, number: record.inner_tid };
        let others: Vec<Ended> = alive.iter().map(live).chain(self.fresh.threads.iter().copied()).collect();
        let batch = take(&mut self.ripe);
        let places_now = context.places_now;
        let places = self.emit(batch, rows, &others, context);
        // What later rows may still refer to: places of wakers and creators, and holders of locks.
        let pending = self.fresh.pending.edges.iter().map(|(key, _)| key);
        let in_records =
            alive.iter().flat_map(|record| [record.edge.waker_place, record.waker_place, record.created_place]);
        let names = in_records.chain(pending.clone().map(|key| key.waker_place)).collect();
        let held = alive.iter().flat_map(|record| [record.edge.holder, record.holder]);
        let numbers: HashSet<u32> = held.chain(pending.map(|key| key.holder)).collect();
        self.who.owners.retain(|(_, number), _| numbers.contains(number));
        self.who.processes.clear();
        places.forget(&gone.threads, &names);
        let living: HashSet<u32> = others.iter().map(|other| other.pid).collect();
        self.pids.retain(|pid| living.contains(pid) || foreign(*pid));
        self.places_then = places_now;
    }

    /// Emits the sums of all remaining threads.
    pub(super) fn settle_rest(&mut self, rows: TableRows, context: Context<'_, '_>) {
        self.ripen();
        let batch = take(&mut self.ripe);
        self.emit(batch, rows, &[], context);
    }

    fn emit<'p>(
        &mut self,
        batch: Batch,
        rows: TableRows,
        others: &[Ended],
        context: Context<'p, '_>,
    ) -> &'p mut Places {
        let Context { places, stacks, timing, to, .. } = context;
        for ended in others.iter().chain(&batch.threads) {
            self.who.processes.insert(ended.thread, ended.pid);
            self.who.owners.insert((ended.pid, ended.number), ended.thread);
        }
        let rows = rows.with(batch.pending);
        let mut calls = batch.calls;
        for (key, count) in &rows.syscalls {
            *calls.entry((key.thread, key.number)).or_default() += count;
        }
        // A wait knows only the lock's address; that it is an mmap lock was found out when the wait ended.
        places.add_mmap_locks(&rows.mmap_locks);
        let given = Sums { places, who: &mut self.who, stacks, timing, to }.emit(&rows, &calls);
        self.count_waits(given);
        places
    }

    /// Whether a process is the target's.
    pub(super) fn is_targets(&self, pid: u32) -> bool {
        self.pids.contains(&pid)
    }

    /// Adds waits that were emitted, and those of them without a stack.
    pub(super) fn count_waits(&mut self, (waits, without_stack): (u64, u64)) {
        self.waits += waits;
        self.without_stack += without_stack;
    }

    /// Reports the waits whose stack was never received.
    pub(super) fn lost(&self) -> Event {
        Event::Lost { what: "stacks of wait places", count: self.without_stack, of: Some(self.waits) }
    }

    /// Forgets what sums are made from: a live view emits none.
    pub(super) fn forget(&mut self) {
        for batch in [&mut self.fresh, &mut self.ripe] {
            batch.pending = TableRows::default();
            batch.calls.clear();
        }
    }

    /// Forgets the threads that could be settled: a live view needs nothing of them.
    pub(super) fn forget_ripe(&mut self, places_now: u32) {
        self.places_then = places_now;
        self.ripe = Batch::default();
        self.pids.clear();
    }
}

/// What sums are made with, and where they go.
pub(super) struct Context<'p, 's> {
    pub(super) places: &'p mut Places,
    /// The largest number of a place.
    pub(super) places_now: u32,
    pub(super) stacks: &'p mut Stacks<'s>,
    pub(super) timing: CallTiming,
    pub(super) to: &'p mut Builder,
}

#[cfg(test)]
mod tests;
