//! What happens at one place of the code that waits at futexes, over all futexes that are waited at there.
//!
//! One futex alone rarely shows what it is for: a counter comes by a lock's value, a parking lock's futex is one thread's.

use recording::ThreadId;
use recording::tables::{Wait, Wake};
use std::collections::{BTreeMap, BTreeSet};

/// Share of an object's blocked time that must show a pattern before the pattern is believed.
///
/// Decides: what a futex without a name is for: a lock, a condition, a barrier or a join; and whether threads gather at a
/// condition as at a barrier.
/// From: the definition of a majority: more than half, so that two opposite patterns can never both hold.
/// Shown by: `waiters_that_wake_each_other_share_a_lock`,
/// `a_semaphore_is_a_lock_although_interrupts_pass_on_the_longest_wakeups`.
/// Wrong if: one futex is used for two purposes in turn: the one that takes more time is told for both.
pub(super) const MOST: f64 = 0.5;

/// Where few of the wake-ups at a place come from a thread whose own latest wait was at the address that it wakes, the
/// place takes no lock. Whoever had to wait for a lock wakes the next one there; a thread that uses k locks alike has
/// waited for the one that it releases in at least one of k cases. Few is less than half of that, and this at the least.
///
/// Decides: whether a place with many futexes is a condition, and no lock.
/// From: arithmetic: with 20 such locks two threads are in each other's way for less than a twentieth of the time that
/// they hold any, which is no cause.
/// Shown by: `who_had_waited_for_something_else_releases_no_lock`, with 100 futexes.
/// Wrong if: many threads take some of a hundred locks of one make: who releases one had hardly ever waited for it.
const FEW_AT_LEAST: f64 = 0.05;

/// And this at the most.
///
/// Decides: the same, for a place with one futex.
/// From: chosen: threads that wait at other futexes in between have the latest wait there as often.
/// Shown by: `a_word_that_says_taken_is_a_lock_s`, with one futex.
/// Wrong if: a lock's threads wait at several other futexes between two waits for it: it then looks like a condition.
const FEW_AT_MOST: f64 = 0.25;

/// A lock that keeps a queue of its own has one futex for each thread that waits, or one for each depth of its stack. A
/// place whose threads wait at more addresses than this is no such lock.
///
/// Decides: whether a futex that only one thread waits at may be of a lock.
/// From: chosen: one for each thread, and some depths of its stack; no measurement.
/// Shown by: `who_had_waited_for_something_else_releases_no_lock`, with one futex for each thread and with 50.
/// Wrong if: a program takes such locks inside of each other more than three deep: they may then be told as a condition.
const FUTEXES_OF_A_THREAD: usize = 3;

/// An address in a process.
pub type Object = (u32, u64);

/// What happened at one place of the code, over all futexes that are waited at there.
#[derive(Debug, Default)]
pub(super) struct FutexPlace {
    pub(super) waiters: BTreeSet<ThreadId>,
    /// The futexes of each thread, and of all.
    futexes: BTreeSet<(ThreadId, Object)>,
    words: BTreeSet<Object>,
    /// Values that they were expected to have.
    expected: BTreeSet<Option<u32>>,
    /// Blocked time, and that of it with a lock's value.
    pub(super) blocked: f64,
    pub(super) lock_value: f64,
    /// Nanoseconds that a thread waited there until another ended it.
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

    /// True when those that wake had waited for something else, for certain: the upper end of a 95 % interval of how many
    /// had not (of a Poisson count n it is below n + 2 sqrt(n) + 3) is still seldom.
    pub(super) fn passes_on(&self) -> bool {
        let returned = self.returned as f64;
        let most = returned + 2.0 * returned.sqrt() + 3.0;
        let few = (0.5 / self.words.len().max(1) as f64).clamp(FEW_AT_LEAST, FEW_AT_MOST);
        most < few * (returned + self.passed_on as f64)
    }

    /// True when each wake-up is for one thread, and all wait for one and the same value, which is not zero, to go away: the
    /// word says that something is taken. A barrier, a turn and a counter change the value that is waited for, and a flag
    /// and a count of tasks are waited for while they are zero.
    pub(super) fn is_taken(&self) -> bool {
        let value = self.expected.len() == 1 && self.expected.iter().all(|v| v.is_some_and(|v| v != 0));
        value && self.single > 0 && !self.may_wake_all()
    }

    /// False when it is known that most wake-ups were of calls for one thread.
    pub(super) fn may_wake_all(&self) -> bool {
        let all = self.single.saturating_add(self.many);
        all == 0 || self.many as f64 > MOST * all as f64
    }

    /// True when two threads that wait there may be in each other's way at a lock. While one waits for it, others hold it one
    /// after the other, and whoever holds it waits at no futex: of k threads nobody waits for longer than k − 1 times as long
    /// as the one that ends it does anything else. `elsewhere`: how long that is, nanoseconds.
    pub(super) fn may_share_a_lock(&self, one: ThreadId, other: ThreadId, elsewhere: impl Fn(ThreadId) -> f64) -> bool {
        let others = self.waiters.len().saturating_sub(1) as f64;
        let waited = |waiter, waker| self.ended.get(&(waiter, waker)).copied().unwrap_or(0.0);
        let holds = |waiter, waker| waited(waiter, waker) <= others * elsewhere(waker);
        self.waiters.contains(&one) && self.waiters.contains(&other) && holds(one, other) && holds(other, one)
    }

    /// The queue of a lock that keeps one itself, or two threads that hand work to each other.
    pub(super) fn one_futex_each(&self) -> bool {
        self.futexes.len() <= FUTEXES_OF_A_THREAD * self.waiters.len()
    }
}
