//! The parts of an ELF file that the crate needs: segments, sections, and the bytes of one section.
//!
//! Files are read, never mapped into memory: a target's program may be rebuilt and truncated while it is profiled, and
//! a mapped file would then kill the profiler. Sizes in a file are not trusted: they are checked before memory is
//! allocated for them. Room: [`executable`] what a program's file says about how it is loaded.
//!
//! May import: `error`, object.

pub mod executable;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use object::elf;
use object::read::elf::FileHeader;
use object::{Endianness, LittleEndian, pod};

use crate::error::ModuleError;

/// The largest section that is read, in bytes. The debug sections of the largest browsers stay below it.
const SECTION_LIMIT: u64 = 2 << 30;

/// A compressed section may claim at most this many times its size: deflate reaches 1,032, debug information about 10.
const COMPRESSION_LIMIT: u64 = 1100;

/// Where the bytes of an ELF file come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file that stays open, so that it can be read after it was removed or its namespace is gone.
    File(File),
    /// An image in memory (the vdso).
    Memory(Arc<[u8]>),
}

impl Source {
    fn read(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let outside = || io::Error::from(io::ErrorKind::UnexpectedEof);
        match self {
            Self::File(file) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
                bytes.resize(size, 0);
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
            Self::Memory(image) => {
                let start = usize::try_from(offset).map_err(|_| outside())?;
                let end = start.checked_add(size).ok_or_else(outside)?;
                Ok(image.get(start..end).ok_or_else(outside)?.to_vec())
            }
        }
    }
}

/// A loadable segment (`PT_LOAD`). Addresses are those that the file states, before relocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) file_size: u64,
    /// In bytes, including the part that is not in the file and starts as zeros.
    pub(crate) memory_size: u64,
    pub(crate) executable: bool,
}

/// A section header.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) kind: elf::SectionType,
    pub(crate) link: usize,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) executable: bool,
    offset: u64,
    compressed: bool,
}

/// An ELF file with its headers read.
#[derive(Debug)]
pub(crate) struct ElfFile {
    path: PathBuf,
    source: Source,
    length: u64,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
}

/// The header of a 64-bit file.
pub(crate) type Header = elf::FileHeader64<Endianness>;

/// A section of debug information, as gimli reads it.
pub(crate) type DwarfReader = gimli::EndianArcSlice<gimli::LittleEndian>;

type Result<T> = std::result::Result<T, ModuleError>;

impl ElfFile {
    /// Reads the headers. `path` is for messages.
    pub(crate) fn read(path: PathBuf, source: Source) -> Result<Self> {
        let length = match &source {
            Source::File(file) => {
                file.metadata().map_err(|source| ModuleError::Read { path: path.clone(), source })?.len()
            }
            Source::Memory(image) => image.len() as u64,
        };
        let mut file = Self { path, source, length, segments: Vec::new(), sections: Vec::new() };
        if length < size_of::<Header>() as u64 {
            return Err(file.unsupported());
        }
        let bytes = file.bytes("file header", 0, size_of::<Header>() as u64)?;
        let header = Header::parse(&*bytes).map_err(|_| file.unsupported())?;
        let endian = match header.endian() {
            Ok(Endianness::Little) => Endianness::Little,
            _ => return Err(file.unsupported()),
        };
        file.read_segments(header.e_phoff.get(endian), header.e_phnum.get(endian))?;
        file.read_sections(header.e_shoff.get(endian), header.e_shnum.get(endian), header.e_shstrndx.get(endian).0)?;
        Ok(file)
    }

    fn read_segments(&mut self, offset: u64, count: u16) -> Result<()> {
        type Entry = elf::ProgramHeader64<LittleEndian>;
        let bytes = self.bytes("program headers", offset, u64::from(count) * size_of::<Entry>() as u64)?;
        let (entries, _) = pod::slice_from_bytes::<Entry>(&bytes, count.into())
            .map_err(|()| self.malformed("program headers", offset))?;
        let endian = LittleEndian;
        self.segments = entries
            .iter()
            .filter(|entry| entry.p_type.get(endian) == elf::PT_LOAD)
            .map(|entry| Segment {
                address: entry.p_vaddr.get(endian),
                offset: entry.p_offset.get(endian),
                file_size: entry.p_filesz.get(endian),
                memory_size: entry.p_memsz.get(endian),
                executable: entry.p_flags.get(endian).0 & elf::PF_X.0 != 0,
            })
            .collect();
        Ok(())
    }

    fn read_sections(&mut self, offset: u64, count: u16, names: u16) -> Result<()> {
        type Entry = elf::SectionHeader64<LittleEndian>;
        if offset == 0 || count == 0 {
            return Ok(()); // segments suffice to translate addresses
        }
        let bytes = self.bytes("section headers", offset, u64::from(count) * size_of::<Entry>() as u64)?;
        let (entries, _) = pod::slice_from_bytes::<Entry>(&bytes, count.into())
            .map_err(|()| self.malformed("section headers", offset))?;
        let endian = LittleEndian;
        let names = match entries.get(usize::from(names)) {
            Some(entry) => self.bytes("section names", entry.sh_offset.get(endian), entry.sh_size.get(endian))?,
            None => Vec::new(),
        };
        self.sections = entries
            .iter()
            .map(|entry| {
                let flags = entry.sh_flags.get(endian).0;
                Section {
                    name: string_at(&names, entry.sh_name.get(endian)),
                    kind: entry.sh_type.get(endian),
                    link: entry.sh_link.get(endian) as usize,
                    address: entry.sh_addr.get(endian),
                    size: entry.sh_size.get(endian),
                    executable: flags & elf::SHF_EXECINSTR.0 != 0,
                    offset: entry.sh_offset.get(endian),
                    compressed: flags & elf::SHF_COMPRESSED.0 != 0,
                }
            })
            .collect();
        Ok(())
    }

    /// The section of that name, if it has contents in this file.
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.kind != elf::SHT_NOBITS)
    }

    /// The bytes of a section, decompressed; none when the file has no such section.
    pub(crate) fn section_bytes(&self, name: &str) -> Result<Option<Arc<[u8]>>> {
        self.section(name).map(|section| self.contents(section)).transpose()
    }

    /// The bytes of a section, decompressed.
    pub(crate) fn contents(&self, section: &Section) -> Result<Arc<[u8]>> {
        if section.kind == elf::SHT_NOBITS {
            return Ok(Arc::from([]));
        }
        let bytes = self.bytes(&section.name, section.offset, section.size)?;
        if section.compressed { self.decompress(section, &bytes) } else { Ok(Arc::from(bytes)) }
    }

    fn decompress(&self, section: &Section, bytes: &[u8]) -> Result<Arc<[u8]>> {
        let malformed = || self.malformed(&section.name, section.offset);
        let (header, data) =
            pod::from_bytes::<elf::CompressionHeader64<LittleEndian>>(bytes).map_err(|()| malformed())?;
        let format = match header.ch_type.get(LittleEndian) {
            elf::ELFCOMPRESS_ZLIB => object::CompressionFormat::Zlib,
            elf::ELFCOMPRESS_ZSTD => object::CompressionFormat::Zstandard,
            _ => return Err(malformed()),
        };
        let uncompressed_size = header.ch_size.get(LittleEndian);
        let limit = SECTION_LIMIT.min((data.len() as u64).saturating_mul(COMPRESSION_LIMIT));
        if uncompressed_size > limit {
            return Err(self.too_large(&section.name, uncompressed_size));
        }
        let compressed = object::CompressedData { format, data, uncompressed_size };
        let plain = compressed.decompress().map_err(|_| malformed())?;
        Ok(Arc::from(plain.into_owned()))
    }

    /// Reads `size` bytes at `offset`; checks that they lie inside the file before allocating.
    fn bytes(&self, what: &str, offset: u64, size: u64) -> Result<Vec<u8>> {
        if offset.checked_add(size).is_none_or(|end| end > self.length) {
            return Err(self.malformed(what, offset));
        }
        let length = usize::try_from(size).ok().filter(|_| size <= SECTION_LIMIT);
        let length = length.ok_or_else(|| self.too_large(what, size))?;
        self.source.read(offset, length).map_err(|source| ModuleError::Read { path: self.path.clone(), source })
    }

    /// Up to `size` bytes at `offset`; fewer at the end of the file, none when they cannot be read.
    pub(crate) fn some_bytes(&self, offset: u64, size: usize) -> Vec<u8> {
        let size = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX).min(size);
        self.source.read(offset, size).unwrap_or_default()
    }

    /// Reads the whole file in pieces, for a checksum.
    pub(crate) fn for_each_piece(&self, mut each: impl FnMut(&[u8])) -> Result<()> {
        const PIECE: u64 = 1 << 20;
        let mut offset = 0;
        while offset < self.length {
            let size = PIECE.min(self.length - offset);
            each(&self.bytes("file", offset, size)?);
            offset += size;
        }
        Ok(())
    }

    fn unsupported(&self) -> ModuleError {
        ModuleError::NotElf { path: self.path.clone() }
    }

    fn malformed(&self, what: &str, offset: u64) -> ModuleError {
        ModuleError::Malformed { path: self.path.clone(), what: what.to_owned(), offset }
    }

    fn too_large(&self, what: &str, size: u64) -> ModuleError {
        ModuleError::TooLarge { path: self.path.clone(), what: what.to_owned(), size }
    }
}

/// The zero-terminated string at `offset`; empty when there is none.
fn string_at(strings: &[u8], offset: u32) -> String {
    let tail = strings.get(offset as usize..).unwrap_or_default();
    let end = tail.iter().position(|&byte| byte == 0).unwrap_or(tail.len());
    String::from_utf8_lossy(&tail[..end]).into_owned()
}
