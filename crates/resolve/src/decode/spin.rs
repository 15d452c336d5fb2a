//! Loops that do nothing but wait for another thread to write.

use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

use super::code::CodeGraph;
use super::flow::{self, Load};
use super::instruction::{AccessKind, Atomic, Flow, Operand, Register, RegisterSet, Registers, Value};
use super::loops::{Loop, Loops};

/// How many samples at one address it takes before a loop is looked for there.
///
/// Decides: how many samples at an address it takes before a loop is looked for there.
/// From: chosen; no measurement.
/// Shown by: `bench/sharing`.
/// Wrong if: waiting is spread over many addresses.
const HOT: u32 = 4;

/// How many of the loops around an address are looked at, the smallest first: a delay, the wait around it, and one
/// more.
///
/// Decides: how many of the loops around an address are examined for one that waits.
/// From: the form of spin locks with a back-off.
/// Shown by: `bench/sharing`.
/// Wrong if: a back-off has two nested delay loops.
const NESTED: usize = 3;

/// How many callers are searched for loops: without optimisation, atomics have wrappers.
///
/// Decides: how many callers are searched for a loop that waits.
/// From: unoptimised C++: wrappers around an atomic.
/// Shown by: `bench/sharing`.
/// Wrong if: there are more wrappers than that.
const CALLERS: usize = 4;

/// How far above the stack pointer a frame pointer may lie, bytes.
///
/// Decides: whether a register's value is taken for a frame pointer.
/// From: chosen: frames are smaller than 64 KiB.
/// Wrong if: a function has larger local arrays.
const FRAME: u64 = 1 << 16;

/// How many addresses are remembered before all are forgotten.
///
/// Decides: how many sampled addresses are remembered.
/// From: memory; chosen.
/// Wrong if: a program has more hot addresses than that: counting their samples starts over.
const HELD: usize = 1 << 16;

/// A loop that only waits, as far as its code shows. Whether another thread writes what it reads cannot be seen in the
/// code: without a writer the loop waits for the kernel or a device, or for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spin {
    /// Where a round starts.
    pub head: u64,
    /// The branch that leads back.
    pub back: u64,
    /// The loads that decide whether the loop goes on.
    pub polled: Vec<Polled>,
    /// It tells the processor that it waits.
    pub pauses: bool,
    /// It gives up the processor (sched_yield).
    pub yields: bool,
    /// It tries to take a lock (exchange, compare and exchange).
    pub takes: bool,
    /// Addresses of all its instructions, including those of called functions, ascending.
    pub instructions: Vec<u64>,
}

/// A load that a waiting loop repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// The address of the instruction.
    pub instruction: u64,
    /// Bytes.
    pub width: u16,
    /// Its address, if that is fixed.
    pub fixed: Option<u64>,
}

/// What was found at one address.
#[derive(Debug, Default)]
struct Examined {
    hits: u32,
    version: u64,
    found: Option<Arc<Spin>>,
}

/// Waiting loops by the addresses that were sampled in them.
#[derive(Debug, Default)]
pub struct Spins {
    examined: HashMap<u64, Examined>,
    loops: Loops,
}

impl Spins {
    /// An empty collection: no address has been examined yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The waiting loop that a sample was taken in: around its instruction, or around a call that led to it. `callers`:
    /// return addresses, the nearest first.
    pub fn at(&mut self, code: &CodeGraph, registers: &Registers, callers: &[u64]) -> Option<Arc<Spin>> {
        if self.examined.len() >= HELD {
            self.examined.clear();
        }
        let facts = code.architecture();
        let value = |register: u8| registers.general.get(usize::from(register)).copied().unwrap_or(0);
        let framed = value(facts.frame_pointer()).wrapping_sub(value(facts.stack_pointer())) < FRAME;
        if let Some(found) = self.around(code, registers.ip, framed) {
            return Some(found);
        }
        // In a called function: its caller's frame pointer is not known, but what lies below it still belongs to the
        // caller.
        let callers = callers.iter().take(CALLERS);
        let spins: Vec<_> = callers.filter_map(|caller| self.around(code, *caller, true)).collect();
        spins.into_iter().find(|spin| spin.instructions.binary_search(&registers.ip).is_ok())
    }

    fn around(&mut self, code: &CodeGraph, address: u64, framed: bool) -> Option<Arc<Spin>> {
        let examined = self.examined.entry(address).or_default();
        examined.hits = examined.hits.saturating_add(1);
        if examined.hits >= HOT && examined.hits.is_power_of_two() && examined.version != code.version() {
            examined.version = code.version();
            let loops = self.loops.around(code, address);
            examined.found = loops.iter().take(NESTED).find_map(|one| judge(code, one, framed)).map(Arc::new);
        }
        examined.found.clone()
    }

    /// Forgets everything: the process executed another program.
    pub fn clear(&mut self) {
        self.examined.clear();
    }
}

/// The loop as a waiting loop; `None` when it does something else or cannot be followed.
fn judge(code: &CodeGraph, whole: &Loop, framed: bool) -> Option<Spin> {
    let calls_kernel = |frame: u32| {
        let mut own = whole.next.range((frame, 0)..=(frame, u64::MAX));
        frame > 0 && own.any(|(node, _)| code.at(node.1).is_some_and(|one| one.flow == Flow::SystemCall))
    };
    let (mut pauses, mut yields, mut takes) = (false, false, false);
    for node in whole.next.keys() {
        let instruction = code.at(node.1)?;
        pauses |= instruction.pause;
        match instruction.flow {
            Flow::SystemCall if yields_at(code, whole, *node) => yields = true,
            Flow::SystemCall => return None,
            Flow::IndirectBranch if code.targets(instruction).is_empty() => return None,
            _ => {}
        }
        if matches!(instruction.flow, Flow::Call(_) | Flow::Return) {
            continue;
        }
        for access in instruction.accesses().filter(|access| access.kind.writes()) {
            let own = flow::own_operand(code, *node, &access.operand, framed).is_some();
            // A wrapper of a system call stores the error number (errno).
            let error = access.kind == AccessKind::Store
                && calls_kernel(node.0)
                && in_thread_block(code, node.1, &access.operand);
            match access.kind {
                _ if own || error => {}
                AccessKind::Atomic => takes = true,
                _ => return None,
            }
        }
    }
    if whole.exits.is_empty() || retries(code, whole) || updates(code, whole) {
        return None;
    }
    let rounds = flow::rounds(code, whole, framed)?;
    // A loop that counts and neither pauses nor yields is there to count, not to wait.
    if rounds.advances || rounds.deciding.is_empty() || rounds.counts && !pauses && !yields {
        return None;
    }
    let mut instructions: Vec<u64> = whole.next.keys().map(|node| node.1).collect();
    instructions.sort_unstable();
    instructions.dedup();
    let polled = rounds.deciding.iter().map(polled).collect();
    Some(Spin { head: whole.head, back: whole.back, polled, pauses, yields, takes, instructions })
}

/// Whether another round comes only when the exclusive store of an atomic change failed: such a loop is what other
/// architectures do in one instruction.
fn retries(code: &CodeGraph, whole: &Loop) -> bool {
    /// The most instructions between such a store and the branch on its status.
    ///
    /// Decides: whether a loop only repeats an atomic change in two parts, which is not waiting.
    /// From: compilers write the branch right after the write.
    /// Shown by: `resolve/tests/waiting_loops.rs`.
    /// Wrong if: a compiler moves more instructions between the two.
    const BETWEEN: usize = 4;
    let Some(back) = code.at(whole.back) else { return false };
    let mut at = back.address;
    for _ in 0..BETWEEN {
        let Some(before) = code.before(at).find(|edge| !edge.branch).and_then(|edge| code.at(edge.from)) else { break };
        if back.reads.iter().any(|register| before.writes.has(register)) {
            return before.exclusive;
        }
        at = before.address;
    }
    false
}

/// Whether the loop is the first part of an atomic change in two parts, which starts over when another thread wrote in
/// between: the code after it writes a value that was made from what the loop read.
fn updates(code: &CodeGraph, whole: &Loop) -> bool {
    /// The most instructions between leaving the loop and the write.
    ///
    /// Decides: whether a loop is a part of an atomic change in two parts.
    /// From: what compilers write between the two parts: some arithmetic.
    /// Shown by: `resolve/tests/waiting_loops.rs`.
    /// Wrong if: the new value takes more instructions than that.
    const AHEAD: usize = 12;
    let mut own = RegisterSet::default();
    for (_, address) in whole.next.range((0, 0)..=(0, u64::MAX)).map(|(node, _)| node) {
        own.0 |= code.at(*address).map_or(0, |one| one.writes.0);
    }
    let exits = whole.exits.iter().filter_map(|exit| code.at(*exit));
    let mut starts = exits.flat_map(|exit| [Some(exit.next()), exit.target()]).flatten();
    starts.any(|start| {
        let (mut made, mut at) = (own, start);
        for _ in 0..AHEAD {
            let Some(instruction) = code.at(at).filter(|_| !whole.next.contains_key(&(0, at))) else { return false };
            if instruction.exclusive {
                return matches!(instruction.atomic, Some(Atomic::Sets(Some(register))) if made.has(register));
            }
            if instruction.flow != Flow::Next {
                return false;
            }
            let from_loop = instruction.reads.0 & made.0 != 0;
            made.0 = if from_loop { made.0 | instruction.writes.0 } else { made.0 & !instruction.kills.0 };
            at = instruction.next();
        }
        false
    })
}

/// Whether an operand lies in the thread's own block: directly, or through a register that was just set to the block's
/// address.
fn in_thread_block(code: &CodeGraph, address: u64, operand: &Operand) -> bool {
    /// The most instructions between the two.
    ///
    /// Decides: whether a store in a system call's wrapper is that of the error number (errno).
    /// From: the C libraries' wrappers.
    /// Shown by: `resolve/tests/waiting_loops.rs`.
    /// Wrong if: a wrapper does more in between.
    const BEFORE: usize = 8;
    if operand.thread_local {
        return true;
    }
    let parts: Vec<Register> = operand.base.into_iter().chain(operand.index.map(|(index, _)| index)).collect();
    let mut at = address;
    for _ in 0..BEFORE {
        let Some(before) = code.before(at).find(|edge| !edge.branch).and_then(|edge| code.at(edge.from)) else { break };
        if before.thread_block {
            return parts.iter().any(|register| before.writes.has(*register));
        }
        at = before.address;
    }
    false
}

fn polled(load: &Load) -> Polled {
    let operand = &load.access.operand;
    let fixed = (operand.base.is_none() && operand.index.is_none()).then_some(operand.displacement);
    Polled { instruction: load.instruction, width: load.access.width, fixed }
}

/// Whether the system call at a node is sched_yield: its number must be set in the straight line before it.
fn yields_at(code: &CodeGraph, whole: &Loop, node: (u32, u64)) -> bool {
    /// The most instructions between setting the call's number and the call, in the C libraries' wrappers.
    ///
    /// Decides: whether a system call is sched_yield(2): its number must be set within this many instructions before
    /// it.
    /// From: the C libraries' wrappers.
    /// Shown by: `bench/sharing`.
    /// Wrong if: a wrapper does more between setting the number and the call.
    const BEFORE: usize = 8;
    let facts = code.architecture();
    let mut address = node.1;
    for _ in 0..BEFORE {
        let mut edges = code.before(address).filter(|edge| whole.next.contains_key(&(node.0, edge.from)));
        let (Some(edge), None) = (edges.next(), edges.next()) else { return false };
        let Some(instruction) = code.at(edge.from) else { return false };
        if let Some((register, Value::Linear { base: None, index: None, displacement, .. })) = instruction.effect
            && register == facts.system_call_number()
        {
            return displacement == facts.sched_yield();
        }
        if instruction.writes.has(facts.system_call_number()) {
            return false;
        }
        address = edge.from;
    }
    false
}
