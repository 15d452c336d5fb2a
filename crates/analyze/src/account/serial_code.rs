//! Code that only ever runs while no other thread runs: it makes up a serial phase, whatever the other threads wait at.
//!
//! A barrier, a condition or a join only says where threads wait. What runs meanwhile shows whether they wait for a
//! slower part of the same work or for work that only one thread may do.

use super::criticality::{Criticality, SampleCounts};
use crate::model::code::{Code, Owner};
use crate::model::stacks::Stacks;
use recording::StackId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Code counts as running alone when at least this share of its samples was taken while no other thread ran.
///
/// Decides: whether a function is reported as a serial part.
/// From: chosen: the rest covers the edges of a phase, where other threads finish their work or are woken within about
/// one sample.
/// Shown by: `a_serial_part_behind_a_barrier_is_named_with_its_limit`,
/// `unequal_shares_at_a_barrier_are_no_serial_phase`.
/// Wrong if: a serial part is only a few samples long each time: its edges are then more than a twentieth of it.
const ALONE_SHARE: f64 = 0.95;

/// With fewer samples than this, it is not certain that a function never ran beside others.
///
/// Decides: how many samples a function needs before it can be called serial.
/// From: statistics: with 10 samples, a function that runs beside others half of the time looks alone in one of a
/// thousand cases.
/// Shown by: `serial_phase` of `tests/verdict/acquitted.rs`, which thins samples out to as little as a hundredth.
/// Wrong if: a function runs alone nine times in ten, and beside others the rest of the time: ten samples often miss
/// the rest.
const FEWEST_SAMPLES: u64 = 10;

/// When no more than this share of the CPU time was spent beside another running thread, all code runs alone (as in
/// threads that hand work to each other), so that running alone says nothing.
///
/// Decides: whether code that runs alone is reported at all.
/// From: chosen; no measurement.
/// Shown by: `threads_that_wait_for_each_others_answers_have_no_slow_stage`.
/// Wrong if: a program is nearly all serial: a serial part that takes more than nine tenths of its time, behind a
/// barrier, is not reported.
const PARALLEL_SHARE: f64 = 0.1;

/// A function, or a line of it: module, name (if any), and the line or address (if used).
type CodePlace<'t> = (&'t str, Option<&'t str>, Option<u64>);

/// The code of one run that runs alone.
#[derive(Debug, Clone, Default)]
pub struct SerialCode<'t> {
    told: bool,
    places: BTreeSet<CodePlace<'t>>,
    stacks: HashMap<StackId, Option<Code<'t>>>,
}

impl<'t> SerialCode<'t> {
    /// Finds it; empty when the run does not show enough.
    pub fn new(stacks: &Stacks<'t>, meanwhile: &Criticality) -> SerialCode<'t> {
        let mut by_stack: BTreeMap<StackId, SampleCounts> = BTreeMap::new();
        let mut total = SampleCounts::default();
        for (at, seen) in &meanwhile.seen {
            total.all += seen.all;
            total.alone += seen.alone;
            if let Some(stack) = at.stack {
                let entry = by_stack.entry(stack).or_default();
                entry.all += seen.all;
                entry.alone += seen.alone;
            }
        }
        if (total.all - total.alone) as f64 <= PARALLEL_SHARE * total.all as f64 {
            return SerialCode::default();
        }
        let mut seen: HashMap<CodePlace, SampleCounts> = HashMap::new();
        let own: HashMap<StackId, Vec<Code>> = by_stack
            .keys()
            .map(|s| (*s, stacks.frames(*s).into_iter().filter(|c| c.owner == Owner::Own).collect()))
            .collect();
        for (stack, samples) in &by_stack {
            let frames = own.get(stack).map_or(&[][..], Vec::as_slice);
            let places: BTreeSet<CodePlace> = frames.iter().flat_map(places).collect();
            for place in places {
                let entry = seen.entry(place).or_default();
                entry.all += samples.all;
                entry.alone += samples.alone;
            }
        }
        let alone =
            |seen: &SampleCounts| seen.all >= FEWEST_SAMPLES && seen.alone as f64 >= ALONE_SHARE * seen.all as f64;
        let places: BTreeSet<CodePlace> = seen.iter().filter(|(_, s)| alone(s)).map(|(p, _)| *p).collect();
        let innermost = |frames: &Vec<Code<'t>>| {
            let function = frames.iter().find(|c| c.name().is_some() && places.contains(&function(c)));
            function.or_else(|| frames.iter().find(|c| self::places(c).iter().any(|p| places.contains(p)))).copied()
        };
        let stacks = own.iter().map(|(stack, frames)| (*stack, innermost(frames))).collect();
        SerialCode { told: true, places, stacks }
    }

    /// The innermost function of the program in a stack that only ever runs alone.
    pub fn function(&self, stack: Option<StackId>) -> Option<Code<'t>> {
        self.stacks.get(&stack?).copied().flatten()
    }

    /// False when threads run side by side too rarely to tell what runs alone.
    pub fn told(&self) -> bool {
        self.told
    }

    /// True when nothing runs alone, or nothing can be said.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn function<'t>(code: &Code<'t>) -> CodePlace<'t> {
    (code.module, code.name(), None)
}

/// The function and the line: either one may be what only one thread runs. Without a name, the address.
fn places<'t>(code: &Code<'t>) -> Vec<CodePlace<'t>> {
    match (code.name(), code.frame.line) {
        (Some(name), Some(line)) => vec![function(code), (code.module, Some(name), Some(line.into()))],
        (Some(_), None) => vec![function(code)],
        (None, _) => vec![(code.module, None, Some(code.frame.address))],
    }
}
