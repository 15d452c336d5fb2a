//! What a thread waited for at a futex: a lock, a condition, a barrier, a thread's end, or something unknown. Rooms:
//! [`traffic`] what happened at one address, and what that tells; [`places`] the same at one place of the code;
//! [`gathering`] barriers that programs build themselves; [`given_back`] what tasks wait for that have no thread.
//! May import: `code`, `linux`, `run`, `stack_view`, `stacks`, `task_sleeps`, `runtimes`, `recording`.
//!
//! Two kinds of evidence. *Names* in the stack, where there are any. *Structure*: which threads wait at an address,
//! which threads wake them, where the wakers had waited before, and which value the futex was expected to have. Threads
//! that wait for a lock also release it; threads that wait for work are woken by those that bring it.

mod gathering;
mod given_back;
mod places;
mod traffic;

use crate::model::linux::SyscallNumbers;
use crate::model::run::Traced;
use crate::model::stack_view::View;
use crate::model::stacks::Stacks;
use crate::model::task_sleeps::SleepReason;
use crate::runtimes::{self, Primitive};
pub use gathering::gatherings;
use given_back::given_back;
use places::FutexPlace;
pub use places::Object;
use recording::tables::{Reason, Wait};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};
pub use traffic::{Purpose, object};
use traffic::{by_neighbour, by_structure, crowd, has_lock_value, only_the_clock_ends, traffic};

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

/// Classifies all futex waits of a run.
pub fn classify<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    numbers: SyscallNumbers,
) -> BTreeMap<WaitId, FutexWait<'t>> {
    let traffic = traffic(traced, stacks, numbers);
    let mut places_of_code: BTreeMap<(&str, u64), FutexPlace> = BTreeMap::new();
    let place = |wait: &Wait| {
        let view = stacks.view(wait.user_stack, true);
        let at = view.nameless.or(view.responsible());
        at.map_or(("", 0), |c| (c.module, c.frame.address))
    };
    for wait in traced.waits.values().filter(|w| w.reason == Reason::Futex) {
        let at = places_of_code.entry(place(wait)).or_default();
        at.wait(wait, object(traced, wait), has_lock_value(traced, wait, stacks));
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
    let tids: BTreeSet<u32> = traced.threads.values().map(|t| t.tid).collect();
    let mut together: BTreeMap<BTreeSet<(&str, u64)>, FutexPlace> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for at in traffic.values() {
        let places: BTreeSet<(&str, u64)> = at.waits.iter().map(|w| place(w)).collect();
        // Many objects share the same places. Summing these once keeps this from being quadratic in the objects.
        let around = together.entry(places).or_insert_with_key(|places| {
            let mut sum = FutexPlace::default();
            places.iter().filter_map(|p| places_of_code.get(p)).for_each(|p| sum.add(p));
            sum
        });
        let structure = by_structure(at, around, &elsewhere, &tids, &|| crowd(traced, at));
        let named = by_neighbour(at, stacks);
        for wait in &at.waits {
            if let Some((primitive, view)) = given_back(traced, stacks, wait) {
                let (purpose, ground) = (primitive.into(), Ground::Name);
                found.insert(wait.wait, FutexWait { wait, purpose, ground, view });
                continue;
            }
            let view = stacks.view(wait.user_stack, true);
            let (purpose, ground) = match (view.primitive, structure, named) {
                // In a task scheduler, tasks hand things to each other, not threads.
                _ if view.parked.is_some() => of_task(traced, wait),
                _ if traced.gatherings.contains(&wait.wait) => (Purpose::Barrier, Ground::Structure),
                (None | Some(Primitive::Condition), _, _) if is_pause(traced, wait, &view) => {
                    (Purpose::Sleep, Ground::Name)
                }
                (Some(primitive), _, _) => (primitive.into(), Ground::Name),
                (None, Purpose::Unknown, Some(primitive)) => (primitive.into(), Ground::Name),
                (None, Purpose::Unknown, None) => (Purpose::Unknown, Ground::None),
                (None, purpose, _) => (purpose, Ground::Structure),
            };
            found.insert(wait.wait, FutexWait { wait, purpose, ground, view });
        }
    }
    // A library may wait for its lock without a futex: it sleeps by the clock and looks again.
    for wait in traced.waits.values().filter(|wait| wait.reason == Reason::Sleep) {
        let view = stacks.view(wait.user_stack, wait.syscall.is_some());
        if view.runtime_lock.is_some() {
            found.insert(wait.wait, FutexWait { wait, purpose: Purpose::Lock, ground: Ground::Name, view });
        }
    }
    found
}

/// True where the program itself parks a thread for a time, and the clock ends that: a pause, and no wait for another
/// thread. Below a queue's function, it is a wait for an item that does not come.
fn is_pause(traced: &Traced<'_>, wait: &Wait, view: &View<'_>) -> bool {
    let parks = view.entry.and_then(|entry| entry.name()).is_some_and(runtimes::parks_for_a_time);
    let wakes = traced.wakes.get(&wait.wait).into_iter().flatten().filter(|wake| wake.waker.is_some());
    parks && wait.timed && only_the_clock_ends(wait.count, wakes.map(|wake| wake.count).sum())
}

/// What a thread of a task scheduler waits for.
fn of_task(traced: &Traced<'_>, wait: &Wait) -> (Purpose, Ground) {
    match traced.task_sleeps.reason(wait.wait) {
        Some(SleepReason::Waits(primitive)) => (primitive.into(), Ground::Name),
        _ => (Purpose::Condition, Ground::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use recording::Tables;
    use recording::synthetic::{Sketch, ms, us};

    /// Only nameless frames of libc between the system call and the program's own code.
    const NAMELESS: &str = "?@libc.so.6 < ?@libc.so.6 < work@app app.c:7";

    fn purposes(tables: &Tables) -> Vec<(Purpose, Ground)> {
        let model = Model::new(tables);
        let found = classify(&model.traced[0], &model.stacks, model.numbers);
        found.values().map(|w| (w.purpose, w.ground)).collect()
    }

    /// A thread that waits with a time limit: `woken` times until another thread wakes it, `alone` times until the clock
    /// does.
    fn times_out(woken: u64, alone: u64) -> Vec<(Purpose, Ground)> {
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                run.thread("b").runs(ms(5 * (woken + alone)), NAMELESS);
                let a = run.thread("a");
                let a = (0..woken).fold(a, |a, _| a.locks(0x100, ms(5), NAMELESS, "b"));
                (0..alone).fold(a, |a, _| a.waits_for(Reason::Futex, "0x100", None, ms(5), NAMELESS));
            })
            .tables();
        tables.waits.iter_mut().for_each(|wait| (wait.timed, wait.object) = (true, Some(0x100)));
        purposes(&tables)
    }

    #[test]
    fn a_futex_that_only_the_clock_ends_is_a_sleep() {
        assert_eq!(times_out(0, 12), [(Purpose::Sleep, Ground::Structure)]);
        // Near misses: a thread ends a quarter of them; and there are too few to tell.
        assert!(times_out(4, 12).iter().all(|found| found.0 == Purpose::Unknown));
        assert_eq!(times_out(0, 8), [(Purpose::Unknown, Ground::None)]);
    }

    #[test]
    fn a_pause_of_the_program_s_own_is_a_sleep() {
        const PAUSE: &str = "?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < Parker::park(bool, long)@libjvm.so < \
                             java.util.concurrent.locks.LockSupport.parkNanos@anonymous < \
                             com.acme.Desk.quote@anonymous Desk.java:5";
        // Of sixteen waits at a futex, which has others too, a thread ends so many.
        let is_sleep = |stack: &str, woken: u64| {
            let mut tables = Sketch::new(2)
                .traced(2, |run| {
                    run.thread("b").runs(ms(200), NAMELESS);
                    let a = (0..16).fold(run.thread("a"), |a, _| a.locks(0x100, ms(5), stack, "b"));
                    (0..16).fold(a, |a, _| a.locks(0x100, ms(5), NAMELESS, "b"));
                })
                .tables();
            tables.waits.iter_mut().for_each(|wait| wait.timed = true);
            let first = tables.waits[0].wait;
            tables.wakes.iter_mut().filter(|wake| wake.wait == first).for_each(|wake| wake.count = woken);
            purposes(&tables).contains(&(Purpose::Sleep, Ground::Name))
        };
        assert!(is_sleep(PAUSE, 0));
        // Near misses: another thread ends a quarter of them; and a queue's function waits for an item.
        assert!(!is_sleep(PAUSE, 4));
        assert!(!is_sleep(&PAUSE.replace("< com.", "< java.util.concurrent.DelayQueue.take@anonymous < com."), 0));
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
        // So is one inside of a library. Near miss: what it waits at is no semaphore.
        let inside = "?@libc.so.6 < __new_sem_wait_slow64@libc.so.6 < ?@libfftw3.so.3 < fftw_plan@libfftw3.so.3 < work@app app.c:7";
        assert_eq!(purposes(&hand_over(0, inside)), [(Purpose::Lock, Ground::Structure); 2]);
        let other = inside.replace("__new_sem_wait_slow64", "wait");
        assert_eq!(purposes(&hand_over(0, &other)), [(Purpose::Unknown, Ground::None); 2]);
    }

    /// Where a task of tokio's waits for a lock, its thread finds nothing to run.
    #[test]
    fn a_scheduler_s_thread_waits_for_the_lock_that_a_task_gives_back() {
        const REGISTRY: &str = "/root/.cargo/registry/src/index/tokio/src/x.rs:1";
        let of = |guard: &str, inside: &str| {
            let park = format!(
                "syscall@libc.so.6 < tokio::runtime::park::Inner::park@app {REGISTRY}{inside} < \
                 tokio::runtime::scheduler::multi_thread::worker::run@app {REGISTRY}"
            );
            let release = format!(
                "<core::task::wake::Waker>::wake@app {REGISTRY} < \
                 tokio::sync::batch_semaphore::Semaphore::add_permits_locked@app {REGISTRY} < {guard}@app {REGISTRY} < \
                 publish@app app.rs:81"
            );
            let mut tables = Sketch::new(2)
                .traced(2, |run| {
                    run.thread("a").runs(ms(5), &release).locks(0x100, ms(5), &park, "b");
                    run.thread("b").locks(0x200, ms(5), &park, "a").runs(ms(5), &release);
                })
                .tables();
            let stack = tables.samples.first().and_then(|sample| sample.user_stack);
            tables.wakes.iter_mut().for_each(|wake| wake.waker_stack = stack);
            tables.waits.iter_mut().for_each(|wait| wait.expected = Some(0));
            let model = Model::new(&tables);
            let found = classify(&model.traced[0], &model.stacks, model.numbers);
            let own = |w: &FutexWait<'_>| w.view.own.and_then(|c| c.name()).map(ToOwned::to_owned);
            found.values().map(|w| (w.purpose, own(w))).collect::<Vec<_>>()
        };
        let guard = "<tokio::sync::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop";
        let lock = (Purpose::Lock, Some("publish".to_owned()));
        assert_eq!(of(guard, ""), [lock.clone(), lock]);
        // Near misses: what is given back is a message; and a task that blocks its thread.
        let others = [of("tokio::sync::oneshot::Sender<T>::send", ""), of(guard, " < wait@app app.rs:7")];
        assert!(others.iter().flatten().all(|found| found.0 != Purpose::Lock), "{others:?}");
    }

    /// Between taking and releasing one, a thread waits for the interpreter's lock at another address.
    #[test]
    fn a_lock_object_whose_waiters_wake_each_other_is_a_lock() {
        let of = |between: &str| {
            let stack = format!(
                "?@libc.so.6 < __new_sem_wait_slow64@libc.so.6 < PyThread_acquire_lock_timed@libpython3.11.so.1.0 < \
                 {between}handle@anonymous shop.py:9"
            );
            let mut tables = hand_over(0, &stack);
            tables.wakes.iter_mut().for_each(|wake| wake.same_object = false);
            purposes(&tables)
        };
        assert_eq!(of(""), [(Purpose::Lock, Ground::Structure); 2]);
        let event = "Condition.wait@anonymous /usr/lib/python3.11/threading.py:3 < ";
        assert_eq!(of(event), [(Purpose::Condition, Ground::Name); 2], "an event waits at a lock object inside");
        let fed = Sketch::new(2)
            .traced(2, |run| {
                let stack = "PyThread_acquire_lock_timed@libpython3.11.so.1.0 < handle@anonymous shop.py:9";
                run.thread("a").runs(ms(5), NAMELESS).locks(0x100, ms(5), stack, "b");
                run.thread("b").runs(ms(10), NAMELESS);
            })
            .tables();
        assert_eq!(purposes(&fed), [(Purpose::Condition, Ground::Structure)], "b never takes it");
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

    /// What the wake-ups of two threads that wait for each other show.
    #[derive(Clone, Copy)]
    struct Shown {
        waited_here: bool,
        many: bool,
        expected: fn(u64) -> u32,
    }

    /// Two threads that wait for each other in turns, `count` turns in all, at `futexes` futexes.
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
        // A ring of seven counters, where both threads wait at each sooner or later. Then one counter for each turn.
        assert_eq!(turns(100, 7, rows), [CONDITION]);
        assert_eq!(turns(100, 100, rows), [CONDITION]);
        // A counter may happen to have a lock's value when a thread first waits for it.
        let by_chance = |n: u64| if n % 7 == 2 { 2 } else { 128 * n as u32 };
        assert_eq!(turns(100, 7, Shown { expected: by_chance, ..rows }), [CONDITION]);
        // Near misses: the wakers had waited at the same futex, as at a lock; and forty turns may show this by chance.
        assert_eq!(turns(100, 7, Shown { waited_here: true, ..rows }), [UNKNOWN]);
        assert_eq!(turns(40, 7, rows), [UNKNOWN]);
        // Two futexes, each with one thread that waits at it, as in a parking lock.
        assert_eq!(turns(100, 2, rows), [UNKNOWN]);
    }

    #[test]
    fn a_word_that_says_taken_is_a_lock_s() {
        let lock = Shown { waited_here: true, many: false, expected: |_| 1 };
        assert_eq!(turns(100, 1, lock), [LOCK]);
        assert_eq!(turns(100, 7, lock), [LOCK]);
        // Near misses: a barrier's generation, which starts at one; a flag; a word that says whose turn it is; and many
        // locks with little contention, which cannot be told from mailboxes.
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
        // The same ends of waits show a barrier where one call wakes all.
        assert_eq!(lock(true), [(Purpose::Barrier, Ground::Structure)]);
    }

    /// Four threads, twice at one futex: the last wakes all others.
    fn crowd() -> Tables {
        Sketch::new(4)
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
            .tables()
    }

    #[test]
    fn a_crowd_woken_at_once_stood_at_a_barrier() {
        let mut tables = crowd();
        tables.waits.iter_mut().for_each(|w| w.expected = Some(0));
        assert_eq!(purposes(&tables), [(Purpose::Barrier, Ground::Structure); 4]);
    }

    /// Of each thread's waits only the first value is known: where the counter starts at 1, that is often a lock's.
    #[test]
    fn a_counter_that_passes_through_a_locks_value_is_no_lock() {
        let of = |many: bool| {
            let mut tables = crowd();
            tables.waits.iter_mut().for_each(|w| w.expected = Some(2));
            tables.wakes.iter_mut().for_each(|w| w.wakes_many = Some(many));
            purposes(&tables)
        };
        assert_eq!(of(true), [(Purpose::Barrier, Ground::Structure); 4]);
        // Near miss: each call wakes one thread, as a lock's does.
        assert_eq!(of(false), [(Purpose::Lock, Ground::Structure); 4]);
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
