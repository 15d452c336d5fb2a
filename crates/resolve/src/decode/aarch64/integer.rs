//! Arithmetic on general registers.

use super::building::{Building, Word, general, linear};
use crate::decode::instruction::{Register, Value};

/// Shifts of an index that are followed: factors of up to 64.
const SHIFTS: std::ops::RangeInclusive<u32> = 0..=6;

/// Operations with a constant.
pub(super) fn immediate(word: Word, building: &mut Building) -> Option<()> {
    let bits = word.bits();
    match word.field(23, 3) {
        0b000 | 0b001 => {
            // ADR, ADRP.
            let distance = word.signed(5, 19) << 2 | i64::from(word.field(29, 2));
            let at = building.address();
            let address = match word.bit(31) {
                true => (at & !0xfff).wrapping_add((distance << 12) as u64),
                false => at.wrapping_add(distance as u64),
            };
            building.writes(general(word.d()));
            building.effect(general(word.d()), linear(None, None, address as i64, 64));
        }
        0b010 => {
            let constant = i64::from(word.field(10, 12)) << if word.bit(22) { 12 } else { 0 };
            let constant = if word.bit(30) { -constant } else { constant };
            // 31 is the stack pointer, but the zero register as the result of an instruction that sets flags.
            let to = if word.bit(29) { general(word.d()) } else { Some(word.d()) };
            building.instruction().writes_flags = word.bit(29);
            building.reads(Some(word.n()));
            building.writes(to);
            building.effect(to, linear(Some(word.n()), None, constant, bits));
        }
        0b100 => {
            let flags = word.field(29, 2) == 0b11;
            let to = if flags { general(word.d()) } else { Some(word.d()) };
            building.instruction().writes_flags = flags;
            building.reads(general(word.n()));
            building.writes(to);
        }
        0b101 => move_wide(word, building)?,
        0b110 => bitfield(word, building)?,
        0b111 => {
            building.reads(general(word.n()));
            building.reads(general(word.m()));
            building.writes(general(word.d()));
        }
        // Extensions: tagged addresses, minimum and maximum.
        _ => return None,
    }
    Some(())
}

fn move_wide(word: Word, building: &mut Building) -> Option<()> {
    let to = general(word.d());
    let constant = u64::from(word.field(5, 16)) << (16 * word.field(21, 2));
    building.writes(to);
    match word.field(29, 2) {
        0b00 => building.effect(to, linear(None, None, !constant as i64, word.bits())),
        0b10 => building.effect(to, linear(None, None, constant as i64, word.bits())),
        // MOVK keeps the other bits.
        0b11 => building.reads(to),
        _ => return None,
    }
    Some(())
}

fn bitfield(word: Word, building: &mut Building) -> Option<()> {
    let (to, of, bits) = (general(word.d()), general(word.n()), word.bits());
    let (rotate, last) = (word.field(16, 6), word.field(10, 6));
    building.reads(of);
    building.writes(to);
    let signed = match word.field(29, 2) {
        0b00 => true,
        0b10 => false,
        0b01 => {
            building.reads(to);
            return Some(());
        }
        _ => return None,
    };
    let Some(of) = of else {
        building.effect(to, linear(None, None, 0, bits));
        return Some(());
    };
    let width = u32::from(bits);
    if rotate == 0 && last + 1 < width {
        building.effect(to, Value::Extended { of, from: (last + 1) as u8, signed, bits });
    } else if !signed && rotate == last + 1 && SHIFTS.contains(&(width - rotate)) {
        building.effect(to, linear(None, Some((of, 1 << (width - rotate))), 0, bits));
    }
    Some(())
}

/// Operations on registers alone.
pub(super) fn register(word: Word, building: &mut Building) -> Option<()> {
    if word.bit(28) {
        return others(word, building);
    }
    let (n, m, to, bits) = (general(word.n()), general(word.m()), general(word.d()), word.bits());
    let shift = word.field(10, 6);
    if !word.bit(24) {
        // AND, ORR, EOR and the like.
        let operation = word.field(29, 2);
        building.reads(n);
        building.reads(m);
        building.writes(to);
        building.instruction().writes_flags = operation == 0b11;
        // MOV is ORR with the zero register.
        let copies = operation == 0b01 && n.is_none() && word.field(21, 3) == 0 && shift == 0;
        if copies {
            building.effect(to, linear(m, None, 0, bits));
        }
        return Some(());
    }
    let (minus, flags) = (word.bit(30), word.bit(29));
    building.instruction().writes_flags = flags;
    if word.bit(21) {
        // The second operand is extended; 31 is the stack pointer for the first operand and the result.
        let to = if flags { to } else { Some(word.d()) };
        building.reads(Some(word.n()));
        building.reads(m);
        building.writes(to);
        let (whole, shift) = (word.field(13, 2) == 0b11, word.field(10, 3));
        if whole || bits == 32 && word.field(13, 3) == 0b010 {
            building.effect(to, sum(Some(word.n()), m, shift, minus, bits)?);
        }
        return Some(());
    }
    building.reads(n);
    building.reads(m);
    building.writes(to);
    if word.field(22, 2) == 0
        && let Some(value) = sum(n, m, shift, minus, bits)
    {
        building.effect(to, value);
    }
    Some(())
}

/// base ± index × 2^shift; none when the shift is too large.
fn sum(base: Option<Register>, index: Option<Register>, shift: u32, minus: bool, bits: u8) -> Option<Value> {
    if !SHIFTS.contains(&shift) {
        return None;
    }
    let factor = 1_i8 << shift;
    Some(match index {
        Some(index) if base == Some(index) && minus && shift == 0 => linear(None, None, 0, bits),
        Some(index) => linear(base, Some((index, if minus { -factor } else { factor })), 0, bits),
        None => linear(base, None, 0, bits),
    })
}

/// Arithmetic with carry, conditional instructions, and those with one, two and three sources.
fn others(word: Word, building: &mut Building) -> Option<()> {
    let (n, m, to) = (general(word.n()), general(word.m()), general(word.d()));
    building.reads(n);
    match word.field(21, 4) {
        0b0000 if word.field(10, 6) == 0 => {
            building.reads(m);
            building.writes(to);
            building.instruction().reads_flags = true;
            building.instruction().writes_flags = word.bit(29);
        }
        // Flags from bits of a register.
        0b0000 => building.instruction().writes_flags = true,
        0b0010 => {
            // CCMP, CCMN.
            if !word.bit(11) {
                building.reads(m);
            }
            building.instruction().reads_flags = true;
            building.instruction().writes_flags = true;
        }
        0b0100 => {
            // CSEL and the like.
            building.reads(m);
            building.writes(to);
            building.instruction().reads_flags = true;
        }
        0b0110 if word.bit(30) => {
            // One source, but signing an address takes the address and a second value.
            if word.field(16, 5) == 1 {
                building.reads(to);
            }
            building.writes(to);
        }
        0b0110 => {
            building.reads(m);
            building.writes(to);
        }
        0b1000..=0b1111 => {
            building.reads(m);
            building.reads(general(word.a()));
            building.writes(to);
        }
        _ => return None,
    }
    Some(())
}
