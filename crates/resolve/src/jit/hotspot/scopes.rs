//! Which methods the compiler inlined into a compiled method, by address: its debug information.
//!
//! A list says at which addresses (`PcDesc`) the virtual machine can inspect a frame, and where among packed numbers
//! the innermost method there is described: its caller's description, its index in a list of addresses, its bytecode.
//! An address between two of these uses the next one, as the virtual machine's own profilers do.
//!
//! Imports `memory`, `scope_table`.

use super::super::scope_table::{ScopeFunction, ScopeRow, ScopeTable};
use super::blocks::Block;
use super::ints::{PACKINGS, PackedInts, Packing};
use super::methods::Method;
use super::tables::{VmTypes, add};
use crate::memory::Memory;
use std::collections::HashMap;
use std::sync::Arc;

/// The largest lists that are read, in bytes. Compilers give up on methods of more than some hundred thousand bytes.
const PLACES: u64 = 1 << 20;
const PACKED: u64 = 4 << 20;
const METHODS: u64 = 1 << 19;

/// The size of a `PcDesc`, in bytes: the distance from the first instruction, where its scope is described, and two
/// more numbers.
const PLACE: usize = 16;
/// The distance in the entry that ends the list.
const LAST: i32 = i32::MAX;

/// How deep methods may be inlined into each other. HotSpot stops at 15, but goes deeper for method handles.
const DEPTH: usize = 200;

/// How many bytes of a description are read: three numbers.
const SCOPE: usize = 15;

/// How the beginning or end of a list is stored.
#[derive(Debug)]
enum ListEdge {
    /// A field holds its address.
    Address(u64),
    /// A field holds its distance from the block.
    Distance(u64),
    /// At the address in one field, plus the number of bytes in another.
    After(u64, u64),
    /// At the block's data, plus the number of bytes in a two-byte field (JDK 23 and 24; not tested).
    AfterData(u64, u64),
    /// The end of the block.
    BlockEnd,
}

impl ListEdge {
    fn find(&self, memory: &Memory, block: &Block) -> Option<u64> {
        let number = |field: u64| memory.half(add(block.start, field)?).map(u64::from);
        match self {
            ListEdge::Address(field) => memory.word(add(block.start, *field)?),
            ListEdge::Distance(field) => add(block.start, number(*field)?),
            ListEdge::After(base, distance) => add(memory.word(add(block.start, *base)?)?, number(*distance)?),
            ListEdge::AfterData(data, distance) => {
                let distance = u16::from_le_bytes(memory.bytes(add(block.start, *distance)?)?);
                add(add(block.start, number(*data)?)?, distance.into())
            }
            ListEdge::BlockEnd => Some(block.end),
        }
    }
}

/// Where a compiled method has its debug information: the beginning and end of each list.
#[derive(Debug)]
pub(super) struct ScopeFields {
    places: [ListEdge; 2],
    packed: [ListEdge; 2],
    methods: [ListEdge; 2],
}

impl ScopeFields {
    /// None where the fields have other names.
    pub(super) fn from_types(types: &VmTypes) -> Option<ScopeFields> {
        let own = |name: &str| types.field("nmethod", name);
        let blob = |name: &str| types.field("CodeBlob", name);
        let Some(fixed) = own("_immutable_data") else {
            // Until JDK 22, the lists follow each other.
            let packed = || {
                let address = types.field("CompiledMethod", "_scopes_data_begin").map(ListEdge::Address);
                address.or_else(|| own("_scopes_data_offset").map(ListEdge::Distance))
            };
            let places = own("_scopes_pcs_offset")?;
            return Some(ScopeFields {
                places: [ListEdge::Distance(places), ListEdge::Distance(own("_dependencies_offset")?)],
                packed: [packed()?, ListEdge::Distance(places)],
                methods: [ListEdge::Distance(own("_metadata_offset")?), packed()?],
            });
        };
        let packed = || Some(ListEdge::After(fixed, own("_scopes_data_offset")?));
        let methods = match own("_metadata_offset") {
            Some(field) => [ListEdge::AfterData(blob("_data_offset")?, field), ListEdge::BlockEnd],
            None => {
                let data = blob("_mutable_data")?;
                [ListEdge::After(data, blob("_relocation_size")?), ListEdge::After(data, blob("_mutable_data_size")?)]
            }
        };
        Some(ScopeFields {
            places: [ListEdge::After(fixed, own("_scopes_pcs_offset")?), packed()?],
            packed: [packed()?, ListEdge::After(fixed, own("_immutable_data_size")?)],
            methods,
        })
    }

    /// The scopes of a compiled method whose instructions begin at `code` and whose frame is complete at `whole`. None
    /// where they cannot be read or do not lead to the method itself.
    pub(super) fn read(
        &self,
        memory: &Memory,
        block: &Block,
        code: u64,
        whole: u64,
        describe: &mut dyn FnMut(u64) -> Option<Arc<Method>>,
    ) -> Option<ScopeTable> {
        let list = |[start, end]: &[ListEdge; 2], most: u64| {
            let start = start.find(memory, block)?;
            let size = end.find(memory, block)?.checked_sub(start).filter(|size| *size <= most)?;
            memory.some(start, usize::try_from(size).ok()?)
        };
        let places = list(&self.places, PLACES)?;
        let packed = list(&self.packed, PACKED)?;
        let methods = list(&self.methods, METHODS)?;
        let (root, _) = block.method?;
        let first = u32::try_from(code.checked_sub(block.start)?).ok()?;
        let whole = whole.checked_sub(block.start).and_then(|whole| u32::try_from(whole).ok());
        PACKINGS.iter().find_map(|packing| {
            let mut unpacked = Unpacked {
                packed: &packed,
                methods: &methods,
                packing: *packing,
                root,
                table: ScopeTable::default(),
                functions: HashMap::new(),
                scopes: HashMap::new(),
                describe: &mut *describe,
            };
            unpacked.fill(&places, first, whole)?;
            Some(unpacked.table)
        })
    }
}

/// The scopes that have been unpacked so far.
struct Unpacked<'a> {
    packed: &'a [u8],
    methods: &'a [u8],
    packing: Packing,
    /// The address of the compiled method's own description.
    root: u64,
    table: ScopeTable,
    /// Indexes in the table by the addresses of method descriptions; none where the description cannot be read.
    functions: HashMap<u64, (u32, Arc<Method>)>,
    /// Indexes in the table by where scopes are described, with their depth.
    scopes: HashMap<u32, (u32, usize)>,
    describe: &'a mut dyn FnMut(u64) -> Option<Arc<Method>>,
}

impl Unpacked<'_> {
    fn fill(&mut self, places: &[u8], first: u32, whole: Option<u32>) -> Option<()> {
        // Before its frame is complete, the code is at the beginning of the method itself.
        let begins = self.row(self.root, 0, None)?;
        let begins = self.table.add_scope(begins)?;
        self.table.add_place(first, Some(begins))?;
        let mut reached = whole.filter(|whole| *whole >= first).unwrap_or(first);
        let mut before = None;
        for place in places.chunks_exact(PLACE) {
            let distance = i32::from_le_bytes(*place.first_chunk()?);
            let described = u32::from_le_bytes(*place.get(4..)?.first_chunk()?);
            if before.is_some_and(|before| before >= distance) || distance < -1 {
                return None;
            }
            before = Some(distance);
            let scope = if described == 0 { None } else { Some(self.scope(described)?) };
            let end = if distance == LAST { u32::MAX } else { first.checked_add_signed(distance)? };
            if end > reached {
                self.table.add_place(reached, scope)?;
                reached = end;
            }
        }
        self.table.add_place(reached, None)
    }

    /// The index of the scope that is described at `described`; its callers are added to the table first.
    fn scope(&mut self, described: u32) -> Option<u32> {
        let (mut chain, mut next) = (Vec::new(), described);
        let (mut caller, mut depth) = loop {
            if let Some((known, depth)) = self.scopes.get(&next) {
                break (Some(*known), *depth);
            }
            let rest = self.packed.get(next as usize..)?;
            let mut numbers = PackedInts::new(rest.get(..SCOPE.min(rest.len()))?, self.packing);
            let (sender, method, bytecode) = (numbers.unsigned()?, numbers.unsigned()?, numbers.unsigned()?);
            let at = usize::try_from(method.checked_sub(1)?).ok()?.checked_mul(8)?;
            let method = u64::from_le_bytes(*self.methods.get(at..)?.first_chunk()?);
            chain.push((next, method, bytecode));
            if sender == 0 {
                break (None, 0);
            }
            // Callers must be described before their callees.
            if sender >= next || chain.len() >= DEPTH {
                return None;
            }
            next = sender;
        };
        if caller.is_none() && chain.last()?.1 != self.root {
            return None;
        }
        for (described, method, bytecode) in chain.into_iter().rev() {
            // The number is the bytecode plus 1; 0 is the entry into the method.
            let row = self.row(method, bytecode.saturating_sub(1), caller)?;
            let number = self.table.add_scope(row)?;
            depth += 1;
            if depth > DEPTH {
                return None;
            }
            self.scopes.insert(described, (number, depth));
            caller = Some(number);
        }
        caller
    }

    fn row(&mut self, method: u64, bytecode: u32, caller: Option<u32>) -> Option<ScopeRow> {
        if !self.functions.contains_key(&method) {
            let described = (self.describe)(method)?;
            let function = ScopeFunction { name: described.name.clone(), file: described.file.clone() };
            self.functions.insert(method, (self.table.add_function(function), described));
        }
        let (function, described) = self.functions.get(&method)?;
        described.has(bytecode).then(|| ScopeRow {
            function: *function,
            line: described.line(bytecode).unwrap_or(0),
            caller,
        })
    }
}
