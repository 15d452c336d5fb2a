//! The variables of a module: which one covers an address.

use std::sync::Arc;

use object::{LittleEndian, elf, pod};

use crate::demangle::{MANGLED_LIMIT, demangle};
use crate::error::ModuleError;
use crate::module::Module;
use crate::symbols::symbol_table::preference;

/// How many variables that start before an address are tried: they hardly ever overlap.
const NESTING_LIMIT: usize = 16;

/// A variable at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name, demangled.
    pub name: String,
    /// Distance of the address from its start, bytes.
    pub offset: u64,
    /// Its size, bytes.
    pub size: u64,
    /// The member or element there, as the source would write it after the variable's name; only with debug
    /// information.
    pub member: Option<String>,
}

/// The variables of a module with static storage, from its symbol tables.
#[derive(Debug, Default)]
pub struct Objects {
    /// Sorted by start: stated address, size, name.
    symbols: Vec<(u64, u64, String)>,
}

impl Objects {
    /// Reads the symbol tables of a module's file.
    ///
    /// # Errors
    /// A table cannot be read, or claims to be larger than the file.
    pub fn read(module: &Module) -> Result<Self, ModuleError> {
        type Entry = elf::Sym64<LittleEndian>;
        let file = &module.elf;
        let mut symbols = Vec::new();
        for section in &file.sections {
            if section.kind != elf::SHT_SYMTAB && section.kind != elf::SHT_DYNSYM {
                continue;
            }
            let Some(strings) = file.sections.get(section.link) else { continue };
            let (bytes, strings): (Arc<[u8]>, Arc<[u8]>) = (file.contents(section)?, file.contents(strings)?);
            let count = bytes.len() / size_of::<Entry>();
            let Ok((entries, _)) = pod::slice_from_bytes::<Entry>(&bytes, count) else { continue };
            for entry in entries {
                let size = entry.st_size.get(LittleEndian);
                let defined = entry.st_shndx.get(LittleEndian).0 != 0;
                if entry.st_type() == elf::STT_OBJECT && defined && size > 0 {
                    let name = name_at(&strings, entry.st_name.get(LittleEndian));
                    symbols.push((entry.st_value.get(LittleEndian), size, name));
                }
            }
        }
        symbols.retain(|(.., name)| !name.is_empty());
        symbols.sort();
        symbols.dedup();
        Ok(Self { symbols })
    }

    /// The variable that covers a stated address; if it has several names, the preferred one.
    pub fn find(&self, stated_address: u64) -> Option<Object> {
        let after = self.symbols.partition_point(|(start, ..)| *start <= stated_address);
        let covering = self.symbols[..after].iter().rev().take(NESTING_LIMIT);
        let covering = covering.filter(|(start, size, _)| stated_address - start < *size);
        let found = covering.reduce(|one, other| {
            let key = |symbol: &'_ (u64, u64, String)| (symbol.1, symbol.0);
            match key(one).cmp(&key(other)) {
                std::cmp::Ordering::Equal if preference(&other.2) < preference(&one.2) => other,
                std::cmp::Ordering::Greater => other,
                _ => one,
            }
        });
        let (start, size, name) = found?;
        Some(Object { name: demangle(name), offset: stated_address - start, size: *size, member: None })
    }
}

fn name_at(strings: &[u8], offset: u32) -> String {
    let tail = strings.get(offset as usize..).unwrap_or_default();
    let tail = &tail[..tail.len().min(MANGLED_LIMIT + 1)];
    let end = tail.iter().position(|&byte| byte == 0 || byte == b'@').unwrap_or(tail.len());
    String::from_utf8_lossy(&tail[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_variable_with_the_plainest_name_is_found() {
        let symbol = |start, size, name: &str| (start, size, name.to_owned());
        let mut symbols = vec![symbol(100, 64, "__table"), symbol(100, 64, "table"), symbol(108, 8, "inside")];
        symbols.sort();
        let objects = Objects { symbols };
        let name = |address| objects.find(address).map(|object| (object.name, object.offset));
        assert_eq!(name(99), None);
        assert_eq!(name(100), Some(("table".to_owned(), 0)));
        assert_eq!(name(110), Some(("inside".to_owned(), 2)));
        assert_eq!(name(163), Some(("table".to_owned(), 63)));
        assert_eq!(name(164), None);
    }
}
