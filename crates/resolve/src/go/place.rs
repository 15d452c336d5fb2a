//! The address that the offsets in a Go program's function table are relative to.

use object::{LittleEndian, elf, pod};

use crate::elf::ElfFile;
use crate::error::ModuleError;

/// The runtime's description of the program (`moduledata`) begins with the address of the table. These are indexes of
/// its words, eight bytes each: the first and the last address of functions, the address that the table is relative to,
/// and (since Go 1.20) where the data of functions are.
const FIRST: u64 = 20;
const LAST: u64 = 21;
const TEXT: u64 = 22;
const DATA: u64 = 40;

/// Sections in which the linker may put that description, depending on the version and kind of program.
const HOMES: [&str; 5] = [".go.module", ".noptrdata", ".data", ".data.rel.ro.go.module", ".data.rel.ro"];

/// Stated addresses that are added to the offsets in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableBases {
    /// For functions.
    pub(super) text: u64,
    /// For the data of functions, when it is known.
    pub(super) data: Option<u64>,
}

/// The bases of the table at `table`; `stated` is the base in its header. None when they cannot be determined.
pub(super) fn places(elf: &ElfFile, table: u64, stated: u64) -> Result<Option<TableBases>, ModuleError> {
    let described = match from_words(elf, table)? {
        Some(places) => Some(places),
        None => from_relocations(elf, table)?,
    };
    if described.is_some() {
        return Ok(described);
    }
    if stated != 0 {
        return Ok(is_code(elf, stated).then_some(TableBases { text: stated, data: None }));
    }
    // A program without C code has only Go functions in its text section.
    let only_go = elf.section(".eh_frame").is_none();
    Ok(elf.section(".text").filter(|_| only_go).map(|text| TableBases { text: text.address, data: None }))
}

fn is_code(elf: &ElfFile, address: u64) -> bool {
    elf.sections.iter().any(|section| {
        section.executable && address.checked_sub(section.address).is_some_and(|within| within < section.size)
    })
}

/// Whether the functions start at or after the table's base.
fn agrees(elf: &ElfFile, first: u64, last: u64, text: u64) -> bool {
    is_code(elf, text) && text <= first && first < last
}

/// The bases from the file's own words: programs with fixed addresses contain them there.
fn from_words(elf: &ElfFile, table: u64) -> Result<Option<TableBases>, ModuleError> {
    for home in HOMES {
        let Some(bytes) = elf.section_bytes(home)? else { continue };
        let word = |index: usize| {
            let word = bytes.get(8 * index..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*word))
        };
        let found = (0..bytes.len() / 8).filter(|&index| word(index) == Some(table)).find_map(|index| {
            let at = |distance: u64| word(index + distance as usize);
            let text = at(TEXT)?;
            agrees(elf, at(FIRST)?, at(LAST)?, text).then_some(TableBases { text, data: at(DATA) })
        });
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The bases from relocations: in position-independent programs, the loader writes the addresses as these describe.
fn from_relocations(elf: &ElfFile, table: u64) -> Result<Option<TableBases>, ModuleError> {
    let mut relocations = Vec::new();
    for section in elf.sections.iter().filter(|section| section.kind == elf::SHT_RELA) {
        let bytes = elf.contents(section)?;
        let count = bytes.len() / size_of::<elf::Rela64<LittleEndian>>();
        let Ok((entries, _)) = pod::slice_from_bytes::<elf::Rela64<LittleEndian>>(&bytes, count) else { continue };
        relocations.extend(
            entries.iter().map(|entry| (entry.r_offset.get(LittleEndian), entry.r_addend.get(LittleEndian) as u64)),
        );
    }
    relocations.sort_unstable();
    let at = |address: u64| {
        let index = relocations.binary_search_by_key(&address, |&(offset, _)| offset).ok()?;
        Some(relocations[index].1)
    };
    let starts = relocations.iter().filter(|&&(_, value)| value == table).map(|&(offset, _)| offset);
    Ok(starts.into_iter().find_map(|start| {
        let field = |index: u64| at(start.checked_add(8 * index)?);
        let text = field(TEXT)?;
        agrees(elf, field(FIRST)?, field(LAST)?, text).then_some(TableBases { text, data: field(DATA) })
    }))
}
