//! What a thread waited for at a futex: a lock, a condition, a barrier, a thread's end, or nobody knows.
//! May import: `at_place`, `goroutines`, `model`, `names`, `stacks`.
//!
//! Two kinds of evidence. *Names* in the stack, where there are any. *Structure*: which threads wait at an address,
//! which threads wake them, where those had waited themselves, and which value the futex was expected to have. The threads
//! that wait for a lock are the threads that release it; those that wait for work are woken by those that bring it.

pub use crate::at_place::Object;
use crate::at_place::{AtPlace, MOST};
use crate::goroutines;
use crate::model::{Numbers, Traced};
use crate::names::{self, Role};
use crate::stacks::{Stacks, View};
use recording::tables::{Reason, State, Wait};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// "Locked, and others wait" in glibc's, musl's internal, Rust's and Go's locks (Drepper 2005, "Futexes are tricky").
const LOCKED_WITH_WAITERS: u32 = 2;

/// Bit 31 of a futex word that holds its owner's thread id: others wait (FUTEX_WAITERS of futex(2); musl, robust and
/// priority-inheriting mutexes).
const OWNER_WITH_WAITERS: u32 = 0x8000_0000;

/// Wake-ups of one barrier follow each other within this time: one call wakes all, each needs some microseconds.
const AT_ONCE_NS: u64 = 200_000;

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
    /// Not known.
    Unknown,
}

impl From<Role> for Purpose {
    fn from(role: Role) -> Purpose {
        match role {
            Role::Lock => Purpose::Lock,
            Role::Condition => Purpose::Condition,
            Role::Barrier => Purpose::Barrier,
            Role::Join => Purpose::Join,
        }
    }
}

/// Why a purpose is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// A function's name in the stack.
    Name,
    /// Who waits and who wakes.
    Structure,
    /// Nothing.
    None,
}

/// One futex wait, classified.
#[derive(Debug, Clone, Copy)]
pub struct FutexWait<'t> {
    /// The row.
    pub wait: &'t Wait,
    /// What for.
    pub purpose: Purpose,
    /// Why that is believed.
    pub ground: Ground,
    /// Where.
    pub view: View<'t>,
}

/// What happened at one futex address, over all threads.
#[derive(Debug, Default)]
struct Traffic<'t> {
    waits: Vec<&'t Wait>,
    waiters: BTreeSet<ThreadId>,
    blocked: f64,
    timed: f64,
    lock_value: f64,
    /// Blocked time ended by a thread that also waits here, through this address.
    by_waiter: f64,
    /// Blocked time ended by a thread that never waits here.
    by_outsider: f64,
    /// Blocked time ended at a thread's end.
    by_exit: f64,
    outsiders: BTreeMap<ThreadId, f64>,
    /// Blocked time ended by a thread that is known, however.
    by_known: f64,
    /// Wake-ups, and those of them whose thread is known.
    wakes: u64,
    known: u64,
}

impl Traffic<'_> {
    /// The blocked time of which a share says who wakes. Wake-ups that an interrupt passed on have no thread, and
    /// their waits are the longest where others have the processors; when most wake-ups are known, these speak for all.
    fn woken(&self) -> f64 {
        let mostly = self.known as f64 > MOST * self.wakes as f64;
        if mostly && self.by_known > 0.0 { self.by_known } else { self.blocked }
    }
}

/// Classifies all futex waits of a run.
pub fn classify<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>, numbers: Numbers) -> BTreeMap<WaitId, FutexWait<'t>> {
    let traffic = traffic(traced, stacks, numbers);
    let mut at_places: BTreeMap<(&str, u64), AtPlace> = BTreeMap::new();
    let place = |wait: &Wait| {
        let view = stacks.view(wait.user_stack, true);
        let at = view.nameless.or(view.responsible());
        at.map_or(("", 0), |c| (c.module, c.frame.address))
    };
    for wait in traced.waits.values().filter(|w| w.reason == Reason::Futex) {
        let at = at_places.entry(place(wait)).or_default();
        at.wait(wait, object(traced, wait), has_lock_value(wait, stacks));
        traced.wakes.get(&wait.wait).into_iter().flatten().for_each(|wake| at.wake(wait.thread, wake));
    }
    let mut at_futexes: BTreeMap<ThreadId, u64> = BTreeMap::new();
    for wait in traced.waits.values().filter(|w| w.reason == Reason::Futex) {
        let sum = at_futexes.entry(wait.thread).or_default();
        *sum = sum.saturating_add(wait.blocked_ns);
    }
    let elsewhere = |thread: ThreadId| {
        let life = traced.threads.get(&thread).map_or(0, |t| t.end_ns.saturating_sub(t.start_ns));
        life.saturating_sub(at_futexes.get(&thread).copied().unwrap_or(0)) as f64
    };
    let crowds = crowds(traced);
    let tids: BTreeSet<u32> = traced.threads.values().map(|t| t.tid).collect();
    let mut together: BTreeMap<BTreeSet<(&str, u64)>, AtPlace> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (object, at) in &traffic {
        let places: BTreeSet<(&str, u64)> = at.waits.iter().map(|w| place(w)).collect();
        // Many objects share their places: put together once, or it would be quadratic in them.
        let around = together.entry(places).or_insert_with_key(|places| {
            let mut sum = AtPlace::default();
            places.iter().filter_map(|p| at_places.get(p)).for_each(|p| sum.add(p));
            sum
        });
        let structure = by_structure(at, around, &elsewhere, &tids, crowds.get(object).copied().unwrap_or(0.0));
        let named = by_neighbour(at, stacks);
        for wait in &at.waits {
            let view = stacks.view(wait.user_stack, true);
            let (purpose, ground) = match (view.role, structure, named) {
                // Threads of Go's scheduler hand nothing to each other: their goroutines do.
                _ if view.parked.is_some() => of_goroutine(traced, wait),
                (Some(role), _, _) => (role.into(), Ground::Name),
                (None, Purpose::Unknown, Some(role)) => (role.into(), Ground::Name),
                (None, Purpose::Unknown, None) => (Purpose::Unknown, Ground::None),
                (None, purpose, _) => (purpose, Ground::Structure),
            };
            found.insert(wait.wait, FutexWait { wait, purpose, ground, view });
        }
    }
    found
}

/// What a thread of Go's scheduler waits for.
fn of_goroutine(traced: &Traced<'_>, wait: &Wait) -> (Purpose, Ground) {
    match traced.goroutines.reason(wait.wait) {
        Some(goroutines::Reason::Waits(role)) => (role.into(), Ground::Name),
        _ => (Purpose::Condition, Ground::None),
    }
}

fn traffic<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>, numbers: Numbers) -> BTreeMap<Object, Traffic<'t>> {
    let mut traffic: BTreeMap<Object, Traffic> = BTreeMap::new();
    let futexes = || traced.waits.values().filter(|w| w.reason == Reason::Futex);
    for wait in futexes() {
        let at = traffic.entry(object(traced, wait)).or_default();
        at.waits.push(wait);
        at.waiters.insert(wait.thread);
        let blocked = wait.blocked_ns as f64;
        at.blocked += blocked;
        at.timed += if wait.timed { blocked } else { 0.0 };
        at.lock_value += if has_lock_value(wait, stacks) { blocked } else { 0.0 };
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

/// True when the futex was expected to have a value as locks have it, or is a semaphore.
fn has_lock_value(wait: &Wait, stacks: &Stacks<'_>) -> bool {
    let entry = stacks.view(wait.user_stack, true).entry.and_then(|c| c.name());
    let value = |v: u32| v == LOCKED_WITH_WAITERS || v & OWNER_WITH_WAITERS != 0;
    entry.is_some_and(names::is_semaphore) || wait.expected.is_some_and(value)
}

/// The address and the process that a wait belongs to. Without an address each wait is an object of its own.
pub fn object(traced: &Traced<'_>, wait: &Wait) -> Object {
    match wait.object {
        Some(address) => (traced.pid(wait.thread).unwrap_or(0), address),
        None => (u32::MAX, u64::from(wait.wait.0)),
    }
}

fn by_structure(
    at: &Traffic<'_>,
    around: &AtPlace,
    elsewhere: &dyn Fn(ThreadId) -> f64,
    tids: &BTreeSet<u32>,
    crowd: f64,
) -> Purpose {
    let most = |part: f64| part > MOST * at.blocked;
    let most_woken = |part: f64| part > MOST * at.woken();
    let one_waiter = at.waiters.len() == 1;
    let for_a_thread = |w: &Wait| !w.timed && w.expected.is_some_and(|v| tids.contains(&v));
    if one_waiter && (most(at.by_exit) || at.waits.iter().all(|w| for_a_thread(w))) {
        return Purpose::Join;
    }
    if most(at.timed) || at.blocked <= 0.0 {
        return Purpose::Unknown;
    }
    if most_woken(at.by_waiter) {
        return match () {
            // At the place, too: a counter comes by a lock's value.
            () if most(at.lock_value) && around.lock_value > MOST * around.blocked => Purpose::Lock,
            // All but the last of three or more are woken together: nothing but a barrier does that again and again.
            () if at.waiters.len() > 2 && crowd > MOST && around.may_wake_all() => Purpose::Barrier,
            () => shared_by_waiters(around),
        };
    }
    // A futex a thread is how parking locks work: whoever wakes it waits at the same place of the code at other times.
    // That is no queue, and without a name it cannot be told from two threads that hand work to each other.
    let shares = |waker: ThreadId| at.waiters.iter().any(|waiter| around.may_share_a_lock(*waiter, waker, elsewhere));
    let alike: f64 = at.outsiders.iter().filter(|(waker, _)| shares(**waker)).map(|(_, ns)| ns).sum();
    let alike = alike > MOST * at.by_outsider;
    match most_woken(at.by_outsider) {
        true if !alike => Purpose::Condition,
        true if !around.one_futex_each() => shared_by_waiters(around),
        _ => Purpose::Unknown,
    }
}

/// What futexes are for that the same threads wait at and wake others at. Locks that are hardly ever contended look like
/// something that is passed on; nobody knows then.
fn shared_by_waiters(around: &AtPlace) -> Purpose {
    match (around.is_taken(), around.passes_on()) {
        (true, false) => Purpose::Lock,
        (false, true) => Purpose::Condition,
        (true, true) | (false, false) => Purpose::Unknown,
    }
}

/// What most of the time at an object was for, by the names in the stacks of other waits there: not every wait has one.
fn by_neighbour(at: &Traffic<'_>, stacks: &Stacks<'_>) -> Option<Role> {
    let mut roles: BTreeMap<Role, f64> = BTreeMap::new();
    for wait in &at.waits {
        if let Some(role) = stacks.view(wait.user_stack, true).role {
            *roles.entry(role).or_default() += wait.blocked_ns as f64;
        }
    }
    roles.into_iter().find(|(_, blocked)| *blocked > MOST * at.blocked).map(|(role, _)| role)
}

/// For each object: the share of its blocks that ended at once with those of all other waiters but one.
fn crowds(traced: &Traced<'_>) -> BTreeMap<Object, f64> {
    let mut ends: BTreeMap<Object, Vec<(u64, ThreadId)>> = BTreeMap::new();
    for slice in traced.slices.iter().filter(|s| s.state == State::Blocked && s.count == 1) {
        let wait = slice.wait.and_then(|w| traced.waits.get(&w)).filter(|w| w.reason == Reason::Futex);
        if let Some(wait) = wait {
            ends.entry(object(traced, wait)).or_default().push((slice.end_ns, slice.thread));
        }
    }
    ends.into_iter().map(|(object, ends)| (object, crowd(ends))).collect()
}

fn crowd(mut ends: Vec<(u64, ThreadId)>) -> f64 {
    ends.sort_unstable();
    let all = ends.iter().map(|e| e.1).collect::<BTreeSet<_>>().len();
    let (mut together, mut at) = (0_usize, 0_usize);
    while let Some(first) = ends.get(at) {
        let group = ends.iter().skip(at).take_while(|e| e.0.saturating_sub(first.0) <= AT_ONCE_NS);
        let threads: BTreeSet<ThreadId> = group.clone().map(|e| e.1).collect();
        let size = group.count().max(1);
        together += if threads.len() + 1 >= all && threads.len() > 1 { size } else { 0 };
        at += size;
    }
    if ends.is_empty() { 0.0 } else { together as f64 / ends.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use recording::Tables;
    use recording::synthetic::{Sketch, ms, us};

    /// Nothing but libc without names above the own code.
    const NAMELESS: &str = "?@libc.so.6 < ?@libc.so.6 < work@app app.c:7";

    fn purposes(tables: &Tables) -> Vec<(Purpose, Ground)> {
        let model = Model::new(tables);
        let found = classify(&model.traced[0], &model.stacks, model.numbers);
        found.values().map(|w| (w.purpose, w.ground)).collect()
    }

    fn hand_over(expected: u32, stack: &str) -> Tables {
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                run.thread("a").runs(ms(5), NAMELESS).locks(0x100, ms(5), stack, "b");
                run.thread("b").locks(0x100, ms(5), stack, "a").runs(ms(5), NAMELESS);
            })
            .tables();
        tables.waits.iter_mut().for_each(|w| w.expected = Some(expected));
        tables
    }

    #[test]
    fn waiters_that_wake_each_other_share_a_lock() {
        assert_eq!(purposes(&hand_over(2, NAMELESS)), [(Purpose::Lock, Ground::Structure); 2]);
        assert_eq!(purposes(&hand_over(0x8000_0064, NAMELESS)), [(Purpose::Lock, Ground::Structure); 2]);
        assert_eq!(purposes(&hand_over(0, NAMELESS)), [(Purpose::Unknown, Ground::None); 2]);
    }

    #[test]
    fn a_semaphore_that_its_waiters_post_is_a_lock() {
        let stack = "?@libc.so.6 < sem_wait@libc.so.6 < work@app app.c:7";
        assert_eq!(purposes(&hand_over(0, stack)), [(Purpose::Lock, Ground::Structure); 2]);
    }

    #[test]
    fn names_come_before_structure() {
        let stack = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < work@app app.c:7";
        assert_eq!(purposes(&hand_over(2, stack)), [(Purpose::Condition, Ground::Name); 2]);
    }

    #[test]
    fn a_wait_without_a_stack_is_for_what_the_others_there_are_for() {
        let mut tables = hand_over(0, "?@libc.so.6 < pthread_rwlock_wrlock@libc.so.6 < work@app app.c:7");
        tables.waits[0].user_stack = None;
        tables.waits[0].blocked_ns /= 2;
        assert_eq!(purposes(&tables), [(Purpose::Lock, Ground::Name); 2]);
    }

    #[test]
    fn consumers_woken_by_a_producer_wait_for_a_condition() {
        let tables = Sketch::new(2)
            .traced(3, |run| {
                run.thread("producer").runs(ms(10), "make@app app.c:3");
                run.thread("a").locks(0x100, ms(5), NAMELESS, "producer").runs(ms(5), NAMELESS);
                run.thread("b").locks(0x100, ms(5), NAMELESS, "producer").runs(ms(5), NAMELESS);
            })
            .tables();
        assert_eq!(purposes(&tables), [(Purpose::Condition, Ground::Structure); 2]);
    }

    #[test]
    fn a_parking_lock_without_names_stays_unknown_and_with_names_is_a_lock() {
        let of = |stack: &str| {
            Sketch::new(2)
                .traced(2, |run| {
                    run.thread("a").runs(ms(5), NAMELESS).locks(0x100, ms(5), stack, "b");
                    run.thread("b").locks(0x200, ms(5), stack, "a").runs(ms(5), NAMELESS);
                })
                .tables()
        };
        assert_eq!(purposes(&of(NAMELESS)), [(Purpose::Unknown, Ground::None); 2]);
        let named = "syscall@libc.so.6 < parking_lot::raw_mutex::RawMutex::lock_slow@app < work@app app.rs:7";
        assert_eq!(purposes(&of(named)), [(Purpose::Lock, Ground::Name); 2]);
    }

    /// What the wake-ups of a pair that waits for each other show.
    #[derive(Clone, Copy)]
    struct Shown {
        waited_here: bool,
        many: bool,
        expected: fn(u64) -> u32,
    }

    /// Two threads of which each waits for the other at every turn, at so many futexes.
    fn turns(count: u64, futexes: u64, shown: Shown) -> Vec<(Purpose, Ground)> {
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                let of = |own: u64| (0..count).filter(move |turn| turn % 2 == own);
                let at = |turn: u64| 0x1000 + 64 * (turn % futexes);
                of(0).fold(run.thread("a"), |t, n| t.locks(at(n), us(50), NAMELESS, "b").runs(us(50), NAMELESS));
                of(1).fold(run.thread("b"), |t, n| t.locks(at(n), us(50), NAMELESS, "a").runs(us(50), NAMELESS));
            })
            .tables();
        (0..).zip(&mut tables.waits).for_each(|(n, wait)| wait.expected = Some((shown.expected)(n)));
        for wake in &mut tables.wakes {
            (wake.waker_waited_here, wake.wakes_many) = (Some(shown.waited_here), Some(shown.many));
        }
        let mut found = purposes(&tables);
        found.dedup();
        found
    }

    const CONDITION: (Purpose, Ground) = (Purpose::Condition, Ground::Structure);
    const LOCK: (Purpose, Ground) = (Purpose::Lock, Ground::Structure);
    const UNKNOWN: (Purpose, Ground) = (Purpose::Unknown, Ground::None);

    #[test]
    fn who_had_waited_for_something_else_releases_no_lock() {
        let rows = Shown { waited_here: false, many: true, expected: |n| 128 * n as u32 };
        // A ring of seven counters: both threads come to wait at each of them. And a counter for each row.
        assert_eq!(turns(100, 7, rows), [CONDITION]);
        assert_eq!(turns(100, 100, rows), [CONDITION]);
        // A counter may have a lock's value when a thread first waits for it.
        let by_chance = |n: u64| if n % 7 == 2 { 2 } else { 128 * n as u32 };
        assert_eq!(turns(100, 7, Shown { expected: by_chance, ..rows }), [CONDITION]);
        // The near misses: a lock's threads had waited for it, and what forty rows show may be chance.
        assert_eq!(turns(100, 7, Shown { waited_here: true, ..rows }), [UNKNOWN]);
        assert_eq!(turns(40, 7, rows), [UNKNOWN]);
        // Two futexes, each with one thread that waits at it: a parking lock's are like that.
        assert_eq!(turns(100, 2, rows), [UNKNOWN]);
    }

    #[test]
    fn a_word_that_says_taken_is_a_lock_s() {
        let lock = Shown { waited_here: true, many: false, expected: |_| 1 };
        assert_eq!(turns(100, 1, lock), [LOCK]);
        assert_eq!(turns(100, 7, lock), [LOCK]);
        // The near misses: a barrier's generation, which starts at one, a flag, whose turn it is, and many locks that hardly
        // anybody waits for, which nobody can tell from mailboxes.
        assert_eq!(turns(100, 1, Shown { many: true, ..lock }), [UNKNOWN]);
        assert_eq!(turns(100, 1, Shown { expected: |_| 0, ..lock }), [UNKNOWN]);
        assert_eq!(turns(100, 1, Shown { expected: |n| 1 + n as u32 % 2, ..lock }), [UNKNOWN]);
        assert_eq!(turns(100, 7, Shown { waited_here: false, ..lock }), [UNKNOWN]);
    }

    #[test]
    fn a_lock_of_short_use_is_no_barrier() {
        let lock = |many: bool| {
            let mut tables = Sketch::new(4)
                .traced(4, |run| {
                    for (name, late, waker) in [("a", 0, "d"), ("b", 1, "a"), ("c", 2, "b"), ("d", 3, "c")] {
                        let thread = run.thread(name).runs(ms(1) + us(late * 20), NAMELESS);
                        (0..9).fold(thread, |t, _| t.locks(0x100, us(60), NAMELESS, waker).runs(ms(1), NAMELESS));
                    }
                })
                .tables();
            tables.waits.iter_mut().for_each(|w| w.expected = Some(if many { 0 } else { 1 }));
            tables.wakes.iter_mut().for_each(|w| (w.waker_waited_here, w.wakes_many) = (Some(true), Some(many)));
            let mut found = purposes(&tables);
            found.dedup();
            found
        };
        assert_eq!(lock(false), [LOCK]);
        // The same ends of waits are a barrier's where one call wakes all.
        assert_eq!(lock(true), [(Purpose::Barrier, Ground::Structure)]);
    }

    #[test]
    fn a_crowd_woken_at_once_stood_at_a_barrier() {
        let mut tables = Sketch::new(4)
            .traced(4, |run| {
                for (name, waker) in [("a", "d"), ("b", "d"), ("c", "d"), ("d", "a")] {
                    let early = if name == "d" { 9 } else { 3 };
                    let thread = run.thread(name).runs(ms(early), NAMELESS);
                    let thread = if name == "d" { thread } else { thread.locks(0x100, ms(6), NAMELESS, waker) };
                    let late = if name == "a" { 5 } else { 2 };
                    let thread = thread.runs(ms(late), NAMELESS);
                    let _ = if name == "a" { thread } else { thread.locks(0x100, ms(3) + us(5), NAMELESS, "a") };
                }
            })
            .tables();
        tables.waits.iter_mut().for_each(|w| w.expected = Some(0));
        assert_eq!(purposes(&tables), [(Purpose::Barrier, Ground::Structure); 4]);
    }

    #[test]
    fn a_thread_that_waits_for_a_tid_joins() {
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                run.thread("main").blocks(Reason::Futex, ms(9), NAMELESS);
                run.thread("a").runs(ms(9), NAMELESS);
            })
            .tables();
        tables.waits[0].expected = Some(101);
        assert_eq!(purposes(&tables), [(Purpose::Join, Ground::Structure)]);
    }
}
