//! The instructions of one process image that were met so far, and how they follow each other.
//!
//! Code is decoded forward from sampled addresses only, along both sides of branches: loops lead back to themselves, so
//! that even the instructions before a sampled one are found without symbols. Each sample may decode a bounded number
//! of instructions; what is left is decoded at the next sample of the same code. May import: `instruction`, the
//! `CodeReader`.

use rustc_hash::FxHashMap as HashMap;

use super::CodeReader;
use super::instruction::{Decode, Flow, Instruction, Operand, Value};

/// Instructions that one sample may decode at most: a few microseconds' worth. A whole function of usual size fits.
const PER_SAMPLE: usize = 256;

/// Instructions that are decoded because of one new address, over as many samples as that takes: a large function.
/// Without an end each program would be decoded wholly, and a large one again and again.
const PER_ADDRESS: usize = 8192;

/// How many of these may be in functions that it calls. What a waiting loop calls (a load, a pause, giving the processor
/// away) is short; what a working loop calls may be the whole program, and decoding that took most of the time which
/// samples took in programs of a tenth of a second.
const PER_CALLEES: usize = 512;

/// Instructions that are held at most (some 40 MiB); a program with more starts over.
const HELD: usize = 1 << 18;

/// How far before a sampled instruction its function may start to be decoded from there, in bytes. Beyond, the part
/// before a sample is found by loops only.
const FUNCTION_REACH: u64 = 2048;

/// Bytes that are read at once, from a multiple of them on: most branches stay within.
const CHUNK: usize = 1024;

/// Addresses that wait to be decoded, at most.
const PENDING: usize = 4096;

/// How an instruction is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The instruction that comes before.
    pub from: u64,
    /// By a branch; else by being the next in memory.
    pub branch: bool,
}

/// The code of one process image.
pub struct Code {
    decode: Box<dyn Decode + Send>,
    instructions: HashMap<u64, Instruction>,
    /// By target of a branch: the branches to it.
    branches: HashMap<u64, Vec<u64>>,
    /// By the address after an instruction: that instruction.
    previous: HashMap<u64, u64>,
    /// Targets of branches and calls through memory, where they could be read.
    linked: HashMap<u64, Vec<u64>>,
    /// Addresses to be decoded, of functions that were sampled.
    pending: Vec<u64>,
    /// Addresses to be decoded, of functions that these call.
    called: Vec<u64>,
    /// Whether a called function is being decoded.
    in_callee: bool,
    /// Where there is no code.
    barren: HashMap<u64, ()>,
    version: u64,
    /// What may still be decoded before another new address comes.
    credit: usize,
    /// The same in called functions.
    callee_credit: usize,
    chunk: Vec<u8>,
    chunk_at: u64,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("instructions", &self.instructions.len()).finish_non_exhaustive()
    }
}

impl Code {
    /// No code yet.
    pub fn new(decode: Box<dyn Decode + Send>) -> Self {
        Self {
            decode,
            instructions: HashMap::default(),
            branches: HashMap::default(),
            previous: HashMap::default(),
            linked: HashMap::default(),
            pending: Vec::new(),
            called: Vec::new(),
            in_callee: false,
            barren: HashMap::default(),
            version: 0,
            credit: 0,
            callee_credit: 0,
            chunk: Vec::new(),
            chunk_at: 0,
        }
    }

    /// Facts about the architecture.
    pub fn architecture(&self) -> &(dyn Decode + Send) {
        &*self.decode
    }

    /// Changes whenever an instruction is added: what was concluded from fewer may be concluded better.
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

    /// The instruction at an address, if it was met.
    pub fn at(&self, address: u64) -> Option<&Instruction> {
        self.instructions.get(&address)
    }

    /// Where a branch or call goes, also when it reads its target from memory: one place, or those of a jump table.
    pub fn targets<'c>(&'c self, instruction: &'c Instruction) -> &'c [u64] {
        match &instruction.flow {
            Flow::Branch { target, .. } | Flow::Call(Some(target)) => std::slice::from_ref(target),
            Flow::IndirectBranch | Flow::Call(None) => {
                self.linked.get(&instruction.address).map_or(&[], |targets| targets.as_slice())
            }
            _ => &[],
        }
    }

    /// The ways by which an instruction is reached, as far as they were met.
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
        self.pending.clear();
        self.called.clear();
        self.barren.clear();
        self.chunk.clear();
        self.version += 1;
    }

    /// Decodes from these addresses on (a sampled one, and return addresses on its stack), and goes on with what earlier
    /// samples left.
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
            self.want(*address);
        }
        if fresh
            && let Some(start) = reader.function_start(sampled)
            && sampled.checked_sub(start).is_some_and(|distance| distance <= FUNCTION_REACH)
        {
            self.want(start);
        }
        let most = PER_SAMPLE.min(self.credit);
        let mut left = most;
        while left > 0 {
            let Some(address) = self.pending.pop() else { break };
            left = self.run(address, left, reader);
        }
        self.credit -= most - left;
        if self.credit == 0 {
            self.pending.clear();
        }
        self.explore_called(left, reader);
    }

    /// Decodes functions that sampled ones call, as long as nothing nearer is left.
    fn explore_called(&mut self, most: usize, reader: &mut dyn CodeReader) {
        let most = most.min(self.callee_credit);
        let mut left = most;
        self.in_callee = true;
        while left > 0 {
            let Some(address) = self.called.pop() else { break };
            left = self.run(address, left, reader);
        }
        self.in_callee = false;
        self.callee_credit -= most - left;
        if self.callee_credit == 0 {
            self.called.clear();
        }
    }

    fn wanted(&self, address: u64) -> bool {
        !self.instructions.contains_key(&address) && !self.barren.contains_key(&address)
    }

    fn want(&mut self, address: u64) {
        let called = self.in_callee;
        self.want_in(address, called);
    }

    fn want_in(&mut self, address: u64, called: bool) {
        if !self.wanted(address) {
            return;
        }
        let queue = if called { &mut self.called } else { &mut self.pending };
        if queue.len() < PENDING {
            queue.push(address);
        }
    }

    /// Decodes in a straight line until known code, an end, or the budget is used up; returns what is left of it.
    fn run(&mut self, from: u64, mut left: usize, reader: &mut dyn CodeReader) -> usize {
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
            let next = instruction.next();
            let on = instruction.falls_through();
            match instruction.flow {
                Flow::Branch { target, .. } => {
                    self.branches.entry(target).or_default().push(address);
                    self.want(target);
                }
                Flow::Call(Some(target)) => self.want_in(target, true),
                Flow::IndirectBranch | Flow::Call(None) => self.link(&instruction, reader),
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
        if self.wanted(address) {
            self.want(address);
        }
        left
    }

    /// A branch or call through a fixed place in memory is one through the linkage table, a branch to a register mostly
    /// one through a jump table.
    fn link(&mut self, instruction: &Instruction, reader: &mut dyn CodeReader) {
        let fixed = |operand: &Operand| operand.base.is_none() && operand.index.is_none() && !operand.thread_local;
        let slot = instruction.accesses().find(|access| access.width == 8 && fixed(&access.operand));
        let targets = match slot {
            Some(access) => {
                let target = reader.pointer(access.operand.displacement);
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
            // Through a fixed place in memory other functions are called, also by a branch.
            self.want_in(*target, self.in_callee || slot.is_some());
        }
        self.linked.insert(instruction.address, targets);
    }

    /// The targets of a branch to the sum of a table's address and one of its entries of four bytes, the way compilers
    /// translate a choice between many cases. A table's length is not known: it ends where an entry leads out of the
    /// function, so that without the function's extent no entry is believed.
    fn jump_table(&self, branch: &Instruction, reader: &mut dyn CodeReader) -> Vec<u64> {
        /// Instructions between loading the table's address and the branch, at most.
        const BEFORE: usize = 8;
        /// Entries that are read at most.
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
                    // Code that begins inside of the chunk, or ends there.
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
