//! Stacks, frames and modules from their text; each gets one handle. Imports `ids`, `reader`, `tables`.

use crate::ids::*;
use crate::reader::Tables;
use crate::tables::*;
use std::collections::HashMap;

/// The handles of stacks, frames and modules so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    stacks: HashMap<(Option<StackId>, FrameId), StackId>,
    frames: HashMap<String, FrameId>,
    modules: HashMap<String, ModuleId>,
}

impl Names {
    pub(super) fn stack(&mut self, text: &str, tables: &mut Tables) -> StackId {
        let mut parent = None;
        for frame in text.split(" < ").collect::<Vec<_>>().into_iter().rev() {
            let frame = self.frame(frame.trim(), tables);
            let next = StackId(self.stacks.len() as u32);
            let stack = *self.stacks.entry((parent, frame)).or_insert(next);
            if stack == next {
                tables.stacks.push(Stack { stack, parent, frame, truncated: false });
            }
            parent = Some(stack);
        }
        parent.expect("splitting gives at least one frame")
    }

    fn frame(&mut self, text: &str, tables: &mut Tables) -> FrameId {
        if let Some(frame) = self.frames.get(text) {
            return *frame;
        }
        // A function's name may contain spaces, a module's may not.
        let (function, rest) = text.split_once('@').unwrap_or((text, "app"));
        let (module, place) = rest.split_once(' ').map_or((rest, None), |(m, p)| (m, p.rsplit_once(':')));
        let frame = FrameId(self.frames.len() as u32);
        let module = self.module(module, tables);
        tables.frames.push(Frame {
            frame,
            depth: 0,
            module,
            address: 0x1000 + 16 * u64::from(frame.0),
            function: (function != "?").then(|| function.to_owned()),
            file: place.map(|(file, _)| file.to_owned()),
            line: place.map(|(_, line)| line.parse().expect("a line is a number")),
        });
        self.frames.insert(text.to_owned(), frame);
        frame
    }

    fn module(&mut self, name: &str, tables: &mut Tables) -> ModuleId {
        if let Some(module) = self.modules.get(name) {
            return *module;
        }
        let module = ModuleId(self.modules.len() as u32);
        let (kind, path) = match name {
            "kernel" => (ModuleKind::Kernel, "kernel".to_owned()),
            "anonymous" => (ModuleKind::Anonymous, "anonymous".to_owned()),
            library if library.contains(".so") => (ModuleKind::Library, format!("/usr/lib/{library}")),
            program => (ModuleKind::Program, format!("/home/user/{program}")),
        };
        tables.modules.push(Module { module, kind, path, has_lines: kind == ModuleKind::Program });
        self.modules.insert(name.to_owned(), module);
        module
    }
}
