//! Who handed one of the things to whom, and when, from the timelines of waiters and wakers. A recording sums wake-ups
//! up by place. The time of each is the end of the waiter's block, and the waker was on a processor then.

use crate::model::run::Traced;
use recording::tables::{Reason, Slice, State, Wake};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

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

    fn runs_at(&self, thread: ThreadId, time: u64) -> bool {
        self.within(thread, time, time).any(|s| s.state == State::Running)
    }
}

/// One thread handed one of the things to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct HandOver {
    pub(super) time: u64,
    pub(super) from: ThreadId,
    pub(super) to: ThreadId,
}

/// What happened at one place.
#[derive(Debug, Default)]
pub struct HandOvers {
    /// Blocked slices of one wait each: begin, end, thread; ordered by end.
    pub(super) blocks: Vec<(u64, u64, ThreadId)>,
    /// The ends of blocks whose waker is known.
    pub(super) passed: Vec<HandOver>,
    /// How often a thread was woken and waited again without having got one: another thread was quicker.
    pub(super) in_vain: usize,
    /// Holds whose both ends are known.
    pub holds: Vec<Hold>,
    /// The last parts of holds whose begin is unknown, because it was while no thread waited.
    pub(super) ends: Vec<Hold>,
}

/// What happened in these waits.
pub fn hand_overs(traced: &Traced<'_>, timelines: &Timelines<'_>, waits: &BTreeSet<WaitId>) -> HandOvers {
    let mut found = HandOvers::default();
    let wakers = |wait: WaitId| -> BTreeSet<ThreadId> {
        let wakes: &[&Wake] = traced.wakes.get(&wait).map(Vec::as_slice).unwrap_or_default();
        wakes.iter().filter_map(|w| w.waker).collect()
    };
    let wakers: BTreeMap<WaitId, BTreeSet<ThreadId>> = waits.iter().map(|wait| (*wait, wakers(*wait))).collect();
    let single = |s: &&&Slice| s.state == State::Blocked && s.count == 1;
    let mut events: Vec<(u64, bool, ThreadId, Option<WaitId>)> = Vec::new();
    for slice in traced.slices.iter().filter(single).filter(|s| s.wait.is_some_and(|w| wakers.contains_key(&w))) {
        found.blocks.push((slice.start_ns, slice.end_ns, slice.thread));
        events.push((slice.start_ns, true, slice.thread, None));
        events.push((slice.end_ns, false, slice.thread, slice.wait));
    }
    found.blocks.sort_unstable_by_key(|b| (b.1, b.0, b.2));
    events.sort_unstable();
    let mut holding: BTreeSet<ThreadId> = BTreeSet::new();
    for (time, begins, to, wait) in events {
        if begins {
            holding.remove(&to);
            continue;
        }
        let by = wait.and_then(|w| wakers.get(&w)).into_iter().flatten().copied();
        let ran: Vec<ThreadId> = by.filter(|t| *t != to && timelines.runs_at(*t, time)).collect();
        // If several possible wakers were running, it is the one that holds something.
        let from = only(ran.iter().copied()).or_else(|| only(ran.iter().copied().filter(|t| holding.contains(t))));
        if let Some(from) = from {
            holding.remove(&from);
            found.passed.push(HandOver { time, from, to });
        }
        holding.insert(to);
    }
    find_holds(&mut found, |thread, start, end| last_rest(traced, timelines, (thread, start, end)));
    found
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
fn find_holds(found: &mut HandOvers, rested: impl Fn(ThreadId, u64, u64) -> Option<u64>) {
    let (blocks, passed) = (&found.blocks, &found.passed);
    let mut steps: Vec<(ThreadId, u64, Step)> = Vec::with_capacity(2 * blocks.len() + passed.len());
    for (start, end, thread) in blocks {
        steps.extend([(*thread, *start, Step::Wait), (*thread, *end, Step::Acquire)]);
    }
    steps.extend(passed.iter().map(|p| (p.from, p.time, Step::Release)));
    steps.sort_unstable();
    let (mut holds, mut unwaited, mut in_vain) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<(ThreadId, u64, Step)> = None;
    for (thread, time, step) in steps {
        let last = before.filter(|b| b.0 == thread);
        match (last, step) {
            (Some((_, start, Step::Acquire)), Step::Release) if start < time => {
                holds.push(Hold { thread, start, end: time });
            }
            // One call may wake several.
            (Some((_, after, Step::Release)), Step::Release) if after < time => {
                unwaited.push(Unwaited { thread, after, end: time });
            }
            (None, Step::Release) => unwaited.push(Unwaited { thread, after: 0, end: time }),
            // A thread that waited elsewhere in between had got one, and gave it back unseen after that wait.
            (Some((_, start, Step::Acquire)), Step::Wait) => match rested(thread, start, time) {
                Some(end) => holds.push(Hold { thread, start, end }),
                None => in_vain.push((time, start, thread)),
            },
            _ => {}
        }
        before = Some((thread, time, step));
    }
    found.in_vain = in_vain.len();
    let (taken, rest) = taken_before(unwaited, in_vain, &found.passed);
    found.ends = begun_alone(rest, &found.blocks);
    holds.extend(taken);
    holds.sort_unstable_by_key(|h| (h.start, h.end, h.thread));
    found.holds = holds;
}

/// A thread that was woken and waits again found nothing: another thread, most likely the releaser, took it without
/// waiting and has held it since then at the latest. Returns these holds and the releases that are left.
fn taken_before(
    mut unwaited: Vec<Unwaited>,
    mut in_vain: Vec<(u64, u64, ThreadId)>,
    passed: &[HandOver],
) -> (Vec<Hold>, Vec<Unwaited>) {
    let by: BTreeMap<(u64, ThreadId), ThreadId> = passed.iter().map(|p| ((p.time, p.to), p.from)).collect();
    in_vain.sort_unstable();
    unwaited.sort_unstable_by_key(|u| (u.end, u.thread));
    let mut found = Vec::new();
    let mut taken = vec![false; unwaited.len()];
    for (time, woken, thread) in in_vain {
        let Some(from) = by.get(&(woken, thread)) else { continue };
        let first = unwaited.partition_point(|u| u.end <= time);
        let near = || unwaited.iter().enumerate().skip(first).take(MOST_LOOKED_AT);
        let fits = |(i, u): &(usize, &Unwaited)| u.after <= time && !taken.get(*i).copied().unwrap_or(true);
        let own = near().filter(fits).find(|(_, u)| u.thread == *from);
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
fn begun_alone(unwaited: Vec<Unwaited>, blocks: &[(u64, u64, ThreadId)]) -> Vec<Hold> {
    let mut by_start: Vec<(u64, u64)> = blocks.iter().map(|b| (b.0, b.1)).collect();
    by_start.sort_unstable();
    let mut waiting: Vec<(u64, u64)> = Vec::new();
    for (start, end) in by_start {
        match waiting.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => waiting.push((start, end)),
        }
    }
    let since = |u: Unwaited| {
        let at = waiting.partition_point(|w| w.0 < u.end);
        let begun = at.checked_sub(1).and_then(|i| waiting.get(i)).filter(|w| u.end <= w.1)?;
        (u.after < begun.0).then_some(Hold { thread: u.thread, start: begun.0, end: u.end })
    };
    unwaited.into_iter().filter_map(since).collect()
}
