//! Where CPython keeps its threads, frames and code objects, by version. Offsets in bytes for 64-bit pointers, as
//! `offsetof` gives them for the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0. They do not change
//! within a version once it is released. They differ in builds without the global lock, whose files have a `t` after
//! the version.

use super::lines::LineTable;

/// How the Python frames that one frame of the C stack runs are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Each has a C frame of its own.
    Each,
    /// The byte at this offset is not zero in the outermost one.
    Flag(u32),
    /// A frame without a function follows, in which the byte at this offset is 3 or more (`FRAME_OWNED_BY_CSTACK`).
    Owner(u32),
}

/// The offsets of one version.
#[derive(Debug, PartialEq, Eq)]
pub struct PythonLayout {
    /// The minor version: 8 for Python 3.8.
    pub minor: u32,
    /// In the runtime's state: the pointer to the main interpreter.
    pub(super) interpreter: u64,
    /// In the interpreter: its first thread.
    pub first: u32,
    /// In a thread: the next thread.
    pub next: u32,
    /// In a thread: its identity, as pthread_self(3) returns it there.
    pub identity: u32,
    /// In a thread: its innermost frame.
    pub frame: u32,
    /// If `frame` points to another structure: the offset of the innermost frame in that.
    pub inner: Option<u32>,
    /// In a frame: its caller.
    pub back: u32,
    /// In a frame: its code object.
    pub code: u32,
    /// In a frame: its current instruction.
    pub at: u32,
    /// How the frames that one C function runs are delimited.
    pub border: Border,
    /// What `at` holds.
    pub(super) position: Position,
    pub(super) object: CodeObject,
    pub(super) lines: LineTable,
    /// Sizes of the headers of strings: of ASCII-only ones, and of others.
    pub(super) ascii: u64,
    pub(super) compact: u64,
}

/// How a frame stores its current instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Bytes from the start of the code, in 32 bits; -1 before the first instruction.
    Bytes,
    /// The same in units of two bytes.
    Units,
    /// The address of the instruction; the code begins at this offset in the code object.
    Address(u64),
}

/// Offsets in a code object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeObject {
    pub(super) first_line: usize,
    pub(super) file: usize,
    pub(super) name: usize,
    pub(super) lines: usize,
}

const OLD_CODE: CodeObject = CodeObject { first_line: 40, file: 104, name: 112, lines: 120 };
/// `name` includes the class (`co_qualname`).
const NEW_CODE: CodeObject = CodeObject { first_line: 68, file: 112, name: 128, lines: 136 };

const PYTHON_38: PythonLayout = PythonLayout {
    minor: 8,
    interpreter: 40,
    first: 8,
    next: 8,
    identity: 176,
    frame: 24,
    inner: None,
    back: 24,
    code: 32,
    at: 104,
    border: Border::Each,
    position: Position::Bytes,
    object: OLD_CODE,
    lines: LineTable::Steps,
    ascii: 48,
    compact: 72,
};
const PYTHON_311: PythonLayout = PythonLayout {
    minor: 11,
    interpreter: 48,
    first: 16,
    next: 8,
    identity: 152,
    frame: 56,
    inner: Some(8),
    back: 48,
    code: 32,
    at: 56,
    border: Border::Flag(68),
    position: Position::Address(184),
    object: CodeObject { first_line: 72, ..NEW_CODE },
    lines: LineTable::Places,
    ascii: 48,
    compact: 72,
};
const PYTHON_312: PythonLayout = PythonLayout {
    minor: 12,
    first: 72,
    identity: 136,
    inner: Some(0),
    back: 8,
    code: 0,
    border: Border::Owner(70),
    position: Position::Address(192),
    object: NEW_CODE,
    ascii: 40,
    compact: 56,
    ..PYTHON_311
};

static LAYOUTS: [PythonLayout; 6] = [
    PYTHON_38,
    PythonLayout { minor: 9, ..PYTHON_38 },
    PythonLayout { minor: 10, at: 96, position: Position::Units, lines: LineTable::Ranges, ..PYTHON_38 },
    PYTHON_311,
    PYTHON_312,
    PythonLayout {
        minor: 13,
        interpreter: 640,
        first: 7344,
        identity: 152,
        frame: 72,
        inner: None,
        position: Position::Address(200),
        ..PYTHON_312
    },
];

impl PythonLayout {
    /// Whether a minor version is one of those that can be read.
    pub fn supports(minor: u32) -> bool {
        LAYOUTS.iter().any(|layout| layout.minor == minor)
    }

    pub(super) fn all() -> &'static [PythonLayout] {
        &LAYOUTS
    }

    /// True for the name of a file that contains this version: `libpython3.11.so.1.0`, `python3.11`.
    pub(super) fn is_file(&self, name: &str) -> bool {
        let version = name.strip_prefix("libpython3.").or_else(|| name.strip_prefix("python3."));
        version.is_some_and(|rest| rest.split('.').next() == Some(&self.minor.to_string()))
    }

    /// How many bytes the instruction of a frame is from the start of its code.
    pub(super) fn distance(&self, code: u64, at: u64) -> u64 {
        let index = i64::from(at as u32 as i32).max(0) as u64;
        match self.position {
            Position::Bytes => index,
            Position::Units => 2 * index,
            // Before the first instruction the address may be just below the code.
            Position::Address(offset) => at.saturating_sub(code.saturating_add(offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minor(file: &str) -> Option<u32> {
        LAYOUTS.iter().find(|layout| layout.is_file(file)).map(|layout| layout.minor)
    }

    #[test]
    fn versions_are_recognised_by_their_files() {
        assert_eq!(minor("libpython3.11.so.1.0"), Some(11));
        assert_eq!(minor("python3.8"), Some(8));
        assert_eq!(minor("libpython3.10.so"), Some(10));
        for other in ["libpython3.13t.so.1.0", "python3.1", "python3", "libpython3.so", "python3.7", "python3.99"] {
            assert_eq!(minor(other), None, "{other}");
        }
    }

    #[test]
    fn frames_store_their_instruction_in_three_ways() {
        let layout = |minor| LAYOUTS.iter().find(|layout| layout.minor == minor).unwrap();
        assert_eq!(layout(9).distance(0x1000, 12), 12);
        assert_eq!(
            layout(9).distance(0x1000, 0x7_ffff_ffff),
            0,
            "before the first instruction; beside it is another field"
        );
        assert_eq!(layout(10).distance(0x1000, 6), 12);
        assert_eq!(layout(11).distance(0x1000, 0x1000 + 184 + 12), 12);
        assert_eq!(layout(13).distance(0x1000, 0x1000 + 198), 0);
    }
}
