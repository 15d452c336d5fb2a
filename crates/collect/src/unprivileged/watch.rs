//! The consumer of one run that perf events tell of: records and looks → rows. May import: the other rooms of
//! `unprivileged`, `trace::image` and `trace::intern`, `recording`, `resolve`.

use super::books::{self, Books, Processors};
use super::budget::Budget;
use super::looks::{Look, Looks};
use super::perf::{Events, FAULT_PERIOD, Record, Sample as PerfSample, What};
use super::ticks::Silent;
use super::track::Track;
use super::waits::{Place, Waits};
use super::{Consumer, task};
use crate::bpf::abi::Registers;
use crate::error::Error;
use crate::procfs::monotonic_ns;
use crate::trace::image::Image;
use crate::trace::intern::Interner;
use recording::tables::{FaultSite, Mode, Sample, Thread};
use recording::{RunId, StackId, ThreadId, WaitId, Writer};
use resolve::ModuleCache;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Pieces of a thread that may wait for a reading of its time in the queue: a second of a storm, some MB.
const MOST_PENDING: usize = 1 << 16;

/// A reading of a thread's time in the queue, to be used when the records up to then have come.
#[derive(Debug, Clone, Copy)]
struct Reading {
    read_ns: u64,
    queued_ns: u64,
}

/// The consumer of one run.
pub(super) struct Watch<'a> {
    run: RunId,
    events: Events,
    period_ns: u64,
    interner: &'a mut Interner,
    cache: &'a ModuleCache,
    writer: &'a mut Writer,
    images: Vec<Image>,
    /// Which image a process runs; that of its parent until it executes another program.
    image_of: HashMap<u32, usize>,
    tracks: Vec<Track>,
    /// Living threads by number, as positions in `tracks`.
    living: HashMap<u32, usize>,
    readings: HashMap<usize, Reading>,
    /// Threads to be read, in turn.
    to_read: VecDeque<usize>,
    looks: Looks,
    waits: Waits,
    budget: Budget,
    books: Books,
    faults: BTreeMap<(ThreadId, Option<StackId>), u64>,
    child: u32,
    child_queued_ns: Option<u64>,
    begin_ns: Option<u64>,
    last_exit_ns: Option<u64>,
    processors: Processors,
    own_begin_ns: u64,
    own_spent_ns: u64,
    lost: u64,
    sampled: u64,
    cut_stacks: u64,
}

impl<'a> Watch<'a> {
    /// `child` waits to execute the target.
    pub(super) fn new(
        run: RunId,
        child: u32,
        events: Events,
        period_ns: u64,
        interner: &'a mut Interner,
        cache: &'a ModuleCache,
        writer: &'a mut Writer,
    ) -> Watch<'a> {
        Watch {
            run,
            events,
            period_ns,
            interner,
            cache,
            writer,
            images: Vec::new(),
            image_of: HashMap::new(),
            tracks: Vec::new(),
            living: HashMap::new(),
            readings: HashMap::new(),
            to_read: VecDeque::new(),
            looks: Looks::default(),
            waits: Waits::default(),
            budget: Budget::new(monotonic_ns()),
            books: Books::default(),
            faults: BTreeMap::new(),
            child,
            child_queued_ns: task::times(child, child).map(|times| times.queued_ns),
            begin_ns: None,
            last_exit_ns: None,
            processors: Processors::now(),
            own_begin_ns: books::own_time_ns(),
            own_spent_ns: 0,
            lost: 0,
            sampled: 0,
            cut_stacks: 0,
        }
    }

    fn take(&mut self, all: bool) {
        let looks = &mut self.looks;
        let (records, until_ns) = self.events.fetch(all, |record| looks.saw(record));
        for record in records {
            self.record(record);
        }
        let due: Vec<usize> =
            self.readings.iter().filter(|(_, reading)| reading.read_ns <= until_ns).map(|(at, _)| *at).collect();
        due.into_iter().for_each(|at| self.settle(at));
    }

    fn record(&mut self, record: Record) {
        let Record { time_ns, pid, tid, processor, what } = record;
        let mut silent = Silent::new();
        match what {
            What::Fork { parent_tid } => self.fork(time_ns, pid, tid, parent_tid),
            What::Name { name, exec } => {
                if exec {
                    self.exec(time_ns, pid, tid, processor);
                }
                let at = self.at(time_ns, pid, tid);
                self.tracks[at].name = name;
            }
            What::In => {
                let at = self.at(time_ns, pid, tid);
                let wait = self.wait(at, time_ns);
                self.tracks[at].enter(time_ns, processor, wait);
                self.in_turn(at);
            }
            What::Out { preempted } => {
                let at = self.at(time_ns, pid, tid);
                self.tracks[at].leave(time_ns, preempted, &mut silent);
            }
            What::Exit => self.exit(time_ns, tid),
            What::Sample(sample) => self.sample(time_ns, pid, tid, processor, &sample, &mut silent),
            What::Lost { count } => self.lost += count,
        }
        if let Some(at) = self.living.get(&tid) {
            let thread = self.tracks[*at].thread;
            self.silent(thread, silent);
        }
    }

    /// The living thread of a number, as a position. One that nobody has announced is there from now on.
    fn at(&mut self, time_ns: u64, pid: u32, tid: u32) -> usize {
        if let Some(at) = self.living.get(&tid) {
            return *at;
        }
        let thread = ThreadId(self.tracks.len() as u32);
        self.tracks.push(Track::new(thread, pid, tid, time_ns, self.period_ns));
        self.living.insert(tid, self.tracks.len() - 1);
        self.tracks.len() - 1
    }

    fn fork(&mut self, time_ns: u64, pid: u32, tid: u32, parent_tid: u32) {
        // A number that is given out again: the record of the last one's end was lost.
        if self.living.contains_key(&tid) {
            self.exit(time_ns, tid);
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

    fn exec(&mut self, time_ns: u64, pid: u32, tid: u32, processor: u32) {
        if self.begin_ns.is_none() && pid == self.child {
            self.begin_ns = Some(time_ns);
            self.processors = Processors::now();
            let track = Track::new(ThreadId(self.tracks.len() as u32), pid, tid, time_ns, self.period_ns);
            self.tracks.push(track.running(processor, self.child_queued_ns));
            self.living.insert(tid, self.tracks.len() - 1);
        }
        let mut image = Image::new(pid, self.cache);
        image.refresh();
        self.images.push(image);
        self.image_of.insert(pid, self.images.len() - 1);
    }

    fn exit(&mut self, time_ns: u64, tid: u32) {
        let Some(at) = self.living.get(&tid).copied() else { return };
        self.close(at, time_ns);
        self.living.remove(&tid);
        self.looks.ended(tid);
        self.last_exit_ns = self.last_exit_ns.max(Some(time_ns));
    }

    /// The end of a thread's row.
    fn close(&mut self, at: usize, time_ns: u64) {
        let wait = self.wait(at, time_ns);
        let mut silent = Silent::new();
        self.tracks[at].end(time_ns, wait, &mut silent);
        let thread = self.tracks[at].thread;
        self.silent(thread, silent);
        self.settle(at);
        self.tracks[at].settle_unread(&mut self.waits, self.run, &mut self.books.slices);
        let track = &self.tracks[at];
        self.books.threads.push(Thread {
            pid: track.pid,
            tid: track.tid,
            name: track.name.clone(),
            parent: track.parent,
            start_ns: track.start_ns,
            end_ns: track.last_ns(),
            running_ns: track.sums.running_ns,
            runnable_ns: track.sums.runnable_ns,
            preempted_ns: track.sums.preempted_ns,
            blocked_ns: track.sums.blocked_ns,
            voluntary_switches: track.voluntary,
            involuntary_switches: track.involuntary,
            migrations: track.migrations,
            ..Thread::blank(self.run, track.thread)
        });
    }

    /// The wait of the block that ends now, if it is one.
    fn wait(&mut self, at: usize, time_ns: u64) -> Option<WaitId> {
        let track = &self.tracks[at];
        let (thread, pid, since_ns) = (track.thread, track.pid, track.blocked_since()?);
        let length_ns = time_ns.saturating_sub(since_ns);
        let Some(Look { sleep, story, .. }) = self.looks.at(track.tid, since_ns, time_ns) else {
            return Some(self.waits.unseen(thread, length_ns));
        };
        let wait = match (self.waits.known(thread, &sleep), story) {
            (Some(wait), _) => wait,
            (None, Some(story)) => {
                let registers = Registers { ip: sleep.ip, sp: sleep.sp, fp: 0, lr: 0 };
                let user_stack = self.user_stack(time_ns, pid, &registers, &story.stack);
                let place = Place { reason: story.reason, call: sleep.call, what: story.what, user_stack };
                self.waits.place(thread, &sleep, || place)
            }
            // The look that told the story was not this block's, and was given up.
            (None, None) => return Some(self.waits.unseen(thread, length_ns)),
        };
        self.waits.looked(thread, length_ns, wait);
        Some(wait)
    }

    fn sample(&mut self, time_ns: u64, pid: u32, tid: u32, processor: u32, sample: &PerfSample, silent: &mut Silent) {
        let at = self.at(time_ns, pid, tid);
        let of_clock = self.events.of_clock(sample);
        if of_clock {
            self.tracks[at].sample(time_ns, silent);
        }
        let user_stack = sample
            .start()
            .and_then(|(ip, sp, fp, lr)| self.user_stack(time_ns, pid, &Registers { ip, sp, fp, lr }, &sample.stack));
        self.sampled += 1;
        let thread = self.tracks[at].thread;
        if !of_clock {
            *self.faults.entry((thread, user_stack)).or_default() += 1;
            return;
        }
        self.books.samples.push(Sample {
            run: self.run,
            thread,
            time_ns,
            processor,
            mode: Mode::User,
            syscall: None,
            user_stack,
            kernel_stack: None,
            goroutine: None,
        });
    }

    /// Ticks that left no record.
    fn silent(&mut self, thread: ThreadId, silent: Silent) {
        let run = self.run;
        self.books.samples.extend(silent.into_iter().map(|(time_ns, processor)| Sample {
            run,
            thread,
            time_ns,
            processor,
            mode: Mode::Unknown,
            syscall: None,
            user_stack: None,
            kernel_stack: None,
            goroutine: None,
        }));
    }

    fn user_stack(&mut self, time_ns: u64, pid: u32, registers: &Registers, stack: &[u8]) -> Option<StackId> {
        let image = match self.image_of.get(&pid) {
            Some(image) => *image,
            None => {
                self.images.push(Image::new(pid, self.cache));
                self.image_of.insert(pid, self.images.len() - 1);
                self.images.len() - 1
            }
        };
        let (unwound, _) = self.images[image].unwind((registers, stack), None, time_ns, self.interner);
        self.cut_stacks += u64::from(unwound.truncated);
        unwound.stack
    }

    /// Puts a thread into the row of those to be read, or gives out what needs no reading.
    fn in_turn(&mut self, at: usize) {
        let track = &mut self.tracks[at];
        if track.pending() > MOST_PENDING || (!track.has_blocks() && track.pending() > 2 && !track.in_turn) {
            self.settle(at);
            self.tracks[at].settle_unread(&mut self.waits, self.run, &mut self.books.slices);
        } else if track.has_blocks() && !track.in_turn {
            track.in_turn = true;
            self.to_read.push_back(at);
        }
    }

    /// Uses the reading that was made of a thread, if there is one.
    fn settle(&mut self, at: usize) {
        let Some(Reading { read_ns, queued_ns }) = self.readings.remove(&at) else { return };
        let track = &mut self.tracks[at];
        track.in_turn = false;
        track.settle(read_ns, queued_ns, &mut self.waits, self.run, &mut self.books.slices);
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
                    self.readings.insert(at, Reading { read_ns, queued_ns: times.queued_ns });
                }
                // It has ended; its last record is on the way.
                None => track.in_turn = false,
            }
            self.budget.spend(monotonic_ns().saturating_sub(read_ns));
        }
    }
}

impl Consumer for Watch<'_> {
    fn poll(&mut self) {
        self.take(false);
        for image in self.images.iter_mut().filter(|image| image.settling()) {
            image.refresh();
        }
        self.budget.grow(monotonic_ns());
        // Looks first: a block that is missed is gone, a queue's sum is not.
        self.looks.look(&mut self.budget);
        self.read_queues();
        self.books.flush(self.writer);
        self.own_spent_ns = books::own_time_ns().saturating_sub(self.own_begin_ns);
    }

    fn starts(&mut self) {
        self.own_begin_ns = books::own_time_ns();
    }

    fn finish(mut self: Box<Self>, _: Option<u64>) -> Result<u64, Error> {
        self.take(true);
        // Processes that the target left behind live on.
        let end_ns = self.last_exit_ns.unwrap_or_else(monotonic_ns);
        let left: BTreeMap<u32, usize> = self.living.iter().map(|(tid, at)| (*tid, *at)).collect();
        left.into_values().for_each(|at| self.close(at, end_ns));
        let end_ns = self.tracks.iter().map(Track::last_ns).max().unwrap_or(end_ns).max(end_ns);
        let told = self.waits.rows(self.run);
        let of = |count: fn(&Track) -> u64| self.tracks.iter().map(count).sum::<u64>();
        let (blocks, unread) = (of(|track| track.blocks), of(|track| track.unread_blocks));
        let ran_ns = of(|track| track.sums.running_ns);
        let begin_ns = self.begin_ns.unwrap_or(end_ns);
        let Watch { run, books: mut rows, writer, interner, events, .. } = *self;
        // Naming takes long and needs nothing of the kernel.
        drop(events);
        rows.waits = told.rows;
        rows.faults = self
            .faults
            .iter()
            .map(|((thread, user_stack), sampled)| FaultSite {
                run,
                thread: *thread,
                user_stack: *user_stack,
                sampled: *sampled,
                period: FAULT_PERIOD,
            })
            .collect();
        rows.lose(run, "kernel records", self.lost, None);
        rows.lose(run, "outermost frames of stacks", self.cut_stacks, Some(self.sampled + self.waits.places()));
        rows.lose(run, super::UNKNOWN_PLACES, told.unknown, Some(told.blocks));
        rows.lose(run, super::INFERRED_PLACES, told.inferred, Some(told.blocks));
        rows.lose(run, super::UNREAD_QUEUES, unread, Some(blocks));
        let trace = books::trace(run, (begin_ns, end_ns), self.period_ns, self.processors, ran_ns, self.own_spent_ns);
        let foreign_ns = trace.foreign_ns;
        rows.close(trace, writer)?;
        super::append_names(interner, writer)?;
        Ok(foreign_ns)
    }
}
