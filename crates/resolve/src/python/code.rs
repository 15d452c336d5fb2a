//! Code objects: a function's name, its file, its first line and its table of lines.

use super::layout::PythonLayout;
use crate::memory::Memory;

/// The longest name of a function or file, in characters, and the longest table of lines, in bytes.
const TEXT: u64 = 1024;
const TABLE: u64 = 1 << 20;

/// How many bytes of a code object are read: everything before the code itself.
const HEAD: usize = 144;

/// Offsets: of an object's type; of a string's length and form; of the contents of a bytes object.
const TYPE: u64 = 8;
const LENGTH: u64 = 16;
const FORM: u64 = 32;
const BYTES: u64 = 32;

/// A function, as far as it is shown to users.
#[derive(Debug)]
pub(super) struct PythonFunction {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) first_line: u32,
    pub(super) lines: Vec<u8>,
    pub(super) head: Head,
}

/// The fields of a code object, by which it is distinguished from a later object at the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    name: u64,
    file: u64,
    first_line: u32,
    lines: u64,
}

impl PythonLayout {
    /// The code object at an address; none where something else is.
    pub(super) fn head(&self, memory: &Memory, code: u64, code_type: u64) -> Option<Head> {
        let bytes = memory.bytes::<HEAD>(code)?;
        let word = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        if word(TYPE as usize)? != code_type {
            return None;
        }
        let first_line = bytes.get(self.object.first_line..)?.first_chunk().map(|b| u32::from_le_bytes(*b))?;
        let (name, file, lines) = (word(self.object.name)?, word(self.object.file)?, word(self.object.lines)?);
        Some(Head { name, file, first_line, lines })
    }

    pub(super) fn function(&self, memory: &Memory, head: Head) -> Option<PythonFunction> {
        let length = memory.word(head.lines.checked_add(LENGTH)?)?.min(TABLE);
        let lines = memory.some(head.lines.checked_add(BYTES)?, usize::try_from(length).ok()?)?;
        let name = self.text(memory, head.name)?;
        Some(PythonFunction { name, file: self.text(memory, head.file)?, first_line: head.first_line, lines, head })
    }

    /// A Python string. One that is longer than any real name is cut.
    fn text(&self, memory: &Memory, address: u64) -> Option<String> {
        let length = memory.word(address.checked_add(LENGTH)?)?.min(TEXT);
        let form = memory.half(address.checked_add(FORM)?)?;
        // Bits 2 to 4: bytes for each character; bit 5: the characters follow the head; bit 6: ASCII only
        // (Include/cpython/unicodeobject.h).
        let (size, follows, ascii) = ((form >> 2) & 7, form & 32 != 0, form & 64 != 0);
        let start = address.checked_add(if ascii { self.ascii } else { self.compact })?;
        if !follows || length == 0 {
            return None;
        }
        let bytes = memory.some(start, usize::try_from(length * u64::from(size)).ok()?)?;
        let text: Option<String> = match size {
            1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
            2 => bytes.as_chunks().0.iter().map(|b| char::from_u32(u16::from_le_bytes(*b).into())).collect(),
            4 => bytes.as_chunks().0.iter().map(|b| char::from_u32(u32::from_le_bytes(*b))).collect(),
            _ => None,
        };
        text.filter(|text| !text.contains(char::is_control))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// The memory of a process with one function of Python 3.11 at 0x100, whose type is at 0x40.
    fn image(name: &[u8], form: u32, characters: u64) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x108, &0x40u64.to_le_bytes());
        put(0x100 + 72, &7u32.to_le_bytes());
        put(0x100 + 112, &0x280u64.to_le_bytes());
        put(0x100 + 128, &0x200u64.to_le_bytes());
        put(0x100 + 136, &0x300u64.to_le_bytes());
        put(0x200 + 16, &characters.to_le_bytes());
        put(0x200 + 32, &form.to_le_bytes());
        put(0x200 + if form & 64 != 0 { 48 } else { 72 }, name);
        put(0x280 + 16, &4u64.to_le_bytes());
        put(0x280 + 32, &0x64u32.to_le_bytes());
        put(0x280 + 48, b"a.py");
        put(0x300 + 16, &2u64.to_le_bytes());
        put(0x300 + 32, &[0x80, 0]);
        image
    }

    fn memory(image: &[u8]) -> Memory {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(image).unwrap();
        Memory(file)
    }

    fn read(image: &[u8], code: u64) -> Option<PythonFunction> {
        let layout = PythonLayout::all().iter().find(|layout| layout.minor == 11).unwrap();
        let memory = memory(image);
        layout.function(&memory, layout.head(&memory, code, 0x40)?)
    }

    #[test]
    fn a_code_object_leads_to_its_function_file_and_lines() {
        let function = read(&image(b"Shop.sell", 0x64, 9), 0x100).unwrap();
        assert_eq!((function.name.as_str(), function.file.as_str()), ("Shop.sell", "a.py"));
        assert_eq!((function.first_line, function.lines.as_slice()), (7, [0x80, 0].as_slice()));
    }

    #[test]
    fn names_in_other_alphabets_are_read() {
        let wide: Vec<u8> = "größe€".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&image(&wide, 0x28, 6), 0x100).unwrap().name, "größe€");
        assert_eq!(read(&image(&[b'g', 0xf6], 0x24, 2), 0x100).unwrap().name, "gö");
    }

    #[test]
    fn other_objects_are_not_taken_for_code() {
        assert!(read(&image(b"sell", 0x64, 4), 0x108).is_none(), "another type");
        assert!(read(&image(b"se\nl", 0x64, 4), 0x100).is_none(), "no name has a new line");
        assert!(read(&image(b"sell", 0x44, 4), 0x100).is_none(), "the characters are elsewhere");
        assert!(read(&[0; 16], 0x100).is_none());
    }

    proptest! {
        #[test]
        fn any_memory_is_survived(mut noise in proptest::collection::vec(any::<u8>(), 0x400), code in any::<u16>()) {
            noise[0x108..0x110].copy_from_slice(&0x40u64.to_le_bytes());
            read(&noise, 0x100);
            read(&noise, code.into());
            read(&noise, u64::MAX - u64::from(code));
        }
    }
}
