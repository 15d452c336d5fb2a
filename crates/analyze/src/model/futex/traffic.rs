//! What happened at one futex address, over all threads, and what that tells about its purpose without any names.

use super::places::{FutexPlace, MOST, Object};
use crate::model::linux::SyscallNumbers;
use crate::model::run::Traced;
use crate::model::stacks::Stacks;
use crate::runtimes::Primitive;
use recording::ThreadId;
use recording::tables::{Reason, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// What a futex wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// A lock.
    Lock,
    /// A condition, a queue, or a call to go on.
    Condition,
    /// The arrival of all others.
    Barrier,
    /// The end of a thread.
    Join,
    /// A time. Virtual machines sleep at a condition that nobody signals.
    Sleep,
    /// Not known.
    Unknown,
}

impl From<Primitive> for Purpose {
    fn from(primitive: Primitive) -> Purpose {
        match primitive {
            Primitive::Lock | Primitive::Pool => Purpose::Lock,
            Primitive::Condition => Purpose::Condition,
            Primitive::Barrier => Purpose::Barrier,
            Primitive::Join => Purpose::Join,
            Primitive::Sleep => Purpose::Sleep,
        }
    }
}

/// "Locked, and others wait", as the value of a futex word.
///
/// Decides: whether the value that a wait expected is one that locks use.
/// From: the locks of glibc, musl (internal), Rust and Go (Drepper 2005, "Futexes are tricky").
/// Shown by: `waiters_that_wake_each_other_share_a_lock`, `who_had_waited_for_something_else_releases_no_lock`,
/// `a_counter_that_passes_through_a_locks_value_is_no_lock`.
/// Wrong if: a program's own counter is 2 when threads wait for it; the other waits at the same place in the code then
/// have to decide.
const LOCKED_WITH_WAITERS: u32 = 2;

/// Bit 31 of a futex word that holds its owner's thread id: other threads wait.
///
/// Decides: whether the value that a wait expected is one that locks use.
/// From: FUTEX_WAITERS of futex(2); musl, robust and priority-inheriting mutexes.
/// Shown by: `waiters_that_wake_each_other_share_a_lock`.
/// Wrong if: a program's own futex word uses its highest bit for something else, such as a flag or a negative number.
const OWNER_WITH_WAITERS: u32 = 0x8000_0000;

/// Wake-ups of one barrier follow each other within this time, nanoseconds.
///
/// Decides: whether all threads that wait at a futex or a condition are woken together, as at a barrier. At a
/// condition, a thread that waits again within this time was woken in vain.
/// From: chosen: one call wakes all threads, and each takes some microseconds.
/// Shown by: `a_crowd_woken_at_once_stood_at_a_barrier`, `a_lock_of_short_use_is_no_barrier`,
/// `a_barrier_that_the_program_built_is_one`.
/// Wrong if: so many threads wait at a barrier that waking them takes longer: its purpose may then stay unknown.
pub(super) const AT_ONCE_NS: u64 = 200_000;

/// What happened at one futex address, over all threads.
#[derive(Debug, Default)]
pub(super) struct Traffic<'t> {
    pub(super) waits: Vec<&'t Wait>,
    waiters: BTreeSet<ThreadId>,
    blocked: f64,
    timed: f64,
    lock_value: f64,
    /// Blocked time ended by a thread that also waits here, through this address.
    by_waiter: f64,
    /// Blocked time at a lock object of a language's runtime.
    lock_object: f64,
    /// Blocked time ended by a thread that also waits here, whatever it has waited for since.
    by_peer: f64,
    /// Blocked time ended by a thread that never waits here.
    by_outsider: f64,
    /// Blocked time ended at a thread's end.
    by_exit: f64,
    outsiders: BTreeMap<ThreadId, f64>,
    /// Blocked time ended by any known thread.
    by_known: f64,
    /// Wake-ups, and those whose waker is known.
    wakes: u64,
    known: u64,
}

impl Traffic<'_> {
    /// True where the clock ends the waits, and next to no thread does.
    fn is_clock(&self) -> bool {
        let ends = self.waits.iter().fold(0, |n: u64, wait| n.saturating_add(wait.count));
        only_the_clock_ends(ends, self.known) && self.timed > MOST * self.blocked
    }

    /// The blocked time against which shares of wakers are taken. Wake-ups passed on by an interrupt have no waker, and
    /// their waits are the longest where other programs have the processors. When most wakers are known, only waits
    /// with a known waker count.
    fn woken(&self) -> f64 {
        let mostly = self.known as f64 > MOST * self.wakes as f64;
        if mostly && self.by_known > 0.0 { self.by_known } else { self.blocked }
    }
}

/// True where threads ended next to none of so many waits.
pub(super) fn only_the_clock_ends(ends: u64, by_threads: u64) -> bool {
    ends >= FEWEST_ENDS && by_threads as f64 <= WOKEN * ends as f64
}

/// Decides: whether waits with a time limit at a futex are sleeps: no thread ends more than this share of them, and there
/// are at least [`FEWEST_ENDS`].
/// From: chosen: the waker of a futex is known for more than nine of ten wake-ups where threads make them.
/// Shown by: `a_futex_that_only_the_clock_ends_is_a_sleep`.
/// Wrong if: a thread looks again after a pause at something that comes so rarely that the pause does not matter.
const WOKEN: f64 = 0.1;

/// Fewer ends than this do not tell whether threads end such waits.
///
/// Decides: whether waits with a time limit at a futex are sleeps.
/// From: arithmetic: where threads end three of ten, ten ends by the clock alone come by chance in 3 % of the cases.
/// Shown by: `a_futex_that_only_the_clock_ends_is_a_sleep`.
/// Wrong if: a thread sleeps a few times for long: its waits are then of unknown purpose.
const FEWEST_ENDS: u64 = 10;

/// The fewest waiting threads whose wakes can show a barrier: of two, one waits and the other wakes it, as at a queue.
///
/// Decides: whether a futex at which waiting threads wake each other all at once is a barrier.
/// From: arithmetic: all but the last of three threads are woken together; of two threads there is only one to wake.
/// Shown by: `a_crowd_woken_at_once_stood_at_a_barrier`, `two_threads_alone_show_no_barrier`.
/// Wrong if: only two threads ever meet there: their waits count as waits for each other's work.
const FEWEST_AT_BARRIER: usize = 3;

/// The traffic of each futex of a run.
pub(super) fn traffic<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    numbers: SyscallNumbers,
) -> BTreeMap<Object, Traffic<'t>> {
    let mut traffic: BTreeMap<Object, Traffic> = BTreeMap::new();
    let futexes = || traced.waits.values().filter(|w| w.reason == Reason::Futex);
    for wait in futexes() {
        let at = traffic.entry(object(traced, wait)).or_default();
        at.waits.push(wait);
        at.waiters.insert(wait.thread);
        let blocked = wait.blocked_ns as f64;
        at.blocked += blocked;
        at.timed += if wait.timed { blocked } else { 0.0 };
        at.lock_value += if has_lock_value(traced, wait, stacks) { blocked } else { 0.0 };
        at.lock_object += if stacks.view(wait.user_stack, true).lock_object { blocked } else { 0.0 };
    }
    for wait in futexes() {
        let Some(at) = traffic.get_mut(&object(traced, wait)) else { continue };
        for wake in traced.wakes.get(&wait.wait).into_iter().flatten() {
            let blocked = wake.blocked_ns as f64;
            at.wakes = at.wakes.saturating_add(wake.count);
            if wake.waker.is_some() {
                at.known = at.known.saturating_add(wake.count);
                at.by_known += blocked;
            }
            let exits = wake.waker_syscall.is_some_and(|n| numbers.exit.contains(&n));
            match wake.waker {
                _ if exits => at.by_exit += blocked,
                None => {}
                Some(waker) if at.waiters.contains(&waker) => {
                    at.by_peer += blocked;
                    at.by_waiter += if wake.same_object { blocked } else { 0.0 };
                }
                Some(waker) => {
                    at.by_outsider += blocked;
                    *at.outsiders.entry(waker).or_default() += blocked;
                }
            }
        }
    }
    traffic
}

/// True when the wait expected a value that locks use, or is at a semaphore. Who releases a lock wakes one thread: the
/// counter of a barrier or of finished rounds passes through the same values, and its wake-ups are for all.
///
/// Decides: whether waits that other waiters end may be for a lock without a name.
/// From: the model: who posts a semaphore that it waits at gives back what it took. Inside of a library, that is the library's
/// lock; FFTW's planner and numcodecs showed the need.
/// Shown by: `a_semaphore_that_its_waiters_post_is_a_lock`, `waiters_that_wake_each_other_share_a_lock`.
/// Wrong if: threads that take items from a queue put new ones in, and the queue waits at a semaphore.
pub(super) fn has_lock_value(traced: &Traced<'_>, wait: &Wait, stacks: &Stacks<'_>) -> bool {
    let released = || {
        let (one, many) = woken(traced, wait);
        many <= MOST * (one + many)
    };
    stacks.view(wait.user_stack, true).semaphore || wait.expected.is_some_and(is_locks_value) && released()
}

/// True when the wait expected a value that locks use, and most of it ended by wake-ups for one thread, as far as that is
/// known. The last thread that arrives at a barrier wakes all others.
///
/// Decides: whether threads that are woken together in one function may have met there.
/// From: the model: a lock is released to one thread. Under contention, its waiters follow each other within microseconds,
/// and are awake together again; the lock of GLib's signals showed the need, whose functions have no names.
/// Shown by: `waiters_of_a_lock_without_a_name_do_not_meet`; the near miss is `threads_meet_at_what_has_no_name`.
/// Wrong if: a barrier wakes its threads one after the other, and its word is 2 while they wait.
pub(super) fn is_released_to_one(traced: &Traced<'_>, wait: &Wait) -> bool {
    let (one, many) = woken(traced, wait);
    wait.expected.is_some_and(is_locks_value) && one > MOST * (one + many)
}

fn is_locks_value(value: u32) -> bool {
    value == LOCKED_WITH_WAITERS || value & OWNER_WITH_WAITERS != 0
}

/// Blocked time that wake-ups for one thread ended, and for more than one, nanoseconds.
fn woken(traced: &Traced<'_>, wait: &Wait) -> (f64, f64) {
    let wakes = || traced.wakes.get(&wait.wait).into_iter().flatten();
    let ended = |all: bool| wakes().filter(|w| w.wakes_many == Some(all)).map(|w| w.blocked_ns as f64).sum::<f64>();
    (ended(false), ended(true))
}

/// The address and the process that a wait belongs to. Without an address each wait is an object of its own.
pub fn object(traced: &Traced<'_>, wait: &Wait) -> Object {
    match wait.object.filter(|_| wait.reason == Reason::Futex) {
        Some(address) => (traced.pid(wait.thread).unwrap_or(0), address),
        None => (u32::MAX, u64::from(wait.wait.0)),
    }
}

/// What a futex is for, by who waits and who wakes there. `around`: the same for all futexes that are waited at in the
/// same places of the code; `elsewhere`: nanoseconds that a thread spends outside futex waits; `tids`: thread ids of
/// the run; `crowd`: see [`crowd`], which takes long and is seldom asked for.
pub(super) fn by_structure(
    at: &Traffic<'_>,
    around: &FutexPlace,
    elsewhere: &dyn Fn(ThreadId) -> f64,
    tids: &BTreeSet<u32>,
    crowd: &dyn Fn() -> f64,
) -> Purpose {
    let most = |part: f64| part > MOST * at.blocked;
    let most_woken = |part: f64| part > MOST * at.woken();
    let one_waiter = at.waiters.len() == 1;
    let for_a_thread = |w: &Wait| !w.timed && w.expected.is_some_and(|v| tids.contains(&v));
    if one_waiter && (most(at.by_exit) || at.waits.iter().all(|w| for_a_thread(w))) {
        return Purpose::Join;
    }
    if most(at.timed) || at.blocked <= 0.0 {
        return if at.is_clock() { Purpose::Sleep } else { Purpose::Unknown };
    }
    // While a thread holds such a lock it may wait elsewhere, above all for the interpreter's lock: that says nothing.
    if most(at.lock_object) && most_woken(at.by_peer) {
        return Purpose::Lock;
    }
    if most_woken(at.by_waiter) {
        return match () {
            // The place must show it too: a counter may pass through a lock's value.
            () if most(at.lock_value) && around.lock_value > MOST * around.blocked => Purpose::Lock,
            // All but the last of three or more threads are woken together: only a barrier does that again and again.
            () if at.waiters.len() >= FEWEST_AT_BARRIER && around.may_wake_all() && crowd() > MOST => Purpose::Barrier,
            () => shared_by_waiters(around),
        };
    }
    // Parking locks have one futex per thread: its waker waits at the same place of the code at other times. That is no
    // queue, and without a name it cannot be told from two threads that hand work to each other.
    let shares = |waker: ThreadId| at.waiters.iter().any(|waiter| around.may_share_a_lock(*waiter, waker, elsewhere));
    let alike: f64 = at.outsiders.iter().filter(|(waker, _)| shares(**waker)).map(|(_, ns)| ns).sum();
    let alike = alike > MOST * at.by_outsider;
    match most_woken(at.by_outsider) {
        true if !alike => Purpose::Condition,
        true if !around.one_futex_each() => shared_by_waiters(around),
        _ => Purpose::Unknown,
    }
}

/// What futexes are for when the same threads wait and wake there. Locks with little contention look like something
/// that is handed on; the purpose is then unknown.
fn shared_by_waiters(around: &FutexPlace) -> Purpose {
    match (around.is_taken(), around.passes_on()) {
        (true, false) => Purpose::Lock,
        (false, true) => Purpose::Condition,
        (true, true) | (false, false) => Purpose::Unknown,
    }
}

/// What most of the blocked time at an object was for, by the names in the stacks of its waits: not every wait has
/// names.
pub(super) fn by_neighbour(at: &Traffic<'_>, stacks: &Stacks<'_>) -> Option<Primitive> {
    let mut roles: BTreeMap<Primitive, f64> = BTreeMap::new();
    for wait in &at.waits {
        if let Some(role) = stacks.view(wait.user_stack, true).primitive {
            *roles.entry(role).or_default() += wait.blocked_ns as f64;
        }
    }
    roles.into_iter().find(|(_, blocked)| *blocked > MOST * at.blocked).map(|(role, _)| role)
}

/// The share of an object's blocks that ended at the same time as those of all other waiters but one.
pub(super) fn crowd(traced: &Traced<'_>, at: &Traffic<'_>) -> f64 {
    let single = traced.blocked(at.waits.iter().map(|wait| &wait.wait)).filter(|slice| slice.count == 1);
    let mut ends: Vec<(u64, ThreadId)> = single.map(|slice| (slice.end_ns, slice.thread)).collect();
    let all = ends.chunk_by(|a, b| a.1 == b.1).filter_map(|same| same.first()).map(|e| e.1).collect::<BTreeSet<_>>();
    // The ends of each wait are in order already: the stable sort joins such stretches.
    ends.sort();
    let (mut together, mut at) = (0_usize, 0_usize);
    while let Some(first) = ends.get(at) {
        let group = ends.iter().skip(at).take_while(|e| e.0.saturating_sub(first.0) <= AT_ONCE_NS);
        let size = group.clone().count().max(1);
        let threads = || group.map(|e| e.1).collect::<BTreeSet<_>>().len();
        let met = size > 1 && size + 1 >= all.len() && {
            let threads = threads();
            threads > 1 && threads + 1 >= all.len()
        };
        together += if met { size } else { 0 };
        at += size;
    }
    if ends.is_empty() { 0.0 } else { together as f64 / ends.len() as f64 }
}
