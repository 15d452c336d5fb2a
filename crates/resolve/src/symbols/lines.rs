//! Debug information: inlined functions, files and lines of an address.

use std::sync::Arc;

use addr2line::{LookupContinuation as _, LookupResult};
use gimli::{AbbreviationsCacheStrategy, Dwarf, Error, LittleEndian, Reader as _, SectionId};

use super::split::SplitUnits;
use crate::demangle::{MANGLED_LIMIT, bounded};
use crate::elf::{DwarfReader, ElfFile};
use crate::error::ModuleError;
use crate::site::Site;

/// How many functions are taken from one address. Compilers inline a few dozen levels deep; only hostile debug
/// information has thousands.
const SITES_LIMIT: usize = 256;

/// The debug information of a module, parsed only as far as it was needed.
pub(crate) struct Lines {
    context: addr2line::Context<DwarfReader>,
    split: SplitUnits,
}

/// Why debug information cannot be used.
pub(crate) enum LinesError {
    Module(ModuleError),
    Malformed(Error),
}

impl From<ModuleError> for LinesError {
    fn from(error: ModuleError) -> Self {
        Self::Module(error)
    }
}

impl From<Error> for LinesError {
    fn from(error: Error) -> Self {
        Self::Malformed(error)
    }
}

impl Lines {
    /// Reads the debug information of `file`; none if it has none.
    pub(crate) fn read(
        file: &ElfFile,
        shared: Option<&ElfFile>,
        split: impl FnOnce() -> SplitUnits,
    ) -> Result<Option<Self>, LinesError> {
        if file.section(".debug_info").is_none() {
            return Ok(None);
        }
        let mut dwarf = Dwarf::load(|id| section(file, id))?;
        if let Some(shared) = shared {
            dwarf.load_sup(|id| section(shared, id))?;
        }
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        Ok(Some(Self { context: addr2line::Context::from_dwarf(dwarf)?, split: split() }))
    }

    /// The functions at a stated address, the innermost inlined one first; empty when nothing is known.
    pub(crate) fn sites(&self, address: u64) -> Result<Vec<Site>, Error> {
        // The library adds one to the address. No code lies at the last one; only damaged headers lead there.
        if address == u64::MAX {
            return Ok(Vec::new());
        }
        let mut lookup = self.context.find_frames(address);
        let mut frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames?,
                LookupResult::Load { load, continuation } => lookup = continuation.resume(self.split.load(&load)),
            }
        };
        let mut sites = Vec::new();
        while let Some(frame) = frames.next()? {
            if sites.len() == SITES_LIMIT {
                break;
            }
            let (file, line) = frame.location.map_or((None, None), |at| (at.file, at.line));
            sites.push(Site {
                name: frame.function.and_then(|function| name(function.name)),
                file: file.map(tidy),
                line: line.filter(|&line| line > 0),
            });
        }
        Ok(sites)
    }
}

/// Reads the sections needed to get from addresses to functions and lines; those about variables and types are not
/// read.
fn section(file: &ElfFile, id: SectionId) -> Result<DwarfReader, ModuleError> {
    let needed = matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    );
    let bytes = if needed { file.section_bytes(id.name())? } else { None };
    Ok(DwarfReader::new(bytes.unwrap_or_else(|| Arc::from([])), LittleEndian))
}

/// A name, or as much of it as can be decoded.
fn name(mut text: DwarfReader) -> Option<String> {
    let length = text.len().min(MANGLED_LIMIT + 1);
    text.truncate(length).ok()?;
    Some(text.to_string_lossy().ok()?.into_owned())
}

/// Build systems leave `./` in the middle of paths.
fn tidy(path: &str) -> String {
    bounded(path).replace("/./", "/")
}
