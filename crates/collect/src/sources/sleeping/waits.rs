//! What threads waited for: waits that were inspected, and waits that were too short for it.
//!
//! An inspected block certainly belongs to its place. A thread's other blocks are summed up by their length, in
//! octaves. They are attributed to a place if inspections of blocks of about that length keep finding the thread there:
//! a block's chance of being inspected depends on its length alone. Otherwise their place is unknown.

use super::inspect::Inspected;
use crate::build::Builder;
use crate::events::{Event, WaitPlace, WaitSums, Within};
use crate::task::Sleep;
use recording::{StackId, ThreadId, WaitId};
use std::collections::HashMap;

/// How many inspections must have met a thread in blocks of about one length (half to twice) before its other blocks of
/// that length are attributed to the same place. If fewer than half of the blocks were at that place, five inspections
/// would all find it in one case of 32.
///
/// Decides: from how many inspections on waits that were too short to be inspected are attributed to the place of
/// inspected waits of that length.
/// From: statistics: a place with fewer than half of the waits is found by all five inspections in one case of 32.
/// Wrong if: waits of one length alternate between two places in step with the inspections.
const LEAST_INSPECTIONS: u32 = 5;

/// The share of those inspections that must have found the same place: at most about a fifth is then attributed
/// wrongly.
///
/// Decides: whether the inspected waits of one length agree well enough to stand for the others.
/// From: chosen: at most about a fifth is then attributed wrongly.
/// Wrong if: the waits that were too short to be inspected are at other places than the longer ones.
const SAME_PLACE: f64 = 0.8;

const UNKNOWN_PLACES: &str = "places where threads waited (too short to be looked at)";
const INFERRED_PLACES: &str = "looks at waits (taken for the same as others of their length)";

/// Distinguishes places. The stack pointer stands for the path of callers: the same path has the same depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PlaceId {
    thread: ThreadId,
    call: Option<u32>,
    object: u64,
    sp: u64,
    ip: u64,
}

impl PlaceId {
    fn for_sleep(thread: ThreadId, sleep: &Sleep) -> PlaceId {
        let object = sleep.call.map_or(0, |(_, arguments)| arguments[0]);
        PlaceId { thread, call: sleep.call.map(|(number, _)| number), object, sp: sleep.sp, ip: sleep.ip }
    }
}

/// Where the waits of an entry were.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    Place(WaitPlace),
    /// Blocks whose length is in this octave of nanoseconds and that were not inspected.
    Length(u32),
}

#[derive(Debug)]
struct Entry {
    thread: ThreadId,
    place: Where,
    sums: WaitSums,
}

/// The waits of a run.
#[derive(Debug, Default)]
pub(in crate::sources) struct Waits {
    entries: Vec<Entry>,
    places: HashMap<PlaceId, WaitId>,
    lengths: HashMap<(ThreadId, u32), WaitId>,
    /// How often inspections found each place, by thread and by the octave of the block's length.
    inspections: HashMap<(ThreadId, u32), HashMap<WaitId, u32>>,
}

impl Waits {
    /// The wait of a thread that was seen asleep at a new place.
    pub(in crate::sources) fn add(
        &mut self,
        thread: ThreadId,
        sleep: &Sleep,
        found: Inspected,
        user_stack: Option<StackId>,
    ) -> WaitId {
        let wait = self.next();
        let Inspected { within, file, in_kernel, .. } = found;
        let (kernel_lock, kernel_stack) = (None, None);
        let place = WaitPlace { wait, thread, within, file, in_kernel, kernel_lock, user_stack, kernel_stack };
        self.push(thread, Where::Place(place));
        self.places.insert(PlaceId::for_sleep(thread, sleep), wait);
        wait
    }

    /// The wait of a thread that was seen asleep at a known place.
    pub(in crate::sources) fn known(&self, thread: ThreadId, sleep: &Sleep) -> Option<WaitId> {
        self.places.get(&PlaceId::for_sleep(thread, sleep)).copied()
    }

    /// The wait for uninspected blocks of this length.
    pub(in crate::sources) fn unseen(&mut self, thread: ThreadId, length_ns: u64) -> WaitId {
        let octave = octave(length_ns);
        if let Some(wait) = self.lengths.get(&(thread, octave)) {
            return *wait;
        }
        let wait = self.next();
        self.push(thread, Where::Length(octave));
        self.lengths.insert((thread, octave), wait);
        wait
    }

    /// Notes that an inspection found a block of this length at a place.
    pub(in crate::sources) fn inspected(&mut self, thread: ThreadId, length_ns: u64, wait: WaitId) {
        *self.inspections.entry((thread, octave(length_ns))).or_default().entry(wait).or_default() += 1;
    }

    /// Adds one or more blocks to a wait.
    pub(in crate::sources) fn count(&mut self, wait: WaitId, more: WaitSums) {
        if let Some(entry) = self.entries.get_mut((wait.0 as usize).wrapping_sub(1)) {
            let sums = &mut entry.sums;
            sums.count += more.count;
            sums.blocked_ns += more.blocked_ns;
            sums.runnable_ns += more.runnable_ns;
            sums.longest_ns = sums.longest_ns.max(more.longest_ns);
        }
    }

    fn next(&self) -> WaitId {
        WaitId(self.entries.len() as u32 + 1)
    }

    fn push(&mut self, thread: ThreadId, place: Where) {
        self.entries.push(Entry { thread, place, sums: WaitSums::default() });
    }

    /// The place to which blocks of an octave are attributed, if any.
    fn taken_for(&self, thread: ThreadId, octave: u32) -> Option<&WaitPlace> {
        // Blocks of half and of twice the length count too: the chance of being inspected is not yet very different
        // there.
        let mut found: HashMap<WaitId, u32> = HashMap::new();
        for octave in octave.saturating_sub(1)..=octave + 1 {
            for (wait, looks) in self.inspections.get(&(thread, octave)).into_iter().flatten() {
                *found.entry(*wait).or_default() += looks;
            }
        }
        let all: u32 = found.values().sum();
        let (wait, most) = found.into_iter().max_by_key(|(wait, looks)| (*looks, wait.0))?;
        let sure = all >= LEAST_INSPECTIONS && f64::from(most) >= SAME_PLACE * f64::from(all);
        match &self.entries.get((wait.0 as usize).checked_sub(1)?)?.place {
            Where::Place(place) if sure => Some(place),
            _ => None,
        }
    }

    /// Where a wait is; for uninspected blocks, the place they are attributed to.
    pub(in crate::sources) fn place(&self, wait: WaitId) -> Option<WaitPlace> {
        let entry = self.entries.get((wait.0 as usize).checked_sub(1)?)?;
        let place = match &entry.place {
            Where::Place(place) => Some(place),
            Where::Length(octave) => self.taken_for(entry.thread, *octave),
        };
        let unknown = WaitPlace {
            wait,
            thread: entry.thread,
            within: Within::Hidden,
            file: None,
            in_kernel: None,
            kernel_lock: None,
            user_stack: None,
            kernel_stack: None,
        };
        Some(place.map_or(unknown, |place| WaitPlace { wait, ..place.clone() }))
    }

    /// Emits everything, and how much of it was not inspected.
    pub(in crate::sources) fn emit(&self, to: &mut Builder) {
        let (mut blocks, mut inferred, mut unknown) = (0, 0, 0);
        for (position, entry) in self.entries.iter().enumerate() {
            let Entry { thread, place, sums } = entry;
            let mut sums = *sums;
            if sums.count == 0 && sums.blocked_ns == 0 {
                continue;
            }
            blocks += sums.count;
            if let Where::Length(octave) = place {
                let how = if self.taken_for(*thread, *octave).is_some() { &mut inferred } else { &mut unknown };
                *how += sums.count;
            }
            // A sleep that had just begun when it was first seen gets its time only from later readings.
            sums.count = sums.count.max(1);
            if let Some(at) = self.place(WaitId(position as u32 + 1)) {
                to.add(Event::Wait { at, sums });
            }
        }
        to.add(Event::Lost { what: UNKNOWN_PLACES, count: unknown, of: Some(blocks) });
        to.add(Event::Lost { what: INFERRED_PLACES, count: inferred, of: Some(blocks) });
    }
}

fn octave(length_ns: u64) -> u32 {
    length_ns.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::BlockedCall;
    use recording::RunId;
    use recording::tables::Reason;

    fn sleep(object: u64) -> Sleep {
        Sleep { call: Some((202, [object, 0x80, 2, 0, 0, 0])), sp: 0x7000, ip: 0x4000 }
    }

    fn sums(count: u64, blocked_ns: u64) -> WaitSums {
        WaitSums { count, blocked_ns, runnable_ns: 0, longest_ns: blocked_ns / count }
    }

    fn at_futex(waits: &mut Waits, thread: ThreadId, object: u64) -> WaitId {
        let sleep = sleep(object);
        let (number, arguments) = sleep.call.expect("a call");
        let within = Within::Call(BlockedCall::from_call(number, arguments));
        let found = Inspected { within, file: None, in_kernel: None, stack: Vec::new() };
        waits.known(thread, &sleep).unwrap_or_else(|| waits.add(thread, &sleep, found, None))
    }

    /// Reasons of the waits with their counts, and the numbers of inferred and of unknown blocks.
    fn told(waits: &Waits) -> (Vec<(Reason, u64)>, u64, u64) {
        let mut to = Builder::new(RunId(0));
        waits.emit(&mut to);
        let lost = |what: &str| to.rows.losses.iter().find(|loss| loss.what == what).map_or(0, |loss| loss.count);
        let rows = to.rows.waits.iter().map(|row| (row.reason, row.count)).collect();
        (rows, lost(INFERRED_PLACES), lost(UNKNOWN_PLACES))
    }

    /// Inspections find a thread this often at futex 1 and futex 2, in blocks of 1 ms; many more blocks are not
    /// inspected.
    fn reasons(one: u32, two: u32) -> (Vec<(Reason, u64)>, u64, u64) {
        let (mut waits, thread) = (Waits::default(), ThreadId(0));
        for (object, looks) in [(1, one), (2, two)] {
            for _ in 0..looks {
                let wait = at_futex(&mut waits, thread, object);
                waits.inspected(thread, 1_000_000, wait);
                waits.count(wait, sums(1, 1_000_000));
            }
        }
        for _ in 0..100 {
            let wait = waits.unseen(thread, 900_000);
            waits.count(wait, sums(1, 900_000));
        }
        told(&waits)
    }

    #[test]
    fn short_waits_are_taken_for_those_that_looks_keep_finding() {
        assert_eq!(reasons(5, 0), (vec![(Reason::Futex, 5), (Reason::Futex, 100)], 100, 0));
    }

    #[test]
    fn few_looks_and_looks_that_differ_tell_nothing() {
        assert_eq!(reasons(4, 0), (vec![(Reason::Futex, 4), (Reason::None, 100)], 0, 100));
        assert_eq!(reasons(5, 3), (vec![(Reason::Futex, 5), (Reason::Futex, 3), (Reason::None, 100)], 0, 100));
    }

    #[test]
    fn long_waits_say_nothing_about_short_ones() {
        let (mut waits, thread) = (Waits::default(), ThreadId(0));
        let seen = at_futex(&mut waits, thread, 1);
        (0..9).for_each(|_| waits.inspected(thread, 50_000_000, seen));
        let unseen = waits.unseen(thread, 10_000);
        waits.count(unseen, sums(7, 70_000));
        assert_eq!(told(&waits).2, 7);
        assert_eq!((waits.known(thread, &sleep(1)), waits.known(ThreadId(1), &sleep(1))), (Some(seen), None));
    }

    #[test]
    fn threads_are_not_mixed_up() {
        let mut waits = Waits::default();
        let seen = at_futex(&mut waits, ThreadId(0), 1);
        (0..9).for_each(|_| waits.inspected(ThreadId(0), 10_000, seen));
        let unseen = waits.unseen(ThreadId(1), 10_000);
        waits.count(unseen, sums(1, 10_000));
        assert_eq!(told(&waits).2, 1);
    }
}
