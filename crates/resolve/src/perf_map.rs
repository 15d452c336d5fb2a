//! Names of code that a program made at run time: the file `/tmp/perf-PID.map` that Java, Node.js, Python and others
//! write when asked to.
//!
//! Imports `demangle` (its limit on names) and `maps`. The file belongs to the target and is hostile.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::demangle::demangle;
use crate::error::ModuleError;
use crate::maps::hexadecimal;
use crate::module::open_regular;

/// The largest file that is read, in bytes; servers that ran for days have written tens of megabytes.
const FILE_LIMIT: u64 = 128 << 20;

/// The functions that a just-in-time compiler wrote down.
#[derive(Debug, Default)]
pub struct PerfMap {
    /// By start address: the end, exclusive, and the name.
    functions: BTreeMap<u64, (u64, String)>,
    /// Lines that could not be understood.
    pub broken_lines: u64,
}

impl PerfMap {
    /// Where a process writes its map. `root` is the process's root directory (`/proc/PID/root`); `pid` is its number
    /// in its own PID namespace (the last one of `NSpid` in `/proc/PID/status`).
    pub fn path(root: Option<&Path>, pid: u32) -> PathBuf {
        root.unwrap_or(Path::new("/")).join(format!("tmp/perf-{pid}.map"))
    }

    /// Reads a map file, of which the last line may still be being written.
    ///
    /// # Errors
    /// The file cannot be read or is no regular file.
    pub fn read(path: &Path) -> Result<Self, ModuleError> {
        let (file, _) = open_regular(path)?;
        let mut bytes = Vec::new();
        file.take(FILE_LIMIT)
            .read_to_end(&mut bytes)
            .map_err(|source: io::Error| ModuleError::Read { path: path.to_path_buf(), source })?;
        Ok(Self::parse(&bytes))
    }

    /// Reads lines `START SIZE name`, both numbers hexadecimal; the name may contain blanks. Memory is used again, so
    /// that of two lines for the same address the later one holds.
    pub fn parse(text: impl AsRef<[u8]>) -> Self {
        let mut map = Self::default();
        for line in text.as_ref().split(|&byte| byte == b'\n') {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse_line(line) {
                Some((start, end, name)) => map.insert(start, end, name),
                None => map.broken_lines += 1,
            }
        }
        map
    }

    /// Adds a function and cuts what it overlaps.
    fn insert(&mut self, start: u64, end: u64, name: String) {
        let overlapping = |(at, function): (&u64, &(u64, String))| (function.0 > start).then_some(*at);
        while let Some(at) = self.functions.range(..end).next_back().and_then(overlapping) {
            let Some((old_end, old_name)) = self.functions.remove(&at) else { break };
            if old_end > end {
                self.functions.insert(end, (old_end, old_name.clone()));
            }
            if at < start {
                self.functions.insert(at, (start, old_name));
            }
        }
        self.functions.insert(start, (end, name));
    }

    /// The name of the function that contains an address of the process.
    pub fn find(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// True without any function.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}

fn parse_line(line: &[u8]) -> Option<(u64, u64, String)> {
    let mut fields = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let digits = fields.next()?;
        hexadecimal(digits.strip_prefix(b"0x").unwrap_or(digits))
    };
    let (start, size) = (number()?, number()?);
    let end = start.checked_add(size).filter(|&end| end > start)?;
    let name = String::from_utf8_lossy(fields.next()?.trim_ascii()).into_owned();
    (!name.is_empty()).then(|| (start, end, demangle(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_broken_lines_are_counted() {
        let map = PerfMap::parse(
            "7f00 10 LazyCompile:*work /app/main.js:3\n7f20 0x8 py::run:/x y.py\nnonsense\n7f30 zz f\n7f40 0 empty\n\
             ffffffffffffffff 2 over\n7f50 10 \n\n7f60 4",
        );
        assert_eq!(map.find(0x7f0f), Some("LazyCompile:*work /app/main.js:3"));
        assert_eq!(map.find(0x7f10), None);
        assert_eq!(map.find(0x7f27), Some("py::run:/x y.py"));
        assert_eq!(map.find(0x10), None);
        assert_eq!(map.len(), 2);
        assert_eq!(map.broken_lines, 6);
    }

    #[test]
    fn a_later_line_replaces_what_it_overlaps() {
        let map = PerfMap::parse("100 100 old\n140 20 new\n1f0 20 next\n");
        assert_eq!(map.find(0x13f), Some("old"));
        assert_eq!(map.find(0x140), Some("new"));
        assert_eq!(map.find(0x160), Some("old"));
        assert_eq!(map.find(0x1f0), Some("next"));
        assert_eq!(map.find(0x20f), Some("next"));
        let map = PerfMap::parse("100 10 a\n110 10 b\n0 1000 all\n");
        assert_eq!((map.find(0x105), map.len()), (Some("all"), 1));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let map = PerfMap::parse(&bytes);
            proptest::prop_assert!(map.len() <= 3 * bytes.len());
        }

        #[test]
        fn the_last_function_at_an_address_wins(lines in proptest::collection::vec((0u64..200, 1u64..50), 1..40)) {
            let text: String =
                lines.iter().enumerate().map(|(i, (start, size))| format!("{start:x} {size:x} f{i}\n")).collect();
            let map = PerfMap::parse(&text);
            for address in 0..260 {
                let last = lines.iter().rposition(|&(start, size)| (start..start + size).contains(&address));
                let expected = last.map(|index| format!("f{index}"));
                proptest::prop_assert_eq!(map.find(address), expected.as_deref());
            }
        }
    }
}
