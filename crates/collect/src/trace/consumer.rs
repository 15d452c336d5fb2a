//! Takes what the kernel side tells while the target runs, and turns it into rows.
//!
//! It polls: an event never wakes it, so that a storm of events does not become a storm of wake-ups. What is summed up
//! in the kernel's tables becomes rows in `rows`, at the end. May import: the BPF side and the other rooms of `trace`.

use super::asleep::{Call as SleepingCall, Sleeper};
use super::image::Image;
use super::intern::Interner;
use super::kept::Kept;
use super::known::{Known, Variables};
use super::live::LiveState;
use super::rows::{Rows, text};
use super::slices::{Slices, thread_id};
use super::story::{FileKind, PathStacks, Story};
use super::timing::Timing;
use super::watched::Watched;
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::bpf::hardware::Event;
use crate::error::Error;
use crate::machine::usable_processors;
use crate::procfs::{self, monotonic_ns};
use crate::sharing::{ImageCode, Sampled, SharingSampler};
use recording::tables::*;
use recording::{RunId, StackId, ThreadId, WaitId, Writer};
use resolve::ModuleCache;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::offset_of;

/// Rows kept in memory before a part is written: some 60 MB of slices.
const BUFFERED_ROWS: usize = 1 << 20;

/// Ended threads are read and their slots given back every so many polls.
const RECYCLE_POLLS: u32 = 10;

/// Return addresses that are looked at for a loop around a call: wrappers of atomics without optimisation.
const CALLERS: usize = 4;

/// The system call that a thread sleeps in, and the stack of user space.
pub(super) type Asleep = (Option<SleepingCall>, Option<StackId>);

/// Sums over the threads of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) running_ns: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) migrations: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

impl Totals {
    fn of(threads: &[Thread]) -> Totals {
        let mut totals = Totals::default();
        for thread in threads {
            totals.running_ns += thread.running_ns;
            totals.voluntary_switches += thread.voluntary_switches;
            totals.involuntary_switches += thread.involuntary_switches;
            totals.migrations += thread.migrations;
            totals.minor_faults += thread.minor_faults.unwrap_or(0);
            totals.major_faults += thread.major_faults.unwrap_or(0);
        }
        totals
    }
}

/// The consumer of one traced run.
pub(crate) struct Consumer<'a> {
    pub(super) run: RunId,
    pub(super) programs: Programs,
    pub(super) interner: &'a mut Interner,
    cache: &'a ModuleCache,
    /// Absent for a live view, which keeps nothing.
    writer: Option<&'a mut Writer>,
    images: HashMap<u32, Image>,
    pub(super) stories: HashMap<u32, Story>,
    /// Of a live view: what its windows need.
    pub(super) live: Option<LiveState>,
    /// Stacks by the number of their call path.
    paths: HashMap<u32, PathStacks>,
    pub(super) slices: Slices,
    pub(super) samples: Vec<Sample>,
    pub(super) calls: Vec<Call>,
    pub(super) marks: Vec<Mark>,
    pub(super) threads: Vec<Thread>,
    /// By process and thread number as the program sees it: who a number beside a futex means.
    pub(super) owners: HashMap<(u32, u32), u32>,
    /// Threads that slept when observing began, by process and number.
    pub(super) sleepers: HashMap<(u32, u32), Asleep>,
    /// The process of each thread.
    pub(super) processes: HashMap<u32, u32>,
    pub(super) futexes: Vec<FutexOperation>,
    pub(super) syscalls: BTreeMap<(u32, u32), u64>,
    pub(super) kept: Kept,
    /// Addresses of the locks of memory maps.
    pub(super) mmap_locks: HashSet<u64>,
    pub(super) ended: HashSet<u32>,
    /// The target was running before, and may go on.
    attached: bool,
    pub(super) begin_ns: Option<u64>,
    processors_at_begin: Vec<ProcessorRecord>,
    pub(super) timing: Timing,
    sampled: u64,
    cut_stacks: u64,
    /// Absent where the code of this architecture is not decoded.
    pub(super) sharing: Option<SharingSampler>,
    variables: Variables,
    untold_calls: u64,
    polls: u32,
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
            stories: HashMap::new(),
            live: None,
            paths: HashMap::new(),
            slices: Slices::new(run),
            samples: Vec::new(),
            calls: Vec::new(),
            marks: Vec::new(),
            threads: Vec::new(),
            owners: HashMap::new(),
            sleepers: HashMap::new(),
            processes: HashMap::new(),
            futexes: Vec::new(),
            syscalls: BTreeMap::new(),
            kept: Kept::default(),
            mmap_locks: HashSet::new(),
            ended: HashSet::new(),
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
        if self.polls.is_multiple_of(RECYCLE_POLLS) {
            self.recycle();
        }
        if self.slices.len() > BUFFERED_ROWS {
            let rows = self.slices.take();
            self.write(|writer| writer.append(&rows));
        }
        if self.samples.len() > BUFFERED_ROWS {
            let rows = std::mem::take(&mut self.samples);
            self.write(|writer| writer.append(&rows));
        }
        if self.calls.len() > BUFFERED_ROWS {
            let rows = std::mem::take(&mut self.calls);
            self.write(|writer| writer.append(&rows));
        }
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
        let last = self.programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0);
        for slot in 1..=last {
            let state = self.programs.threads.peek(slot as usize, offset_of!(ThreadRecord, state));
            if state != Some(THREAD_ENDED) {
                continue;
            }
            let Some(mut record) = self.programs.threads.read(slot as usize) else { break };
            self.thread(&record, record.end_ns);
            self.ended.insert(record.thread);
            record.state = THREAD_FREE;
            self.programs.threads.write(slot as usize, record);
            self.programs.free_slot(slot);
        }
        let places = self.programs.globals.peek(0, offset_of!(Globals, next_place)).unwrap_or(0);
        if self.kept.full(places, self.ended.len()) {
            self.kept.take(&mut self.programs, places, &self.ended);
        }
    }

    /// The target runs already.
    pub(super) fn attached(&mut self, pid: u32, now_ns: u64) {
        self.attached = true;
        self.begin_ns = Some(now_ns);
        self.processors_at_begin = self.processors();
        // Threads of a process that was not executed under observation have image 0.
        self.images.insert(0, Image::new(pid, self.cache));
        self.refresh(0);
    }

    /// Threads that slept when observing began, by number, and what in.
    pub(super) fn asleep_at_begin(&mut self, pid: u32, sleepers: Vec<(u32, Sleeper)>) {
        for (tid, sleeper) in sleepers {
            let user_stack = self.user_stack(0, pid, &sleeper.registers, &sleeper.stack, monotonic_ns());
            self.sleepers.insert((pid, tid), (sleeper.call, user_stack));
        }
    }

    /// Writes what is left. The target has ended, or is no longer observed.
    pub(crate) fn finish(mut self) -> Result<Totals, Error> {
        self.poll();
        self.recycle();
        let last_end = self.threads.iter().map(|thread| thread.end_ns).max();
        let last = self.programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0);
        let alive: Vec<ThreadRecord> = (1..=last)
            .filter_map(|slot| self.programs.threads.read(slot as usize))
            .filter(|record| record.state != THREAD_FREE && record.fresh == 0)
            .collect();
        // Threads that live on: all when a running program was observed, else those of processes left behind.
        let end_ns = if self.attached { monotonic_ns() } else { last_end.unwrap_or_else(monotonic_ns) };
        for record in alive {
            self.thread(&record, end_ns);
        }
        let trace = self.trace(end_ns);
        let mut rows = self.rows();
        // Until it was enrolled, the child that became the target counted as another program: a tenth of a millisecond.
        let own: HashSet<u32> = self.threads.iter().map(|thread| thread.pid).collect();
        rows.foreign.retain(|other| !own.contains(&other.pid));
        let places = self.programs.globals.peek(0, offset_of!(Globals, next_place)).unwrap_or(0);
        self.sleeping_rows(end_ns, places, &mut rows);
        let totals = Totals::of(&self.threads);
        let losses = self.losses(&rows);
        let (slices, samples, calls) =
            (self.slices.take(), std::mem::take(&mut self.samples), std::mem::take(&mut self.calls));
        let threads = std::mem::take(&mut self.threads);
        let futexes = std::mem::take(&mut self.futexes);
        let marks = std::mem::take(&mut self.marks);
        // Naming takes long and needs nothing of the kernel: detach first.
        let Consumer { run, programs, interner, writer, failed, sharing, images, variables, .. } = self;
        drop(programs);
        if let Some(error) = failed {
            return Err(error);
        }
        let Some(writer) = writer else { return Ok(totals) };
        writer.append(&[trace])?;
        writer.append(&threads)?;
        writer.append(&slices)?;
        writer.append(&calls)?;
        writer.append(&marks)?;
        writer.append(&futexes)?;
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

    fn write(&mut self, append: impl FnOnce(&mut Writer) -> Result<(), recording::Error>) {
        // A live view takes what it needs more often than this.
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = append(writer) {
            // The target goes on and the first failure is reported at its end; later ones would only repeat it.
            self.failed.get_or_insert(error.into());
        }
    }

    fn take_events(&mut self) {
        // The ring is borrowed while an event is read, so events that need the rest of `self` are copied out.
        loop {
            let Some(item) = self.programs.events.next() else { return };
            let Some((header, _)) = parse::<Header>(&item) else { continue };
            match header.kind {
                EVENT_PERIOD => {
                    if let Some((event, _)) = parse::<PeriodEvent>(&item) {
                        self.slices.period(&event);
                    }
                }
                EVENT_STRETCH => {
                    if let Some((event, _)) = parse::<StretchEvent>(&item) {
                        self.slices.stretch(event.header.thread, &event.stretch);
                    }
                }
                EVENT_MARK => {
                    if let Some((event, _)) = parse::<MarkEvent>(&item) {
                        self.marks.push(mark(self.run, &event));
                    }
                }
                EVENT_CALL => {
                    if let Some((event, _)) = parse::<CallEvent>(&item) {
                        self.calls.push(Call {
                            run: self.run,
                            thread: thread_id(event.header.thread),
                            start_ns: event.start_ns,
                            end_ns: event.end_ns,
                            number: event.number,
                            error: (event.error != 0).then_some(event.error),
                        });
                    }
                }
                EVENT_PLACE => {
                    if let Some((event, _)) = parse::<PlaceEvent>(&item) {
                        drop(item);
                        self.place(&event);
                    }
                }
                EVENT_STACK => {
                    if let Some((event, bytes)) = parse::<StackEvent>(&item) {
                        let bytes = bytes.get(..event.stack_bytes as usize).unwrap_or_default().to_vec();
                        drop(item);
                        // When it was copied is not told: at most one polling pause ago.
                        let now_ns = monotonic_ns();
                        let stacks = PathStacks {
                            user: self.user_stack(event.image, event.pid, &event.registers, &bytes, now_ns),
                            kernel: self.kernel_stack(&event.kernel_stack, event.kernel_frames),
                            kernel_code: kernel_code(&event.kernel_stack, event.kernel_frames).collect(),
                        };
                        self.paths.insert(event.stack, stacks);
                    }
                }
                EVENT_EXEC => {
                    if let Some((event, _)) = parse::<ExecEvent>(&item) {
                        drop(item);
                        self.exec(&event);
                    }
                }
                _ => {}
            }
        }
    }

    fn take_samples(&mut self) {
        loop {
            let Some(item) = self.programs.samples.next() else { return };
            let Some((event, stack)) = parse::<SampleEvent>(&item) else { continue };
            let stack = stack.get(..event.stack_bytes as usize).unwrap_or_default().to_vec();
            drop(item);
            let user_stack = self.user_stack(event.image, event.pid, &event.registers, &stack, event.time_ns);
            let kernel_stack = self.kernel_stack(&event.kernel_stack, event.kernel_frames);
            let in_kernel = event.in_kernel != 0;
            // A loop that gives its processor away spends its time in that call.
            if !in_kernel || i64::from(event.kind) == libc::SYS_sched_yield {
                self.shared(&event, &stack, user_stack);
            }
            self.sampled += 1;
            self.samples.push(Sample {
                run: self.run,
                thread: thread_id(event.header.thread),
                time_ns: event.time_ns,
                processor: event.processor,
                mode: if in_kernel { Mode::Kernel } else { Mode::User },
                syscall: (in_kernel && event.kind != KIND_FAULT).then_some(event.kind),
                user_stack,
                kernel_stack,
            });
        }
    }

    fn shared(&mut self, event: &SampleEvent, stack: &[u8], user_stack: Option<StackId>) {
        let (Some(sharing), Some(image)) = (&mut self.sharing, self.images.get(&event.image)) else { return };
        let callers: Vec<u64> = image.callers().take(CALLERS).collect();
        let sampled = Sampled {
            thread: event.header.thread,
            pid: event.pid,
            image: event.image,
            time_ns: event.time_ns,
            registers: &event.all_registers,
            stack,
            red_zone: event.red_zone.get(..event.red_zone_bytes as usize).unwrap_or_default(),
            callers: &callers,
            user_stack,
        };
        sharing.sample(&sampled, &Known { image, variables: &self.variables });
    }

    fn watch_sharing(&mut self) {
        let Some(sharing) = &mut self.sharing else { return };
        let last = self.programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0);
        sharing.tick(monotonic_ns(), &Watched { records: &self.programs.threads, last: last as usize });
    }

    fn exec(&mut self, event: &ExecEvent) {
        if event.fresh != 0 && self.begin_ns.is_none() {
            self.begin_ns = Some(event.time_ns);
            self.processors_at_begin = self.processors();
        }
        self.images.insert(event.image, Image::new(event.pid, self.cache));
        self.refresh(event.image);
    }

    fn refresh(&mut self, image: u32) {
        let Some(entry) = self.images.get_mut(&image) else { return };
        if let Some(spans) = entry.refresh() {
            for file in entry.code_files() {
                self.programs.listen_to_marks(&file);
            }
            self.programs.images.write(image as usize % MAX_IMAGES, spans);
        }
    }

    fn settle_images(&mut self) {
        let settling: Vec<u32> = self.images.iter().filter(|(_, i)| i.settling()).map(|(id, _)| *id).collect();
        for image in settling {
            self.refresh(image);
        }
    }

    /// The stack of a place, once it was told.
    pub(super) fn stack_of(&self, place: u32) -> Option<StackId> {
        self.stacks_of(place)?.user
    }

    /// Both stacks of a place, once they were told.
    pub(super) fn stacks_of(&self, place: u32) -> Option<&PathStacks> {
        self.paths.get(&self.stories.get(&place)?.path)
    }

    fn place(&mut self, event: &PlaceEvent) {
        let file = FileKind::of(
            event.file_mode,
            std::fs::read_link(format!("/proc/{}/fd/{}", event.pid, event.object as u32)).ok().as_deref(),
        );
        let story = Story {
            operation: event.operation,
            expected: event.expected as u32,
            timed: event.timed != 0,
            path: event.stack,
            file: file.filter(|_| event.file_mode != 0),
        };
        self.stories.insert(event.place, story);
        if let Some(live) = &mut self.live {
            live.place(event);
        }
    }

    /// The stack of a thread, of which the bytes were copied at a time.
    fn user_stack(
        &mut self,
        image: u32,
        pid: u32,
        registers: &Registers,
        stack: &[u8],
        time_ns: u64,
    ) -> Option<StackId> {
        let entry = self.images.entry(image).or_insert_with(|| Image::new(pid, self.cache));
        let (unwound, spans) = entry.unwind(registers, stack, time_ns, self.interner);
        if let Some(spans) = spans {
            self.programs.images.write(image as usize % MAX_IMAGES, spans);
        }
        self.cut_stacks += u64::from(unwound.truncated);
        unwound.stack
    }

    fn kernel_stack(&mut self, addresses: &[u64; KERNEL_FRAMES], frames: u32) -> Option<StackId> {
        let frames: Vec<_> =
            kernel_code(addresses, frames).map(|address| self.interner.kernel_frame(address)).collect();
        self.interner.stack(&frames, false)
    }

    fn processors(&self) -> Vec<ProcessorRecord> {
        usable_processors()
            .into_iter()
            .map(|processor| self.programs.processors.read(processor).unwrap_or_default())
            .collect()
    }

    fn thread(&mut self, record: &ThreadRecord, end_ns: u64) {
        self.slices.rest(record, end_ns);
        for cached in record.syscalls.iter().filter(|cached| cached.count > 0) {
            *self.syscalls.entry((record.thread, cached.number)).or_default() += u64::from(cached.count);
        }
        if record.work > 0 {
            let event = MarkEvent {
                header: Header { kind: EVENT_MARK, thread: record.thread },
                time_ns: end_ns,
                mark: MARK_WORK,
                padding: 0,
                amount: record.work,
                name: [0; 64],
            };
            self.marks.push(mark(self.run, &event));
        }
        self.kept.pending(record);
        self.untold_calls += record.calls_skipped;
        self.owners.insert((record.pid, record.inner_tid), record.thread);
        self.processes.insert(record.thread, record.pid);
        for (operation, count) in record.futexes.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.futexes.push(FutexOperation {
                run: self.run,
                thread: thread_id(record.thread),
                operation: futex_operation(operation),
                count: u64::from(*count),
            });
        }
        let ended = record.state == THREAD_ENDED;
        // The beginning of an observed thread may be uncounted: what was counted stands for the rest.
        let counted = |wanted| {
            let position = self.programs.counted().iter().position(|event| *event == wanted)?;
            let count = u128::from(*record.counters.get(position)?);
            let scaled = (count * u128::from(record.running_ns)).checked_div(u128::from(record.counted_ns))?;
            u64::try_from(scaled).ok()
        };
        // Until its end a record holds the faults before it was first seen, negated.
        let faults = if ended { Some((0, 0)) } else { procfs::faults(record.pid, record.tid) };
        let (minor, major) = (
            faults.map(|(minor, _)| record.minor_faults.wrapping_add(minor)),
            faults.map(|(_, major)| record.major_faults.wrapping_add(major)),
        );
        let name = if ended {
            text(&record.comm)
        } else {
            let comm = std::fs::read_to_string(format!("/proc/{}/task/{}/comm", record.pid, record.tid));
            comm.unwrap_or_default().trim_end().to_owned()
        };
        let [running_ns, runnable_ns, preempted_ns, blocked_ns] = spent(record, end_ns);
        self.threads.push(Thread {
            run: self.run,
            thread: thread_id(record.thread),
            pid: record.pid,
            tid: record.tid,
            name,
            parent: (record.parent != 0).then(|| thread_id(record.parent)),
            start_ns: record.start_ns,
            end_ns,
            running_ns,
            runnable_ns,
            preempted_ns,
            blocked_ns,
            voluntary_switches: record.voluntary,
            involuntary_switches: record.involuntary,
            migrations: record.migrations,
            created_stack: self.stack_of(record.created_place),
            minor_faults: minor,
            major_faults: major,
            cycles: counted(Event::Cycles),
            instructions: counted(Event::Instructions),
            cache_misses: counted(Event::CacheMisses),
            stalled_cycles: counted(Event::StalledCycles),
        });
    }

    /// Waits that began before observing did: of threads that never woke, which no hook has seen, and of others up to
    /// their first wake-up.
    fn sleeping_rows(&mut self, end_ns: u64, places: u32, rows: &mut Rows) {
        let Some(begin_ns) = self.begin_ns.filter(|_| self.attached) else { return };
        let known: HashMap<(u32, u32), ThreadId> =
            self.threads.iter().map(|thread| ((thread.pid, thread.tid), thread.thread)).collect();
        let mut next = self.threads.iter().map(|thread| thread.thread.0 + 1).max().unwrap_or(0);
        let mut sleepers: Vec<_> = std::mem::take(&mut self.sleepers).into_iter().collect();
        sleepers.sort_by_key(|(id, _)| *id);
        for (position, ((pid, tid), (call, user_stack))) in sleepers.into_iter().enumerate() {
            let wait = WaitId(places + 1 + position as u32);
            let thread = match known.get(&(pid, tid)) {
                Some(thread) => *thread,
                None => {
                    let thread = ThreadId(next);
                    next += 1;
                    self.threads.push(unseen(self.run, thread, pid, tid, begin_ns, end_ns));
                    self.slices.unseen(thread, begin_ns, end_ns);
                    thread
                }
            };
            let Some(blocked_ns) = self.slices.first_wait(thread, begin_ns, wait) else { continue };
            rows.asleep(self.run, wait, thread, call, user_stack, blocked_ns);
        }
    }

    fn trace(&self, end_ns: u64) -> Trace {
        let now = self.processors();
        let since = |value: fn(&ProcessorRecord) -> u64| {
            let sum = |records: &[ProcessorRecord]| records.iter().map(value).sum::<u64>();
            sum(&now).saturating_sub(sum(&self.processors_at_begin))
        };
        Trace {
            run: self.run,
            begin_ns: self.begin_ns.unwrap_or(end_ns),
            end_ns,
            processors: now.len() as u32,
            sample_period_ns: 1_000_000_000 / self.programs.sample_hz,
            idle_ns: since(|p| p.idle_ns),
            foreign_ns: since(|p| p.foreign_ns),
            observer_ns: since(|p| p.observer_ns),
        }
    }

    fn losses(&self, rows: &Rows) -> Vec<Loss> {
        let counts = self.programs.globals.read(0).map_or([0; 16], |globals| globals.losses);
        let kernel = LOSSES.iter().zip(counts).filter_map(|(what, count)| {
            let what = (*what)?;
            let of = (what == LOST_SAMPLES).then_some(self.sampled + count);
            Some((what, count, of))
        });
        let stacks = self.sampled + self.paths.len() as u64;
        kernel
            .chain([
                ("outermost frames of stacks", self.cut_stacks, Some(stacks)),
                ("stacks of wait places", rows.untold(), Some(rows.places())),
                ("marks that could not be listened to", self.programs.failed_marks(), None),
                ("system calls on the timeline", self.untold_calls, None),
            ])
            .filter(|(_, count, _)| *count > 0)
            .map(|(what, count, of)| Loss { run: self.run, what: what.to_owned(), count, of })
            .collect()
    }
}

/// What a thread did with its life up to a time: running, ready after a wait, taken off the processor, blocked.
pub(super) fn spent(record: &ThreadRecord, end_ns: u64) -> [u64; 4] {
    let ended = record.state == THREAD_ENDED;
    // Totals move at switches only: the time since the last one is added by what the thread does.
    let open = |from: u64| if ended { 0 } else { end_ns.saturating_sub(from) };
    let is = |phase: u32| record.phase == phase;
    let waiting = record.was_preempted == 0;
    let woken = record.wake_ns.max(record.off_ns);
    let blocked = match () {
        () if is(PHASE_BLOCKED) => open(record.off_ns),
        () if is(PHASE_WOKEN) && waiting && !ended => woken - record.off_ns,
        () => 0,
    };
    [
        record.running_ns + if is(PHASE_RUNNING) { open(record.on_ns) } else { 0 },
        record.runnable_ns + if is(PHASE_WOKEN) && waiting { open(woken) } else { 0 },
        record.preempted_ns + if !is(PHASE_RUNNING) && !waiting { open(record.off_ns) } else { 0 },
        record.blocked_ns + blocked,
    ]
}

fn mark(run: RunId, event: &MarkEvent) -> Mark {
    let kind = match event.mark {
        MARK_BEGIN => MarkKind::Begin,
        MARK_END => MarkKind::End,
        MARK_TASK_BEGIN => MarkKind::TaskBegin,
        MARK_TASK_END => MarkKind::TaskEnd,
        MARK_WORK => MarkKind::Work,
        _ => MarkKind::Unknown,
    };
    let task = matches!(kind, MarkKind::TaskBegin | MarkKind::TaskEnd);
    Mark {
        run,
        thread: thread_id(event.header.thread),
        time_ns: event.time_ns,
        kind,
        name: task.then(|| text(&event.name)).filter(|name| !name.is_empty()),
        amount: (kind == MarkKind::Work).then_some(event.amount),
    }
}

/// A thread that slept from the beginning to the end.
pub(super) fn unseen(run: RunId, thread: ThreadId, pid: u32, tid: u32, start_ns: u64, end_ns: u64) -> Thread {
    let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    Thread {
        pid,
        tid,
        name: name.trim_end().to_owned(),
        start_ns,
        end_ns,
        blocked_ns: end_ns.saturating_sub(start_ns),
        minor_faults: Some(0),
        major_faults: Some(0),
        ..Thread::blank(run, thread)
    }
}

/// Code addresses of a kernel stack, innermost first. All but that one are return addresses: the call is before them.
fn kernel_code(addresses: &[u64; KERNEL_FRAMES], frames: u32) -> impl Iterator<Item = u64> + '_ {
    let addresses = addresses.iter().take(frames as usize).enumerate();
    addresses.map(|(depth, address)| address.saturating_sub(u64::from(depth > 0)))
}

/// The name of a futex operation (linux/futex.h).
fn futex_operation(operation: usize) -> String {
    const NAMES: [&str; 14] = [
        "FUTEX_WAIT",
        "FUTEX_WAKE",
        "FUTEX_FD",
        "FUTEX_REQUEUE",
        "FUTEX_CMP_REQUEUE",
        "FUTEX_WAKE_OP",
        "FUTEX_LOCK_PI",
        "FUTEX_UNLOCK_PI",
        "FUTEX_TRYLOCK_PI",
        "FUTEX_WAIT_BITSET",
        "FUTEX_WAKE_BITSET",
        "FUTEX_WAIT_REQUEUE_PI",
        "FUTEX_CMP_REQUEUE_PI",
        "FUTEX_LOCK_PI2",
    ];
    NAMES.get(operation).map_or_else(|| operation.to_string(), |name| (*name).to_owned())
}
