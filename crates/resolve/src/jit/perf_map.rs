//! The file `/tmp/perf-PID.map`: lines `START SIZE name`, numbers in hexadecimal, appended as code is made or written
//! all at once (Java).

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use super::code_map::{CodeMap, JitFunction};
use super::reported;
use crate::maps::hexadecimal;

/// How much of one file is read, in bytes; servers that ran for days have written tens of megabytes.
const FILE_LIMIT: u64 = 128 << 20;

/// The longest line that is understood, in bytes: longer than any name that is shown.
const LINE_LIMIT: usize = 64 << 10;

/// How many bytes are read in one call: about a hundredth of a second of work.
const PIECE: u64 = 1 << 20;

/// C's standard library by default writes a file in blocks of this many bytes (`st_blksize`, stat(2)).
const BLOCK: u64 = 4096;

/// A map file, as far as it has been read.
#[derive(Debug, Default)]
pub(crate) struct PerfMapFile {
    /// Device and inode, to notice that the file was replaced.
    identity: Option<(u64, u64)>,
    offset: u64,
    /// The beginning of a line that is not complete yet.
    rest: Vec<u8>,
    /// Whether the rest of an overlong line is being skipped.
    skipping: bool,
    /// When it was last seen to grow.
    grown_ns: u64,
    /// How often the file was read from its beginning: more than once when the runtime rewrites all names each time.
    pub(crate) beginnings: u32,
    /// Lines that could not be understood.
    pub(crate) broken_lines: u64,
}

impl PerfMapFile {
    /// Reads what was added since the last call, or the first part of it. Returns true when functions were added.
    ///
    /// Mono writes whole blocks, and the rest when it ends. So the code named in a block may have been made at any time
    /// since the block before.
    pub(crate) fn read(&mut self, file: &File, now_ns: u64, map: &mut CodeMap) -> io::Result<bool> {
        let metadata = file.metadata()?;
        let identity = Some((metadata.dev(), metadata.ino()));
        if self.identity != identity || metadata.len() < self.offset {
            let broken_lines = self.broken_lines;
            *self = Self { identity, beginnings: self.beginnings + 1, broken_lines, ..Self::default() };
        }
        let left = metadata.len().min(FILE_LIMIT).saturating_sub(self.offset);
        let mut piece = vec![0; left.min(PIECE) as usize];
        let read = file.read_at(&mut piece, self.offset)?;
        let in_blocks = self.offset > 0 && self.offset.is_multiple_of(BLOCK);
        let since_ns = if in_blocks { self.grown_ns } else { now_ns };
        self.offset += read as u64;
        if read > 0 {
            self.grown_ns = now_ns;
        }
        Ok(self.take(&piece[..read], since_ns, map))
    }

    /// Takes the bytes that follow those of the last call.
    fn take(&mut self, bytes: &[u8], now_ns: u64, map: &mut CodeMap) -> bool {
        let mut added = false;
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.rest.is_empty() {
                added |= self.line(line, now_ns, map);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                added |= self.line(&whole, now_ns, map);
            }
        }
        if !self.skipping {
            self.rest.extend_from_slice(last);
            if self.rest.len() > LINE_LIMIT {
                self.rest = Vec::new();
                self.skipping = true;
                self.broken_lines += 1;
            }
        }
        added
    }

    fn line(&mut self, line: &[u8], now_ns: u64, map: &mut CodeMap) -> bool {
        if line.iter().all(u8::is_ascii_whitespace) {
            return false;
        }
        match parse(line) {
            Some((start, end, code)) => {
                map.insert(start, end, now_ns, Arc::new(code));
                true
            }
            None => {
                self.broken_lines += 1;
                false
            }
        }
    }
}

/// A line `START SIZE name`; the name may contain blanks.
fn parse(line: &[u8]) -> Option<(u64, u64, JitFunction)> {
    if line.len() > LINE_LIMIT {
        return None;
    }
    let mut fields = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let digits = fields.next()?;
        hexadecimal(digits.strip_prefix(b"0x").unwrap_or(digits))
    };
    let (start, size) = (number()?, number()?);
    let end = start.checked_add(size).filter(|&end| end > start)?;
    Some((start, end, reported::function(fields.next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn name(map: &CodeMap, address: u64) -> Option<String> {
        map.find(address).map(|found| found.code.name.clone())
    }

    #[test]
    fn functions_are_found_and_broken_lines_are_counted() {
        let (mut file, mut map) = (PerfMapFile::default(), CodeMap::default());
        let text = "7f00 10 LazyCompile:*work /app/main.js:3\n7f20 0x8 py::run:/x y.py\nnonsense\n7f30 zz f\n7f40 0 empty\n\
                    ffffffffffffffff 2 over\n7f50 10 \n\n7f60 4\n";
        assert!(file.take(text.as_bytes(), 5, &mut map));
        assert_eq!(name(&map, 0x7f0f).as_deref(), Some("work"));
        assert_eq!(name(&map, 0x7f10), None);
        assert_eq!(name(&map, 0x7f27).as_deref(), Some("run"));
        assert_eq!((map.len(), file.broken_lines, map.find(0x7f20).unwrap().since_ns), (2, 6, 5));
    }

    #[test]
    fn a_block_may_hold_names_of_code_made_since_the_block_before() {
        let folder = tempfile::tempdir().unwrap();
        let since = |first: usize| {
            let path = folder.path().join(first.to_string());
            let (mut file, mut map) = (PerfMapFile::default(), CodeMap::default());
            let mut text = "1000 8 first".to_owned();
            text.extend(std::iter::repeat_n('x', first - text.len()));
            std::fs::write(&path, &text).unwrap();
            file.read(&File::open(&path).unwrap(), 5, &mut map).unwrap();
            std::fs::write(&path, format!("{text}x\n2000 8 second\n")).unwrap();
            file.read(&File::open(&path).unwrap(), 90, &mut map).unwrap();
            map.find(0x2000).unwrap().since_ns
        };
        assert_eq!(since(4096), 5);
        // Near miss: a runtime that writes line by line reports each name when it makes the code.
        assert_eq!(since(4095), 90);
    }

    #[test]
    fn a_growing_file_is_read_on_and_a_new_one_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf-1.map");
        let mut writer = File::create(&path).unwrap();
        writer.write_all(b"100 10 one\n200 10 tw").unwrap();
        let (mut file, mut map) = (PerfMapFile::default(), CodeMap::default());
        assert!(file.read(&File::open(&path).unwrap(), 1, &mut map).unwrap());
        assert_eq!((name(&map, 0x100).as_deref(), name(&map, 0x200)), (Some("one"), None));
        assert!(!file.read(&File::open(&path).unwrap(), 2, &mut map).unwrap());
        writer.write_all(b"o\n").unwrap();
        assert!(file.read(&File::open(&path).unwrap(), 3, &mut map).unwrap());
        assert_eq!(name(&map, 0x200).as_deref(), Some("two"));
        std::fs::write(&path, "100 10 new\n").unwrap();
        assert!(file.read(&File::open(&path).unwrap(), 4, &mut map).unwrap());
        assert_eq!((name(&map, 0x100).as_deref(), file.beginnings), (Some("new"), 2));
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let (mut file, mut map) = (PerfMapFile::default(), CodeMap::default());
        for _ in 0..100 {
            file.take(&[b'a'; 4096], 0, &mut map);
            assert!(file.rest.len() <= LINE_LIMIT);
        }
        file.take(b"\n100 10 f\n", 0, &mut map);
        assert_eq!((name(&map, 0x100).as_deref(), file.broken_lines), (Some("f"), 1));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_read_in_any_pieces(pieces: Vec<Vec<u8>>) {
            let (mut file, mut map) = (PerfMapFile::default(), CodeMap::default());
            for piece in &pieces {
                file.take(piece, 0, &mut map);
            }
            proptest::prop_assert!(map.len() <= pieces.iter().map(Vec::len).sum());
        }

        #[test]
        fn pieces_make_no_difference(cuts in proptest::collection::vec(0usize..120, 0..6)) {
            let text = b"100 10 one\n200 20 two words\nbroken\n300 8 three\n380 8 four\n";
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let (mut file, mut map) = (PerfMapFile::default(), CodeMap::default());
            for pair in cuts.windows(2) {
                file.take(&text[pair[0]..pair[1]], 0, &mut map);
            }
            proptest::prop_assert_eq!((map.len(), file.broken_lines), (4, 1));
            proptest::prop_assert_eq!(name(&map, 0x21f), Some("two words".to_owned()));
        }
    }
}
