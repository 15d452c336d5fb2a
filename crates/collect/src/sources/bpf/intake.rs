//! Takes the kernel side's events out of its two rings: timelines, places, stacks, marks, samples.

use super::places::{FirstHit, PathStacks, Places};
use super::shared_memory;
use super::summary::Beginning;
use super::thread::{UnreadNames, mark};
use super::thread_time::{self, thread_id};
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::build::Builder;
use crate::events::{CpuSample, Event};
use crate::procfs::monotonic_ns;
use crate::sharing::SharingSampler;
use crate::stacks::{CodeMap, Copied, PythonCall, PythonMap, Stacks};
use recording::tables::Mode;
use resolve::UserRegisters;
use resolve::python::Border;
use std::cell::OnceCell;
use std::collections::HashMap;

/// After so many samples the other events are taken again. To unwind a sample takes 20 µs and more, so that this is every
/// few milliseconds; their ring has room for 900 call paths, of which a Java program meets thousands a second as it starts.
const SAMPLES_AT_ONCE: u64 = 64;

/// Takes events out of the rings.
pub(super) struct Intake<'i, 's> {
    pub(super) programs: &'i mut Programs,
    pub(super) beginning: &'i mut Beginning,
    pub(super) places: &'i mut Places,
    pub(super) stacks: &'i mut Stacks<'s>,
    pub(super) to: &'i mut Builder,
    pub(super) left: &'i mut Left,
    pub(super) unread: &'i mut UnreadNames,
}

/// Stacks that threads left for their present ones, by thread, until the sample or the call path comes.
pub(super) type Left = HashMap<u32, LeftStack>;

/// A stack that a thread left for its present one.
pub(super) struct LeftStack {
    /// The sample's time, or the call path's number.
    of: u64,
    registers: UserRegisters,
    /// Bytes from its stack pointer on.
    bytes: Vec<u8>,
}

impl LeftStack {
    fn copied(&self) -> (UserRegisters, &[u8]) {
        (self.registers, &self.bytes)
    }
}

fn keep_left(left: &mut Left, item: &[u8]) {
    if let Some((event, bytes)) = parse::<LeftEvent>(item) {
        let bytes = bytes.get(..event.left_bytes as usize).unwrap_or_default().to_vec();
        left.insert(event.header.thread, LeftStack { of: event.of, registers: registers(&event.left), bytes });
    }
}

fn take_left(left: &mut Left, thread: u32, of: u64) -> Option<LeftStack> {
    left.remove(&thread).filter(|left| left.of == of && !left.bytes.is_empty())
}

impl Intake<'_, '_> {
    /// Takes all events except samples.
    pub(super) fn take_events(&mut self) {
        loop {
            let Some(item) = self.programs.events.next() else { break };
            let Some((header, _)) = parse::<Header>(&item) else { continue };
            match header.kind {
                EVENT_PERIOD => {
                    if let Some((event, _)) = parse::<PeriodEvent>(&item) {
                        thread_time::period(&event, self.to);
                    }
                }
                EVENT_STRETCH => {
                    if let Some((event, _)) = parse::<StretchEvent>(&item) {
                        thread_time::stretch(event.header.thread, &event.stretch, self.to);
                    }
                }
                EVENT_MARK => {
                    if let Some((event, _)) = parse::<MarkEvent>(&item) {
                        self.to.add(mark(&event, self.unread));
                    }
                }
                EVENT_CALL => {
                    if let Some((event, _)) = parse::<CallEvent>(&item) {
                        self.to.add(called(&event));
                    }
                }
                EVENT_PLACE => {
                    if let Some((event, _)) = parse::<PlaceEvent>(&item) {
                        self.places.add(event.place, FirstHit::from_event(&event));
                    }
                }
                EVENT_LEFT => keep_left(self.left, &item),
                EVENT_STACK => {
                    if let Some((event, bytes)) = parse::<StackEvent>(&item) {
                        let left = take_left(self.left, header.thread, u64::from(event.stack));
                        let path = path_stacks(&event, bytes, left.as_ref(), self.stacks);
                        self.places.add_path(event.stack, path);
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
        self.tell_code(false);
    }

    /// Takes samples; `sharing` gets those in user space. Returns how many there were.
    pub(super) fn take_samples(&mut self, mut sharing: Option<&mut SharingSampler>) -> u64 {
        let mut sampled = 0_u64;
        loop {
            let Some(item) = self.programs.samples.next() else { break };
            let Some((header, _)) = parse::<Header>(&item) else { continue };
            if header.kind == EVENT_LEFT {
                keep_left(self.left, &item);
                continue;
            }
            let Some((event, stack)) = parse::<SampleEvent>(&item) else { continue };
            let stack = stack.get(..event.stack_bytes as usize).unwrap_or_default();
            let left = take_left(self.left, header.thread, event.time_ns);
            let left = left.as_ref().map(LeftStack::copied);
            let python = python_frames(&event.python, event.python_frames);
            let copied = Copied { registers: registers(&event.registers), bytes: stack, left, python: &python };
            let user_stack = self.stacks.user(event.image, event.pid, copied, event.time_ns);
            let in_kernel = event.in_kernel != 0;
            // A loop that gives its processor away spends its time in sched_yield.
            let loops = !in_kernel || i64::from(event.kind) == libc::SYS_sched_yield;
            if let Some(sharing) = sharing.as_deref_mut().filter(|_| loops) {
                shared_memory::sample(sharing, &event, stack, user_stack, self.stacks);
            }
            let goroutine = self.stacks.goroutine(event.image, event.pid, &event.all_registers, event.registers.sp);
            sampled += 1;
            self.to.add(Event::Sample(CpuSample {
                thread: thread_id(event.header.thread),
                time_ns: event.time_ns,
                processor: event.processor,
                mode: if in_kernel { Mode::Kernel } else { Mode::User },
                syscall: (in_kernel && event.kind != KIND_FAULT).then_some(event.kind),
                user_stack,
                kernel_stack: self.stacks.kernel(kernel_code(&event.kernel_stack, event.kernel_frames)),
                goroutine,
            }));
            drop(item);
            if sampled.is_multiple_of(SAMPLES_AT_ONCE) {
                self.take_events();
            }
        }
        self.tell_code(false);
        sampled
    }

    /// Reads the memory maps again that the loader may still be changing.
    pub(super) fn settle_images(&mut self) {
        self.stacks.settle();
        self.tell_code(true);
    }

    fn exec(&mut self, event: &ExecEvent) {
        self.tell_code(false);
        if event.fresh != 0 {
            self.beginning.set(event.time_ns, self.programs);
        }
        self.unread.forget();
        self.stacks.execute(event.image, event.pid);
        self.tell_code(true);
    }

    /// Tells the kernel side where code lies now; with `marks`, also listens to the marks in it.
    fn tell_code(&mut self, marks: bool) {
        for (image, map) in self.stacks.take_moved() {
            if marks {
                for file in self.stacks.code_files(image) {
                    self.programs.listen_to_marks(&file);
                }
            }
            self.programs.images.write(image as usize % MAX_IMAGES, spans(&map));
            let python = map.python.map_or(Python::default(), |map| python(&map));
            self.programs.pythons.write(image as usize % MAX_IMAGES, python);
        }
    }
}

fn called(event: &CallEvent) -> Event {
    Event::Called {
        thread: thread_id(event.header.thread),
        start_ns: event.start_ns,
        end_ns: event.end_ns,
        number: event.number,
        error: (event.error != 0).then_some(event.error),
    }
}

fn path_stacks(event: &StackEvent, bytes: &[u8], left: Option<&LeftStack>, stacks: &mut Stacks) -> PathStacks {
    let bytes = bytes.get(..event.stack_bytes as usize).unwrap_or_default();
    let left = left.map(LeftStack::copied);
    let python = python_frames(&event.python, event.python_frames);
    let copied = Copied { registers: registers(&event.registers), bytes, left, python: &python };
    let kernel_code: Vec<u64> = kernel_code(&event.kernel_stack, event.kernel_frames).collect();
    PathStacks {
        // The event does not say when the stack was copied: at most one polling pause ago.
        user: stacks.user(event.image, event.pid, copied, monotonic_ns()),
        kernel: stacks.kernel(kernel_code.iter().copied()),
        kernel_code,
        kernel_side: OnceCell::new(),
    }
}

fn registers(registers: &Registers) -> UserRegisters {
    UserRegisters { ip: registers.ip, sp: registers.sp, bp: registers.fp, lr: registers.lr }
}

/// Code addresses of a kernel stack, innermost first. All but the innermost are return addresses, so the call is before
/// them.
fn kernel_code(addresses: &[u64; KERNEL_FRAMES], frames: u32) -> impl Iterator<Item = u64> + '_ {
    let addresses = addresses.iter().take(frames as usize).enumerate();
    addresses.map(|(depth, address)| address.saturating_sub(u64::from(depth > 0)))
}

fn spans(map: &CodeMap) -> ImageSpans {
    let mut spans = ImageSpans::default();
    let span = |(start, end): (u64, u64)| Span { start, length: end.saturating_sub(start) };
    for (to, range) in spans.spans.iter_mut().zip(&map.wide) {
        *to = span(*range);
    }
    // The search in the kernel needs them in ascending order.
    spans.code.fill(Span { start: u64::MAX, length: 0 });
    for (to, range) in spans.code.iter_mut().zip(&map.code) {
        *to = span(*range);
    }
    spans.words = if map.makes_code { HASHED_WORDS as u32 } else { USUAL_WORDS as u32 };
    for (to, range) in spans.leavers.iter_mut().zip(&map.leavers) {
        *to = span(*range);
    }
    spans
}

fn python_frames(python: &PythonFrames, count: u32) -> Vec<PythonCall> {
    let frame = |frame: &PythonFrame| PythonCall {
        code: frame.code & !(PYTHON_OUTERMOST as u64),
        at: frame.at,
        outermost: frame.code & PYTHON_OUTERMOST as u64 != 0,
    };
    python.frames.iter().take(count as usize).map(frame).collect()
}

/// Where Python keeps its frames, in the kernel side's form.
fn python(map: &PythonMap) -> Python {
    let layout = map.layout;
    let (border, border_at) = match layout.border {
        Border::Each => (PYTHON_EACH, 0),
        Border::Flag(at) => (PYTHON_FLAG, at),
        Border::Owner(at) => (PYTHON_OWNER, at),
    };
    Python {
        interpreter: map.interpreter,
        first: layout.first,
        next: layout.next,
        identity: layout.identity,
        frame: layout.frame,
        indirect: u32::from(layout.inner.is_some()),
        inner: layout.inner.unwrap_or(0),
        back: layout.back,
        code: layout.code,
        at: layout.at,
        border,
        border_at,
        padding: 0,
    }
}
