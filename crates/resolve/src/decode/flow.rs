//! What one round of a small loop does with values: which values it carries into the next round, and which loads decide
//! its exits.

use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeMap, BTreeSet};

use super::code::CodeGraph;
use super::instruction::{Access, AccessKind, Atomic, Flow, Instruction, Operand, Register, RegisterSet, Value};
use super::loops::{Loop, Node};

/// How many places for values are distinguished in one loop: registers, flags, stack slots. A loop with more is no mere
/// waiting loop.
const PLACES: usize = 128;

/// How many sources are distinguished in all: values from before the round, and loads.
const SOURCES: usize = 64;

/// The place of the condition flags; lower ones are registers, higher ones saved registers and stack slots.
const FLAGS: usize = 64;

/// A set of places.
type PlaceSet = u128;

/// A set of sources: carried places from the lowest bit up, loads from the highest bit down.
type Sources = u64;

/// A load of the loop from memory that is not its own stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// The address of the instruction.
    pub(super) instruction: u64,
    /// The access.
    pub(super) access: Access,
}

/// What was found out about a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rounds {
    /// Loads that decide whether the loop is left.
    pub(super) deciding: Vec<Load>,
    /// A value is made from its own value in the round before, without a load: a counter, a delay that grows.
    pub(super) counts: bool,
    /// A value is made from its own value in the round before and from loads, or a load's address is made from such a
    /// value: the loop computes, searches or walks.
    pub(super) advances: bool,
}

/// Where the values of a loop can be.
struct Map<'c> {
    code: &'c CodeGraph,
    slots: HashMap<(u32, Register, u64), usize>,
    /// Registers that called functions must preserve have a separate place in each function.
    saved: HashMap<(u32, Register), usize>,
    used: usize,
    /// Whether the frame-pointer register really holds a frame pointer in the loop's own function.
    framed: bool,
}

/// What an instruction reads, writes, and certainly overwrites.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    reads: PlaceSet,
    writes: PlaceSet,
    kills: PlaceSet,
    addresses: PlaceSet,
}

impl Map<'_> {
    fn new_place(&mut self) -> Option<usize> {
        self.used += 1;
        (self.used <= PLACES).then(|| self.used - 1)
    }

    fn register(&mut self, frame: u32, register: Register) -> Option<PlaceSet> {
        let facts = self.code.architecture();
        if register == facts.stack_pointer() {
            return Some(0);
        }
        let kept = usize::from(register) < facts.general() && !facts.changed_by_calls().has(register);
        if frame == 0 || !kept {
            return Some(1 << register);
        }
        let place = match self.saved.get(&(frame, register)) {
            Some(place) => *place,
            None => {
                let place = self.new_place()?;
                self.saved.insert((frame, register), place);
                place
            }
        };
        Some(1 << place)
    }

    fn registers(&mut self, frame: u32, registers: RegisterSet) -> Option<PlaceSet> {
        registers.iter().try_fold(0, |all, register| Some(all | self.register(frame, register)?))
    }

    fn slot(&mut self, frame: u32, operand: &Operand) -> Option<usize> {
        let key = (frame, operand.base?, operand.displacement);
        match self.slots.get(&key) {
            Some(place) => Some(*place),
            None => {
                let place = self.new_place()?;
                self.slots.insert(key, place);
                Some(place)
            }
        }
    }

    /// `None`: there are too many places, or an array on the stack is written, whose elements cannot be distinguished.
    fn uses(&mut self, (frame, address): Node) -> Option<Use> {
        let code = self.code;
        let instruction = code.at(address)?;
        let mut all = Use::default();
        let saves = frame > 0 && instruction.stack < 0 && instruction.flow == Flow::Next;
        let mut reads = instruction.reads;
        if saves {
            // A push at the beginning of a called function only saves the caller's value; it does not use it.
            reads.0 &= code.architecture().changed_by_calls().0;
        } else if frame > 0 {
            // So does a store of what the function has not written yet.
            reads.0 &= !saved_registers(code, instruction).0;
        }
        all.reads = self.registers(frame, reads)?;
        all.writes = self.registers(frame, instruction.writes)?;
        all.kills = self.registers(frame, instruction.kills)?;
        if instruction.reads_flags {
            all.reads |= 1 << FLAGS;
        }
        if instruction.writes_flags {
            all.writes |= 1 << FLAGS;
            all.kills |= 1 << FLAGS;
        }
        for access in instruction.accesses() {
            let operand = &access.operand;
            let index = operand.index.map(|(index, _)| index);
            for register in operand.base.into_iter().chain(index) {
                all.addresses |= self.register(frame, register)?;
            }
            if matches!(instruction.flow, Flow::Call(_) | Flow::Return) {
                continue;
            }
            let Some(own) = own_operand(code, (frame, address), operand, self.framed) else { continue };
            if index.is_some() {
                if access.kind.writes() {
                    return None;
                }
                continue;
            }
            // Two registers that are stored at once may be loaded one by one.
            for within in (0..u64::from(access.width)).step_by(8) {
                let word = Operand { displacement: own.displacement.wrapping_add(within), ..own };
                let slot = 1 << self.slot(frame, &word)?;
                if access.kind.reads() {
                    all.reads |= slot;
                }
                if access.kind.writes() {
                    all.writes |= slot;
                    all.kills |= slot;
                }
            }
        }
        Some(all)
    }
}

/// Registers that an instruction at the beginning of a function puts onto the stack, as the function found them, because
/// its caller wants them back.
fn saved_registers(code: &CodeGraph, store: &Instruction) -> RegisterSet {
    /// How many instructions may lie before the store: room on the stack and other stores.
    const BEFORE: usize = 12;
    let facts = code.architecture();
    let stores =
        |access: &Access| access.kind == AccessKind::Store && access.operand.base == Some(facts.stack_pointer());
    if store.flow != Flow::Next || !store.accesses().all(stores) || store.accesses().next().is_none() {
        return RegisterSet::default();
    }
    // The link register belongs to the caller as well, though calls change it.
    let mut kept = RegisterSet(store.reads.0 & !(facts.changed_by_calls().0 & !facts.link().0));
    let mut at = store.address;
    for _ in 0..BEFORE {
        let mut edges = code.before(at);
        let Some(edge) = edges.next() else { return kept };
        let before = code.at(edge.from).filter(|before| !edge.branch && before.flow == Flow::Next);
        let (Some(before), None) = (before, edges.next()) else { break };
        kept.0 &= !before.writes.0;
        at = before.address;
    }
    RegisterSet::default()
}

/// The operand relative to the stack or frame pointer, when the access is to the function's own frame: directly, or
/// through a register that was set to an address there just before, as in unoptimised code.
pub(super) fn own_operand(
    code: &CodeGraph,
    (frame, address): Node,
    operand: &Operand,
    framed: bool,
) -> Option<Operand> {
    /// How many instructions may lie between the two.
    const BEFORE: usize = 12;
    let facts = code.architecture();
    // Below the frame pointer are the function's own variables, above it its caller's.
    let own = |operand: &Operand| {
        let below = (operand.displacement as i64) < 0;
        operand.base == Some(facts.stack_pointer())
            || operand.base == Some(facts.frame_pointer()) && below && (frame > 0 || framed)
    };
    if operand.thread_local {
        return None;
    }
    if own(operand) {
        return Some(*operand);
    }
    let (Some(pointer), None) = (operand.base, operand.index) else { return None };
    let mut at = address;
    for _ in 0..BEFORE {
        let mut edges = code.before(at);
        let (Some(edge), None) = (edges.next(), edges.next()) else { return None };
        let kept = !facts.changed_by_calls().has(pointer);
        let goes_on = |flow| matches!(flow, Flow::Next | Flow::Branch { .. }) || kept && matches!(flow, Flow::Call(_));
        let instruction = code.at(edge.from).filter(|instruction| goes_on(instruction.flow))?;
        if let Some((to, Value::Linear { base, index: None, displacement, bits: 64 })) = instruction.effect
            && to == pointer
        {
            let displacement = displacement.wrapping_add(operand.displacement);
            return Some(Operand { base, displacement, ..*operand }).filter(own);
        }
        if instruction.writes.has(pointer) {
            return None;
        }
        at = edge.from;
    }
    None
}

/// Analyses one round of a loop. `framed`: the frame-pointer register holds a frame pointer in the loop's own function.
/// `None` when the loop has too many values to follow.
pub(super) fn rounds(code: &CodeGraph, whole: &Loop, framed: bool) -> Option<Rounds> {
    let mut map = Map { code, slots: HashMap::default(), saved: HashMap::default(), used: FLAGS + 1, framed };
    let mut uses = BTreeMap::new();
    let mut loads: Vec<(Node, Load)> = Vec::new();
    for node in whole.next.keys() {
        uses.insert(*node, map.uses(*node)?);
        let instruction = code.at(node.1)?;
        for access in instruction.accesses() {
            let own = own_operand(code, *node, &access.operand, framed).is_some();
            let data = !access.operand.thread_local && !own;
            if data
                && access.kind.reads()
                && !instruction.exclusive
                && !matches!(instruction.flow, Flow::Call(_) | Flow::Return)
            {
                loads.push((*node, Load { instruction: node.1, access: *access }));
            }
        }
    }
    let written = uses.values().fold(0, |all, one| all | one.writes);
    // Flags at the start of a round were set in the round before, from values that are followed anyway.
    let carried: Vec<usize> = bits(live_at_head(whole, &uses) & written & !(1 << FLAGS)).collect();
    if carried.len() + loads.len() > SOURCES {
        return None;
    }
    let sources = Origins { carried: &carried, loads: &loads, uses: &uses };
    let before = sources.spread(code, whole);
    let head = (0, whole.head);
    let mut made = vec![0; carried.len()];
    for (node, to) in &whole.next {
        if to.contains(&head)
            && let Some(state) = before.get(node).map(|state| sources.after(code, whole, *node, state))
        {
            for (nth, (place, made)) in carried.iter().zip(&mut made).enumerate() {
                *made |= state.chosen.get(*place).copied().unwrap_or(0);
                // Written on some paths only: then its value depends on which path was taken.
                *made |= Sources::from(state.untouched >> place & 1 != 0) << nth;
            }
        }
    }
    Some(judge(code, whole, &sources, &before, &made))
}

/// What the value in each place is made from, at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    made: Vec<Sources>,
    /// The same, including what decided which path was taken.
    chosen: Vec<Sources>,
    /// What has decided the path so far.
    path: Sources,
    /// Places that may still hold their value from the beginning of the round.
    untouched: PlaceSet,
}

struct Origins<'a> {
    carried: &'a [usize],
    loads: &'a [(Node, Load)],
    uses: &'a BTreeMap<Node, Use>,
}

impl Origins<'_> {
    fn sources(&self, places: PlaceSet, state: &State) -> Sources {
        self.sum(places, state, &state.made)
    }

    fn chosen(&self, places: PlaceSet, state: &State) -> Sources {
        self.sum(places, state, &state.chosen)
    }

    fn sum(&self, places: PlaceSet, state: &State, from: &[Sources]) -> Sources {
        let mut all = 0;
        for place in bits(places) {
            all |= from.get(place).copied().unwrap_or(0);
            if state.untouched >> place & 1 != 0
                && let Some(nth) = self.carried.iter().position(|carried| *carried == place)
            {
                all |= 1 << nth;
            }
        }
        all
    }

    fn load_bit(&self, nth: usize) -> Sources {
        1 << (SOURCES - 1 - nth)
    }

    fn loads_of(&self, sources: Sources) -> impl Iterator<Item = usize> + '_ {
        (0..self.loads.len()).filter(move |nth| sources & self.load_bit(*nth) != 0)
    }

    fn after(&self, code: &CodeGraph, whole: &Loop, node: Node, before: &State) -> State {
        let mut after = before.clone();
        let (Some(used), Some(instruction)) = (self.uses.get(&node), code.at(node.1)) else { return after };
        let (mut sources, mut chosen) = (self.sources(used.reads, before), self.chosen(used.reads, before));
        for (nth, (at, _)) in self.loads.iter().enumerate() {
            if *at == node {
                sources |= self.load_bit(nth);
                chosen |= self.load_bit(nth);
            }
        }
        // A constant is made from nothing, even if its instruction seems to read something.
        if let Some((_, Value::Linear { base: None, index: None, .. })) = instruction.effect {
            (sources, chosen) = (0, 0);
        }
        for place in bits(used.writes) {
            let kept = if used.kills >> place & 1 != 0 { 0 } else { Sources::MAX };
            if let Some(made) = after.made.get_mut(place) {
                *made = sources | *made & kept;
            }
            if let Some(made) = after.chosen.get_mut(place) {
                *made = chosen | before.path | *made & kept;
            }
        }
        after.untouched &= !used.kills;
        // An exit decides nothing about the rounds that go on.
        if matches!(instruction.flow, Flow::Branch { conditional: true, .. })
            && !(node.0 == 0 && whole.exits.contains(&node.1))
        {
            after.path |= self.chosen(used.reads, before);
        }
        after
    }

    /// The state before each node in one round.
    fn spread(&self, code: &CodeGraph, whole: &Loop) -> BTreeMap<Node, State> {
        let head = (0, whole.head);
        let start = State { made: vec![0; PLACES], chosen: vec![0; PLACES], path: 0, untouched: PlaceSet::MAX };
        let mut before = BTreeMap::from([(head, start)]);
        let mut queue = BTreeSet::from([head]);
        while let Some(node) = queue.pop_first() {
            let Some(state) = before.get(&node) else { continue };
            let after = self.after(code, whole, node, state);
            for to in whole.next.get(&node).into_iter().flatten().filter(|to| **to != head) {
                match before.get_mut(to) {
                    None => {
                        before.insert(*to, after.clone());
                    }
                    Some(known) => {
                        let old = known.clone();
                        known.untouched |= after.untouched;
                        known.path |= after.path;
                        known.made.iter_mut().zip(&after.made).for_each(|(known, more)| *known |= more);
                        known.chosen.iter_mut().zip(&after.chosen).for_each(|(known, more)| *known |= more);
                        if *known == old {
                            continue;
                        }
                    }
                }
                queue.insert(*to);
            }
        }
        before
    }
}

fn judge(
    code: &CodeGraph,
    whole: &Loop,
    sources: &Origins<'_>,
    before: &BTreeMap<Node, State>,
    made: &[Sources],
) -> Rounds {
    let from_loads = |all: Sources| sources.loads_of(all).next().is_some();
    // What each carried value is made from, over any number of rounds.
    let mut closed = made.to_vec();
    for _ in 0..closed.len() {
        for nth in 0..closed.len() {
            let all = (0..closed.len())
                .filter(|other| closed[nth] >> other & 1 != 0)
                .fold(closed[nth], |all, other| all | closed[other]);
            closed[nth] = all;
        }
    }
    let over_rounds =
        |all: Sources| (0..closed.len()).filter(|nth| all >> nth & 1 != 0).fold(all, |all, nth| all | closed[nth]);
    let evolving = (0..closed.len()).filter(|nth| closed[*nth] >> nth & 1 != 0).fold(0, |all, nth| all | 1 << nth);
    let mut found = Rounds::default();
    for nth in (0..closed.len()).filter(|nth| evolving >> nth & 1 != 0) {
        match from_loads(closed[nth]) {
            true => found.advances = true,
            false => found.counts = true,
        }
    }
    let mut deciding: Sources = 0;
    for (node, used) in sources.uses {
        let (Some(state), Some(instruction)) = (before.get(node), code.at(node.1)) else { continue };
        let loads = sources.loads.iter().any(|(at, _)| at == node);
        if loads && over_rounds(sources.sources(used.addresses, state)) & evolving != 0 {
            found.advances = true;
        }
        if changes_by_loads(instruction, sources, state, &over_rounds, &from_loads) {
            found.advances = true;
        }
        if node.0 == 0 && whole.exits.contains(&node.1) {
            deciding |= over_rounds(sources.chosen(used.reads, state));
        }
    }
    let mut loads: Vec<Load> = sources.loads_of(deciding).filter_map(|nth| Some(sources.loads.get(nth)?.1)).collect();
    loads.dedup();
    found.deciding = loads;
    found
}

/// An atomic write of a value that was made from what the loop read: it retries an update, so some thread makes
/// progress.
fn changes_by_loads(
    instruction: &Instruction,
    sources: &Origins<'_>,
    state: &State,
    over_rounds: &dyn Fn(Sources) -> Sources,
    from_loads: &dyn Fn(Sources) -> bool,
) -> bool {
    match instruction.atomic {
        Some(Atomic::Changes) => true,
        Some(Atomic::Sets(Some(register))) => from_loads(over_rounds(sources.sources(1 << register, state))),
        Some(Atomic::Sets(None)) | None => false,
    }
}

/// Places whose value at the beginning of a round matters.
fn live_at_head(whole: &Loop, uses: &BTreeMap<Node, Use>) -> PlaceSet {
    let mut live: BTreeMap<Node, PlaceSet> = BTreeMap::new();
    loop {
        let mut changed = false;
        for (node, to) in whole.next.iter().rev() {
            let used = uses.get(node).copied().unwrap_or_default();
            let after = to.iter().fold(0, |all, to| all | live.get(to).copied().unwrap_or(0));
            let now = used.reads | after & !used.kills;
            let old = live.insert(*node, now);
            changed |= old != Some(now);
        }
        if !changed {
            return live.get(&(0, whole.head)).copied().unwrap_or(0);
        }
    }
}

fn bits(places: PlaceSet) -> impl Iterator<Item = usize> {
    (0..PLACES).filter(move |place| places >> place & 1 != 0)
}
