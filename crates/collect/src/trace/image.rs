//! One program image of the target (one exec): its memory map, kept current, and the unwinding of its stacks.
//!
//! May import: `resolve`, `goroutine`, `intern`, `languages`, the BPF records.

use super::goroutine::Goroutines;
use super::intern::Interner;
use super::languages::Language;
use crate::bpf::abi::{ImageSpans, MAX_LEAVERS, MAX_SPANS, Registers, SampleEvent, Span};
use crate::procfs::monotonic_ns;
use recording::{FrameId, StackId};
use resolve::jit::{Tables, is_dump};
use resolve::{
    CodeAddress, MappedFile, Mapping, ModuleCache, RuntimeCode, StackEnd, Truncation, Unwinder, UserRegisters,
    merge_spans, parse_maps,
};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// The loader maps libraries in the first milliseconds, so the map is read often at first, then only when an address
/// turns up that lies outside of it. A reading takes a tenth of a millisecond to some; stacks may hold any number of
/// addresses that are none, so at most one part in so many of the time is spent on it.
const PART: u64 = 20;
/// Pages outside of the map that are remembered, so that each is looked for only once.
const STRANGERS: usize = 4096;
/// Readings in a row without a change after which the loader is taken to be done.
const SETTLED: u32 = 3;

/// Functions of Go's runtime that leave the stack of a goroutine, in the order of shared.h.
const LEAVERS: [&str; MAX_LEAVERS] = ["runtime.mcall", "runtime.systemstack"];

/// Java's virtual machine, and where it describes its memory.
const HOTSPOT: &str = "libjvm.so";
const HOTSPOT_TABLES: [&str; 2] = ["gHotSpotVMStructs", "gHotSpotVMTypes"];

/// Registers and bytes of a stack.
pub(crate) type Copied<'a> = (&'a Registers, &'a [u8]);

pub(crate) struct Image {
    pid: u32,
    program: Option<PathBuf>,
    language: Option<Language>,
    unwinder: Unwinder,
    /// Where the functions lie that leave a stack.
    leavers: Option<[(u64, u64); MAX_LEAVERS]>,
    goroutines: Goroutines,
    /// Frames in files, by lookup address.
    frames: HashMap<u64, FrameId>,
    runtime: Runtime,
    read_ns: u64,
    /// How long the last reading of the map took, nanoseconds.
    reading_ns: u64,
    /// Pages that lay outside of the map when it was last read.
    strangers: HashSet<u64>,
    unchanged: u32,
    addresses: Vec<CodeAddress>,
    handles: Vec<FrameId>,
}

/// Code that lies in no file.
#[derive(Default)]
struct Runtime {
    /// Whether there is such code: from then on somebody may tell its names.
    seen: bool,
    /// Where the virtual machine tells its names.
    hotspot: Option<Tables>,
    /// Who tells its names: made as soon as there is such code, while the process lives; then the interner's.
    code: Option<RuntimeCode>,
    /// Dumps that were seen in the memory map, by where they are mapped.
    dumps: Vec<(u64, u64, PathBuf)>,
    /// Its number at the interner.
    number: Option<u32>,
    /// Frames by lookup address, with the generation of names in which they were found.
    frames: HashMap<u64, (u64, FrameId)>,
}

/// What became of a copied stack.
pub(crate) struct Unwound {
    pub(crate) stack: Option<StackId>,
    pub(crate) truncated: bool,
}

impl Image {
    pub(crate) fn new(pid: u32, cache: &ModuleCache) -> Image {
        Image {
            pid,
            program: std::fs::read_link(format!("/proc/{pid}/exe")).ok(),
            language: None,
            unwinder: Unwinder::new(cache),
            leavers: None,
            goroutines: Goroutines::default(),
            frames: HashMap::new(),
            runtime: Runtime::default(),
            read_ns: 0,
            reading_ns: 0,
            strangers: HashSet::new(),
            unchanged: 0,
            addresses: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// Whether the loader may still be mapping libraries.
    pub(crate) fn settling(&self) -> bool {
        self.unchanged < SETTLED
    }

    /// Reads the map again. Returns the spans of code when they changed.
    pub(crate) fn refresh(&mut self) -> Option<ImageSpans> {
        let before = monotonic_ns();
        let spans = self.read_map();
        self.read_ns = monotonic_ns();
        self.reading_ns = self.read_ns - before;
        spans
    }

    fn read_map(&mut self) -> Option<ImageSpans> {
        let text = std::fs::read(format!("/proc/{}/maps", self.pid)).ok().filter(|text| !text.is_empty());
        let Some(mappings) = text.and_then(|text| parse_maps(text).ok()) else {
            // The process has ended: what was read before stays valid for its stacks.
            self.unchanged = SETTLED;
            return None;
        };
        if self.program.is_none() {
            self.program = std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok();
        }
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        if !self.unwinder.set_mappings(&mappings, Some(&root)) {
            self.unchanged += 1;
            return None;
        }
        self.unchanged = 0;
        self.frames.clear();
        self.strangers.clear();
        self.runtime.frames.clear();
        self.language = Language::of(&mappings);
        if self.runtime.hotspot.is_none()
            && let Some([fields, types]) = self.unwinder.exported(HOTSPOT, HOTSPOT_TABLES)
        {
            let tables = Tables { pid: self.pid, fields, types };
            self.runtime.hotspot = Some(tables);
            self.unwinder.set_hotspot(tables);
        }
        self.runtime.see(self.pid, &mappings);
        let mut spans = ImageSpans::default();
        for (span, (start, end)) in spans.spans.iter_mut().zip(merge_spans(&mappings, MAX_SPANS)) {
            *span = Span { start, length: end.saturating_sub(start) };
        }
        self.leavers = self.unwinder.go_functions(LEAVERS);
        for (span, (start, end)) in spans.leavers.iter_mut().zip(self.leavers.into_iter().flatten()) {
            *span = Span { start, length: end.saturating_sub(start) };
        }
        Some(spans)
    }

    /// The files that it has mapped as code, as this process can open them.
    pub(crate) fn code_files(&self) -> Vec<PathBuf> {
        let text = std::fs::read(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        let mappings = parse_maps(text).unwrap_or_default();
        let files = mappings.iter().filter(|mapping| mapping.executable).filter_map(|mapping| match &mapping.path {
            MappedFile::File(path) => path.strip_prefix("/").ok(),
            _ => None,
        });
        let mut files: Vec<PathBuf> =
            files.map(|path| PathBuf::from(format!("/proc/{}/root", self.pid)).join(path)).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Unwinds stack bytes that were copied at a time; reads the map again first when an address is unknown. `left`: what
    /// was copied of a stack that the thread left for this one. Spans as in `refresh`.
    pub(crate) fn unwind(
        &mut self,
        (registers, stack): Copied<'_>,
        left: Option<Copied<'_>>,
        time_ns: u64,
        interner: &mut Interner,
    ) -> (Unwound, Option<ImageSpans>) {
        let mut spans = if self.read_ns == 0 { self.refresh() } else { None };
        let registers = user_registers(registers);
        let mut end = self.try_unwind(&registers, stack);
        if self.unwinder.stranger().is_some_and(|address| self.worth_reading(address)) {
            spans = self.refresh().or(spans);
            end = self.try_unwind(&registers, stack);
        }
        if let Some((registers, stack)) = left.filter(|_| self.leaves(end)) {
            let on = self.unwinder.go_on(&user_registers(registers), stack, &mut self.addresses);
            end = on.unwrap_or(end);
        }
        self.handles.clear();
        let mut refreshed = false;
        for address in &self.addresses {
            let lookup = address.lookup();
            let frame = match self.frames.get(&lookup) {
                Some(frame) => *frame,
                None => match interner.user_frame(&self.unwinder, lookup, self.program.as_deref()) {
                    Some(frame) => {
                        self.frames.insert(lookup, frame);
                        frame
                    }
                    None => {
                        let number = self.runtime.at(interner, self.program.as_deref(), !refreshed);
                        refreshed = true;
                        self.runtime.frame(interner, number, lookup, time_ns)
                    }
                },
            };
            self.handles.push(frame);
        }
        let truncated = end != StackEnd::Complete;
        if let Some(outermost) = self.handles.last() {
            let cut_at = match end {
                StackEnd::Complete => None,
                StackEnd::Truncated { why } => Some((*outermost, why)),
            };
            interner.notes.count(self.program.as_deref(), self.language, cut_at);
        }
        (Unwound { stack: interner.stack(&self.handles, truncated), truncated }, spans)
    }

    /// Whether the map should be read again for an address that it does not hold.
    fn worth_reading(&mut self, address: u64) -> bool {
        let due = monotonic_ns().saturating_sub(self.read_ns) >= self.reading_ns * PART;
        if due && self.strangers.len() >= STRANGERS {
            self.strangers.clear();
        }
        due && self.strangers.insert(address >> 12)
    }

    /// The goroutine that a sample was taken in.
    pub(super) fn goroutine(&mut self, event: &SampleEvent) -> Option<u64> {
        self.leavers?;
        self.goroutines.running(event.pid, &event.all_registers, event.registers.sp)
    }

    /// Return addresses of the stack that was unwound last, the nearest first.
    pub(super) fn callers(&self) -> impl Iterator<Item = u64> + '_ {
        self.addresses.iter().skip(1).map(|address| address.raw())
    }

    /// What it has mapped.
    pub(super) fn unwinder(&self) -> &Unwinder {
        &self.unwinder
    }

    /// The handle of a code address; run-time code as it is called at a time. None where no code is known.
    pub(super) fn frame(&self, address: u64, time_ns: u64, interner: &mut Interner) -> Option<FrameId> {
        let in_file = interner.user_frame(&self.unwinder, address, self.program.as_deref());
        in_file.or_else(|| Some(interner.runtime_frame(self.runtime.number?, address, time_ns)))
    }

    /// Whether the stack that was unwound last ends where another one was left.
    fn leaves(&self, end: StackEnd) -> bool {
        let Some([mcall, _]) = self.leavers else { return false };
        let outermost = self.addresses.last().map(|address| address.lookup());
        match end {
            StackEnd::Complete => outermost.is_some_and(|at| (mcall.0..mcall.1).contains(&at)),
            StackEnd::Truncated { why } => why == Truncation::OtherStack,
        }
    }

    fn try_unwind(&mut self, registers: &UserRegisters, stack: &[u8]) -> StackEnd {
        self.addresses.clear();
        self.unwinder.unwind(registers, stack, &mut self.addresses)
    }
}

fn user_registers(registers: &Registers) -> UserRegisters {
    UserRegisters { ip: registers.ip, sp: registers.sp, bp: registers.fp, lr: registers.lr }
}

impl Runtime {
    /// Looks through the memory map for code without a file, and for dumps that tell about it.
    fn see(&mut self, pid: u32, mappings: &[Mapping]) {
        for mapping in mappings.iter().filter(|mapping| mapping.executable) {
            match &mapping.path {
                MappedFile::Anonymous if !self.seen => {
                    self.seen = true;
                    self.code = Some(RuntimeCode::of_process(pid));
                }
                MappedFile::File(path) if is_dump(path) => {
                    self.dumps.push((mapping.start, mapping.end, path.clone()));
                }
                _ => {}
            }
        }
    }

    /// Its number, with names as they are told by now when `refresh` says so.
    fn at(&mut self, interner: &mut Interner, program: Option<&std::path::Path>, refresh: bool) -> u32 {
        let number = *self.number.get_or_insert_with(|| interner.add_runtime(program));
        if let Some(mut code) = self.code.take() {
            self.hotspot.into_iter().for_each(|tables| code.set_hotspot(tables));
            interner.set_runtime_code(number, code);
        }
        if refresh && let Some(code) = interner.runtime_code(number) {
            for (start, end, path) in self.dumps.drain(..) {
                code.add_dump(start, end, &path);
            }
            code.refresh(monotonic_ns());
        }
        number
    }

    fn frame(&mut self, interner: &mut Interner, number: u32, address: u64, time_ns: u64) -> FrameId {
        if let Some(code) = interner.runtime_code(number) {
            code.ask(address, time_ns);
        }
        let generation = interner.runtime_code(number).map_or(0, |code| code.generation_at(time_ns));
        match self.frames.get(&address) {
            Some((known, frame)) if *known == generation => *frame,
            _ => {
                let frame = interner.runtime_frame(number, address, time_ns);
                self.frames.insert(address, (generation, frame));
                frame
            }
        }
    }
}
