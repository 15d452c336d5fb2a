//! The program's own functions that only take or release a lock for their caller, such as the `mutex_enter` and
//! `mutex_leave` of a library that is compiled into the program. The place to look at is their caller.
//!
//! Imports `code`, `run`, `stacks`, `runtimes`, `recording`.

use super::code::{Code, Owner};
use super::run::Traced;
use super::stacks::{OwnFunction, Stacks};
use crate::runtimes::Primitive;
use recording::StackId;
use recording::tables::{Reason, Wait};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A function takes a lock for its caller when a function that takes none releases it. This share of the time blocked in
/// it must end so, of the time of which that can be told.
///
/// Decides: whether the place of a lock is the function that takes it, or that function's caller.
/// From: chosen: nearly all. Such a function hands the lock to its caller, and another one takes it back.
/// Shown by: `what_only_takes_a_lock_for_its_caller_is_not_its_place`.
/// Wrong if: a function takes one lock for its caller and another one for itself, and waits for the other one more than a
/// tenth of the time: it stays the place.
const NEARLY_ALL: f64 = 0.9;

/// Of all time blocked in it, the share that must end so. Of a function whose last call releases the lock, only its callers
/// are in the stack, so that it cannot be told.
///
/// Decides: the same.
/// From: reasoned, not measured: where an object is made and destroyed, the latter often ends with the release, which is half
/// of the time; half of that leaves room.
/// Shown by: `who_takes_and_releases_a_lock_is_its_place`.
/// Wrong if: three of four functions that use a lock end with its release: the function that only takes it is reported.
const TELLING: f64 = 0.25;

/// Decides: with how many waits a function shows that it takes a lock for its caller.
/// From: arithmetic: with fewer, one release that was not seen is more than the rest of [`NEARLY_ALL`].
/// Shown by: `a_few_waits_do_not_show_it`.
/// Wrong if: a lock is waited for nine times in all, for long: its place is the function that only takes it.
const ENOUGH: u64 = 10;

/// Decides: how many such functions may call each other, as the constructor of a guard calls the method of a lock.
/// From: chosen: a guard, a lock class, and the function of the system that it wraps.
/// Shown by: `a_guard_around_a_lock_of_the_program_s_own_is_not_its_place`.
/// Wrong if: a lock is taken through four functions: the outermost is reported.
const NESTED: usize = 3;

/// Time that threads were blocked for a lock at one place, until another place released it.
struct LockHandOver {
    taken: StackId,
    released: StackId,
    blocked_ns: f64,
    blocks: u64,
}

/// What is known of a function that takes locks.
#[derive(Default)]
struct Taker<'t> {
    blocked_ns: f64,
    /// The part of the time that ended with a release by another function that takes none, and how often.
    apart_ns: f64,
    blocks: u64,
    /// The part that ended with a release by itself.
    itself_ns: f64,
    releases: HashSet<OwnFunction<'t>>,
    /// True when some function calls both, directly or not.
    has_common_caller: bool,
}

/// The functions of the program that take or release locks for their callers.
pub(super) fn lock_functions<'t>(runs: &[Traced<'t>], stacks: &Stacks<'t>) -> HashSet<OwnFunction<'t>> {
    let is_lock = |wait: &&&Wait| {
        let view = stacks.view(wait.user_stack, true);
        wait.reason == Reason::Futex
            && view.primitive == Some(Primitive::Lock)
            && view.library().is_none()
            && view.runtime_lock.is_none()
            && view.parked.is_none()
    };
    let mut taken: HashSet<StackId> = HashSet::new();
    let mut hand_overs = Vec::new();
    for run in runs {
        for wait in run.waits.values().filter(is_lock) {
            let Some(stack) = wait.user_stack else { continue };
            taken.insert(stack);
            for wake in run.wakes.get(&wait.wait).into_iter().flatten() {
                hand_overs.extend(wake.waker_stack.filter(|_| wake.waker.is_some()).map(|released| LockHandOver {
                    taken: stack,
                    released,
                    blocked_ns: wake.blocked_ns as f64,
                    blocks: wake.count,
                }));
            }
        }
    }
    let functions = |stack: StackId| -> Vec<OwnFunction<'t>> {
        let own = |code: &Code<'t>| (code.owner == Owner::Own).then(|| (code.module, code.name().unwrap_or_default()));
        stacks.frames(stack).iter().filter_map(own).collect()
    };
    let all = taken.iter().copied().chain(hand_overs.iter().map(|over| over.released));
    let functions: HashMap<StackId, Vec<OwnFunction>> = all.map(|stack| (stack, functions(stack))).collect();
    let mut found = HashSet::new();
    for _ in 0..NESTED {
        let more = around(&found, &taken, &hand_overs, &functions);
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found
}

/// The functions that take or release locks for their callers, if those that are `known` to do so are left out.
fn around<'t>(
    known: &HashSet<OwnFunction<'t>>,
    taken: &HashSet<StackId>,
    hand_overs: &[LockHandOver],
    functions: &HashMap<StackId, Vec<OwnFunction<'t>>>,
) -> HashSet<OwnFunction<'t>> {
    let rest = |stack: &StackId| {
        let all = functions.get(stack).map(Vec::as_slice).unwrap_or_default();
        all.get(all.iter().take_while(|function| known.contains(*function)).count()..).unwrap_or_default()
    };
    let waiting: HashSet<OwnFunction> = taken.iter().flat_map(rest).copied().collect();
    let mut takers: BTreeMap<OwnFunction, Taker> = BTreeMap::new();
    for over in hand_overs {
        let Some((taker, callers)) = rest(&over.taken).split_first().filter(|(taker, _)| !taker.1.is_empty()) else {
            continue;
        };
        let so_far = takers.entry(*taker).or_default();
        so_far.blocked_ns += over.blocked_ns;
        let released = rest(&over.released);
        let Some((by, others)) = released.split_first().filter(|(by, _)| !by.1.is_empty()) else { continue };
        if released.contains(taker) {
            so_far.itself_ns += over.blocked_ns;
        } else if !waiting.contains(by) {
            so_far.apart_ns += over.blocked_ns;
            so_far.blocks = so_far.blocks.saturating_add(over.blocks);
            so_far.releases.insert(*by);
            so_far.has_common_caller |= callers.iter().any(|caller| others.contains(caller));
        }
    }
    let for_callers = |taker: &Taker<'_>| {
        let told_ns = taker.apart_ns + taker.itself_ns;
        let telling = taker.apart_ns > TELLING * taker.blocked_ns && taker.blocks >= ENOUGH;
        telling && taker.has_common_caller && taker.apart_ns > NEARLY_ALL * told_ns
    };
    let found = takers.into_iter().filter(|(_, taker)| for_callers(taker));
    found.flat_map(|(name, taker)| taker.releases.into_iter().chain([name])).collect()
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use recording::Tables;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::Wake;

    /// Two threads take turns at a lock, `turns` times; where it is taken and where it is released.
    fn turns(turns: u64, taken: &str, released: &str) -> Tables {
        mixed(turns, taken, released, released, 1.0)
    }

    /// The same, where only a `share` of the time ended with a release at the first place.
    fn mixed(turns: u64, taken: &str, released: &str, elsewhere: &str, share: f64) -> Tables {
        let wait = format!("?@libc.so.6 < pthread_mutex_lock@libc.so.6 < {taken}");
        let [release, other_release] = [released, elsewhere].map(|at| format!("pthread_mutex_unlock@libc.so.6 < {at}"));
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                for (name, other, own) in [("a", "b", 0), ("b", "a", 1)] {
                    (0..turns).fold(run.thread(name), |thread, turn| match turn % 2 == own {
                        true => thread.runs(ms(3), &release).runs(ms(2), &other_release),
                        false => thread.locks(0x100, ms(5), &wait, other),
                    });
                }
            })
            .tables();
        let stack = tables.samples.first().and_then(|sample| sample.user_stack);
        let mut stacks = tables.samples.iter().map(|sample| sample.user_stack);
        let other = stacks.find(|other| *other != stack).unwrap_or(stack);
        let hundredth = |wake: &Wake, at: i32| {
            let count = if at == 0 { wake.count } else { 0 };
            (at, Wake { blocked_ns: wake.blocked_ns / 100, count, ..*wake })
        };
        let hundred = |wake: Wake| (0..100).map(move |at| hundredth(&wake, at));
        let wakes = std::mem::take(&mut tables.wakes).into_iter().flat_map(hundred);
        let at_first = |at: i32| f64::from(at) < share * 100.0;
        tables.wakes =
            wakes.map(|(at, wake)| Wake { waker_stack: if at_first(at) { stack } else { other }, ..wake }).collect();
        tables
    }

    /// Where the lock is taken, in the words of the model.
    fn place(tables: &Tables) -> Option<String> {
        let model = Model::new(tables);
        let wait = model.futexes.first().and_then(|waits| waits.values().next());
        wait.and_then(|wait| wait.view.responsible()).and_then(|code| code.name()).map(str::to_owned)
    }

    const ENTER: &str = "db_enter@app db.c:9 < allocate@app db.c:40 < serve@app app.c:7";
    const LEAVE: &str = "db_leave@app db.c:14 < allocate@app db.c:43 < serve@app app.c:7";

    #[test]
    fn what_only_takes_a_lock_for_its_caller_is_not_its_place() {
        assert_eq!(place(&turns(40, ENTER, LEAVE)).as_deref(), Some("allocate"));
        // The caller ends with the call that releases the lock, and so is not in the stack.
        let last = "db_leave@app db.c:14 < serve@app app.c:7";
        assert_eq!(place(&turns(40, ENTER, last)).as_deref(), Some("allocate"));
    }

    #[test]
    fn who_takes_and_releases_a_lock_is_its_place() {
        let (taken, released) = ("add@app app.c:9 < serve@app app.c:7", "add@app app.c:12 < serve@app app.c:7");
        assert_eq!(place(&turns(40, taken, released)).as_deref(), Some("add"));
        // Its last call releases the lock, so only its caller is in the stack.
        assert_eq!(place(&turns(40, taken, "serve@app app.c:7")).as_deref(), Some("add"));
        // Another function releases the lock, with which it has no caller in common.
        assert_eq!(place(&turns(40, taken, "drain@app app.c:30 < main@app app.c:50")).as_deref(), Some("add"));
    }

    #[test]
    fn a_guard_around_a_lock_of_the_program_s_own_is_not_its_place() {
        let taken = "Lock::lock@app lock.h:5 < Guard::Guard@app lock.h:20 < add@app app.cpp:9 < serve@app app.cpp:7";
        let released =
            "Lock::unlock@app lock.h:8 < Guard::~Guard@app lock.h:22 < add@app app.cpp:12 < serve@app app.cpp:7";
        assert_eq!(place(&turns(40, taken, released)).as_deref(), Some("add"));
    }

    /// Of a function that ends with the release, only its callers are in the stack.
    #[test]
    fn enough_of_the_releases_must_tell() {
        let last = "serve@app app.c:7";
        assert_eq!(place(&mixed(400, ENTER, LEAVE, last, 0.35)).as_deref(), Some("allocate"));
        assert_eq!(place(&mixed(400, ENTER, LEAVE, last, 0.1)).as_deref(), Some("db_enter"));
    }

    #[test]
    fn a_few_waits_do_not_show_it() {
        assert_eq!(place(&turns(8, ENTER, LEAVE)).as_deref(), Some("db_enter"));
    }
}
