//! The memory accesses around a sampled instruction, with their addresses.
//!
//! A timer interrupts between instructions, so the registers are those just before the sampled instruction. That is
//! usually the one right after the load that the processor had to wait for. The instructions before it are replayed
//! backwards as far as they can be undone (additions, copies, pushes), then forwards with what the stack's bytes show;
//! the sampled instruction and those after it are replayed forwards. All of this is derived once for an address, as
//! formulas, and only evaluated for each sample.

use rustc_hash::FxHashMap as HashMap;

use super::code::{CodeGraph, Edge};
pub use super::expression::StackBytes;
use super::expression::{Formula, Formulas, Step};
use super::instruction::{AccessKind, Flow, GENERAL, Instruction, Operand, Register, RegisterSet, Registers, Value};

/// How many instructions are replayed before the sampled one. Measured on compiled C: farther back, the registers of
/// hardly any address are known.
const BACK: usize = 20;

/// How many instructions are replayed from the sampled one on.
const AHEAD: usize = 10;

/// Nothing is mapped below this address (distributions set vm.mmap_min_addr to 64 KiB).
const LOWEST: u64 = 0x1_0000;

/// User space ends below this address, even with five levels of page tables.
const HIGHEST: u64 = 1 << 56;

/// Memory below the stack pointer that a function may use without moving it (System V ABI of x86-64, section 3.2.2).
const RED_ZONE: u64 = 128;

/// How far above the stack pointer a value may be to be taken for a frame pointer.
const FRAME: u64 = 1 << 16;

/// For how many addresses formulas are held; beyond that all are dropped and derived again.
const HELD: usize = 1 << 16;

/// How sure the address of an access is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Certainty {
    /// From registers whose values are valid at the sample or could be restored exactly, along the only path that leads
    /// there.
    Exact,
    /// Along a likely path (around a loop, past a call, past an atomic access where paths merge), or with values from the
    /// stack as it was at the sample.
    Likely,
}

/// One memory access near a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampledAccess {
    /// The address of the instruction.
    pub instruction: u64,
    /// Distance from the sampled instruction in instructions: −1 is the one before, for which the processor usually
    /// waited. Fences before the sample are not counted, because they wait for the write before them; nor is a jump from
    /// an atomic access to where paths merge.
    pub distance: i8,
    /// What it does.
    pub kind: AccessKind,
    /// Bytes.
    pub width: u16,
    /// Where.
    pub address: u64,
    /// How sure the address is.
    pub certainty: Certainty,
}

/// The formulas of sampled addresses.
#[derive(Debug, Default)]
pub struct Replay {
    plans: HashMap<u64, Plan>,
    values: Vec<Option<u64>>,
}

impl Replay {
    /// Nothing worked out yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The accesses around one sample that are outside the function's own frame, the nearest before it first. `out`
    /// is cleared.
    pub fn accesses(
        &mut self,
        code: &CodeGraph,
        registers: &Registers,
        stack: StackBytes<'_>,
        out: &mut Vec<SampledAccess>,
    ) {
        out.clear();
        if self.plans.len() >= HELD {
            self.plans.clear();
        }
        let plan = self.plans.entry(registers.ip).or_insert_with(|| Plan::make(code, registers.ip));
        plan.hits += 1;
        // Later samples may have decoded the code before this one. Checking at doubling intervals costs next to nothing.
        if plan.hits.is_power_of_two() && plan.version != code.version() {
            *plan = Plan { hits: plan.hits, ..Plan::make(code, registers.ip) };
        }
        if plan.accesses.is_empty() {
            return;
        }
        plan.formulas.compute(registers, stack, &mut self.values);
        let sp = registers.general.get(usize::from(plan.stack_pointer)).copied().unwrap_or(0);
        for access in &plan.accesses {
            let Some(address) = self.values.get(access.at as usize).copied().flatten() else { continue };
            let framed = access.framed && address.wrapping_sub(sp.wrapping_sub(RED_ZONE)) < FRAME;
            if !framed && (LOWEST..HIGHEST).contains(&address) {
                out.push(SampledAccess { address, ..access.access });
            }
        }
    }

    /// Forgets everything: the process executed another program.
    pub fn clear(&mut self) {
        self.plans.clear();
    }
}

/// What is known about the registers before an instruction.
type Environment = [Option<Formula>; GENERAL];

#[derive(Debug)]
struct Planned {
    /// The access; its address is filled in for each sample.
    access: SampledAccess,
    at: Formula,
    /// It uses the frame-pointer register: the own frame, if that register holds a frame pointer.
    framed: bool,
}

#[derive(Debug)]
struct Plan {
    formulas: Formulas,
    accesses: Vec<Planned>,
    stack_pointer: Register,
    version: u64,
    hits: u32,
}

/// One instruction on the path through the sample.
struct PathInstruction<'c> {
    instruction: &'c Instruction,
    distance: i8,
    likely: bool,
}

impl Plan {
    fn make(code: &CodeGraph, ip: u64) -> Self {
        let stack_pointer = code.architecture().stack_pointer();
        let mut work = Work {
            code,
            formulas: Formulas::default(),
            stores: Vec::new(),
            stack_pointer,
            frame_pointer: code.architecture().frame_pointer(),
        };
        let before = path_before(code, ip);
        let after = path_after(code, ip);
        let general = code.architecture().general();
        let sampled: Environment = std::array::from_fn(|register| {
            (register < general).then(|| work.formulas.add(Step::Register(register as u8)))
        });
        let mut undone = vec![sampled];
        for place in &before {
            let known = undone.last().copied().unwrap_or(sampled);
            undone.push(work.undo(place.instruction, known));
        }
        // The first pass finds what is stored where; the second leaves out loads from places that a later store
        // changed.
        let mut accesses = Vec::new();
        for _ in 0..2 {
            let mut found = Vec::new();
            let mut stores = Vec::new();
            let mut known = undone.last().copied().unwrap_or(sampled);
            for (index, place) in before.iter().enumerate().rev() {
                if let Some(better) = undone.get(index + 1) {
                    known = std::array::from_fn(|register| better[register].or(known[register]));
                }
                known = work.run(place, known, &mut found, &mut stores);
            }
            known = sampled;
            for place in &after {
                known = work.run(place, known, &mut found, &mut stores);
            }
            accesses = found;
            work.stores = stores;
        }
        // Nearest before the sample first, because the sample most likely waited for that access.
        accesses.sort_by_key(|planned| (planned.access.distance >= 0, planned.access.distance.unsigned_abs()));
        Self { formulas: work.formulas, accesses, stack_pointer, version: code.version(), hits: 0 }
    }
}

struct Work<'c> {
    code: &'c CodeGraph,
    formulas: Formulas,
    /// Stores by their distance from the sample.
    stores: Vec<(i8, Formula)>,
    stack_pointer: Register,
    frame_pointer: Register,
}

fn get(known: &Environment, register: Register) -> Option<Formula> {
    known.get(usize::from(register)).copied().flatten()
}

fn set(known: &mut Environment, register: Register, value: Option<Formula>) {
    if let Some(place) = known.get_mut(usize::from(register)) {
        *place = value;
    }
}

impl Work<'_> {
    fn changed(&self, instruction: &Instruction) -> RegisterSet {
        match instruction.flow {
            Flow::Call(_) => self.code.architecture().changed_by_calls(),
            _ => instruction.writes,
        }
    }

    /// What was known before an instruction, given what is known after it.
    fn undo(&mut self, instruction: &Instruction, after: Environment) -> Environment {
        let mut before = after;
        for register in self.changed(instruction).iter() {
            set(&mut before, register, None);
        }
        let call = matches!(instruction.flow, Flow::Call(_));
        if let Some((to, value)) = instruction.effect
            && let Some(result) = get(&after, to)
        {
            self.undo_value(to, value, result, &mut before);
        }
        if instruction.stack != 0
            && !call
            && let Some(sp) = get(&after, self.stack_pointer)
        {
            let back = self.formulas.sum((sp, 1), None, (i64::from(instruction.stack) as u64).wrapping_neg());
            set(&mut before, self.stack_pointer, Some(back));
        }
        before
    }

    fn undo_value(&mut self, to: Register, value: Value, result: Formula, before: &mut Environment) {
        let Value::Linear { base, index, displacement, bits } = value else { return };
        let minus = displacement.wrapping_neg();
        if bits == 32 {
            // Adding a constant to the low half: the upper half is now 0, and was 0 before if the value had 32 bits.
            if base == Some(to) && index.is_none() {
                let sum = self.formulas.sum((result, 1), None, minus);
                let old = self.formulas.extended(sum, 32, false, 64);
                self.formulas.assume(old);
                set(before, to, Some(old));
            }
            return;
        }
        let negative = |factor: i8| factor.checked_neg();
        let solved = match (base, index) {
            (Some(base), None) => Some((base, self.formulas.sum((result, 1), None, minus))),
            (Some(base), Some((index, factor))) if index != to => {
                let other = get(before, index).zip(negative(factor));
                other.map(|other| (base, self.formulas.sum((result, 1), Some(other), minus)))
            }
            (Some(base), Some((index, 1))) if index == to && base != to => {
                get(before, base).map(|base| (to, self.formulas.sum((result, 1), Some((base, -1)), minus)))
            }
            (None, Some((index, 1))) => Some((index, self.formulas.sum((result, 1), None, minus))),
            _ => None,
        };
        if let Some((register, formula)) = solved
            && get(before, register).is_none()
        {
            set(before, register, Some(formula));
        }
    }

    /// Notes the accesses of an instruction, and returns what is known after it.
    fn run(
        &mut self,
        place: &PathInstruction<'_>,
        known: Environment,
        found: &mut Vec<Planned>,
        stores: &mut Vec<(i8, Formula)>,
    ) -> Environment {
        let instruction = place.instruction;
        let mut first = None;
        for (nth, access) in instruction.accesses().enumerate() {
            let Some(at) = self.address(&access.operand, &known) else { continue };
            if nth == 0 {
                first = Some(at);
            }
            if access.kind.writes() {
                stores.push((place.distance, at));
            }
            if access.operand.thread_local || access.operand.base == Some(self.stack_pointer) {
                continue;
            }
            let likely = place.likely || self.formulas.is_likely(at);
            found.push(Planned {
                access: SampledAccess {
                    instruction: instruction.address,
                    distance: place.distance,
                    kind: access.kind,
                    width: access.width,
                    address: 0,
                    certainty: if likely { Certainty::Likely } else { Certainty::Exact },
                },
                at,
                framed: access.operand.base == Some(self.frame_pointer),
            });
        }
        let mut after = known;
        let value =
            instruction.effect.and_then(|(_, value)| self.value(instruction, value, &known, first, place.distance));
        for register in self.changed(instruction).iter() {
            set(&mut after, register, None);
        }
        if let Some((to, _)) = instruction.effect {
            set(&mut after, to, value);
        }
        if instruction.stack != 0 && !matches!(instruction.flow, Flow::Call(_)) {
            let sp = get(&known, self.stack_pointer);
            let moved = sp.map(|sp| self.formulas.sum((sp, 1), None, i64::from(instruction.stack) as u64));
            set(&mut after, self.stack_pointer, moved);
        }
        after
    }

    fn address(&mut self, operand: &Operand, known: &Environment) -> Option<Formula> {
        let base = match operand.base {
            Some(base) => Some((get(known, base)?, 1)),
            None => None,
        };
        let index = match operand.index {
            Some((index, factor)) => {
                let whole = get(known, index)?;
                let index = operand.half.map_or(whole, |signed| self.formulas.extended(whole, 32, signed, 64));
                Some((index, i8::try_from(factor).ok()?))
            }
            None => None,
        };
        Some(match (base, index) {
            (Some(base), index) => self.formulas.sum(base, index, operand.displacement),
            (None, Some(index)) => self.formulas.sum(index, None, operand.displacement),
            (None, None) => self.formulas.constant(operand.displacement),
        })
    }

    fn value(
        &mut self,
        instruction: &Instruction,
        value: Value,
        known: &Environment,
        read_at: Option<Formula>,
        distance: i8,
    ) -> Option<Formula> {
        match value {
            Value::Linear { base, index, displacement, bits } => {
                let base = match base {
                    Some(base) => Some((get(known, base)?, 1)),
                    None => None,
                };
                let index = match index {
                    Some((index, factor)) => Some((get(known, index)?, factor)),
                    None => None,
                };
                let sum = match (base, index) {
                    (Some(base), index) => self.formulas.sum(base, index, displacement),
                    (None, Some(index)) => self.formulas.sum(index, None, displacement),
                    (None, None) => self.formulas.constant(displacement),
                };
                Some(self.formulas.extended(sum, bits, false, 64))
            }
            Value::Extended { of, from, signed, bits } => {
                let of = get(known, of)?;
                Some(self.formulas.extended(of, from, signed, bits))
            }
            Value::Loaded { signed, bits } => {
                let at = read_at?;
                let width = instruction.accesses().next().map_or(0, |access| access.width);
                let bytes = u8::try_from(width).ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
                if self.overwritten(at, distance) {
                    return None;
                }
                let loaded = self.formulas.add(Step::Stack { at, bytes });
                Some(self.formulas.extended(loaded, bytes * 8, signed, bits))
            }
        }
    }

    /// Whether a load at this distance read other bytes than those on the stack at the sample.
    fn overwritten(&self, at: Formula, distance: i8) -> bool {
        let between =
            |store: i8| if distance < 0 { distance < store && store < 0 } else { 0 <= store && store < distance };
        self.stores.iter().any(|(store, formula)| *formula == at && between(*store))
    }
}

/// The instructions before an address, along the most likely path, nearest first.
fn path_before(code: &CodeGraph, ip: u64) -> Vec<PathInstruction<'_>> {
    let mut path = Vec::new();
    let (mut address, mut likely, mut distance) = (ip, false, -1);
    for _ in 0..BACK {
        let Some((from, unsure)) = predecessor(code, address) else { break };
        let Some(instruction) = code.at(from) else { break };
        likely |= unsure || matches!(instruction.flow, Flow::Call(_));
        path.push(PathInstruction { instruction, distance, likely });
        distance -= i8::from(!instruction.fence);
        address = from;
    }
    path
}

/// The instruction before, and whether others may come before too. Where paths merge, the one around a loop is taken,
/// because samples fall into loops; otherwise the one that ends with an atomic access. A locked instruction takes
/// twenty or more cycles where others take one, so most samples after it come from its path, even if the other is taken
/// more often. (C++ counts references on such a path in programs with threads, and on another one in those without.)
fn predecessor(code: &CodeGraph, address: u64) -> Option<(u64, bool)> {
    let mut edges = code.before(address);
    let first = edges.next()?;
    if edges.next().is_none() {
        return Some((first.from, false));
    }
    let only = |paths: &mut dyn Iterator<Item = u64>| Some((paths.next()?, true)).filter(|_| paths.next().is_none());
    let back = |edge: &Edge| edge.branch && edge.from >= address;
    if code.before(address).any(|edge| back(&edge)) {
        return only(&mut code.before(address).filter(back).map(|edge| edge.from));
    }
    only(&mut code.before(address).filter_map(|edge| atomic_end(code, edge)))
}

/// The atomic access that the path through an edge ends with, possibly followed by a jump.
fn atomic_end(code: &CodeGraph, edge: Edge) -> Option<u64> {
    let is_atomic = |at: &u64| {
        let mut accesses = code.at(*at).into_iter().flat_map(Instruction::accesses);
        accesses.any(|access| access.kind == AccessKind::Atomic)
    };
    if !edge.branch {
        return Some(edge.from).filter(is_atomic);
    }
    let jumps = matches!(code.at(edge.from)?.flow, Flow::Branch { conditional: false, .. });
    let mut before = code.before(edge.from);
    let only = before.next().filter(|edge| jumps && !edge.branch && before.next().is_none())?;
    Some(only.from).filter(is_atomic)
}

/// The sampled instruction and those that certainly come after it.
fn path_after(code: &CodeGraph, ip: u64) -> Vec<PathInstruction<'_>> {
    let mut path = Vec::new();
    let mut address = ip;
    for step in 0..AHEAD {
        let Some(instruction) = code.at(address) else { break };
        path.push(PathInstruction { instruction, distance: step as i8, likely: false });
        address = match instruction.flow {
            Flow::Next => instruction.next(),
            Flow::Branch { target, conditional: false } => target,
            _ => break,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{CodeReader, decoder};

    const START: u64 = 0x40_0000;

    /// One function.
    struct Function(Vec<u8>);

    impl CodeReader for Function {
        fn code(&mut self, address: u64, buffer: &mut [u8]) -> usize {
            let Some(code) = address.checked_sub(START).and_then(|at| self.0.get(at as usize..)) else { return 0 };
            let length = code.len().min(buffer.len());
            buffer[..length].copy_from_slice(&code[..length]);
            length
        }

        fn function_start(&mut self, _: u64) -> Option<u64> {
            Some(START)
        }
    }

    /// What a sample at a distance from the start shows of the memory at 0x7000_0008.
    fn seen(code: &[&[u8]], at: u64) -> Vec<(u64, i8, AccessKind, Certainty)> {
        let mut reader = Function(code.concat());
        let mut code = CodeGraph::new(decoder("x86_64").unwrap());
        let mut general = [0; 16];
        general[14] = 0x7000_0000;
        let registers = Registers::x86_64(general, START + at);
        code.explore(registers.ip, &[], &mut reader);
        let mut found = Vec::new();
        Replay::new().accesses(&code, &registers, StackBytes { start: 0, bytes: &[] }, &mut found);
        found.retain(|access| access.address == 0x7000_0008);
        found.iter().map(|one| (one.instruction - START, one.distance, one.kind, one.certainty)).collect()
    }

    const TEST: &[u8] = &[0x4d, 0x85, 0xf6];
    const LOCK_ADD: &[u8] = &[0xf0, 0x41, 0x83, 0x46, 0x08, 0x01];
    const ADD: &[u8] = &[0x41, 0x83, 0x46, 0x08, 0x01];
    const LOAD_AND_RETURN: &[u8] = &[0x48, 0x03, 0x1f, 0xc3];

    #[test]
    fn where_paths_merge_the_sample_waited_for_the_atomic_access() {
        // test r14, r14; je over; lock add [r14+8], 1; over: add rbx, [rdi]; ret
        let skipped = seen(&[TEST, &[0x74, 0x06], LOCK_ADD, LOAD_AND_RETURN], 11);
        assert_eq!(skipped, [(5, -1, AccessKind::Atomic, Certainty::Likely)]);
        // The same with an else: je other; lock add; jmp on; other: add [r14+8], 1; on: ...
        let either = seen(&[TEST, &[0x74, 0x08], LOCK_ADD, &[0xeb, 0x05], ADD, LOAD_AND_RETURN], 18);
        assert_eq!(either, [(5, -1, AccessKind::Atomic, Certainty::Likely)]);
        // The same with the two branches exchanged.
        let or = seen(&[TEST, &[0x74, 0x07], ADD, &[0xeb, 0x06], LOCK_ADD, LOAD_AND_RETURN], 18);
        assert_eq!(or, [(12, -1, AccessKind::Atomic, Certainty::Likely)]);
    }

    #[test]
    fn where_ordinary_paths_merge_the_instruction_before_is_unknown() {
        assert_eq!(seen(&[TEST, &[0x74, 0x05], ADD, LOAD_AND_RETURN], 10), []);
        // Both paths end with an atomic access: which of them was slow cannot be told.
        assert_eq!(seen(&[TEST, &[0x74, 0x08], LOCK_ADD, &[0xeb, 0x06], LOCK_ADD, LOAD_AND_RETURN], 19), []);
    }
}
