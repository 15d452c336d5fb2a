//! Variables: those of the code at an address, and those with static storage.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::{AttributeValue, EntriesTreeNode, Operation, UnitOffset, constants};

use super::layout::Layout;
use super::units::{Die, Entry, Units};
use crate::elf::DwarfReader;

/// How many variables are looked at for one code address, and how deep inlined functions are followed.
const VARIABLES: usize = 512;
const DEPTH: usize = 64;

/// A variable or parameter of a function.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Its type.
    pub(super) of: Die,
    /// The number of its unit.
    pub(super) unit: usize,
    pub(super) location: AttributeValue<DwarfReader>,
    /// Its function's rule for where frames begin.
    pub(super) frame_base: Option<AttributeValue<DwarfReader>>,
}

/// Functions of a unit: code range and entry.
type Functions = Vec<(Range<u64>, UnitOffset<usize>)>;

/// What has been looked up so far.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Code ranges of the units.
    code: OnceCell<Vec<(Range<u64>, usize)>>,
    functions: RefCell<HashMap<usize, Arc<Functions>>>,
    variables: RefCell<HashMap<u64, Arc<Vec<Variable>>>>,
    /// Sorted by start: address, size, type.
    statics: OnceCell<Vec<(u64, u64, Die)>>,
}

impl Scopes {
    /// The variables that exist at a stated code address, in its function and in all functions inlined there.
    pub(super) fn variables(&self, units: &Units, at: u64) -> Arc<Vec<Variable>> {
        if let Some(known) = self.variables.borrow().get(&at) {
            return known.clone();
        }
        let mut found = Vec::new();
        for (range, unit) in self.code.get_or_init(|| code(units)) {
            if range.contains(&at) {
                self.in_unit(units, *unit, at, &mut found);
            }
        }
        let found = Arc::new(found);
        self.variables.borrow_mut().insert(at, found.clone());
        found
    }

    fn in_unit(&self, units: &Units, number: usize, at: u64, found: &mut Vec<Variable>) -> Option<()> {
        let known = self.functions.borrow().get(&number).cloned();
        let functions = match known {
            Some(functions) => functions,
            None => {
                let functions = Arc::new(functions(units, number).unwrap_or_default());
                self.functions.borrow_mut().insert(number, functions.clone());
                functions
            }
        };
        let (_, function) = functions.iter().find(|(range, _)| range.contains(&at))?;
        let parsed = units.unit(number)?;
        let mut tree = parsed.unit.entries_tree(Some(*function)).ok()?;
        let root = tree.root().ok()?;
        let frame_base = root.entry().attr_value(constants::DW_AT_frame_base);
        collect(units, number, at, root, frame_base.as_ref(), DEPTH, found)
    }

    /// The variable with static storage at a stated address: its type and where it starts.
    pub(super) fn static_at(&self, units: &Units, at: u64) -> Option<(Die, u64)> {
        let statics = self.statics.get_or_init(|| statics(units));
        let after = statics.partition_point(|(start, ..)| *start <= at);
        let (start, size, of) = statics.get(after.checked_sub(1)?)?;
        (at - start < *size).then_some((*of, *start))
    }
}

fn code(units: &Units) -> Vec<(Range<u64>, usize)> {
    let mut code = Vec::new();
    for number in 0..units.len() {
        let Some(parsed) = units.unit(number) else { continue };
        let Ok(mut ranges) = units.dwarf.unit_ranges(&parsed.unit) else { continue };
        while let Ok(Some(range)) = ranges.next() {
            code.push((range.begin..range.end, number));
        }
    }
    code
}

/// The functions of a unit that have code of their own.
fn functions(units: &Units, number: usize) -> Option<Functions> {
    let parsed = units.unit(number)?;
    let mut found = Vec::new();
    let mut entries = parsed.unit.entries();
    while let Some(entry) = entries.next_dfs().ok()? {
        if entry.tag() == constants::DW_TAG_subprogram {
            let Ok(mut ranges) = units.dwarf.die_ranges(&parsed.unit, entry) else { continue };
            while let Ok(Some(range)) = ranges.next() {
                found.push((range.begin..range.end, entry.offset()));
            }
        }
    }
    Some(found)
}

/// The variables below an entry, in the scopes that contain an address.
fn collect(
    units: &Units,
    unit: usize,
    at: u64,
    node: EntriesTreeNode<'_, '_, DwarfReader>,
    frame_base: Option<&AttributeValue<DwarfReader>>,
    depth: usize,
    found: &mut Vec<Variable>,
) -> Option<()> {
    let parsed = units.unit(unit)?;
    let depth = depth.checked_sub(1)?;
    let mut children = node.children();
    while let Some(child) = children.next().ok()? {
        let entry = child.entry();
        match entry.tag() {
            constants::DW_TAG_variable | constants::DW_TAG_formal_parameter if found.len() < VARIABLES => {
                found.extend(variable(units, unit, entry, frame_base));
            }
            constants::DW_TAG_lexical_block | constants::DW_TAG_inlined_subroutine => {
                let mut ranges = units.dwarf.die_ranges(&parsed.unit, entry).ok()?;
                let (mut any, mut inside) = (false, false);
                while let Some(range) = ranges.next().ok()? {
                    any = true;
                    inside |= (range.begin..range.end).contains(&at);
                }
                if inside || !any {
                    collect(units, unit, at, child, frame_base, depth, found)?;
                }
            }
            _ => {}
        }
    }
    Some(())
}

fn variable(
    units: &Units,
    unit: usize,
    entry: &Entry,
    frame_base: Option<&AttributeValue<DwarfReader>>,
) -> Option<Variable> {
    Some(Variable {
        location: entry.attr_value(constants::DW_AT_location)?,
        name: units.name(unit, entry)?,
        of: units.inherited(unit, entry, constants::DW_AT_type)?,
        unit,
        frame_base: frame_base.cloned(),
    })
}

/// The variables of all units that have an address, sorted.
fn statics(units: &Units) -> Vec<(u64, u64, Die)> {
    let layout = Layout { units };
    let mut found = Vec::new();
    for number in 0..units.len() {
        let Some(parsed) = units.unit(number) else { continue };
        let mut entries = parsed.unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() != constants::DW_TAG_variable {
                continue;
            }
            let Some(AttributeValue::Exprloc(place)) = entry.attr_value(constants::DW_AT_location) else { continue };
            let mut operations = place.operations(parsed.unit.encoding());
            let start = match (operations.next(), operations.next()) {
                (Ok(Some(Operation::Address { address })), Ok(None)) => address,
                (Ok(Some(Operation::AddressIndex { index })), Ok(None)) => {
                    let Ok(address) = units.dwarf.address(&parsed.unit, index) else { continue };
                    address
                }
                _ => continue,
            };
            if let Some(of) = units.inherited(number, entry, constants::DW_AT_type)
                && let Some(size) = layout.size(&of)
            {
                found.push((start, size, of));
            }
        }
    }
    found.sort_unstable();
    found
}
