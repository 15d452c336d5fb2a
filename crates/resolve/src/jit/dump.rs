//! jitdump files (`jit-PID.dump`): records of code that was placed at an address, with times, lines and moves. The
//! format is described in the kernel's tree, `tools/perf/Documentation/jitdump-specification.txt`.
//!
//! The reader of the crate linux-perf-data panics on sizes that a hostile file may contain; hence this one.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::code_map::{CodeMap, JitFunction, Line};
use super::reported;
use crate::demangle::bounded;

/// The first word of a file in this machine's byte order.
const MAGIC: u32 = 0x4a69_5444;
/// Header flag: times are from a processor's counter, which cannot be compared with our records.
const FOREIGN_CLOCK: u64 = 1;

const HEADER: usize = 40;
const PREFIX: usize = 16;
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;

/// The longest name that is read, in bytes.
const NAME: usize = 16 << 10;
/// The largest table of lines of one function that is read, in bytes.
const LINES: usize = 4 << 20;
/// How many lines of a whole file are kept: some 100 MB.
const LINES_LIMIT: usize = 2 << 20;
/// How many records one call reads: about a hundredth of a second of work.
const RECORDS: usize = 5_000;

/// True for the path of a mapping that marks a runtime's dump: `jit-PID.dump`.
pub fn is_dump(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix("jit-").and_then(|rest| rest.strip_suffix(".dump"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a record does to the code map.
#[derive(Debug)]
pub(crate) enum Change {
    Load { start: u64, end: u64, code: Arc<JitFunction> },
    Move { from: u64, to: u64, size: u64 },
}

/// A dump, as far as it has been read.
#[derive(Debug)]
pub(crate) struct DumpFile {
    file: File,
    offset: u64,
    foreign_clock: bool,
    /// Lines of the function at an address; its code comes in the next record.
    lines: Option<(u64, Vec<Line>)>,
    lines_kept: usize,
    /// True when the file is not a dump, or is broken from here on.
    pub(crate) broken: bool,
    /// Changes in the order of the file, with their times in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) pending: VecDeque<(u64, Change)>,
}

impl DumpFile {
    pub(crate) fn new(file: File) -> DumpFile {
        DumpFile {
            file,
            offset: 0,
            foreign_clock: false,
            lines: None,
            lines_kept: 0,
            broken: false,
            pending: VecDeque::new(),
        }
    }

    /// Reads what was added since the last call, or the first part of it. Returns true when anything was added.
    pub(crate) fn read(&mut self, now_ns: u64) -> io::Result<bool> {
        if self.broken {
            return Ok(false);
        }
        let length = self.file.metadata()?.len();
        if self.offset == 0 && !self.read_header(length)? {
            return Ok(false);
        }
        let before = self.pending.len();
        for _ in 0..RECORDS {
            if self.broken || !self.read_record(length, now_ns)? {
                break;
            }
        }
        Ok(self.pending.len() > before)
    }

    fn read_header(&mut self, length: u64) -> io::Result<bool> {
        if length < HEADER as u64 {
            return Ok(false);
        }
        let header = self.bytes(0, HEADER)?;
        let size = word(&header, 8);
        self.broken = word(&header, 0) != MAGIC || (size as usize) < HEADER;
        self.foreign_clock = long(&header, 32) & FOREIGN_CLOCK != 0;
        self.offset = u64::from(size);
        Ok(!self.broken)
    }

    /// Returns false when the next record is not complete yet.
    fn read_record(&mut self, length: u64, now_ns: u64) -> io::Result<bool> {
        let Some(body) = self.offset.checked_add(PREFIX as u64).filter(|&body| body <= length) else {
            return Ok(false);
        };
        let prefix = self.bytes(self.offset, PREFIX)?;
        let size = u64::from(word(&prefix, 4));
        if size < PREFIX as u64 {
            self.broken = true; // the start of the next record is unknown
            return Ok(false);
        }
        let Some(end) = self.offset.checked_add(size).filter(|&end| end <= length) else { return Ok(false) };
        let time_ns = if self.foreign_clock { now_ns } else { long(&prefix, 8) };
        let kind = word(&prefix, 0);
        let wanted = match kind {
            CODE_LOAD => 40 + NAME,
            CODE_MOVE => 48,
            DEBUG_INFO => LINES,
            _ => 0,
        };
        let record = self.bytes(body, wanted.min((size as usize) - PREFIX))?;
        self.offset = end;
        match kind {
            CODE_LOAD => self.load(&record, time_ns),
            CODE_MOVE if record.len() >= 48 => {
                let change = Change::Move { from: long(&record, 16), to: long(&record, 24), size: long(&record, 32) };
                self.pending.push_back((time_ns, change));
            }
            DEBUG_INFO => self.debug_info(&record),
            _ => {}
        }
        Ok(true)
    }

    /// `pid, tid: u32; vma, address, size, index: u64; name`, then the code itself, which is not used.
    fn load(&mut self, record: &[u8], time_ns: u64) {
        let lines = self.lines.take();
        if record.len() < 41 {
            return;
        }
        let (start, size) = (long(record, 16), long(record, 24));
        let Some(end) = start.checked_add(size).filter(|&end| end > start) else { return };
        let Some(mut code) = reported::function(text(&record[40..]).0) else { return };
        if let Some((_, lines)) = lines.filter(|(address, _)| *address == start) {
            code.lines = lines;
        }
        self.pending.push_back((time_ns, Change::Load { start, end, code: Arc::new(code) }));
    }

    /// `address, count: u64`, then for each line `address: u64; line, discriminator: u32; file`; the file `\xff` means
    /// the one before.
    fn debug_info(&mut self, record: &[u8]) {
        self.lines = None;
        if record.len() < 16 {
            return;
        }
        let start = long(record, 0);
        let mut rest = &record[16..];
        let mut lines: Vec<Line> = Vec::new();
        while rest.len() > 16 && self.lines_kept < LINES_LIMIT {
            let (address, line) = (long(rest, 0), word(rest, 8));
            let (name, after) = text(&rest[16..]);
            let file: Arc<str> = match lines.last() {
                Some(last) if name == b"\xff" || name == last.file.as_bytes() => last.file.clone(),
                _ => bounded(&String::from_utf8_lossy(name)).into(),
            };
            if let Some(distance) = address.checked_sub(start).filter(|_| line > 0 && !file.is_empty()) {
                self.lines_kept += 1;
                lines.push(Line { distance, file, line });
            }
            rest = after;
        }
        lines.sort_by_key(|line| line.distance);
        self.lines = Some((start, lines));
    }

    fn bytes(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

impl Change {
    pub(crate) fn apply(self, since_ns: u64, map: &mut CodeMap) {
        match self {
            Change::Load { start, end, code } => map.insert(start, end, since_ns, code),
            Change::Move { from, to, size } => map.move_code(from, to, size, since_ns),
        }
    }
}

/// The text up to its zero byte, and what follows; all of it when there is no zero byte.
fn text(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |long| u64::from_le_bytes(*long))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn header(flags: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in [MAGIC, 1, HEADER as u32, 62, 0, 1] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes
    }

    fn record(kind: u32, time: u64, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(((PREFIX + body.len()) as u32).to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn load(time: u64, start: u64, size: u64, name: &str) -> Vec<u8> {
        let mut body = vec![0; 8];
        for value in [start, start, size, 1] {
            body.extend(value.to_le_bytes());
        }
        body.extend(name.bytes().chain([0]));
        body.resize(body.len() + size as usize, 0xcc);
        record(CODE_LOAD, time, &body)
    }

    fn move_record(time: u64, from: u64, to: u64, size: u64) -> Vec<u8> {
        let mut body = vec![0; 8];
        for value in [from, from, to, size, 1] {
            body.extend(value.to_le_bytes());
        }
        record(CODE_MOVE, time, &body)
    }

    fn debug_info(start: u64, lines: &[(u64, u32, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(start.to_le_bytes());
        body.extend((lines.len() as u64).to_le_bytes());
        for (address, line, file) in lines {
            body.extend(address.to_le_bytes());
            body.extend(line.to_le_bytes());
            body.extend(0u32.to_le_bytes());
            body.extend(file.iter().chain(&[0]));
        }
        record(DEBUG_INFO, 0, &body)
    }

    fn dump(bytes: &[u8]) -> DumpFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        DumpFile::new(file)
    }

    fn apply(dump: &mut DumpFile, map: &mut CodeMap) {
        while let Some((time, change)) = dump.pending.pop_front() {
            change.apply(time, map);
        }
    }

    #[test]
    fn code_has_names_times_and_lines_and_moves() {
        let mut bytes = header(0);
        bytes.extend(debug_info(0x1000, &[(0x1000, 3, b"a.js"), (0x1008, 4, b"\xff"), (0x1004, 9, b"b.js")]));
        bytes.extend(load(50, 0x1000, 0x10, "f"));
        bytes.extend(record(4, 51, &[0; 24]));
        bytes.extend(load(60, 0x2000, 0x10, "g"));
        bytes.extend(move_record(70, 0x1000, 0x3000, 0x10));
        let (mut dump, mut map) = (dump(&bytes), CodeMap::default());
        assert!(dump.read(0).unwrap());
        assert_eq!(dump.pending.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [50, 60, 70]);
        apply(&mut dump, &mut map);
        assert!(map.find(0x1000).is_none());
        let moved = map.find(0x3000).unwrap();
        assert_eq!((moved.code.name.as_str(), moved.since_ns), ("f", 70));
        assert_eq!(moved.code.line(0), Some(("a.js", Some(3))));
        assert_eq!(moved.code.line(5), Some(("b.js", Some(9))));
        assert_eq!(moved.code.line(9), Some(("a.js", Some(4))));
        assert_eq!(map.find(0x200f).unwrap().code.name, "g");
    }

    /// .NET 8 writes a dump beside the map, with the same names.
    #[test]
    fn names_of_dotnet_are_those_of_the_source() {
        let mut bytes = header(0);
        bytes.extend(load(50, 0x1000, 0x10, "class Order [shop] Shop.Desk::Parse(int32)[OptimizedTier1]"));
        let (mut dump, mut map) = (dump(&bytes), CodeMap::default());
        assert!(dump.read(0).unwrap());
        apply(&mut dump, &mut map);
        assert_eq!(map.find(0x1000).unwrap().code.name, "Shop.Desk.Parse");
    }

    #[test]
    fn a_record_that_is_still_being_written_is_taken_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jit-1.dump");
        let whole = load(5, 0x1000, 0x10, "f");
        let mut writer = File::create(&path).unwrap();
        let mut dump = DumpFile::new(File::open(&path).unwrap());
        assert!(!dump.read(0).unwrap());
        writer.write_all(&header(FOREIGN_CLOCK)).unwrap();
        writer.write_all(&whole[..30]).unwrap();
        assert!(!dump.read(0).unwrap());
        writer.write_all(&whole[30..]).unwrap();
        assert!(dump.read(77).unwrap());
        assert_eq!(dump.pending[0].0, 77, "a foreign clock is replaced by the time of reading");
    }

    #[test]
    fn reading_ends_at_bytes_that_are_no_dump() {
        let mut other = dump(&[0; 100]);
        assert!(!other.read(0).unwrap() && other.broken);
        let mut bytes = header(0);
        bytes.extend([0; 16]);
        let mut short = dump(&bytes);
        assert!(!short.read(0).unwrap() && short.broken, "a record of no bytes");
    }

    #[test]
    fn dumps_are_recognised_by_their_names() {
        assert!(is_dump(Path::new("/home/a/.debug/jit/jit-123.dump")));
        assert!(
            !is_dump(Path::new("/x/jit-.dump")) && !is_dump(Path::new("/x/jit-1x.dump")) && !is_dump(Path::new("/"))
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_read(records in proptest::collection::vec((0u32..6, proptest::prelude::any::<Vec<u8>>()), 0..8),
            tail: Vec<u8>) {
            let mut bytes = header(0);
            for (kind, body) in &records {
                bytes.extend(record(*kind, 1, body));
            }
            bytes.extend(&tail);
            let (mut dump, mut map) = (dump(&bytes), CodeMap::default());
            dump.read(0).unwrap();
            proptest::prop_assert!(dump.pending.len() <= records.len() + 1 + tail.len() / PREFIX);
            apply(&mut dump, &mut map);
        }
    }
}
