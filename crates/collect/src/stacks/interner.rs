//! Gives out handles for stacks, frames and modules, which stay the same for all runs of a recording, and names them at
//! the end of each run.

mod naming;

use super::languages::{Notes, file_name};
use recording::tables::{ModuleKind, Stack};
use recording::{FrameId, ModuleId, StackId};
use resolve::jit::{CodeSite, FunctionAt};
use resolve::{Assemblies, MappedFile, ModuleRef, RuntimeCode, Symbolizer, Unwinder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where a frame's code lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CodeFile {
    Kernel,
    File(PathBuf),
    Vdso,
    /// Code that a process image made at run time, by the image's number here, because addresses mean nothing in
    /// another process.
    Runtime(u32),
}

/// The run-time code of a process image.
#[derive(Debug)]
struct JitModule {
    program: String,
    /// Its names, until the rows of its run have been emitted.
    code: Option<RuntimeCode>,
}

/// A frame in a module: what distinguishes it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FrameKey {
    module: ModuleId,
    /// Offset in the module's file; for the kernel and run-time code, the address.
    offset: u64,
    /// For run-time code: what was there, as an index into `Interner::names`; none while that is not known.
    name: Option<u32>,
}

/// What a function of run-time code is called, and where it is in its source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    function: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug)]
struct ModuleEntry {
    place: CodeFile,
    kind: ModuleKind,
    file: Option<ModuleRef>,
}

/// Handles given out so far, and the rows that have not been emitted yet.
pub(crate) struct Interner {
    modules: Vec<ModuleEntry>,
    module_ids: HashMap<CodeFile, ModuleId>,
    /// Libraries by what they contain. Java's libraries unpack native code into a file with a name of its own for each
    /// run, and what is not the same code in two runs would count as new.
    by_contents: HashMap<u64, ModuleId>,
    frames: Vec<FrameKey>,
    frame_ids: HashMap<FrameKey, FrameId>,
    runtimes: Vec<JitModule>,
    /// The functions at an address, innermost first: those that were inlined, then the function itself.
    names: Vec<Vec<Name>>,
    name_ids: HashMap<Vec<Name>, u32>,
    /// When frames of run-time code without a name were first met.
    met_ns: HashMap<FrameId, u64>,
    /// What the user should know about stacks and names.
    pub(super) notes: Notes,
    stack_ids: HashMap<(Option<StackId>, FrameId, bool), StackId>,
    new_stacks: Vec<Stack>,
    named_modules: usize,
    named_frames: usize,
    symbolizer: Symbolizer,
    assemblies: Assemblies,
}

impl Interner {
    pub(crate) fn new() -> Interner {
        Interner {
            modules: Vec::new(),
            module_ids: HashMap::new(),
            by_contents: HashMap::new(),
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
            assemblies: Assemblies::default(),
        }
    }

    /// The frame of a code address in user space, as the unwinder's process has it mapped. None when the address lies
    /// in no file.
    pub(crate) fn user_frame(&mut self, unwinder: &Unwinder, address: u64, program: Option<&Path>) -> Option<FrameId> {
        let located = unwinder.locate(address)?;
        if located.module.is_none()
            && let MappedFile::File(path) = &located.mapping.path
        {
            self.assemblies.see(path, located.mapping.inode);
        }
        let (place, kind) = match &located.mapping.path {
            MappedFile::File(path) if program == Some(path) => (CodeFile::File(path.clone()), ModuleKind::Program),
            MappedFile::File(path) => (CodeFile::File(path.clone()), ModuleKind::Library),
            MappedFile::Vdso => (CodeFile::Vdso, ModuleKind::Vdso),
            _ => return None,
        };
        Some(self.frame(place, kind, located.module, located.file_offset, None))
    }

    /// The number of a process image that has code without a file.
    pub(crate) fn add_runtime(&mut self, program: Option<&Path>) -> u32 {
        self.runtimes.push(JitModule { program: file_name(program), code: None });
        (self.runtimes.len() - 1) as u32
    }

    /// Sets where the names of an image's run-time code come from.
    pub(crate) fn set_runtime_code(&mut self, number: u32, code: RuntimeCode) {
        if let Some(runtime) = self.runtimes.get_mut(number as usize) {
            runtime.code = Some(code);
        }
    }

    /// The names of an image's run-time code.
    pub(crate) fn runtime_code(&mut self, number: u32) -> Option<&mut RuntimeCode> {
        self.runtimes.get_mut(number as usize)?.code.as_mut()
    }

    /// The frame of an address in no file, with its name at `time_ns`.
    pub(crate) fn runtime_frame(&mut self, number: u32, address: u64, time_ns: u64) -> FrameId {
        let found = self.runtime_code(number).and_then(|code| code.find(address, time_ns));
        let name = found.map(|found| self.name(&found, address));
        let frame = self.frame(CodeFile::Runtime(number), ModuleKind::Anonymous, None, address, name);
        if name.is_none() {
            self.met_ns.entry(frame).or_insert(time_ns);
        }
        frame
    }

    /// The frame of an address in no file whose function, file and line are known.
    pub(crate) fn named_frame(
        &mut self,
        number: u32,
        address: u64,
        function: &str,
        file: &str,
        line: Option<u32>,
    ) -> FrameId {
        let name = self.number_of(vec![Name { function: function.to_owned(), file: Some(file.to_owned()), line }]);
        self.frame(CodeFile::Runtime(number), ModuleKind::Anonymous, None, address, Some(name))
    }

    fn name(&mut self, found: &FunctionAt, address: u64) -> u32 {
        let sites = found.code.sites(address.saturating_sub(found.start));
        let name = |site: &CodeSite<'_>| Name {
            function: site.function.to_owned(),
            file: site.file.map(str::to_owned),
            line: site.line,
        };
        self.number_of(sites.iter().map(name).collect())
    }

    fn number_of(&mut self, names: Vec<Name>) -> u32 {
        if let Some(number) = self.name_ids.get(&names) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.name_ids.insert(names.clone(), number);
        self.names.push(names);
        number
    }

    /// The frame of a kernel address.
    pub(crate) fn kernel_frame(&mut self, address: u64) -> FrameId {
        self.frame(CodeFile::Kernel, ModuleKind::Kernel, None, address, None)
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
        place: CodeFile,
        kind: ModuleKind,
        file: Option<&ModuleRef>,
        offset: u64,
        name: Option<u32>,
    ) -> FrameId {
        let module = match self.module_ids.get(&place) {
            Some(module) => *module,
            None => {
                let next = ModuleId(self.modules.len() as u32);
                let contents = file.filter(|_| kind == ModuleKind::Library).and_then(|file| file.fingerprint());
                let module = contents.map_or(next, |contents| *self.by_contents.entry(contents).or_insert(next));
                self.module_ids.insert(place.clone(), module);
                if module == next {
                    self.modules.push(ModuleEntry { place, kind, file: file.cloned() });
                }
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
}
