//! The description of an instruction while it is built, and the fields of its word.

use crate::decode::instruction::{Access, AccessKind, Flow, Instruction, Operand, Register, Value};

/// The number 31 means the stack pointer in some places and a zero in others; here it is the stack pointer alone.
pub(super) const STACK_POINTER: Register = 31;
pub(super) const FRAME_POINTER: Register = 29;
pub(super) const LINK: Register = 30;
/// The register with the number of a system call.
pub(super) const SYSTEM_CALL_NUMBER: Register = 8;
/// Vector registers by number.
const VECTOR: Register = 32;

/// The four bytes of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u32);

impl Word {
    /// `width` bits, the lowest of which is bit `low`.
    pub(super) fn field(self, low: u32, width: u32) -> u32 {
        self.0 >> low & ((1 << width) - 1)
    }

    pub(super) fn bit(self, at: u32) -> bool {
        self.field(at, 1) != 0
    }

    /// The same with a sign.
    pub(super) fn signed(self, low: u32, width: u32) -> i64 {
        i64::from((self.field(low, width) << (32 - width)) as i32 >> (32 - width))
    }

    pub(super) fn matches(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// The number of a register.
    pub(super) fn register(self, low: u32) -> Register {
        self.field(low, 5) as Register
    }

    /// The registers in their usual places: Rd or Rt, Rn, Rm or Rs, Ra or Rt2.
    pub(super) fn d(self) -> Register {
        self.register(0)
    }

    pub(super) fn n(self) -> Register {
        self.register(5)
    }

    pub(super) fn m(self) -> Register {
        self.register(16)
    }

    pub(super) fn a(self) -> Register {
        self.register(10)
    }

    /// The operand size, 64 or 32 bits, which the highest bit chooses.
    pub(super) fn bits(self) -> u8 {
        if self.bit(31) { 64 } else { 32 }
    }
}

/// A general register, where 31 means the zero register: none.
pub(super) fn general(number: Register) -> Option<Register> {
    (number != STACK_POINTER).then_some(number)
}

pub(super) fn linear(base: Option<Register>, index: Option<(Register, i8)>, displacement: i64, bits: u8) -> Value {
    Value::Linear { base, index, displacement: displacement as u64, bits }
}

/// An address in a register (31 is the stack pointer), with a distance.
pub(super) fn place(base: Register, displacement: i64) -> Operand {
    Operand { base: Some(base), index: None, displacement: displacement as u64, half: None, thread_local: false }
}

pub(super) struct Building(Instruction);

impl Building {
    pub(super) fn at(address: u64) -> Building {
        Building(Instruction::nothing(address, 4))
    }

    pub(super) fn address(&self) -> u64 {
        self.0.address
    }

    pub(super) fn instruction(&mut self) -> &mut Instruction {
        &mut self.0
    }

    pub(super) fn done(self) -> Instruction {
        self.0
    }

    pub(super) fn reads(&mut self, register: Option<Register>) {
        if let Some(register) = register {
            self.0.reads.add(register);
        }
    }

    pub(super) fn writes(&mut self, register: Option<Register>) {
        if let Some(register) = register {
            self.0.writes.add(register);
            self.0.kills.add(register);
        }
    }

    pub(super) fn reads_vector(&mut self, number: Register) {
        self.0.reads.add(VECTOR + number);
    }

    /// `whole`: the instruction replaces all bits of the register.
    pub(super) fn writes_vector(&mut self, number: Register, whole: bool) {
        self.0.writes.add(VECTOR + number);
        if whole {
            self.0.kills.add(VECTOR + number);
        }
    }

    pub(super) fn flow(&mut self, flow: Flow) {
        self.0.flow = flow;
    }

    /// The value that a register gets; no effect on the zero register.
    pub(super) fn effect(&mut self, register: Option<Register>, value: Value) {
        self.0.effect = register.map(|register| (register, value));
    }

    /// An access, with the registers of its address.
    pub(super) fn access(&mut self, kind: AccessKind, width: u32, operand: Operand) {
        self.reads(operand.base);
        self.reads(operand.index.map(|(index, _)| index));
        if let Some(free) = self.0.accesses.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(Access { kind, width: width as u16, operand });
        }
    }

    /// An access that also changes its base register by a distance.
    pub(super) fn move_base(&mut self, base: Register, distance: i64) {
        self.writes(Some(base));
        match i16::try_from(distance) {
            Ok(distance) if base == STACK_POINTER => self.0.stack = distance,
            _ => self.effect(Some(base), linear(Some(base), None, distance, 64)),
        }
    }
}
