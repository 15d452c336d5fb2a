//! How a lock or a pool is used: how often threads had to wait for it, and how long they hold it. From the timelines.
//!
//! A thread that gets it without waiting leaves no trace, and neither does one that gives it back while nobody waits. A
//! hold is seen from start to end if some thread waits throughout: it begins when a wait ends, and its end wakes the
//! next thread. Whether others wait when a hold begins does not depend on how long the hold takes, so the holds that
//! are seen are a fair sample of all holds.

use super::hand_over::{Passes, passes};
use crate::model::run::Traced;
use recording::tables::{Slice, State};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeSet, HashMap};

/// Decides: how many complete holds must be seen before a lock or a pool is reported as a queue.
/// From: the mean of thirty exponential holds is known to within a third (95 %), and the interval says so.
/// Shown by: `tests`.
/// Wrong if: the first holds of a run differ from the rest.
const FEWEST_HOLDS: usize = 30;

/// Decides: whether enough of the waits are on the timeline one by one: at least this share must be.
/// From: the definition of a majority: with fewer, most waits came so fast that the timeline sums them up.
/// Shown by: no test; summed-up stretches have no hand-overs, so that holds would be missing.
/// Wrong if: waits are thinned out where holds are short: the mean hold is then reported too long.
const ONE_BY_ONE: f64 = 0.5;

/// Decides: whether what looks like one lock can be one: if its holds overlap for more than this share of their time,
/// several threads hold it at once.
/// From: chosen: a hand-over takes some microseconds of holds of milliseconds; readers overlap most of the time.
/// Shown by: `tests`.
/// Wrong if: holds take less than about ten hand-overs: nothing is then reported about the lock.
const OVERLAP: f64 = 0.1;

/// What was seen of a lock or a pool. Times are seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// How long it was looked at.
    pub seconds: f64,
    /// Times that a thread had to wait for it. A thread that is woken in vain and waits again counts once.
    pub waits: f64,
    /// How long they waited in all.
    pub waited: f64,
    /// Holds seen from start to end.
    pub holds: usize,
    /// How long one is held, on average.
    pub hold: f64,
    /// Variance of the holds over their mean squared.
    pub variation: f64,
}

/// The usage of the lock or pool that these waits are for; none if too few holds were seen. `size`: how many can be
/// held at once.
pub fn usage(traced: &Traced<'_>, waits: &BTreeSet<WaitId>, size: usize) -> Option<Usage> {
    let (begin, end) = traced.measured;
    let inside = |s: &Slice| s.start_ns >= begin && s.end_ns <= end;
    let (mut all, mut single, mut waited) = (0.0, 0.0, 0.0);
    for slice in traced.blocked(waits).filter(inside) {
        all += f64::from(slice.count);
        single += if slice.count == 1 { 1.0 } else { 0.0 };
        waited += slice.spent_ns as f64;
    }
    let events = passes(traced, waits);
    let seen = events.blocks.iter().filter(|b| b.0 >= begin && b.1 <= end).count();
    if single < ONE_BY_ONE * all || seen < FEWEST_HOLDS {
        return None;
    }
    // Of many waits, only some are followed.
    let in_all = single / seen as f64;
    let found = holds(&events, traced, (begin, end));
    let count = found.whole.len();
    if count < FEWEST_HOLDS || (size == 1 && overlap(&found.whole) > OVERLAP) {
        return None;
    }
    let lengths: Vec<f64> = found.whole.iter().map(|(start, end)| (end - start) as f64).collect();
    let mean_seen = lengths.iter().sum::<f64>() / count as f64;
    let variance = lengths.iter().map(|ns| (ns - mean_seen).powi(2)).sum::<f64>() / count as f64;
    // A hold whose end was not seen is longer than what was seen of it; total time on test (Epstein & Sobel, 1953)
    // counts that. While threads wait for a lock, no hold is cut off: it lasts until the next thread has the lock.
    let cut_off = if size > 1 { found.cut_off } else { 0.0 };
    let hold = (lengths.iter().sum::<f64>() + cut_off) / count as f64;
    (hold > 0.0 && mean_seen > 0.0).then(|| Usage {
        seconds: (end - begin) as f64 * 1e-9,
        waits: all - found.in_vain as f64 * in_all,
        waited: waited * 1e-9,
        holds: count,
        hold: hold * 1e-9,
        variation: variance / mean_seen.powi(2),
    })
}

#[derive(Default)]
struct Holds {
    /// Start and end.
    whole: Vec<(u64, u64)>,
    /// Nanoseconds of holds whose end was not seen, until no thread waited any more.
    cut_off: f64,
    /// Times that a thread was woken, found it taken, and waited again.
    in_vain: usize,
}

/// What a thread does. The walk goes back in time: of steps at the same time, the last one in this order comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Waits,
    Releases,
    /// The question is what it does after that.
    Gets,
}

/// Holds that began while somebody else waited.
fn holds(events: &Passes, traced: &Traced<'_>, (begin, end): (u64, u64)) -> Holds {
    let stretches = waited(events);
    let mut gets = events.blocks.iter().rev().map(|b| (b.1, Next::Gets, b.2)).peekable();
    let mut releases = events.passed.iter().rev().map(|p| (p.time, Next::Releases, p.from)).peekable();
    let mut waits = events.begins.iter().rev().map(|b| (b.0, Next::Waits, b.1)).peekable();
    let mut next: HashMap<ThreadId, (u64, Next)> = HashMap::new();
    let mut found = Holds::default();
    loop {
        let latest = [gets.peek(), releases.peek(), waits.peek()].into_iter().flatten().max().copied();
        let Some((got, step, thread)) = latest else { break };
        match step {
            Next::Waits => drop(waits.next()),
            Next::Releases => drop(releases.next()),
            Next::Gets => drop(gets.next()),
        }
        if !matches!(step, Next::Gets) {
            next.insert(thread, (got, step));
            continue;
        }
        if got < begin || got > end {
            continue;
        }
        let at = stretches.partition_point(|s| s.0 < got);
        let stretch = at.checked_sub(1).and_then(|at| stretches.get(at)).filter(|s| got < s.1);
        let Some((_, until)) = stretch.copied() else { continue };
        // It was free until the thread that was woken ran.
        let running = |s: &Slice| s.state == State::Running && s.end_ns > got;
        let start = traced.within(thread, got, until).find(running).map_or(got, |s| s.start_ns.max(got));
        match next.get(&thread) {
            Some((time, Next::Releases)) if *time <= until && *time <= end => {
                found.whole.push((start.min(*time), *time));
            }
            Some((time, Next::Waits)) if *time <= until => found.in_vain += 1,
            _ => found.cut_off += until.min(end).saturating_sub(start) as f64,
        }
    }
    found.whole.reverse();
    found
}

/// The stretches of time in which any thread waited.
fn waited(events: &Passes) -> Vec<(u64, u64)> {
    let mut blocks: Vec<(u64, u64)> = events.blocks.iter().map(|b| (b.0, b.1)).collect();
    blocks.sort();
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for (start, end) in blocks {
        match stretches.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => stretches.push((start, end)),
        }
    }
    stretches
}

/// The share of the holds' time in which another hold overlaps.
fn overlap(holds: &[(u64, u64)]) -> f64 {
    let mut sorted = holds.to_vec();
    sorted.sort_unstable();
    let (mut all, mut twice, mut until) = (0.0, 0.0, 0);
    for (start, end) in sorted {
        all += (end - start) as f64;
        twice += end.min(until).saturating_sub(start) as f64;
        until = until.max(end);
    }
    if all > 0.0 { twice / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_threads_hold_at_once_is_no_single_lock() {
        // Handing a lock over takes a twentieth of a hold; a reader holds while the next one does.
        let locked: Vec<(u64, u64)> = (0..40).map(|n| (n * 100, n * 100 + 105)).collect();
        let read: Vec<(u64, u64)> = (0..40).map(|n| (n * 100, n * 100 + 150)).collect();
        assert!(overlap(&locked) <= OVERLAP && overlap(&read) > OVERLAP, "{} {}", overlap(&locked), overlap(&read));
        assert_eq!(overlap(&[]), 0.0);
    }
}
