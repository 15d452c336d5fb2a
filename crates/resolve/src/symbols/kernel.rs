//! Names of kernel functions, from `/proc/kallsyms`.

use std::path::Path;

use super::symbol_table::preference;
use crate::error::SymbolProblem;
use crate::maps::hexadecimal;

/// The largest distance from the start of a kernel function, in bytes. The table has no sizes, and an address far
/// behind the last function before it belongs to code that the table does not list. The largest real functions (tables
/// of generated cipher code, interpreters) stay below half of it.
const FUNCTION_LIMIT: u64 = 128 << 10;

/// The kernel's functions by address.
#[derive(Debug, Default)]
pub(crate) struct KernelSymbols {
    /// Sorted by start, one for each address.
    functions: Vec<(u64, u32)>,
    /// The names, each ended by a newline.
    names: String,
}

impl KernelSymbols {
    pub(crate) fn read(path: &Path) -> Result<Self, SymbolProblem> {
        let unreadable = |source| SymbolProblem::KernelUnreadable { path: path.to_path_buf(), source };
        let text = std::fs::read(path).map_err(unreadable)?;
        let symbols = Self::parse(&String::from_utf8_lossy(&text));
        if symbols.functions.is_empty() { Err(SymbolProblem::KernelHidden) } else { Ok(symbols) }
    }

    /// Lines `address type name [module]`; functions have the types t and w. Hidden addresses are all zero.
    fn parse(text: &str) -> Self {
        let mut functions: Vec<(u64, &str)> = text
            .lines()
            .filter_map(|line| {
                let mut fields = line.split_ascii_whitespace();
                let address = hexadecimal(fields.next()?.as_bytes()).filter(|&address| address != 0)?;
                let function = matches!(fields.next()?, "t" | "T" | "w" | "W");
                function.then_some(())?;
                Some((address, fields.next()?))
            })
            .collect();
        functions.sort_unstable_by_key(|&(address, name)| (address, preference(name)));
        functions.dedup_by_key(|&mut (address, _)| address);
        let mut symbols = Self::default();
        for (address, name) in functions {
            let Ok(at) = u32::try_from(symbols.names.len()) else { break };
            symbols.names.push_str(name);
            symbols.names.push('\n');
            symbols.functions.push((address, at));
        }
        symbols
    }

    /// The start and the name of the function that contains an address.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, &str)> {
        let after = self.functions.partition_point(|&(start, _)| start <= address);
        let &(start, name) = self.functions.get(after.checked_sub(1)?)?;
        if address - start >= FUNCTION_LIMIT {
            return None;
        }
        Some((start, self.names.get(name as usize..)?.lines().next()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_address_in_them() {
        let symbols = KernelSymbols::parse(
            "ffffffff81000000 T _text\nffffffff81000100 t do_futex\nffffffff81000100 T __do_futex\n\
             ffffffff81000200 D some_data\nnonsense\nffffffffc0000000 t helper\t[module]\n",
        );
        assert_eq!(symbols.find(0xffff_ffff_8100_01ff), Some((0xffff_ffff_8100_0100, "do_futex")));
        assert_eq!(symbols.find(0xffff_ffff_c000_0010), Some((0xffff_ffff_c000_0000, "helper")));
        assert_eq!(symbols.find(0xffff_ffff_8200_0000), None);
        assert_eq!(symbols.find(0x1000), None);
    }

    #[test]
    fn hidden_addresses_are_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0000000000000000 T _text\n0000000000000000 t do_futex\n").unwrap();
        assert!(matches!(KernelSymbols::read(file.path()), Err(SymbolProblem::KernelHidden)));
        let missing = KernelSymbols::read(Path::new("/nowhere/kallsyms"));
        assert!(matches!(missing, Err(SymbolProblem::KernelUnreadable { .. })));
    }
}
