//! Values as formulas over the registers and the stack of a sample: derived once for a sampled address, evaluated for
//! each sample there.

use rustc_hash::FxHashMap as HashMap;

use super::instruction::{Register, Registers};

/// A formula, by its index in a [`Formulas`].
pub(super) type Formula = u32;

/// One step of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// A register of the sample.
    Register(Register),
    /// A number.
    Constant(u64),
    /// a × factor + b × factor + displacement.
    Sum { a: (Formula, i8), b: Option<(Formula, i8)>, displacement: u64 },
    /// The low `from` bits, extended.
    Extended { of: Formula, from: u8, signed: bool, bits: u8 },
    /// This many bytes of the stack at an address.
    Stack { at: Formula, bytes: u8 },
}

/// Formulas without duplicates: equal ones have equal numbers.
#[derive(Debug, Default)]
pub(super) struct Formulas {
    steps: Vec<Step>,
    likely: Vec<bool>,
    known: HashMap<Step, Formula>,
}

/// The bytes of a stack from an address upwards.
#[derive(Debug, Clone, Copy)]
pub struct StackBytes<'a> {
    /// Address of the first byte.
    pub start: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl StackBytes<'_> {
    /// A number of 1, 2, 4 or 8 bytes, little-endian.
    pub(crate) fn number(&self, address: u64, width: u8) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(from..from.checked_add(usize::from(width))?)?;
        let mut whole = [0; 8];
        whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(whole))
    }
}

impl Formulas {
    pub(super) fn add(&mut self, step: Step) -> Formula {
        if let Some(known) = self.known.get(&step) {
            return *known;
        }
        let likely = match step {
            Step::Register(_) | Step::Constant(_) => false,
            Step::Sum { a, b, .. } => self.is_likely(a.0) || b.is_some_and(|(term, _)| self.is_likely(term)),
            Step::Extended { of, .. } => self.is_likely(of),
            Step::Stack { .. } => true,
        };
        let next = self.steps.len() as Formula;
        self.steps.push(step);
        self.likely.push(likely);
        self.known.insert(step, next);
        next
    }

    pub(super) fn constant(&mut self, value: u64) -> Formula {
        self.add(Step::Constant(value))
    }

    /// The sum. Sums of one term and constants are folded, so that equal addresses become equal formulas.
    pub(super) fn sum(&mut self, a: (Formula, i8), b: Option<(Formula, i8)>, displacement: u64) -> Formula {
        let (mut terms, mut displacement) = (Vec::with_capacity(2), displacement);
        for (term, factor) in [Some(a), b].into_iter().flatten() {
            match self.steps.get(term as usize) {
                Some(Step::Constant(value)) => {
                    displacement = displacement.wrapping_add(value.wrapping_mul(factor as i64 as u64));
                }
                Some(Step::Sum { a: inner, b: None, displacement: more }) if inner.1 == 1 => {
                    displacement = displacement.wrapping_add(more.wrapping_mul(factor as i64 as u64));
                    terms.push((inner.0, factor));
                }
                _ => terms.push((term, factor)),
            }
        }
        if let [one, other] = terms[..]
            && one.0 == other.0
            && i16::from(one.1) + i16::from(other.1) == 0
        {
            terms.clear();
        }
        match terms[..] {
            [] => self.constant(displacement),
            [(only, 1)] if displacement == 0 => only,
            [only] => self.add(Step::Sum { a: only, b: None, displacement }),
            [one, other, ..] => self.add(Step::Sum { a: one, b: Some(other), displacement }),
        }
    }

    pub(super) fn extended(&mut self, of: Formula, from: u8, signed: bool, bits: u8) -> Formula {
        match self.steps.get(of as usize) {
            Some(Step::Constant(value)) => {
                let value = extend(*value, from, signed, bits);
                self.constant(value)
            }
            _ if from >= 64 => of,
            _ => self.add(Step::Extended { of, from, signed, bits }),
        }
    }

    /// Whether the formula needs bytes of the stack or depends on an assumption.
    pub(super) fn is_likely(&self, formula: Formula) -> bool {
        self.likely.get(formula as usize).copied().unwrap_or(true)
    }

    /// Notes that a formula, and what is made from it from now on, depends on an assumption.
    pub(super) fn assume(&mut self, formula: Formula) {
        if let Some(likely) = self.likely.get_mut(formula as usize) {
            *likely = true;
        }
    }

    /// Evaluates all formulas for one sample, in order. Each uses only earlier ones.
    pub(super) fn compute(&self, registers: &Registers, stack: StackBytes<'_>, values: &mut Vec<Option<u64>>) {
        values.clear();
        for step in &self.steps {
            let value = |formula: Formula| values.get(formula as usize).copied().flatten();
            let product = |(formula, factor): (Formula, i8)| Some(value(formula)?.wrapping_mul(factor as i64 as u64));
            let computed = match *step {
                Step::Register(register) => registers.general.get(usize::from(register)).copied(),
                Step::Constant(value) => Some(value),
                Step::Sum { a, b: None, displacement } => product(a).map(|a| a.wrapping_add(displacement)),
                Step::Sum { a, b: Some(b), displacement } => {
                    product(a).zip(product(b)).map(|(a, b)| a.wrapping_add(b).wrapping_add(displacement))
                }
                Step::Extended { of, from, signed, bits } => value(of).map(|value| extend(value, from, signed, bits)),
                Step::Stack { at, bytes } => value(at).and_then(|address| stack.number(address, bytes)),
            };
            values.push(computed);
        }
    }
}

/// The low `from` bits of a value extended to `bits`, zeros above.
fn extend(value: u64, from: u8, signed: bool, bits: u8) -> u64 {
    let low = |value: u64, bits: u8| if bits >= 64 { value } else { value & ((1 << bits) - 1) };
    let extended = match signed && from < 64 {
        true => ((value << (64 - from)) as i64 >> (64 - from)) as u64,
        false => low(value, from),
    };
    low(extended, bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_addresses_become_equal_formulas() {
        let mut all = Formulas::default();
        let sp = all.add(Step::Register(4));
        let down = all.sum((sp, 1), None, 8_u64.wrapping_neg());
        assert_eq!(all.sum((down, 1), None, 8), sp);
        let one = all.sum((sp, 1), None, 16);
        assert_eq!(all.sum((down, 1), None, 24), one);
        let seven = all.constant(7);
        assert_eq!(all.sum((seven, 8), None, 4), all.constant(60));
        assert_eq!(all.sum((sp, 1), Some((sp, -1)), 5), all.constant(5));
    }

    #[test]
    fn values_are_extended_as_processors_do() {
        assert_eq!(extend(0xffff_ffff_8000_0001, 32, false, 64), 0x8000_0001);
        assert_eq!(extend(0x8000_0001, 32, true, 64), 0xffff_ffff_8000_0001);
        assert_eq!(extend(0x80, 8, true, 32), 0xffff_ff80);
        assert_eq!(extend(u64::MAX, 64, true, 64), u64::MAX);
    }

    #[test]
    fn bytes_outside_the_stack_are_unknown() {
        let stack = StackBytes { start: 0x1000, bytes: &[1, 2, 3, 4, 5, 6, 7, 8, 9] };
        assert_eq!(stack.number(0x1001, 8), Some(0x0908_0706_0504_0302));
        assert_eq!(stack.number(0x1000, 2), Some(0x0201));
        for (address, width) in [(0xfff, 1), (0x1002, 8), (u64::MAX, 8), (0, 8)] {
            assert_eq!(stack.number(address, width), None);
        }
    }
}
