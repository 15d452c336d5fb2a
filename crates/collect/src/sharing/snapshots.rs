//! Samples at shared memory, kept whole: the registers and the stack of that moment show, after the program has ended,
//! which variable of the code points there.

use resolve::decode::{CodeGraph, Registers, SampledAccess};
use std::collections::HashMap;

/// Samples that are kept for one address: if a variable is no longer in its register at one sample, it may be at
/// another.
const EACH: usize = 4;

/// Samples that are kept for one run (some 16 MiB with their stacks).
const ALL: usize = 8192;

/// Bytes of the stack that are kept for each sample: functions seldom have larger frames.
const STACK: usize = 2048;

/// How many instructions from the sample an access may be: farther away, registers have mostly changed.
const NEAR: u8 = 4;

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The registers.
    pub(crate) registers: Registers,
    /// Address of the first byte of the stack that was kept.
    pub(crate) start: u64,
    /// The bytes.
    pub(crate) stack: Box<[u8]>,
    /// The instruction that made the access.
    pub(crate) instruction: u64,
    /// The value of the base register, if that instruction adds an index to it.
    pub(crate) array: Option<u64>,
}

/// All samples of a run, by space and address of the access.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    kept: HashMap<(u32, u64), Vec<Snapshot>>,
    count: usize,
}

impl Snapshots {
    /// Keeps a sample at an access. `start` is the address of the first byte of the stack.
    pub(super) fn keep(
        &mut self,
        space: u32,
        access: &SampledAccess,
        registers: &Registers,
        (start, stack): (u64, &[u8]),
        code: &CodeGraph,
    ) {
        if self.count >= ALL || access.distance.unsigned_abs() > NEAR {
            return;
        }
        let kept = self.kept.entry((space, access.address)).or_default();
        if kept.len() >= EACH {
            return;
        }
        let operand = code.at(access.instruction).and_then(|one| one.accesses().next().map(|access| access.operand));
        let base = operand.filter(|operand| operand.index.is_some()).and_then(|operand| operand.base);
        // If the register has changed after the instruction, its value will match no array.
        let array = base.and_then(|base| registers.general.get(usize::from(base)).copied());
        self.count += 1;
        kept.push(Snapshot {
            registers: *registers,
            start,
            stack: stack.get(..STACK.min(stack.len())).unwrap_or_default().into(),
            instruction: access.instruction,
            array,
        });
    }

    /// The samples at an address.
    pub(super) fn at(&self, space: u32, address: u64) -> &[Snapshot] {
        self.kept.get(&(space, address)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resolve::decode::{self, AccessKind, Certainty};

    #[test]
    fn a_few_near_samples_of_each_address_are_kept() {
        let Some(decoder) = decode::decoder("x86_64") else { return };
        let (code, mut snapshots) = (CodeGraph::new(decoder), Snapshots::default());
        let registers = Registers::default();
        let access = |address: u64, distance: i8| SampledAccess {
            instruction: 1,
            distance,
            kind: AccessKind::Update,
            width: 8,
            address,
            certainty: Certainty::Exact,
        };
        for _ in 0..10 {
            snapshots.keep(0, &access(64, -1), &registers, (0, &[0; 4096]), &code);
            snapshots.keep(0, &access(72, -9), &registers, (0, &[]), &code);
        }
        assert_eq!(snapshots.at(0, 64).len(), EACH);
        assert_eq!(snapshots.at(0, 64)[0].stack.len(), STACK);
        assert!(snapshots.at(0, 72).is_empty() && snapshots.at(1, 64).is_empty());
    }
}
