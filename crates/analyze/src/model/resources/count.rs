//! How many of the things are held at once.

use super::hand_over::HandOvers;
use std::collections::BTreeMap;

/// Decides: whether the number n of resources in a pool is certain: n or n - 1 of them must be held for at least this
/// share of the time in which threads wait.
/// From: while any thread waits, all of the few resources are held, except during hand-overs and for holds whose
/// beginning was not seen because the thread did not have to wait.
/// Shown by: the pools of `tests`; threads that share out work hold any number from none to all.
/// Wrong if: most threads get one without waiting although others wait.
const STEADY: f64 = 0.6;

/// Decides: how many resources are held at once: the number that is not exceeded for this share of the time in which
/// threads wait.
/// From: two holds seem to overlap for as long as a hand-over takes, which is microseconds of a wait of milliseconds.
/// Shown by: `tests`.
/// Wrong if: holds take less than about twenty hand-overs; the number may then be reported one too high.
const NOT_EXCEEDED: f64 = 0.95;

/// How many are held while somebody waits.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct HeldAtOnce {
    /// The most, ignoring short excesses while one is handed over.
    pub(super) most: usize,
    /// Share of that time, 0 to 1, in which `most` or one less are held.
    pub(super) steady: f64,
}

impl HeldAtOnce {
    /// True when the number is certain.
    pub(super) fn is_told(&self) -> bool {
        self.most > 0 && self.steady >= STEADY
    }
}

/// How many are held at once, from the known holds.
pub(super) fn held(events: &HandOvers) -> HeldAtOnce {
    // Before the first known hold ends and after the last one begins, too little is known.
    let first = events.holds.iter().map(|h| h.end).min().unwrap_or(u64::MAX);
    let last = events.holds.iter().map(|h| h.start).max().unwrap_or(0);
    let holds = || events.holds.iter().chain(&events.ends);
    let (mut starts, mut ends): (Vec<u64>, Vec<u64>) =
        (holds().map(|h| h.start).collect(), holds().map(|h| h.end).collect());
    starts.sort();
    ends.sort();
    let mut changes = [
        (1, 0, Box::new(starts.into_iter()) as Box<dyn Iterator<Item = u64>>),
        (-1, 0, Box::new(ends.into_iter())),
        (0, 1, Box::new(events.passes.begins.iter().map(|b| b.0))),
        (0, -1, Box::new(events.passes.blocks.iter().map(|b| b.1))),
    ]
    .map(|(held, waits, times)| (held, waits, times.peekable()));
    let mut times: BTreeMap<i32, u64> = BTreeMap::new();
    let (mut holders, mut waiting, mut since) = (0, 0, 0);
    // What happens at the same time may come in any order: no time passes.
    while let Some((time, at)) = changes.iter_mut().enumerate().filter_map(|(at, c)| Some((*c.2.peek()?, at))).min() {
        let Some((held, waits, times_left)) = changes.get_mut(at) else { break };
        let (held, waits) = (*held, *waits);
        times_left.next();
        let (from, to) = (since.max(first), time.min(last));
        if waiting > 0 && from < to {
            *times.entry(holders).or_default() += to - from;
        }
        (holders, waiting, since) = (holders + held, waiting + waits, time);
    }
    let all: u64 = times.values().sum();
    let mut sum = 0;
    let most = times.iter().find(|(_, time)| {
        sum += **time;
        sum as f64 >= NOT_EXCEEDED * all as f64
    });
    let Some(most) = most.map(|(number, _)| *number).filter(|n| *n > 0 && all > 0) else {
        return HeldAtOnce::default();
    };
    let near = |n: i32| n == most || (most > 1 && n == most - 1);
    let steady: u64 = times.iter().filter(|(n, _)| near(**n)).map(|(_, time)| time).sum();
    HeldAtOnce { most: usize::try_from(most).unwrap_or(0), steady: steady as f64 / all as f64 }
}
