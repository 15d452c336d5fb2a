//! The decoder for x86-64.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction as Iced, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register as Name,
};

use super::instruction::{
    Access, AccessKind, Atomic, Decode, Flow, Instruction, Operand, Register, RegisterSet, Value,
};

const RAX: Register = 0;
const RSP: Register = 4;
const RBP: Register = 5;
/// Vector registers by number.
const VECTOR: Register = 16;
/// All of the x87 stack, which is also MMX.
const X87: Register = 48;
/// AVX-512 masks.
const MASK: Register = 56;

/// Registers that a function may change (System V ABI of x86-64, section 3.2.1): rax rcx rdx rsi rdi r8 to r11, and all
/// vector, x87 and mask registers.
const CHANGED_BY_CALLS: RegisterSet = RegisterSet(0b1111_1100_0111 | !0xffff);

/// The widest access that is accepted: a cache line, the widest vector.
const WIDEST: usize = 64;

/// x86-64.
pub(super) struct X86 {
    facts: InstructionInfoFactory,
}

impl Default for X86 {
    fn default() -> Self {
        Self { facts: InstructionInfoFactory::new() }
    }
}

impl Decode for X86 {
    fn longest(&self) -> usize {
        15
    }

    fn general(&self) -> usize {
        16
    }

    fn decode(&mut self, address: u64, bytes: &[u8]) -> Option<Instruction> {
        let iced = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        if iced.is_invalid() {
            return None;
        }
        let mut found = Instruction {
            flow: flow(&iced),
            reads_flags: iced.rflags_read() != 0,
            writes_flags: iced.rflags_modified() != 0,
            pause: matches!(iced.mnemonic(), Mnemonic::Pause | Mnemonic::Tpause | Mnemonic::Umwait),
            fence: is_fence(&iced),
            ..Instruction::nothing(address, iced.len() as u8)
        };
        self.add_registers(&iced, &mut found);
        self.add_accesses(&iced, &mut found);
        found.effect = effect(&iced);
        let is_atomic = found.accesses().any(|access| access.kind == AccessKind::Atomic);
        found.atomic = is_atomic.then(|| atomic(&iced));
        found.stack = match iced.mnemonic() {
            Mnemonic::Leave => 0,
            _ => i16::try_from(iced.stack_pointer_increment()).unwrap_or(0),
        };
        Some(found)
    }

    fn changed_by_calls(&self) -> RegisterSet {
        CHANGED_BY_CALLS
    }

    fn stack_pointer(&self) -> Register {
        RSP
    }

    fn frame_pointer(&self) -> Register {
        RBP
    }

    fn link(&self) -> RegisterSet {
        RegisterSet::default()
    }

    fn system_call_number(&self) -> Register {
        RAX
    }

    fn sched_yield(&self) -> u64 {
        24
    }

    fn traps_after(&self) -> bool {
        true
    }
}

/// MFENCE, or the faster form that compilers write: a locked addition of 0 (or similar) on the stack.
fn is_fence(iced: &Iced) -> bool {
    let nothing = matches!(iced.mnemonic(), Mnemonic::Add | Mnemonic::Or | Mnemonic::Xor)
        && iced.has_lock_prefix()
        && iced.memory_base() == Name::RSP
        && iced.memory_index() == Name::None
        && iced.op_count() == 2
        && iced.try_immediate(1).is_ok_and(|number| number == 0);
    iced.mnemonic() == Mnemonic::Mfence || nothing
}

impl X86 {
    fn add_registers(&mut self, iced: &Iced, found: &mut Instruction) {
        for used in self.facts.info(iced).used_registers() {
            let Some(register) = number(used.register()) else { continue };
            if matches!(
                used.access(),
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            ) {
                found.reads.add(register);
            }
            match used.access() {
                OpAccess::Write | OpAccess::ReadWrite => {
                    found.writes.add(register);
                    found.kills.add(register);
                }
                OpAccess::CondWrite | OpAccess::ReadCondWrite => found.writes.add(register),
                _ => {}
            }
        }
        if iced.mnemonic() == Mnemonic::Syscall {
            found.reads.add(RAX);
            found.writes.add(RAX);
        }
        // x87 and MMX instructions name some registers of their stack and move the others.
        if iced.fpu_stack_increment_info().increment() != 0 || iced.fpu_stack_increment_info().conditional() {
            found.reads.add(X87);
            found.writes.add(X87);
        }
    }

    fn add_accesses(&mut self, iced: &Iced, found: &mut Instruction) {
        let locked = iced.has_lock_prefix() || iced.mnemonic() == Mnemonic::Xchg;
        let mut accesses: [Option<Access>; 2] = [None; 2];
        // Gathers and scatters access several places, which one address cannot describe.
        if iced.is_vsib() {
            return;
        }
        for used in self.facts.info(iced).used_memory() {
            let kind = match used.access() {
                OpAccess::Read | OpAccess::CondRead => AccessKind::Load,
                OpAccess::Write | OpAccess::CondWrite => AccessKind::Store,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite if locked => AccessKind::Atomic,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => AccessKind::Update,
                _ => continue,
            };
            let width = used.memory_size().size();
            if width == 0 || width > WIDEST {
                continue;
            }
            let index = number(used.index()).map(|register| (register, used.scale() as u8));
            let operand = Operand {
                // iced gives addresses relative to the instruction pointer as absolute addresses.
                base: number(used.base()).filter(|_| used.base() != Name::RIP && used.base() != Name::EIP),
                index,
                displacement: used.displacement(),
                half: None,
                thread_local: matches!(used.segment(), Name::FS | Name::GS),
            };
            if let Some(free) = accesses.iter_mut().find(|slot| slot.is_none()) {
                *free = Some(Access { kind, width: width as u16, operand });
            }
        }
        if accesses[1].is_some_and(|second| second.kind == AccessKind::Load) {
            accesses.swap(0, 1);
        }
        found.accesses = accesses;
    }
}

fn flow(iced: &Iced) -> Flow {
    if iced.mnemonic() == Mnemonic::Syscall {
        return Flow::SystemCall;
    }
    let near = |kind| matches!(kind, OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
    let target = (iced.op_count() > 0 && near(iced.op0_kind())).then(|| iced.near_branch_target());
    match iced.flow_control() {
        FlowControl::Next | FlowControl::XbeginXabortXend => Flow::Next,
        FlowControl::UnconditionalBranch => {
            target.map_or(Flow::Stop, |target| Flow::Branch { target, conditional: false })
        }
        FlowControl::ConditionalBranch => {
            target.map_or(Flow::Stop, |target| Flow::Branch { target, conditional: true })
        }
        FlowControl::IndirectBranch => Flow::IndirectBranch,
        FlowControl::Return => Flow::Return,
        FlowControl::Call => Flow::Call(target),
        FlowControl::IndirectCall => Flow::Call(None),
        FlowControl::Interrupt | FlowControl::Exception => Flow::Stop,
    }
}

fn atomic(iced: &Iced) -> Atomic {
    match iced.mnemonic() {
        Mnemonic::Xchg | Mnemonic::Cmpxchg | Mnemonic::Or | Mnemonic::And | Mnemonic::Bts | Mnemonic::Btr => {
            let source = (0..iced.op_count()).find(|operand| iced.op_kind(*operand) == OpKind::Register);
            Atomic::Sets(source.and_then(|operand| number(iced.op_register(operand))))
        }
        // The new value is in rcx:rbx; the low half stands for both.
        Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b => Atomic::Sets(number(Name::RBX)),
        _ => Atomic::Changes,
    }
}

/// The number of a register that holds values.
fn number(name: Name) -> Option<Register> {
    if name.is_gpr() {
        return Some(name.full_register().number() as Register);
    }
    if name.is_vector_register() {
        return Some(VECTOR + name.number() as Register);
    }
    if name.is_k() {
        return Some(MASK + name.number() as Register);
    }
    (name.is_st() || name.is_mm()).then_some(X87)
}

/// The general register of an operand, and its size in bits.
fn general(iced: &Iced, operand: u32) -> Option<(Register, u8)> {
    let name = iced.op_register(operand);
    let high = matches!(name, Name::AH | Name::BH | Name::CH | Name::DH);
    (iced.op_kind(operand) == OpKind::Register && name.is_gpr() && !high)
        .then(|| (name.full_register().number() as Register, (name.size() * 8) as u8))
}

fn immediate(iced: &Iced, operand: u32) -> Option<u64> {
    iced.try_immediate(operand).ok()
}

/// The computable value that an instruction puts into a register of 32 or 64 bits.
fn effect(iced: &Iced) -> Option<(Register, Value)> {
    if iced.mnemonic() == Mnemonic::Leave {
        return Some((RSP, linear(Some(RBP), None, 8, 64)));
    }
    if matches!(iced.code(), Code::Cdqe) {
        return Some((RAX, Value::Extended { of: RAX, from: 32, signed: true, bits: 64 }));
    }
    if iced.op_count() == 0 {
        return None;
    }
    let (to, bits) = general(iced, 0).filter(|(_, bits)| *bits >= 32)?;
    let source = || (iced.op_count() > 1).then(|| general(iced, 1)).flatten();
    let memory = || iced.op_count() > 1 && iced.op_kind(1) == OpKind::Memory;
    let value = match iced.mnemonic() {
        Mnemonic::Mov => match (source(), immediate(iced, 1)) {
            (Some((from, _)), _) => linear(Some(from), None, 0, bits),
            (None, Some(constant)) => linear(None, None, constant, bits),
            _ if memory() => Value::Loaded { signed: false, bits },
            _ => return None,
        },
        Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
            let signed = iced.mnemonic() != Mnemonic::Movzx;
            match source() {
                Some((of, from)) => Value::Extended { of, from, signed, bits },
                None if memory() => Value::Loaded { signed, bits },
                None => return None,
            }
        }
        Mnemonic::Pop => Value::Loaded { signed: false, bits },
        Mnemonic::Lea => {
            let index = number(iced.memory_index()).map(|index| (index, iced.memory_index_scale() as i8));
            let relative = iced.is_ip_rel_memory_operand();
            let base = number(iced.memory_base()).filter(|_| !relative);
            linear(base, index, iced.memory_displacement64(), bits)
        }
        Mnemonic::Add | Mnemonic::Sub => {
            let minus = iced.mnemonic() == Mnemonic::Sub;
            match (source(), immediate(iced, 1)) {
                (Some((from, _)), _) if minus && from == to => linear(None, None, 0, bits),
                (Some((from, _)), _) => linear(Some(to), Some((from, if minus { -1 } else { 1 })), 0, bits),
                (None, Some(constant)) if minus => linear(Some(to), None, constant.wrapping_neg(), bits),
                (None, Some(constant)) => linear(Some(to), None, constant, bits),
                _ => return None,
            }
        }
        Mnemonic::Inc => linear(Some(to), None, 1, bits),
        Mnemonic::Dec => linear(Some(to), None, u64::MAX, bits),
        Mnemonic::Shl => match immediate(iced, 1)? {
            by @ 1..=6 => linear(None, Some((to, 1 << by)), 0, bits),
            _ => return None,
        },
        Mnemonic::Xor if source().is_some_and(|(from, _)| from == to) => linear(None, None, 0, bits),
        _ => return None,
    };
    Some((to, value))
}

fn linear(base: Option<Register>, index: Option<(Register, i8)>, displacement: u64, bits: u8) -> Value {
    Value::Linear { base, index, displacement, bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_differ_from_atomic_changes() {
        let fence = |bytes: &[u8]| X86::default().decode(0x1000, bytes).unwrap().fence;
        assert!(fence(&[0x0f, 0xae, 0xf0]), "mfence");
        assert!(fence(&[0xf0, 0x83, 0x44, 0x24, 0xc0, 0x00]), "lock add dword [rsp-64], 0");
        assert!(fence(&[0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00]), "lock or qword [rsp], 0");
        assert!(!fence(&[0xf0, 0x83, 0x44, 0x24, 0xc0, 0x01]), "lock add dword [rsp-64], 1");
        assert!(!fence(&[0xf0, 0x83, 0x00, 0x00]), "lock add dword [rax], 0");
        assert!(!fence(&[0x83, 0x44, 0x24, 0xc0, 0x00]), "add dword [rsp-64], 0");
    }
}
