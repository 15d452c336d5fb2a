//! The source that sees everything: programs in the kernel, on scheduler and system-call tracepoints.
//!
//! It polls: events never wake it, so that a storm of events does not become a storm of wake-ups. Rooms: `intake` takes
//! events as they come; `thread_time` are times of threads, `places` where they waited, `thread` what their records
//! hold. `tables` takes rows out of the kernel's tables and `sums` makes events of them, for threads that have ended
//! (`ended`) or at the end. `timing` decides when system calls are timed and `estimate` how many there were; `sleepers`
//! knows who slept before, `summary` the run as a whole, `live` what threads do now; `shared_memory` serves the room
//! `sharing`.
//!
//! May import: `bpf`, `build`, `error`, `events`, `file_kind`, `machine`, `procfs`, `sharing`, `sockets`, `sources`,
//! `stacks`, `syscall_names`, `task`, `recording`, `resolve`, libc.

mod ended;
mod estimate;
mod intake;
mod kernel_stack;
mod live;
mod places;
mod shared_memory;
mod sleepers;
mod summary;
mod sums;
mod tables;
mod thread;
mod thread_time;
mod timing;

use super::Source;
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::build::Builder;
use crate::error::Error;
use crate::events::Event;
use crate::procfs::monotonic_ns;
use crate::sharing::SharingSampler;
use crate::stacks::Stacks;
use ended::{Context, EndedThreads};
use intake::{Intake, Left};
use places::Places;
use sleepers::Sleepers;
use std::mem::offset_of;
use summary::Beginning;
use sums::CallTiming;
use tables::TableRows;
use thread::UnreadNames;
use thread_time::thread_id;
use timing::CallClock;

/// Every so many polls, ended threads are read and their slots given back.
const RECYCLE_POLLS: u32 = 10;

/// This is also done after so many new threads (an eighth of the slots), even between polls.
const RECYCLE_THREADS: u32 = MAX_SLOTS as u32 / 8;

/// The programs in the kernel, and what is remembered of what they reported.
pub(crate) struct BpfSource {
    programs: Programs,
    beginning: Beginning,
    places: Places,
    left: Left,
    unread: UnreadNames,
    ended: EndedThreads,
    /// For a target that was running before and may go on: the threads that slept when observing began.
    sleepers: Option<Sleepers>,
    /// True for a live view: nothing is written.
    live: bool,
    clock: CallClock,
    /// Absent where the code of this architecture is not decoded.
    sharing: Option<SharingSampler>,
    sampled: u64,
    untimed_calls: u64,
    polls: u32,
    /// How many threads had been created when ended ones were last read.
    created_then: u32,
    failed: Option<Error>,
}

impl BpfSource {
    /// The programs must be attached already.
    pub(crate) fn new(programs: Programs) -> BpfSource {
        BpfSource {
            programs,
            beginning: Beginning::new(),
            places: Places::default(),
            left: Left::new(),
            unread: UnreadNames::default(),
            ended: EndedThreads::default(),
            sleepers: None,
            live: false,
            clock: CallClock::new(),
            sharing: SharingSampler::can_decode().then(|| SharingSampler::new(true)),
            sampled: 0,
            untimed_calls: 0,
            polls: 0,
            created_then: 0,
            failed: None,
        }
    }

    /// The target is the program that this process is about to execute.
    pub(crate) fn executed_by(mut self, pid: u32) -> BpfSource {
        self.beginning.runs_where(pid);
        self
    }

    /// For a live view: nothing is decoded, because the breakpoints would cost time for as long as the view is open.
    pub(crate) fn live(programs: Programs) -> BpfSource {
        BpfSource { live: true, sharing: None, ..BpfSource::new(programs) }
    }

    /// To be called when the target runs already and is enrolled.
    pub(crate) fn attached(&mut self, pid: u32, now_ns: u64, stacks: &mut Stacks<'_>, to: &mut Builder) {
        self.beginning.runs_where(pid);
        self.beginning.set(now_ns, &self.programs);
        if !self.live {
            to.keep_first_blocks(now_ns);
        }
        // Threads of a process that was not executed under observation have image 0.
        stacks.execute(0, pid);
        self.intake(stacks, to).settle_images();
        self.sleepers = Some(Sleepers::read(pid, now_ns, stacks));
    }

    fn intake<'i, 's>(&'i mut self, stacks: &'i mut Stacks<'s>, to: &'i mut Builder) -> Intake<'i, 's> {
        let BpfSource { programs, beginning, places, left, unread, .. } = self;
        Intake { programs, beginning, places, stacks, to, left, unread }
    }

    fn times_calls(&mut self) -> bool {
        let processors = self.beginning.now(&self.programs);
        let calls = processors.iter().map(|processor| processor.calls).sum();
        self.clock.poll(monotonic_ns(), calls, processors.len() as u64)
    }

    fn time_calls(&mut self, on: bool) {
        if let Err(error) = self.programs.time_calls(on) {
            self.failed.get_or_insert(error);
        }
    }

    fn call_timing(&self) -> CallTiming {
        CallTiming { windows: self.programs.windows(), complete: self.clock.complete() }
    }

    /// Reads threads that have ended and gives their slots back.
    fn recycle(&mut self, to: &mut Builder) {
        self.created_then = self.created();
        for slot in self.slots() {
            let state = self.programs.threads.peek(slot as usize, offset_of!(ThreadRecord, state));
            if state != Some(THREAD_ENDED) {
                continue;
            }
            let Some(mut record) = self.programs.threads.read(slot as usize) else { break };
            self.thread(&record, record.end_ns, to);
            record.state = THREAD_FREE;
            self.programs.threads.write(slot as usize, record);
            self.programs.free_slot(slot);
        }
    }

    /// Recycles when slots may run out.
    fn recycle_in_time(&mut self, to: &mut Builder) {
        if self.created().wrapping_sub(self.created_then) > RECYCLE_THREADS {
            self.recycle(to);
        }
    }

    /// How many threads have been created so far.
    fn created(&self) -> u32 {
        self.programs.globals.peek(0, offset_of!(Globals, next_thread)).unwrap_or(0)
    }

    fn slots(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0)
    }

    /// The records of living threads that have executed the target.
    fn alive(&self) -> Vec<ThreadRecord> {
        let records = self.slots().filter_map(|slot| self.programs.threads.read(slot as usize));
        records.filter(|record| record.state != THREAD_FREE && record.fresh == 0).collect()
    }

    /// The largest place number.
    fn last_place(&self) -> u32 {
        self.programs.globals.peek(0, offset_of!(Globals, next_place)).unwrap_or(0)
    }

    /// Takes the rows of ended threads out of the kernel's tables when the tables fill.
    fn settle(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder) {
        self.ended.ripen();
        let places_now = self.last_place();
        if !self.ended.is_due(places_now) {
            return;
        }
        let gone = self.ended.gone();
        if self.live {
            drop(TableRows::of_ended(&mut self.programs, &gone));
            return self.ended.forget_ripe(places_now);
        }
        // Read before the tables, because a record holds what its thread has not yet added to the tables.
        let alive = self.alive();
        let rows = TableRows::of_ended(&mut self.programs, &gone);
        // Reading the tables may have taken long.
        self.recycle_in_time(to);
        let timing = self.call_timing();
        let foreign = &self.programs.foreign;
        let is_foreign = |pid: u32| foreign.get(&pid, 0).is_ok();
        let context = Context { places: &mut self.places, places_now, stacks, timing, to };
        self.ended.settle((&gone, rows), &alive, is_foreign, context);
    }

    /// Takes a thread that has ended, or is still alive at the end of the run.
    fn thread(&mut self, record: &ThreadRecord, end_ns: u64, to: &mut Builder) {
        thread_time::rest(record, end_ns, to);
        if let Some(mark) = thread::last_work(record, end_ns) {
            to.add(mark);
        }
        self.untimed_calls += record.calls_skipped;
        if self.sleepers.is_some() && Some(record.start_ns) == self.beginning.begin_ns {
            self.ended.add_first(record);
        }
        let created_stack = self.places.stack_of(record.created_place);
        let life = thread::life(record, end_ns, self.programs.counted(), created_stack);
        self.ended.add(record, life, to);
    }

    fn losses(&self, stacks: &Stacks<'_>, to: &mut Builder) {
        summary::losses(&self.programs, self.sampled, to);
        to.add(stacks.lost());
        to.add(self.ended.lost());
        to.add(Event::Lost { what: recording::words::THINNED_CALLS, count: self.untimed_calls, of: None });
    }
}

impl Source for BpfSource {
    fn poll(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder) {
        // Switched after reading, which may take long: a window should be as long as a pause.
        let time_calls = self.times_calls();
        if !time_calls || !self.clock.complete() {
            self.time_calls(false);
        }
        let BpfSource { programs, beginning, places, left, unread, sharing, .. } = self;
        let mut intake = Intake { programs, beginning, places, stacks, to, left, unread };
        intake.take_events();
        let sampled = intake.take_samples(sharing.as_mut());
        self.sampled += sampled;
        if let Some(sharing) = &mut self.sharing {
            shared_memory::watch(sharing, &self.programs);
        }
        self.intake(stacks, to).settle_images();
        if !self.live {
            stacks.look_at_tasks().into_iter().for_each(|event| to.add(event));
        }
        self.polls += 1;
        // The ring is empty now, so it has no more events of the threads whose records were read before.
        if self.polls.is_multiple_of(RECYCLE_POLLS) {
            self.settle(stacks, to);
            self.recycle(to);
        }
        self.recycle_in_time(to);
        if time_calls {
            self.time_calls(true);
        }
    }

    fn finish(mut self, _: Option<u64>, stacks: &mut Stacks<'_>, to: &mut Builder) -> Result<(), Error> {
        // Detached first: reading everything takes milliseconds, in which living threads would add more.
        self.programs.detach();
        let detached_ns = monotonic_ns();
        self.poll(stacks, to);
        self.recycle(to);
        // Threads that are still alive: all when a running program was observed, otherwise those of processes that were
        // left behind.
        let end_ns = to.totals().last_end_ns.filter(|_| self.sleepers.is_none()).unwrap_or(detached_ns);
        for record in self.alive() {
            self.thread(&record, end_ns, to);
        }
        let summary = self.beginning.summary(end_ns, &self.programs);
        let (rows, timing, places_now) = (TableRows::rest(&self.programs), self.call_timing(), self.last_place());
        let context = Context { places: &mut self.places, places_now, stacks, timing, to };
        self.ended.settle_rest(rows, context);
        summary::other_programs(&self.programs, |pid| self.ended.is_targets(pid), to);
        if let Some(sleepers) = self.sleepers.take() {
            let free = (self.ended.next_thread(), places_now + 1);
            let waits = sleepers.finish(end_ns, |pid, tid| self.ended.first(pid, tid), free, to);
            self.ended.count_waits(waits);
        }
        self.losses(stacks, to);
        to.add(Event::Summary(summary));
        let BpfSource { programs, sharing, failed, .. } = self;
        // Naming takes long and does not need the kernel's programs.
        drop(programs);
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(sharing) = sharing {
            let run = to.run();
            to.add(Event::Shared(Box::new(stacks.name_shared(sharing, run, &thread_id, end_ns))));
        }
        Ok(())
    }
}
