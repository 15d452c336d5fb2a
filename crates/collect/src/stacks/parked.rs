//! Where the goroutines of an image wait at one moment.

use recording::StackId;
use resolve::{ParkedGoroutines, Unwinder, UserRegisters};
use std::collections::{BTreeMap, HashMap};

/// Goroutines whose stacks are remembered. More at once are seldom.
const KNOWN: usize = 1 << 16;

/// The goroutines of an image that wait, and the stacks that they were met on last.
#[derive(Debug, Default)]
pub(super) struct Parked {
    goroutines: Option<ParkedGoroutines>,
    /// By the address of its record: a hash of the registers and of the stack's bytes, and where it waits. Most goroutines
    /// wait where they waited before, and unwinding costs far more than hashing.
    known: HashMap<u64, (u64, ParkedAt)>,
}

/// Where a goroutine waits: its stack, where it is known, and whether the clock is what it waits for.
pub(super) type ParkedAt = (Option<StackId>, bool);

impl Parked {
    /// The image runs a Go program.
    pub(super) fn see(&mut self, pid: u32, unwinder: &Unwinder) {
        if self.goroutines.is_none() {
            self.goroutines = ParkedGoroutines::for_process(pid, unwinder);
        }
    }

    /// How many of `at_once` of them wait now at each place; none where they cannot be read. `unwind` gives the stack of
    /// copied bytes, where it is whole.
    pub(super) fn look(
        &mut self,
        at_once: u64,
        mut unwind: impl FnMut(UserRegisters, &[u8]) -> Option<StackId>,
    ) -> Option<BTreeMap<ParkedAt, u32>> {
        let Parked { goroutines, known } = self;
        if known.len() >= KNOWN {
            known.clear();
        }
        let mut counts: BTreeMap<ParkedAt, u32> = BTreeMap::new();
        let alive = goroutines.as_mut()?.look(at_once, |records, record, registers, bytes| {
            let hash = hash(&registers, bytes);
            let place = match known.get(&record).filter(|(of, _)| *of == hash) {
                Some((_, place)) => *place,
                None => {
                    // First the channel: the goroutine may go on while its stack is unwound.
                    let timer = records.waits_for_timer(record, bytes);
                    let place = (unwind(registers, bytes), timer);
                    known.insert(record, (hash, place));
                    place
                }
            };
            *counts.entry(place).or_default() += 1;
        });
        if !alive {
            *goroutines = None;
        }
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
