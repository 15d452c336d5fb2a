//! HotSpot's tables of its own types and fields: the name of each entry, and where a field lies.
//!
//! Imports `memory`.

use crate::memory::Memory;
use std::collections::HashMap;

/// How many entries of a table are read. HotSpot has some 2,500 fields.
const ENTRIES: usize = 8192;

/// Sizes of table entries, in bytes: `VMStructEntry` and `VMTypeEntry` with 64-bit pointers.
pub(super) const FIELD: usize = 48;
pub(super) const TYPE: usize = 40;

/// Names of types and fields lie close together in the library; a range of this many bytes contains them all.
const NAMES: u64 = 16 << 20;

/// The longest name of a type or field, bytes.
const NAME: usize = 96;

/// The addresses of a virtual machine's tables.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// The process.
    pub pid: u32,
    /// Address of `gHotSpotVMStructs` in its memory.
    pub fields: u64,
    /// Address of `gHotSpotVMTypes`.
    pub types: u64,
}

/// The contents of the tables.
#[derive(Debug)]
pub(super) struct VmTypes {
    fields: HashMap<(String, String), u64>,
    sizes: HashMap<String, u64>,
}

impl VmTypes {
    pub(super) fn read(memory: &Memory, tables: Tables) -> Option<VmTypes> {
        let rows = table(memory, memory.word(tables.fields)?, FIELD)?;
        let names =
            NameMemory::from_pointers(memory, rows.chunks_exact(FIELD).flat_map(|row| [long(row, 0), long(row, 8)]))?;
        let mut fields: HashMap<(String, String), u64> = HashMap::new();
        for row in rows.chunks_exact(FIELD) {
            let place = if long(row, 24) as u32 == 0 { long(row, 32) } else { long(row, 40) };
            if let (Some(of), Some(field)) = (names.at(long(row, 0)), names.at(long(row, 8))) {
                fields.insert((of, field), place);
            }
        }
        let rows = table(memory, memory.word(tables.types)?, TYPE)?;
        let names = NameMemory::from_pointers(memory, rows.chunks_exact(TYPE).map(|row| long(row, 0)))?;
        let sizes = rows.chunks_exact(TYPE).filter_map(|row| Some((names.at(long(row, 0))?, long(row, 32)))).collect();
        Some(VmTypes { fields, sizes })
    }

    /// Where a field lies: its offset in its type in bytes, or, for a static field, its address.
    pub(super) fn field(&self, of: &str, name: &str) -> Option<u64> {
        self.fields.get(&(of.to_owned(), name.to_owned())).copied()
    }

    /// The size of a type, bytes.
    pub(super) fn size(&self, of: &str) -> Option<u64> {
        self.sizes.get(of).copied()
    }
}

pub(super) fn add(address: u64, offset: u64) -> Option<u64> {
    address.checked_add(offset)
}

/// The zero-terminated text at an address, as far as it is printable.
pub(super) fn text_at(memory: &Memory, address: u64) -> Option<String> {
    Some(text(&memory.upto(address, NAME)?))
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().take_while(|b| b.is_ascii_graphic() || **b == b' ').map(|b| char::from(*b)).collect()
}

/// A 64-bit number in a row of a table.
fn long(row: &[u8], at: usize) -> u64 {
    row.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The rows of a table up to the one whose first pointer is null.
fn table(memory: &Memory, address: u64, row: usize) -> Option<Vec<u8>> {
    let mut rows = Vec::new();
    while rows.len() < ENTRIES * row {
        let part = memory.upto(add(address, rows.len() as u64)?, 64 * row)?;
        let whole = part.get(..part.len() - part.len() % row)?;
        let end = whole.chunks_exact(row).position(|r| long(r, 0) == 0);
        rows.extend_from_slice(whole.get(..end.map_or(whole.len(), |end| end * row))?);
        if end.is_some() || whole.is_empty() {
            break;
        }
    }
    (!rows.is_empty()).then_some(rows)
}

/// A part of the memory that contains names.
struct NameMemory {
    start: u64,
    bytes: Vec<u8>,
}

impl NameMemory {
    /// Reads the memory around pointers to names. A null pointer has no name.
    fn from_pointers(memory: &Memory, pointers: impl Iterator<Item = u64> + Clone) -> Option<NameMemory> {
        let start = pointers.clone().filter(|p| *p != 0).min()?;
        let end = pointers.max()?.checked_add(NAME as u64)?;
        let size = end.checked_sub(start).filter(|size| *size <= NAMES)?;
        Some(NameMemory { start, bytes: memory.upto(start, usize::try_from(size).ok()?)? })
    }

    fn at(&self, pointer: u64) -> Option<String> {
        let rest = self.bytes.get(usize::try_from(pointer.checked_sub(self.start)?).ok()?..)?;
        let name = text(rest.get(..NAME.min(rest.len()))?);
        (!name.is_empty()).then_some(name)
    }
}
