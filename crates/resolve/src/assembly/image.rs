//! A PE image: its bytes, its sections, and where the tables of .NET begin.
//!
//! Addresses in it are relative to where it is loaded (RVA).

/// The header of ReadyToRun's tables begins with these letters.
const READY_TO_RUN: u32 = 0x0052_5452;

/// Bytes of a file, read with checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(super) fn short(self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    pub(super) fn word(self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    pub(super) fn long(self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    pub(super) fn part(self, at: usize, length: usize) -> Option<Bytes<'a>> {
        self.0.get(at..at.checked_add(length)?).map(Bytes)
    }

    pub(super) fn from(self, at: usize) -> Option<Bytes<'a>> {
        self.0.get(at..).map(Bytes)
    }
}

/// A section as it is loaded: from `address` on, the `size` bytes at `offset` of the file.
#[derive(Debug, Clone, Copy)]
struct PeSection {
    address: u32,
    offset: u32,
    size: u32,
}

/// A part of the image: address and size.
pub(super) type Place = (u32, u32);

/// An assembly that was compiled ahead of time.
#[derive(Debug)]
pub(super) struct PeImage<'a> {
    pub(super) bytes: Bytes<'a>,
    sections: Vec<PeSection>,
    metadata: Place,
    /// Kind and place.
    tables: Vec<(u32, Place)>,
    /// True for x86-64, whose functions are listed with their ends.
    pub(super) lists_ends: bool,
}

impl<'a> PeImage<'a> {
    /// None for any other file.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        const X86_64: u16 = 0x8664;
        const PE32_PLUS: u16 = 0x20b;
        /// The directory of .NET's header among those of the optional header.
        const CLI: usize = 14;
        let bytes = Bytes(bytes);
        if bytes.part(0, 2)?.0 != b"MZ" {
            return None;
        }
        let coff = (bytes.word(0x3c)? as usize).checked_add(4)?;
        if bytes.part(coff - 4, 4)?.0 != b"PE\0\0" {
            return None;
        }
        // The machine's number is changed for systems other than Windows, by one number for each of them.
        let machine = bytes.short(coff)? ^ LINUX;
        let (sections, optional) = (bytes.short(coff + 2)?, bytes.short(coff + 16)? as usize);
        let wide = bytes.short(coff + 20)? == PE32_PLUS;
        let directories = coff + 20 + if wide { 112 } else { 96 };
        let place = |at: usize| Some((bytes.word(at)?, bytes.word(at + 4)?));
        let cli = place(directories + 8 * CLI)?;
        let section = |number: usize| {
            let header = bytes.part(coff + 20 + optional + 40 * number, 40)?;
            Some(PeSection { address: header.word(12)?, size: header.word(16)?, offset: header.word(20)? })
        };
        let sections = (0..usize::from(sections)).map_while(section).collect();
        let mut image =
            PeImage { bytes, sections, metadata: (0, 0), tables: Vec::new(), lists_ends: machine == X86_64 };
        let cli = image.at(cli.0)?;
        image.metadata = (cli.word(8)?, cli.word(12)?);
        let native = image.at(cli.word(64)?)?;
        if native.word(0)? != READY_TO_RUN {
            return None;
        }
        // The header: letters, version, flags, count; then for each table its kind, address and size.
        let count = native.word(12)?;
        let table = |number: usize| {
            let entry = native.part(16 + 12 * number, 12)?;
            Some((entry.word(0)?, (entry.word(4)?, entry.word(8)?)))
        };
        image.tables = (0..count as usize).map_while(table).collect();
        Some(image)
    }

    /// Where the bytes of an address are in the file.
    pub(super) fn offset(&self, address: u32) -> Option<u64> {
        let within = |section: &&PeSection| address.checked_sub(section.address).is_some_and(|at| at < section.size);
        let section = self.sections.iter().find(within)?;
        Some(u64::from(address - section.address) + u64::from(section.offset))
    }

    /// The bytes from an address on.
    pub(super) fn at(&self, address: u32) -> Option<Bytes<'a>> {
        self.bytes.from(usize::try_from(self.offset(address)?).ok()?)
    }

    fn place(&self, (address, size): Place) -> Option<Bytes<'a>> {
        self.at(address)?.part(0, size as usize)
    }

    /// The bytes of its metadata.
    pub(super) fn metadata(&self) -> Option<Bytes<'a>> {
        self.place(self.metadata)
    }

    /// The bytes of one of ReadyToRun's tables.
    pub(super) fn table(&self, kind: u32) -> Option<Bytes<'a>> {
        self.place(self.tables.iter().find(|(found, _)| *found == kind)?.1)
    }
}

/// What the machine's number is changed by for Linux (`IMAGE_FILE_MACHINE_NATIVE_OS_OVERRIDE`).
const LINUX: u16 = 0x7b79;
