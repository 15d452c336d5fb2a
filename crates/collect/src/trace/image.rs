//! One program image of the target (one exec): its memory map, kept current, and the unwinding of its stacks.
//!
//! May import: `resolve`, `intern`, the BPF records.

use super::intern::Interner;
use crate::bpf::abi::{ImageSpans, MAX_SPANS, Registers, Span};
use crate::procfs::monotonic_ns;
use recording::{FrameId, StackId};
use resolve::{
    CodeAddress, MappedFile, ModuleCache, StackEnd, Truncation, Unwinder, UserRegisters, merge_spans, parse_maps,
};
use std::collections::HashMap;
use std::path::PathBuf;

/// The loader maps libraries in the first milliseconds, so the map is read often at first, then only when an address
/// turns up that lies outside of it, and even then not more often than this.
const REFRESH_NS: u64 = 20_000_000;
/// Readings in a row without a change after which the loader is taken to be done.
const SETTLED: u32 = 3;

pub(crate) struct Image {
    pid: u32,
    program: Option<PathBuf>,
    unwinder: Unwinder,
    frames: HashMap<u64, FrameId>,
    read_ns: u64,
    unchanged: u32,
    addresses: Vec<CodeAddress>,
    handles: Vec<FrameId>,
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
            unwinder: Unwinder::new(cache),
            frames: HashMap::new(),
            read_ns: 0,
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
        self.read_ns = monotonic_ns();
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
        let mut spans = ImageSpans::default();
        for (span, (start, end)) in spans.spans.iter_mut().zip(merge_spans(&mappings, MAX_SPANS)) {
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

    /// Unwinds copied stack bytes; reads the map again first when an address is unknown. Spans as in `refresh`.
    pub(crate) fn unwind(
        &mut self,
        registers: &Registers,
        stack: &[u8],
        interner: &mut Interner,
    ) -> (Unwound, Option<ImageSpans>) {
        let mut spans = if self.read_ns == 0 { self.refresh() } else { None };
        let registers = UserRegisters { ip: registers.ip, sp: registers.sp, bp: registers.fp, lr: registers.lr };
        let mut end = self.try_unwind(&registers, stack);
        let unknown = matches!(end, StackEnd::Truncated { why: Truncation::NoModule });
        if unknown && monotonic_ns().saturating_sub(self.read_ns) > REFRESH_NS {
            spans = self.refresh().or(spans);
            end = self.try_unwind(&registers, stack);
        }
        self.handles.clear();
        for address in &self.addresses {
            let lookup = address.lookup();
            let frame = match self.frames.get(&lookup) {
                Some(frame) => *frame,
                None => {
                    let frame = interner.user_frame(&self.unwinder, lookup, self.program.as_deref());
                    self.frames.insert(lookup, frame);
                    frame
                }
            };
            self.handles.push(frame);
        }
        let truncated = end != StackEnd::Complete;
        (Unwound { stack: interner.stack(&self.handles, truncated), truncated }, spans)
    }

    fn try_unwind(&mut self, registers: &UserRegisters, stack: &[u8]) -> StackEnd {
        self.addresses.clear();
        self.unwinder.unwind(registers, stack, &mut self.addresses)
    }
}
