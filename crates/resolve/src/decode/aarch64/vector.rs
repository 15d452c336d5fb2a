//! Floating point and vectors: only which registers they read and write. Addresses are not made in them, but numbers
//! move between them and general registers.

use super::building::{Building, Word, general};

pub(super) fn vector(word: Word, building: &mut Building) {
    if word.matches(0x5f20_0c00, 0x1e20_0400) || word.matches(0x5f20_fc00, 0x1e20_2000) {
        // FCCMP, FCMP.
        building.reads_vector(word.n());
        building.reads_vector(word.m());
        building.instruction().reads_flags = word.field(10, 2) == 0b01;
        building.instruction().writes_flags = true;
    } else if word.matches(0x5f20_0c00, 0x1e20_0c00) {
        // FCSEL.
        building.reads_vector(word.n());
        building.reads_vector(word.m());
        building.writes_vector(word.d(), true);
        building.instruction().reads_flags = true;
    } else if word.matches(0x5f20_fc00, 0x1e20_0000) || word.matches(0x5f20_0000, 0x1e00_0000) {
        convert(word, building);
    } else if word.matches(0x9fe0_8400, 0x0e00_0400) {
        copy(word, building);
    } else if word.matches(0x5f20_1c00, 0x1e20_1000) || word.matches(0x9ff8_0400, 0x0f00_0400) {
        // Constants; a vector constant may change only some bits of the register.
        let whole = word.bit(28);
        if !whole {
            building.reads_vector(word.d());
        }
        building.writes_vector(word.d(), whole);
    } else {
        building.reads_vector(word.d());
        building.reads_vector(word.n());
        building.reads_vector(word.m());
        if word.matches(0x5f00_0000, 0x1f00_0000) {
            building.reads_vector(word.a());
        }
        building.writes_vector(word.d(), false);
    }
}

/// Conversions between integers in general registers and floating point, and copies.
fn convert(word: Word, building: &mut Building) {
    let (mode, operation) = (word.field(19, 2), word.field(16, 3));
    let into_vector = match operation {
        0b010 | 0b011 => true,
        0b111 => mode != 0b10 && mode != 0b11,
        _ => false,
    };
    if into_vector {
        building.reads(general(word.n()));
        // FMOV to the upper half keeps the lower one.
        let whole = mode != 0b01;
        if !whole {
            building.reads_vector(word.d());
        }
        building.writes_vector(word.d(), whole);
    } else {
        building.reads_vector(word.n());
        building.writes(general(word.d()));
        building.instruction().writes_flags = operation == 0b110 && mode == 0b11;
    }
}

/// DUP, INS, SMOV, UMOV.
fn copy(word: Word, building: &mut Building) {
    match (word.bit(29), word.field(11, 4)) {
        (false, 0b0001) => {
            building.reads(general(word.n()));
            building.writes_vector(word.d(), true);
        }
        (false, 0b0011) => {
            building.reads(general(word.n()));
            building.reads_vector(word.d());
            building.writes_vector(word.d(), false);
        }
        (false, 0b0101 | 0b0111) => {
            building.reads_vector(word.n());
            building.writes(general(word.d()));
        }
        _ => {
            building.reads_vector(word.n());
            building.reads_vector(word.d());
            building.writes_vector(word.d(), false);
        }
    }
}
