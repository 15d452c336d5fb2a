//! Loads and stores.

use super::atomics;
use super::building::{Building, Word, general, place};
use crate::decode::instruction::{AccessKind, Operand, Register, Value};

pub(super) fn load_or_store(word: Word, building: &mut Building) -> Option<()> {
    if word.matches(0x3f00_0000, 0x0800_0000) {
        atomics::exclusive_or_ordered(word, building)
    } else if word.matches(0x3b00_0000, 0x1800_0000) {
        literal(word, building)
    } else if word.matches(0x3a00_0000, 0x2800_0000) {
        pair(word, building)
    } else if word.matches(0x3b00_0000, 0x3900_0000) {
        let transfer = Transfer::from_word(word)?;
        let displacement = i64::from(word.field(10, 12)) * i64::from(transfer.width);
        transfer.access(word, place(word.n(), displacement), building);
        Some(())
    } else if word.matches(0x3b20_0000, 0x3800_0000) {
        unscaled(word, building)
    } else if word.matches(0x3b20_0c00, 0x3820_0800) {
        let transfer = Transfer::from_word(word)?;
        let operand = indexed(word, transfer.width)?;
        transfer.access(word, operand, building);
        Some(())
    } else if word.matches(0x3f20_0c00, 0x3820_0000) {
        atomics::read_and_change(word, building)
    } else if word.matches(0xff20_0400, 0xf820_0400) {
        signed_pointer(word, building);
        Some(())
    } else if word.matches(0x3f20_0c00, 0x1900_0000) {
        // LDAPUR, STLUR.
        Transfer::from_word(word)?.access(word, place(word.n(), word.signed(12, 9)), building);
        Some(())
    } else if word.matches(0xbe00_0000, 0x0c00_0000) {
        structures(word, building)
    } else {
        // Extensions: memory tags, memory copies in one instruction, accesses of 64 bytes.
        None
    }
}

/// What a load or store of one register moves.
struct Transfer {
    vector: bool,
    /// None: a hint that the memory will be needed.
    kind: Option<AccessKind>,
    /// Bytes.
    width: u32,
    /// Of a load: whether it extends the sign, and to how many bits.
    signed: bool,
    bits: u8,
}

impl Transfer {
    /// From the fields for size and operation, which most forms have in the same bits.
    fn from_word(word: Word) -> Option<Transfer> {
        let (size, operation) = (word.field(30, 2), word.field(22, 2));
        if word.bit(26) {
            let width = match (size, operation >> 1) {
                (_, 0) => 1 << size,
                (0, _) => 16,
                _ => return None,
            };
            let kind = if operation & 1 != 0 { AccessKind::Load } else { AccessKind::Store };
            return Some(Transfer { vector: true, kind: Some(kind), width, signed: false, bits: 64 });
        }
        let (kind, signed, bits) = match (operation, size) {
            (0b00, _) => (Some(AccessKind::Store), false, 64),
            (0b01, _) => (Some(AccessKind::Load), false, 64),
            (0b10, 0b11) => (None, false, 64),
            (0b10, _) => (Some(AccessKind::Load), true, 64),
            (_, 0b00 | 0b01) => (Some(AccessKind::Load), true, 32),
            _ => return None,
        };
        Some(Transfer { vector: false, kind, width: 1 << size, signed, bits })
    }

    fn access(&self, word: Word, operand: Operand, building: &mut Building) {
        let Some(kind) = self.kind else {
            building.reads(operand.base);
            building.reads(operand.index.map(|(index, _)| index));
            return;
        };
        building.access(kind, self.width, operand);
        self.register(word.d(), kind, building);
        if kind == AccessKind::Load && !self.vector {
            building.effect(general(word.d()), Value::Loaded { signed: self.signed, bits: self.bits });
        }
    }

    fn register(&self, number: Register, kind: AccessKind, building: &mut Building) {
        match (kind, self.vector) {
            (AccessKind::Load, true) => building.writes_vector(number, true),
            (AccessKind::Load, false) => building.writes(general(number)),
            (_, true) => building.reads_vector(number),
            (_, false) => building.reads(general(number)),
        }
    }
}

/// Loads at an address relative to the instruction.
fn literal(word: Word, building: &mut Building) -> Option<()> {
    let (vector, operation) = (word.bit(26), word.field(30, 2));
    let (width, signed) = match (vector, operation) {
        (false, 0b00) => (4, false),
        (false, 0b01) => (8, false),
        (false, 0b10) => (4, true),
        (false, _) => return Some(()),
        (true, 0b11) => return None,
        (true, _) => (4 << operation, false),
    };
    let transfer = Transfer { vector, kind: Some(AccessKind::Load), width, signed, bits: 64 };
    let address = building.address().wrapping_add((4 * word.signed(5, 19)) as u64);
    let operand = Operand { base: None, index: None, displacement: address, half: None, thread_local: false };
    transfer.access(word, operand, building);
    Some(())
}

/// Two registers at neighbouring places: one access of twice the width.
fn pair(word: Word, building: &mut Building) -> Option<()> {
    let (vector, operation) = (word.bit(26), word.field(30, 2));
    let kind = if word.bit(22) { AccessKind::Load } else { AccessKind::Store };
    let width = match (vector, operation) {
        (false, 0b00) => 4,
        (false, 0b01) if kind == AccessKind::Load => 4,
        (false, 0b10) => 8,
        (true, 0b00..=0b10) => 4 << operation,
        _ => return None,
    };
    let distance = word.signed(15, 7) * i64::from(width);
    let mode = word.field(23, 2);
    let after = mode == 0b01;
    let transfer = Transfer { vector, kind: Some(kind), width: 2 * width, signed: false, bits: 64 };
    building.access(kind, transfer.width, place(word.n(), if after { 0 } else { distance }));
    transfer.register(word.d(), kind, building);
    transfer.register(word.a(), kind, building);
    if matches!(mode, 0b01 | 0b11) {
        building.move_base(word.n(), distance);
    }
    Some(())
}

/// With a distance in bytes; two forms also add it to the base register, before or after the access.
fn unscaled(word: Word, building: &mut Building) -> Option<()> {
    let transfer = Transfer::from_word(word)?;
    let (distance, mode) = (word.signed(12, 9), word.field(10, 2));
    let after = mode == 0b01;
    transfer.access(word, place(word.n(), if after { 0 } else { distance }), building);
    if matches!(mode, 0b01 | 0b11) {
        // One effect can be noted: the base register's new value is of more use than the loaded one.
        building.move_base(word.n(), distance);
    }
    Some(())
}

/// An index in a register.
fn indexed(word: Word, width: u32) -> Option<Operand> {
    let half = match word.field(13, 3) {
        0b010 => Some(false),
        0b110 => Some(true),
        0b011 | 0b111 => None,
        _ => return None,
    };
    let scale = if word.bit(12) { width as u8 } else { 1 };
    let index = general(word.m()).map(|index| (index, scale));
    Some(Operand { index, half, ..place(word.n(), 0) })
}

/// LDRAA, LDRAB: loads through a signed address. The register alone does not give the address, because it also holds the
/// signature.
fn signed_pointer(word: Word, building: &mut Building) {
    building.reads(Some(word.n()));
    building.writes(general(word.d()));
    if word.bit(11) {
        building.writes(Some(word.n()));
    }
}

/// LD1 to LD4 and ST1 to ST4: several vector registers, or one element of each.
fn structures(word: Word, building: &mut Building) -> Option<()> {
    let (single, moves) = (word.bit(24), word.bit(23));
    let full = if word.bit(30) { 16 } else { 8 };
    let (registers, width) = if single {
        let (operation, size) = (word.field(13, 3), word.field(10, 2));
        let registers = ((operation & 1) << 1 | word.field(21, 1)) + 1;
        let element = match operation >> 1 {
            0 => 1,
            1 => 2,
            2 if size & 1 != 0 => 8,
            2 => 4,
            _ => 1 << size,
        };
        (registers, registers * element)
    } else {
        let registers = match word.field(12, 4) {
            0b0000 | 0b0010 => 4,
            0b0100 | 0b0110 => 3,
            0b1000 | 0b1010 => 2,
            0b0111 => 1,
            _ => return None,
        };
        (registers, registers * full)
    };
    let kind = if word.bit(22) { AccessKind::Load } else { AccessKind::Store };
    building.access(kind, width, place(word.n(), 0));
    for nth in 0..registers as Register {
        let number = (word.d() + nth) % 32;
        if kind == AccessKind::Store || single {
            building.reads_vector(number);
        }
        if kind == AccessKind::Load {
            building.writes_vector(number, !single);
        }
    }
    if moves {
        match general(word.m()) {
            Some(by) => {
                building.reads(Some(by));
                building.writes(Some(word.n()));
                let value = super::building::linear(Some(word.n()), Some((by, 1)), 0, 64);
                building.effect(Some(word.n()), value);
            }
            None => building.move_base(word.n(), i64::from(width)),
        }
    }
    Some(())
}
