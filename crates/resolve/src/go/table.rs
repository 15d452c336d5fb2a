//! Lookups in the table. No number in it is trusted: every access is checked, and an entry that leads outside the table
//! is not found.

use std::sync::Arc;

use super::place::{TableBases, places};
use crate::demangle::{MANGLED_LIMIT, bounded, with_dots};
use crate::elf::ElfFile;
use crate::error::ModuleError;
use crate::site::Site;

/// First word of the table: Go 1.18 and 1.19; in Go 1.20 and newer, functions also have the line at which they start.
const MAGIC_118: u32 = 0xffff_fff0;
const MAGIC_120: u32 = 0xffff_fff1;

/// Flags of a function: it is outermost on every stack; it switches to another stack.
const TOP_FRAME: u8 = 1;
const SWITCHES: u8 = 2;

/// Indexes of the lists about inlining: which inlined call is at an instruction, and the calls themselves.
const INLINED_VALUES: usize = 2;
const INLINED_CALLS: usize = 3;

/// The most inlined functions at one address. Compilers inline a few dozen levels deep.
const INLINED: usize = 64;

/// How many steps a table of values may take to reach an instruction. The largest functions have some thousand.
const STEPS: usize = 1 << 16;

/// The function table of a Go program.
#[derive(Debug)]
pub(crate) struct GoTable {
    bytes: Arc<[u8]>,
    places: TableBases,
    functions: usize,
    /// Starts of the parts, in bytes: names, compilation units, files, values by instruction, functions.
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    table: usize,
    /// The smallest distance between instructions, in bytes.
    quantum: u64,
    has_start_line: bool,
}

/// How a stack frame of Go is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoFrame {
    /// The outermost one.
    Outermost,
    /// The function continues on another stack.
    Switches,
    /// The return address is this many bytes above the stack pointer.
    Size(u64),
}

/// A function of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function {
    /// Its stated start.
    pub(crate) start: u64,
    /// Offset of its description in the table, in bytes.
    at: usize,
}

impl GoTable {
    /// The table of a program; none when it is not a Go program or its version is unknown.
    pub(crate) fn read(elf: &ElfFile) -> Result<Option<Self>, ModuleError> {
        let sections = [".gopclntab", ".data.rel.ro.gopclntab"];
        let Some(section) = sections.iter().find_map(|name| elf.section(name)) else { return Ok(None) };
        let bytes = elf.contents(section)?;
        let Some(header) = Self::parse(bytes) else { return Ok(None) };
        let places = places(elf, section.address, header.places.text)?;
        Ok(places.map(|places| Self { places, ..header }))
    }

    /// The header: the magic word, two zeros, quantum, size of a pointer, then words of that size: number of functions,
    /// number of files, start of the text (0 when it is not known at link time), and the offsets of the parts.
    fn parse(bytes: Arc<[u8]>) -> Option<Self> {
        let magic = word(&bytes, 0)?;
        let &[zero, pad, quantum, pointer] = bytes.get(4..8)?.first_chunk()?;
        let valid = matches!(magic, MAGIC_118 | MAGIC_120) && zero == 0 && pad == 0 && pointer == 8;
        if !valid || !matches!(quantum, 1 | 2 | 4) {
            return None;
        }
        let field = |index: usize| long(&bytes, 8 + 8 * index);
        let offset = |index: usize| usize::try_from(field(index)?).ok().filter(|&offset| offset <= bytes.len());
        let (names, units, files, values, table) = (offset(3)?, offset(4)?, offset(5)?, offset(6)?, offset(7)?);
        let functions = usize::try_from(field(0)?).ok()?;
        // Each function has two words, and one more follows for the end of the last function.
        let room = functions.checked_mul(8)?.checked_add(4)?;
        (table.checked_add(room)? <= bytes.len()).then_some(())?;
        let text = field(2)?;
        Some(Self {
            places: TableBases { text, data: None },
            functions,
            names,
            units,
            files,
            values,
            table,
            quantum: quantum.into(),
            has_start_line: magic == MAGIC_120,
            bytes,
        })
    }

    /// The function that contains a stated address.
    pub(crate) fn find(&self, address: u64) -> Option<Function> {
        let offset = u32::try_from(address.checked_sub(self.places.text)?).ok()?;
        let start = |index: usize| word(&self.bytes, self.table + 8 * index);
        let (mut low, mut high) = (0, self.functions);
        while low < high {
            let middle = low + (high - low) / 2;
            if start(middle)? <= offset { low = middle + 1 } else { high = middle }
        }
        let index = low.checked_sub(1)?;
        // The entry after the last function has its end in place of a start.
        (offset < start(index + 1)?).then_some(())?;
        let at = self.table.checked_add(word(&self.bytes, self.table + 8 * index + 4)? as usize)?;
        let start = start(index)?;
        // Gaps between functions, which cgo's C code leaves, belong to a function without a name.
        (word(&self.bytes, at)? == start).then(|| Function { start: self.places.text + u64::from(start), at })
    }

    /// A word of a function's description.
    fn part(&self, function: Function, index: usize) -> Option<u32> {
        word(&self.bytes, function.at.checked_add(4 * index)?)
    }

    /// The name of a function, including the package's path.
    pub(crate) fn name(&self, function: Function) -> Option<String> {
        let at = self.names.checked_add(self.part(function, 1)? as usize)?;
        text(&self.bytes, at).filter(|name| !name.is_empty())
    }

    /// The stated start and end (exclusive) of a function's code, by the function's full name.
    pub(crate) fn named(&self, name: &str) -> Option<(u64, u64)> {
        let mut wanted = name.as_bytes().to_vec();
        wanted.push(0);
        let is_it = |index: usize| {
            let at = self.table.checked_add(word(&self.bytes, self.table + 8 * index + 4)? as usize)?;
            let name = self.names.checked_add(word(&self.bytes, at.checked_add(4)?)? as usize)?;
            self.bytes.get(name..)?.starts_with(&wanted).then_some(())
        };
        let index = (0..self.functions).find(|index| is_it(*index).is_some())?;
        let at = |index: usize| Some(self.places.text + u64::from(word(&self.bytes, self.table + 8 * index)?));
        Some((at(index)?, at(index + 1)?))
    }

    /// The file and the line of an address in a function, or in functions that were inlined there.
    fn line(&self, function: Function, address: u64) -> (Option<String>, Option<u32>) {
        let file = || {
            let number = usize::try_from(self.value(function, 5, address)?).ok()?;
            let unit = (self.part(function, 8)? as usize).checked_add(number)?;
            let offset = word(&self.bytes, self.units.checked_add(unit.checked_mul(4)?)?)?;
            text(&self.bytes, self.files.checked_add(offset as usize)?).filter(|file| !file.is_empty())
        };
        let line = self.value(function, 6, address).and_then(|line| u32::try_from(line).ok());
        (file(), line.filter(|&line| line > 0))
    }

    /// The functions at an address, the innermost inlined one first. `read` reads bytes of the program at stated
    /// addresses.
    pub(crate) fn sites(&self, function: Function, address: u64, read: impl Fn(u64, usize) -> Vec<u8>) -> Vec<Site> {
        let mut sites = Vec::new();
        let mut at = address;
        while let Some(index) = self.inlined(function, at) {
            let Some((name, call)) = self.inlined_call(function, index, &read).filter(|_| sites.len() < INLINED) else {
                // Inlined functions cannot be found out here, and the line may belong to one of them.
                sites.push(Site { name: self.name(function), ..Site::default() });
                return sites;
            };
            let (file, line) = self.line(function, at);
            sites.push(Site { name: Some(name), file, line });
            at = call;
        }
        let (file, line) = self.line(function, at);
        sites.push(Site { name: self.name(function), file, line });
        sites
    }

    /// The number of the inlined call at an address, in the function's list of such calls.
    fn inlined(&self, function: Function, address: u64) -> Option<u64> {
        let count = self.part(function, 7)? as usize;
        let values = self.fixed_words().checked_add(INLINED_VALUES)?;
        let index = if count > INLINED_VALUES { self.value(function, values, address)? } else { return None };
        u64::try_from(index).ok()
    }

    /// The name of an inlined function, and an address at which its caller calls it. Go 1.20 and newer: a byte for the
    /// kind, then, from the fourth byte on, words for the name, the caller's address and the first line.
    fn inlined_call(
        &self,
        function: Function,
        index: u64,
        read: impl Fn(u64, usize) -> Vec<u8>,
    ) -> Option<(String, u64)> {
        let list = self.fixed_words().checked_add(self.part(function, 7)? as usize)?.checked_add(INLINED_CALLS)?;
        let flags = function.at.checked_add(self.flags())?;
        let has_list = usize::from(*self.bytes.get(flags + 2)?) > INLINED_CALLS;
        let offset = self.part(function, list).filter(|&offset| has_list && offset != u32::MAX)?;
        let at = self.places.data?.checked_add(offset.into())?.checked_add(index.checked_mul(16)?)?;
        let call = read(at, 16);
        let name = text(&self.bytes, self.names.checked_add(word(&call, 4)? as usize)?)?;
        let caller = function.start.checked_add(word(&call, 8)?.into())?;
        (self.has_start_line && !name.is_empty()).then_some((name, caller))
    }

    /// The words of a function's description before the lists of its values and data.
    fn fixed_words(&self) -> usize {
        if self.has_start_line { 11 } else { 10 }
    }

    /// The offset of the flags in a function's description, in bytes: after the byte for its kind.
    fn flags(&self) -> usize {
        4 * (self.fixed_words() - 1) + 1
    }

    /// How a function's frame is left at an address.
    pub(crate) fn frame(&self, function: Function, address: u64) -> Option<GoFrame> {
        let flags = *self.bytes.get(function.at.checked_add(self.flags())?)?;
        if flags & TOP_FRAME != 0 {
            return Some(GoFrame::Outermost);
        }
        if flags & SWITCHES != 0 {
            // `mcall` gives up its caller's stack; what it runs never returns to it.
            let end = self.name(function).is_some_and(|name| name == "runtime.mcall");
            return Some(if end { GoFrame::Outermost } else { GoFrame::Switches });
        }
        let size = self.value(function, 4, address)?;
        u64::try_from(size).ok().filter(|size| size % 8 == 0).map(GoFrame::Size)
    }

    /// A value at an address, from the table whose offset is in a word of the function's description. The table
    /// consists of pairs of variable-length numbers: how much the value changes (the sign in the lowest bit), and for
    /// how many instructions it is valid.
    fn value(&self, function: Function, index: usize, address: u64) -> Option<i64> {
        let offset = self.part(function, index).filter(|&offset| offset != 0)?;
        let mut rest = self.bytes.get(self.values.checked_add(offset as usize)?..)?;
        let (mut value, mut end) = (-1i64, function.start);
        for step in 0..STEPS {
            let change = number(&mut rest)?;
            if change == 0 && step > 0 {
                return None;
            }
            let difference = i64::from(change >> 1);
            value = value.checked_add(if change & 1 == 0 { difference } else { !difference })?;
            end = end.checked_add(u64::from(number(&mut rest)?) * self.quantum)?;
            if address < end {
                return Some(value);
            }
        }
        None
    }
}

/// A number with seven bits in each byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The zero-terminated text at an offset.
fn text(bytes: &[u8], at: usize) -> Option<String> {
    let tail = bytes.get(at..)?;
    let tail = &tail[..tail.len().min(MANGLED_LIMIT)];
    let end = tail.iter().position(|&byte| byte == 0)?;
    Some(bounded(&with_dots(&String::from_utf8_lossy(&tail[..end]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of two functions at text+0x10 and text+0x40, the last of which ends at text+0x60.
    fn bytes() -> Vec<u8> {
        let mut parts = vec![0u8; 8 + 8 * 8];
        parts[..8].copy_from_slice(&[0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8]);
        let names = parts.len();
        parts.extend(b"\0main.f\0runtime.goexit\0");
        let units = parts.len();
        parts.extend(0u32.to_le_bytes());
        let files = parts.len();
        parts.extend(b"/a/b.go\0");
        let values = parts.len();
        // Offset 0 means no table. Frame: 0 for 4 instructions, 24 for 40, 0 again. Lines: 7 for all. File: 0 for all.
        parts.extend([0, 2, 4, 48, 40, 47, 4, 0, 16, 48, 0, 2, 48, 0]);
        parts.resize(parts.len().next_multiple_of(4), 0);
        let table = parts.len();
        for value in [0x10u32, 20, 0x40, 20 + 44, 0x60] {
            parts.extend(value.to_le_bytes());
        }
        for (start, name, flags) in [(0x10u32, 1u32, 0u8), (0x40, 8, TOP_FRAME)] {
            for value in [start, name, 0, 0, 1, 11, 8, 0, 0, 0] {
                parts.extend(value.to_le_bytes());
            }
            parts.extend([0, flags, 0, 0]);
        }
        for (index, value) in [2, 1, 0x1000, names, units, files, values, table].into_iter().enumerate() {
            parts[8 + 8 * index..16 + 8 * index].copy_from_slice(&(value as u64).to_le_bytes());
        }
        parts
    }

    #[test]
    fn functions_have_names_lines_and_frames() {
        let table = GoTable::parse(bytes().into()).unwrap();
        assert!(table.find(0x100f).is_none() && table.find(0x1060).is_none());
        let f = table.find(0x103f).unwrap();
        assert_eq!((f.start, table.name(f).as_deref()), (0x1010, Some("main.f")));
        assert_eq!(table.line(f, 0x1012), (Some("/a/b.go".to_owned()), Some(7)));
        assert_eq!(table.frame(f, 0x1013), Some(GoFrame::Size(0)));
        assert_eq!(table.frame(f, 0x1014), Some(GoFrame::Size(24)));
        assert_eq!(table.frame(f, 0x103c), Some(GoFrame::Size(0)));
        let goexit = table.find(0x1040).unwrap();
        assert_eq!(table.name(goexit).as_deref(), Some("runtime.goexit"));
        assert_eq!(table.frame(goexit, 0x1040), Some(GoFrame::Outermost));
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        let table = GoTable::parse(bytes().into()).unwrap();
        assert_eq!(table.named("main.f"), Some((0x1010, 0x1040)));
        assert_eq!(table.named("runtime.goexit"), Some((0x1040, 0x1060)));
        assert_eq!((table.named("main."), table.named("main.f2")), (None, None));
    }

    #[test]
    fn another_version_is_not_understood() {
        let mut other = bytes();
        other[0] = 0xfb;
        assert!(GoTable::parse(other.into()).is_none());
        assert!(GoTable::parse(Arc::from([])).is_none());
    }

    proptest::proptest! {
        #[test]
        fn a_damaged_table_is_survived(
            changes in proptest::collection::vec((0usize..400, proptest::prelude::any::<u8>()), 0..12), length in 0usize..400,
        ) {
            let mut damaged = bytes();
            for (at, value) in changes {
                if let Some(byte) = damaged.get_mut(at) {
                    *byte = value;
                }
            }
            damaged.truncate(length.max(72));
            if let Some(table) = GoTable::parse(damaged.into()) {
                table.named("main.f");
                for address in (0..0x80).chain(0x0ff0..0x1070) {
                    if let Some(function) = table.find(address) {
                        table.name(function);
                        table.sites(function, address, |at, size| vec![at as u8; size]);
                        table.frame(function, address);
                    }
                }
            }
        }
    }
}
