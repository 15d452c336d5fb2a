//! Names what the interner has given out handles for.

use super::{CodeFile, Interner, Name};
use crate::procfs::monotonic_ns;
use recording::tables::{Frame, Module, ModuleKind, Stack};
use recording::words::RUN_TIME_CODE;
use recording::{FrameId, ModuleId};
use std::collections::HashMap;

impl Interner {
    /// Names everything new and returns its rows. The run is over.
    pub(crate) fn last_rows(&mut self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        let rows = self.new_rows();
        // Later runs have other processes than this one.
        self.met_ns = HashMap::new();
        for runtime in &mut self.runtimes {
            runtime.code = None;
        }
        rows
    }

    /// Names everything new and returns its rows. The run goes on.
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

    fn path(&self, place: &CodeFile) -> String {
        match place {
            CodeFile::File(path) => path.to_string_lossy().into_owned(),
            CodeFile::Kernel => "kernel".to_owned(),
            CodeFile::Vdso => "vdso".to_owned(),
            CodeFile::Runtime(number) => {
                let program = self.runtimes.get(*number as usize).map_or("", |runtime| &runtime.program);
                format!("{RUN_TIME_CODE}{program}")
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
        if let CodeFile::Runtime(number) = entry.place {
            return self.name_runtime_frames(number, indexes, rows);
        }
        let offsets: Vec<u64> = indexes.iter().map(|index| self.frames[*index].offset).collect();
        let resolved = match (&entry.file, entry.kind) {
            (Some(file), _) => self.symbolizer.user(file, &offsets),
            (None, ModuleKind::Kernel) => offsets.iter().map(|address| self.symbolizer.kernel(*address)).collect(),
            (None, _) => match &entry.place {
                CodeFile::File(path) => self.assemblies.frames(path, &offsets),
                _ => Vec::new(),
            },
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
            let names = name.and_then(|name| self.names.get(name as usize)).map_or(&[][..], Vec::as_slice);
            let program = self.runtimes.get(number as usize).map_or("", |runtime| &runtime.program);
            self.notes.name(program, !names.is_empty());
            let row = |depth: usize, name: Option<&Name>| Frame {
                frame,
                depth: depth as u32,
                module: key.module,
                address: key.offset,
                function: name.map(|name| name.function.clone()),
                file: name.and_then(|name| name.file.clone()),
                line: name.and_then(|name| name.line),
            };
            rows.extend(names.iter().enumerate().map(|(depth, name)| row(depth, Some(name))));
            if names.is_empty() {
                rows.push(row(0, None));
            }
        }
    }
}
