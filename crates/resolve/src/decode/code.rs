//! The instructions of one process image that have been decoded so far, and how they follow each other.
//!
//! Code is decoded only forward from sampled addresses, along both sides of branches. Loops lead back to themselves, so
//! the instructions before a sampled one are found even without symbols. Each sample may decode a limited number of
//! instructions; the rest is decoded at the next sample of the same code.

use rustc_hash::FxHashMap as HashMap;
use std::collections::VecDeque;

use super::CodeReader;
use super::instruction::{Decode, Flow, Instruction, Operand, Value};

/// How many instructions one sample may decode: a few microseconds' worth. A whole function of usual size fits.
const PER_SAMPLE: usize = 256;

/// How many instructions are decoded because of one new address, over as many samples as that takes: a large function.
/// Without a limit every program would be decoded completely, and a large one again and again.
const PER_ADDRESS: usize = 8192;

/// How many of these may be in called functions. A waiting loop calls only short ones (a load, a pause, sched_yield). A
/// working loop may call the whole program; in programs that run for a tenth of a second, decoding all of it took most
/// of the time spent on samples.
const PER_CALLEES: usize = 512;

/// How many instructions are held (some 40 MiB); beyond that all are dropped and decoding starts over.
const HELD: usize = 1 << 18;

/// A function is decoded from its start if that is at most this many bytes before the sampled instruction. Otherwise
/// the code before a sample is found by loops only.
const FUNCTION_REACH: u64 = 2048;

/// Bytes that are read at once, from a multiple of this size on: most branches stay within.
const CHUNK: usize = 1024;

/// How many addresses may wait to be decoded.
const PENDING: usize = 4096;

/// How deep calls are followed.
///
/// Decides: how deep the calls of a loop are followed.
/// From: wrapper, atomic, intrinsic.
/// Shown by: `bench/sharing`.
/// Wrong if: more wrappers than that call each other.
pub(super) const CALL_DEPTH: usize = 4;

/// How an instruction is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The instruction before.
    pub from: u64,
    /// True for a branch; false when it is the next instruction in memory.
    pub branch: bool,
}

/// The code of one process image.
pub struct CodeGraph {
    decode: Box<dyn Decode + Send>,
    instructions: HashMap<u64, Instruction>,
    /// Branches by their target.
    branches: HashMap<u64, Vec<u64>>,
    /// Instructions by the address after them.
    previous: HashMap<u64, u64>,
    /// Targets of branches and calls through memory, where they could be read.
    linked: HashMap<u64, Vec<u64>>,
    /// Addresses to be decoded, by their distance in calls from where samples were taken.
    pending: [VecDeque<u64>; CALL_DEPTH + 1],
    /// Addresses without code.
    barren: HashMap<u64, ()>,
    version: u64,
    /// How many instructions may still be decoded before another new address comes.
    credit: usize,
    /// The same in called functions.
    callee_credit: usize,
    chunk: Vec<u8>,
    chunk_at: u64,
}

impl std::fmt::Debug for CodeGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("instructions", &self.instructions.len()).finish_non_exhaustive()
    }
}

impl CodeGraph {
    /// A graph without any code yet.
    pub fn new(decode: Box<dyn Decode + Send>) -> Self {
        Self {
            decode,
            instructions: HashMap::default(),
            branches: HashMap::default(),
            previous: HashMap::default(),
            linked: HashMap::default(),
            pending: Default::default(),
            barren: HashMap::default(),
            version: 0,
            credit: 0,
            callee_credit: 0,
            chunk: Vec::new(),
            chunk_at: 0,
        }
    }

    /// The decoder, which knows the architecture.
    pub fn architecture(&self) -> &(dyn Decode + Send) {
        &*self.decode
    }

    /// A number that changes whenever an instruction is added: conclusions from the older state may then be improved.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many instructions are held.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// The instruction at an address, if it has been decoded.
    pub fn at(&self, address: u64) -> Option<&Instruction> {
        self.instructions.get(&address)
    }

    /// Where a branch or call goes: one address, or those of a jump table. Targets read from memory are included.
    pub fn targets<'c>(&'c self, instruction: &'c Instruction) -> &'c [u64] {
        match &instruction.flow {
            Flow::Branch { target, .. } | Flow::Call(Some(target)) => std::slice::from_ref(target),
            Flow::IndirectBranch | Flow::Call(None) => {
                self.linked.get(&instruction.address).map_or(&[], |targets| targets.as_slice())
            }
            _ => &[],
        }
    }

    /// The known edges that lead to an instruction.
    pub fn before(&self, address: u64) -> impl Iterator<Item = Edge> + '_ {
        let next = self.previous.get(&address).copied();
        let next = next.filter(|from| self.instructions.get(from).is_some_and(Instruction::falls_through));
        let branches = self.branches.get(&address).into_iter().flatten();
        next.into_iter()
            .map(|from| Edge { from, branch: false })
            .chain(branches.map(|from| Edge { from: *from, branch: true }))
    }

    /// Forgets everything: the process executed another program.
    pub fn clear(&mut self) {
        self.instructions.clear();
        self.branches.clear();
        self.previous.clear();
        self.linked.clear();
        self.pending.iter_mut().for_each(VecDeque::clear);
        self.barren.clear();
        self.chunk.clear();
        self.version += 1;
    }

    /// Forgets the instructions that have bytes in a range, because other code was written there.
    pub fn forget(&mut self, range: std::ops::Range<u64>) {
        let longest = self.decode.longest() as u64;
        for address in range.start.saturating_sub(longest - 1)..range.end {
            self.barren.remove(&address);
            if self.instructions.get(&address).is_none_or(|instruction| instruction.next() <= range.start) {
                continue;
            }
            let Some(instruction) = self.instructions.remove(&address) else { continue };
            self.previous.remove(&instruction.next());
            let linked = self.linked.remove(&address).unwrap_or_default();
            for target in linked.into_iter().chain(instruction.target()) {
                if let Some(from) = self.branches.get_mut(&target) {
                    from.retain(|from| *from != address);
                }
            }
        }
        self.chunk.clear();
        self.version += 1;
    }

    /// Decodes from these addresses on (a sampled one, and return addresses on its stack), then continues where earlier
    /// samples reached their limit.
    pub fn explore(&mut self, sampled: u64, callers: &[u64], reader: &mut dyn CodeReader) {
        if self.instructions.len() >= HELD {
            self.clear();
        }
        self.chunk.clear();
        let fresh = self.wanted(sampled);
        if fresh || callers.iter().any(|address| self.wanted(*address)) {
            self.credit = PER_ADDRESS;
            self.callee_credit = PER_CALLEES;
        }
        for address in callers.iter().chain([&sampled]) {
            self.want(*address, 0);
        }
        if fresh
            && let Some(start) = reader.function_start(sampled)
            && sampled.checked_sub(start).is_some_and(|distance| distance <= FUNCTION_REACH)
        {
            self.want(start, 0);
        }
        let mut left = PER_SAMPLE;
        while left > 0 {
            let Some((depth, address)) = self.next_wanted() else { break };
            let credit = if depth == 0 { &mut self.credit } else { &mut self.callee_credit };
            let most = left.min(*credit);
            if most == 0 {
                // The rest is dropped, so that no program is decoded completely.
                let dropped = if depth == 0 { &mut self.pending[..1] } else { &mut self.pending[1..] };
                dropped.iter_mut().for_each(VecDeque::clear);
                continue;
            }
            let used = most - self.run(address, depth, most, reader);
            left -= used;
            let credit = if depth == 0 { &mut self.credit } else { &mut self.callee_credit };
            *credit -= used;
        }
    }

    /// The next address to decode, the nearest first: the latest sampled addresses, then called functions in the order in
    /// which they were found.
    fn next_wanted(&mut self) -> Option<(usize, u64)> {
        let mut queues = self.pending.iter_mut().enumerate();
        queues.find_map(|(depth, queue)| {
            let address = if depth == 0 { queue.pop_back() } else { queue.pop_front() };
            Some((depth, address?))
        })
    }

    fn wanted(&self, address: u64) -> bool {
        !self.instructions.contains_key(&address) && !self.barren.contains_key(&address)
    }

    fn want(&mut self, address: u64, depth: usize) {
        let wanted = self.wanted(address);
        // Beyond the depth to which loops are followed, nothing is decoded.
        let Some(queue) = self.pending.get_mut(depth).filter(|_| wanted) else { return };
        if queue.len() >= PENDING {
            if depth > 0 {
                return;
            }
            queue.pop_front();
        }
        queue.push_back(address);
    }

    /// Decodes in a straight line up to known code, the end of the code, or the limit; returns what is left of the limit.
    fn run(&mut self, from: u64, depth: usize, mut left: usize, reader: &mut dyn CodeReader) -> usize {
        let mut address = from;
        while left > 0 && self.wanted(address) {
            left -= 1;
            let Some(instruction) = self.fetch(address, reader) else {
                if self.barren.len() >= HELD {
                    self.barren.clear();
                }
                self.barren.insert(address, ());
                return left;
            };
            let instruction = self.with_flag_known(instruction, reader);
            let next = instruction.next();
            let on = instruction.falls_through();
            match instruction.flow {
                Flow::Branch { target, .. } => {
                    self.branches.entry(target).or_default().push(address);
                    self.want(target, depth);
                }
                Flow::Call(Some(target)) => self.want(target, depth + 1),
                Flow::IndirectBranch => self.link(&instruction, depth, reader),
                Flow::Call(None) => self.link(&instruction, depth + 1, reader),
                _ => {}
            }
            self.previous.insert(next, address);
            self.instructions.insert(address, instruction);
            self.version += 1;
            if !on {
                return left;
            }
            address = next;
        }
        self.want(address, depth);
        left
    }

    /// A branch or call through a fixed place in memory goes through the linkage table; a branch to a register mostly
    /// goes through a jump table.
    fn link(&mut self, instruction: &Instruction, depth: usize, reader: &mut dyn CodeReader) {
        let slot = self.linkage(instruction);
        let targets = match slot {
            Some(slot) => {
                let target = reader.pointer(slot);
                target.filter(|target| *target != instruction.next()).into_iter().collect()
            }
            None if instruction.flow == Flow::IndirectBranch => self.jump_table(instruction, reader),
            None => Vec::new(),
        };
        if targets.is_empty() {
            return;
        }
        for target in &targets {
            self.branches.entry(*target).or_default().push(instruction.address);
            // A branch through a fixed place in memory also leads to another function.
            self.want(*target, if slot.is_some() { depth.max(1) } else { depth });
        }
        self.linked.insert(instruction.address, targets);
    }

    /// The branch as it is always or never taken, where it depends on a flag that does not change. The compilers' library
    /// for AArch64 (libgcc's lse.S, compiler-rt's outline_atomic_helpers) tests such a flag: if the processor has atomic
    /// instructions, it uses one; if the flag is zero, the branch leads to a pair of exclusive accesses.
    fn with_flag_known(&mut self, branch: Instruction, reader: &mut dyn CodeReader) -> Instruction {
        let flag = match branch.flow {
            Flow::Branch { conditional: true, .. } if !branch.reads_flags => self.flag_before(&branch),
            _ => None,
        };
        let Some(flag) = flag else { return branch };
        let changes = |one: &Instruction| one.atomic.is_some() && !one.exclusive;
        let Some(change) = self.fetch(branch.next(), reader).filter(changes) else { return branch };
        if self.fetch(change.next(), reader).is_none_or(|one| one.flow != Flow::Return) {
            return branch;
        }
        let flow = match (reader.pointer(flag), branch.target()) {
            (Some(value), Some(target)) if value & 0xff == 0 => Flow::Branch { target, conditional: false },
            (Some(_), _) => Flow::Next,
            (None, _) => branch.flow,
        };
        Instruction { flow, ..branch }
    }

    /// The address of the byte that was loaded from a fixed place right before a branch on its register.
    fn flag_before(&self, branch: &Instruction) -> Option<u64> {
        let previous = |of: &Instruction| self.previous.get(&of.address).and_then(|from| self.instructions.get(from));
        let load = previous(branch)?;
        let made = previous(load)?;
        let access = load.accesses().next().filter(|access| access.width == 1 && access.operand.index.is_none())?;
        match (load.effect?, made.effect?) {
            ((to, Value::Loaded { .. }), (base, Value::Linear { base: None, index: None, displacement, bits: 64 }))
                if branch.reads.has(to) && access.operand.base == Some(base) =>
            {
                Some(displacement.wrapping_add(access.operand.displacement))
            }
            _ => None,
        }
    }

    /// The fixed place in memory from which a branch or call takes its target: by itself, or through a register that was
    /// loaded just before, as on AArch64, where the place's address is also made in a register.
    fn linkage(&self, branch: &Instruction) -> Option<u64> {
        /// How many instructions may lie between making the place's address and the branch: the linkage table has three.
        const BEFORE: usize = 8;
        let fixed = |operand: &Operand| operand.base.is_none() && operand.index.is_none() && !operand.thread_local;
        if let Some(access) = branch.accesses().find(|access| access.width == 8 && fixed(&access.operand)) {
            return Some(access.operand.displacement);
        }
        let mut wanted = branch.reads.iter().next().filter(|_| branch.accesses().next().is_none())?;
        let (mut distance, mut at) = (None, branch.address);
        for _ in 0..BEFORE {
            let before = self.previous.get(&at).and_then(|from| self.instructions.get(from))?;
            at = before.address;
            if !before.writes.has(wanted) {
                continue;
            }
            match (before.effect?, distance) {
                ((to, Value::Loaded { bits: 64, .. }), None) if to == wanted => {
                    let access = before.accesses().next().filter(|access| access.width == 8)?;
                    if fixed(&access.operand) {
                        return Some(access.operand.displacement);
                    }
                    wanted = access.operand.base.filter(|_| access.operand.index.is_none())?;
                    distance = Some(access.operand.displacement);
                }
                ((to, Value::Linear { base: None, index: None, displacement, bits: 64 }), Some(distance))
                    if to == wanted =>
                {
                    return Some(displacement.wrapping_add(distance));
                }
                _ => return None,
            }
        }
        None
    }

    /// The targets of a branch to the sum of a table's address and one of its four-byte entries, as compilers translate
    /// a choice between many cases. The length of a table is not known: it ends where an entry leads out of the
    /// function, so no entry is trusted when the extent of the function is not known.
    fn jump_table(&self, branch: &Instruction, reader: &mut dyn CodeReader) -> Vec<u64> {
        /// How many instructions may lie between loading the table's address and the branch.
        const BEFORE: usize = 8;
        /// How many entries are read at most.
        const ENTRIES: u64 = 32;
        let Some(function) = reader.function_start(branch.address) else { return Vec::new() };
        let (mut table, mut base, mut at) = (None, None, branch.address);
        for _ in 0..BEFORE {
            let Some(before) = self.previous.get(&at).and_then(|from| self.instructions.get(from)) else { break };
            let entry = |operand: &Operand| operand.index.is_some_and(|(_, scale)| scale == 4);
            if base.is_none() {
                let load = before.accesses().find(|access| access.width == 4 && entry(&access.operand));
                base = load.and_then(|access| access.operand.base);
            } else if let Some((to, Value::Linear { base: None, index: None, displacement, bits: 64 })) = before.effect
                && base == Some(to)
            {
                table = Some(displacement);
                break;
            }
            at = before.address;
        }
        let Some(table) = table else { return Vec::new() };
        let mut targets: Vec<u64> = (0..ENTRIES)
            .map_while(|nth| {
                let entry = reader.pointer(table.wrapping_add(4 * nth))? as u32 as i32;
                let target = table.wrapping_add(i64::from(entry) as u64);
                (reader.function_start(target) == Some(function) && target > function).then_some(target)
            })
            .collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    fn fetch(&mut self, address: u64, reader: &mut dyn CodeReader) -> Option<Instruction> {
        let longest = self.decode.longest();
        let inside = |at: u64, chunk: &[u8]| {
            let within = usize::try_from(address.checked_sub(at)?).ok()?;
            (within.checked_add(longest)? <= chunk.len()).then_some(within)
        };
        let within = match inside(self.chunk_at, &self.chunk) {
            Some(within) => within,
            None => {
                self.fill(address & !(CHUNK as u64 - 1), CHUNK + longest, reader);
                inside(self.chunk_at, &self.chunk).unwrap_or_else(|| {
                    // Code that begins or ends inside the chunk.
                    self.fill(address, CHUNK, reader);
                    0
                })
            }
        };
        self.decode.decode(address, self.chunk.get(within..)?)
    }

    fn fill(&mut self, at: u64, bytes: usize, reader: &mut dyn CodeReader) {
        self.chunk.resize(bytes, 0);
        let read = reader.code(at, &mut self.chunk).min(bytes);
        self.chunk.truncate(read);
        self.chunk_at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decoder;

    const FOREST: u64 = 0x10_0000;
    const FUNCTIONS: u64 = 1 << 20;
    const LOOP: u64 = 0x4000_0000;

    /// An endless program in which every instruction calls another function, and beside it a loop that calls into it.
    struct Forest;

    impl CodeReader for Forest {
        fn code(&mut self, address: u64, buffer: &mut [u8]) -> usize {
            if let Some(at) = address.checked_sub(LOOP) {
                // lock xadd [r10+16], r11; inc r13; jl to the first; call into the forest; ret
                let code =
                    [0xf0, 0x4d, 0x0f, 0xc1, 0x5a, 0x10, 0x49, 0xff, 0xc5, 0x7c, 0xf5, 0xe8, 0, 0, 0x10, 0xc0, 0xc3];
                let rest = code.get(at as usize..).unwrap_or_default();
                buffer[..rest.len()].copy_from_slice(rest);
                return rest.len();
            }
            for (nth, call) in buffer.chunks_exact_mut(5).enumerate() {
                let at = address + 5 * nth as u64;
                let called = FOREST + 5 * (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) % (5 * FUNCTIONS);
                let distance = called.wrapping_sub(at + 5) as u32;
                call[0] = 0xe8;
                call[1..].copy_from_slice(&distance.to_le_bytes());
            }
            buffer.len() - buffer.len() % 5
        }
    }

    fn some_code() -> CodeGraph {
        CodeGraph::new(decoder("x86_64").unwrap())
    }

    #[test]
    fn sampled_code_is_decoded_before_functions_that_earlier_samples_called() {
        let mut code = some_code();
        for sample in 0..200 {
            code.explore(FOREST + 5 * sample * 1000, &[], &mut Forest);
        }
        code.explore(LOOP + 6, &[], &mut Forest);
        assert!(code.at(LOOP + 6).is_some() && code.at(LOOP).is_some());
        assert_eq!(code.before(LOOP).collect::<Vec<_>>(), [Edge { from: LOOP + 9, branch: true }]);
    }

    #[test]
    fn replaced_code_is_decoded_anew() {
        let mut code = some_code();
        code.explore(LOOP, &[], &mut Forest);
        let version = code.version();
        // The last byte of the first instruction; the other instructions stay.
        code.forget(LOOP + 5..LOOP + 6);
        assert!(code.at(LOOP).is_none() && code.at(LOOP + 6).is_some() && code.version() > version);
        code.forget(LOOP + 9..LOOP + 64);
        assert_eq!(code.before(LOOP).next(), None, "the branch is gone");
        code.explore(LOOP + 6, &[], &mut Forest);
        code.explore(LOOP + 9, &[], &mut Forest);
        assert_eq!(code.before(LOOP).collect::<Vec<_>>(), [Edge { from: LOOP + 9, branch: true }]);
        assert!(code.at(LOOP).is_some());
    }
}
