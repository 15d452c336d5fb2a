//! One instruction as the rest of `decode` sees it, independent of the architecture. Imports nothing.

/// Turns bytes into instructions.
pub trait Decode {
    /// The longest instruction, in bytes.
    fn longest(&self) -> usize;

    /// How many general registers there are, at most [`GENERAL`].
    fn general(&self) -> usize;

    /// The instruction whose first byte is `bytes[0]`; `None` when the bytes are no instruction.
    fn decode(&mut self, address: u64, bytes: &[u8]) -> Option<Instruction>;

    /// Registers that a called function may change.
    fn changed_by_calls(&self) -> RegisterSet;

    /// The stack pointer.
    fn stack_pointer(&self) -> Register;

    /// The frame-pointer register, for functions that use one.
    fn frame_pointer(&self) -> Register;

    /// The registers in which a call leaves the return address.
    fn link(&self) -> RegisterSet;

    /// The register that holds the number of a system call.
    fn system_call_number(&self) -> Register;

    /// The number of sched_yield(2).
    fn sched_yield(&self) -> u64;

    /// Whether a breakpoint on data stops after the instruction that touched the data; otherwise it stops before it.
    fn traps_after(&self) -> bool;
}

/// A register, numbered from 0; general registers come first, in the order of [`Registers::general`].
pub type Register = u8;

/// How many general registers there are at most: those of AArch64.
pub const GENERAL: usize = 32;

/// A set of registers: general ones, then vector, floating-point and mask registers, which hold values but are never
/// followed as addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct RegisterSet(pub u64);

impl RegisterSet {
    /// The set of one register.
    pub fn from_register(register: Register) -> Self {
        Self(1 << (register & 63))
    }

    /// Whether the register is in it.
    pub fn has(self, register: Register) -> bool {
        self.0 & Self::from_register(register).0 != 0
    }

    /// Adds a register.
    pub fn add(&mut self, register: Register) {
        self.0 |= Self::from_register(register).0;
    }

    /// The registers in it, ascending.
    pub fn iter(self) -> impl Iterator<Item = Register> {
        (0..64).filter(move |register| self.has(*register))
    }
}

/// Whose registers these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Numbering {
    #[default]
    X86_64,
    AArch64,
}

/// The user registers of a thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers {
    /// General registers. x86-64 in the order of their encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15, then
    /// zeros; AArch64: x0 ... x30 sp.
    pub general: [u64; GENERAL],
    /// Address of the instruction that comes next.
    pub ip: u64,
    numbering: Numbering,
}

impl Registers {
    /// Those of x86-64, in the order of their encoding.
    pub fn x86_64(encoded: [u64; 16], ip: u64) -> Self {
        let mut general = [0; GENERAL];
        general[..encoded.len()].copy_from_slice(&encoded);
        Self { general, ip, numbering: Numbering::X86_64 }
    }

    /// Those of AArch64: x0 to x30, and sp.
    pub fn aarch64(general: [u64; GENERAL], ip: u64) -> Self {
        Self { general, ip, numbering: Numbering::AArch64 }
    }

    /// From the kernel's `struct pt_regs` of an architecture, named as by `uname -m`. `None` when it is another one, or
    /// when there are fewer.
    pub fn saved(architecture: &str, words: &[u64]) -> Option<Self> {
        match architecture {
            "x86_64" => Self::from_x86_pt_regs(words),
            "aarch64" => Some(Self::aarch64(*words.first_chunk()?, *words.get(GENERAL)?)),
            _ => None,
        }
    }

    /// r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs rflags rsp ss
    /// (arch/x86/include/asm/ptrace.h). AArch64 has x0 to x30, sp, pc (arch/arm64/include/asm/ptrace.h).
    fn from_x86_pt_regs(saved: &[u64]) -> Option<Self> {
        let [r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, _, rip, _, _, rsp, ..] = *saved
        else {
            return None;
        };
        let encoded = [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15];
        Some(Self::x86_64(encoded, rip))
    }

    /// A general register by its number in debug information and unwind tables: of x86-64 (System V ABI, figure 3.36)
    /// rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15; of AArch64 (DWARF for the Arm 64-bit architecture) x0 ... x30 sp.
    pub(crate) fn by_dwarf_number(&self, number: u16) -> Option<u64> {
        const ENCODED: [usize; 16] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
        let number = usize::from(number);
        let index = match self.numbering {
            Numbering::X86_64 => *ENCODED.get(number)?,
            Numbering::AArch64 => number,
        };
        self.general.get(index).copied()
    }
}

/// What an instruction does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes back, not atomically.
    Update,
    /// It reads and may write back, atomically.
    Atomic,
}

impl AccessKind {
    /// Whether it reads.
    pub fn reads(self) -> bool {
        self != Self::Store
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self != Self::Load
    }
}

/// How the address of a memory operand is made: base + index × scale + displacement, modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operand {
    /// A register.
    pub base: Option<Register>,
    /// A register and its factor.
    pub index: Option<(Register, u8)>,
    /// What is added; without base and index, the address itself.
    pub displacement: u64,
    /// The index is only the low half of its register, extended: true for its sign, false for zeros (AArch64).
    pub half: Option<bool>,
    /// The address is relative to the thread's own block (x86: FS or GS).
    pub thread_local: bool,
}

/// What an atomic instruction leaves in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// A value that does not depend on the old one, from a register or a constant (exchange, compare and exchange, or,
    /// and, test and set): repeating it changes nothing more.
    Sets(Option<Register>),
    /// The old value, changed (add, increment): repeating it changes it again.
    Changes,
}

/// One memory access of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// Bytes.
    pub width: u16,
    /// Where.
    pub operand: Operand,
}

/// The value that an instruction puts into a general register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// base + index × scale + displacement, of which the low `bits` (32 or 64) are kept and the rest is zero.
    Linear {
        /// A register.
        base: Option<Register>,
        /// A register and its factor, which may be −1.
        index: Option<(Register, i8)>,
        /// What is added.
        displacement: u64,
        /// 32 or 64.
        bits: u8,
    },
    /// The low `from` bits of a register, extended to `bits`; zeros above.
    Extended {
        /// The register.
        of: Register,
        /// 8, 16 or 32.
        from: u8,
        /// True for sign extension.
        signed: bool,
        /// 32 or 64.
        bits: u8,
    },
    /// What the instruction's first access reads, extended to `bits`; zeros above.
    Loaded {
        /// True for sign extension.
        signed: bool,
        /// 32 or 64.
        bits: u8,
    },
}

/// Where execution goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To an address; a conditional branch may also go to the next instruction.
    Branch {
        /// The address.
        target: u64,
        /// Whether the branch may not be taken.
        conditional: bool,
    },
    /// To an address that the code reads from memory.
    IndirectBranch,
    /// Into a function, then to the next instruction; no address when the function is not known.
    Call(Option<u64>),
    /// Into the kernel, then to the next instruction.
    SystemCall,
    /// Back to the caller.
    Return,
    /// Nowhere: a trap, or bytes that are no instruction.
    Stop,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u8,
    /// Where execution goes.
    pub flow: Flow,
    /// Registers whose value matters to it, including those in addresses.
    pub reads: RegisterSet,
    /// Registers that it may change.
    pub writes: RegisterSet,
    /// The registers among these whose old value is certainly lost.
    pub kills: RegisterSet,
    /// It depends on the condition flags.
    pub reads_flags: bool,
    /// It sets condition flags.
    pub writes_flags: bool,
    /// Its memory accesses; a read comes before a write.
    pub accesses: [Option<Access>; 2],
    /// The register that gets a computable value, and that value.
    pub effect: Option<(Register, Value)>,
    /// What it adds to the stack pointer implicitly (push, pop, call, return).
    pub stack: i16,
    /// For an atomic access: what it leaves in memory.
    pub atomic: Option<Atomic>,
    /// The write of an atomic change in two parts, which fails when another thread wrote since the first part read
    /// (AArch64: STXR). Its status says nothing about the value in memory.
    pub exclusive: bool,
    /// It takes the address of the thread's own block out of a special register (AArch64: TPIDR_EL0).
    pub thread_block: bool,
    /// It tells the processor that the code waits (x86: PAUSE; AArch64: YIELD, WFE, or ISB, which compilers write for
    /// it).
    pub pause: bool,
    /// It only waits until all earlier writes are visible to other processors (x86: MFENCE, or a locked no-op on the
    /// stack, as run-time compilers write it; AArch64: DMB, DSB).
    pub fence: bool,
}

impl Instruction {
    /// An instruction that does nothing and continues with the next one.
    pub(super) fn nothing(address: u64, length: u8) -> Self {
        Self {
            address,
            length,
            flow: Flow::Next,
            reads: RegisterSet::default(),
            writes: RegisterSet::default(),
            kills: RegisterSet::default(),
            reads_flags: false,
            writes_flags: false,
            accesses: [None; 2],
            effect: None,
            stack: 0,
            atomic: None,
            exclusive: false,
            thread_block: false,
            pause: false,
            fence: false,
        }
    }

    /// The address of the instruction after it.
    pub fn next(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.length))
    }

    /// Its memory accesses.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.accesses.iter().flatten()
    }

    /// Whether execution can go on to the instruction after it.
    pub fn falls_through(&self) -> bool {
        match self.flow {
            Flow::Next | Flow::Call(_) | Flow::SystemCall => true,
            Flow::Branch { conditional, .. } => conditional,
            Flow::IndirectBranch | Flow::Return | Flow::Stop => false,
        }
    }

    /// Where a branch goes, conditional or not.
    pub fn target(&self) -> Option<u64> {
        match self.flow {
            Flow::Branch { target, .. } => Some(target),
            _ => None,
        }
    }
}
