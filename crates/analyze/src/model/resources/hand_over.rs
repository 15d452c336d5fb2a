//! Who handed one of the things to whom, and when, from the timelines of waiters and wakers. A recording sums wake-ups
//! up by place. The time of each is the end of the waiter's block, and the waker was on a processor then.

use crate::model::run::Traced;
use recording::tables::{Reason, Slice, State, Wake};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Decides: how many of the releases that follow a wake-up in vain (the woken thread found nothing free) are searched
/// for the thread that held the resource meanwhile.
/// From: more threads than hold one at once in any program that has so few resources that threads wait for them.
/// Shown by: `tests`.
/// Wrong if: more threads than this hold one at once; some holds are then not seen.
const MOST_LOOKED_AT: usize = 256;

/// A thread holds one of the things. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Who.
    pub thread: ThreadId,
    /// The end of its wait, as a rule.
    pub start: u64,
    /// When it woke the next thread, as a rule.
    pub end: u64,
}

/// The timelines of a run, by thread and in order.
#[derive(Debug)]
pub struct Timelines<'t>(BTreeMap<ThreadId, Vec<&'t Slice>>);

impl<'t> Timelines<'t> {
    /// Those of a run.
    pub fn new(traced: &Traced<'t>) -> Timelines<'t> {
        let mut all: BTreeMap<ThreadId, Vec<&Slice>> = BTreeMap::new();
        for slice in traced.slices.iter().copied().filter(|s| s.end_ns > s.start_ns) {
            all.entry(slice.thread).or_default().push(slice);
        }
        all.values_mut().for_each(|line| line.sort_by_key(|s| (s.start_ns, s.end_ns)));
        Timelines(all)
    }

    /// The slices of a thread that touch a stretch, in order.
    pub fn within(&self, thread: ThreadId, start: u64, end: u64) -> impl Iterator<Item = &'t Slice> + '_ {
        let line = self.0.get(&thread).map(Vec::as_slice).unwrap_or_default();
        let first = line.partition_point(|s| s.end_ns < start);
        line.iter().skip(first).take_while(move |s| s.start_ns <= end).copied()
    }
}

/// One thread handed one of the things to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct HandOver {
    pub(super) time: u64,
    pub(super) from: ThreadId,
    pub(super) to: ThreadId,
}

/// The waits at one place, and what was handed over there.
#[derive(Debug, Default)]
pub(super) struct Passes {
    /// Blocked slices of one wait each: begin, end, thread; ordered by end.
    pub(super) blocks: Vec<(u64, u64, ThreadId)>,
    /// Begin and thread of each of these blocks, ordered by begin.
    pub(super) begins: Vec<(u64, ThreadId)>,
    /// The ends of blocks whose waker is known, in order of time.
    pub(super) passed: Vec<HandOver>,
    /// How often each thread handed one to each other.
    pub(super) pairs: BTreeMap<(ThreadId, ThreadId), usize>,
}

/// What happened at one place.
#[derive(Debug)]
pub struct HandOvers {
    /// The waits and what was handed over.
    pub(super) passes: Passes,
    /// How often a thread was woken and waited again without having got one: another thread was quicker.
    pub(super) in_vain: usize,
    /// Holds whose both ends are known.
    pub holds: Vec<Hold>,
    /// The last parts of holds whose begin is unknown, because it was while no thread waited.
    pub(super) ends: Vec<Hold>,
}

/// What happened in these waits.
pub fn hand_overs(traced: &Traced<'_>, timelines: &Timelines<'_>, waits: &BTreeSet<WaitId>) -> HandOvers {
    let passes = passes(traced, timelines, waits);
    find_holds(passes, |thread, start, end| last_rest(traced, timelines, (thread, start, end)))
}

/// Who handed one to whom in these waits.
pub(super) fn passes(traced: &Traced<'_>, timelines: &Timelines<'_>, waits: &BTreeSet<WaitId>) -> Passes {
    let mut found = Passes::default();
    let wakers = |wait: WaitId| -> BTreeSet<ThreadId> {
        let wakes: &[&Wake] = traced.wakes.get(&wait).map(Vec::as_slice).unwrap_or_default();
        wakes.iter().filter_map(|w| w.waker).collect()
    };
    let wakers: HashMap<WaitId, BTreeSet<ThreadId>> = waits.iter().map(|wait| (*wait, wakers(*wait))).collect();
    let single = |s: &&&Slice| s.state == State::Blocked && s.count == 1;
    let mut blocks: Vec<&Slice> = traced
        .slices
        .iter()
        .filter(single)
        .filter(|s| s.wait.is_some_and(|w| wakers.contains_key(&w)))
        .copied()
        .collect();
    // Recordings mostly are in this order, which a stable sort makes use of.
    blocks.sort_by_key(|s| (s.end_ns, s.thread, s.start_ns));
    found.begins = blocks.iter().map(|s| (s.start_ns, s.thread)).collect();
    found.begins.sort();
    let mut begun = found.begins.iter().peekable();
    let mut processors = Cursors::new(timelines);
    let mut holding: BTreeSet<ThreadId> = BTreeSet::new();
    found.blocks.reserve_exact(blocks.len());
    for slice in blocks {
        let (time, to) = (slice.end_ns, slice.thread);
        while let Some((_, thread)) = begun.next_if(|begin| begin.0 < time) {
            holding.remove(thread);
        }
        let by = slice.wait.and_then(|w| wakers.get(&w)).into_iter().flatten().copied();
        let ran: Vec<ThreadId> = by.filter(|t| *t != to && processors.runs_at(*t, time)).collect();
        // If several possible wakers were running, it is the one that holds something.
        let from = only(ran.iter().copied()).or_else(|| only(ran.iter().copied().filter(|t| holding.contains(t))));
        if let Some(from) = from {
            holding.remove(&from);
            found.passed.push(HandOver { time, from, to });
            *found.pairs.entry((from, to)).or_default() += 1;
        }
        holding.insert(to);
        found.blocks.push((slice.start_ns, time, to));
    }
    found
}

/// Looks at timelines at times that only grow.
struct Cursors<'a, 't> {
    timelines: &'a Timelines<'t>,
    at: HashMap<ThreadId, usize>,
}

impl<'a, 't> Cursors<'a, 't> {
    fn new(timelines: &'a Timelines<'t>) -> Cursors<'a, 't> {
        Cursors { timelines, at: HashMap::new() }
    }

    fn runs_at(&mut self, thread: ThreadId, time: u64) -> bool {
        let line = self.timelines.0.get(&thread).map(Vec::as_slice).unwrap_or_default();
        let at = self.at.entry(thread).or_default();
        while line.get(*at).is_some_and(|s| s.end_ns < time) {
            *at += 1;
        }
        line.iter().skip(*at).take_while(|s| s.start_ns <= time).any(|s| s.state == State::Running)
    }
}

/// When a thread's last wait for the clock, a file, a device or an answer ended in a stretch, nanoseconds. Waits for
/// locks do not count: acquiring may take a lock.
fn last_rest(
    traced: &Traced<'_>,
    timelines: &Timelines<'_>,
    (thread, start, end): (ThreadId, u64, u64),
) -> Option<u64> {
    let elsewhere = |s: &&Slice| {
        let reason = s.wait.and_then(|wait| traced.waits.get(&wait)).map(|wait| wait.reason);
        let rests = matches!(reason, Some(Reason::Sleep | Reason::Io | Reason::Pipe | Reason::Poll));
        s.state == State::Blocked && rests && s.start_ns >= start && s.end_ns <= end
    };
    timelines.within(thread, start, end).filter(elsewhere).map(|s| s.end_ns).max()
}

/// The first thread, if there is exactly one.
fn only(mut of: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
    let first = of.next();
    first.filter(|_| of.next().is_none())
}

/// What a thread does with one of the things. The order decides between steps at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Release,
    Wait,
    Acquire,
}

/// A thread gave one back that it had got without waiting.
#[derive(Debug, Clone, Copy)]
struct Unwaited {
    thread: ThreadId,
    /// It got it after this time.
    after: u64,
    end: u64,
}

/// Finds holds from a wait to a release, holds that began without a wait, and how many wake-ups were in vain.
///
/// `rested`: when a thread's last wait elsewhere in a stretch ended, if it had one.
fn find_holds(found: Passes, rested: impl Fn(ThreadId, u64, u64) -> Option<u64>) -> HandOvers {
    let mut releases = found.passed.iter().map(|p| (p.time, Step::Release, p.from)).peekable();
    let mut waits = found.begins.iter().map(|b| (b.0, Step::Wait, b.1)).peekable();
    let mut acquires = found.blocks.iter().map(|b| (b.1, Step::Acquire, b.2)).peekable();
    let mut before: BTreeMap<ThreadId, (u64, Step)> = BTreeMap::new();
    let (mut holds, mut unwaited, mut in_vain) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let next = [releases.peek(), waits.peek(), acquires.peek()].into_iter().flatten().min().copied();
        let Some((time, step, thread)) = next else { break };
        match step {
            Step::Release => drop(releases.next()),
            Step::Wait => drop(waits.next()),
            Step::Acquire => drop(acquires.next()),
        }
        match (before.insert(thread, (time, step)), step) {
            (Some((start, Step::Acquire)), Step::Release) if start < time => {
                holds.push(Hold { thread, start, end: time });
            }
            // One call may wake several.
            (Some((after, Step::Release)), Step::Release) if after < time => {
                unwaited.push(Unwaited { thread, after, end: time });
            }
            (None, Step::Release) => unwaited.push(Unwaited { thread, after: 0, end: time }),
            // A thread that waited elsewhere in between had got one, and gave it back unseen after that wait.
            (Some((start, Step::Acquire)), Step::Wait) => match rested(thread, start, time) {
                Some(end) => holds.push(Hold { thread, start, end }),
                None => in_vain.push((time, start, thread)),
            },
            _ => {}
        }
    }
    let woken_in_vain = in_vain.len();
    let (taken, rest) = taken_before(unwaited, in_vain, &found.passed);
    let ends = begun_alone(rest, &found.blocks, &found.begins);
    holds.extend(taken);
    holds.sort_by_key(|h| (h.start, h.end, h.thread));
    HandOvers { passes: found, in_vain: woken_in_vain, holds, ends }
}

/// A thread that was woken and waits again found nothing: another thread, most likely the releaser, took it without
/// waiting and has held it since then at the latest. Returns these holds and the releases that are left.
fn taken_before(
    mut unwaited: Vec<Unwaited>,
    mut in_vain: Vec<(u64, u64, ThreadId)>,
    passed: &[HandOver],
) -> (Vec<Hold>, Vec<Unwaited>) {
    let by = |time: u64, to: ThreadId| {
        let at = passed.partition_point(|p| (p.time, p.to) < (time, to));
        passed.get(at).filter(|p| (p.time, p.to) == (time, to)).map(|p| p.from)
    };
    in_vain.sort_unstable();
    unwaited.sort_unstable_by_key(|u| (u.end, u.thread));
    let mut found = Vec::new();
    let mut taken = vec![false; unwaited.len()];
    for (time, woken, thread) in in_vain {
        let Some(from) = by(woken, thread) else { continue };
        let first = unwaited.partition_point(|u| u.end <= time);
        let near = || unwaited.iter().enumerate().skip(first).take(MOST_LOOKED_AT);
        let fits = |(i, u): &(usize, &Unwaited)| u.after <= time && !taken.get(*i).copied().unwrap_or(true);
        let own = near().filter(fits).find(|(_, u)| u.thread == from);
        if let Some((i, u)) = own.or_else(|| near().find(fits)) {
            found.push(Hold { thread: u.thread, start: time, end: u.end });
            if let Some(taken) = taken.get_mut(i) {
                *taken = true;
            }
        }
    }
    let rest = unwaited.into_iter().zip(taken).filter(|(_, taken)| !taken).map(|(u, _)| u);
    (found, rest.collect())
}

/// While others wait, no thread gets one without waiting, unless it is quicker than a woken thread. A thread that gives
/// one back without having waited for it has therefore held it since the others began to wait.
fn begun_alone(unwaited: Vec<Unwaited>, blocks: &[(u64, u64, ThreadId)], begins: &[(u64, ThreadId)]) -> Vec<Hold> {
    // The stretches in which any thread waits.
    let mut waiting: Vec<(u64, u64)> = Vec::new();
    let mut begun = begins.iter().map(|b| b.0).peekable();
    let (mut since, mut waiters) = (0, 0_usize);
    for (_, end, _) in blocks {
        while let Some(start) = begun.next_if(|start| start <= end) {
            since = if waiters == 0 { start } else { since };
            waiters += 1;
        }
        waiters = waiters.saturating_sub(1);
        if waiters == 0 {
            waiting.push((since, *end));
        }
    }
    let since = |u: Unwaited| {
        let at = waiting.partition_point(|w| w.0 < u.end);
        let begun = at.checked_sub(1).and_then(|i| waiting.get(i)).filter(|w| u.end <= w.1)?;
        (u.after < begun.0).then_some(Hold { thread: u.thread, start: begun.0, end: u.end })
    };
    unwaited.into_iter().filter_map(since).collect()
}
