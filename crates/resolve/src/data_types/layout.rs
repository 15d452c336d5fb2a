//! Types: their sizes, and which member is at a distance from their start.

use std::fmt::Write as _;

use gimli::constants;

use super::units::{Die, Entry, Units, is_structure, number};

/// How deep types are followed: members of members, and names of other types.
const DEPTH: usize = 24;

/// Types with their members.
pub(super) struct Layout<'u> {
    pub(super) units: &'u Units,
}

/// A structure for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Structure {
    /// Its name, with keyword and namespaces.
    pub(super) name: String,
    /// It belongs to the language's own library.
    pub(super) library: bool,
}

/// One step from an object to a part of it.
struct MemberStep {
    text: String,
    /// Whether it is the only part of its object.
    only: bool,
}

/// A member of a structure.
pub(super) struct Member {
    pub(super) name: Option<String>,
    pub(super) at: u64,
    pub(super) of: Die,
}

impl Layout<'_> {
    /// The type without qualifiers and aliases, and the last alias that was followed.
    pub(super) fn bare(&self, of: &Die) -> Option<(Die, Entry, Option<String>)> {
        let (mut at, mut called) = (*of, None);
        for _ in 0..DEPTH {
            let (_, entry) = self.units.entry(&at)?;
            match entry.tag() {
                constants::DW_TAG_typedef => called = self.units.name(at.unit, &entry).or(called),
                constants::DW_TAG_const_type
                | constants::DW_TAG_volatile_type
                | constants::DW_TAG_restrict_type
                | constants::DW_TAG_atomic_type => {}
                _ => return Some((at, entry, called)),
            }
            at = self.units.reference(at.unit, entry.attr_value(constants::DW_AT_type))?;
        }
        None
    }

    /// Bytes; none when the size is not known or the type has none.
    pub(super) fn size(&self, of: &Die) -> Option<u64> {
        self.size_within(of, DEPTH)
    }

    fn size_within(&self, of: &Die, depth: usize) -> Option<u64> {
        let (at, entry, _) = self.bare(of)?;
        let size = match (number(&entry, constants::DW_AT_byte_size), entry.tag()) {
            (Some(size), _) => size,
            (None, constants::DW_TAG_array_type) => {
                let element = self.units.reference(at.unit, entry.attr_value(constants::DW_AT_type))?;
                let counts = self.counts(&at)?;
                let size = self.size_within(&element, depth.checked_sub(1)?)?;
                counts.iter().try_fold(size, |size, count| size.checked_mul(*count))?
            }
            (None, constants::DW_TAG_pointer_type | constants::DW_TAG_reference_type) => 8,
            (None, constants::DW_TAG_rvalue_reference_type) => 8,
            _ => return None,
        };
        (size > 0).then_some(size)
    }

    /// The number of elements of an array, by dimension.
    fn counts(&self, array: &Die) -> Option<Vec<u64>> {
        let parsed = self.units.unit(array.unit)?;
        let mut tree = parsed.unit.entries_tree(Some(array.at)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut counts = Vec::new();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if entry.tag() == constants::DW_TAG_subrange_type {
                let upper = || number(entry, constants::DW_AT_upper_bound)?.checked_add(1);
                counts.push(number(entry, constants::DW_AT_count).or_else(upper)?);
            }
        }
        (!counts.is_empty()).then_some(counts)
    }

    /// The name of a structure; none for other types.
    pub(super) fn structure(&self, of: &Die) -> Option<Structure> {
        let (at, entry, called) = self.bare(of)?;
        if !is_structure(entry.tag()) {
            return None;
        }
        let namespaces = self.units.namespace(&at);
        // Names of the languages' own libraries: parts of their types say nothing about the program.
        let library = matches!(
            namespaces.first().map(String::as_str),
            Some("std" | "core" | "alloc" | "__gnu_cxx" | "__cxxabiv1")
        );
        let keyword = match entry.tag() {
            constants::DW_TAG_class_type => "class",
            constants::DW_TAG_union_type => "union",
            _ => "struct",
        };
        let name = match (self.units.name(at.unit, &entry), called) {
            (Some(name), _) => {
                let mut whole = format!("{keyword} ");
                let own = namespaces.iter().filter(|name| !name.starts_with('{') && !name.starts_with('('));
                own.for_each(|outer| whole.push_str(&format!("{outer}::")));
                whole + &name
            }
            (None, Some(called)) => called,
            (None, None) => format!("{keyword} without a name"),
        };
        Some(Structure { name, library })
    }

    /// What lies at a distance from the start of an object, as the source would write it after the object's name; empty
    /// for the object itself.
    pub(super) fn member(&self, of: &Die, distance: u64) -> Option<String> {
        let (mut at, mut within) = (*of, distance);
        let mut steps: Vec<MemberStep> = Vec::new();
        // Members of a base class belong to the class that has it.
        let mut only_base = true;
        for _ in 0..DEPTH {
            let (die, entry, _) = self.bare(&at)?;
            match entry.tag() {
                tag if is_structure(tag) => {
                    let Some((next, from, name, only)) = self.part(&die, within) else { break };
                    only_base &= only;
                    if let Some(name) = name {
                        steps.push(MemberStep { text: format!(".{name}"), only: only_base });
                        only_base = true;
                    }
                    (at, within) = (next, within - from);
                }
                constants::DW_TAG_array_type => {
                    let element = self.units.reference(die.unit, entry.attr_value(constants::DW_AT_type))?;
                    let (Some(counts), Some(size)) = (self.counts(&die), self.size(&element)) else { break };
                    let mut text = String::new();
                    for nth in 0..counts.len() {
                        let inner = counts.get(nth + 1..).unwrap_or_default().iter().product::<u64>().max(1);
                        let step = size.checked_mul(inner)?;
                        write!(text, "[{}]", within / step).ok()?;
                        within %= step;
                    }
                    steps.push(MemberStep { text, only: false });
                    at = element;
                }
                _ => break,
            }
        }
        // A structure's only member (an atomic's value, a cell's content) says no more than the structure. The first
        // step is kept, because it is the program's own.
        while steps.len() > 1 && steps.last().is_some_and(|step| step.only) {
            steps.pop();
        }
        Some(steps.into_iter().map(|step| step.text).collect())
    }

    /// The member of a structure that covers a distance from its start: its type, its distance from the start, its name
    /// (none for a base class), and whether it is the only member.
    fn part(&self, of: &Die, within: u64) -> Option<(Die, u64, Option<String>, bool)> {
        let members = self.members(of)?;
        let covers = |member: &&Member| {
            let size = self.size(&member.of).unwrap_or(0);
            within.checked_sub(member.at).is_some_and(|distance| distance < size)
        };
        let mut covering = members.iter().filter(covers);
        let (first, None) = (covering.next()?, covering.next()) else {
            return None; // a union or bit fields: which member is used is not known
        };
        let sized = members.iter().filter(|member| self.size(&member.of).is_some()).count();
        // The members of Rust's tuples have numbers as names.
        let plain = |name: &String| match name.strip_prefix("__") {
            Some(rest) if rest.parse::<u32>().is_ok() => rest.to_owned(),
            _ => name.clone(),
        };
        Some((first.of, first.at, first.name.as_ref().map(plain), sized == 1))
    }

    /// The members of a structure, base classes included; none when some parts are not always there.
    pub(super) fn members(&self, of: &Die) -> Option<Vec<Member>> {
        let parsed = self.units.unit(of.unit)?;
        let mut tree = parsed.unit.entries_tree(Some(of.at)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut members = Vec::new();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            let inherited = match entry.tag() {
                constants::DW_TAG_member => false,
                constants::DW_TAG_inheritance => true,
                constants::DW_TAG_variant_part => return None,
                _ => continue,
            };
            let place = entry.attr(constants::DW_AT_data_member_location);
            let at = match place.map(gimli::Attribute::udata_value) {
                None if entry.has_attr(constants::DW_AT_data_bit_offset) => {
                    number(entry, constants::DW_AT_data_bit_offset)? / 8
                }
                None if entry.has_attr(constants::DW_AT_external) => continue, // part of the class, not of its objects
                None => 0,
                Some(Some(at)) => at,
                Some(None) => continue, // where a virtual base is, only the object knows
            };
            let Some(kind) = self.units.reference(of.unit, entry.attr_value(constants::DW_AT_type)) else { continue };
            let name = if inherited { None } else { self.units.name(of.unit, entry) };
            members.push(Member { name, at, of: kind });
        }
        Some(members)
    }
}
