//! The source that an unprivileged user has for their own programs: perf events report every context switch and sample
//! user code; /proc shows what sleeping threads wait for.
//!
//! Nothing reports when a thread was woken between leaving the processor and coming back: `track` describes how its
//! time in the run queue is found. Rooms: `rings` fetches records (`attribute` opens events, `ring` is the memory that
//! they are written to, `record` parses them); `track` makes one thread's time of them, `ticks` finds samples that the
//! kernel did not show; `inspections` reads what sleeping threads wait for.
//!
//! May import: `build`, `error`, `events`, `machine`, `patience`, `procfs`, `sleeping`, `sources`, `stacks`, `task`, `recording`,
//! `resolve`, libc.

mod attribute;
mod inspections;
mod record;
mod ring;
mod rings;
mod ticks;
mod track;

pub(crate) use rings::{PerfEvents, allowed};

use super::Source;
use super::sleeping::{Budget, ProcessorTime, Waits, own_time_ns};
use crate::build::Builder;
use crate::error::Error;
use crate::events::{CpuSample, Event, ThreadLife};
use crate::procfs::monotonic_ns;
use crate::stacks::{Copied, Stacks};
use crate::task;
use inspections::{Inspection, Inspections};
use record::{Record, RecordKind, UserSample};
use recording::tables::Mode;
use recording::{StackId, ThreadId, WaitId};
use rings::FAULT_PERIOD;
use std::collections::{BTreeMap, HashMap, VecDeque};
use ticks::Silent;
use track::Track;

const UNREAD_QUEUES: &str = "waits' times in the run queue";

/// How many pieces of a thread may wait for a reading of its time in the run queue: a second of very frequent switches,
/// some MB.
const MOST_PENDING: usize = 1 << 16;

/// A reading of a thread's time in the run queue, to be used when the records up to its time have come.
#[derive(Debug, Clone, Copy)]
struct QueueReading {
    read_ns: u64,
    queued_ns: u64,
}

/// The perf events of a run, and the threads that they have shown.
pub(crate) struct PerfSource {
    events: PerfEvents,
    period_ns: u64,
    /// Which image a process runs: its parent's, until it executes another program.
    image_of: HashMap<u32, u32>,
    images: u32,
    tracks: Vec<Track>,
    /// Living threads by number, as indexes into `tracks`.
    living: HashMap<u32, usize>,
    readings: HashMap<usize, QueueReading>,
    /// Threads whose time in the run queue is to be read, in order.
    to_read: VecDeque<usize>,
    inspections: Inspections,
    waits: Waits,
    budget: Budget,
    faults: BTreeMap<(ThreadId, Option<StackId>), u64>,
    child: u32,
    child_queued_ns: Option<u64>,
    begin_ns: Option<u64>,
    last_exit_ns: Option<u64>,
    processors: ProcessorTime,
    own_begin_ns: u64,
    own_spent_ns: u64,
    lost: u64,
}

impl PerfSource {
    /// `child` waits to execute the target.
    pub(crate) fn new(child: u32, events: PerfEvents, period_ns: u64) -> PerfSource {
        PerfSource {
            events,
            period_ns,
            image_of: HashMap::new(),
            images: 0,
            tracks: Vec::new(),
            living: HashMap::new(),
            readings: HashMap::new(),
            to_read: VecDeque::new(),
            inspections: Inspections::default(),
            waits: Waits::default(),
            budget: Budget::new(monotonic_ns()),
            faults: BTreeMap::new(),
            child,
            child_queued_ns: task::times(child, child).map(|times| times.queued_ns),
            begin_ns: None,
            last_exit_ns: None,
            processors: ProcessorTime::for_process(child),
            own_begin_ns: own_time_ns(),
            own_spent_ns: 0,
            lost: 0,
        }
    }

    fn take(&mut self, all: bool, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let inspections = &mut self.inspections;
        let (records, until_ns) = self.events.fetch(all, |record| inspections.saw(record));
        for record in records {
            self.record(record, stacks, to);
        }
        let due: Vec<usize> =
            self.readings.iter().filter(|(_, reading)| reading.read_ns <= until_ns).map(|(at, _)| *at).collect();
        due.into_iter().for_each(|at| self.settle(at, to));
    }

    fn record(&mut self, record: Record, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let Record { time_ns, pid, tid, processor, what } = record;
        let mut silent = Silent::new();
        match what {
            RecordKind::Fork { parent_tid } => self.fork(time_ns, pid, tid, parent_tid, stacks, to),
            RecordKind::Name { name, exec } => {
                if exec {
                    self.exec(time_ns, pid, tid, processor, stacks);
                }
                let at = self.at(time_ns, pid, tid);
                self.tracks[at].name = name;
            }
            RecordKind::In => {
                let at = self.at(time_ns, pid, tid);
                let wait = self.wait(at, time_ns, stacks);
                self.tracks[at].enter(time_ns, processor, wait);
                self.in_turn(at, to);
            }
            RecordKind::Out { preempted } => {
                let at = self.at(time_ns, pid, tid);
                self.tracks[at].leave(time_ns, preempted, &mut silent);
            }
            RecordKind::Exit => self.exit(time_ns, tid, stacks, to),
            RecordKind::Sample(sample) => {
                let user_stack = self.user_stack(time_ns, pid, &sample, stacks);
                let at = self.at(time_ns, pid, tid);
                let thread = self.tracks[at].thread;
                if self.events.of_clock(&sample) {
                    self.tracks[at].sample(time_ns, &mut silent);
                    to.add(sampled(thread, time_ns, processor, Mode::User, user_stack));
                } else {
                    *self.faults.entry((thread, user_stack)).or_default() += 1;
                }
            }
            RecordKind::Lost { count } => self.lost += count,
        }
        if let Some(at) = self.living.get(&tid) {
            emit_silent(self.tracks[*at].thread, silent, to);
        }
    }

    /// The index of the living thread with this number. One whose creation was not reported begins now.
    fn at(&mut self, time_ns: u64, pid: u32, tid: u32) -> usize {
        if let Some(at) = self.living.get(&tid) {
            return *at;
        }
        let thread = ThreadId(self.tracks.len() as u32);
        self.tracks.push(Track::new(thread, pid, tid, time_ns, self.period_ns));
        self.living.insert(tid, self.tracks.len() - 1);
        self.tracks.len() - 1
    }

    fn fork(&mut self, time_ns: u64, pid: u32, tid: u32, parent_tid: u32, stacks: &mut Stacks<'_>, to: &mut Builder) {
        // The number was reused: the record of its previous thread's end was lost.
        if self.living.contains_key(&tid) {
            self.exit(time_ns, tid, stacks, to);
        }
        let parent = self.living.get(&parent_tid).copied();
        let at = self.at(time_ns, pid, tid);
        let Some(parent) = parent.and_then(|parent| self.tracks.get(parent)) else { return };
        let (thread, name, parent_pid) = (parent.thread, parent.name.clone(), parent.pid);
        (self.tracks[at].parent, self.tracks[at].name) = (Some(thread), name);
        if parent_pid != pid
            && let Some(image) = self.image_of.get(&parent_pid).copied()
        {
            self.image_of.insert(pid, image);
        }
    }

    fn exec(&mut self, time_ns: u64, pid: u32, tid: u32, processor: u32, stacks: &mut Stacks<'_>) {
        if self.begin_ns.is_none() && pid == self.child {
            self.begin_ns = Some(time_ns);
            self.processors = self.processors.now();
            let track = Track::new(ThreadId(self.tracks.len() as u32), pid, tid, time_ns, self.period_ns);
            self.tracks.push(track.running(processor, self.child_queued_ns));
            self.living.insert(tid, self.tracks.len() - 1);
        }
        stacks.execute(self.new_image(pid), pid);
    }

    fn exit(&mut self, time_ns: u64, tid: u32, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let Some(at) = self.living.get(&tid).copied() else { return };
        self.close(at, time_ns, stacks, to);
        self.living.remove(&tid);
        self.inspections.ended(tid);
        self.last_exit_ns = self.last_exit_ns.max(Some(time_ns));
    }

    /// A thread has ended, or is no longer watched.
    fn close(&mut self, at: usize, time_ns: u64, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let wait = self.wait(at, time_ns, stacks);
        let mut silent = Silent::new();
        self.tracks[at].end(time_ns, wait, &mut silent);
        emit_silent(self.tracks[at].thread, silent, to);
        self.settle(at, to);
        self.tracks[at].settle_unread(&mut self.waits, to);
        let track = &self.tracks[at];
        to.add(Event::Thread(ThreadLife {
            name: track.name.clone(),
            parent: track.parent,
            start_ns: track.start_ns,
            end_ns: track.last_ns(),
            times: track.times,
            voluntary_switches: track.voluntary,
            involuntary_switches: track.involuntary,
            migrations: track.migrations,
            ..ThreadLife::blank(track.thread, track.pid, track.tid)
        }));
    }

    /// The wait of the block that ends now, if the thread is blocked.
    fn wait(&mut self, at: usize, time_ns: u64, stacks: &mut Stacks<'_>) -> Option<WaitId> {
        let track = &self.tracks[at];
        let (thread, pid, since_ns) = (track.thread, track.pid, track.blocked_since()?);
        let length_ns = time_ns.saturating_sub(since_ns);
        let Some(Inspection { sleep, found, .. }) = self.inspections.at(track.tid, since_ns, time_ns) else {
            return Some(self.waits.unseen(thread, length_ns));
        };
        let wait = match (self.waits.known(thread, &sleep), found) {
            (Some(wait), _) => wait,
            (None, Some(found)) => {
                let user_stack = found.stack(self.image(pid), pid, &sleep, stacks);
                self.waits.add(thread, &sleep, found, user_stack)
            }
            // The inspection that described the place did not belong to this block and was dropped.
            (None, None) => return Some(self.waits.unseen(thread, length_ns)),
        };
        self.waits.inspected(thread, length_ns, wait);
        Some(wait)
    }

    fn user_stack(&mut self, time_ns: u64, pid: u32, sample: &UserSample, stacks: &mut Stacks<'_>) -> Option<StackId> {
        let registers = sample.start()?;
        stacks.user(self.image(pid), pid, Copied::new(registers, &sample.stack), time_ns)
    }

    fn image(&mut self, pid: u32) -> u32 {
        self.image_of.get(&pid).copied().unwrap_or_else(|| self.new_image(pid))
    }

    fn new_image(&mut self, pid: u32) -> u32 {
        self.images += 1;
        self.image_of.insert(pid, self.images);
        self.images
    }

    /// Queues a thread for reading, or emits its pieces if they need no reading.
    fn in_turn(&mut self, at: usize, to: &mut Builder) {
        let track = &mut self.tracks[at];
        if track.pending() > MOST_PENDING || (!track.has_blocks() && track.pending() > 2 && !track.in_turn) {
            self.settle(at, to);
            self.tracks[at].settle_unread(&mut self.waits, to);
        } else if track.has_blocks() && !track.in_turn {
            track.in_turn = true;
            self.to_read.push_back(at);
        }
    }

    /// Uses the pending reading of a thread, if there is one.
    fn settle(&mut self, at: usize, to: &mut Builder) {
        let Some(QueueReading { read_ns, queued_ns }) = self.readings.remove(&at) else { return };
        let track = &mut self.tracks[at];
        track.in_turn = false;
        track.settle(read_ns, queued_ns, &mut self.waits, to);
    }

    fn read_queues(&mut self) {
        while self.budget.allows() {
            let Some(at) = self.to_read.pop_front() else { return };
            let track = &mut self.tracks[at];
            if track.ended() {
                continue;
            }
            let read_ns = monotonic_ns();
            match task::times(track.pid, track.tid) {
                Some(times) => {
                    self.readings.insert(at, QueueReading { read_ns, queued_ns: times.queued_ns });
                }
                // It has ended; its last record is on the way.
                None => track.in_turn = false,
            }
            self.budget.spend(monotonic_ns().saturating_sub(read_ns));
        }
    }
}

/// A sample in user space or at an unknown place.
fn sampled(thread: ThreadId, time_ns: u64, processor: u32, mode: Mode, user_stack: Option<StackId>) -> Event {
    let (syscall, kernel_stack, goroutine) = (None, None, None);
    Event::Sample(CpuSample { thread, time_ns, processor, mode, syscall, user_stack, kernel_stack, goroutine })
}

/// Emits ticks without a record.
fn emit_silent(thread: ThreadId, silent: Silent, to: &mut Builder) {
    for (time_ns, processor) in silent {
        to.add(sampled(thread, time_ns, processor, Mode::Unknown, None));
    }
}

impl Source for PerfSource {
    fn begin(&mut self) {
        self.own_begin_ns = own_time_ns();
    }

    fn poll(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder) {
        self.take(false, stacks, to);
        stacks.settle();
        self.budget.grow(monotonic_ns());
        // Sleeping threads first: a block that is missed is lost, while the sum of queue time can be read later.
        self.inspections.inspect(&mut self.budget);
        self.read_queues();
        self.own_spent_ns = own_time_ns().saturating_sub(self.own_begin_ns);
    }

    fn finish(mut self, _: Option<u64>, stacks: &mut Stacks<'_>, to: &mut Builder) -> Result<(), Error> {
        self.take(true, stacks, to);
        // Processes that the target left behind are still running.
        let end_ns = self.last_exit_ns.unwrap_or_else(monotonic_ns);
        let left: BTreeMap<u32, usize> = self.living.iter().map(|(tid, at)| (*tid, *at)).collect();
        left.into_values().for_each(|at| self.close(at, end_ns, stacks, to));
        let end_ns = self.tracks.iter().map(Track::last_ns).max().unwrap_or(end_ns).max(end_ns);
        self.waits.emit(to);
        for ((thread, user_stack), sampled) in self.faults {
            to.add(Event::Faults { thread, user_stack, sampled, period: FAULT_PERIOD });
        }
        to.add(Event::Lost { what: "kernel records", count: self.lost, of: None });
        to.add(stacks.lost());
        let of = |count: fn(&Track) -> u64| self.tracks.iter().map(count).sum::<u64>();
        let (blocks, unread) = (of(|track| track.blocks), of(|track| track.unread_blocks));
        to.add(Event::Lost { what: UNREAD_QUEUES, count: unread, of: Some(blocks) });
        let span = (self.begin_ns.unwrap_or(end_ns), end_ns);
        let ran_ns = to.totals().running_ns;
        to.add(Event::Summary(self.processors.summary(span, self.period_ns, ran_ns, self.own_spent_ns)));
        Ok(())
    }
}
