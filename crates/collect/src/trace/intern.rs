//! Gives out handles for stacks, frames and modules, the same for all runs of a recording, and names them at the end
//! of each run. May import: `recording`, `resolve`.

use recording::tables::{Frame, Module, ModuleKind, Stack};
use recording::{FrameId, ModuleId, StackId};
use resolve::{MappedFile, ModuleRef, Symbolizer, Unwinder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where a frame's code lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Kernel,
    File(PathBuf),
    Vdso,
    Anonymous,
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
    /// Module and offset in its file (the kernel's and anonymous code: the address) of each frame.
    frames: Vec<(ModuleId, u64)>,
    frame_ids: HashMap<(ModuleId, u64), FrameId>,
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
            stack_ids: HashMap::new(),
            new_stacks: Vec::new(),
            named_modules: 0,
            named_frames: 0,
            symbolizer: Symbolizer::new(),
        }
    }

    /// The frame of a code address in user space, as the process of the unwinder has it mapped.
    pub(crate) fn user_frame(&mut self, unwinder: &Unwinder, address: u64, program: Option<&Path>) -> FrameId {
        let Some(located) = unwinder.locate(address) else { return self.frame(Place::Anonymous, None, None, address) };
        let (place, kind) = match &located.mapping.path {
            MappedFile::File(path) if program == Some(path) => (Place::File(path.clone()), ModuleKind::Program),
            MappedFile::File(path) => (Place::File(path.clone()), ModuleKind::Library),
            MappedFile::Vdso => (Place::Vdso, ModuleKind::Vdso),
            _ => return self.frame(Place::Anonymous, None, None, address),
        };
        self.frame(place, Some(kind), located.module, located.file_offset)
    }

    /// The frame of a kernel address.
    pub(crate) fn kernel_frame(&mut self, address: u64) -> FrameId {
        self.frame(Place::Kernel, Some(ModuleKind::Kernel), None, address)
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

    fn frame(&mut self, place: Place, kind: Option<ModuleKind>, file: Option<&ModuleRef>, offset: u64) -> FrameId {
        let module = match self.module_ids.get(&place) {
            Some(module) => *module,
            None => {
                let module = ModuleId(self.modules.len() as u32);
                self.module_ids.insert(place.clone(), module);
                let kind = kind.unwrap_or(ModuleKind::Anonymous);
                self.modules.push(ModuleEntry { place, kind, file: file.cloned() });
                module
            }
        };
        let next = FrameId(self.frames.len() as u32);
        let frame = *self.frame_ids.entry((module, offset)).or_insert(next);
        if frame == next {
            self.frames.push((module, offset));
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

    /// Names everything new and hands its rows out.
    pub(crate) fn take_rows(&mut self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        let modules = (self.named_modules..self.modules.len()).map(|index| self.module_row(index)).collect();
        self.named_modules = self.modules.len();
        let mut by_module: HashMap<ModuleId, Vec<usize>> = HashMap::new();
        for index in self.named_frames..self.frames.len() {
            by_module.entry(self.frames[index].0).or_default().push(index);
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

    fn module_row(&mut self, index: usize) -> Module {
        let entry = &self.modules[index];
        let has_lines = entry.file.as_ref().is_some_and(|file| self.symbolizer.has_lines(file));
        let path = match &entry.place {
            Place::File(path) => path.to_string_lossy().into_owned(),
            Place::Kernel => "kernel".to_owned(),
            Place::Vdso => "vdso".to_owned(),
            Place::Anonymous => "anonymous".to_owned(),
        };
        Module { module: ModuleId(index as u32), kind: entry.kind, path, has_lines }
    }

    fn name_frames(&mut self, module: ModuleId, indexes: &[usize], rows: &mut Vec<Frame>) {
        let entry = &self.modules[module.0 as usize];
        let offsets: Vec<u64> = indexes.iter().map(|index| self.frames[*index].1).collect();
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
}
