//! Groups lock waits into locks.
//!
//! Waits at one shared address are one lock. Waits in the same library function called from the same line, or at the
//! same line of the program's own code, are one lock or a family of locks of one kind (arenas, buckets, parking locks,
//! whose futex belongs to the thread and not to the lock). So are the monitors that methods of one library's class take. Where
//! threads spin and never block, CPU samples in lock code show the lock.

use crate::account::lines::Why;
use crate::account::profile::{Doing, LibraryFunction, Spot, spot};
use crate::account::{Ledger, LineId};
use crate::answer::Culprit;
use crate::causes::shared::blame::{self, Blamed};
use crate::model::code::{file_name, place};
use crate::model::futex::{FutexWait, Object, Purpose, object};
use crate::model::stack_view::View;
use crate::runtimes;
use crate::runtimes::function_name::{FunctionName, readable, written};
use crate::statistics::MIN_SHARE;
use recording::ThreadId;
use recording::tables::ModuleKind;
use std::collections::{BTreeMap, BTreeSet};

/// An object is *the* lock of a group when more than this share of the blocked time was spent at it.
///
/// Decides: whether a cause gives the address, and with it the name, of its lock.
/// From: chosen: with more than half there cannot be a second one.
/// Shown by: `many_locks_of_one_make_are_one_cause`, `a_global_lock_has_its_variable_s_name`.
/// Wrong if: of two locks that the same code takes, one has slightly more of the waiting: it is named, and the other is
/// not.
const DOMINANT: f64 = 0.5;

/// Decides: whether the code that takes locks shows where they are, although a few threads slept for some: more than this
/// share of it must be away from where they sleep.
/// From: chosen: the code that releases a lock may be away from where it is taken; of a mutex under contention it was 55 % (the
/// kept recording of `list`). With four fifths, taking it costs a quarter of releasing it.
/// Shown by: `readers_that_compete_are_told_and_not_the_writer_that_sleeps`.
/// Wrong if: one function takes a lock and another releases it, and the latter takes four times as long: it is named.
const ELSEWHERE: f64 = 0.8;

/// What samples in lock code show.
const LOCK_CODE: Doing<'_> = Doing::Synchronising(Why::Lock);

/// Waits for one lock, or for locks of one kind.
#[derive(Debug, Default)]
pub struct Group<'g, 't> {
    /// Its waits; empty where threads spin for the lock and never block.
    pub waits: Vec<&'g FutexWait<'t>>,
    /// The stacks that show it, weighted by nanoseconds blocked, or by samples where `awake`.
    pub views: Vec<(View<'t>, f64)>,
    /// True when its cost is the time of its code: threads never slept for it, or too little to be a cause.
    pub awake: bool,
    /// True where threads that do not get it sleep for a moment and try again.
    pub naps: bool,
    /// Processor-seconds per unit of work lost to it.
    pub seconds: f64,
    /// Blocked nanoseconds at each shared address.
    pub objects: BTreeMap<Object, f64>,
    /// Threads that waited.
    pub threads: BTreeSet<ThreadId>,
}

impl Group<'_, '_> {
    /// How often a thread blocked.
    pub fn count(&self) -> u64 {
        self.waits.iter().fold(0, |n, w| n.saturating_add(w.wait.count))
    }

    /// Nanoseconds blocked, all threads.
    pub fn blocked_ns(&self) -> f64 {
        self.waits.iter().map(|w| w.wait.blocked_ns as f64).sum()
    }

    /// True when the lock is a library's.
    pub fn in_library(&self) -> bool {
        blame::heaviest(&self.views, Blamed::Responsible).is_some_and(|(library, _)| library)
    }

    /// True for the lock of an interpreter, which all code of the program takes.
    pub fn is_interpreter_s(&self) -> bool {
        self.views.iter().any(|(view, _)| view.runtime_lock.is_some_and(|lock| !lock.taken_by_program))
    }

    /// True for a lock of a language's runtime that none of the program's code leads to, such as a scheduler's.
    pub fn is_runtime_s_own(&self) -> bool {
        let of_runtime = |view: &View<'_>| {
            let name = view.responsible().or(view.leaf).and_then(|code| code.name());
            view.own.is_none() && name.is_some_and(|name| runtimes::is_runtime(&FunctionName::new(name)))
        };
        let inside: f64 = self.views.iter().filter(|(view, _)| of_runtime(view)).map(|(_, weight)| weight).sum();
        inside > DOMINANT * self.views.iter().map(|(_, weight)| weight).sum::<f64>()
    }

    /// Who is to blame: the library function that owns the lock, else the program's line that takes it.
    pub fn culprit(&self) -> Option<Culprit> {
        let found = blame::culprit(&self.views, Blamed::Responsible)?;
        Some(Culprit { object: self.object().map(|a| format!("{a:#x}")), ..found })
    }

    /// The address of the lock, when most of the time was spent at one.
    pub fn object(&self) -> Option<u64> {
        let heaviest = self.objects.iter().max_by(|a, b| a.1.total_cmp(b.1));
        heaviest.filter(|(_, ns)| **ns > DOMINANT * self.blocked_ns()).map(|((_, address), _)| *address)
    }
}

/// Where a lock is taken, to tell kinds of locks apart. The first field says which one of a runtime it is: threads wait for
/// an interpreter's lock at any line, also where the program takes a lock of its own or of a library.
type Make<'t> = (Option<&'static str>, Option<&'t str>, &'t str, Option<&'t str>, Option<u32>, u64, Option<&'t str>);

fn make<'t>(wait: &FutexWait<'t>) -> Option<Make<'t>> {
    let own = wait.view.own;
    let function = wait.view.library().and_then(|c| c.name());
    let at = own.or(wait.view.leaf)?;
    let (file, line) = (at.frame.file.as_deref(), at.frame.line);
    // A method compiled at run time has several addresses, so its name is used.
    let method = at.name().filter(|_| at.kind == ModuleKind::Anonymous);
    let address = if line.is_some() || method.is_some() { 0 } else { at.frame.address };
    Some((wait.view.runtime_lock.map(|lock| lock.called), function, at.module, file, line, address, method))
}

/// The library's class whose methods take a monitor. A monitor has no address, and a program calls several methods of a class.
///
/// Decides: whether waits in several methods of a library, which a runtime compiled, are for one lock.
/// From: the model: methods of one class that are synchronized share the object's monitor. A transliterator of ICU and a cursor of
/// XMLBeans, each with several such methods, showed the need: the same lock was told as three causes.
/// Shown by: `methods_of_one_class_take_one_monitor`.
/// Wrong if: a program uses two objects of such a class, and only one of them is contended: both are told as one lock, the place
/// with more waiting first.
fn class_of_monitor<'t>(view: &View<'t>) -> Option<&'t str> {
    view.library_class.filter(|_| view.enters_lock)
}

/// The locks of an account, most lost seconds first.
pub fn groups<'g, 't>(ledger: &'g Ledger<'_, 't>) -> Vec<Group<'g, 't>> {
    let waits: Vec<&FutexWait> =
        ledger.futexes.values().filter(|w| w.purpose == Purpose::Lock && w.view.theme.is_none()).collect();
    let mut waiters: BTreeMap<Object, BTreeSet<ThreadId>> = BTreeMap::new();
    for wait in &waits {
        waiters.entry(object(ledger.traced, wait.wait)).or_default().insert(wait.wait.thread);
    }
    let shared = |o: &Object| waiters.get(o).is_some_and(|threads| threads.len() > 1);
    let (mut of_object, mut of_make, mut of_class) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (mut only, mut leader) = (BTreeMap::new(), Vec::new());
    for (i, wait) in waits.iter().enumerate() {
        leader.push(i);
        let object = object(ledger.traced, wait.wait);
        let of_runtime = wait.view.runtime_lock.map(|lock| lock.called);
        let first = if shared(&object) { *of_object.entry((object, of_runtime)).or_insert(i) } else { i };
        join(&mut leader, first, i);
        if let Some(make) = make(wait) {
            let first = *of_make.entry(make).or_insert(i);
            join(&mut leader, first, i);
        }
        if let Some(class) = class_of_monitor(&wait.view) {
            let first = *of_class.entry(class).or_insert(i);
            join(&mut leader, first, i);
        }
        if let Some(lock) = wait.view.runtime_lock.filter(|lock| lock.only_one) {
            let first = *only.entry(lock.called).or_insert(i);
            join(&mut leader, first, i);
        }
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (i, wait) in waits.iter().enumerate() {
        let group = groups.entry(root(&leader, i)).or_default();
        group.waits.push(wait);
        group.views.push((wait.view, wait.wait.blocked_ns as f64));
        group.threads.insert(wait.wait.thread);
        let object = object(ledger.traced, wait.wait);
        if shared(&object) {
            *group.objects.entry(object).or_default() += wait.wait.blocked_ns as f64;
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    if groups.is_empty() || is_taken_elsewhere(ledger, &groups) {
        groups.clear();
        // A function takes and releases a lock at different places and through different library functions, so samples
        // are grouped by the program's function.
        let mut of_function: BTreeMap<_, Group> = BTreeMap::new();
        for (view, count) in ledger.profile.sites_of(|d| d == LOCK_CODE) {
            let (library, own) = spot(&view);
            let function = view.own.and_then(|c| c.name()).map(written);
            let address = own.filter(|_| function.is_none()).map(|(_, address)| address);
            // What a compiler put into a method that takes a monitor has no name of a lock.
            let inlined = view.library_class.filter(|_| view.primitive.is_none());
            let key = match class_of_monitor(&view).or(inlined) {
                Some(class) => (Some((class, "")), None, None, None),
                None => (library, own.map(|(module, _)| module), function, address),
            };
            let group = of_function.entry(key).or_default();
            group.awake = true;
            group.views.push((view, count as f64));
        }
        groups.extend(of_function.into_values());
    }
    charge(ledger, &mut groups);
    groups.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    groups
}

/// True where hardly anybody sleeps for a lock, and most of the code that takes and releases locks is nowhere near those
/// who do: the readers of a read-write lock compete for its counter, and only its writer ever sleeps.
fn is_taken_elsewhere<'t>(ledger: &Ledger<'_, 't>, groups: &[Group<'_, 't>]) -> bool {
    let (code, idle) = booked(ledger);
    let spots = Spots::new(groups);
    let (mut elsewhere, mut all) = (0.0, 0.0);
    for (view, count) in ledger.profile.sites_of(|d| d == LOCK_CODE) {
        all += count as f64;
        elsewhere += if spots.group(&view).is_none() { count as f64 } else { 0.0 };
    }
    idle < MIN_SHARE * (idle + code) && elsewhere > ELSEWHERE * all
}

/// Each lock with the processor-seconds per unit of work that threads were blocked at it.
pub fn places(ledger: &Ledger<'_, '_>) -> Vec<(String, f64)> {
    let named = |group: &Group| {
        let blocked = group.blocked_ns() * 1e-9 / ledger.work;
        let culprit = group.culprit().filter(|_| blocked > 0.0)?;
        let site = culprit.callers.first().map(place);
        let name = match (culprit.function.filter(|_| group.in_library()), site) {
            (Some(function), Some(site)) => format!("{} called from {site}", readable(&function)),
            (Some(function), None) => readable(&function),
            (None, Some(site)) => site,
            (None, None) => "a lock without a known place".to_owned(),
        };
        Some((name, blocked))
    };
    groups(ledger).iter().filter_map(named).collect()
}

fn root(leader: &[usize], mut at: usize) -> usize {
    while let Some(next) = leader.get(at).filter(|n| **n < at) {
        at = *next;
    }
    at
}

fn join(leader: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(leader, a), root(leader, b));
    if let Some(l) = leader.get_mut(a.max(b)) {
        *l = a.min(b);
    }
}

/// The words for the account's lines about locks; `None` for other lines.
pub fn lines(id: LineId) -> Option<&'static str> {
    Some(match id {
        LineId::Blocked(Why::Lock) => "waiting for locks",
        LineId::WokenForLock => "given a lock, not running",
        LineId::Synchronising(Why::Lock) => "lock and futex code",
        _ => return None,
    })
}

/// Divides the account's lock lines among the locks: waiting by the idle capacity charged to each wait, code by
/// samples.
fn charge<'t>(ledger: &Ledger<'_, 't>, groups: &mut [Group<'_, 't>]) {
    let (code, idle) = booked(ledger);
    let charged = |g: &Group| -> f64 { g.waits.iter().filter_map(|w| ledger.split.by_wait.get(&w.wait.wait)).sum() };
    let waited: Vec<f64> = groups.iter().map(charged).collect();
    let spots = Spots::new(groups);
    let mut sampled: Vec<Vec<(View, f64)>> = vec![Vec::new(); groups.len()];
    for (view, count) in ledger.profile.sites_of(|d| d == LOCK_CODE) {
        if let Some(part) = spots.group(&view).and_then(|at| sampled.get_mut(at)) {
            part.push((view, count as f64));
        }
    }
    let sum = |views: &[(View, f64)]| views.iter().map(|(_, count)| count).sum::<f64>();
    let (all_waited, all_sampled): (f64, f64) = (waited.iter().sum(), sampled.iter().map(|views| sum(views)).sum());
    let even = 1.0 / groups.len().max(1) as f64;
    for ((group, waited), sampled) in groups.iter_mut().zip(waited).zip(sampled) {
        let of_samples = (all_sampled > 0.0).then(|| sum(&sampled) / all_sampled);
        let by_wait = if all_waited > 0.0 { waited / all_waited } else { of_samples.unwrap_or(even) };
        let by_sample = of_samples.unwrap_or(by_wait);
        group.seconds = idle * by_wait + code * by_sample;
        group.naps = group.waits.is_empty() && idle * by_wait > MIN_SHARE * group.seconds;
        if !sampled.is_empty() && idle * by_wait < MIN_SHARE * group.seconds {
            group.awake = true;
            group.views = sampled;
        }
    }
}

/// What the account books to locks, processor-seconds per unit of work: code, and waiting.
fn booked(ledger: &Ledger<'_, '_>) -> (f64, f64) {
    let is_code = |id: LineId| id == LineId::Synchronising(Why::Lock);
    let booked = |code: bool| {
        let lines = ledger.account.lines.iter().filter(|l| lines(l.id).is_some() && is_code(l.id) == code);
        lines.map(|l| l.seconds).sum()
    };
    (booked(true), booked(false))
}

/// To which of some locks code belongs, by where threads wait for them. A lock is released at another place than it is
/// waited for: the library function alone then decides.
struct Spots<'t> {
    exact: BTreeMap<Spot<'t>, usize>,
    by_function: BTreeMap<LibraryFunction<'t>, usize>,
}

impl<'t> Spots<'t> {
    fn new(groups: &[Group<'_, 't>]) -> Spots<'t> {
        let (mut exact, mut by_function) = (BTreeMap::new(), BTreeMap::new());
        for (at, group) in groups.iter().enumerate() {
            for (view, _) in &group.views {
                let spot = spot(view);
                exact.entry(spot).or_insert(at);
                if let Some(function) = spot.0 {
                    by_function.entry(function).or_insert(at);
                }
            }
        }
        Spots { exact, by_function }
    }

    fn group(&self, view: &View<'t>) -> Option<usize> {
        let spot = spot(view);
        self.exact.get(&spot).or_else(|| spot.0.and_then(|function| self.by_function.get(&function))).copied()
    }
}

/// A library by the name that people use: `libc` for `libc.so.6`.
pub fn library_name(module: &str) -> &str {
    file_name(module).split(".so").next().unwrap_or(module)
}
