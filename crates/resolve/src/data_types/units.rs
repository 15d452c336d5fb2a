//! The debug information of one file, unit by unit.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwAt, DwTag, Dwarf, LittleEndian, Reader as _,
    Section as _, Unit, UnitHeader, UnitOffset, constants,
};

use crate::demangle::{MANGLED_LIMIT, bounded, without_long_arguments};
use crate::elf::{DwarfReader, ElfFile};
use crate::error::ModuleError;

pub(super) type Entry = DebuggingInformationEntry<DwarfReader>;

/// The most debug information that is searched, in bytes: about a second of work, after the run. Programs with more get
/// no member names.
const LARGEST: usize = 128 << 20;

/// How many parsed units are kept.
const HELD: usize = 256;

/// The longest name that is shown, in bytes: types made from templates have names of any length.
const NAME: usize = 120;

/// One entry of the debug information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Die {
    /// The unit's number.
    pub(super) unit: usize,
    /// The entry's offset in the unit.
    pub(super) at: UnitOffset<usize>,
}

/// All units of a file.
pub(super) struct Units {
    pub(super) dwarf: Dwarf<DwarfReader>,
    headers: Vec<UnitHeader<DwarfReader>>,
    /// Where each begins in `.debug_info`, ascending.
    starts: Vec<usize>,
    parsed: RefCell<HashMap<usize, Arc<Parsed>>>,
}

/// A unit.
pub(super) struct Parsed {
    pub(super) unit: Unit<DwarfReader>,
    /// The namespaces in the unit: offset of the entry, offset of the end of its contents, and name.
    namespaces: Vec<(usize, usize, String)>,
}

impl Units {
    /// Reads the sections; none without debug information or when it is too large.
    pub(super) fn read(file: &ElfFile) -> Result<Option<Self>, ModuleError> {
        let too_large = file.section(".debug_info").is_none_or(|section| section.size > LARGEST as u64);
        if too_large {
            return Ok(None);
        }
        let dwarf = Dwarf::load(|id| {
            let bytes = file.section_bytes(id.name())?;
            Ok::<_, ModuleError>(DwarfReader::new(bytes.unwrap_or_else(|| Arc::from([])), LittleEndian))
        })?;
        if dwarf.debug_info.reader().len() > LARGEST {
            return Ok(None);
        }
        let (mut headers, mut starts) = (Vec::new(), Vec::new());
        let mut units = dwarf.units();
        // What follows a malformed header cannot be found and is left out.
        while let Ok(Some(header)) = units.next() {
            if let Some(DebugInfoOffset(start)) = header.debug_info_offset() {
                headers.push(header);
                starts.push(start);
            }
        }
        Ok(Some(Self { dwarf, headers, starts, parsed: RefCell::default() }))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.headers.len()
    }

    /// A unit, parsed; none when it is malformed.
    pub(super) fn unit(&self, number: usize) -> Option<Arc<Parsed>> {
        if let Some(parsed) = self.parsed.borrow().get(&number) {
            return Some(parsed.clone());
        }
        let unit = self.dwarf.unit(self.headers.get(number)?.clone()).ok()?;
        let namespaces = namespaces(&self.dwarf, &unit).unwrap_or_default();
        let parsed = Arc::new(Parsed { unit, namespaces });
        let mut held = self.parsed.borrow_mut();
        if held.len() >= HELD {
            held.clear();
        }
        held.insert(number, parsed.clone());
        Some(parsed)
    }

    /// The entry at a place.
    pub(super) fn entry(&self, die: &Die) -> Option<(Arc<Parsed>, Entry)> {
        let parsed = self.unit(die.unit)?;
        let entry = parsed.unit.entry(die.at).ok()?;
        Some((parsed, entry))
    }

    /// The entry that an attribute refers to.
    pub(super) fn reference(&self, unit: usize, value: Option<AttributeValue<DwarfReader>>) -> Option<Die> {
        match value? {
            AttributeValue::UnitRef(at) => Some(Die { unit, at }),
            AttributeValue::DebugInfoRef(DebugInfoOffset(offset)) => {
                let number = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
                let at = UnitOffset(offset - self.starts.get(number)?);
                Some(Die { unit: number, at })
            }
            // Types in units of their own (-fdebug-types-section) are not followed.
            _ => None,
        }
    }

    /// The entry that an attribute of an entry refers to; taken from the entry's origin if it has no such attribute
    /// itself.
    pub(super) fn inherited(&self, unit: usize, entry: &Entry, name: DwAt) -> Option<Die> {
        if let Some(die) = self.reference(unit, entry.attr_value(name)) {
            return Some(die);
        }
        let origin = self.origin(unit, entry)?;
        let (_, entry) = self.entry(&origin)?;
        self.reference(origin.unit, entry.attr_value(name)).or_else(|| {
            let origin = self.origin(origin.unit, &entry)?;
            let (_, entry) = self.entry(&origin)?;
            self.reference(origin.unit, entry.attr_value(name))
        })
    }

    fn origin(&self, unit: usize, entry: &Entry) -> Option<Die> {
        let origin = self.reference(unit, entry.attr_value(constants::DW_AT_abstract_origin));
        origin.or_else(|| self.reference(unit, entry.attr_value(constants::DW_AT_specification)))
    }

    /// The name of an entry, or that of its origin.
    pub(super) fn name(&self, unit: usize, entry: &Entry) -> Option<String> {
        let own = |unit: usize, entry: &Entry| {
            let value = entry.attr_value(constants::DW_AT_name)?;
            let mut text = self.dwarf.attr_string(&self.unit(unit)?.unit, value).ok()?;
            text.truncate(text.len().min(MANGLED_LIMIT)).ok()?;
            let name = bounded(&without_long_arguments(&text.to_string_lossy().ok()?));
            let end = name.char_indices().map(|(at, _)| at).take_while(|at| *at <= NAME).last().unwrap_or(0);
            Some(if name.len() > NAME { format!("{}…", name.get(..end)?) } else { name })
        };
        own(unit, entry).or_else(|| {
            let origin = self.origin(unit, entry)?;
            let (_, entry) = self.entry(&origin)?;
            own(origin.unit, &entry)
        })
    }

    /// The namespaces around an entry, the outermost first.
    pub(super) fn namespace(&self, die: &Die) -> Vec<String> {
        let Some(parsed) = self.unit(die.unit) else { return Vec::new() };
        let around = parsed.namespaces.iter().filter(|(start, end, _)| (*start..*end).contains(&die.at.0));
        around.map(|(.., name)| name.clone()).collect()
    }
}

/// The namespaces of a unit, in the order of their entries, so that outer ones come first.
fn namespaces(dwarf: &Dwarf<DwarfReader>, unit: &Unit<DwarfReader>) -> gimli::Result<Vec<(usize, usize, String)>> {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let mut open: Vec<(isize, usize)> = Vec::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        while let Some((depth, number)) = open.last().copied()
            && entry.depth() <= depth
        {
            found[number].1 = entry.offset().0;
            open.pop();
        }
        if entry.tag() == constants::DW_TAG_namespace {
            let name = entry.attr_value(constants::DW_AT_name).and_then(|name| dwarf.attr_string(unit, name).ok());
            let name = name.and_then(|name| Some(bounded(&name.to_string_lossy().ok()?)));
            open.push((entry.depth(), found.len()));
            found.push((entry.offset().0, usize::MAX, name.unwrap_or_else(|| "(anonymous)".to_owned())));
        }
    }
    Ok(found)
}

/// Whether a tag is a structure's.
pub(super) fn is_structure(tag: DwTag) -> bool {
    matches!(tag, constants::DW_TAG_structure_type | constants::DW_TAG_class_type | constants::DW_TAG_union_type)
}

/// A number in an attribute.
pub(super) fn number(entry: &Entry, name: DwAt) -> Option<u64> {
    entry.attr(name)?.udata_value()
}
