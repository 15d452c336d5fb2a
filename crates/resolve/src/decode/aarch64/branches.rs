//! Branches, system calls, barriers and hints.

use super::building::{Building, LINK, SYSTEM_CALL_NUMBER, Word, general};
use crate::decode::instruction::Flow;

pub(super) fn branch_or_system(word: Word, building: &mut Building) -> Option<()> {
    let target = |distance: i64| building.address().wrapping_add((4 * distance) as u64);
    if word.matches(0x7c00_0000, 0x1400_0000) {
        let target = target(word.signed(0, 26));
        if word.bit(31) {
            building.writes(Some(LINK));
            building.flow(Flow::Call(Some(target)));
        } else {
            building.flow(Flow::Branch { target, conditional: false });
        }
    } else if word.matches(0x7e00_0000, 0x3400_0000) {
        // CBZ, CBNZ.
        let target = target(word.signed(5, 19));
        building.reads(general(word.d()));
        building.flow(Flow::Branch { target, conditional: true });
    } else if word.matches(0x7e00_0000, 0x3600_0000) {
        // TBZ, TBNZ.
        let target = target(word.signed(5, 14));
        building.reads(general(word.d()));
        building.flow(Flow::Branch { target, conditional: true });
    } else if word.matches(0xff00_0000, 0x5400_0000) {
        // B.cond, BC.cond. The last two conditions are both "always".
        let target = target(word.signed(5, 19));
        let conditional = word.field(1, 3) != 0b111;
        building.instruction().reads_flags = conditional;
        building.flow(Flow::Branch { target, conditional });
    } else if word.matches(0xff00_0000, 0xd400_0000) {
        let system_call = word.matches(0xffe0_001f, 0xd400_0001);
        if system_call {
            building.reads(Some(SYSTEM_CALL_NUMBER));
            building.writes(Some(0));
        }
        building.flow(if system_call { Flow::SystemCall } else { Flow::Stop });
    } else if word.matches(0xfe00_0000, 0xd600_0000) {
        through_register(word, building)?;
    } else if word.matches(0xffc0_0000, 0xd500_0000) {
        system(word, building);
    } else {
        return None;
    }
    Some(())
}

/// BR, BLR, RET, with and without authentication of the address.
fn through_register(word: Word, building: &mut Building) -> Option<()> {
    // The highest of the four bits: signed with the value in a second register.
    if word.field(24, 1) != 0 {
        building.reads(general(word.d()));
    }
    match word.field(21, 3) {
        0 => {
            building.reads(general(word.n()));
            building.flow(Flow::IndirectBranch);
        }
        1 => {
            building.reads(general(word.n()));
            building.writes(Some(LINK));
            building.flow(Flow::Call(None));
        }
        2 => {
            // RETAA and RETAB name no register: the link register.
            building.reads(Some(general(word.n()).unwrap_or(LINK)));
            building.flow(Flow::Return);
        }
        _ => return None,
    }
    Some(())
}

/// Hints, barriers, system registers, and cache maintenance.
fn system(word: Word, building: &mut Building) {
    if word.matches(0xffff_f01f, 0xd503_201f) {
        hint(word.field(5, 7), building);
    } else if word.matches(0xffff_f000, 0xd503_3000) {
        match word.field(5, 3) {
            // DSB with an option for later accesses, DSB, DMB; SB.
            0b001 | 0b100 | 0b101 | 0b111 => building.instruction().fence = true,
            // ISB, which Rust and C write where x86 has PAUSE.
            0b110 => building.instruction().pause = true,
            _ => {}
        }
    } else if word.matches(0xffff_ffc0, 0xd503_1000) {
        // WFET, WFIT.
        building.reads(general(word.d()));
        building.instruction().pause = true;
    } else if word.matches(0xffff_ffe0, 0xd50b_7420) {
        // DC ZVA fills the block around the address with zeros: 64 bytes on the usual processors.
        let operand = super::building::place(word.d(), 0);
        building.access(crate::decode::instruction::AccessKind::Store, 64, operand);
    } else if word.bit(21) {
        building.writes(general(word.d()));
        // The condition flags can be read as a register.
        building.instruction().reads_flags = word.matches(0xffff_ffe0, 0xd53b_4200);
        building.instruction().thread_block = word.matches(0xffff_ffe0, 0xd53b_d040);
    } else {
        building.reads(general(word.d()));
        building.instruction().writes_flags = word.matches(0xffff_ffe0, 0xd51b_4200);
    }
}

fn hint(number: u32, building: &mut Building) {
    match number {
        // YIELD, WFE, WFI.
        1..=3 => building.instruction().pause = true,
        // Signing and checking of addresses in x17 by x16, then of the link register by zero or the stack pointer.
        8 | 10 | 12 | 14 => {
            building.reads(Some(17));
            building.reads(Some(16));
            building.writes(Some(17));
        }
        7 | 24..=31 => {
            building.reads(Some(LINK));
            building.writes(Some(LINK));
        }
        _ => {}
    }
}
