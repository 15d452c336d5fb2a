//! What threads do while they hold something that others wait for, from their timelines between getting it and handing
//! it on.

use super::blame::{by_weight, named, running};
use super::judging::{duration, evidence};
use crate::account::Ledger;
use crate::account::criticality::SeenAt;
use crate::account::lines::Why;
use crate::answer::{Culprit, Evidence, Unit};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::resources::hand_over::Hold;
use recording::tables::{Mode, Reason, State};
use recording::{ThreadId, WaitId};
use std::collections::BTreeMap;

/// Decides: from how many complete holds of a lock or a pool on the answer says what the holders do.
/// From: the share of holds that do a thing is certainly more than half when most of ten were seen to do it.
/// Shown by: the sketches of `resource_pool`.
/// Wrong if: the first holds of a run differ from the rest.
const FEWEST_HOLDS: usize = 10;

/// Decides: which activities of the holders get no row in the evidence: those below this share of the time held.
/// From: a part that small is no use to anyone who wants to shorten the holds.
/// Shown by: the sketches of `resource_pool`.
/// Wrong if: never; a row that is left out misleads nobody.
const SMALL: f64 = 0.05;

/// What a holder does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It runs.
    Runs,
    /// It sleeps for a fixed time.
    Sleeps,
    /// It waits for a file or a device.
    Files,
    /// It waits for a pipe, a socket or an event.
    Answers,
    /// It waits for a lock.
    Locks,
    /// It waits for another of a few things.
    Pools,
    /// It waits for another thread.
    Others,
    /// It waits for something else, mostly in the kernel.
    Else,
    /// It waits for a processor.
    Ready,
}

/// What threads did while they held something.
#[derive(Debug)]
pub struct Holders {
    /// Holds that were seen from start to end.
    pub count: usize,
    /// How long they took, seconds.
    pub seconds: f64,
    /// What they did in that time, where, and for how many seconds; largest first.
    pub parts: Vec<(Act, Option<String>, f64)>,
    /// What ran.
    pub ran: Option<Culprit>,
}

impl Holders {
    /// What most of the time is spent on.
    pub fn mostly(&self) -> Option<Act> {
        let mut acts: BTreeMap<Act, f64> = BTreeMap::new();
        self.parts.iter().for_each(|(act, _, seconds)| *acts.entry(*act).or_default() += seconds);
        by_weight(acts).first().map(|(act, _)| *act)
    }

    /// Seconds spent on `wanted`.
    pub fn spent(&self, wanted: Act) -> f64 {
        self.parts.iter().filter(|(act, _, _)| *act == wanted).map(|(_, _, seconds)| seconds).sum()
    }

    /// Where most of that time is spent.
    pub fn place_of(&self, wanted: Act) -> Option<&str> {
        let here = self.parts.iter().find(|(act, place, _)| *act == wanted && place.is_some());
        here.and_then(|(_, place, _)| place.as_deref())
    }

    /// How long one hold takes, seconds.
    fn mean(&self, seconds: f64) -> f64 {
        seconds / self.count.max(1) as f64
    }

    /// As the end of a sentence: `held for 1.9 ms, of which 1.8 ms asleep in usleep, called from query (store.c:21)`.
    pub fn words(&self) -> String {
        let whole = duration(self.mean(self.seconds));
        match self.parts.first() {
            Some((act, at, seconds)) => {
                format!("held for {whole}, of which {} {}", duration(self.mean(*seconds)), told(*act, at.as_deref()))
            }
            None => format!("held for {whole}"),
        }
    }

    /// The same as rows of evidence.
    pub fn rows(&self) -> Vec<Evidence> {
        let mut rows = vec![
            evidence("held at a time, on average", self.mean(self.seconds) * 1e3, Unit::Milliseconds, "slices"),
            evidence("holds seen from start to end", self.count as f64, Unit::Of("holds"), "slices"),
            evidence("time held in them, all threads", self.seconds, Unit::Seconds, "slices"),
        ];
        let large = self.parts.iter().filter(|(_, _, seconds)| *seconds >= SMALL * self.seconds);
        rows.extend(large.map(|(act, at, seconds)| {
            let source = if *act == Act::Runs { "samples" } else { "slices" };
            evidence(format!("of that, {}", told(*act, at.as_deref())), *seconds, Unit::Seconds, source)
        }));
        rows
    }
}

/// What a holder does and where, in words.
pub fn told(act: Act, at: Option<&str>) -> String {
    let what = match act {
        Act::Runs => "running",
        Act::Sleeps => "asleep",
        Act::Files => "waiting for a file or a device",
        Act::Answers => "waiting for a pipe, a socket or an event",
        Act::Locks => "waiting for a lock",
        Act::Pools => "waiting for another limited resource",
        Act::Others => "waiting for another thread",
        Act::Else => "waiting in the kernel",
        Act::Ready => "waiting for a processor",
    };
    at.map_or_else(|| what.to_owned(), |at| format!("{what} in {at}"))
}

/// What threads did in these holds; `None` where too few are known.
pub fn holders(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, holds: &[Hold]) -> Option<Holders> {
    let (begin, end) = ledger.traced.measured;
    let inside: Vec<Hold> = holds.iter().copied().filter(|h| h.start >= begin && h.end <= end).collect();
    if inside.len() < FEWEST_HOLDS {
        return None;
    }
    let mut sums: BTreeMap<(Act, Option<WaitId>), f64> = BTreeMap::new();
    for hold in &inside {
        for slice in ledger.traced.within(hold.thread, hold.start, hold.end) {
            let length = slice.end_ns.saturating_sub(slice.start_ns);
            let cut = slice.end_ns.min(hold.end).saturating_sub(slice.start_ns.max(hold.start));
            if cut == 0 || length == 0 {
                continue;
            }
            let seconds = cut as f64 * (slice.spent_ns as f64 / length as f64).min(1.0) * 1e-9;
            let key = match slice.state {
                State::Running => (Act::Runs, None),
                State::Runnable | State::Preempted => (Act::Ready, None),
                State::Blocked => (act(ledger, slice.wait), slice.wait),
                State::Unknown => continue,
            };
            *sums.entry(key).or_default() += seconds;
        }
    }
    let ran = running(facts, &seen(ledger, &inside), |_| None).map(|r| r.culprit);
    let mut parts: BTreeMap<(Act, Option<String>), f64> = BTreeMap::new();
    for ((act, wait), seconds) in sums {
        let at = match act {
            Act::Runs => ran.as_ref().map(named),
            _ => wait.and_then(|w| at(facts, ledger, w)),
        };
        *parts.entry((act, at)).or_default() += seconds;
    }
    Some(Holders {
        count: inside.len(),
        seconds: inside.iter().map(|h| (h.end - h.start) as f64 * 1e-9).sum(),
        parts: by_weight(parts).into_iter().map(|((act, at), seconds)| (act, at, seconds)).collect(),
        ran,
    })
}

/// What a blocked holder waits for.
fn act(ledger: &Ledger<'_, '_>, wait: Option<WaitId>) -> Act {
    let row = wait.and_then(|w| ledger.traced.waits.get(&w));
    let why = wait.and_then(|w| ledger.reasons.get(&w)).copied().unwrap_or(Why::Unknown);
    match (row.map(|w| w.reason), why) {
        // Whoever sends the answer, the holder waits for it at a file descriptor.
        (Some(Reason::Pipe | Reason::Poll), Why::Condition | Why::Poll | Why::Request | Why::Reply) => Act::Answers,
        (_, Why::Sleep | Why::Pause) => Act::Sleeps,
        (_, Why::Io) => Act::Files,
        (_, Why::Poll | Why::Request | Why::Reply) => Act::Answers,
        (_, Why::Lock) => Act::Locks,
        (_, Why::Pool) => Act::Pools,
        (_, Why::Condition | Why::Barrier | Why::Join | Why::Futex | Why::Ended | Why::Task) => Act::Others,
        _ => Act::Else,
    }
}

/// Where a holder waits: `usleep, called from query (store.c:21)`.
fn at(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, wait: WaitId) -> Option<String> {
    let row = ledger.traced.waits.get(&wait)?;
    let view = facts.model.stacks.view(row.user_stack, row.syscall.is_some());
    let own = view.own.map(|c| place(&c.site()));
    let entry = view.entry.and_then(|c| c.name());
    match (entry, own) {
        (Some(entry), Some(own)) => Some(format!("{entry}, called from {own}")),
        (Some(entry), None) => Some(entry.to_owned()),
        (None, own) => own,
    }
}

/// What was sampled in the holds.
pub(crate) fn seen(ledger: &Ledger<'_, '_>, holds: &[Hold]) -> Vec<(SeenAt, f64)> {
    let mut of: BTreeMap<ThreadId, Vec<(u64, u64)>> = BTreeMap::new();
    holds.iter().for_each(|h| of.entry(h.thread).or_default().push((h.start, h.end)));
    let mut found: BTreeMap<SeenAt, f64> = BTreeMap::new();
    for sample in &ledger.traced.samples {
        let Some(holds) = of.get(&sample.thread) else { continue };
        let next = holds.partition_point(|h| h.0 <= sample.time_ns);
        let inside = next.checked_sub(1).and_then(|i| holds.get(i)).is_some_and(|h| sample.time_ns <= h.1);
        if inside {
            let syscall = sample.syscall.filter(|_| sample.mode == Mode::Kernel);
            *found.entry(SeenAt { thread: sample.thread, stack: sample.user_stack, syscall }).or_default() += 1.0;
        }
    }
    by_weight(found)
}
