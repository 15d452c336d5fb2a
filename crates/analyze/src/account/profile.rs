//! What the processors did, from the CPU samples of one traced run.

use super::kernel_code::{self, KernelCode};
use super::lines::{Why, Within};
use crate::model::code::{Code, Owner};
use crate::model::futex::{FutexWait, Purpose};
use crate::model::stack_view::View;
use crate::model::stacks::Stacks;
use crate::model::{Model, Traced};
use crate::runtimes::function_name::plain;
use crate::runtimes::{self, Primitive, Service, Theme};
use crate::sharing::{SharedMemoryWait, SharingKind};
use recording::tables::{Mode, ModuleKind, Sample};
use recording::{QuickMap, StackId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::{Discriminant, discriminant};

/// How many functions the one that runs may be below the library's function that the program called, so that it counts
/// as code of the lock that is taken in that function.
///
/// Decides: which processor time inside a library counts as code of its lock.
/// From: glibc's `random`, which does its work in `random_r` and has the inlined code of its lock around that.
/// Shown by: `work_deep_inside_a_library_is_not_its_lock`.
/// Wrong if: a library takes its lock deeper inside: the code of that is told as functions that take longer.
const NEAR_ENTRY: usize = 2;

/// A library function counts as the owner of a contended lock when its callers were blocked in it for more than this
/// share of the run's capacity.
///
/// Decides: whether CPU time in a library function is booked to the lock inside it.
/// From: chosen: a function that made one thread wait once has no lock problem; if it takes more time, that has other
/// reasons.
/// Shown by: `birthday_names_the_lock_inside_random`.
/// Wrong if: threads spin for a lock inside a library and hardly ever sleep on it: the function is then reported as
/// code that takes more time.
const CONTENDED_SHARE: f64 = 0.01;

/// Decides: for which running time a sample stands: at most so many sampling periods away. Nothing is said of what ran
/// further from any sample.
/// From: arithmetic: a thread that runs for a fifth of the time has one sample in five periods.
/// Shown by: `what_is_far_from_any_sample_is_not_told`.
/// Wrong if: a thread runs for less than a fifth of the time, and evenly: most of its lane stays untold.
const REACH_PERIODS: u64 = 5;

/// How far from a sample running time may be for which the sample stands, nanoseconds.
pub fn reach_ns(traced: &Traced<'_>) -> u64 {
    traced.trace.sample_period_ns.saturating_mul(REACH_PERIODS)
}

/// What a sample shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing<'t> {
    /// Taking, releasing or waiting at a futex of this purpose, in user space or in the kernel.
    Synchronising(Why),
    /// The memory allocator.
    Allocator(Within),
    /// The garbage collector.
    Collector,
    /// A runtime that compiles the program while it runs.
    Compiling,
    /// Creating or ending a thread.
    Creation,
    /// Trying to take a lock inside the kernel.
    KernelLock,
    /// Another system call.
    Call(u32),
    /// A page fault.
    Fault,
    /// An interrupt, or a part of the kernel that cannot be told.
    Interrupt,
    /// A function in user space: its name, and its module.
    Function(Option<&'t str>, &'t str),
    /// Delayed in user space at an instruction that uses a cache line shared by threads.
    Sharing(SharingKind),
    /// In a loop that waits for another thread to write.
    Spinning,
    /// No stack to tell.
    Unknown,
}

impl Doing<'_> {
    /// True for the program's work, as far as one run tells: whether it takes longer than it should shows only by
    /// comparison with another run.
    pub fn is_own(self) -> bool {
        matches!(self, Doing::Function(..) | Doing::Sharing(_) | Doing::Unknown)
    }
}

/// Library function and module.
pub type LibraryFunction<'t> = (&'t str, &'t str);

/// The samples of a run, counted.
#[derive(Debug, Clone, Default)]
pub struct Profile<'t> {
    /// Samples by what they show.
    pub counts: BTreeMap<Doing<'t>, u64>,
    /// The same by responsible function and the program's call site; plain functions are not included.
    pub sites: BTreeMap<(Doing<'t>, Spot<'t>), (u64, View<'t>)>,
    /// What each sample of the run shows, those outside the measured part too, by all that decides it.
    by_key: QuickMap<SampleKey, Doing<'t>>,
    /// What most samples inside each system call show, by its number.
    calls: BTreeMap<u32, Doing<'t>>,
    /// All samples.
    pub total: u64,
    /// Samples of threads that a runtime started to compile or to collect garbage, and of a collector's tasks in others,
    /// by what they show. A collection that the program's own thread runs is not among them.
    pub serving: BTreeMap<Doing<'t>, u64>,
}

impl<'t> Profile<'t> {
    /// What one of the samples shows; [`Doing::Unknown`] for a sample of another run.
    pub fn doing(&self, traced: &Traced<'t>, sample: &Sample) -> Doing<'t> {
        self.by_key.get(&key(traced, sample)).copied().unwrap_or(Doing::Unknown)
    }

    /// Numbers of system calls, and what each is for by most of the samples inside it: a futex call is lock and futex
    /// code. Calls without a sample are left out.
    pub fn calls(&self) -> impl Iterator<Item = (u32, Doing<'t>)> {
        self.calls.iter().map(|(number, doing)| (*number, *doing))
    }

    /// The share of all samples that a runtime's own threads have.
    pub fn served(&self) -> f64 {
        self.serving.values().sum::<u64>() as f64 / self.total.max(1) as f64
    }

    /// The share that a runtime's own threads have of the samples that show `doing`.
    pub fn served_of(&self, doing: Doing<'t>) -> f64 {
        let of = |counts: &BTreeMap<Doing<'t>, u64>| counts.get(&doing).copied().unwrap_or_default() as f64;
        of(&self.serving) / of(&self.counts).max(1.0)
    }

    /// Where the samples that `fits` selects were taken, and how many.
    pub fn sites_of(&self, fits: impl Fn(Doing<'t>) -> bool) -> impl Iterator<Item = (View<'t>, u64)> {
        self.sites.iter().filter(move |((doing, _), _)| fits(*doing)).map(|(_, (n, view))| (*view, *n))
    }
}

/// A responsible library function and the own frame's address that called it. Either may be missing.
pub type Spot<'t> = (Option<LibraryFunction<'t>>, Option<(&'t str, u64)>);

/// The spot of a view.
pub fn spot<'t>(view: &View<'t>) -> Spot<'t> {
    (library_function(view), view.own.map(|c| (c.module, c.frame.address)))
}

fn library_function<'t>(view: &View<'t>) -> Option<LibraryFunction<'t>> {
    view.library().and_then(|c| Some((plain(c.name()?), c.module)))
}

/// Library functions in which a run's threads waited noticeably long for a lock. All code made at run time seems to be
/// one library, so there it is the method that takes the lock, and not the one that the program called.
pub fn lock_owners<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
) -> BTreeSet<LibraryFunction<'t>> {
    let mut blocked: BTreeMap<LibraryFunction, f64> = BTreeMap::new();
    for wait in futexes.values().filter(|w| w.purpose == Purpose::Lock && w.view.theme.is_none()) {
        let function = match wait.view.entry.filter(|entry| entry.kind == ModuleKind::Anonymous) {
            Some(_) => wait.wait.user_stack.and_then(|stack| stacks.frames(stack).iter().find_map(method)),
            None => library_function(&wait.view),
        };
        if let Some(function) = function {
            *blocked.entry(function).or_default() += wait.wait.blocked_ns as f64;
        }
    }
    let capacity = traced.length_ns() as f64 * f64::from(traced.processors());
    blocked.into_iter().filter(|(_, ns)| *ns > CONTENDED_SHARE * capacity).map(|(f, _)| f).collect()
}

/// A method of code made at run time.
fn method<'t>(code: &Code<'t>) -> Option<LibraryFunction<'t>> {
    let named = code.kind == ModuleKind::Anonymous && !code.stub;
    code.name().filter(|_| named).map(|name| (plain(name), code.module))
}

/// All that decides what a sample shows; many samples share it.
type SampleKey = (Mode, Option<u32>, Option<StackId>, Option<StackId>, Option<Service>);

fn key(traced: &Traced<'_>, sample: &Sample) -> SampleKey {
    let service = traced.services.get(&sample.thread).copied();
    (sample.mode, sample.syscall, sample.user_stack, sample.kernel_stack, service)
}

/// Counts the samples of a run. `owners`: library functions that own a contended lock, of any run.
pub fn profile<'t>(
    model: &Model<'t>,
    traced: &Traced<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
    owners: &BTreeSet<LibraryFunction<'t>>,
) -> Profile<'t> {
    let purposes = Purposes::new(futexes);
    let mut seen: QuickMap<SampleKey, u64> = QuickMap::default();
    for sample in &traced.samples {
        *seen.entry(key(traced, sample)).or_default() += 1;
    }
    let mut found = Profile::default();
    // The account counts the measured part; pictures of the whole run ask for the rest.
    for sample in model.tables.samples.iter().filter(|sample| sample.run == traced.run.run) {
        seen.entry(key(traced, sample)).or_default();
    }
    let mut seen: Vec<(SampleKey, u64)> = seen.into_iter().collect();
    seen.sort_unstable();
    let mut calls: BTreeMap<u32, HashMap<Discriminant<Doing<'t>>, (u64, Doing<'t>)>> = BTreeMap::new();
    for (seen, count) in seen {
        let (mode, syscall, user_stack, _, service) = seen;
        let in_futex = mode == Mode::Kernel && syscall == Some(model.numbers.futex);
        let view = model.stacks.view(user_stack, in_futex);
        let doing = doing(model, seen, &view, owners, &purposes);
        found.by_key.insert(seen, doing);
        if let Some(number) = syscall.filter(|_| mode == Mode::Kernel) {
            calls.entry(number).or_default().entry(discriminant(&doing)).or_insert((0, doing)).0 += count;
        }
        if count == 0 {
            continue;
        }
        *found.counts.entry(doing).or_default() += count;
        found.total += count;
        let serves = match service {
            Some(service) => matches!(service, Service::Compiler | Service::Collector),
            None => view.is_collector(),
        };
        if serves {
            *found.serving.entry(doing).or_default() += count;
        }
        if !matches!(doing, Doing::Function(..) | Doing::Unknown) {
            found.sites.entry((doing, spot(&view))).or_insert((0, view)).0 += count;
        }
    }
    let most = |shown: HashMap<_, (u64, Doing<'t>)>| shown.into_values().max().map(|(_, doing)| doing);
    found.calls = calls.into_iter().filter_map(|(number, shown)| Some((number, most(shown)?))).collect();
    found
}

fn doing<'t>(
    model: &Model<'t>,
    (mode, syscall, user_stack, kernel_stack, service): SampleKey,
    view: &View<'t>,
    owners: &BTreeSet<LibraryFunction<'t>>,
    purposes: &Purposes<'t>,
) -> Doing<'t> {
    let in_futex = mode == Mode::Kernel && syscall == Some(model.numbers.futex);
    let user = mode == Mode::User;
    let kernel = match user {
        true => KernelCode::Other,
        false => kernel_code::kernel_code(model, kernel_stack),
    };
    match (service, view.theme) {
        (Some(Service::Compiler), _) | (_, Some(Theme::Compiler)) => return Doing::Compiling,
        (Some(Service::Collector), _) => return Doing::Collector,
        (Some(Service::Other) | None, _) => {}
    }
    match view.theme {
        // An interrupt is not caused by the code that it interrupts.
        Some(_) if mode == Mode::Kernel && syscall.is_none() && kernel == KernelCode::Other => return Doing::Interrupt,
        Some(Theme::Allocator) => {
            return Doing::Allocator(match () {
                () if in_futex || (user && view.primitive == Some(Primitive::Lock)) => Within::Lock,
                () if user => Within::Code,
                () if syscall.is_some() => Within::Call,
                () => Within::Fault,
            });
        }
        Some(Theme::Collector) => return Doing::Collector,
        Some(Theme::Creation) => return Doing::Creation,
        Some(Theme::Compiler) | None => {}
    }
    let held = model.sharing.held(&model.stacks, user_stack);
    let yields = syscall == Some(model.numbers.sched_yield);
    let pauses = syscall.is_some_and(|number| model.numbers.sleeps.contains(&number));
    // In a lock that sleeps, spinning for a while is part of the lock.
    let sleeps = view.primitive.is_some() && !view.leaf.and_then(|c| c.name()).is_some_and(runtimes::is_spin_lock);
    if held == Some(SharedMemoryWait::Waiting) && (user || yields) && !sleeps {
        return Doing::Spinning;
    }
    let owned = library_function(view).is_some_and(|f| owners.contains(&f));
    let near = || user_stack.is_some_and(|stack| is_near_entry(model, stack, view));
    let takes = || view.leaf.as_ref().and_then(method).is_some_and(|method| owners.contains(&method));
    match view.primitive {
        // Spinning, or competing with others, at a place where threads wait for one of a few things.
        Some(Primitive::Lock | Primitive::Pool | Primitive::Condition)
            if (in_futex || user)
                && !view.wakes
                && view.own.as_ref().is_some_and(|own| model.is_place_of_pool(own)) =>
        {
            Doing::Synchronising(Why::Pool)
        }
        Some(role) if in_futex || user => Doing::Synchronising(of_purpose(role.into())),
        // Some locks let others run, or sleep for a moment, before they try again; so does what waits for a task.
        Some(role) if yields || (pauses && role == Primitive::Lock) => Doing::Synchronising(of_purpose(role.into())),
        _ if owned && (in_futex || user && near()) => Doing::Synchronising(Why::Lock),
        _ if user && (takes() || held == Some(SharedMemoryWait::AtLock)) => Doing::Synchronising(Why::Lock),
        _ if in_futex => Doing::Synchronising(of_purpose(purposes.at(view))),
        // Futex calls are handled above: the only kernel locks that they take are those of the queues of waiters.
        _ if kernel == KernelCode::Lock => Doing::KernelLock,
        // A joining thread frees what the ended thread leaves.
        Some(Primitive::Join) if syscall.is_some() => Doing::Creation,
        _ => match (mode, syscall) {
            (Mode::Kernel, Some(number)) if model.numbers.clone.contains(&number) => Doing::Creation,
            (Mode::Kernel, Some(number)) if model.numbers.ending.contains(&number) && is_thread_end(view) => {
                Doing::Creation
            }
            (Mode::Kernel, Some(number)) => Doing::Call(number),
            (Mode::Kernel, None) if kernel == KernelCode::Fault => Doing::Fault,
            (Mode::Kernel, None) => Doing::Interrupt,
            _ => match held {
                Some(SharedMemoryWait::At(kind)) => Doing::Sharing(kind),
                Some(SharedMemoryWait::Waiting | SharedMemoryWait::AtLock) | None => {
                    view.leaf.map_or(Doing::Unknown, |c| Doing::Function(c.name(), c.module))
                }
            },
        },
    }
}

/// True in a library's function that the program called, and in what that calls directly. Deeper is the library's work,
/// not its lock.
fn is_near_entry(model: &Model<'_>, stack: StackId, view: &View<'_>) -> bool {
    let Some(entry) = view.entry.filter(|entry| entry.kind != ModuleKind::Anonymous) else { return false };
    let frames = model.stacks.frames(stack);
    let at = frames.iter().position(|code| code.frame.frame == entry.frame.frame && code.name() == entry.name());
    at.is_some_and(|at| at <= NEAR_ENTRY) && view.leaf.is_some_and(|leaf| leaf.module == entry.module)
}

/// True when nothing but the C library is on the stack.
fn is_thread_end(view: &View<'_>) -> bool {
    let in_c_library = |c: &Code<'_>| {
        c.owner == Owner::Library && runtimes::is_c_library_module(c.module_file) && c.primitive.is_none()
    };
    view.own.is_none() && view.leaf.as_ref().is_some_and(in_c_library)
}

/// What futex calls are for, by place. The cost of calls depends on their number, not on how long threads sleep in
/// them.
struct Purposes<'t> {
    places: BTreeMap<Spot<'t>, Purpose>,
    /// A futex call at an unknown place is booked to what most of the run's waits were for, joins excepted.
    usual: Purpose,
}

impl<'t> Purposes<'t> {
    fn new(futexes: &BTreeMap<WaitId, FutexWait<'t>>) -> Purposes<'t> {
        let mut places: BTreeMap<Spot, BTreeMap<Purpose, u64>> = BTreeMap::new();
        let mut all: BTreeMap<Purpose, u64> = BTreeMap::new();
        for wait in futexes.values() {
            for counts in [places.entry(spot(&wait.view)).or_default(), &mut all] {
                let count = counts.entry(wait.purpose).or_default();
                *count = count.saturating_add(wait.wait.count);
            }
        }
        all.remove(&Purpose::Join);
        let places = places.into_iter().map(|(spot, counts)| (spot, most(&counts))).collect();
        Purposes { places, usual: most(&all) }
    }

    fn at(&self, view: &View<'t>) -> Purpose {
        self.places.get(&spot(view)).copied().unwrap_or(self.usual)
    }
}

/// Decides: what lock code at a place without waits of its own is for: what more than this share of all waits were for.
/// From: reasoned, not measured: with more than half there cannot be a second purpose.
/// Wrong if: a place whose threads never sleep serves another purpose than those where they do.
const USUAL: f64 = 0.5;

/// What more than [`USUAL`] of the waits were for.
fn most(counts: &BTreeMap<Purpose, u64>) -> Purpose {
    let all: f64 = counts.values().map(|n| *n as f64).sum();
    counts.iter().find(|(_, n)| **n as f64 > USUAL * all).map_or(Purpose::Unknown, |(purpose, _)| *purpose)
}

fn of_purpose(purpose: Purpose) -> Why {
    match purpose {
        Purpose::Lock => Why::Lock,
        // The cost of a call does not depend on what ends the wait.
        Purpose::Condition | Purpose::Sleep => Why::Condition,
        Purpose::Barrier => Why::Barrier,
        Purpose::Join => Why::Join,
        Purpose::Unknown => Why::Futex,
    }
}
