//! The symbol tables of a module: which function covers an address, and which of its names is used.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use object::{LittleEndian, elf, pod};

use crate::demangle::MANGLED_LIMIT;
use crate::elf::{ElfFile, Section};
use crate::error::ModuleError;

/// How many symbols that start before an address are tried. Real functions nest only a few levels; a hostile table may
/// have one huge symbol with a million small ones in it.
const NESTING_LIMIT: usize = 1000;

/// The functions of a module from `.symtab` and `.dynsym` of its file and of its separate debug file.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    /// Sorted by start.
    symbols: Vec<Symbol>,
    /// For each symbol, the largest end of itself and all symbols before it.
    reach: Vec<u64>,
    strings: Vec<Arc<[u8]>>,
}

#[derive(Debug, Clone, Copy)]
struct Symbol {
    /// Stated address.
    start: u64,
    /// First address after it; equal to `start` while it is not known.
    end: u64,
    /// Where its section ends.
    limit: u64,
    strings: u32,
    name: u32,
}

/// A function found by address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SymbolMatch<'a> {
    /// Its stated start.
    pub(crate) start: u64,
    /// The preferred one of its names, as written in the table (not demangled).
    pub(crate) name: Cow<'a, str>,
}

impl SymbolTable {
    /// Adds the tables of one file. Call [`SymbolTable::finish`] after the last.
    pub(crate) fn add(&mut self, file: &ElfFile) -> Result<(), ModuleError> {
        for section in &file.sections {
            if section.kind == elf::SHT_SYMTAB || section.kind == elf::SHT_DYNSYM {
                self.add_section(file, section)?;
            }
        }
        Ok(())
    }

    fn add_section(&mut self, file: &ElfFile, section: &Section) -> Result<(), ModuleError> {
        type Entry = elf::Sym64<LittleEndian>;
        let Some(strings) = file.sections.get(section.link) else { return Ok(()) };
        let bytes = file.contents(section)?;
        let count = bytes.len() / size_of::<Entry>();
        let Ok((entries, _)) = pod::slice_from_bytes::<Entry>(&bytes, count) else { return Ok(()) };
        let table = self.strings.len() as u32;
        let dynamic = section.kind == elf::SHT_DYNSYM;
        let strings = file.contents(strings)?;
        let endian = LittleEndian;
        for entry in entries {
            let Some(home) = file.sections.get(usize::from(entry.st_shndx.get(endian).0)) else { continue };
            let name = entry.st_name.get(endian);
            let size = entry.st_size.get(endian);
            // Functions in hand-written assembly may have no type. Without a type, only global symbols count as functions.
            let function = match entry.st_type() {
                elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
                elf::STT_NOTYPE => size > 0 || entry.st_bind() != elf::STB_LOCAL,
                _ => false,
            };
            if !home.executable || !function || is_label(bytes_at(&strings, name)) {
                continue;
            }
            let start = entry.st_value.get(endian);
            // A symbol without a size: as `.symtab` is complete, it extends to the next symbol. `.dynsym` has only a
            // few symbols, which say nothing about the code between them.
            let end = start.saturating_add(if dynamic { size.max(1) } else { size });
            let limit = home.address.saturating_add(home.size);
            self.symbols.push(Symbol { start, end, limit, strings: table, name });
        }
        self.strings.push(strings);
        Ok(())
    }

    /// Adds functions that no table of symbols has, with where they begin and end.
    pub(crate) fn add_named(&mut self, functions: impl IntoIterator<Item = (Range<u64>, String)>) {
        let table = self.strings.len() as u32;
        let mut strings = Vec::new();
        for (range, name) in functions {
            let Ok(at) = u32::try_from(strings.len()) else { break };
            strings.extend(name.bytes().chain([0]));
            self.symbols.push(Symbol {
                start: range.start,
                end: range.end,
                limit: range.end,
                strings: table,
                name: at,
            });
        }
        self.strings.push(strings.into());
    }

    /// Makes the table ready for lookups.
    pub(crate) fn finish(&mut self) {
        self.symbols.sort_unstable_by_key(|symbol| (symbol.start, symbol.end));
        let mut next = u64::MAX;
        for index in (0..self.symbols.len()).rev() {
            let above = self.symbols.get(index + 1).map_or(u64::MAX, |symbol| symbol.start);
            let symbol = &mut self.symbols[index];
            if above != symbol.start {
                next = above;
            }
            if symbol.end == symbol.start {
                symbol.end = next.min(symbol.limit).max(symbol.start);
            }
        }
        let mut reach = 0;
        self.reach.clear();
        self.reach.extend(self.symbols.iter().map(|symbol| {
            reach = symbol.end.max(reach);
            reach
        }));
    }

    /// The function whose bytes include the stated address. None when the address is beyond the end of all symbols
    /// before it. That is common in stripped libraries, whose local functions have no symbols.
    pub(crate) fn find(&self, address: u64) -> Option<SymbolMatch<'_>> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let inner = (0..after)
            .rev()
            .take(NESTING_LIMIT)
            .take_while(|&index| self.reach[index] > address)
            .find(|&index| self.symbols[index].end > address)?;
        let start = self.symbols[inner].start;
        let name = self.symbols[..=inner]
            .iter()
            .rev()
            .take_while(|symbol| symbol.start == start)
            .filter(|symbol| symbol.end > address)
            .map(|symbol| self.name(symbol))
            .filter(|name| !name.is_empty())
            .reduce(|one, other| if preference(&one) <= preference(&other) { one } else { other })?;
        Some(SymbolMatch { start, name })
    }

    fn name(&self, symbol: &Symbol) -> Cow<'_, str> {
        let name = self.strings.get(symbol.strings as usize).map_or(&[][..], |strings| bytes_at(strings, symbol.name));
        // The tables of unstripped libraries have versions in names (`pthread_create@GLIBC_2.2.5`).
        let end = name.iter().position(|&byte| byte == b'@').filter(|&at| at > 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..end])
    }
}

/// Chooses between aliases: of several names for one function, the one with the fewest leading underscores is
/// preferred, then the shortest, then the alphabetically first. C libraries define `random` as a public alias of
/// `__random`, and `malloc` of `__libc_malloc`; programmers know the public name.
pub(crate) fn preference(name: &str) -> (usize, usize, &str) {
    let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
    (underscores, name.len(), name)
}

/// Names that mark places in code and not functions: local labels, and the marks between code and data on Arm and
/// RISC-V.
fn is_label(name: &[u8]) -> bool {
    name.is_empty() || name.starts_with(b".L") || name.starts_with(b"$")
}

/// The zero-terminated string at `offset`, or as much of it as can become a name.
fn bytes_at(strings: &[u8], offset: u32) -> &[u8] {
    let tail = strings.get(offset as usize..).unwrap_or_default();
    let tail = &tail[..tail.len().min(MANGLED_LIMIT + 1)];
    let end = tail.iter().position(|&byte| byte == 0).unwrap_or(tail.len());
    &tail[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols as (start, size, name), all in a section that ends at 1000.
    fn table(symbols: &[(u64, u64, &str)]) -> SymbolTable {
        let mut table = SymbolTable::default();
        let mut strings = Vec::new();
        for &(start, size, name) in symbols {
            let name_at = strings.len() as u32;
            strings.extend(name.bytes().chain([0]));
            table.symbols.push(Symbol { start, end: start + size, limit: 1000, strings: 0, name: name_at });
        }
        table.strings.push(strings.into());
        table.finish();
        table
    }

    fn name(table: &SymbolTable, address: u64) -> Option<String> {
        table.find(address).map(|found| found.name.into_owned())
    }

    #[test]
    fn an_address_beyond_a_symbols_size_has_no_name() {
        let table = table(&[(100, 10, "first"), (200, 10, "second")]);
        assert_eq!(name(&table, 99), None);
        assert_eq!(name(&table, 109).as_deref(), Some("first"));
        assert_eq!(name(&table, 110), None);
        assert_eq!(name(&table, 205).as_deref(), Some("second"));
        assert_eq!(name(&table, 5000), None);
    }

    #[test]
    fn aliases_give_the_plain_public_name() {
        let all = table(&[(1, 9, "__random"), (1, 9, "random"), (1, 9, "_random"), (1, 9, "__libc_random")]);
        assert_eq!(name(&all, 3).as_deref(), Some("random"));
        let all = table(&[(1, 9, "strtoll"), (1, 9, "strtoq"), (1, 9, "strtol")]);
        assert_eq!(name(&all, 3).as_deref(), Some("strtol"));
        let all = table(&[(1, 9, "__pthread_create_2_1"), (1, 9, "pthread_create@@GLIBC_2.34")]);
        assert_eq!(name(&all, 3).as_deref(), Some("pthread_create"));
    }

    #[test]
    fn the_inner_of_nested_symbols_wins_and_the_outer_continues_after_it() {
        let table = table(&[(100, 100, "outer"), (120, 10, "inner")]);
        assert_eq!(name(&table, 110).as_deref(), Some("outer"));
        assert_eq!(name(&table, 125).as_deref(), Some("inner"));
        assert_eq!(name(&table, 150).as_deref(), Some("outer"));
        assert_eq!(table.find(150).unwrap().start, 100);
    }

    #[test]
    fn a_symbol_without_size_reaches_to_the_next_or_the_sections_end() {
        let table = table(&[(100, 0, "start"), (100, 0, "alias_start"), (150, 10, "next"), (900, 0, "last")]);
        assert_eq!(name(&table, 149).as_deref(), Some("start"));
        assert_eq!(name(&table, 170), None);
        assert_eq!(name(&table, 999).as_deref(), Some("last"));
        assert_eq!(name(&table, 1000), None);
    }

    #[test]
    fn a_hostile_table_does_not_cost_time() {
        let mut symbols = vec![(0, 1 << 40, "huge")];
        symbols.extend((1..50_000).map(|at| (at, 1, "tiny")));
        let table = table(&symbols);
        for address in 60_000..62_000 {
            assert_eq!(table.find(address), None); // found only within the limit of nesting
        }
    }
}
