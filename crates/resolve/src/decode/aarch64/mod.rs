//! The decoder for AArch64 (Arm Architecture Reference Manual for A-profile, chapter C4, "A64 instruction set encoding").
//!
//! Rooms: `building` the description of an instruction while it is built, and the fields of its word; `memory` loads and
//! stores, with `atomics` for atomic and ordered ones; `integer` arithmetic, which makes addresses; `branches` branches,
//! barriers and hints; `vector` floating point and vectors, of which only the registers matter here. SVE and SME are not
//! decoded: their instructions end the code that is followed.
//!
//! May import: `decode`.

mod atomics;
mod branches;
mod building;
mod integer;
mod memory;
mod vector;

#[cfg(test)]
mod tests;

use super::instruction::{Decode, Instruction, Register, RegisterSet};
use building::{Building, FRAME_POINTER, LINK, STACK_POINTER, SYSTEM_CALL_NUMBER, Word};

/// Registers that a function may change (Procedure Call Standard for the Arm 64-bit Architecture, section 6.1): x0 to
/// x18, the link register, and the vector registers, of which eight keep their low half only.
const CHANGED_BY_CALLS: RegisterSet = RegisterSet(0x4007_ffff | 0xffff_ffff << 32);

/// The number of sched_yield (asm-generic/unistd.h).
const SCHED_YIELD: u64 = 124;

/// AArch64, little-endian.
#[derive(Debug, Default)]
pub(super) struct AArch64;

impl Decode for AArch64 {
    fn longest(&self) -> usize {
        4
    }

    fn general(&self) -> usize {
        32
    }

    fn decode(&mut self, address: u64, bytes: &[u8]) -> Option<Instruction> {
        let word = Word(u32::from_le_bytes(*bytes.first_chunk()?));
        let mut building = Building::at(address);
        match word.field(25, 4) {
            0b1000 | 0b1001 => integer::immediate(word, &mut building)?,
            0b1010 | 0b1011 => branches::branch_or_system(word, &mut building)?,
            0b0100 | 0b0110 | 0b1100 | 0b1110 => memory::load_or_store(word, &mut building)?,
            0b0101 | 0b1101 => integer::register(word, &mut building)?,
            0b0111 | 0b1111 => vector::vector(word, &mut building),
            _ => return None,
        }
        Some(building.done())
    }

    fn changed_by_calls(&self) -> RegisterSet {
        CHANGED_BY_CALLS
    }

    fn stack_pointer(&self) -> Register {
        STACK_POINTER
    }

    fn frame_pointer(&self) -> Register {
        FRAME_POINTER
    }

    fn link(&self) -> RegisterSet {
        RegisterSet::from_register(LINK)
    }

    fn system_call_number(&self) -> Register {
        SYSTEM_CALL_NUMBER
    }

    fn sched_yield(&self) -> u64 {
        SCHED_YIELD
    }

    fn traps_after(&self) -> bool {
        false
    }
}
