//! Code of a program image that was generated at run time, and where its names come from.

use super::interner::Interner;
use crate::procfs::monotonic_ns;
use recording::FrameId;
use resolve::jit::{Tables, is_dump};
use resolve::{CodeAddress, MappedFile, Mapping, RuntimeCode, Unwinder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The library of Java's virtual machine, and the variables that describe its memory.
const HOTSPOT: &str = "libjvm.so";
const HOTSPOT_TABLES: [&str; 2] = ["gHotSpotVMStructs", "gHotSpotVMTypes"];

/// Code that lies in no file.
#[derive(Default)]
pub(super) struct JitCode {
    /// Whether such code exists; only then can there be names for it.
    seen: bool,
    /// The virtual machine's tables, which describe its code.
    hotspot: Option<Tables>,
    /// The source of names. It is opened as soon as there is such code, while the process is alive, and then handed to
    /// the interner.
    code: Option<RuntimeCode>,
    /// Dumps that were seen in the memory map, with the addresses where they are mapped.
    dumps: Vec<(u64, u64, PathBuf)>,
    /// Its number in the interner.
    number: Option<u32>,
    /// Frames by lookup address, with the generation of names in which they were found.
    frames: HashMap<u64, (u64, FrameId)>,
}

impl JitCode {
    /// Searches a changed memory map for code without a file, and for sources of its names. Returns the tables of the
    /// virtual machine when they are new.
    pub(super) fn see(&mut self, pid: u32, mappings: &[Mapping], unwinder: &Unwinder) -> Option<Tables> {
        self.frames.clear();
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
        if self.hotspot.is_some() {
            return None;
        }
        let [fields, types] = unwinder.exported(|file| file == HOTSPOT, HOTSPOT_TABLES)?.map(|variable| variable.start);
        self.hotspot = Some(Tables { pid, fields, types });
        self.hotspot
    }

    /// Its number in the interner, once it has a frame there.
    pub(super) fn number(&self) -> Option<u32> {
        self.number
    }

    /// Its number in the interner; with `refresh`, the names are brought up to date first.
    pub(super) fn at(&mut self, interner: &mut Interner, program: Option<&Path>, refresh: bool) -> u32 {
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

    pub(super) fn frame(&mut self, interner: &mut Interner, number: u32, at: CodeAddress, time_ns: u64) -> FrameId {
        let (mut address, mut generation) = (at.lookup(), 0);
        if let Some(code) = interner.runtime_code(number) {
            match at {
                CodeAddress::Interpreted { method, bytecode } => {
                    address = code.ask_interpreted(method, bytecode, time_ns);
                }
                _ => code.ask(address, time_ns),
            }
            generation = code.generation_at(time_ns);
        }
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
