//! Where the goroutines of an image wait at one moment.

use recording::StackId;
use resolve::{ParkedGoroutine, ParkedGoroutines, Unwinder};
use std::collections::{BTreeMap, HashMap};

/// Goroutines, and ways to where they wait, that are remembered. More at once are seldom.
const KNOWN: usize = 1 << 16;

/// The goroutines of an image that wait, and what is remembered of them.
#[derive(Debug, Default)]
pub(super) struct Parked {
    goroutines: Option<ParkedGoroutines>,
    /// By the address of its record: a hash of its whole stack, and where it waits. Many goroutines wait on.
    known: HashMap<u64, (u64, ParkedAt)>,
    /// The stack of each way to a place, by the hash of its return addresses. Most goroutines wait where others waited
    /// before, and unwinding costs far more than hashing.
    ways: HashMap<u64, Option<StackId>>,
}

/// Where a goroutine waits: its stack, where it is known, and whether the clock is what it waits for.
pub(super) type ParkedAt = (Option<StackId>, bool);

impl Parked {
    /// The image runs a Go program, whose memory map may have changed.
    pub(super) fn see(&mut self, pid: u32, unwinder: &Unwinder) {
        // Code may lie at the same addresses as other code before.
        self.ways.clear();
        self.known.clear();
        if self.goroutines.is_none() {
            self.goroutines = ParkedGoroutines::for_process(pid, unwinder);
        }
    }

    /// How many of `at_once` of them wait now at each place; none where they cannot be read. `unwind` gives the stack of
    /// a goroutine, where it is whole.
    pub(super) fn look(
        &mut self,
        at_once: u64,
        mut unwind: impl FnMut(&ParkedGoroutine<'_>) -> Option<StackId>,
    ) -> Option<BTreeMap<ParkedAt, u32>> {
        let Parked { goroutines, known, ways } = self;
        if known.len().max(ways.len()) >= KNOWN {
            known.clear();
            ways.clear();
        }
        let mut counts: BTreeMap<ParkedAt, u32> = BTreeMap::new();
        let alive = goroutines.as_mut()?.look(at_once, |goroutine| {
            let hash = goroutine.hash();
            let place = match known.get(&goroutine.record).filter(|(of, _)| *of == hash) {
                Some((_, place)) => *place,
                None => {
                    // First the channel: the goroutine may go on while its stack is unwound.
                    let timer = goroutine.waits_for_timer();
                    let stack = *ways.entry(goroutine.path_hash()).or_insert_with(|| unwind(&goroutine));
                    known.insert(goroutine.record, (hash, (stack, timer)));
                    (stack, timer)
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
