//! Who handed one of the things to whom, and when, from the timelines of waiters and wakers. A recording sums wake-ups
//! up by place. The time of each is the end of the waiter's block, and the waker was on a processor then.

use crate::model::run::Traced;
use crate::model::run::timelines::ThreadLine;
use recording::tables::{Reason, Slice, State, Wake};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Decides: how many of the releases that follow a wake-up in vain (the woken thread found nothing free) are searched
/// for the thread that held the resource meanwhile.
/// From: more threads than hold one at once in any program that has so few resources that threads wait for them.
/// Shown by: `tests`.
/// Wrong if: more threads than this hold one at once; some holds are then not seen.
const MOST_LOOKED_AT: usize = 256;

/// Decides: how many waits at one place are followed from wait to hand-over, about: of more, those in the middle of the
/// run.
/// From: arithmetic: a share of 131,072 is known to within 0.3 % (95 %), so more of them would tell nothing new.
/// Shown by: `of_many_waits_those_in_the_middle_are_followed`.
/// Wrong if: threads use the lock or pool otherwise in the middle of the run than in the rest, and wait there more than
/// 131,072 times.
const MOST_FOLLOWED: usize = 1 << 17;

/// Decides: of how many waits the times are looked at to find the middle of the run.
/// From: arithmetic: the window then has the wanted number of waits to within some percent, which decides nothing.
/// Shown by: `of_many_waits_those_in_the_middle_are_followed`.
/// Wrong if: never; it only moves the window's ends.
const LOOKED_AT: usize = 4096;

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
    /// Start and thread of each of these blocks, ordered by start.
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
    /// The last parts of holds whose start is unknown, because it was while no thread waited.
    pub(super) ends: Vec<Hold>,
}

/// Decides: whether the answer says how long a lock is held. Who is woken by the end of a hold must have waited for at least
/// this share of it, all holds together.
/// From: arithmetic: who comes at any time during a hold waits for half of it, on average.
/// Shown by: `a_lock_that_was_given_back_unseen_is_not_held`.
/// Wrong if: threads come for a lock only at the end of each hold.
const WAITED: f64 = 0.1;

impl HandOvers {
    /// True where threads wait for a good part of the holds that end with waking them. Else the holder gave back what it had
    /// waited for without waking anybody, and what it wakes another for is a later hold, whose start was not seen.
    pub fn are_whole(&self) -> bool {
        let (mut held, mut waited) = (0, 0);
        for hold in &self.holds {
            let first = self.passes.passed.partition_point(|p| p.time < hold.end);
            let at_end = self.passes.passed.iter().skip(first).take_while(|p| p.time == hold.end);
            for pass in at_end.filter(|pass| pass.from == hold.thread) {
                let at = self.passes.blocks.partition_point(|b| (b.1, b.2) < (pass.time, pass.to));
                if let Some((start, ..)) = self.passes.blocks.get(at) {
                    held += hold.end - hold.start;
                    waited += hold.end.saturating_sub((*start).max(hold.start));
                }
            }
        }
        waited as f64 >= WAITED * held as f64
    }
}

/// What happened in these waits.
pub fn hand_overs(traced: &Traced<'_>, waits: &BTreeSet<WaitId>) -> HandOvers {
    let passes = passes(traced, waits);
    find_holds(passes, |thread, start, end| last_rest(traced, (thread, start, end)))
}

/// Who handed one to whom in these waits.
pub(super) fn passes(traced: &Traced<'_>, waits: &BTreeSet<WaitId>) -> Passes {
    let mut found = Passes::default();
    let wakers = |wait: &WaitId| -> Vec<ThreadId> {
        let wakes: &[&Wake] = traced.wakes.get(wait).map(Vec::as_slice).unwrap_or_default();
        // A runtime's own thread ends waits of the program's threads, as after a stop for its collector, and hands nothing over.
        let own = |waker: &ThreadId| !traced.services.contains_key(waker);
        wakes.iter().filter_map(|w| w.waker).filter(own).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let wakers: HashMap<WaitId, Vec<ThreadId>> = waits.iter().map(|wait| (*wait, wakers(wait))).collect();
    let mut blocks = followed(traced, waits, MOST_FOLLOWED);
    blocks.sort_by_key(|s| (s.end_ns, s.thread, s.start_ns));
    found.begins = blocks.iter().map(|s| (s.start_ns, s.thread)).collect();
    found.begins.sort();
    let mut begun = found.begins.iter().peekable();
    let mut processors = Cursors::new(traced, blocks.first().map_or(0, |first| first.end_ns));
    let mut holding: HashSet<ThreadId> = HashSet::new();
    let mut pairs: HashMap<(ThreadId, ThreadId), usize> = HashMap::new();
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
            *pairs.entry((from, to)).or_default() += 1;
        }
        holding.insert(to);
        found.blocks.push((slice.start_ns, time, to));
    }
    found.pairs = pairs.into_iter().collect();
    found
}

/// The blocked slices of one wait each at these waits; where there are many more than `most`, about so many that follow
/// each other in the middle of the run.
fn followed(traced: &Traced<'_>, waits: &BTreeSet<WaitId>, most: usize) -> Vec<Slice> {
    let single = || traced.blocked(waits).filter(|slice| slice.count == 1);
    let count = single().count();
    if count <= most {
        return single().collect();
    }
    let mut ends: Vec<u64> = single().step_by(count.div_ceil(LOOKED_AT)).map(|slice| slice.end_ns).collect();
    ends.sort_unstable();
    let half = most as f64 / count as f64 / 2.0;
    let at = |share: f64| ends.get((share * ends.len() as f64) as usize).copied().unwrap_or(u64::MAX);
    let (first, last) = (at(0.5 - half), at(0.5 + half));
    single().filter(|slice| (first..=last).contains(&slice.end_ns)).collect()
}

/// Looks at timelines at times that only grow.
struct Cursors<'a, 't> {
    traced: &'a Traced<'t>,
    /// The earliest time that is asked for.
    from: u64,
    /// The slices of a thread, and which of them is the first that has not ended.
    at: HashMap<ThreadId, (ThreadLine<'a>, usize)>,
}

impl<'a, 't> Cursors<'a, 't> {
    fn new(traced: &'a Traced<'t>, from: u64) -> Cursors<'a, 't> {
        Cursors { traced, from, at: HashMap::new() }
    }

    fn runs_at(&mut self, thread: ThreadId, time: u64) -> bool {
        let (line, at) = self.at.entry(thread).or_insert_with(|| {
            let line = self.traced.slices.line(thread);
            (line, line.partition_point(|slice| slice.end_ns < self.from))
        });
        while line.get(*at).is_some_and(|s| s.end_ns < time) {
            *at += 1;
        }
        line.from(*at).take_while(|s| s.start_ns <= time).any(|s| s.state == State::Running)
    }
}

/// When a thread's last wait for the clock, a file, a device or an answer ended in a stretch, nanoseconds. Waits for
/// locks do not count: acquiring may take a lock.
fn last_rest(traced: &Traced<'_>, (thread, start, end): (ThreadId, u64, u64)) -> Option<u64> {
    let elsewhere = |s: &Slice| {
        let reason = s.wait.and_then(|wait| traced.waits.get(&wait)).map(|wait| wait.reason);
        let rests = matches!(reason, Some(Reason::Sleep | Reason::Io | Reason::Pipe | Reason::Poll));
        s.state == State::Blocked && rests && s.start_ns >= start && s.end_ns <= end
    };
    traced.within(thread, start, end).filter(elsewhere).map(|s| s.end_ns).max()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::Reason;

    #[test]
    fn of_many_waits_those_in_the_middle_are_followed() {
        let stack = "nanosleep@libc.so.6 < work@app app.c:5";
        let tables = Sketch::new(2)
            .traced(2, |run| {
                for name in ["a", "b"] {
                    (0..1000).fold(run.thread(name), |thread, _| {
                        thread.runs(ms(1), "work@app app.c:5").blocks(Reason::Sleep, ms(1), stack)
                    });
                }
            })
            .tables();
        let model = Model::new(&tables);
        let waits: BTreeSet<WaitId> = tables.waits.iter().map(|wait| wait.wait).collect();
        let traced = &model.traced[0];
        assert_eq!(followed(traced, &waits, 2000).len(), 2000);
        let some = followed(traced, &waits, 200);
        assert!((150..=250).contains(&some.len()), "{}", some.len());
        let (begin, end) = traced.measured;
        let place = |time: u64| (time - begin) as f64 / (end - begin) as f64;
        assert!(some.iter().all(|slice| (0.4..0.6).contains(&place(slice.end_ns))), "from the middle");
        assert_eq!(some.iter().map(|slice| slice.thread).collect::<BTreeSet<_>>().len(), 2, "of both threads");
    }

    /// Two threads take one of many locks each millisecond and meet at one now and then, for a moment. Near miss: one lock that
    /// each holds for all of its time.
    #[test]
    fn a_lock_that_was_given_back_unseen_is_not_held() {
        let whole = |wait_ns: u64| {
            let take = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < merge@app app.c:10";
            let tables = Sketch::new(2)
                .traced(2, |run| {
                    for (name, other, first) in [("a", "b", 1_000), ("b", "a", 501_000)] {
                        (0..50).fold(run.thread(name).runs(first, "merge@app app.c:9"), |thread, _| {
                            thread.locks(0x100, wait_ns, take, other).runs(ms(1) - wait_ns, "work@app app.c:5")
                        });
                    }
                })
                .tables();
            let waits = tables.waits.iter().map(|wait| wait.wait).collect();
            let found = hand_overs(&Model::new(&tables).traced[0], &waits);
            assert!(found.holds.len() > 20, "{}", found.holds.len());
            found.are_whole()
        };
        assert!(!whole(10_000));
        assert!(whole(400_000));
    }

    /// A runtime's own thread lets others go on after a stop; near miss: a thread of the program.
    #[test]
    fn a_runtime_s_own_thread_hands_nothing_over() {
        let handed = |waker: &str| {
            let take = "?@libc.so.6 < sem_wait@libc.so.6 < acquire@app pool.c:10 < work@app app.c:5";
            let tables = Sketch::new(2)
                .traced(1, |run| {
                    run.thread("a").runs(ms(5), "work@app app.c:5").locks(0x100, ms(5), take, waker);
                    run.thread(waker).runs(ms(20), "stop@app app.c:9");
                })
                .tables();
            let waits = tables.waits.iter().map(|wait| wait.wait).collect();
            passes(&Model::new(&tables).traced[0], &waits).passed.len()
        };
        assert_eq!(handed("b"), 1);
        assert_eq!(handed("VM Thread"), 0);
    }
}
