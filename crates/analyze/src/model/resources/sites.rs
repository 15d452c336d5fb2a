//! Waits grouped by the place of the program that acquires.

use crate::model::code::{Code, Owner};
use crate::model::futex::{FutexWait, Ground, Object, Purpose, object};
use crate::model::run::Traced;
use crate::model::stacks::Stacks;
use crate::model::task_sleeps::SleepReason;
use crate::runtimes::{self, Primitive};
use recording::tables::{Reason, Wait};
use recording::{StackId, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// Decides: whether futexes of one place belong to one object: those less than this many bytes apart do.
/// From: a condition of glibc has several futexes in 48 bytes, which may begin in one cache line and end in the next.
/// Shown by: `tests`.
/// Wrong if: two pools lie side by side in an array: they are then reported as one, and its size is the sum of both.
const ONE_OBJECT: u64 = 128;

/// What names say about a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The user said that it takes one of several things.
    ByUser,
    /// It waits at a semaphore, which counts things.
    Semaphore,
    /// It waits at a condition, a queue or a channel.
    Condition,
    /// It may be a lock.
    MayBeLock,
    /// The place is a function of an interpreter, in which all of its programs wait.
    Hidden,
}

/// Waits at one place of the program.
#[derive(Debug)]
pub(super) struct AcquireSite<'t> {
    /// The program's function that acquires.
    pub(super) place: Code<'t>,
    pub(super) said: Said,
    pub(super) waits: Vec<&'t Wait>,
    /// True when each thread waits at its own futexes and not at a common one.
    pub(super) private: bool,
}

impl AcquireSite<'_> {
    pub(super) fn waiters(&self) -> BTreeSet<ThreadId> {
        self.waits.iter().map(|w| w.thread).collect()
    }
}

/// What the names in a wait's stack say; `None` where it waits for something else.
fn said(traced: &Traced<'_>, wait: &Wait, own: &Code<'_>, futex: Option<&FutexWait<'_>>) -> Option<Said> {
    let hidden = runtimes::is_interpreter(own.module_file);
    let Some(futex) = futex else {
        // A thread that polls waits for any of many things. One that reads a pipe waits for something put into it.
        let handed = wait.reason == Reason::Pipe && traced.handed.contains(&wait.wait);
        return handed.then_some(if hidden { Said::Hidden } else { Said::Condition });
    };
    let view = &futex.view;
    if view.theme.is_some() || view.service || view.wakes || view.parked.is_some() || view.runtime_lock.is_some() {
        return None;
    }
    match (view.primitive, futex.purpose) {
        (Some(Primitive::Pool), _) => Some(Said::ByUser),
        _ if hidden => Some(Said::Hidden),
        (None | Some(Primitive::Lock | Primitive::Condition), _) if view.calls_semaphore => Some(Said::Semaphore),
        (Some(Primitive::Condition), _) => Some(Said::Condition),
        (Some(_), _) => None,
        // Named by other waits at the same address.
        (None, purpose) if futex.ground == Ground::Name => (purpose == Purpose::Condition).then_some(Said::Condition),
        (None, Purpose::Lock | Purpose::Unknown | Purpose::Condition) => Some(Said::MayBeLock),
        (None, Purpose::Barrier | Purpose::Join | Purpose::Sleep) => None,
    }
}

/// True for an executor's worker without a task: workers wake each other when they find tasks.
fn waits_for_tasks(stacks: &Stacks<'_>, wait: &Wait) -> bool {
    stacks.view(wait.user_stack, wait.syscall.is_some()).without_task
}

/// True for a wait that may hide a task waiting for one of a few things: the thread has no task that can run, it polls
/// as an event loop does, or it waits in an interpreter.
pub fn is_hidden(traced: &Traced<'_>, stacks: &Stacks<'_>, wait: &Wait) -> bool {
    match traced.task_sleeps.reason(wait.wait) {
        Some(SleepReason::Ended | SleepReason::Spare) => false,
        // Tasks that wait for such a thing show by themselves.
        Some(_) => !traced.tasks_seen,
        None => {
            let view = stacks.view(wait.user_stack, wait.syscall.is_some());
            let interpreted = || view.own.is_some_and(|c| runtimes::is_interpreter(c.module_file));
            let futex = wait.reason == Reason::Futex && view.runtime_lock.is_none() && interpreted();
            futex || wait.reason == Reason::Poll || waits_for_tasks(stacks, wait)
        }
    }
}

/// The program's function: process id, module, name, address, and the kind of wait.
type SitePlace<'t> = (u32, &'t str, Option<&'t str>, u64, WaitKind);

/// Waits of different kinds at one place are for different things.
type WaitKind = (bool, bool);

/// The places at which threads may wait for one of a few things.
pub(super) fn sites<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
) -> Vec<AcquireSite<'t>> {
    let callers = callers(traced, stacks);
    let mut places: BTreeMap<SitePlace<'_>, (Code<'t>, Said, Vec<&'t Wait>)> = BTreeMap::new();
    for wait in traced.waits.values().copied().filter(|w| w.blocked_ns > 0) {
        let futex = futexes.get(&wait.wait);
        let view = stacks.view(wait.user_stack, wait.syscall.is_some());
        let Some(own) = view.own.filter(|_| !waits_for_tasks(stacks, wait)) else { continue };
        let cut = wait.user_stack.is_some_and(|stack| stacks.is_cut(stack));
        let whole = callers.get(&(own.module, own.name())).filter(|_| cut);
        let own = whole.map_or(own, |(caller, _)| *caller);
        let Some(said) = said(traced, wait, &own, futex) else { continue };
        let address = if own.name().is_some() { 0 } else { own.frame.address };
        let kind = (futex.is_some(), said == Said::MayBeLock);
        let key = (traced.pid(wait.thread).unwrap_or(0), own.module, own.name(), address, kind);
        let (_, known, waits) = places.entry(key).or_insert_with(|| (own, said, Vec::new()));
        if said == Said::ByUser {
            *known = said;
        }
        waits.push(wait);
    }
    places.into_values().flat_map(|(place, said, waits)| by_object(traced, place, said, waits)).collect()
}

/// For each library function in which threads wait, the function of the program that calls it, where one does so for
/// most of that time: a stack that breaks off inside the library is then known to begin there.
fn callers<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>) -> BTreeMap<LibraryCall<'t>, (Code<'t>, f64)> {
    let mut all: BTreeMap<LibraryCall<'t>, BTreeMap<Option<&'t str>, (Code<'t>, f64)>> = BTreeMap::new();
    let mut blocked: BTreeMap<StackId, f64> = BTreeMap::new();
    for wait in traced.waits.values() {
        if let Some(stack) = wait.user_stack {
            *blocked.entry(stack).or_default() += wait.blocked_ns as f64;
        }
    }
    for (stack, blocked) in blocked {
        let frames = stacks.frames(stack);
        let Some(own) = frames.iter().find(|c| c.owner == Owner::Own && c.name().is_some()).copied() else { continue };
        for code in frames.iter().take_while(|c| c.owner != Owner::Own).filter(|c| c.name().is_some()) {
            let of = all.entry((code.module, code.name())).or_default();
            of.entry(own.name()).or_insert((own, 0.0)).1 += blocked;
        }
    }
    let most = |of: BTreeMap<Option<&'t str>, (Code<'t>, f64)>| {
        let sum: f64 = of.values().map(|(_, blocked)| blocked).sum();
        of.into_values().find(|(_, blocked)| *blocked > MOST * sum)
    };
    all.into_iter().filter_map(|(call, of)| Some((call, most(of)?))).collect()
}

/// A function of a library: its module and its name.
type LibraryCall<'t> = (&'t str, Option<&'t str>);

/// Decides: which caller a library function is taken to have where a stack breaks off inside it: the one that calls it
/// for more than this share of the time that threads wait there, as far as whole stacks tell.
/// From: the definition of a majority.
/// Shown by: `a_stack_that_breaks_off_in_a_pool_belongs_to_its_caller`.
/// Wrong if: stacks break off in calls by one function only, and others call it for longer.
const MOST: f64 = 0.5;

/// The waits of a place, by the object waited at where threads share it.
fn by_object<'t>(traced: &Traced<'t>, place: Code<'t>, said: Said, waits: Vec<&'t Wait>) -> Vec<AcquireSite<'t>> {
    let key = |wait: &Wait| -> Option<Object> {
        // A file descriptor's number is the same in all threads of a process.
        match wait.object {
            Some(_) if wait.reason == Reason::Futex => Some(object(traced, wait)),
            other => other.map(|number| (traced.pid(wait.thread).unwrap_or(0), number)),
        }
    };
    let mut objects: BTreeMap<Option<Object>, Vec<&Wait>> = BTreeMap::new();
    for wait in waits {
        objects.entry(key(wait)).or_default().push(wait);
    }
    let mut near: Vec<(Option<Object>, Vec<&Wait>)> = Vec::new();
    for (object, waits) in objects {
        let beside = |last: &Option<Object>| match (last, &object) {
            (Some(a), Some(b)) => {
                a.0 == b.0
                    && b.1.saturating_sub(a.1) < ONE_OBJECT
                    && waits.first().is_some_and(|w| w.reason == Reason::Futex)
            }
            _ => false,
        };
        match near.last_mut() {
            Some((last, all)) if beside(last) => {
                all.extend(waits);
                *last = object;
            }
            _ => near.push((object, waits)),
        }
    }
    let threads = |waits: &[&Wait]| waits.iter().map(|w| w.thread).collect::<BTreeSet<_>>().len();
    let (shared, own): (Vec<_>, Vec<_>) =
        near.into_iter().map(|(_, waits)| waits).partition(|waits| threads(waits) > 1);
    let blocked = |waits: &[Vec<&Wait>]| waits.iter().flatten().map(|w| w.blocked_ns as f64).sum::<f64>();
    let mostly_own = blocked(&own) > blocked(&shared) || is_by_chance(&shared);
    let site = |waits: Vec<&'t Wait>, private| AcquireSite { place, said, waits, private };
    match mostly_own {
        true => vec![site(shared.into_iter().chain(own).flatten().collect(), true)],
        false => shared.into_iter().map(|waits| site(waits, false)).collect(),
    }
}

/// Decides: whether each thread waits at an object of its own although some objects have several threads: on average,
/// an object must have fewer threads than this.
/// From: a thread that queues with a futex on its own stack may use the address of another that has ended, and a third
/// one seldom does; a pool's object has all of its threads.
/// Wrong if: many pools are shared by two threads each: they are taken for one place without a shared object.
const SHARED_BY: f64 = 3.0;

/// Decides: from how many objects on their threads are averaged to tell whether they are shared by chance.
/// From: chosen: two pools with two threads each are usual in a program, and three of them are not.
/// Wrong if: a program has three pools with two threads each.
const FEWEST_OBJECTS: usize = 3;

/// True where several threads have waited at the same objects by chance.
fn is_by_chance(shared: &[Vec<&Wait>]) -> bool {
    shared.len() >= FEWEST_OBJECTS && threads_each(shared) < SHARED_BY
}

/// Average number of threads per object.
fn threads_each(objects: &[Vec<&Wait>]) -> f64 {
    let threads = |waits: &Vec<&Wait>| waits.iter().map(|w| w.thread).collect::<BTreeSet<_>>().len();
    objects.iter().map(threads).sum::<usize>() as f64 / objects.len().max(1) as f64
}
