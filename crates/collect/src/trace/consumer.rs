//! Takes what the kernel side tells while the target runs, and turns it into rows.
//!
//! It polls: an event never wakes it, so that a storm of events does not become a storm of wake-ups. May import: the
//! BPF side, `image`, `intern`, `slices`, `recording`.

use super::image::Image;
use super::intern::Interner;
use super::slices::{Slices, thread_id};
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::error::Error;
use crate::procfs::monotonic_ns;
use crate::syscall_names;
use recording::tables::*;
use recording::{RunId, StackId, WaitId, Writer};
use resolve::ModuleCache;
use std::collections::{BTreeMap, HashMap};

/// Rows kept in memory before a part is written: some 60 MB of slices.
const BUFFERED_ROWS: usize = 1 << 20;

/// What a place's first hit told.
struct PlaceStory {
    operation: u64,
    expected: u32,
    timed: bool,
    user_stack: Option<StackId>,
    kernel_stack: Option<StackId>,
}

/// The consumer of one traced run.
pub(crate) struct Consumer<'a> {
    run: RunId,
    programs: Programs,
    interner: &'a mut Interner,
    cache: &'a ModuleCache,
    writer: &'a mut Writer,
    images: HashMap<u32, Image>,
    stories: HashMap<u32, PlaceStory>,
    slices: Slices,
    samples: Vec<Sample>,
    threads: Vec<Thread>,
    syscalls: BTreeMap<(u32, u32), u64>,
    begin_ns: Option<u64>,
    processors_at_begin: Vec<ProcessorRecord>,
    sampled: u64,
    cut_stacks: u64,
    failed: Option<Error>,
}

impl<'a> Consumer<'a> {
    pub(crate) fn new(
        run: RunId,
        programs: Programs,
        interner: &'a mut Interner,
        cache: &'a ModuleCache,
        writer: &'a mut Writer,
    ) -> Consumer<'a> {
        Consumer {
            run,
            programs,
            interner,
            cache,
            writer,
            images: HashMap::new(),
            stories: HashMap::new(),
            slices: Slices::new(run),
            samples: Vec::new(),
            threads: Vec::new(),
            syscalls: BTreeMap::new(),
            begin_ns: None,
            processors_at_begin: Vec::new(),
            sampled: 0,
            cut_stacks: 0,
            failed: None,
        }
    }

    /// Takes everything that is there.
    pub(crate) fn poll(&mut self) {
        self.take_events();
        self.take_samples();
        self.settle_images();
        if self.slices.len() > BUFFERED_ROWS {
            let rows = self.slices.take();
            self.write(|writer| writer.append(&rows));
        }
        if self.samples.len() > BUFFERED_ROWS {
            let rows = std::mem::take(&mut self.samples);
            self.write(|writer| writer.append(&rows));
        }
    }

    /// Reads threads that have ended and gives their slots back.
    pub(crate) fn recycle(&mut self) {
        let last = self.programs.globals.read(0).map_or(0, |globals| globals.next_slot);
        for slot in 1..=last {
            let Some(mut record) = self.programs.threads.read(slot as usize) else { break };
            if record.state == THREAD_ENDED {
                self.thread(&record, record.end_ns);
                record.state = THREAD_FREE;
                self.programs.threads.write(slot as usize, record);
                self.programs.free_slot(slot);
            }
        }
    }

    /// Writes what is left. The target has ended.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.poll();
        self.recycle();
        let end_ns = self.threads.iter().map(|thread| thread.end_ns).max().unwrap_or_else(monotonic_ns);
        // Threads that live on, in processes that the target left behind.
        let last = self.programs.globals.read(0).map_or(0, |globals| globals.next_slot);
        for slot in 1..=last {
            let record = self.programs.threads.read(slot as usize);
            if let Some(record) = record.filter(|record| record.state != THREAD_FREE && record.fresh == 0) {
                self.thread(&record, end_ns);
            }
        }
        let trace = self.trace(end_ns);
        let (waits, wakes) = self.waits_and_wakes();
        let syscalls = self.syscall_rows();
        let losses = self.losses();
        let (slices, samples) = (self.slices.take(), std::mem::take(&mut self.samples));
        let threads = std::mem::take(&mut self.threads);
        // Naming takes long and needs nothing of the kernel: detach first.
        let Consumer { programs, interner, writer, failed, .. } = self;
        drop(programs);
        if let Some(error) = failed {
            return Err(error);
        }
        writer.append(&[trace])?;
        writer.append(&threads)?;
        writer.append(&slices)?;
        writer.append(&waits)?;
        writer.append(&wakes)?;
        writer.append(&syscalls)?;
        writer.append(&samples)?;
        writer.append(&losses)?;
        let (stacks, frames, modules) = interner.take_rows();
        writer.append(&stacks)?;
        writer.append(&frames)?;
        writer.append(&modules)?;
        Ok(())
    }

    fn write(&mut self, append: impl FnOnce(&mut Writer) -> Result<(), recording::Error>) {
        if let Err(error) = append(self.writer) {
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
                EVENT_PLACE => {
                    if let Some((event, stack)) = parse::<PlaceEvent>(&item) {
                        let stack = stack.get(..event.stack_bytes as usize).unwrap_or_default().to_vec();
                        drop(item);
                        self.place(&event, &stack);
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
            let user_stack = self.user_stack(event.image, event.pid, &event.registers, &stack);
            let kernel_stack = self.kernel_stack(&event.kernel_stack, event.kernel_frames);
            let in_kernel = event.in_kernel != 0;
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

    fn exec(&mut self, event: &ExecEvent) {
        if event.fresh != 0 && self.begin_ns.is_none() {
            self.begin_ns = Some(event.time_ns);
            self.processors_at_begin = self.processors();
        }
        self.images.insert(event.image, Image::new(event.pid, self.cache));
        self.refresh(event.image);
    }

    fn refresh(&mut self, image: u32) {
        if let Some(spans) = self.images.get_mut(&image).and_then(Image::refresh) {
            self.programs.images.write(image as usize % MAX_IMAGES, spans);
        }
    }

    fn settle_images(&mut self) {
        let settling: Vec<u32> = self.images.iter().filter(|(_, i)| i.settling()).map(|(id, _)| *id).collect();
        for image in settling {
            self.refresh(image);
        }
    }

    fn place(&mut self, event: &PlaceEvent, stack: &[u8]) {
        let user_stack = self.user_stack(event.image, event.pid, &event.registers, stack);
        let kernel_stack = self.kernel_stack(&event.kernel_stack, event.kernel_frames);
        let story = PlaceStory {
            operation: event.operation,
            expected: event.expected as u32,
            timed: event.timed != 0,
            user_stack,
            kernel_stack,
        };
        self.stories.insert(event.place, story);
    }

    fn user_stack(&mut self, image: u32, pid: u32, registers: &Registers, stack: &[u8]) -> Option<StackId> {
        let entry = self.images.entry(image).or_insert_with(|| Image::new(pid, self.cache));
        let (unwound, spans) = entry.unwind(registers, stack, self.interner);
        if let Some(spans) = spans {
            self.programs.images.write(image as usize % MAX_IMAGES, spans);
        }
        self.cut_stacks += u64::from(unwound.truncated);
        unwound.stack
    }

    fn kernel_stack(&mut self, addresses: &[u64; KERNEL_FRAMES], frames: u32) -> Option<StackId> {
        let addresses = addresses.iter().take(frames as usize).enumerate();
        // All but the innermost are return addresses: the call is before them.
        let frames: Vec<_> = addresses
            .map(|(depth, address)| self.interner.kernel_frame(address.saturating_sub(u64::from(depth > 0))))
            .collect();
        self.interner.stack(&frames, false)
    }

    fn processors(&self) -> Vec<ProcessorRecord> {
        crate::machine::usable_processors()
            .into_iter()
            .map(|processor| self.programs.processors.read(processor).unwrap_or_default())
            .collect()
    }

    fn thread(&mut self, record: &ThreadRecord, end_ns: u64) {
        self.slices.rest(record, end_ns);
        for cached in record.syscalls.iter().filter(|cached| cached.count > 0) {
            *self.syscalls.entry((record.thread, cached.number)).or_default() += u64::from(cached.count);
        }
        let ended = record.state == THREAD_ENDED;
        let name = if ended {
            String::from_utf8_lossy(record.comm.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
        } else {
            let comm = std::fs::read_to_string(format!("/proc/{}/task/{}/comm", record.pid, record.tid));
            comm.unwrap_or_default().trim_end().to_owned()
        };
        // Totals move at switches only: the time since the last one is added by what the thread does.
        let open = |from: u64| if ended { 0 } else { end_ns.saturating_sub(from) };
        let is = |phase: u32| record.phase == phase;
        let waiting = record.was_preempted == 0;
        let woken = record.wake_ns.max(record.off_ns);
        self.threads.push(Thread {
            run: self.run,
            thread: thread_id(record.thread),
            pid: record.pid,
            tid: record.tid,
            name,
            parent: (record.parent != 0).then(|| thread_id(record.parent)),
            start_ns: record.start_ns,
            end_ns,
            running_ns: record.running_ns + if is(PHASE_RUNNING) { open(record.on_ns) } else { 0 },
            runnable_ns: record.runnable_ns + if is(PHASE_WOKEN) && waiting { open(woken) } else { 0 },
            preempted_ns: record.preempted_ns + if !is(PHASE_RUNNING) && !waiting { open(record.off_ns) } else { 0 },
            blocked_ns: record.blocked_ns
                + if is(PHASE_BLOCKED) {
                    open(record.off_ns)
                } else if is(PHASE_WOKEN) && waiting && !ended {
                    woken - record.off_ns
                } else {
                    0
                },
            voluntary_switches: record.voluntary,
            involuntary_switches: record.involuntary,
            migrations: record.migrations,
            created_stack: None,
            minor_faults: None,
            major_faults: None,
            cycles: None,
            instructions: None,
            cache_misses: None,
            stalled_cycles: None,
        });
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
            sample_period_ns: 1_000_000_000 / crate::bpf::SAMPLE_HZ,
            idle_ns: since(|p| p.idle_ns),
            foreign_ns: since(|p| p.foreign_ns),
            observer_ns: since(|p| p.observer_ns),
        }
    }

    fn waits_and_wakes(&mut self) -> (Vec<Wait>, Vec<Wake>) {
        let mut waits = Vec::new();
        for (key, value) in self.programs.places.iter().flatten() {
            if key.kind & KIND_WAKER != 0 {
                continue;
            }
            let syscall = (key.kind != KIND_FAULT).then_some(key.kind);
            let reason = syscall_names::reason(syscall);
            let story = self.stories.get(&value.place);
            let futex = reason == Reason::Futex;
            waits.push(Wait {
                run: self.run,
                wait: WaitId(value.place),
                thread: thread_id(key.thread),
                reason,
                syscall,
                object: syscall.map(|_| key.object),
                operation: story.filter(|_| syscall.is_some()).map(|story| story.operation),
                what: None,
                expected: story.filter(|_| futex).map(|story| story.expected),
                timed: futex && story.is_some_and(|story| story.timed),
                user_stack: story.and_then(|story| story.user_stack),
                kernel_stack: story.and_then(|story| story.kernel_stack),
                count: value.count,
                blocked_ns: value.blocked_ns,
                runnable_ns: value.runnable_ns,
                longest_ns: value.longest_ns,
            });
        }
        waits.sort_by_key(|wait| wait.wait);
        let mut wakes = Vec::new();
        for (key, value) in self.programs.edges.iter().flatten() {
            let call = key.waker_call & !SAME_OBJECT;
            wakes.push(Wake {
                run: self.run,
                wait: WaitId(key.place),
                waker: (key.waker != 0).then(|| thread_id(key.waker)),
                waker_stack: self.stories.get(&key.waker_place).and_then(|story| story.user_stack),
                waker_syscall: call.checked_sub(1),
                same_object: key.waker_call & SAME_OBJECT != 0,
                holder: None,
                count: value.count,
                blocked_ns: value.blocked_ns,
            });
        }
        wakes.sort_by_key(|wake| (wake.wait, wake.waker, wake.waker_stack, wake.waker_syscall));
        (waits, wakes)
    }

    fn syscall_rows(&mut self) -> Vec<Syscall> {
        for (key, count) in self.programs.syscalls.iter().flatten() {
            *self.syscalls.entry((key.thread, key.number)).or_default() += count;
        }
        let row = |((thread, number), count): (&(u32, u32), &u64)| Syscall {
            run: self.run,
            thread: thread_id(*thread),
            number: *number,
            name: syscall_names::name(*number),
            count: *count,
        };
        self.syscalls.iter().map(row).collect()
    }

    fn losses(&self) -> Vec<Loss> {
        let counts = self.programs.globals.read(0).map_or([0; 8], |globals| globals.losses);
        let kernel = LOSSES.iter().zip(counts).filter_map(|(what, count)| {
            let what = (*what)?;
            let of = (what == LOST_SAMPLES).then_some(self.sampled + count);
            Some((what, count, of))
        });
        let stacks = self.sampled + self.stories.len() as u64;
        kernel
            .chain([("outermost frames of stacks", self.cut_stacks, Some(stacks))])
            .filter(|(_, count, _)| *count > 0)
            .map(|(what, count, of)| Loss { run: self.run, what: what.to_owned(), count, of })
            .collect()
    }
}
