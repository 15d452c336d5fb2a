//! Where variables are at a sample, and which pointers they hold.

use gimli::{AttributeValue, Expression, Operation, constants};

use super::layout::{Layout, Member};
use super::moment::Moment;
use super::scopes::Variable;
use super::units::{Die, Units, is_structure};
use crate::elf::DwarfReader;

/// How many pointers are looked at in one variable, and how deep in its members.
const POINTERS: usize = 32;
const DEPTH: usize = 8;

/// A pointer in a variable, and what it points to.
#[derive(Debug, Clone)]
pub(super) struct Pointer {
    /// The variable's name, with the member that is the pointer.
    pub(super) name: String,
    pub(super) value: u64,
    /// How many objects it points to, when that is known.
    pub(super) count: Option<u64>,
    pub(super) to: Die,
}

/// One sample, in the frame of the sampled function.
pub(super) struct SampledFrame<'m> {
    pub(super) moment: &'m Moment<'m>,
    /// Where the frame begins (the canonical frame address).
    pub(super) cfa: Option<u64>,
}

/// Where a part of a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueLocation {
    Memory(u64),
    /// In a register, or a known value that is stored nowhere.
    Value(u64),
    Unknown,
}

/// The parts of a variable, each with its size in bytes; the last may have none.
type Parts = Vec<(ValueLocation, Option<u64>)>;

impl SampledFrame<'_> {
    /// The pointers that a variable holds at a stated code address.
    pub(super) fn pointers(&self, layout: &Layout<'_>, variable: &Variable, at: u64) -> Vec<Pointer> {
        let mut found = Vec::new();
        if let Some(parts) = self.parts(layout.units, variable, at) {
            self.gather(layout, &parts, &variable.of, (0, &variable.name), DEPTH, &mut found);
        }
        found
    }

    fn gather(
        &self,
        layout: &Layout<'_>,
        parts: &Parts,
        of: &Die,
        (offset, name): (u64, &str),
        depth: usize,
        found: &mut Vec<Pointer>,
    ) {
        let (Some((die, entry, _)), Some(depth)) = (layout.bare(of), depth.checked_sub(1)) else { return };
        match entry.tag() {
            constants::DW_TAG_pointer_type
            | constants::DW_TAG_reference_type
            | constants::DW_TAG_rvalue_reference_type => {
                let to = layout.units.reference(die.unit, entry.attr_value(constants::DW_AT_type));
                if let (Some(to), Some(value)) = (to, self.word(parts, offset))
                    && found.len() < POINTERS
                {
                    found.push(Pointer { name: name.to_owned(), value, count: None, to });
                }
            }
            tag if is_structure(tag) => {
                let members = layout.members(&die).unwrap_or_default();
                if let Some(pointer) = self.counted(layout, parts, offset, name, &members) {
                    found.push(pointer);
                    return;
                }
                for member in &members {
                    let Some(at) = offset.checked_add(member.at) else { continue };
                    let called = match &member.name {
                        Some(member) => format!("{name}.{member}"),
                        None => name.to_owned(),
                    };
                    self.gather(layout, parts, &member.of, (at, &called), depth, found);
                }
            }
            _ => {}
        }
    }

    /// A pointer with the number of its elements: Rust's slices, which contain both, and C++'s vectors, which contain
    /// the first element and the end (by their names in libstdc++ and libc++).
    fn counted(
        &self,
        layout: &Layout<'_>,
        parts: &Parts,
        offset: u64,
        name: &str,
        members: &[Member],
    ) -> Option<Pointer> {
        let at = |wanted: &[&str]| {
            let named = |member: &&Member| member.name.as_deref().is_some_and(|name| wanted.contains(&name));
            members.iter().find(named)
        };
        let first = at(&["data_ptr", "_M_start", "__begin_"])?;
        let (die, entry, _) = layout.bare(&first.of)?;
        let to = layout.units.reference(die.unit, entry.attr_value(constants::DW_AT_type))?;
        let size = layout.size(&to)?;
        let value = self.word(parts, offset.checked_add(first.at)?)?;
        let count = match (at(&["length"]), at(&["_M_finish", "__end_"])) {
            (Some(length), _) => self.word(parts, offset.checked_add(length.at)?)?,
            (None, Some(end)) => self.word(parts, offset.checked_add(end.at)?)?.checked_sub(value)? / size,
            (None, None) => return None,
        };
        Some(Pointer { name: name.to_owned(), value, count: Some(count), to })
    }

    /// Reads eight bytes of a variable.
    fn word(&self, parts: &Parts, offset: u64) -> Option<u64> {
        let mut start = 0_u64;
        for (place, bytes) in parts {
            let end = bytes.map_or(u64::MAX, |bytes| start.saturating_add(bytes));
            if (start..end).contains(&offset) {
                return match place {
                    ValueLocation::Memory(at) => self.moment.stack.number(at.checked_add(offset - start)?, 8),
                    ValueLocation::Value(value) if offset == start => Some(*value),
                    _ => None,
                };
            }
            start = end;
        }
        None
    }

    /// Where a variable is at a stated code address.
    fn parts(&self, units: &Units, variable: &Variable, at: u64) -> Option<Parts> {
        let parsed = units.unit(variable.unit)?;
        let expression = match &variable.location {
            AttributeValue::Exprloc(expression) => expression.clone(),
            list => {
                let mut places = units.dwarf.attr_locations(&parsed.unit, list.clone()).ok()??;
                loop {
                    let place = places.next().ok()??;
                    if (place.range.begin..place.range.end).contains(&at) {
                        break place.data;
                    }
                }
            }
        };
        let base = match &variable.frame_base {
            Some(AttributeValue::Exprloc(base)) => {
                let parts = self.evaluate(base, parsed.unit.encoding(), None)?;
                match parts.first()? {
                    (ValueLocation::Memory(base) | ValueLocation::Value(base), _) => Some(*base),
                    (ValueLocation::Unknown, _) => None,
                }
            }
            _ => None,
        };
        self.evaluate(&expression, parsed.unit.encoding(), base)
    }

    /// Evaluates the few forms that compilers use for pointers; none for any other.
    fn evaluate(
        &self,
        expression: &Expression<DwarfReader>,
        encoding: gimli::Encoding,
        base: Option<u64>,
    ) -> Option<Parts> {
        let register = |number: gimli::Register| self.moment.registers.by_dwarf_number(number.0);
        let mut parts: Parts = Vec::new();
        let (mut stack, mut place): (Vec<u64>, Option<ValueLocation>) = (Vec::new(), None);
        let mut operations = expression.clone().operations(encoding);
        while let Some(operation) = operations.next().ok()? {
            match operation {
                Operation::Register { register: number } => {
                    place = Some(register(number).map_or(ValueLocation::Unknown, ValueLocation::Value));
                }
                Operation::RegisterOffset { register: number, offset, .. } => {
                    stack.push(register(number)?.wrapping_add_signed(offset));
                }
                Operation::FrameOffset { offset } => stack.push(base?.wrapping_add_signed(offset)),
                Operation::CallFrameCFA => stack.push(self.cfa?),
                Operation::PlusConstant { value } => {
                    let top = stack.pop()?;
                    stack.push(top.wrapping_add(value));
                }
                Operation::UnsignedConstant { value } => stack.push(value),
                Operation::SignedConstant { value } => stack.push(value as u64),
                Operation::Plus => {
                    let (one, other) = (stack.pop()?, stack.pop()?);
                    stack.push(one.wrapping_add(other));
                }
                Operation::Minus => {
                    let (one, other) = (stack.pop()?, stack.pop()?);
                    stack.push(other.wrapping_sub(one));
                }
                Operation::Mul => {
                    let (one, other) = (stack.pop()?, stack.pop()?);
                    stack.push(one.wrapping_mul(other));
                }
                Operation::Shl => {
                    let (by, other) = (stack.pop()?, stack.pop()?);
                    stack.push(other.checked_shl(u32::try_from(by).ok()?)?);
                }
                Operation::Deref { size: 8, space: false, .. } => {
                    let at = stack.pop()?;
                    stack.push(self.moment.stack.number(at, 8)?);
                }
                Operation::StackValue => place = Some(ValueLocation::Value(stack.pop()?)),
                Operation::Piece { size_in_bits, bit_offset } => {
                    let whole = size_in_bits % 8 == 0 && bit_offset.unwrap_or(0) == 0;
                    let at = place.take().or_else(|| stack.pop().map(ValueLocation::Memory));
                    let at = at.filter(|_| whole).unwrap_or(ValueLocation::Unknown);
                    parts.push((at, Some(size_in_bits.div_ceil(8))));
                    stack.clear();
                }
                Operation::Nop => {}
                _ => return None,
            }
        }
        if parts.is_empty() {
            parts.push((place.or_else(|| stack.pop().map(ValueLocation::Memory))?, None));
        }
        Some(parts)
    }
}
