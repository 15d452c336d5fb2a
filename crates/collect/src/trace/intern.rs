//! Gives out handles for stacks, frames and modules, the same for all runs of a recording, and names them at the end
//! of each run. May import: `recording`, `resolve`, `languages`.

use super::languages::{Notes, file_name};
use crate::procfs::monotonic_ns;
use recording::tables::{Frame, Module, ModuleKind, Stack};
use recording::{FrameId, ModuleId, StackId};
use resolve::jit::Found;
use resolve::{MappedFile, ModuleRef, RuntimeCode, Symbolizer, Unwinder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where a frame's code lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Kernel,
    File(PathBuf),
    Vdso,
    /// Code that a process image made at run time, by the number of the image's [`Runtime`]: addresses mean nothing in
    /// another process.
    Runtime(u32),
}

/// The run-time code of a process image.
#[derive(Debug)]
struct Runtime {
    program: String,
    /// Its names, until the rows of its run were handed out.
    code: Option<RuntimeCode>,
}

/// A frame in a module, which is all that tells it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FrameKey {
    module: ModuleId,
    /// Offset in the module's file (the kernel's and run-time code: the address).
    offset: u64,
    /// Run-time code: what was there, as a number of `Interner::names`; none while that is not known.
    name: Option<u32>,
}

/// What a function of run-time code is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    function: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug)]
struct ModuleEntry {
    place: Place,
    kind: ModuleKind,
    file: Option<ModuleRef>,
}

/// Handles given out so far, and the rows that no part holds yet.
pub(crate) struct Interner {
    modules: Vec<ModuleEntry>,
    module_ids: HashMap<Place, ModuleId>,
    frames: Vec<FrameKey>,
    frame_ids: HashMap<FrameKey, FrameId>,
    runtimes: Vec<Runtime>,
    names: Vec<Name>,
    name_ids: HashMap<Name, u32>,
    /// When frames of run-time code without a name were first met.
    met_ns: HashMap<FrameId, u64>,
    /// What the user should know about stacks and names.
    pub(super) notes: Notes,
    stack_ids: HashMap<(Option<StackId>, FrameId, bool), StackId>,
    new_stacks: Vec<Stack>,
    named_modules: usize,
    named_frames: usize,
    symbolizer: Symbolizer,
}

impl Interner {
    pub(crate) fn new() -> Interner {
        Interner {
            modules: Vec::new(),
            module_ids: HashMap::new(),
            frames: Vec::new(),
            frame_ids: HashMap::new(),
            runtimes: Vec::new(),
            names: Vec::new(),
            name_ids: HashMap::new(),
            met_ns: HashMap::new(),
            notes: Notes::default(),
            stack_ids: HashMap::new(),
            new_stacks: Vec::new(),
            named_modules: 0,
            named_frames: 0,
            symbolizer: Symbolizer::new(),
        }
    }

    /// The frame of a code address in user space, as the process of the unwinder has it mapped. None when it lies in no
    /// file.
    pub(crate) fn user_frame(&mut self, unwinder: &Unwinder, address: u64, program: Option<&Path>) -> Option<FrameId> {
        let located = unwinder.locate(address)?;
        let (place, kind) = match &located.mapping.path {
            MappedFile::File(path) if program == Some(path) => (Place::File(path.clone()), ModuleKind::Program),
            MappedFile::File(path) => (Place::File(path.clone()), ModuleKind::Library),
            MappedFile::Vdso => (Place::Vdso, ModuleKind::Vdso),
            _ => return None,
        };
        Some(self.frame(place, kind, located.module, located.file_offset, None))
    }

    /// The number of a process image that has code without a file.
    pub(crate) fn add_runtime(&mut self, program: Option<&Path>) -> u32 {
        self.runtimes.push(Runtime { program: file_name(program), code: None });
        (self.runtimes.len() - 1) as u32
    }

    /// Who tells the names of an image's run-time code.
    pub(crate) fn set_runtime_code(&mut self, number: u32, code: RuntimeCode) {
        if let Some(runtime) = self.runtimes.get_mut(number as usize) {
            runtime.code = Some(code);
        }
    }

    /// The names of an image's run-time code.
    pub(crate) fn runtime_code(&mut self, number: u32) -> Option<&mut RuntimeCode> {
        self.runtimes.get_mut(number as usize)?.code.as_mut()
    }

    /// The frame of an address in no file, as it is called at a time.
    pub(crate) fn runtime_frame(&mut self, number: u32, address: u64, time_ns: u64) -> FrameId {
        let found = self.runtime_code(number).and_then(|code| code.find(address, time_ns));
        let name = found.map(|found| self.name(&found, address));
        let frame = self.frame(Place::Runtime(number), ModuleKind::Anonymous, None, address, name);
        if name.is_none() {
            self.met_ns.entry(frame).or_insert(time_ns);
        }
        frame
    }

    fn name(&mut self, found: &Found, address: u64) -> u32 {
        let line = found.code.line(address.saturating_sub(found.start));
        let name = Name {
            function: found.code.name.clone(),
            file: line.map(|(file, _)| file.to_owned()),
            line: line.map(|(_, line)| line),
        };
        let next = self.names.len() as u32;
        let number = *self.name_ids.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    /// The frame of a kernel address.
    pub(crate) fn kernel_frame(&mut self, address: u64) -> FrameId {
        self.frame(Place::Kernel, ModuleKind::Kernel, None, address, None)
    }

    /// The name of a kernel function; empty when it has none.
    pub(crate) fn kernel_function(&mut self, address: u64) -> String {
        let frame = self.symbolizer.kernel(address);
        frame.functions.into_iter().next().and_then(|site| site.function).unwrap_or_default()
    }

    /// The kernel variable at exactly this address.
    pub(crate) fn kernel_variable(&mut self, address: u64) -> Option<String> {
        let frame = self.symbolizer.kernel(address);
        let name = frame.functions.into_iter().next().and_then(|site| site.function);
        name.filter(|_| frame.function_start == Some(address))
    }

    fn frame(
        &mut self,
        place: Place,
        kind: ModuleKind,
        file: Option<&ModuleRef>,
        offset: u64,
        name: Option<u32>,
    ) -> FrameId {
        let module = match self.module_ids.get(&place) {
            Some(module) => *module,
            None => {
                let module = ModuleId(self.modules.len() as u32);
                self.module_ids.insert(place.clone(), module);
                self.modules.push(ModuleEntry { place, kind, file: file.cloned() });
                module
            }
        };
        let key = FrameKey { module, offset, name };
        let next = FrameId(self.frames.len() as u32);
        let frame = *self.frame_ids.entry(key).or_insert(next);
        if frame == next {
            self.frames.push(key);
        }
        frame
    }

    /// The stack of these frames, innermost first; `None` for no frames.
    pub(crate) fn stack(&mut self, frames: &[FrameId], truncated: bool) -> Option<StackId> {
        let mut parent = None;
        for (depth, frame) in frames.iter().rev().enumerate() {
            let truncated = truncated && depth == 0;
            let next = StackId(self.stack_ids.len() as u32);
            let stack = *self.stack_ids.entry((parent, *frame, truncated)).or_insert(next);
            if stack == next {
                self.new_stacks.push(Stack { stack, parent, frame: *frame, truncated });
            }
            parent = Some(stack);
        }
        parent
    }

    /// Names everything new and hands its rows out. The run is over.
    pub(crate) fn take_rows(&mut self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        let rows = self.new_rows();
        // No later run has to do with the processes of this one.
        self.met_ns = HashMap::new();
        for runtime in &mut self.runtimes {
            runtime.code = None;
        }
        rows
    }

    /// Names everything new and hands its rows out. The run goes on.
    pub(crate) fn new_rows(&mut self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        let modules = (self.named_modules..self.modules.len()).map(|index| self.module_row(index)).collect();
        self.named_modules = self.modules.len();
        let mut by_module: HashMap<ModuleId, Vec<usize>> = HashMap::new();
        for index in self.named_frames..self.frames.len() {
            by_module.entry(self.frames[index].module).or_default().push(index);
        }
        self.named_frames = self.frames.len();
        let mut by_module: Vec<_> = by_module.into_iter().collect();
        by_module.sort_unstable();
        let mut frames = Vec::new();
        for (module, indexes) in by_module {
            self.name_frames(module, &indexes, &mut frames);
        }
        (std::mem::take(&mut self.new_stacks), frames, modules)
    }

    /// What the user should know about the stacks and names so far.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.notes.sentences(|frame| {
            let module = self.frames.get(frame.0 as usize).map(|key| key.module.0 as usize);
            let entry = module.and_then(|module| self.modules.get(module));
            entry.map_or_else(String::new, |entry| self.path(&entry.place))
        })
    }

    fn path(&self, place: &Place) -> String {
        match place {
            Place::File(path) => path.to_string_lossy().into_owned(),
            Place::Kernel => "kernel".to_owned(),
            Place::Vdso => "vdso".to_owned(),
            Place::Runtime(number) => {
                let program = self.runtimes.get(*number as usize).map_or("", |runtime| &runtime.program);
                format!("run-time code of {program}")
            }
        }
    }

    fn module_row(&mut self, index: usize) -> Module {
        let entry = &self.modules[index];
        let has_lines = entry.file.as_ref().is_some_and(|file| self.symbolizer.has_lines(file));
        let path = self.path(&entry.place);
        Module { module: ModuleId(index as u32), kind: entry.kind, path, has_lines }
    }

    fn name_frames(&mut self, module: ModuleId, indexes: &[usize], rows: &mut Vec<Frame>) {
        let entry = &self.modules[module.0 as usize];
        if let Place::Runtime(number) = entry.place {
            return self.name_runtime_frames(number, indexes, rows);
        }
        let offsets: Vec<u64> = indexes.iter().map(|index| self.frames[*index].offset).collect();
        let resolved = match (&entry.file, entry.kind) {
            (Some(file), _) => self.symbolizer.user(file, &offsets),
            (None, ModuleKind::Kernel) => offsets.iter().map(|address| self.symbolizer.kernel(*address)).collect(),
            (None, _) => Vec::new(),
        };
        for (position, index) in indexes.iter().enumerate() {
            let offset = offsets[position];
            let stated = entry.file.as_ref().and_then(|file| file.stated_address(offset)).unwrap_or(offset);
            let row = |depth: usize, function, file, line| Frame {
                frame: FrameId(*index as u32),
                depth: depth as u32,
                module,
                address: stated,
                function,
                file,
                line,
            };
            match resolved.get(position) {
                Some(frame) => rows.extend(
                    frame
                        .functions
                        .iter()
                        .enumerate()
                        .map(|(depth, site)| row(depth, site.function.clone(), site.file.clone(), site.line)),
                ),
                None => rows.push(row(0, None, None, None)),
            }
        }
    }

    fn name_runtime_frames(&mut self, number: u32, indexes: &[usize], rows: &mut Vec<Frame>) {
        if let Some(code) = self.runtime_code(number) {
            code.finish(monotonic_ns());
        }
        for index in indexes {
            let (frame, key) = (FrameId(*index as u32), self.frames[*index]);
            let name = key.name.or_else(|| {
                let met_ns = *self.met_ns.get(&frame)?;
                let found = self.runtime_code(number)?.find_late(key.offset, met_ns)?;
                Some(self.name(&found, key.offset))
            });
            let name = name.and_then(|name| self.names.get(name as usize));
            let program = self.runtimes.get(number as usize).map_or("", |runtime| &runtime.program);
            self.notes.name(program, name.is_some());
            rows.push(Frame {
                frame,
                depth: 0,
                module: key.module,
                address: key.offset,
                function: name.map(|name| name.function.clone()),
                file: name.and_then(|name| name.file.clone()),
                line: name.and_then(|name| name.line),
            });
        }
    }
}
