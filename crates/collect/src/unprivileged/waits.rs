//! What threads waited for: waits that were looked at, and waits too short for that. May import: `recording`, `task`.
//!
//! A block that was looked at belongs to its place exactly. The others of a thread are summed up by their length, in
//! octaves. They are taken for waits at a place when looks at blocks of about that length keep finding the thread there:
//! a block's chance to be looked at depends on its length alone. Otherwise nobody knows what they were for.

use super::task::Sleep;
use recording::tables::{Reason, Wait};
use recording::{RunId, StackId, ThreadId, WaitId};
use std::collections::HashMap;

/// Looks that must have found a thread at blocks of one length before others of that length are taken for the same: were
/// the place that of fewer than half of them, five looks would all find it in one case of 32.
const LEAST_LOOKS: u32 = 5;

/// Of those looks, this share must have found the same place: then at most about a fifth is booked wrongly.
const SAME_PLACE: f64 = 0.8;

/// Tells places apart. The stack pointer stands for the path of callers; the same path has the same depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    thread: ThreadId,
    call: Option<u32>,
    object: u64,
    sp: u64,
    ip: u64,
}

impl Key {
    fn of(thread: ThreadId, sleep: &Sleep) -> Key {
        let object = sleep.call.map_or(0, |(_, arguments)| arguments[0]);
        Key { thread, call: sleep.call.map(|(number, _)| number), object, sp: sleep.sp, ip: sleep.ip }
    }
}

/// What was found at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) reason: Reason,
    /// The system call and its arguments.
    pub(super) call: Option<(u32, [u64; 6])>,
    pub(super) what: Option<String>,
    pub(super) user_stack: Option<StackId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    Place(Place),
    /// Blocks of this octave of nanoseconds, not looked at.
    Length(u32),
}

#[derive(Debug)]
struct Entry {
    thread: ThreadId,
    known: Known,
    count: u64,
    blocked_ns: u64,
    runnable_ns: u64,
    longest_ns: u64,
}

/// The waits of a run.
#[derive(Debug, Default)]
pub(super) struct Waits {
    entries: Vec<Entry>,
    places: HashMap<Key, WaitId>,
    lengths: HashMap<(ThreadId, u32), WaitId>,
    /// How often looks at a thread's blocks of an octave found which place.
    looks: HashMap<(ThreadId, u32), HashMap<WaitId, u32>>,
}

/// The rows, and how much of them is how certain.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) rows: Vec<Wait>,
    /// Blocks in all.
    pub(super) blocks: u64,
    /// Blocks that are taken for those at a place that was seen.
    pub(super) inferred: u64,
    /// Blocks of which nobody knows what they were for.
    pub(super) unknown: u64,
}

impl Waits {
    /// The wait of a thread that was seen asleep. `tell` says more about the place when it is new.
    pub(super) fn place(&mut self, thread: ThreadId, sleep: &Sleep, tell: impl FnOnce() -> Place) -> WaitId {
        let key = Key::of(thread, sleep);
        if let Some(wait) = self.places.get(&key) {
            return *wait;
        }
        let wait = self.add_entry(thread, Known::Place(tell()));
        self.places.insert(key, wait);
        wait
    }

    /// The wait of a thread that was seen asleep at a place before.
    pub(super) fn known(&self, thread: ThreadId, sleep: &Sleep) -> Option<WaitId> {
        self.places.get(&Key::of(thread, sleep)).copied()
    }

    /// Places in all.
    pub(super) fn places(&self) -> u64 {
        self.places.len() as u64
    }

    /// The wait of a block of such a length that nobody looked at.
    pub(super) fn unseen(&mut self, thread: ThreadId, length_ns: u64) -> WaitId {
        let octave = octave(length_ns);
        if let Some(wait) = self.lengths.get(&(thread, octave)) {
            return *wait;
        }
        let wait = self.add_entry(thread, Known::Length(octave));
        self.lengths.insert((thread, octave), wait);
        wait
    }

    /// A look at a block of such a length found it at a place.
    pub(super) fn looked(&mut self, thread: ThreadId, length_ns: u64, wait: WaitId) {
        *self.looks.entry((thread, octave(length_ns))).or_default().entry(wait).or_default() += 1;
    }

    /// Books one or more blocks.
    pub(super) fn book(&mut self, wait: WaitId, count: u64, blocked_ns: u64, runnable_ns: u64, longest_ns: u64) {
        if let Some(entry) = self.entries.get_mut((wait.0 as usize).wrapping_sub(1)) {
            entry.count += count;
            entry.blocked_ns += blocked_ns;
            entry.runnable_ns += runnable_ns;
            entry.longest_ns = entry.longest_ns.max(longest_ns);
        }
    }

    fn add_entry(&mut self, thread: ThreadId, known: Known) -> WaitId {
        self.entries.push(Entry { thread, known, count: 0, blocked_ns: 0, runnable_ns: 0, longest_ns: 0 });
        WaitId(self.entries.len() as u32)
    }

    /// The place that blocks of an octave are taken for, if any.
    fn taken_for(&self, thread: ThreadId, octave: u32) -> Option<&Place> {
        // Blocks of half and of twice the length count too: there a look is not yet much likelier.
        let mut found: HashMap<WaitId, u32> = HashMap::new();
        for octave in octave.saturating_sub(1)..=octave + 1 {
            for (wait, looks) in self.looks.get(&(thread, octave)).into_iter().flatten() {
                *found.entry(*wait).or_default() += looks;
            }
        }
        let all: u32 = found.values().sum();
        let (wait, most) = found.into_iter().max_by_key(|(wait, looks)| (*looks, wait.0))?;
        let sure = all >= LEAST_LOOKS && f64::from(most) >= SAME_PLACE * f64::from(all);
        match &self.entries.get((wait.0 as usize).checked_sub(1)?)?.known {
            Known::Place(place) if sure => Some(place),
            _ => None,
        }
    }

    /// Everything as rows.
    pub(super) fn rows(&self, run: RunId) -> Told {
        let mut told = Told { rows: Vec::new(), blocks: 0, inferred: 0, unknown: 0 };
        for (position, entry) in
            self.entries.iter().enumerate().filter(|(_, entry)| entry.count > 0 || entry.blocked_ns > 0)
        {
            told.blocks += entry.count;
            let place = match &entry.known {
                Known::Place(place) => Some(place),
                Known::Length(octave) => {
                    let place = self.taken_for(entry.thread, *octave);
                    let how = if place.is_some() { &mut told.inferred } else { &mut told.unknown };
                    *how += entry.count;
                    place
                }
            };
            let call = place.and_then(|place| place.call);
            let reason = place.map_or(Reason::None, |place| place.reason);
            let futex = reason == Reason::Futex;
            told.rows.push(Wait {
                run,
                wait: WaitId(position as u32 + 1),
                thread: entry.thread,
                reason,
                syscall: call.map(|(number, _)| number),
                object: call.map(|(_, arguments)| arguments[0]),
                operation: call.map(|(_, arguments)| arguments[1]),
                what: place.and_then(|place| place.what.clone()),
                expected: call.filter(|_| futex).map(|(_, arguments)| arguments[2] as u32),
                timed: futex && call.is_some_and(|(_, arguments)| arguments[3] != 0),
                user_stack: place.and_then(|place| place.user_stack),
                kernel_stack: None,
                // A sleep that had just begun when it was seen first has its time from later readings alone.
                count: entry.count.max(1),
                blocked_ns: entry.blocked_ns,
                runnable_ns: entry.runnable_ns,
                longest_ns: entry.longest_ns,
            });
        }
        told
    }
}

fn octave(length_ns: u64) -> u32 {
    length_ns.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleep(object: u64) -> Sleep {
        Sleep { call: Some((202, [object, 0x80, 2, 0, 0, 0])), sp: 0x7000, ip: 0x4000 }
    }

    fn futex(object: u64) -> Place {
        Place { reason: Reason::Futex, call: sleep(object).call, what: None, user_stack: None }
    }

    /// Looks find a thread this often at futex 1 and at futex 2 in blocks of 1 ms, of which many more are not looked at.
    fn reasons(one: u32, two: u32) -> (Vec<(Reason, u64)>, u64, u64) {
        let (mut waits, thread) = (Waits::default(), ThreadId(0));
        for (object, looks) in [(1, one), (2, two)] {
            for _ in 0..looks {
                let wait = waits.place(thread, &sleep(object), || futex(object));
                waits.looked(thread, 1_000_000, wait);
                waits.book(wait, 1, 1_000_000, 0, 1_000_000);
            }
        }
        for _ in 0..100 {
            let wait = waits.unseen(thread, 900_000);
            waits.book(wait, 1, 900_000, 0, 900_000);
        }
        let told = waits.rows(RunId(0));
        (told.rows.iter().map(|row| (row.reason, row.count)).collect(), told.inferred, told.unknown)
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
        let seen = waits.place(thread, &sleep(1), || futex(1));
        (0..9).for_each(|_| waits.looked(thread, 50_000_000, seen));
        let unseen = waits.unseen(thread, 10_000);
        waits.book(unseen, 7, 70_000, 0, 10_000);
        assert_eq!(waits.rows(RunId(0)).unknown, 7);
        assert_eq!((waits.known(thread, &sleep(1)), waits.known(ThreadId(1), &sleep(1))), (Some(seen), None));
    }

    #[test]
    fn threads_are_not_mixed_up() {
        let mut waits = Waits::default();
        let seen = waits.place(ThreadId(0), &sleep(1), || futex(1));
        (0..9).for_each(|_| waits.looked(ThreadId(0), 10_000, seen));
        let unseen = waits.unseen(ThreadId(1), 10_000);
        waits.book(unseen, 1, 10_000, 0, 10_000);
        assert_eq!(waits.rows(RunId(0)).unknown, 1);
    }
}
