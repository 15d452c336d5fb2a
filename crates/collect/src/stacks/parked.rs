//! Where goroutines wait at one moment.

use super::image::{Copied, Image};
use super::interner::Interner;
use crate::events::Event;
use crate::procfs::monotonic_ns;
use recording::StackId;
use resolve::{ParkedGoroutines, Unwinder, UserRegisters};
use std::collections::{BTreeMap, HashMap};

/// Goroutines whose stacks are remembered. More at once are seldom.
const KNOWN: usize = 1 << 16;

/// At most one part in so many of one processor's time is spent on looks: a program with thousands of goroutines that
/// wait is looked at less often.
const PART: u64 = 50;

/// The looks at waiting tasks of a run.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// The next look is not before this time, nanoseconds of CLOCK_MONOTONIC.
    due_ns: u64,
}

impl Looks {
    /// Looks, unless the last look was too long for that: one event for each stack, or one without a stack when nobody
    /// waited.
    pub(super) fn look<'i>(
        &mut self,
        images: impl Iterator<Item = &'i mut Image>,
        interner: &mut Interner,
    ) -> Vec<Event> {
        let time_ns = monotonic_ns();
        if time_ns < self.due_ns {
            return Vec::new();
        }
        let mut all: Option<BTreeMap<StackId, u32>> = None;
        for of_image in images.filter_map(|image| Parked::look(image, interner, time_ns)) {
            let all = all.get_or_insert_default();
            of_image.into_iter().for_each(|(stack, count)| *all.entry(stack).or_default() += count);
        }
        let Some(all) = all else { return Vec::new() };
        self.due_ns = time_ns + PART * (monotonic_ns() - time_ns);
        if all.is_empty() {
            return vec![Event::Parked { time_ns, user_stack: None, count: 0 }];
        }
        let each = all.into_iter().map(|(stack, count)| Event::Parked { time_ns, user_stack: Some(stack), count });
        each.collect()
    }
}

/// The goroutines of an image that wait, and the stacks that they were met on last.
#[derive(Debug, Default)]
pub(super) struct Parked {
    goroutines: Option<ParkedGoroutines>,
    /// By the address of its record: a hash of the registers and of the stack's bytes, and the stack. Most goroutines
    /// wait where they waited before, and unwinding costs far more than hashing.
    known: HashMap<u64, (u64, Option<StackId>)>,
}

impl Parked {
    /// The image runs a Go program.
    pub(super) fn see(&mut self, pid: u32, unwinder: &Unwinder) {
        if self.goroutines.is_none() {
            self.goroutines = ParkedGoroutines::of(pid, unwinder);
        }
    }

    /// How many of them wait now at each stack; none where they cannot be read.
    fn look(image: &mut Image, interner: &mut Interner, now_ns: u64) -> Option<BTreeMap<StackId, u32>> {
        let mut goroutines = image.parked.goroutines.take()?;
        let mut known = std::mem::take(&mut image.parked.known);
        if known.len() >= KNOWN {
            known.clear();
        }
        let mut counts: BTreeMap<StackId, u32> = BTreeMap::new();
        let alive = goroutines.look(|record, registers, bytes| {
            let hash = hash(&registers, bytes);
            let stack = match known.get(&record).filter(|(of, _)| *of == hash) {
                Some((_, stack)) => *stack,
                None => {
                    let unwound = image.unwind(Copied::new(registers, bytes), now_ns, interner);
                    let stack = unwound.stack.filter(|_| !unwound.truncated);
                    known.insert(record, (hash, stack));
                    stack
                }
            };
            if let Some(stack) = stack {
                *counts.entry(stack).or_default() += 1;
            }
        });
        image.parked = Parked { goroutines: Some(goroutines).filter(|_| alive), known };
        alive.then_some(counts)
    }
}

/// A multiplication and a rotation a word, as rustc hashes: stacks have some kilobytes, and are looked at often.
fn hash(registers: &UserRegisters, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    let add = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks();
    let start = add(add(add(0, registers.ip), registers.sp), bytes.len() as u64);
    let hash = words.iter().fold(start, |hash, word| add(hash, u64::from_ne_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| add(hash, u64::from(*byte)))
}
