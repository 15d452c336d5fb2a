//! Small loops around a sampled instruction, with the small functions that they call.

use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::code::{CALL_DEPTH, CodeGraph};
use super::instruction::{Flow, Instruction};

/// How many instructions a loop may have, not counting called functions. The optimised waiting loops that were examined
/// (spin locks, ticket locks, sequence locks, flags; C, C++ and Rust) have 2 to 30. Without optimisation, clang writes a
/// case for each memory order of an atomic, up to 80 instructions.
///
/// Decides: whether a loop is small enough to be one that only waits.
/// From: compiled spin, ticket and sequence locks: 2 to 80 instructions.
/// Shown by: `bench/sharing`.
/// Wrong if: a compiler writes more instructions than that for one atomic.
const OWN: usize = 96;

/// How many instructions a loop may have including called functions: without optimisation, `std::atomic::load` and
/// similar functions have up to 40 instructions, and a loop may call several.
///
/// Decides: whether a loop, with the functions that it calls, is small enough to be one that only waits.
/// From: compiled `std::atomic` without optimisation.
/// Shown by: `bench/sharing`.
/// Wrong if: a loop calls more wrappers than that.
const ALL: usize = 320;

/// How many instructions one called function may have.
///
/// Decides: whether a called function is small enough to be a part of waiting.
/// From: compiled `std::atomic` without optimisation.
/// Shown by: `bench/sharing`.
/// Wrong if: a wrapper is larger than that.
const CALLED: usize = 80;

/// How many instructions are searched for a branch back: the loop's own, and those on both sides of its branches.
///
/// Decides: how far ahead the branch that closes a loop is looked for.
/// From: twice the largest loop.
/// Shown by: `bench/sharing`.
/// Wrong if: the code of a loop is scattered among other code.
const SEARCH: usize = 192;

/// An instruction in a frame: the loop's own frame is 0, each function called from it has another.
pub(super) type Node = (u32, u64);

/// A loop and what it calls, as one graph.
#[derive(Debug, Clone, Default)]
pub(super) struct Loop {
    /// The first address, where an iteration starts.
    pub(super) head: u64,
    /// The branch that leads back to it.
    pub(super) back: u64,
    /// The instructions, each with those that may follow it inside the loop.
    pub(super) next: BTreeMap<Node, Vec<Node>>,
    /// Conditional branches in the loop's own code that may leave it.
    pub(super) exits: BTreeSet<u64>,
}

/// Loops by their branch back, (target, branch): most samples are taken in loops that are already known.
#[derive(Debug, Default)]
pub(super) struct Loops {
    known: HashMap<(u64, u64), Option<Arc<Loop>>>,
    /// The version of the code from which they were derived.
    version: u64,
}

impl Loops {
    /// The loops around an address, the smallest first; empty when there is none whose code is known completely.
    pub(super) fn around(&mut self, code: &CodeGraph, ip: u64) -> Vec<Arc<Loop>> {
        if self.version != code.version() {
            self.known.clear();
            self.version = code.version();
        }
        let mut found: Vec<Arc<Loop>> = Vec::new();
        for (head, back) in branches_back(code, ip) {
            let one = self.known.entry((head, back)).or_insert_with(|| body(code, head, back).map(Arc::new));
            found.extend(one.iter().filter(|one| one.next.contains_key(&(0, ip))).cloned());
        }
        found.sort_by_key(|one| (one.next.len(), one.back));
        found
    }
}

/// Branches backwards, reached from the address, that jump over it: (target, branch).
fn branches_back(code: &CodeGraph, ip: u64) -> Vec<(u64, u64)> {
    let (mut seen, mut queue, mut found) = (BTreeSet::from([ip]), VecDeque::from([ip]), Vec::new());
    while let Some(address) = queue.pop_front() {
        let Some(instruction) = code.at(address) else { continue };
        let targets = branches(code, instruction);
        let back = targets.iter().filter(|target| **target <= ip && **target <= address && ip <= address);
        found.extend(back.map(|target| (*target, address)));
        let next = instruction.falls_through().then(|| instruction.next());
        for to in next.into_iter().chain(targets.iter().copied()) {
            if seen.len() < SEARCH && seen.insert(to) {
                queue.push_back(to);
            }
        }
    }
    found
}

/// Where a branch goes; nothing for a call.
fn branches<'c>(code: &'c CodeGraph, instruction: &'c Instruction) -> &'c [u64] {
    match instruction.flow {
        Flow::Branch { .. } | Flow::IndirectBranch => code.targets(instruction),
        _ => &[],
    }
}

/// The instructions that lie on a path from `head` to the branch back at `back`.
fn body(code: &CodeGraph, head: u64, back: u64) -> Option<Loop> {
    let inside = |address: u64| (head..=back).contains(&address);
    let mut nodes = BTreeMap::new();
    let mut queue = VecDeque::from([head]);
    while let Some(address) = queue.pop_front() {
        if nodes.contains_key(&address) {
            continue;
        }
        // Code that was not decoded may do anything.
        let instruction = code.at(address)?;
        let next = instruction.falls_through().then(|| instruction.next());
        let to: Vec<u64> =
            next.into_iter().chain(branches(code, instruction).iter().copied()).filter(|to| inside(*to)).collect();
        queue.extend(&to);
        nodes.insert(address, to);
        if nodes.len() > ALL {
            return None;
        }
    }
    let useful = reaching(&nodes, back);
    nodes.retain(|address, _| useful.contains(address));
    if nodes.len() > OWN || !nodes.contains_key(&head) {
        return None;
    }
    let mut whole = Loop { head, back, ..Loop::default() };
    for (address, to) in &nodes {
        let instruction = code.at(*address)?;
        let conditional = matches!(instruction.flow, Flow::Branch { conditional: true, .. });
        let leaves =
            [Some(instruction.next()), instruction.target()].into_iter().flatten().any(|to| !nodes.contains_key(&to));
        if conditional && leaves {
            whole.exits.insert(*address);
        }
        let to = to.iter().filter(|to| nodes.contains_key(to)).map(|to| (0, *to)).collect();
        whole.next.insert((0, *address), to);
    }
    let mut frames = 0;
    for address in nodes.keys() {
        call(code, &mut whole, (0, *address), 0, &mut frames)?;
    }
    whole.prune().then_some(whole)
}

impl Loop {
    /// Removes instructions that no round passes. False when there is no round.
    fn prune(&mut self) -> bool {
        let useful = reaching(&self.next, (0, self.back));
        self.next.retain(|node, _| useful.contains(node));
        for to in self.next.values_mut() {
            to.retain(|node| useful.contains(node));
        }
        useful.contains(&(0, self.head))
    }
}

/// The nodes from which `goal` can be reached.
fn reaching<N: Copy + Ord>(nodes: &BTreeMap<N, Vec<N>>, goal: N) -> BTreeSet<N> {
    let mut before: BTreeMap<N, Vec<N>> = BTreeMap::new();
    for (from, to) in nodes {
        for to in to {
            before.entry(*to).or_default().push(*from);
        }
    }
    let (mut reached, mut queue) = (BTreeSet::from([goal]), vec![goal]);
    while let Some(address) = queue.pop() {
        for from in before.get(&address).into_iter().flatten() {
            if reached.insert(*from) {
                queue.push(*from);
            }
        }
    }
    reached
}

/// Inserts the called function between a call and the instruction after it. Fails when the function is not known, is too
/// large, or goes where it cannot be followed.
fn call(code: &CodeGraph, whole: &mut Loop, node: Node, depth: usize, frames: &mut u32) -> Option<()> {
    let instruction = code.at(node.1)?;
    if !matches!(instruction.flow, Flow::Call(_)) {
        return Some(());
    }
    if depth >= CALL_DEPTH {
        return None;
    }
    let &[entry] = code.targets(instruction) else { return None };
    let mut nodes: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let (mut queue, mut returns) = (VecDeque::from([entry]), Vec::new());
    while let Some(address) = queue.pop_front() {
        if nodes.contains_key(&address) {
            continue;
        }
        let instruction = code.at(address)?;
        let next = instruction.falls_through().then(|| instruction.next());
        if instruction.flow == Flow::Return {
            returns.push(address);
        }
        let to: Vec<u64> = next.into_iter().chain(branches(code, instruction).iter().copied()).collect();
        queue.extend(&to);
        nodes.insert(address, to);
        if nodes.len() > CALLED {
            return None;
        }
    }
    // Paths that end elsewhere (a panic) do not come back into the loop.
    let useful: BTreeSet<u64> = returns.iter().flat_map(|end| reaching(&nodes, *end)).collect();
    nodes.retain(|address, _| useful.contains(address));
    if !nodes.contains_key(&entry) {
        return None;
    }
    *frames += 1;
    let frame = *frames;
    let after = whole.next.insert(node, vec![(frame, entry)]).unwrap_or_default();
    for (address, to) in &nodes {
        let to = match returns.contains(address) {
            true => after.clone(),
            false => to.iter().filter(|to| nodes.contains_key(to)).map(|to| (frame, *to)).collect(),
        };
        whole.next.insert((frame, *address), to);
    }
    if whole.next.len() > ALL {
        return None;
    }
    let calls = |address: &&u64| code.at(**address).is_some_and(|one| matches!(one.flow, Flow::Call(_)));
    for address in nodes.keys().filter(calls) {
        let before = whole.clone();
        if call(code, whole, (frame, *address), depth + 1, frames).is_none() {
            // A path that cannot be followed (a panic, a slow path) is left out: a wait consists of rounds that do not
            // take it. The caller checks that some path leads to a return.
            *whole = before;
            whole.next.insert((frame, *address), Vec::new());
        }
    }
    Some(())
}
