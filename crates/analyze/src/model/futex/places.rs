//! What happens at one place of the code that waits at futexes, summed over all futexes that are waited at there.
//!
//! One futex alone rarely shows what it is for: a counter passes through a lock's value, and each thread has its own
//! futex in a parking lock.

use recording::ThreadId;
use recording::tables::{Wait, Wake};
use std::collections::{BTreeMap, BTreeSet};

/// The share of an object's blocked time that must show a pattern before the pattern is believed.
///
/// Decides: what a futex without a name is for: a lock, a condition, a barrier or a join; and whether threads meet at a
/// condition as at a barrier.
/// From: the definition of a majority: more than half, so that two opposite patterns can never both hold.
/// Shown by: `waiters_that_wake_each_other_share_a_lock`,
/// `a_semaphore_is_a_lock_although_interrupts_pass_on_the_longest_wakeups`.
/// Wrong if: one futex serves two purposes in turn: the purpose that takes more time is reported for both.
pub(super) const MOST: f64 = 0.5;

/// The smallest value of "few". A place takes no lock when few of its wake-ups come from a thread whose own latest wait
/// was at the address that it wakes. At a lock, a thread that had to wait for the lock later wakes the next waiter
/// there. A thread that uses k locks equally has last waited for the lock that it releases in at least one of k cases.
/// Few is less than half of that.
///
/// Decides: whether a place with many futexes is a condition rather than a lock.
/// From: arithmetic: with 20 such locks, two threads block each other for less than a twentieth of the time for which
/// they hold any of them, which is no cause.
/// Shown by: `who_had_waited_for_something_else_releases_no_lock`, with 100 futexes.
/// Wrong if: many threads take some of a hundred locks of the same kind: a thread that releases one has hardly ever
/// waited for it before.
const FEW_AT_LEAST: f64 = 0.05;

/// The largest value of "few"; see [`FEW_AT_LEAST`].
///
/// Decides: whether a place with one or two futexes is a condition rather than a lock.
/// From: chosen: threads that also wait at other futexes in between have their latest wait at this one that often.
/// Shown by: `a_word_that_says_taken_is_a_lock_s`, with one futex.
/// Wrong if: the threads of a lock wait at several other futexes between two waits for it: the lock then looks like a
/// condition.
const FEW_AT_MOST: f64 = 0.25;

/// Few is less than this share of the least at a lock; see [`FEW_AT_LEAST`].
///
/// Decides: whether a place is a condition rather than a lock.
/// From: reasoned, not measured: half way between what a lock shows at least and nothing.
/// Shown by: `who_had_waited_for_something_else_releases_no_lock`.
/// Wrong if: the locks of a place are used unequally, so that a thread that releases one has rarely waited for it.
const HALF_WAY: f64 = 0.5;

/// How many standard deviations of a count, and how many more events, bound it from above.
///
/// Decides: the same: how few wake-ups are too few to be told from those at a lock.
/// From: statistics: for a Poisson count n of at least 1, n + 2 √n + 3 lies above the upper end of the 95 % interval, by 0.4
/// to 2 (Garwood 1936, computed for n up to 400).
/// Wrong if: wake-ups come in bursts, which a Poisson count has not.
const DEVIATIONS: f64 = 2.0;

/// See [`DEVIATIONS`].
///
/// Decides: the same where hardly any wake-up was seen: none bounds their number by this many.
/// From: statistics: of 3 expected events, none is seen in 5 % of the cases (a one-sided bound; a two-sided one has 3.7).
/// Wrong if: as above.
const UNSEEN: f64 = 3.0;

/// A lock that keeps its own queue has one futex for each waiting thread, or one for each stack depth at which the
/// thread waits. A place with more futexes per thread than this is no such lock.
///
/// Decides: whether a futex that only one thread waits at may belong to a lock.
/// From: chosen: one for each thread, and a few depths of its stack; no measurement.
/// Shown by: `who_had_waited_for_something_else_releases_no_lock`, with one futex for each thread and with 50.
/// Wrong if: a program nests such locks more than three deep: they may then be reported as a condition.
const FUTEXES_OF_A_THREAD: usize = 3;

/// An address in a process.
pub type Object = (u32, u64);

/// What happened at one place of the code, summed over all futexes that are waited at there.
#[derive(Debug, Default)]
pub(super) struct FutexPlace {
    pub(super) waiters: BTreeSet<ThreadId>,
    /// The futexes of each thread, and of all.
    futexes: BTreeSet<(ThreadId, Object)>,
    words: BTreeSet<Object>,
    /// Values that the futexes were expected to have.
    expected: BTreeSet<Option<u32>>,
    /// Blocked nanoseconds, and those of waits that expected a lock's value.
    pub(super) blocked: f64,
    pub(super) lock_value: f64,
    /// Nanoseconds that a waiter (first) was blocked there until a waker (second) ended it.
    ended: BTreeMap<(ThreadId, ThreadId), f64>,
    /// Wake-ups by a thread whose own latest wait was at the same address, and by any other.
    returned: u64,
    passed_on: u64,
    /// Wake-ups by calls for one thread, and for several.
    single: u64,
    many: u64,
}

impl FutexPlace {
    /// Adds a wait; `lock`: it expected a lock's value.
    pub(super) fn wait(&mut self, wait: &Wait, object: Object, lock: bool) {
        self.blocked += wait.blocked_ns as f64;
        self.lock_value += if lock { wait.blocked_ns as f64 } else { 0.0 };
        self.waiters.insert(wait.thread);
        self.futexes.insert((wait.thread, object));
        self.words.insert(object);
        self.expected.insert(wait.expected);
    }

    /// Adds what ended waits there.
    pub(super) fn wake(&mut self, waiter: ThreadId, wake: &Wake) {
        if let Some(waker) = wake.waker {
            *self.ended.entry((waiter, waker)).or_default() += wake.blocked_ns as f64;
        }
        let count = |flag: Option<bool>, wanted| if flag == Some(wanted) { wake.count } else { 0 };
        self.returned = self.returned.saturating_add(count(wake.waker_waited_here, true));
        self.passed_on = self.passed_on.saturating_add(count(wake.waker_waited_here, false));
        self.many = self.many.saturating_add(count(wake.wakes_many, true));
        self.single = self.single.saturating_add(count(wake.wakes_many, false));
    }

    /// Adds another place.
    pub(super) fn add(&mut self, other: &FutexPlace) {
        self.waiters.extend(&other.waiters);
        self.futexes.extend(&other.futexes);
        self.words.extend(&other.words);
        self.expected.extend(&other.expected);
        other.ended.iter().for_each(|(key, ns)| *self.ended.entry(*key).or_default() += ns);
        self.blocked += other.blocked;
        self.lock_value += other.lock_value;
        self.returned = self.returned.saturating_add(other.returned);
        self.passed_on = self.passed_on.saturating_add(other.passed_on);
        self.many = self.many.saturating_add(other.many);
        self.single = self.single.saturating_add(other.single);
    }

    /// True when wakers certainly had last waited elsewhere: even the upper end of a 95 % interval for those that had
    /// waited here is few.
    pub(super) fn passes_on(&self) -> bool {
        let returned = self.returned as f64;
        let most = returned + DEVIATIONS * returned.sqrt() + UNSEEN;
        let few = (HALF_WAY / self.words.len().max(1) as f64).clamp(FEW_AT_LEAST, FEW_AT_MOST);
        most < few * (returned + self.passed_on as f64)
    }

    /// True when each call wakes one thread and all waits expect the same value, which is not 0: the word says that
    /// something is taken. At a barrier, a turn or a counter the expected value changes; a flag or a count of tasks is
    /// waited for while it is 0.
    pub(super) fn is_taken(&self) -> bool {
        let value = self.expected.len() == 1 && self.expected.iter().all(|v| v.is_some_and(|v| v != 0));
        value && self.single > 0 && !self.may_wake_all()
    }

    /// False when it is known that most wake-ups were of calls for one thread.
    pub(super) fn may_wake_all(&self) -> bool {
        let all = self.single.saturating_add(self.many);
        all == 0 || self.many as f64 > MOST * all as f64
    }

    /// True when two threads that wait there may contend for one lock. While one waits, the others hold the lock one
    /// after the other, and a holder waits at no futex. With k threads, no wait ended by a waker can be longer in all
    /// than k − 1 times the nanoseconds that this waker spends outside futex waits, which `elsewhere` gives.
    pub(super) fn may_share_a_lock(&self, one: ThreadId, other: ThreadId, elsewhere: impl Fn(ThreadId) -> f64) -> bool {
        let others = self.waiters.len().saturating_sub(1) as f64;
        let waited = |waiter, waker| self.ended.get(&(waiter, waker)).copied().unwrap_or(0.0);
        let holds = |waiter, waker| waited(waiter, waker) <= others * elsewhere(waker);
        self.waiters.contains(&one) && self.waiters.contains(&other) && holds(one, other) && holds(other, one)
    }

    /// True for few futexes per thread: a lock that keeps its own queue, or two threads that hand work to each other.
    pub(super) fn one_futex_each(&self) -> bool {
        self.futexes.len() <= FUTEXES_OF_A_THREAD * self.waiters.len()
    }
}
