//! The marks in a program's file: its static user-space probes ("SDT" notes, version 3) of the provider `knee`.
//!
//! A mark is a no-op instruction and a note that says where the no-op is and where its arguments are when it is
//! executed.
//!
//! The file is hostile input, and it decides where a running program gets breakpoints. So every place is checked: it
//! must be a no-op in an executable segment. Anywhere else, a breakpoint could make the program execute half an
//! instruction.

mod operand;

use std::fs::File;

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef};

use crate::elf::Header;

pub use operand::{Argument, ArgumentLocation, Index, OperandError, RegisterPart};

/// The provider of the marks. Notes of other providers are left alone.
pub const PROVIDER: &str = "knee";

/// How many bytes of notes are read, over all sections. A mark takes 80, so this is more marks than can be attached to.
const NOTES_LIMIT: u64 = 16 << 20;

/// How many marks a file may have. Templates, inlined functions and unrolled loops multiply the marks in a source; but
/// each needs a breakpoint of its own, and nobody writes thousands by hand.
const PROBE_LIMIT: usize = 1 << 14;

/// The longest name of a mark that is accepted, in bytes.
const NAME_LIMIT: usize = 64;

/// Owner and type of the notes, as their format defines them.
const OWNER: &[u8] = b"stapsdt";
const NOTE_TYPE: u32 = 3;

/// Why the marks of a file cannot be used. Messages leave out the path, which the caller knows.
#[derive(Debug, thiserror::Error)]
pub enum ProbesError {
    /// It is not an ELF file, or is one for 32-bit or big-endian machines.
    #[error("it is not a 64-bit little-endian ELF file")]
    NotElf,
    /// It is for a processor whose registers are not known here.
    #[error("it is for a processor other than x86-64 and AArch64 (ELF machine {machine})")]
    Machine {
        /// The number that ELF gives to the processor (`e_machine`).
        machine: u16,
    },
    /// A part of it does not agree with its headers.
    #[error("malformed {what}: {reason}")]
    Malformed {
        /// The part of the file.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// It has more notes or marks than any real program.
    #[error("it has {count} {what}; at most {limit} are read")]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
        /// How many it claims, or how many were found before reading stopped.
        count: u64,
        /// How many are accepted.
        limit: u64,
    },
    /// It has marks, but none of them is at a no-op in executable code: the file was changed after it was linked, or
    /// was not linked at all.
    #[error("none of its {count} marks is at a no-op instruction: was the program changed after it was linked?")]
    Displaced {
        /// How many marks there are.
        count: usize,
    },
}

/// One mark in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The mark's name: `begin`, `end`, `task_begin`, `task_end` or `work`, or a name that a newer header defines. At
    /// most 64 bytes long; otherwise as in the file, including control characters.
    pub name: String,
    /// Where its no-op is, in bytes from the start of the file: what a uprobe takes.
    pub file_offset: u64,
    /// Where its semaphore is, in bytes from the start of the file, when it has one: a count of listeners, which a
    /// program may check before it passes the mark.
    pub semaphore: Option<u64>,
    /// Its arguments, in order. One that cannot be read does not affect the others.
    pub arguments: Vec<Result<Argument, OperandError>>,
}

/// Reads the marks from a file's bytes, which must be aligned like memory from an allocator. A file without marks is no
/// error.
///
/// Marks that are not at a no-op in executable code are left out, because linkers keep the notes of functions that they
/// drop, with meaningless addresses. If that is so for all marks, it is an error.
pub fn probes(file_bytes: &[u8]) -> Result<Vec<Probe>, ProbesError> {
    read(file_bytes)
}

/// Like [`probes`], but reads only those parts of the file that it needs.
pub fn probes_in_file(file: &File) -> Result<Vec<Probe>, ProbesError> {
    read(&ReadCache::new(file))
}

/// The parts of the file that addresses are looked up in.
struct Image<'data, R> {
    data: R,
    segments: &'data [elf::ProgramHeader64<Endianness>],
    /// Where `.stapsdt.base` is now.
    base: Option<u64>,
    no_ops: NoOps,
}

/// The no-ops that a mark may be.
type NoOps = &'static [&'static [u8]];

/// The one-byte no-op, which `knee.h` writes, and the five-byte one, at which newer kernels have cheaper breakpoints.
const X86_64_NO_OPS: NoOps = &[b"\x90", b"\x0f\x1f\x44\0\0"];
const AARCH64_NO_OPS: NoOps = &[b"\x1f\x20\x03\xd5"];

const ENDIAN: Endianness = Endianness::Little;

fn read<'data, R: ReadRef<'data>>(data: R) -> Result<Vec<Probe>, ProbesError> {
    let header = Header::parse(data).map_err(|_| ProbesError::NotElf)?;
    if !header.is_class_64() || !header.is_little_endian() {
        return Err(ProbesError::NotElf);
    }
    let machine = header.e_machine(ENDIAN);
    let (registers, no_ops) = match machine {
        elf::EM_X86_64 => (operand::X86_64, X86_64_NO_OPS),
        elf::EM_AARCH64 => (operand::AARCH64, AARCH64_NO_OPS),
        other => return Err(ProbesError::Machine { machine: other.0 }),
    };
    let sections = header.sections(ENDIAN, data).map_err(malformed("section headers"))?;
    let segments = header.program_headers(ENDIAN, data).map_err(malformed("program headers"))?;
    let base = sections.section_by_name(ENDIAN, b".stapsdt.base").map(|(_, section)| section.sh_addr(ENDIAN));
    let image = Image { data, segments, base, no_ops };

    let (mut probes, mut count, mut size) = (Vec::new(), 0, 0u64);
    for section in sections.iter() {
        if section.sh_type(ENDIAN) != elf::SHT_NOTE || sections.section_name(ENDIAN, section) != Ok(b".note.stapsdt") {
            continue;
        }
        size = size.saturating_add(section.sh_size(ENDIAN));
        if size > NOTES_LIMIT {
            return Err(ProbesError::TooLarge { what: "bytes of notes", count: size, limit: NOTES_LIMIT });
        }
        let what = malformed("notes of marks");
        let Some(mut notes) = section.notes(ENDIAN, data).map_err(&what)? else { continue };
        while let Some(note) = notes.next().map_err(&what)? {
            if note.name() != OWNER || note.n_type(ENDIAN).0 != NOTE_TYPE {
                continue;
            }
            let Some(note) = Note::parse(note.desc())? else { continue };
            count += 1;
            if count > PROBE_LIMIT {
                return Err(ProbesError::TooLarge { what: "marks", count: count as u64, limit: PROBE_LIMIT as u64 });
            }
            probes.extend(image.place(&note, registers));
        }
    }
    if probes.is_empty() && count > 0 {
        return Err(ProbesError::Displaced { count });
    }
    Ok(probes)
}

fn malformed(what: &'static str) -> impl Fn(object::Error) -> ProbesError {
    move |error| ProbesError::Malformed { what, reason: error.to_string() }
}

/// The contents of one of our notes, with the addresses that the file states.
struct Note<'data> {
    address: u64,
    base: u64,
    semaphore: u64,
    name: &'data [u8],
    arguments: &'data [u8],
}

impl<'data> Note<'data> {
    /// Parses three addresses and three zero-terminated strings; none for another provider.
    fn parse(contents: &'data [u8]) -> Result<Option<Self>, ProbesError> {
        let short = || ProbesError::Malformed { what: "note of a mark", reason: "it ends too early".to_owned() };
        let (addresses, strings) = contents.split_first_chunk::<24>().ok_or_else(short)?;
        let address = |index: usize| {
            let bytes = addresses[8 * index..].first_chunk().copied().unwrap_or_default();
            u64::from_le_bytes(bytes)
        };
        let (provider, strings) = string(strings).ok_or_else(short)?;
        if provider != PROVIDER.as_bytes() {
            return Ok(None);
        }
        let (name, strings) = string(strings).ok_or_else(short)?;
        let (arguments, _) = string(strings).ok_or_else(short)?;
        if name.is_empty() || name.len() > NAME_LIMIT {
            let reason = format!("its name has {} bytes, not 1 to {NAME_LIMIT}", name.len());
            return Err(ProbesError::Malformed { what: "note of a mark", reason });
        }
        Ok(Some(Self { address: address(0), base: address(1), semaphore: address(2), name, arguments }))
    }
}

/// The zero-terminated string at the start, and what follows it.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

impl<'data, R: ReadRef<'data>> Image<'data, R> {
    /// The probe of a note; none when the note's address has no no-op.
    fn place(&self, note: &Note<'_>, registers: operand::OperandParser) -> Option<Probe> {
        // A tool that moves all addresses of a linked file (prelink) does not change notes, as they are not loaded; but
        // it moves `.stapsdt.base` by as much as everything else.
        let moved = match self.base {
            Some(now) if note.base != 0 => now.wrapping_sub(note.base),
            _ => 0,
        };
        let file_offset = self.file_offset(note.address.wrapping_add(moved), true)?;
        let is = |no_op: &&[u8]| self.data.read_bytes_at(file_offset, no_op.len() as u64) == Ok(no_op);
        if !self.no_ops.iter().any(is) {
            return None;
        }
        let semaphore = match note.semaphore {
            0 => None,
            address => Some(self.file_offset(address.wrapping_add(moved), false)?),
        };
        Some(Probe {
            name: String::from_utf8_lossy(note.name).into_owned(),
            file_offset,
            semaphore,
            arguments: operand::parse(&String::from_utf8_lossy(note.arguments), registers),
        })
    }

    /// The offset in the file of the byte at an address.
    fn file_offset(&self, address: u64, executable: bool) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = address.checked_sub(segment.p_vaddr(ENDIAN))?;
            let loaded = segment.p_type(ENDIAN) == elf::PT_LOAD
                && within < segment.p_filesz(ENDIAN)
                && (!executable || segment.p_flags(ENDIAN).0 & elf::PF_X.0 != 0);
            if loaded { segment.p_offset(ENDIAN).checked_add(within) } else { None }
        })
    }
}
