//! One program image of the target (one exec): its memory map, kept up to date, and the unwinding of its stacks.

use super::goroutine::Goroutines;
use super::interner::Interner;
use super::jit_code::JitCode;
use super::languages::Language;
use super::parked::{Parked, ParkedAt};
use super::python::{Interpreter, PythonCall, PythonMap, merge};
use crate::procfs::monotonic_ns;
use recording::{FrameId, StackId};
use resolve::{
    CodeAddress, MappedFile, ModuleCache, StackEnd, Truncation, Unwinder, UserRegisters, code_spans, joined,
    merge_spans, parse_maps,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// The loader maps libraries in the first milliseconds, so the map is read often at first, and later only when an
/// address lies outside of it. A reading takes some tenths of a millisecond, and stacks may hold any number of words
/// that are no addresses, so at most one part in so many of the time is spent on readings.
const PART: u64 = 20;
/// Pages outside of the map that are remembered, so that each causes only one reading.
const STRANGERS: usize = 4096;
/// Readings in a row without a change after which the loader is assumed to have finished.
const SETTLED: u32 = 3;

/// Functions of Go's runtime that leave the stack of a goroutine, in the order of shared.h.
const LEAVERS: [&str; 2] = ["runtime.mcall", "runtime.systemstack"];

/// How many wide and narrow ranges of one image's code the kernel side accepts (MAX_SPANS and MAX_CODE of shared.h).
const WIDE: usize = 4;
const NARROW: usize = 32;

/// What was copied of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copied<'a> {
    pub(crate) registers: UserRegisters,
    /// Bytes from the stack pointer on.
    pub(crate) bytes: &'a [u8],
    /// Registers and bytes of the stack that the thread left for this one.
    pub(crate) left: Option<(UserRegisters, &'a [u8])>,
    /// The Python frames, innermost first.
    pub(crate) python: &'a [PythonCall],
}

impl<'a> Copied<'a> {
    /// Only a stack: no left stack and no Python frames.
    pub(crate) fn new(registers: UserRegisters, bytes: &'a [u8]) -> Copied<'a> {
        Copied { registers, bytes, left: None, python: &[] }
    }
}

/// Ranges of addresses in an image, each with its start and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeMap {
    /// Its code as few ranges, with much between them that is no code.
    pub(crate) wide: Vec<(u64, u64)>,
    /// Its code as more ranges, with little or nothing else.
    pub(crate) code: Vec<(u64, u64)>,
    /// Code is made at run time.
    pub(crate) makes_code: bool,
    /// `runtime.mcall` and `runtime.systemstack` of a Go program.
    pub(crate) leavers: Vec<(u64, u64)>,
    /// Its Python interpreter.
    pub(crate) python: Option<PythonMap>,
}

impl CodeMap {
    /// Adds the code of a process that was forked from the image.
    pub(crate) fn add(&mut self, other: &CodeMap) {
        self.code = merge_spans(&joined([&self.code[..], &other.code].concat()), NARROW);
        self.wide = merge_spans(&self.code, WIDE);
        self.makes_code |= other.makes_code;
    }
}

pub(super) struct Image {
    pid: u32,
    program: Option<PathBuf>,
    language: Option<Language>,
    unwinder: Unwinder,
    code: Vec<(u64, u64)>,
    makes_code: bool,
    /// Where the functions that leave a stack lie.
    leavers: Option<[(u64, u64); 2]>,
    goroutines: Goroutines,
    parked: Parked,
    /// Frames in files, by lookup address.
    frames: HashMap<u64, FrameId>,
    made: JitCode,
    interpreter: Interpreter,
    read_ns: u64,
    /// How long the last reading of the map took, nanoseconds.
    reading_ns: u64,
    /// Pages that lay outside of the map when it was last read.
    strangers: HashSet<u64>,
    unchanged: u32,
    /// The map could not be read any more.
    ended: bool,
    addresses: Vec<CodeAddress>,
    handles: Vec<FrameId>,
}

/// The result of unwinding a copied stack.
pub(super) struct Unwound {
    pub(super) stack: Option<StackId>,
    pub(super) truncated: bool,
    /// The memory map was read again, and has changed.
    pub(super) moved: bool,
}

impl Image {
    pub(super) fn new(pid: u32, cache: &ModuleCache) -> Image {
        Image {
            pid,
            program: std::fs::read_link(format!("/proc/{pid}/exe")).ok(),
            language: None,
            unwinder: Unwinder::new(cache),
            code: Vec::new(),
            makes_code: false,
            leavers: None,
            goroutines: Goroutines::default(),
            parked: Parked::default(),
            frames: HashMap::new(),
            made: JitCode::default(),
            interpreter: Interpreter::default(),
            read_ns: 0,
            reading_ns: 0,
            strangers: HashSet::new(),
            unchanged: 0,
            ended: false,
            addresses: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// Whether the loader may still be mapping libraries.
    pub(super) fn settling(&self) -> bool {
        self.unchanged < SETTLED
    }

    /// Reads the map again. True when it has changed.
    pub(super) fn refresh(&mut self) -> bool {
        let before = monotonic_ns();
        let changed = self.read_map();
        self.read_ns = monotonic_ns();
        self.reading_ns = self.read_ns - before;
        changed
    }

    fn read_map(&mut self) -> bool {
        let text = std::fs::read(format!("/proc/{}/maps", self.pid)).ok().filter(|text| !text.is_empty());
        let Some(mappings) = text.and_then(|text| parse_maps(text).ok()) else {
            // The process has ended; what was read before stays valid for its stacks.
            self.unchanged = SETTLED;
            self.ended = true;
            return false;
        };
        if self.program.is_none() {
            self.program = std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok();
        }
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        if !self.unwinder.set_mappings(&mappings, Some(&root)) {
            self.unchanged += 1;
            return false;
        }
        self.unchanged = 0;
        self.frames.clear();
        self.strangers.clear();
        self.language = Language::from_mappings(&mappings);
        if let Some(tables) = self.made.see(self.pid, &mappings, &self.unwinder) {
            self.unwinder.set_hotspot(tables);
        }
        self.interpreter.see(self.pid, &self.unwinder);
        self.makes_code = mappings.iter().any(|m| m.executable && m.path == MappedFile::Anonymous);
        self.code = merge_spans(&code_spans(&mappings), NARROW);
        self.leavers = self.unwinder.go_functions(LEAVERS);
        if self.leavers.is_some() {
            self.parked.see(self.pid, &self.unwinder);
        }
        true
    }

    /// True for a Go program.
    pub(super) fn has_goroutines(&self) -> bool {
        self.leavers.is_some()
    }

    /// Where the image's code lies.
    pub(super) fn code_map(&self) -> CodeMap {
        CodeMap {
            wide: merge_spans(&self.code, WIDE),
            code: self.code.clone(),
            makes_code: self.makes_code,
            leavers: self.leavers.into_iter().flatten().collect(),
            python: self.interpreter.map(),
        }
    }

    /// The files that it has mapped as code, by paths that this process can open.
    pub(super) fn code_files(&self) -> Vec<PathBuf> {
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

    /// Unwinds stack bytes that were copied from process `pid` at `time_ns`; reads the map again first when an address is
    /// unknown.
    pub(super) fn unwind(&mut self, pid: u32, copied: Copied<'_>, time_ns: u64, interner: &mut Interner) -> Unwound {
        let Copied { registers, bytes: stack, left, python } = copied;
        self.unwinder.set_process(pid);
        let mut moved = self.read_ns == 0 && self.refresh();
        let mut end = self.try_unwind(&registers, stack);
        if self.unwinder.unknown_address().is_some_and(|address| self.worth_reading(address)) {
            moved |= self.refresh();
            end = self.try_unwind(&registers, stack);
        }
        if let Some((registers, stack)) = left.filter(|_| self.leaves(end)) {
            let on = self.unwinder.go_on(&registers, stack, &mut self.addresses);
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
                        let number = self.made.at(interner, self.program.as_deref(), !refreshed);
                        refreshed = true;
                        self.made.frame(interner, number, *address, time_ns)
                    }
                },
            };
            self.handles.push(frame);
        }
        if !python.is_empty() {
            self.put_python(python, interner);
        }
        let truncated = end != StackEnd::Complete;
        if let Some(outermost) = self.handles.last() {
            let cut_at = match end {
                StackEnd::Complete => None,
                StackEnd::Truncated { why } => Some((*outermost, why)),
            };
            match cut_at {
                Some((_, Truncation::NoModule)) if self.ended => interner.notes.count_ended(),
                cut_at => interner.notes.count(self.program.as_deref(), self.language, cut_at),
            }
        }
        Unwound { stack: interner.stack(&self.handles, truncated), truncated, moved }
    }

    /// Unwinds for the image that this process was forked from, which then has the addresses.
    pub(super) fn unwind_for(
        &mut self,
        image: &mut Image,
        copied: Copied<'_>,
        time_ns: u64,
        interner: &mut Interner,
    ) -> Unwound {
        let unwound = self.unwind(self.pid, copied, time_ns, interner);
        image.addresses.clone_from(&self.addresses);
        unwound
    }

    /// True where the last unwound stack is of another process, and that may have code that this one has not: an address
    /// is unknown here, or functions are read from its memory.
    pub(super) fn lacks(&self, pid: u32) -> bool {
        pid != self.pid && (self.unwinder.unknown_address().is_some() || self.interpreter.map().is_some())
    }

    /// Puts the Python functions into the stack that was just unwound.
    fn put_python(&mut self, python: &[PythonCall], interner: &mut Interner) {
        let number = self.made.at(interner, self.program.as_deref(), false);
        let now_ns = monotonic_ns();
        let native = std::mem::take(&mut self.handles);
        let evaluates: Vec<bool> = self.addresses.iter().map(|address| self.interpreter.evaluates(*address)).collect();
        let Image { interpreter, handles, .. } = self;
        let named = python.iter().map(|frame| (interpreter.frame(*frame, number, now_ns, interner), frame.outermost));
        merge(native.into_iter().zip(evaluates), named, handles);
    }

    /// Whether the map should be read again because of an address that it does not contain.
    fn worth_reading(&mut self, address: u64) -> bool {
        let due = monotonic_ns().saturating_sub(self.read_ns) >= self.reading_ns * PART;
        if due && self.strangers.len() >= STRANGERS {
            self.strangers.clear();
        }
        due && self.strangers.insert(address >> 12)
    }

    /// The goroutine that a sample was taken in.
    pub(super) fn goroutine(&mut self, pid: u32, registers: &[u64], stack_pointer: u64) -> Option<u64> {
        self.leavers?;
        self.goroutines.running(pid, registers, stack_pointer)
    }

    /// How many of `at_once` of its goroutines wait now at each place; none where they cannot be read.
    pub(super) fn parked(
        &mut self,
        at_once: u64,
        interner: &mut Interner,
        now_ns: u64,
    ) -> Option<BTreeMap<ParkedAt, u32>> {
        let mut parked = std::mem::take(&mut self.parked);
        let found = parked.look(at_once, |goroutine| {
            let copied = Copied::new(goroutine.registers, goroutine.stack);
            let unwound = self.unwind(self.pid, copied, now_ns, interner);
            unwound.stack.filter(|_| !unwound.truncated)
        });
        self.parked = parked;
        found
    }

    /// Return addresses of the last unwound stack, the nearest first.
    pub(super) fn callers(&self) -> impl Iterator<Item = u64> + '_ {
        self.addresses.iter().skip(1).map(|address| address.raw())
    }

    /// What it has mapped.
    pub(super) fn unwinder(&self) -> &Unwinder {
        &self.unwinder
    }

    /// The handle of a code address; for run-time code, by its name at `time_ns`. None where no code is known.
    pub(super) fn frame(&self, address: u64, time_ns: u64, interner: &mut Interner) -> Option<FrameId> {
        let in_file = interner.user_frame(&self.unwinder, address, self.program.as_deref());
        in_file.or_else(|| Some(interner.runtime_frame(self.made.number()?, address, time_ns)))
    }

    /// Whether the last unwound stack ends where the thread left another stack.
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
