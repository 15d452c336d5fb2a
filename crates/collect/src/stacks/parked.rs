//! Where the goroutines of an image wait at one moment.

use super::image::{Copied, Image};
use super::interner::Interner;
use recording::StackId;
use resolve::{ParkedGoroutines, Unwinder, UserRegisters};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

/// Goroutines whose stacks are remembered. More at once are seldom.
const KNOWN: usize = 1 << 16;

/// The goroutines of an image that wait, and the stacks that they were met on last.
#[derive(Debug, Default)]
pub(super) struct Parked {
    goroutines: Option<ParkedGoroutines>,
    /// By the address of its record: a hash of the registers and of the stack's bytes, and the stack. Most goroutines wait
    /// where they waited before, and unwinding costs far more than hashing.
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
    pub(super) fn look(image: &mut Image, interner: &mut Interner, now_ns: u64) -> Option<BTreeMap<StackId, u32>> {
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

fn hash(registers: &UserRegisters, bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (registers.ip, registers.sp).hash(&mut hasher);
    bytes.hash(&mut hasher);
    hasher.finish()
}
