//! The virtual machine of a process: from an address to a piece of code with its methods.
//!
//! Imports `code_map`, `memory`.

use super::super::code_map::{JitFunction, Line};
use super::blocks::{Block, BlockFields, INTERPRETER};
use super::methods::{Method, MethodFields};
use super::scopes::ScopeFields;
use super::tables::{Tables, VmTypes, add};
use crate::memory::Memory;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Added to HotSpot's names of code that belongs to no method.
const STUB: &str = " (HotSpot)";

/// Where a frame of the interpreter has the address of its method, that of the bytecode at which it made a call, and the
/// stack pointer of its caller, in bytes below the frame pointer (frame_x86.hpp, JDK 9 to 25).
pub(crate) const INTERPRETED: u64 = 24;
pub(crate) const BYTECODE: u64 = 64;
pub(crate) const CALLER: u64 = 8;

/// How many method descriptions are remembered. A description may be freed with its class.
const METHODS: usize = 1 << 14;

/// A piece of code, or the place of an interpreted method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeBlob {
    pub(super) start: u64,
    pub(super) end: u64,
    /// `package.Class.method`, `Interpreter`, or HotSpot's name for other code, followed by ` (HotSpot)`.
    pub(super) function: JitFunction,
    pub(super) identity: Identity,
}

/// Distinguishes a piece of code from a later one at the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    Block(Box<BlockIdentity>),
    /// A method that is described at an address, and the bytecode in it.
    Interpreted {
        method: u64,
        bytecode: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockIdentity(Block);

/// The virtual machine of a process.
#[derive(Debug)]
pub(crate) struct HotSpot {
    tables: Tables,
    layout: Option<Option<VmLayout>>,
    /// Where the interpreter's code lies, once any of it was met.
    interpreter: Range<u64>,
    methods: HashMap<u64, Arc<Method>>,
}

impl HotSpot {
    pub(crate) fn new(tables: Tables) -> HotSpot {
        HotSpot { tables, layout: None, interpreter: 0..0, methods: HashMap::new() }
    }

    /// True for an address in the interpreter's code, once that code has been met.
    pub(crate) fn interprets(&self, address: u64) -> bool {
        self.interpreter.contains(&address)
    }

    /// How many bytes the return address is above the stack pointer, at an address of a compiled method. `innermost`:
    /// the code there is running and may not have made its frame yet. None for all other code.
    pub(crate) fn return_address(&mut self, address: u64, innermost: bool) -> Option<u64> {
        let memory = Memory::of_process(self.tables.pid)?;
        let blocks = &layout(&mut self.layout, &memory, self.tables)?.blocks;
        let block = blocks.find(&memory, address)?;
        if block.kind == INTERPRETER {
            self.interpreter = block.start..block.end;
        }
        let (whole, distance) = blocks.frame(&memory, &block)?;
        (!innermost || address >= whole).then_some(distance)
    }

    /// The code at an address; none when the process has ended.
    pub(super) fn find(&mut self, address: u64) -> Option<CodeBlob> {
        let memory = Memory::of_process(self.tables.pid)?;
        layout(&mut self.layout, &memory, self.tables)?.piece(&memory, address, &mut self.methods)
    }

    /// The place of an interpreted method: at its bytecode, if that is in the method and has a line; otherwise at its
    /// description.
    pub(super) fn interpreted(&mut self, method: u64, bytecode: u64) -> Option<CodeBlob> {
        let memory = Memory::of_process(self.tables.pid)?;
        layout(&mut self.layout, &memory, self.tables)?.interpreted(&memory, method, bytecode)
    }

    /// Whether a piece of code is still the same. None where that cannot be read.
    pub(super) fn is_still(&mut self, start: u64, function: &JitFunction, identity: &Identity) -> Option<bool> {
        let memory = Memory::of_process(self.tables.pid)?;
        let layout = layout(&mut self.layout, &memory, self.tables)?;
        memory.word(self.tables.fields)?;
        Some(match identity {
            Identity::Block(known) => layout.blocks.block(&memory, start).is_some_and(|block| block == known.0),
            Identity::Interpreted { method, bytecode } => {
                layout.interpreted(&memory, *method, *bytecode).is_some_and(|found| found.function == *function)
            }
        })
    }

    /// Drops the remembered descriptions of methods, which may have changed.
    pub(super) fn forget_methods(&mut self) {
        self.methods.clear();
    }
}

/// The layout of the virtual machine's data, read once.
fn layout<'a>(known: &'a mut Option<Option<VmLayout>>, memory: &Memory, tables: Tables) -> Option<&'a VmLayout> {
    known.get_or_insert_with(|| VmLayout::read(memory, tables)).as_ref()
}

/// The fields that lead from an address to names and lines.
#[derive(Debug)]
pub(super) struct VmLayout {
    pub(super) blocks: BlockFields,
    methods: MethodFields,
    scopes: Option<ScopeFields>,
}

impl VmLayout {
    pub(super) fn read(memory: &Memory, tables: Tables) -> Option<VmLayout> {
        let types = VmTypes::read(memory, tables)?;
        Some(VmLayout {
            blocks: BlockFields::from_types(&types, memory)?,
            methods: MethodFields::from_types(&types)?,
            scopes: ScopeFields::from_types(&types),
        })
    }

    pub(super) fn piece(
        &self,
        memory: &Memory,
        address: u64,
        methods: &mut HashMap<u64, Arc<Method>>,
    ) -> Option<CodeBlob> {
        let block = self.blocks.find(memory, address)?;
        let mut function = match block.method {
            Some((method, _)) => {
                let mut describe = |method| self.describe(memory, method, methods);
                let name = describe(method)?.name.to_string();
                let scopes = self.blocks.code(memory, block.start).zip(self.blocks.whole(memory, block.start));
                let scopes = scopes
                    .zip(self.scopes.as_ref())
                    .and_then(|((code, whole), scopes)| scopes.read(memory, &block, code, whole, &mut describe));
                JitFunction { scopes, ..JitFunction::named(name) }
            }
            None if block.kind == INTERPRETER => JitFunction::named(block.kind.clone()),
            None => JitFunction::named(block.kind.clone() + STUB),
        };
        // The block may have been given to another method while it was being read.
        if function.scopes.is_some() && self.blocks.block(memory, block.start).as_ref() != Some(&block) {
            function.scopes = None;
        }
        let (start, end) = (block.start, block.end);
        Some(CodeBlob { start, end, function, identity: Identity::Block(Box::new(BlockIdentity(block))) })
    }

    fn describe(&self, memory: &Memory, method: u64, known: &mut HashMap<u64, Arc<Method>>) -> Option<Arc<Method>> {
        if let Some(method) = known.get(&method) {
            return Some(method.clone());
        }
        let found = Arc::new(self.methods.read(memory, method)?);
        if known.len() >= METHODS {
            known.clear();
        }
        known.insert(method, found.clone());
        Some(found)
    }

    pub(super) fn interpreted(&self, memory: &Memory, method: u64, bytecode: u64) -> Option<CodeBlob> {
        let described = self.methods.read(memory, method)?;
        let line = described.bytecode(bytecode).and_then(|at| described.line(at)).zip(described.file.as_ref());
        let mut function = JitFunction::named(described.name.to_string());
        let start = if line.is_some() { bytecode } else { method };
        function.lines.extend(line.map(|(line, file)| Line { distance: 0, file: file.clone(), line }));
        Some(CodeBlob { start, end: add(start, 1)?, function, identity: Identity::Interpreted { method, bytecode } })
    }
}
