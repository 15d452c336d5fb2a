//! The kernel side's events as they come: timelines, places, stacks, marks, samples.
//!
//! May import: the BPF side and the other rooms of `trace`.

use super::consumer::Consumer;
use super::image::{Copied, Image};
use super::known::Known;
use super::record::mark;
use super::slices::thread_id;
use super::story::{FileKind, PathStacks, Story};
use super::watched::Watched;
use crate::bpf::abi::*;
use crate::procfs::monotonic_ns;
use crate::sharing::Sampled;
use recording::StackId;
use recording::tables::*;
use std::cell::OnceCell;
use std::mem::offset_of;

/// Return addresses that are looked at for a loop around a call: wrappers of atomics without optimisation.
const CALLERS: usize = 4;

impl Consumer<'_> {
    pub(super) fn take_events(&mut self) {
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
                        let left = event.left_stack.get(..event.left_bytes as usize).unwrap_or_default();
                        let left = (!left.is_empty()).then_some((&event.left, left));
                        let copied = (&event.registers, bytes.as_slice());
                        let stacks = PathStacks {
                            user: self.user_stack(event.image, event.pid, copied, left, now_ns),
                            kernel: self.kernel_stack(&event.kernel_stack, event.kernel_frames),
                            kernel_code: kernel_code(&event.kernel_stack, event.kernel_frames).collect(),
                            kernel_side: OnceCell::new(),
                        };
                        self.roll.told.add_path(event.stack, stacks);
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

    pub(super) fn take_samples(&mut self) {
        loop {
            let Some(item) = self.programs.samples.next() else { return };
            let Some((event, stack)) = parse::<SampleEvent>(&item) else { continue };
            let stack = stack.get(..event.stack_bytes as usize).unwrap_or_default().to_vec();
            drop(item);
            let copied = (&event.registers, stack.as_slice());
            let user_stack = self.user_stack(event.image, event.pid, copied, None, event.time_ns);
            let kernel_stack = self.kernel_stack(&event.kernel_stack, event.kernel_frames);
            let goroutine = self.images.get_mut(&event.image).and_then(|image| image.goroutine(&event));
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
                goroutine,
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

    pub(super) fn watch_sharing(&mut self) {
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

    pub(super) fn refresh(&mut self, image: u32) {
        let Some(entry) = self.images.get_mut(&image) else { return };
        if let Some(spans) = entry.refresh() {
            for file in entry.code_files() {
                self.programs.listen_to_marks(&file);
            }
            self.programs.images.write(image as usize % MAX_IMAGES, spans);
        }
    }

    pub(super) fn settle_images(&mut self) {
        let settling: Vec<u32> = self.images.iter().filter(|(_, i)| i.settling()).map(|(id, _)| *id).collect();
        for image in settling {
            self.refresh(image);
        }
    }

    fn place(&mut self, event: &PlaceEvent) {
        let file = FileKind::of(
            event.file_mode,
            std::fs::read_link(format!("/proc/{}/fd/{}", event.pid, event.object as u32)).ok().as_deref(),
        );
        let story = Story {
            thread: event.header.thread,
            operation: event.operation,
            expected: event.expected as u32,
            timed: event.timed != 0,
            path: event.stack,
            file: file.filter(|_| event.file_mode != 0),
        };
        self.roll.told.add_story(event.place, story);
        if let Some(live) = &mut self.live {
            live.place(event);
        }
    }

    /// The stack of a thread, of which the bytes were copied at a time, with those of a stack that it had left.
    pub(super) fn user_stack(
        &mut self,
        image: u32,
        pid: u32,
        stack: Copied<'_>,
        left: Option<Copied<'_>>,
        time_ns: u64,
    ) -> Option<StackId> {
        let entry = self.images.entry(image).or_insert_with(|| Image::new(pid, self.cache));
        let (unwound, spans) = entry.unwind(stack, left, time_ns, self.interner);
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
}

/// Code addresses of a kernel stack, innermost first. All but that one are return addresses: the call is before them.
fn kernel_code(addresses: &[u64; KERNEL_FRAMES], frames: u32) -> impl Iterator<Item = u64> + '_ {
    let addresses = addresses.iter().take(frames as usize).enumerate();
    addresses.map(|(depth, address)| address.saturating_sub(u64::from(depth > 0)))
}
