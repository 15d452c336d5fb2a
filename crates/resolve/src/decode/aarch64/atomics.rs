//! Atomic and ordered accesses: pairs of exclusive loads and stores, and the single instructions that read, modify and
//! write (LSE, since Armv8.1).

use super::building::{Building, Word, general, place};
use crate::decode::instruction::{AccessKind, Atomic, Register, Value};

/// LDXR and STXR, LDAR and STLR, CAS, and their forms for pairs.
pub(super) fn exclusive_or_ordered(word: Word, building: &mut Building) -> Option<()> {
    let (ordered, load, two) = (word.bit(23), word.bit(22), word.bit(21));
    let (size, large) = (word.field(30, 2), word.bit(31));
    let (status, data, second) = (general(word.m()), general(word.d()), general(word.a()));
    let operand = place(word.n(), 0);
    match (ordered, two) {
        (false, true) if !large => {
            // CASP: pairs of registers with an even number; the low half stands for both.
            let width = if word.bit(30) { 16 } else { 8 };
            building.access(AccessKind::Atomic, width, operand);
            for nth in 0..2 {
                building.reads(general(word.m() | nth));
                building.writes(general(word.m() | nth));
                building.reads(general(word.d() | nth));
            }
            building.instruction().atomic = Some(Atomic::Sets(data));
        }
        (false, _) => {
            let width = (1 << size) * if two { 2 } else { 1 };
            if load {
                building.access(AccessKind::Load, width, operand);
                building.writes(data);
                if two {
                    building.writes(second);
                } else {
                    building.effect(data, Value::Loaded { signed: false, bits: 64 });
                }
            } else {
                building.access(AccessKind::Atomic, width, operand);
                building.reads(data);
                if two {
                    building.reads(second);
                }
                building.writes(status);
                building.instruction().atomic = Some(Atomic::Sets(data));
                building.instruction().exclusive = true;
            }
        }
        (true, false) if load => {
            building.access(AccessKind::Load, 1 << size, operand);
            building.writes(data);
            building.effect(data, Value::Loaded { signed: false, bits: 64 });
        }
        (true, false) => {
            building.access(AccessKind::Store, 1 << size, operand);
            building.reads(data);
        }
        (true, true) => {
            // CAS: the register of the expected value gets the value that was found.
            building.access(AccessKind::Atomic, 1 << size, operand);
            building.reads(status);
            building.reads(data);
            building.writes(status);
            building.effect(status, Value::Loaded { signed: false, bits: 64 });
            building.instruction().atomic = Some(Atomic::Sets(data));
        }
    }
    Some(())
}

/// LDADD and the like, SWP, LDAPR.
pub(super) fn read_and_change(word: Word, building: &mut Building) -> Option<()> {
    let (changes, by, operation) = (!word.bit(15), general(word.m()), word.field(12, 3));
    let to: Option<Register> = general(word.d());
    let operand = place(word.n(), 0);
    let width = 1 << word.field(30, 2);
    if !changes && operation == 0b100 {
        building.access(AccessKind::Load, width, operand);
        building.writes(to);
        building.effect(to, Value::Loaded { signed: false, bits: 64 });
        return Some(());
    }
    let atomic = match (changes, operation) {
        // Addition and exclusive or: each repetition changes the value again.
        (true, 0b000 | 0b010) => Atomic::Changes,
        // Clearing and setting bits, maximum, minimum, exchange: a repetition changes nothing more.
        (true, _) | (false, 0b000) => Atomic::Sets(by),
        _ => return None,
    };
    building.access(AccessKind::Atomic, width, operand);
    building.reads(by);
    building.writes(to);
    building.effect(to, Value::Loaded { signed: false, bits: 64 });
    building.instruction().atomic = Some(atomic);
    Some(())
}
