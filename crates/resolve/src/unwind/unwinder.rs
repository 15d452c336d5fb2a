//! Unwinding: from saved registers and a copy of the stack to the addresses of the calls.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder as _};

use super::arch::{
    Engine, Rules, frame_pointer, interrupted, leave, leave_realigned, set_stack_pointer, stack_pointer, start,
};
use super::epilogue::{AHEAD, CALL, end_ahead, ends_with_call};
use super::in_file::module_leaving;
use super::leaving::{CODE, Leaving, leaving};
use super::rest::WholeStack;
use crate::address::{CodeAddress, UserRegisters};
use crate::error::{ModuleError, ModuleProblem};
use crate::jit::{BYTECODE, CALLER, HotSpot, INTERPRETED, Tables};
use crate::maps::{MappedFile, Mapping};
use crate::module::{ModuleCache, ModuleRef};

/// The deepest stack that is followed, in frames. Real stacks rarely exceed 100; a copy of 16 KiB of stack holds at
/// most 1,000 calls, and recursion beyond 256 tells nothing new about where time goes.
pub const DEPTH_LIMIT: usize = 256;

/// An unreadable address counts as the same stack, copied too short, if it is at most this many bytes above the copied
/// bytes. One that is farther away, or below the stack pointer, is a wrong value. Frames of more than one MiB are rare.
const NEAR: u64 = 1 << 20;

/// The saved frame pointer and the return address, in bytes.
const LINK: u64 = 16;

/// The most arguments of a Java method, in bytes of the interpreter's stack: 255 words (Java Virtual Machine Specification,
/// 4.3.3), and one to align them.
const ARGUMENTS: u64 = 256 * 8;

/// After this many stacks, the instructions of run-time code are read again, because the code may have been replaced.
/// Some seconds of samples.
const CODE_READ_ANEW: u32 = 4096;

/// For how many addresses it is remembered how their frames are left; beyond that all are forgotten, so that memory does
/// not grow.
const LEAVINGS_LIMIT: usize = 1 << 16;

/// How an unwound stack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StackEnd {
    /// At the function where the thread started.
    Complete,
    /// Before that; the frames that were found are right but not complete.
    Truncated {
        /// What was missing.
        why: Truncation,
    },
}

/// Why unwinding stopped before the start of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// The copied bytes of the stack did not reach far enough.
    OutOfBytes,
    /// The code belongs to no file that could be loaded (it is just-in-time compiled, or see [`Unwinder::problems`]),
    /// and its frame pointers led nowhere.
    NoModule,
    /// The next frame is not code, or the stack did not advance: unwind information is missing or wrong.
    BadFrame,
    /// The caller is on another stack, of which no bytes were copied: the thread switched stacks, as Go's runtime does,
    /// or runs a signal handler on a separate stack.
    OtherStack,
    /// The stack has more than [`DEPTH_LIMIT`] frames.
    TooDeep,
}

/// An executable mapping of the process, with its module when that could be loaded.
#[derive(Debug)]
struct CodeMapping {
    mapping: Mapping,
    module: Option<ModuleRef>,
}

/// Where an address of the process lies.
#[derive(Debug, Clone, Copy)]
pub struct Located<'a> {
    /// The executable mapping that contains it.
    pub mapping: &'a Mapping,
    /// Its module; none for memory without a file and for files that could not be loaded.
    pub module: Option<&'a ModuleRef>,
    /// The address as an offset in the mapped file, in bytes. Meaningless without a file.
    pub file_offset: u64,
}

/// Unwinds the stacks of one process image: make a new one after an `exec`.
pub struct Unwinder {
    modules: ModuleCache,
    engine: Engine,
    rules: Rules,
    /// Sorted by start; never overlapping, as mappings of one process cannot.
    code: Vec<CodeMapping>,
    problems: Vec<ModuleProblem>,
    /// How frames are left that are not unwound by a module's unwind information, by lookup address and whether the
    /// frame was the innermost.
    leavings: HashMap<(u64, bool), Option<Leaving>>,
    /// Whether a call is before an address, for those that may be return addresses.
    after_calls: HashMap<u64, bool>,
    /// The memory of the process, from which instructions that are in no file are read.
    memory: Option<PathBuf>,
    /// The process whose stacks are unwound, with its memory, if that can be read; and what was read of a stack last.
    stacks_of: Option<(u32, PathBuf)>,
    rest: Vec<u8>,
    /// The virtual machine, which knows the frames of its code.
    hotspot: Option<HotSpot>,
    unwound: u32,
    /// The address at which the last stack left known code.
    unknown_address: Option<u64>,
    /// Highest code address, to separate signatures in return addresses from address bits (aarch64).
    highest: u64,
}

impl Unwinder {
    /// An unwinder that knows no code yet and takes modules from `modules`.
    pub fn new(modules: &ModuleCache) -> Self {
        Self {
            modules: modules.clone(),
            engine: Engine::new(),
            rules: Rules::new_in(),
            code: Vec::new(),
            problems: Vec::new(),
            leavings: HashMap::new(),
            after_calls: HashMap::new(),
            memory: None,
            stacks_of: None,
            rest: Vec::new(),
            hotspot: None,
            unwound: 0,
            unknown_address: None,
            highest: 0,
        }
    }

    /// Updates the memory map of the process: loads new modules and drops those that are gone. `root` is the root
    /// directory of the process as this process sees it, `/proc/PID/root`; pass it whenever the process may still be
    /// alive, since it may be in another mount namespace. Returns true when anything changed. Modules that cannot be
    /// loaded are added to [`Unwinder::problems`].
    pub fn set_mappings(&mut self, mappings: &[Mapping], root: Option<&Path>) -> bool {
        self.memory = root.and_then(Path::parent).map(|process| process.join("mem"));
        let mut known = std::mem::take(&mut self.code).into_iter().peekable();
        let mut wanted: Vec<&Mapping> = mappings.iter().filter(|mapping| mapping.executable).collect();
        wanted.sort_by_key(|mapping| mapping.start);
        let mut code = Vec::with_capacity(wanted.len());
        let mut changed = false;
        for mapping in wanted {
            while let Some(gone) = known.next_if(|old| old.mapping.start < mapping.start) {
                changed |= self.drop_code(&gone);
            }
            match known.next_if(|old| old.mapping.start == mapping.start) {
                Some(same) if same_code(&same.mapping, mapping) => code.push(same),
                other => {
                    if let Some(replaced) = other {
                        self.drop_code(&replaced);
                    }
                    code.push(self.load_code(mapping, root));
                    changed = true;
                }
            }
        }
        for gone in known {
            changed |= self.drop_code(&gone);
        }
        self.code = code;
        if changed {
            // The rules are cached by address and a 16-bit generation, which would eventually wrap around.
            self.rules = Rules::new_in();
            self.leavings.clear();
            self.after_calls.clear();
            self.highest = self.code.last().map_or(0, |code| code.mapping.end);
        }
        changed
    }

    fn drop_code(&mut self, code: &CodeMapping) -> bool {
        if code.module.is_some() {
            self.engine.remove_module(code.mapping.start);
        }
        true
    }

    fn load_code(&mut self, mapping: &Mapping, root: Option<&Path>) -> CodeMapping {
        let module = match &mapping.path {
            MappedFile::File(path) => Some((path.as_path(), self.modules.mapped(mapping, path, root))),
            MappedFile::Vdso => Some((Path::new("[vdso]"), self.modules.vdso())),
            MappedFile::Anonymous | MappedFile::Other(_) => None,
        };
        let module = module.and_then(|(path, module)| {
            match module.and_then(|module| self.add_module(mapping, &module).map(|()| module)) {
                Ok(module) => Some(module),
                Err(error) => {
                    self.problems.push(ModuleProblem { path: path.to_path_buf(), start: mapping.start, error });
                    None
                }
            }
        });
        CodeMapping { mapping: mapping.clone(), module }
    }

    fn add_module(&mut self, mapping: &Mapping, module: &ModuleRef) -> Result<(), ModuleError> {
        let bias = module
            .bias(mapping)
            .ok_or_else(|| ModuleError::NoSegment { path: module.path().to_path_buf(), offset: mapping.file_offset })?;
        let sections = &module.unwind;
        let info = ExplicitModuleSectionInfo {
            base_svma: module.base(),
            text_svma: sections.text_range.clone(),
            got_svma: sections.got_range.clone(),
            eh_frame_svma: sections.eh_frame_range.clone(),
            eh_frame: sections.eh_frame.clone(),
            eh_frame_hdr_svma: sections.eh_frame_hdr_range.clone(),
            eh_frame_hdr: sections.eh_frame_hdr.clone(),
            debug_frame: sections.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        };
        let base = module.base().wrapping_add(bias);
        self.engine.add_module(framehop::Module::new(String::new(), mapping.start..mapping.end, base, info));
        Ok(())
    }

    /// From now on stacks are of this process. Where the bytes of a stack were copied too short, the rest is read from the
    /// process's memory, if the thread has not moved on meanwhile.
    pub fn set_process(&mut self, pid: u32) {
        if self.stacks_of.as_ref().is_none_or(|(known, _)| *known != pid) {
            self.stacks_of = Some((pid, PathBuf::from(format!("/proc/{pid}/mem"))));
        }
    }

    /// Unwinds one stack. `stack` has the bytes of the process's memory from `registers.sp` upwards. `frames` is
    /// cleared and filled with the addresses, innermost first.
    pub fn unwind(&mut self, registers: &UserRegisters, stack: &[u8], frames: &mut Vec<CodeAddress>) -> StackEnd {
        frames.clear();
        self.unknown_address = None;
        self.unwound += 1;
        if self.unwound.is_multiple_of(CODE_READ_ANEW) {
            self.leavings.clear();
            self.after_calls.clear();
        }
        self.follow(CodeAddress::InstructionPointer(registers.ip), registers, stack, frames)
    }

    /// Continues on another stack, from which the thread switched to the one that was unwound last. `registers` are those
    /// of a frame that made a call; `stack` and `frames` as for [`Unwinder::unwind`], but frames are added. If the address
    /// is not code, nothing happens.
    pub fn go_on(
        &mut self,
        registers: &UserRegisters,
        stack: &[u8],
        frames: &mut Vec<CodeAddress>,
    ) -> Option<StackEnd> {
        let at = CodeAddress::ReturnAddress(registers.ip);
        (frames.len() < DEPTH_LIMIT && self.code_at(at.lookup()).is_some())
            .then(|| self.follow(at, registers, stack, frames))
    }

    /// Adds the frames of a stack, beginning with the one at address `at`.
    fn follow(
        &mut self,
        at: CodeAddress,
        registers: &UserRegisters,
        stack: &[u8],
        frames: &mut Vec<CodeAddress>,
    ) -> StackEnd {
        let (process, mut rest) = (self.stacks_of.take(), std::mem::take(&mut self.rest));
        let memory = process.as_ref().map(|(_, memory)| memory.as_path());
        let mut bytes = WholeStack::new(stack, registers.sp, memory, &mut rest);
        let end = self.follow_bytes(at, registers, &mut bytes, frames);
        (self.stacks_of, self.rest) = (process, rest);
        end
    }

    fn follow_bytes(
        &mut self,
        mut at: CodeAddress,
        registers: &UserRegisters,
        stack: &mut WholeStack<'_>,
        frames: &mut Vec<CodeAddress>,
    ) -> StackEnd {
        frames.push(at);
        let mut state = start(registers, self.highest);
        let mut here = self.code_at(at.lookup());
        if here.is_none() {
            self.unknown_address = Some(registers.ip);
        }
        loop {
            let has_module = here.is_some_and(|index| self.code[index].module.is_some());
            let leaving = self.leaving(here, at);
            // All interpreted methods have addresses in the interpreter's code; the address of the method distinguishes
            // them.
            let interpreted = self.hotspot.as_ref().is_some_and(|hotspot| hotspot.interprets(at.lookup()));
            let fp = frame_pointer(&state);
            if interpreted
                && let Ok(method) = stack.word(fp.wrapping_sub(INTERPRETED))
                && let Some(frame) = frames.last_mut()
            {
                // The innermost method has its bytecode in a register.
                let called = matches!(at, CodeAddress::ReturnAddress(_));
                let bytecode = called.then(|| stack.word(fp.wrapping_sub(BYTECODE)).ok()).flatten();
                *frame = CodeAddress::Interpreted { method, bytecode: bytecode.unwrap_or(0) };
            }
            let step = match leaving {
                Some(Leaving::Outermost) => return StackEnd::Complete,
                Some(Leaving::OtherStack) => return truncated(Truncation::OtherStack),
                Some(Leaving::Signal) => match interrupted(&mut state, &mut |address| stack.word(address)) {
                    Ok(address) => {
                        if frames.len() == DEPTH_LIMIT {
                            return truncated(Truncation::TooDeep);
                        }
                        at = CodeAddress::InstructionPointer(address);
                        here = self.code_at(address);
                        frames.push(at);
                        if here.is_none() {
                            self.unknown_address = Some(address);
                            return truncated(Truncation::NoModule);
                        }
                        if !(registers.sp..stack.end().saturating_add(NEAR)).contains(&stack_pointer(&state)) {
                            return truncated(Truncation::OtherStack);
                        }
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Some(Leaving::Return { skip, frame_pointer }) => {
                    leave(&mut state, skip, frame_pointer, &mut |address| stack.word(address))
                }
                Some(Leaving::Realigned { kept_at }) => {
                    leave_realigned(&mut state, kept_at, &mut |address| stack.word(address))
                }
                Some(Leaving::Checked { skip, frame_pointer })
                    if stack
                        .word(stack_pointer(&state).wrapping_add(skip))
                        .is_ok_and(|word| self.is_after_call(word)) =>
                {
                    leave(&mut state, skip, frame_pointer, &mut |address| stack.word(address))
                }
                Some(Leaving::Framed) if stack.word(fp.wrapping_add(8)).is_ok_and(|word| self.is_after_call(word)) => {
                    set_stack_pointer(&mut state, fp);
                    leave(&mut state, 8, Some(0), &mut |address| stack.word(address))
                }
                Some(Leaving::Checked { .. } | Leaving::Framed) | None => {
                    let mut read = |address| stack.word(address);
                    self.engine.unwind_frame(frame_address(at), &mut state, &mut self.rules, &mut read)
                }
            };
            // A compiled caller does not lie next to the frame: its arguments were copied in between.
            if interpreted
                && matches!(step, Ok(Some(_)))
                && let Ok(caller) = stack.word(fp.wrapping_sub(CALLER))
                && caller.checked_sub(fp).is_some_and(|distance| (LINK..=LINK + ARGUMENTS).contains(&distance))
            {
                set_stack_pointer(&mut state, caller);
            }
            let next = match step {
                // Without unwind information, the end is only a guess from a frame pointer that happened to be zero.
                Ok(None) if has_module => return StackEnd::Complete,
                Ok(None) => return truncated(Truncation::NoModule),
                Ok(Some(address)) => address,
                Err(error) => {
                    return self.classify(error, stack.end(), has_module, frame_pointer(&state), frames.len());
                }
            };
            let (Some(_), Some(index)) =
                (FrameAddress::from_return_address(next), self.code_near(here, next.wrapping_sub(1)))
            else {
                self.unknown_address = Some(next);
                return truncated(if has_module { Truncation::BadFrame } else { Truncation::NoModule });
            };
            if frames.len() == DEPTH_LIMIT {
                return truncated(Truncation::TooDeep);
            }
            at = CodeAddress::ReturnAddress(next);
            frames.push(at);
            here = Some(index);
        }
    }

    /// How a frame is left, if its own instructions or its program's function table show it.
    fn leaving(&mut self, here: Option<usize>, at: CodeAddress) -> Option<Leaving> {
        let code = &self.code[here?];
        let innermost = matches!(at, CodeAddress::InstructionPointer(_));
        let key = (at.lookup(), innermost);
        if let Some(known) = self.leavings.get(&key) {
            return *known;
        }
        let found = match &code.module {
            Some(module) => module_leaving(&code.mapping, module, at),
            None => {
                let mut bytes = [0; AHEAD];
                let read = read_code(self.memory.as_deref(), at.raw(), &mut bytes);
                let by_code = leaving(&bytes[..read.min(CODE)], innermost);
                let mut by_frame = || {
                    let hotspot = self.hotspot.as_mut().filter(|_| cfg!(target_arch = "x86_64"))?;
                    let skip = hotspot.return_address(at.lookup(), innermost)?;
                    // The frame pointer is saved below the return address.
                    Some(Leaving::Return { skip, frame_pointer: skip.checked_sub(8) })
                };
                let found = if innermost { by_code.or_else(by_frame) } else { by_frame().or(by_code) };
                found.or_else(|| end_ahead(&bytes[..read], at.raw()))
            }
        };
        if self.leavings.len() >= LEAVINGS_LIMIT {
            self.leavings.clear();
        }
        self.leavings.insert(key, found);
        found
    }

    /// True when the instruction before an address is a call.
    fn is_after_call(&mut self, address: u64) -> bool {
        if let Some(known) = self.after_calls.get(&address) {
            return *known;
        }
        let mut bytes = [0; CALL];
        let start = address.wrapping_sub(CALL as u64);
        let is = self.code_at(address.wrapping_sub(1)).is_some()
            && read_code(self.memory.as_deref(), start, &mut bytes) == CALL
            && ends_with_call(&bytes);
        if self.after_calls.len() >= LEAVINGS_LIMIT {
            self.after_calls.clear();
        }
        self.after_calls.insert(address, is);
        is
    }

    fn classify(&self, error: framehop::Error, end: u64, has_module: bool, fp: u64, depth: usize) -> StackEnd {
        match error {
            framehop::Error::CouldNotReadStack(address)
                if (end.saturating_sub(7)..end.saturating_add(NEAR)).contains(&address) =>
            {
                truncated(Truncation::OutOfBytes)
            }
            _ if !has_module => truncated(Truncation::NoModule),
            // The start code of a program sets the frame pointer to zero to mark the outermost frame; in C libraries
            // without unwind information for it, this is the only sign.
            framehop::Error::FramepointerUnwindingMovedBackwards | framehop::Error::CouldNotReadStack(_)
                if fp == 0 && depth > 1 =>
            {
                StackEnd::Complete
            }
            _ => truncated(Truncation::BadFrame),
        }
    }

    /// The address at which the last unwound stack reached memory that is not known to contain code: the memory map may
    /// have changed since it was read, or the value was no address.
    pub fn unknown_address(&self) -> Option<u64> {
        self.unknown_address
    }

    /// Where an address lies; none when it is not in executable memory.
    pub fn locate(&self, address: u64) -> Option<Located<'_>> {
        let code = &self.code[self.code_at(address)?];
        let file_offset = (address - code.mapping.start).saturating_add(code.mapping.file_offset);
        Some(Located { mapping: &code.mapping, module: code.module.as_ref(), file_offset })
    }

    /// The module in whose data an address lies, and the stated address (as in the module's file).
    pub fn locate_data(&self, address: u64) -> Option<(&ModuleRef, u64)> {
        self.code.iter().find_map(|code| {
            let module = code.module.as_ref()?;
            let stated = address.wrapping_sub(module.bias(&code.mapping)?);
            module.covers(stated).then_some((module, stated))
        })
    }

    /// The start of the function around a code address, from its module's unwind information.
    pub fn function_start(&self, address: u64) -> Option<u64> {
        let located = self.locate(address)?;
        let start = located.module?.function_start(located.file_offset)?;
        address.checked_sub(located.file_offset.checked_sub(start)?)
    }

    /// Where functions of a Go program lie in the process, by their full names: start and end (exclusive). None when
    /// the program is not written in Go or lacks one of them.
    pub fn go_functions<const N: usize>(&self, names: [&str; N]) -> Option<[(u64, u64); N]> {
        self.code.iter().find_map(|code| {
            let (module, bias) = (code.module.as_ref()?, code.module.as_ref()?.bias(&code.mapping)?);
            let go = module.go()?;
            let mut found = [(0, 0); N];
            for (place, name) in found.iter_mut().zip(names) {
                let (start, end) = go.named(name)?;
                *place = (start.wrapping_add(bias), end.wrapping_add(bias));
            }
            Some(found)
        })
    }

    /// Where the code of a Go program lies in the process.
    pub(crate) fn go_code(&self) -> Option<Range<u64>> {
        let of_go = |code: &&CodeMapping| code.module.as_ref().is_some_and(|module| module.go().is_some());
        self.code.iter().find(of_go).map(|code| code.mapping.start..code.mapping.end)
    }

    /// The address in the process of a Go program's variable; none for a stripped program.
    pub(crate) fn go_variable(&self, name: &str) -> Option<u64> {
        self.code.iter().find_map(|code| {
            let module = code.module.as_ref().filter(|module| module.go().is_some())?;
            Some(module.symbol(name)?.start.wrapping_add(module.bias(&code.mapping)?))
        })
    }

    /// Tells the unwinder that the process runs the HotSpot virtual machine, which knows the frames of its own code.
    pub fn set_hotspot(&mut self, tables: Tables) {
        self.hotspot = Some(HotSpot::new(tables));
    }

    /// The addresses in the process of symbols that are exported by a file whose name satisfies `is_it`. None when no such
    /// file has all of them.
    pub fn exported<const N: usize>(&self, is_it: impl Fn(&str) -> bool, names: [&str; N]) -> Option<[Range<u64>; N]> {
        let named = |path: &MappedFile| matches!(path, MappedFile::File(path) if path.file_name().and_then(|n| n.to_str()).is_some_and(&is_it));
        let within = |code: &&CodeMapping| {
            let (module, bias) = (code.module.as_ref()?, code.module.as_ref()?.bias(&code.mapping)?);
            let mut found = [const { 0..0 }; N];
            for (place, name) in found.iter_mut().zip(names) {
                let stated = module.exported(name)?;
                *place = stated.start.wrapping_add(bias)..stated.end.wrapping_add(bias);
            }
            Some(found)
        };
        self.code.iter().filter(|code| named(&code.mapping.path)).find_map(|code| within(&code))
    }

    /// The modules that could not be loaded, in the order in which they were met.
    pub fn problems(&self) -> &[ModuleProblem] {
        &self.problems
    }

    fn code_at(&self, address: u64) -> Option<usize> {
        let after = self.code.partition_point(|code| code.mapping.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.code[index].mapping.end).then_some(index)
    }

    /// Like `code_at`, but first checks where the last frame was: callers mostly are in the same module.
    fn code_near(&self, last: Option<usize>, address: u64) -> Option<usize> {
        let same = last.filter(|&index| {
            let mapping = &self.code[index].mapping;
            (mapping.start..mapping.end).contains(&address)
        });
        same.or_else(|| self.code_at(address))
    }
}

/// Reads code of a process into `bytes`; returns how many of them could be read.
fn read_code(memory: Option<&Path>, address: u64, bytes: &mut [u8]) -> usize {
    let file = memory.and_then(|memory| File::open(memory).ok());
    file.and_then(|file| file.read_at(bytes, address).ok()).unwrap_or(0)
}

fn frame_address(at: CodeAddress) -> FrameAddress {
    match at {
        // An interpreted method is left like the interpreter, by the address in the interpreter's code.
        CodeAddress::InstructionPointer(address) | CodeAddress::Interpreted { method: address, .. } => {
            FrameAddress::from_instruction_pointer(address)
        }
        // The reader has already refused an address of zero.
        CodeAddress::ReturnAddress(address) => {
            FrameAddress::from_return_address(address).unwrap_or(FrameAddress::from_instruction_pointer(address))
        }
    }
}

fn truncated(why: Truncation) -> StackEnd {
    StackEnd::Truncated { why }
}

/// True when the same part of the same file is mapped at the same place. Whether it is marked as deleted does not
/// matter.
fn same_code(one: &Mapping, other: &Mapping) -> bool {
    let key = |mapping: &Mapping| (mapping.start, mapping.end, mapping.file_offset, mapping.device, mapping.inode);
    key(one) == key(other) && one.path == other.path
}
