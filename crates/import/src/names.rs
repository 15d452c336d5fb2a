//! Handles for functions, call paths and modules, and the kind of code in a module.

use crate::perf_script::Frame as Text;
use recording::tables::{Frame, Module, ModuleKind, Stack};
use recording::{FrameId, ModuleId, StackId};
use std::collections::HashMap;

/// Addresses from here on belong to the kernel on every 64-bit architecture that Linux runs on.
const KERNEL: u64 = 1 << 63;

/// The stacks of a call path in user space and in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) user: Option<StackId>,
    pub(crate) kernel: Option<StackId>,
}

/// The functions at one code address, innermost first: what was inlined there, then the function itself.
type Place = Vec<(u64, Option<String>, ModuleId, Option<String>, Option<u32>)>;

/// The functions, call paths and modules so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    modules: HashMap<(String, ModuleKind), ModuleId>,
    places: HashMap<Place, FrameId>,
    links: HashMap<(Option<StackId>, FrameId), StackId>,
    pub(crate) module_rows: Vec<Module>,
    pub(crate) frame_rows: Vec<Frame>,
    pub(crate) stack_rows: Vec<Stack>,
}

impl Names {
    /// The handles of a call path. `cut`: its outermost frames are missing.
    pub(crate) fn path(&mut self, frames: &[Text], cut: bool) -> Path {
        let kernel = frames.iter().position(|frame| !is_kernel(frame)).unwrap_or(frames.len());
        let (kernel, user) = frames.split_at(kernel);
        // If the outermost address has no name, unwinding has most likely gone astray.
        let astray = user.last().is_some_and(|frame| frame.function.is_none());
        Path { kernel: self.stack(kernel, false), user: self.stack(user, cut || astray) }
    }

    fn stack(&mut self, frames: &[Text], cut: bool) -> Option<StackId> {
        let mut groups: Vec<&[Text]> = frames.chunk_by(|a, b| a.inlined && a.address == b.address).collect();
        groups.reverse();
        let mut stack = None;
        for group in groups {
            let frame = self.place(group);
            let truncated = cut && stack.is_none();
            let next = StackId(handle(self.stack_rows.len()));
            let (links, rows) = (&mut self.links, &mut self.stack_rows);
            stack = Some(*links.entry((stack, frame)).or_insert_with(|| {
                rows.push(Stack { stack: next, parent: stack, frame, truncated });
                next
            }));
        }
        stack
    }

    fn place(&mut self, group: &[Text]) -> FrameId {
        // perf prints a module only for the function that contains the inlined ones.
        let named = group.iter().rev().find(|frame| !frame.module.is_empty());
        let module = self.module(named);
        let place: Place =
            group.iter().map(|f| (f.address, f.function.clone(), module, f.file.clone(), f.line)).collect();
        let next = FrameId(handle(self.places.len()));
        let rows = &mut self.frame_rows;
        let lines = group.iter().any(|f| f.line.is_some());
        if lines && let Some(row) = self.module_rows.get_mut(module.0 as usize) {
            row.has_lines = true;
        }
        *self.places.entry(place).or_insert_with_key(|place| {
            for (depth, (address, function, module, file, line)) in place.iter().enumerate() {
                rows.push(Frame {
                    frame: next,
                    depth: handle(depth),
                    module: *module,
                    address: *address,
                    function: function.clone(),
                    file: file.clone(),
                    line: *line,
                });
            }
            next
        })
    }

    fn module(&mut self, frame: Option<&Text>) -> ModuleId {
        let path = frame.map_or("[unknown]", |f| f.module.as_str());
        let kind = frame.map_or(ModuleKind::Anonymous, kind);
        if let Some(known) = self.modules.get(&(path.to_owned(), kind)) {
            return *known;
        }
        let module = ModuleId(handle(self.module_rows.len()));
        self.module_rows.push(Module { module, kind, path: path.to_owned(), has_lines: false });
        self.modules.insert((path.to_owned(), kind), module);
        module
    }
}

/// Handles are 32 bits wide; the number of samples is limited far below that.
fn handle(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn is_kernel(frame: &Text) -> bool {
    frame.address >= KERNEL || kind(frame) == ModuleKind::Kernel
}

/// The kind of a printed module. perf does not say which file is the program: any file but a library counts as it.
fn kind(frame: &Text) -> ModuleKind {
    let path = frame.module.trim_end_matches(" (deleted)");
    let name = path.rsplit('/').next().unwrap_or(path);
    let bracketed = path.starts_with('[') && path.ends_with(']');
    let user = ["[unknown]", "[heap]", "[stack", "[anon", "[JIT]", "[uprobes]"];
    match () {
        () if path.starts_with("[vdso") || path.starts_with("[vsyscall") => ModuleKind::Vdso,
        () if frame.address >= KERNEL || path.starts_with("[kernel") || path.starts_with("[guest.kernel") => {
            ModuleKind::Kernel
        }
        () if bracketed && !user.iter().any(|start| path.starts_with(start)) => ModuleKind::Kernel,
        () if name.starts_with("vmlinux") || name.ends_with(".ko") || name.contains(".ko.") => ModuleKind::Kernel,
        () if path.is_empty() || bracketed || path.starts_with("//anon") || path.starts_with("/dev/zero") => {
            ModuleKind::Anonymous
        }
        // Such a file names code made at run time (tools/perf/Documentation/jit-interface.txt).
        () if name.starts_with("perf-") && name.ends_with(".map") => ModuleKind::Anonymous,
        () if name.starts_with("jitted-") => ModuleKind::Anonymous,
        () if name.ends_with(".so") || name.contains(".so.") || name.starts_with("ld-") => ModuleKind::Library,
        () => ModuleKind::Program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(address: u64, function: &str, module: &str, inlined: bool) -> Text {
        let function = (!function.is_empty()).then(|| function.to_owned());
        Text { address, function, module: module.to_owned(), file: None, line: None, inlined }
    }

    #[test]
    fn kinds_of_modules_are_distinguished() {
        for (path, wanted) in [
            ("/tmp/app", ModuleKind::Program),
            ("/tmp/app (deleted)", ModuleKind::Program),
            ("/usr/lib/libc.so.6", ModuleKind::Library),
            ("/usr/lib/ld-linux-x86-64.so.2", ModuleKind::Library),
            ("[kernel.kallsyms]", ModuleKind::Kernel),
            ("[nf_tables]", ModuleKind::Kernel),
            ("/lib/modules/6.1/kernel/net.ko.xz", ModuleKind::Kernel),
            ("[vdso]", ModuleKind::Vdso),
            ("[unknown]", ModuleKind::Anonymous),
            ("//anon", ModuleKind::Anonymous),
            ("/tmp/perf-12.map", ModuleKind::Anonymous),
        ] {
            assert_eq!(kind(&text(0x1000, "f", path, false)), wanted, "{path}");
        }
        assert_eq!(kind(&text(u64::MAX, "", "[unknown]", false)), ModuleKind::Kernel);
    }

    #[test]
    fn inlined_functions_share_the_address_of_the_next() {
        let mut names = Names::default();
        let frames = [
            text(u64::MAX - 8, "futex_wait", "[kernel.kallsyms]", false),
            text(0x10, "mix", "", true),
            text(0x10, "work", "/app", false),
            text(0x20, "main", "/app", false),
        ];
        let path = names.path(&frames, false);
        assert!(path.kernel.is_some() && path.user.is_some());
        assert_eq!((names.stack_rows.len(), names.frame_rows.len(), names.module_rows.len()), (3, 4, 2));
        let inlined: Vec<_> = names.frame_rows.iter().filter(|f| f.address == 0x10).map(|f| f.depth).collect();
        assert_eq!(inlined, [0, 1]);
        assert_eq!(names.path(&frames, false), path, "known by its handles");
        assert_eq!(names.stack_rows.len(), 3);
    }
}
