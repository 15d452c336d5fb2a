//! Takes what the kernel side tells while the target runs, and turns it into rows.
//!
//! It polls: an event never wakes it, so that a storm of events does not become a storm of wake-ups. `events` takes what
//! comes, `roll` the threads that have ended, `summary` what is known of the run as a whole. May import: the BPF side and
//! the other rooms of `trace`.

use super::image::Image;
use super::intern::Interner;
use super::kept::Kept;
use super::known::{Known, Variables};
use super::live::LiveState;
use super::parts::{Rows, as_they_are, write_part};
use super::record;
use super::roll::{Roll, Totals};
use super::rows::{CallTiming, foreign};
use super::sleeping::Asleep;
use super::slices::{Slices, thread_id};
use super::timing::Timing;
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::error::Error;
use crate::machine::usable_processors;
use crate::procfs::monotonic_ns;
use crate::sharing::{ImageCode, SharingSampler};
use recording::tables::*;
use recording::{RunId, Writer};
use resolve::ModuleCache;
use std::collections::HashMap;
use std::mem::{offset_of, take};

/// Ended threads are read and their slots given back every so many polls.
const RECYCLE_POLLS: u32 = 10;

/// And after so many new ones, whatever is being done: an eighth of the slots.
const RECYCLE_THREADS: u32 = MAX_SLOTS as u32 / 8;

/// The consumer of one traced run.
pub(crate) struct Consumer<'a> {
    pub(super) run: RunId,
    pub(super) programs: Programs,
    pub(super) interner: &'a mut Interner,
    pub(super) cache: &'a ModuleCache,
    /// Absent for a live view, which keeps nothing.
    writer: Option<&'a mut Writer>,
    pub(super) images: HashMap<u32, Image>,
    /// Of a live view: what its windows need.
    pub(super) live: Option<LiveState>,
    pub(super) roll: Roll,
    pub(super) slices: Slices,
    pub(super) samples: Vec<Sample>,
    pub(super) calls: Vec<Call>,
    pub(super) marks: Vec<Mark>,
    /// Threads that slept when observing began, by process and number.
    pub(super) sleepers: HashMap<(u32, u32), Asleep>,
    /// The target was running before, and may go on.
    pub(super) attached: bool,
    pub(super) begin_ns: Option<u64>,
    pub(super) processors_at_begin: Vec<ProcessorRecord>,
    timing: Timing,
    pub(super) sampled: u64,
    pub(super) cut_stacks: u64,
    /// Absent where the code of this architecture is not decoded.
    pub(super) sharing: Option<SharingSampler>,
    pub(super) variables: Variables,
    pub(super) untold_calls: u64,
    polls: u32,
    /// Threads that had been created when ended ones were read last.
    created_then: u32,
    failed: Option<Error>,
}

impl<'a> Consumer<'a> {
    pub(crate) fn new(
        run: RunId,
        programs: Programs,
        interner: &'a mut Interner,
        cache: &'a ModuleCache,
        writer: Option<&'a mut Writer>,
    ) -> Consumer<'a> {
        Consumer {
            run,
            programs,
            interner,
            cache,
            writer,
            images: HashMap::new(),
            live: None,
            roll: Roll::new(run),
            slices: Slices::new(run),
            samples: Vec::new(),
            calls: Vec::new(),
            marks: Vec::new(),
            sleepers: HashMap::new(),
            attached: false,
            begin_ns: None,
            processors_at_begin: Vec::new(),
            timing: Timing::new(),
            sampled: 0,
            cut_stacks: 0,
            sharing: SharingSampler::can_decode().then(|| SharingSampler::new(true)),
            variables: Variables::default(),
            untold_calls: 0,
            polls: 0,
            created_then: 0,
            failed: None,
        }
    }

    /// Takes everything that is there.
    pub(crate) fn poll(&mut self) {
        // Reading may take long, and a window is to be as long as a pause.
        let time_calls = self.times_calls();
        if !time_calls || !self.timing.complete() {
            self.time_calls(false);
        }
        self.take_events();
        self.take_samples();
        self.watch_sharing();
        self.settle_images();
        self.polls += 1;
        // What ended threads told has been taken above, if they were read before.
        if self.polls.is_multiple_of(RECYCLE_POLLS) {
            self.settle();
            self.recycle();
        }
        self.recycle_in_time();
        self.write_parts();
        if time_calls {
            self.time_calls(true);
        }
    }

    fn times_calls(&mut self) -> bool {
        let processors = self.processors();
        let calls = processors.iter().map(|processor| processor.calls).sum();
        self.timing.poll(monotonic_ns(), calls, processors.len() as u64)
    }

    fn time_calls(&mut self, on: bool) {
        if let Err(error) = self.programs.time_calls(on) {
            self.failed.get_or_insert(error);
        }
    }

    /// Reads threads that have ended and gives their slots back.
    fn recycle(&mut self) {
        self.created_then = self.created();
        for slot in self.slots() {
            let state = self.programs.threads.peek(slot as usize, offset_of!(ThreadRecord, state));
            if state != Some(THREAD_ENDED) {
                continue;
            }
            let Some(mut record) = self.programs.threads.read(slot as usize) else { break };
            self.thread(&record, record.end_ns);
            record.state = THREAD_FREE;
            self.programs.threads.write(slot as usize, record);
            self.programs.free_slot(slot);
        }
    }

    /// Recycles when slots may become rare.
    fn recycle_in_time(&mut self) {
        if self.created().wrapping_sub(self.created_then) > RECYCLE_THREADS {
            self.recycle();
        }
    }

    /// Threads that were created until now.
    fn created(&self) -> u32 {
        self.programs.globals.peek(0, offset_of!(Globals, next_thread)).unwrap_or(0)
    }

    /// Takes the rows of ended threads out of the kernel's tables when these fill.
    fn settle(&mut self) {
        self.roll.ripen();
        let places = self.places();
        if !self.roll.is_due(places) {
            return;
        }
        let gone = self.roll.gone();
        if self.live.is_some() {
            drop(Kept::of_ended(&mut self.programs, &gone));
            return self.roll.forget_ended(places);
        }
        // Before the tables: what a thread is about to add to them is in its record until then.
        let alive = self.alive();
        let kept = Kept::of_ended(&mut self.programs, &gone);
        self.recycle_in_time();
        let (timing, table) = (self.call_timing(), &self.programs.foreign);
        let foreign = |pid| table.get(&pid, 0).is_ok();
        self.roll.settle((&gone, kept), places, &alive, foreign, self.interner, timing);
    }

    /// The slots that are, or have been, in use.
    fn slots(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0)
    }

    /// The records of threads that have a slot and have executed the target.
    fn alive(&self) -> Vec<ThreadRecord> {
        let records = self.slots().filter_map(|slot| self.programs.threads.read(slot as usize));
        records.filter(|record| record.state != THREAD_FREE && record.fresh == 0).collect()
    }

    /// The largest number of a place.
    fn places(&self) -> u32 {
        self.programs.globals.peek(0, offset_of!(Globals, next_place)).unwrap_or(0)
    }

    fn call_timing(&self) -> CallTiming {
        CallTiming { windows: self.programs.windows(), complete: self.timing.complete() }
    }

    /// The target runs already.
    pub(super) fn attached(&mut self, pid: u32, now_ns: u64) {
        self.attached = true;
        self.begin_ns = Some(now_ns);
        self.slices.keep_first(now_ns);
        self.processors_at_begin = self.processors();
        // Threads of a process that was not executed under observation have image 0.
        self.images.insert(0, Image::new(pid, self.cache));
        self.refresh(0);
    }

    /// Writes what is left. The target has ended, or is no longer observed.
    pub(crate) fn finish(mut self) -> Result<Totals, Error> {
        // Taking what was told needs milliseconds, in which threads that live on would tell more.
        self.programs.detach();
        let detached_ns = monotonic_ns();
        self.poll();
        self.recycle();
        let alive = self.alive();
        // Threads that live on: all when a running program was observed, else those of processes left behind.
        let end_ns = self.roll.last_end_ns.filter(|_| !self.attached).unwrap_or(detached_ns);
        for record in alive {
            self.thread(&record, end_ns);
        }
        let trace = self.trace(end_ns);
        let (kept, timing) = (Kept::rest(&self.programs), self.call_timing());
        self.roll.settle_rest(kept, self.interner, timing);
        let others = foreign(self.run, self.programs.foreign.iter().flatten());
        self.roll.add_foreign(others);
        self.sleeping_rows(end_ns, self.places());
        let losses = self.losses();
        let totals = Totals { foreign_ns: trace.foreign_ns, ..self.roll.totals };
        let rows = take(&mut self.roll.rows);
        let (slices, samples, mut calls) = (self.slices.take(), take(&mut self.samples), take(&mut self.calls));
        by_thread(&mut calls);
        let marks = take(&mut self.marks);
        // Naming takes long and needs nothing of the kernel: detach first.
        let Consumer { run, programs, interner, writer, failed, sharing, images, variables, .. } = self;
        drop(programs);
        if let Some(error) = failed {
            return Err(error);
        }
        let Some(writer) = writer else { return Ok(totals) };
        writer.append(&[trace])?;
        writer.append(&slices)?;
        writer.append(&calls)?;
        writer.append(&marks)?;
        rows.append(writer)?;
        writer.append(&samples)?;
        writer.append(&losses)?;
        if let Some(sharing) = sharing {
            let known = |image: u32| {
                let image = images.get(&image)?;
                Some(Box::new(Known { image, variables: &variables }) as Box<dyn ImageCode + '_>)
            };
            let mut frame = |image: u32, address: u64| images.get(&image)?.frame(address, end_ns, interner);
            let shared = sharing.finish(run, &thread_id, &known, &mut frame);
            writer.append(&shared.accesses)?;
            writer.append(&shared.spins)?;
            writer.append(&shared.confirmations)?;
            writer.append(&shared.variables)?;
            writer.append(&shared.runtime_bytes)?;
            writer.append(&shared.losses)?;
        }
        let (stacks, frames, modules) = interner.take_rows();
        writer.append(&stacks)?;
        writer.append(&frames)?;
        writer.append(&modules)?;
        Ok(totals)
    }

    /// Writes the tables of which there is enough for a part. A live view takes what it needs more often.
    fn write_parts(&mut self) {
        let Some(writer) = &mut self.writer else { return };
        let written = [
            self.slices.write_part(writer),
            write_part(&mut self.samples, writer, as_they_are),
            write_part(&mut self.calls, writer, by_thread),
            write_part(&mut self.marks, writer, as_they_are),
            self.roll.rows.write_parts(writer),
        ];
        // The target goes on and the first failure is reported at its end; later ones would only repeat it.
        if let Some(error) = written.into_iter().find_map(Result::err) {
            self.failed.get_or_insert(error.into());
        }
    }

    /// Adds up a place for a live view.
    pub(super) fn wait(&mut self, key: &PlaceKey, value: &PlaceValue, rows: &mut Rows) {
        let timing = self.call_timing();
        self.roll.maker(self.interner, timing).wait(key, value, rows);
    }

    pub(super) fn processors(&self) -> Vec<ProcessorRecord> {
        usable_processors()
            .into_iter()
            .map(|processor| self.programs.processors.read(processor).unwrap_or_default())
            .collect()
    }

    fn thread(&mut self, record: &ThreadRecord, end_ns: u64) {
        self.slices.rest(record, end_ns);
        self.marks.extend(record::last_work(self.run, record, end_ns));
        self.untold_calls += record.calls_skipped;
        if self.attached && Some(record.start_ns) == self.begin_ns {
            self.roll.add_first(record);
        }
        let created_stack = self.roll.told.stack_of(record.created_place);
        let row = record::row(self.run, record, end_ns, self.programs.counted(), created_stack);
        self.roll.add(record, row);
    }
}

/// By thread and time, as slices.
fn by_thread(calls: &mut [Call]) {
    calls.sort_by_key(|call| (call.thread, call.start_ns, call.end_ns));
}
