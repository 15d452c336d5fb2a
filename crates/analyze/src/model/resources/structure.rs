//! Whether a place at which threads wait is one where each of them takes one of a few things.

use super::count::HeldAtOnce;
use super::hand_over::HandOvers;
use super::pool::function;
use super::sites::{AcquireSite, Said};
use crate::model::code::{Code, Owner};
use crate::model::run::Traced;
use crate::model::similar_threads;
use crate::model::stacks::Stacks;
use crate::runtimes;
use recording::tables::{Slice, State, Wait};
use recording::{StackId, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Decides: whether the threads that wait at a place are also those that release: of the wake-ups with a known waker,
/// at least this share must come from threads that wait there at other times.
/// From: a thread that releases has acquired at the same place; the rest is from threads that always found one free.
/// Shown by: `tests`: a queue is fed by others.
/// Wrong if: many threads release for others, and never acquire.
const PEERS: f64 = 0.8;

/// Decides: whether enough is known about who ended the waits: at least this share of the wake-ups must have a known
/// waker.
/// From: a release comes from a thread of the program, whereas a timer or a device is no thread; the rest are wake-ups
/// that an interrupt passed on.
/// Shown by: pools of seven kinds, where 97 % or more of the wakers were known; threads of an executor that waits with
/// a timer, where half were.
/// Wrong if: most threads give up waiting after a timeout.
const KNOWN: f64 = 0.8;

/// Decides: whether a pattern is believed: more than half of what was seen must show it, so that two opposite patterns
/// cannot both hold.
/// From: the definition of a majority.
/// Shown by: `tests`.
/// Wrong if: never for two opposite patterns; one that exactly half of the cases show stays open.
const MOST: f64 = 0.5;

/// Decides: how many hand-overs, and how many holds, must be seen before a structure is believed.
/// From: if two of a queue's eight consumers also refill it, ten wake-ups in a row come from consumers by chance in one
/// of a million cases.
/// Shown by: `tests`.
/// Wrong if: each resource is held for a large part of the run; the cause then stays open.
const FEWEST: usize = 10;

/// Decides: whether threads take turns: for at least this share of the hand-overs, a thread must wake the one that it
/// wakes most often. Also whether threads of one kind ask and those of another answer: this share of the hand-overs
/// must be from one kind to the other.
/// From: threads that come back for one of a few resources come in the order in which they finish their work, which
/// changes; the order of turns never does. The rest allows for unknown wakers. Taking something from a queue and
/// putting it back is no turn, whatever the order.
/// Shown by: `tests`, threads that write in order.
/// Wrong if: all threads hold for exactly as long and queue in order; the cause then stays open.
const TURNS: f64 = 0.9;

/// So many threads may merely take turns: each can wake only the other.
///
/// Decides: whether what looks like a pool or a lock is left open, because only a pair of threads was seen there.
/// From: arithmetic: the order in which two threads come back never changes, so it says nothing.
/// Shown by: `two_threads_may_as_well_take_turns`.
/// Wrong if: a program shares a pool between two threads at every count: the cause then stays open.
const A_PAIR: usize = 2;

/// Decides: whether wake-ups come from one call: they must be within this time, nanoseconds.
/// From: one call wakes all threads, and each takes some microseconds; as in `futex::traffic`.
/// Shown by: `tests`.
/// Wrong if: resources are held for less than this: all threads then seem to be woken at once, and the place does not
/// count as a pool.
const AT_ONCE_NS: u64 = 200_000;

/// Decides: whether what is handed over goes round, so that threads that give one also get one: at least this share of
/// the hand-overs must be among such threads.
/// From: a thread that releases has acquired; the rest is from threads that came only once.
/// Shown by: `tests`, stages that hand on in one direction.
/// Wrong if: the last stage of a pipeline feeds the first; then a fixed order or a changing number of holders has to
/// tell.
const ROUND: f64 = 0.8;

/// Why a place that looks like a limited resource is not called one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoubtReason {
    /// Too few threads were seen to hand one on.
    FewHandOvers,
    /// An interpreter hides which of the program's functions waits.
    Interpreter,
    /// All are woken and one goes on.
    OneOfAll,
    /// Each thread always wakes the same next one.
    SameNext,
    /// How many hold one while others wait changes from moment to moment.
    Unsteady,
    /// Two threads wake each other.
    TwoThreads,
}

/// What a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Threads take one of a few things there.
    Pool,
    /// It looks like a pool, and this speaks against it.
    Doubt(DoubtReason),
    /// It looks like a pool, but the number held at once changes. Other thread counts decide about the place.
    Unsteady,
    /// It looks like a pool, but has two threads, which may just take turns. Other thread counts decide about the
    /// place.
    Few,
    /// Threads take a lock there.
    Lock,
    /// Threads take turns at a queue there, and the one whose turn it is waits for the next item.
    Fed,
    /// As [`Finding::Few`], for a lock.
    FewOrLock,
    /// Something else.
    Other,
}

/// The threads that take one of the things at a place.
#[derive(Debug)]
pub(super) struct Takers {
    /// Those that wait there.
    waiters: BTreeSet<ThreadId>,
    /// Those that get one without waiting.
    quick: BTreeSet<ThreadId>,
    /// Both.
    all: BTreeSet<ThreadId>,
}

/// The threads that take one of the things at a place; none where the wakers alone show that the waiting threads pass
/// nothing to each other.
pub(super) fn takers<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>, site: &AcquireSite<'t>) -> Option<Takers> {
    let waiters = site.waiters();
    let quick = quicker(traced, stacks, site, &waiters);
    let all: BTreeSet<ThreadId> = waiters.union(&quick).copied().collect();
    let may_be = site.said == Said::ByUser || (all.len() > 1 && woken_by_peers(traced, site, &all));
    may_be.then_some(Takers { waiters, quick, all })
}

/// What a place is, by who waits there and who wakes.
pub(super) fn finding<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    (site, Takers { waiters, quick, all }): (&AcquireSite<'t>, &Takers),
    events: &HandOvers,
    held: &HeldAtOnce,
    receives: bool,
) -> Finding {
    if site.said == Said::ByUser {
        return Finding::Pool;
    }
    if !goes_round(events, quick) {
        return Finding::Other;
    }
    if asks_and_answers(stacks, site, events) {
        return Finding::Other;
    }
    let herd = wakes_all(traced, site, events, waiters);
    // If all are woken for a few things, few threads get one and the others wait again.
    if herd && events.in_vain as f64 <= MOST * events.passes.blocks.len() as f64 {
        return Finding::Other;
    }
    if events.passes.passed.len() < FEWEST || events.holds.len() < FEWEST {
        return Finding::Doubt(DoubtReason::FewHandOvers);
    }
    if held.most < 2 && receives {
        return Finding::Fed;
    }
    // A lock has one holder. A semaphore of one that the same function takes and gives back is a lock.
    let is_lock = || match site.said {
        Said::MayBeLock => true,
        Said::Semaphore => !given_back_elsewhere(traced, stacks, site),
        Said::ByUser | Said::Condition | Said::Hidden => false,
    };
    if held.most < 2 && is_lock() {
        return lock(site, events, held, waiters);
    }
    if !held.is_told() {
        return Finding::Unsteady;
    }
    match () {
        () if site.said == Said::Hidden => Finding::Doubt(DoubtReason::Interpreter),
        () if herd && held.most < 2 => Finding::Doubt(DoubtReason::OneOfAll),
        () if all.len() == A_PAIR && site.said != Said::Semaphore && !from_queue(stacks, site) => Finding::Few,
        () if all.len() == A_PAIR && !quick.is_empty() => Finding::Few,
        // At a queue, threads that put back what they took make the others wait, even if the order never changes.
        () if site.private && !from_queue(stacks, site) && takes_turns(events) => Finding::Doubt(DoubtReason::SameNext),
        () => Finding::Pool,
    }
}

/// Whether a place that looks like a lock's is one. A futex that all wait at has been classified by itself. Where each
/// waiter has its own futex, threads that take turns look the same as a lock at each of them.
fn lock(site: &AcquireSite<'_>, events: &HandOvers, held: &HeldAtOnce, waiters: &BTreeSet<ThreadId>) -> Finding {
    if !site.private || site.said != Said::MayBeLock || !held.is_told() {
        return Finding::Other;
    }
    match () {
        () if waiters.len() == A_PAIR => Finding::FewOrLock,
        () if takes_turns(events) => Finding::Other,
        () => Finding::Lock,
    }
}

/// True when most of the waiting is for a queue to get an item: the waker has put back what it took there.
fn from_queue(stacks: &Stacks<'_>, site: &AcquireSite<'_>) -> bool {
    let takes = |wait: &&&Wait| {
        let frames = wait.user_stack.map(|s| stacks.frames(s)).unwrap_or_default();
        let library = frames.iter().take_while(|c| c.owner != Owner::Own);
        library.filter_map(Code::name).any(runtimes::takes_from_queue)
    };
    let blocked = |wait: &&Wait| wait.blocked_ns as f64;
    let all: f64 = site.waits.iter().map(blocked).sum();
    site.waits.iter().filter(takes).map(blocked).sum::<f64>() > MOST * all
}

/// Threads that wake those that wait there and never wait themselves, because they take again what they have just given
/// back. Either they do the same work as those that wait and release in the function that acquires, or they were seen
/// to acquire, or work as one does that was: a queue's producers never take from it.
fn quicker<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    site: &AcquireSite<'t>,
    waiters: &BTreeSet<ThreadId>,
) -> BTreeSet<ThreadId> {
    let (mut here, mut all): (BTreeMap<ThreadId, f64>, BTreeMap<ThreadId, f64>) = Default::default();
    for wake in site.waits.iter().filter_map(|w| traced.wakes.get(&w.wait)).flatten() {
        let Some(waker) = wake.waker.filter(|waker| !waiters.contains(waker)) else { continue };
        let own = stacks.view(wake.waker_stack, true).own;
        let releases = own.is_some_and(|own| function(&own) == function(&site.place));
        *all.entry(waker).or_default() += wake.count as f64;
        *here.entry(waker).or_default() += if releases { wake.count as f64 } else { 0.0 };
    }
    if all.is_empty() {
        return BTreeSet::new();
    }
    let calls = traced.thread_calls(stacks);
    let alike = |a: &ThreadId, b: &ThreadId| {
        calls.get(a).zip(calls.get(b)).is_some_and(|(a, b)| similar_threads::overlap(a, b) > MOST)
    };
    let sampled: Vec<&ThreadId> = waiters.iter().filter(|waiter| calls.contains_key(waiter)).collect();
    let as_waiters = |waker: &ThreadId| !sampled.is_empty() && sampled.iter().all(|waiter| alike(waker, waiter));
    let releases = |waker: &ThreadId| here.get(waker).zip(all.get(waker)).is_some_and(|(here, all)| *here > MOST * all);
    let acquire = seen_to_acquire(traced, stacks, site);
    let takes = |waker: &ThreadId| acquire.contains(waker) || acquire.iter().any(|other| alike(waker, other));
    all.keys().copied().filter(|waker| takes(waker) || (releases(waker) && as_waiters(waker))).collect()
}

/// Threads that wake those that wait at the place, and were seen to call from there what those call that wait.
fn seen_to_acquire(traced: &Traced<'_>, stacks: &Stacks<'_>, site: &AcquireSite<'_>) -> BTreeSet<ThreadId> {
    let called = |stack: StackId| {
        let view = stacks.view(Some(stack), false);
        let entry = view.entry.filter(|_| view.own.is_some_and(|own| function(&own) == function(&site.place)))?;
        entry.name().map(|name| (entry.module, name))
    };
    let acquires: BTreeSet<_> = site.waits.iter().filter_map(|wait| called(wait.user_stack?)).collect();
    let waiters = site.waiters();
    let wakes = site.waits.iter().filter_map(|wait| traced.wakes.get(&wait.wait)).flatten();
    let wakers: BTreeSet<ThreadId> = wakes.filter_map(|wake| wake.waker).filter(|t| !waiters.contains(t)).collect();
    let mut known: HashMap<StackId, bool> = HashMap::new();
    let mut passes = |stack: StackId| {
        *known.entry(stack).or_insert_with(|| called(stack).is_some_and(|call| acquires.contains(&call)))
    };
    let ran = traced.samples.iter().map(|sample| (sample.thread, sample.user_stack));
    let waited = traced.waits.values().map(|wait| (wait.thread, wait.user_stack));
    let by_wakers = ran.chain(waited).filter(|(thread, _)| wakers.contains(thread));
    by_wakers.filter(|(_, stack)| stack.is_some_and(&mut passes)).map(|(thread, _)| thread).collect()
}

/// True when the wakers take one there at other times.
fn woken_by_peers(traced: &Traced<'_>, site: &AcquireSite<'_>, waiters: &BTreeSet<ThreadId>) -> bool {
    let (mut peers, mut known, mut all) = (0.0, 0.0, 0.0);
    for wake in site.waits.iter().filter_map(|w| traced.wakes.get(&w.wait)).flatten() {
        let count = wake.count as f64;
        all += count;
        known += if wake.waker.is_some() { count } else { 0.0 };
        peers += if wake.waker.is_some_and(|waker| waiters.contains(&waker)) { count } else { 0.0 };
    }
    known >= KNOWN * all && peers >= PEERS * known
}

/// True when, while threads wait there, another one mostly waits in the same function for a thread to write into a pipe:
/// the one whose turn it is waits for an item, and the others for the same. Where the writer in turn waits to be asked by
/// them, they wait for answers, and what they take turns at is a resource.
pub(super) fn receives(traced: &Traced<'_>, stacks: &Stacks<'_>, site: &AcquireSite<'_>, events: &HandOvers) -> bool {
    let place = function(&site.place);
    let own = |wait: &Wait| stacks.view(wait.user_stack, wait.syscall.is_some()).own;
    let read = |wait: &&&Wait| own(wait).is_some_and(|own| function(&own) == place);
    let handed = || traced.waits.values().filter(|wait| traced.handed.contains(&wait.wait));
    // A thread that waits to read a token from a pipe takes it by that.
    let tokens: BTreeSet<WaitId> = site.waits.iter().map(|wait| wait.wait).collect();
    let other = |wait: &WaitId| !tokens.contains(wait);
    let reads: BTreeSet<WaitId> = handed().filter(read).map(|wait| wait.wait).filter(other).collect();
    let wakes = |wait: &WaitId| traced.wakes.get(wait).into_iter().flatten();
    let writers: BTreeSet<ThreadId> = reads.iter().flat_map(wakes).filter_map(|wake| wake.waker).collect();
    let readers = site.waiters();
    let waits_of_writers = handed().filter(|wait| writers.contains(&wait.thread));
    let asked = waits_of_writers.flat_map(|wait| wakes(&wait.wait));
    let asked = asked.filter(|wake| wake.waker.is_some_and(|waker| readers.contains(&waker)));
    let count = |sum: u64, more: u64| sum.saturating_add(more);
    let asked = asked.map(|wake| wake.count).fold(0, count) as f64;
    let written = reads.iter().flat_map(wakes).map(|wake| wake.count).fold(0, count) as f64;
    if asked > MOST * written {
        return false;
    }
    if reads.is_empty() {
        return false;
    }
    let is_read = |slice: &Slice| slice.state == State::Blocked && slice.wait.is_some_and(|wait| reads.contains(&wait));
    let reading = union(traced.slices.iter().filter(is_read).map(|slice| (slice.start_ns, slice.end_ns)));
    let waiting = union(events.passes.blocks.iter().map(|(start, end, _)| (*start, *end)));
    let length = |times: &[(u64, u64)]| times.iter().map(|(start, end)| (end - start) as f64).sum::<f64>();
    let either = union(reading.iter().chain(&waiting).copied());
    length(&reading) + length(&waiting) - length(&either) > MOST * length(&waiting)
}

/// The time that any of some intervals covers, as intervals that do not overlap.
fn union(intervals: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = intervals.filter(|(start, end)| start < end).collect();
    all.sort_unstable();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match found.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => found.push((start, end)),
        }
    }
    found
}

/// True when the program gives one back in another function than it takes one.
fn given_back_elsewhere(traced: &Traced<'_>, stacks: &Stacks<'_>, site: &AcquireSite<'_>) -> bool {
    let (mut elsewhere, mut all) = (0.0, 0.0);
    for wake in site.waits.iter().filter_map(|w| traced.wakes.get(&w.wait)).flatten() {
        let Some(own) = stacks.view(wake.waker_stack, true).own else { continue };
        all += wake.count as f64;
        elsewhere += if own.name() == site.place.name() { 0.0 } else { wake.count as f64 };
    }
    elsewhere > MOST * all
}

/// True when one call wakes all, as at a barrier.
fn wakes_all(traced: &Traced<'_>, site: &AcquireSite<'_>, events: &HandOvers, waiters: &BTreeSet<ThreadId>) -> bool {
    let (mut many, mut single) = (0_u64, 0_u64);
    for wake in site.waits.iter().filter_map(|w| traced.wakes.get(&w.wait)).flatten() {
        match wake.wakes_many {
            Some(true) => many = many.saturating_add(wake.count),
            Some(false) => single = single.saturating_add(wake.count),
            None => {}
        }
    }
    let (mut together, mut at) = (0, 0);
    let mut threads: BTreeSet<ThreadId> = BTreeSet::new();
    while let Some(first) = events.passes.blocks.get(at) {
        let group = events.passes.blocks.iter().skip(at).take_while(|b| b.1.saturating_sub(first.1) <= AT_ONCE_NS);
        let size = group.clone().count().max(1);
        if size > 1 && size + 1 >= waiters.len() {
            threads.clear();
            threads.extend(group.map(|b| b.2));
            together += if threads.len() > 1 && threads.len() + 1 >= waiters.len() { size } else { 0 };
        }
        at += size;
    }
    many > single || together as f64 > MOST * events.passes.blocks.len() as f64
}

/// True when what is handed over comes round: most hand-overs are among threads that each reach, and are reached by,
/// the busiest giver. A pipeline hands on in one direction. `quick`: threads that get one without waiting, and so are
/// never reached.
fn goes_round(events: &HandOvers, quick: &BTreeSet<ThreadId>) -> bool {
    let mut pairs = events.passes.pairs.clone();
    let mut by: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for ((from, to), count) in &events.passes.pairs {
        *by.entry(*from).or_default() += count;
        if quick.contains(from) {
            // It takes it before the thread that it has woken.
            pairs.entry((*to, *from)).or_default();
        }
    }
    let Some((heaviest, _)) = by.iter().max_by_key(|(thread, count)| (**count, **thread)) else { return true };
    let reached = |forward: bool| {
        let mut reached = BTreeSet::from([*heaviest]);
        let mut next = vec![*heaviest];
        while let Some(at) = next.pop() {
            for (from, to) in pairs.keys() {
                let (here, there) = if forward { (from, to) } else { (to, from) };
                if *here == at && reached.insert(*there) {
                    next.push(*there);
                }
            }
        }
        reached
    };
    let round: BTreeSet<ThreadId> = reached(true).intersection(&reached(false)).copied().collect();
    let inside: usize = pairs.iter().filter(|((a, b), _)| round.contains(a) && round.contains(b)).map(|(_, n)| n).sum();
    inside as f64 >= ROUND * events.passes.passed.len() as f64
}

/// True when two kinds of threads, which call the place from different functions, wake each other: those that ask and
/// those that answer wait in the same function.
fn asks_and_answers(stacks: &Stacks<'_>, site: &AcquireSite<'_>, events: &HandOvers) -> bool {
    let caller = |wait: &Wait| {
        let frames = wait.user_stack.map(|s| stacks.frames(s)).unwrap_or_default();
        let mut own =
            frames.into_iter().filter(|c| c.owner == Owner::Own).skip_while(|c| c.name() == site.place.name());
        own.next().and_then(|c| c.name())
    };
    let mut kinds: BTreeMap<ThreadId, BTreeSet<Option<&str>>> = BTreeMap::new();
    for wait in &site.waits {
        kinds.entry(wait.thread).or_default().insert(caller(wait));
    }
    let across = events.passes.pairs.iter().filter(|((from, to), _)| {
        let (Some(from), Some(to)) = (kinds.get(from), kinds.get(to)) else { return false };
        from.is_disjoint(to)
    });
    across.map(|(_, count)| count).sum::<usize>() as f64 >= TURNS * events.passes.passed.len().max(1) as f64
}

/// True when nearly every thread always wakes the same next one.
fn takes_turns(events: &HandOvers) -> bool {
    let mut next: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for ((from, _), count) in &events.passes.pairs {
        let most = next.entry(*from).or_default();
        *most = (*most).max(*count);
    }
    let same: usize = next.values().sum();
    same as f64 >= TURNS * events.passes.passed.len() as f64
}
