//! The memory map of a process: the text of `/proc/PID/maps` as data.
//!
//! Imports nothing of the crate. The text is hostile: the target chooses the names of the files that it maps.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The longest line that is accepted, in bytes. A path has at most 4,096 bytes, and the kernel may write four
/// characters for each (`\012`); the rest of the line stays below 128.
const LINE_LIMIT: usize = 4 * 4096 + 128;

/// One line of `/proc/PID/maps`: a range of addresses and what is mapped there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after the range; larger than `start`.
    pub end: u64,
    /// Offset of `start` in the file, in bytes.
    pub file_offset: u64,
    /// Major and minor number of the device that holds the file; zeros without a file.
    pub device: (u32, u32),
    /// Inode of the file; zero without a file.
    pub inode: u64,
    /// True when instructions may be executed from it.
    pub executable: bool,
    /// True when it can be neither read, written nor executed: addresses that are kept for later.
    pub reserved: bool,
    /// True when the file had been removed or replaced when the map was read (the kernel adds ` (deleted)`).
    pub deleted: bool,
    /// What is mapped.
    pub path: MappedFile,
}

/// What is mapped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MappedFile {
    /// A file, by its path in the mount namespace of the process.
    File(PathBuf),
    /// The kernel's code for user space (`[vdso]`).
    Vdso,
    /// Memory without a file: heap, stacks, memory of just-in-time compilers (including memory files).
    Anonymous,
    /// Another name that the kernel gave, such as `[vsyscall]` or `anon_inode:[perf_event]`.
    Other(String),
}

/// A line of a memory map that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapsError {
    /// A field is missing or is no number.
    #[error("line {line} of the memory map: no valid {field}")]
    Malformed {
        /// Number of the line, counted from 1.
        line: usize,
        /// The field that could not be read.
        field: &'static str,
    },
    /// The line is longer than any that the kernel writes.
    #[error("line {line} of the memory map has {length} bytes, more than the kernel writes")]
    TooLong {
        /// Number of the line, counted from 1.
        line: usize,
        /// Its length in bytes.
        length: usize,
    },
}

/// Reads the text of `/proc/PID/maps`. Bytes, not characters: a path need not be UTF-8.
///
/// # Errors
/// The first line that does not have the kernel's form; a map that is only partly understood is not used.
pub fn parse_maps(text: impl AsRef<[u8]>) -> Result<Vec<Mapping>, MapsError> {
    let mut mappings = Vec::new();
    for (index, bytes) in text.as_ref().split(|&byte| byte == b'\n').enumerate() {
        if !bytes.is_empty() {
            mappings.push(parse_line(bytes, index + 1)?);
        }
    }
    Ok(mappings)
}

/// `start-end perms offset major:minor inode   path`, all numbers but the inode in hexadecimal.
fn parse_line(bytes: &[u8], line: usize) -> Result<Mapping, MapsError> {
    if bytes.len() > LINE_LIMIT {
        return Err(MapsError::TooLong { line, length: bytes.len() });
    }
    let malformed = |field| MapsError::Malformed { line, field };
    let (range, rest) = split_field(bytes);
    let (permissions, rest) = split_field(rest);
    let (offset, rest) = split_field(rest);
    let (device, rest) = split_field(rest);
    let (inode, rest) = split_field(rest);

    let (start, end) = split_pair(range, b'-').ok_or(malformed("address range"))?;
    let start = hexadecimal(start).ok_or(malformed("start address"))?;
    let end = hexadecimal(end).ok_or(malformed("end address"))?;
    if start >= end {
        return Err(malformed("address range"));
    }
    if permissions.len() != 4 {
        return Err(malformed("permissions"));
    }
    let file_offset = hexadecimal(offset).ok_or(malformed("file offset"))?;
    let (major, minor) = split_pair(device, b':').ok_or(malformed("device"))?;
    let number = |digits| hexadecimal(digits).and_then(|value| u32::try_from(value).ok());
    let device = (number(major).ok_or(malformed("device"))?, number(minor).ok_or(malformed("device"))?);
    let inode = decimal(inode).ok_or(malformed("inode"))?;

    // The path starts at the first byte that is not a blank and extends, including blanks, to the end of the line.
    let path = match rest.iter().position(|&byte| byte != b' ') {
        Some(at) => &rest[at..],
        None => &[],
    };
    let (path, deleted) = match path.strip_suffix(b" (deleted)") {
        Some(stripped) => (stripped, true),
        None => (path, false),
    };
    Ok(Mapping {
        start,
        end,
        file_offset,
        device,
        inode,
        executable: permissions[2] == b'x',
        reserved: permissions.starts_with(b"---"),
        deleted,
        path: classify(path),
    })
}

fn classify(path: &[u8]) -> MappedFile {
    // Names that look like paths but are memory: shared anonymous memory, System V segments, memory files.
    const MEMORY: [&[u8]; 5] = [b"//anon", b"/dev/zero", b"/memfd:", b"/SYSV", b"/[aio]"];
    const NAMED_MEMORY: [&[u8]; 3] = [b"[heap", b"[stack", b"[anon"];
    if path.is_empty() || MEMORY.iter().chain(&NAMED_MEMORY).any(|name| path.starts_with(name)) {
        MappedFile::Anonymous
    } else if path == b"[vdso]" {
        MappedFile::Vdso
    } else if path.starts_with(b"/") {
        MappedFile::File(PathBuf::from(OsString::from_vec(unescape(path))))
    } else {
        MappedFile::Other(String::from_utf8_lossy(path).into_owned())
    }
}

/// The kernel writes a newline in a path as `\012` and escapes nothing else, not even the backslash.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, tail)) = rest.split_first() {
        match rest.strip_prefix(br"\012") {
            Some(after) => {
                plain.push(b'\n');
                rest = after;
            }
            None => {
                plain.push(first);
                rest = tail;
            }
        }
    }
    plain
}

/// The bytes up to the first blank, and those after it.
fn split_field(bytes: &[u8]) -> (&[u8], &[u8]) {
    split_pair(bytes, b' ').unwrap_or((bytes, &[]))
}

fn split_pair(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None; // `from_str_radix` would accept a sign
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
