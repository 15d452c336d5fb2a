//! Call stacks of the target: copied bytes → handles, and handles → names.
//!
//! Rooms: `image` one program image, its memory map and the unwinding of its stacks; `jit_code` its code that lies in
//! no file; `goroutine` what runs on a stack in Go, `parked` what waits there, and `looks` when that is looked at; `interner` gives out handles and names
//! them; `languages` which runtimes need help to be named; `python` its functions; `variables` what lies at addresses
//! of data.
//!
//! May import: `events`, `procfs`, `sharing`, `recording`, `resolve`.

mod goroutine;
mod image;
mod interner;
mod jit_code;
mod languages;
mod looks;
mod parked;
mod python;
mod variables;

pub(crate) use image::{CodeMap, Copied};
pub(crate) use interner::Interner;
pub(crate) use python::{PythonCall, PythonMap};

use crate::events::Event;
use crate::procfs::monotonic_ns;
use crate::sharing::{ImageCode, SharedRows, SharingSampler};
use image::Image;
use looks::Looks;
use recording::tables::{Frame, Module, Stack};
use recording::{FrameId, RunId, StackId, ThreadId};
use resolve::ModuleCache;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use variables::{ImageData, Variables};

/// How many processes that were forked from an image may have a memory map of their own here.
///
/// Decides: in how many processes at a time code is named that they loaded after they were forked.
/// From: chosen: more than one worker for each processor of most machines; no measurement.
/// Wrong if: a server has more workers than that, which load the application after the fork.
const MOST_FORKS: usize = 64;
/// So often at most it is looked which of them have ended, nanoseconds.
const PRUNE_NS: u64 = 100_000_000;

/// The program images of one run, by the source's image numbers, and their stacks.
pub(crate) struct Stacks<'a> {
    interner: &'a mut Interner,
    cache: &'a ModuleCache,
    images: HashMap<u32, Image>,
    /// Processes that were forked from an image and have loaded code of their own since, by its number and theirs.
    forks: HashMap<(u32, u32), Image>,
    /// When it was last looked which of these have ended, nanoseconds of CLOCK_MONOTONIC.
    pruned_ns: u64,
    variables: Variables,
    /// Images whose memory map has changed since the source last asked.
    moved: Vec<u32>,
    looks: Looks,
    /// How many stacks were unwound, and how many of them lack their outermost frames.
    unwound: u64,
    cut: u64,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(interner: &'a mut Interner, cache: &'a ModuleCache) -> Stacks<'a> {
        Stacks {
            interner,
            cache,
            images: HashMap::new(),
            forks: HashMap::new(),
            pruned_ns: 0,
            variables: Variables::default(),
            moved: Vec::new(),
            looks: Looks::default(),
            unwound: 0,
            cut: 0,
        }
    }

    /// A process executes a program, which from now on is the image with this number.
    pub(crate) fn execute(&mut self, image: u32, pid: u32) {
        self.forks.retain(|(_, forked), _| *forked != pid);
        self.images.insert(image, Image::new(pid, self.cache));
        self.refresh(image);
    }

    /// Reads the memory maps that the loader may still be changing.
    pub(crate) fn settle(&mut self) {
        let settling: Vec<u32> = self.images.iter().filter(|(_, image)| image.settling()).map(|(id, _)| *id).collect();
        for image in settling {
            self.refresh(image);
        }
    }

    fn refresh(&mut self, image: u32) {
        if self.images.get_mut(&image).is_some_and(Image::refresh) {
            self.add_moved(image);
        }
    }

    fn add_moved(&mut self, image: u32) {
        if !self.moved.contains(&image) {
            self.moved.push(image);
        }
    }

    /// The images whose memory map has changed since the last call, with where their code lies now.
    pub(crate) fn take_moved(&mut self) -> Vec<(u32, CodeMap)> {
        let moved = std::mem::take(&mut self.moved).into_iter();
        let map = |number: u32| {
            let mut map = self.images.get(&number)?.code_map();
            for (_, fork) in self.forks.iter().filter(|((image, _), _)| *image == number) {
                map.add(&fork.code_map());
            }
            Some((number, map))
        };
        moved.filter_map(map).collect()
    }

    /// The files that an image has mapped as code, by paths that this process can open.
    pub(crate) fn code_files(&self, image: u32) -> Vec<PathBuf> {
        self.images.get(&image).map_or_else(Vec::new, Image::code_files)
    }

    /// The handle of a stack of process `pid` whose bytes were copied at `time_ns`.
    pub(crate) fn user(&mut self, image: u32, pid: u32, stack: Copied<'_>, time_ns: u64) -> Option<StackId> {
        self.prune();
        let entry = self.images.entry(image).or_insert_with(|| Image::new(pid, self.cache));
        let forks = self.forks.len();
        let unwound = match self.forks.entry((image, pid)) {
            Entry::Occupied(mut fork) => fork.get_mut().unwind_for(entry, stack, time_ns, self.interner),
            Entry::Vacant(place) => {
                let shared = entry.unwind(pid, stack, time_ns, self.interner);
                if !entry.lacks(pid) || forks >= MOST_FORKS {
                    shared
                } else {
                    let fork = place.insert(Image::new(pid, self.cache));
                    fork.unwind_for(entry, stack, time_ns, self.interner)
                }
            }
        };
        if unwound.moved {
            self.add_moved(image);
        }
        self.unwound += 1;
        self.cut += u64::from(unwound.truncated);
        unwound.stack
    }

    /// Makes room for further forked processes where some have ended.
    fn prune(&mut self) {
        if self.forks.len() < MOST_FORKS || monotonic_ns() < self.pruned_ns + PRUNE_NS {
            return;
        }
        self.forks.retain(|(_, pid), _| std::fs::exists(format!("/proc/{pid}")).unwrap_or(true));
        self.pruned_ns = monotonic_ns();
    }

    /// The handle of the stack with these kernel addresses, innermost first.
    pub(crate) fn kernel(&mut self, addresses: impl Iterator<Item = u64>) -> Option<StackId> {
        let frames: Vec<FrameId> = addresses.map(|address| self.interner.kernel_frame(address)).collect();
        self.interner.stack(&frames, false)
    }

    /// The name of a kernel function; empty when it has none.
    pub(crate) fn kernel_function(&mut self, address: u64) -> String {
        self.interner.kernel_function(address)
    }

    /// The kernel variable at exactly this address.
    pub(crate) fn kernel_variable(&mut self, address: u64) -> Option<String> {
        self.interner.kernel_variable(address)
    }

    /// Return addresses of the last unwound stack of an image, the nearest first.
    pub(crate) fn callers(&self, image: u32) -> impl Iterator<Item = u64> + '_ {
        self.images.get(&image).into_iter().flat_map(Image::callers)
    }

    /// The goroutine that ran in an image with these registers and this stack pointer.
    pub(crate) fn goroutine(&mut self, image: u32, pid: u32, registers: &[u64], stack_pointer: u64) -> Option<u64> {
        self.images.get_mut(&image)?.goroutine(pid, registers, stack_pointer)
    }

    /// Where the tasks of a runtime's scheduler (goroutines) wait now; nothing where none can be read, or the last look
    /// took long.
    pub(crate) fn look_at_tasks(&mut self) -> Vec<Event> {
        self.looks.look(self.images.values_mut(), self.interner)
    }

    /// What is known of the code and data of an image.
    pub(crate) fn data(&self, image: u32) -> Option<impl ImageCode + '_> {
        Some(ImageData { image: self.images.get(&image)?, variables: &self.variables })
    }

    /// The rows of shared memory, with its addresses named.
    pub(crate) fn name_shared(
        &mut self,
        sharing: SharingSampler,
        run: RunId,
        thread: &dyn Fn(u32) -> ThreadId,
        end_ns: u64,
    ) -> SharedRows {
        let Stacks { images, variables, interner, .. } = self;
        let (images, variables) = (&*images, &*variables);
        let known = |image: u32| {
            let image = images.get(&image)?;
            Some(Box::new(ImageData { image, variables }) as Box<dyn ImageCode + '_>)
        };
        let mut frame = |image: u32, address: u64| images.get(&image)?.frame(address, end_ns, interner);
        sharing.finish(run, thread, &known, &mut frame)
    }

    /// How many stacks are incomplete.
    pub(crate) fn lost(&self) -> Event {
        Event::Lost { what: recording::words::CUT_STACKS, count: self.cut, of: Some(self.unwound) }
    }

    /// Names everything new and returns its rows. The run goes on.
    pub(crate) fn new_rows(&mut self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        self.interner.new_rows()
    }

    /// Names everything new and returns its rows. The run is over.
    pub(crate) fn last_rows(self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        self.interner.last_rows()
    }
}
