//! The build id: the linker's fingerprint of a program or library, by which its debug file is found.

use std::fmt;

use crate::elf::ElfFile;
use crate::error::ModuleError;

/// The longest build id that is accepted, in bytes. Linkers write 8, 16 or 20.
const LENGTH_LIMIT: usize = 64;

/// Type of the note that holds a build id (`NT_GNU_BUILD_ID`).
const NOTE_TYPE: u32 = 3;

/// A module's build id; displayed as lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BuildId(Vec<u8>);

impl BuildId {
    /// The bytes: between 1 and 64.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn read(elf: &ElfFile) -> Result<Option<Self>, ModuleError> {
        Ok(elf.section_bytes(".note.gnu.build-id")?.and_then(|notes| Self::parse(&notes)))
    }

    /// A note is three words (length of the name, length of the contents, type), the name, and the contents, both
    /// padded to four bytes.
    fn parse(mut notes: &[u8]) -> Option<Self> {
        loop {
            let (header, rest) = notes.split_first_chunk::<12>()?;
            let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            let (name, rest) = split_padded(rest, word(0))?;
            let (contents, rest) = split_padded(rest, word(4))?;
            if word(8) == NOTE_TYPE && name == b"GNU\0" {
                let valid = !contents.is_empty() && contents.len() <= LENGTH_LIMIT;
                return valid.then(|| Self(contents.to_vec()));
            }
            notes = rest;
        }
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

fn split_padded(bytes: &[u8], length: u32) -> Option<(&[u8], &[u8])> {
    let length = usize::try_from(length).ok()?;
    let padded = length.checked_next_multiple_of(4)?;
    let field = bytes.get(..length)?;
    Some((field, bytes.get(padded..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], contents: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, contents.len() as u32, kind] {
            bytes.extend(word.to_le_bytes());
        }
        for part in [name, contents] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn the_id_is_found_behind_other_notes() {
        let mut notes = note(1, b"GNU\0", &[0; 16]);
        notes.extend(note(NOTE_TYPE, b"GNU\0", &[0xab, 0x01, 0xff]));
        let id = BuildId::parse(&notes).unwrap();
        assert_eq!(id.to_string(), "ab01ff");
    }

    #[test]
    fn broken_notes_are_no_id() {
        assert_eq!(BuildId::parse(&[]), None);
        assert_eq!(BuildId::parse(&note(NOTE_TYPE, b"GNU\0", &[])), None);
        assert_eq!(BuildId::parse(&note(NOTE_TYPE, b"GNU\0", &[1; 65])), None);
        let mut huge = note(NOTE_TYPE, b"GNU\0", &[1; 20]);
        huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(BuildId::parse(&huge), None);
    }
}
