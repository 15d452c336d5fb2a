//! What the processors did, from the CPU samples of one traced run. May import: `model`, `names`, `stacks`, `waits`,
//! `pieces`.

use super::pieces::Why;
use crate::model::{Model, Traced};
use crate::names::{self, Role};
use crate::stacks::View;
use crate::waits::{FutexWait, Purpose};
use recording::tables::{Mode, Sample};
use recording::{StackId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A library function counts as the owner of a contended lock from this share of the run's capacity on that its callers
/// were blocked in it. An allocator that made one thread wait once is no lock problem, and its growth has other reasons.
const CONTENDED_SHARE: f64 = 0.01;

/// Kernel functions in which a page fault is handled.
const FAULT_FUNCTIONS: &[&str] =
    &["exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "do_page_fault", "do_mem_abort"];

/// What a sample shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing<'t> {
    /// Taking, releasing or waiting at a futex of this purpose, in user space or in the kernel.
    Synchronising(Why),
    /// Another system call.
    Call(u32),
    /// A page fault.
    Fault,
    /// An interrupt, or a part of the kernel that cannot be told.
    Interrupt,
    /// A function in user space: its name, and its module.
    Function(Option<&'t str>, &'t str),
    /// No stack to tell.
    Unknown,
}

/// Library function and module.
pub type LibraryFunction<'t> = (&'t str, &'t str);

/// The samples of a run, counted.
#[derive(Debug, Clone, Default)]
pub struct Profile<'t> {
    /// Samples by what they show.
    pub counts: BTreeMap<Doing<'t>, u64>,
    /// Of those in lock code: by the function that is responsible, and the program's call site.
    pub lock_sites: BTreeMap<Spot<'t>, (u64, View<'t>)>,
    /// All samples.
    pub total: u64,
}

/// A responsible library function and the own frame's address that called it. Either may be missing.
pub type Spot<'t> = (Option<LibraryFunction<'t>>, Option<(&'t str, u64)>);

/// The spot of a view.
pub fn spot<'t>(view: &View<'t>) -> Spot<'t> {
    (library_function(view), view.own.map(|c| (c.module, c.frame.address)))
}

fn library_function<'t>(view: &View<'t>) -> Option<LibraryFunction<'t>> {
    view.library().and_then(|c| Some((names::c_name(c.name()?), c.module)))
}

/// Library functions in which a run's threads waited for a lock noticeably long.
pub fn lock_owners<'t>(
    traced: &Traced<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
) -> BTreeSet<LibraryFunction<'t>> {
    let mut blocked: BTreeMap<LibraryFunction, f64> = BTreeMap::new();
    for wait in futexes.values().filter(|w| w.purpose == Purpose::Lock) {
        if let Some(function) = library_function(&wait.view) {
            *blocked.entry(function).or_default() += wait.wait.blocked_ns as f64;
        }
    }
    let length = traced.trace.end_ns.saturating_sub(traced.trace.begin_ns) as f64;
    let capacity = length * f64::from(traced.processors());
    blocked.into_iter().filter(|(_, ns)| *ns > CONTENDED_SHARE * capacity).map(|(f, _)| f).collect()
}

/// Counts the samples of a run. `owners`: library functions that own a contended lock, of any run.
pub fn profile<'t>(
    model: &Model<'t>,
    traced: &Traced<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
    owners: &BTreeSet<LibraryFunction<'t>>,
) -> Profile<'t> {
    let mut purposes: BTreeMap<Spot, (u64, Purpose)> = BTreeMap::new();
    let mut blocked: BTreeMap<Purpose, f64> = BTreeMap::new();
    for wait in futexes.values() {
        let longest = purposes.entry(spot(&wait.view)).or_insert((0, Purpose::Unknown));
        if wait.wait.blocked_ns >= longest.0 {
            *longest = (wait.wait.blocked_ns, wait.purpose);
        }
        *blocked.entry(wait.purpose).or_default() += wait.wait.blocked_ns as f64;
    }
    // A futex call at an unknown place is booked to what most of the run's futex time was for, joins apart.
    blocked.remove(&Purpose::Join);
    let all: f64 = blocked.values().sum();
    let usual = blocked.into_iter().find(|(_, ns)| *ns > all / 2.0).map_or(Purpose::Unknown, |(p, _)| p);
    let mut found = Profile::default();
    let mut in_fault: HashMap<StackId, bool> = HashMap::new();
    for sample in &traced.samples {
        let in_futex = sample.mode == Mode::Kernel && sample.syscall == Some(model.numbers.futex);
        let view = model.stacks.view(sample.user_stack, in_futex);
        let owned = library_function(&view).is_some_and(|f| owners.contains(&f));
        let same_library = || view.leaf.zip(view.entry).is_some_and(|(l, e)| l.module == e.module);
        let doing = match view.role {
            Some(role) if in_futex || sample.mode == Mode::User => Doing::Synchronising(of_role(role)),
            _ if owned && (in_futex || sample.mode == Mode::User && same_library()) => Doing::Synchronising(Why::Lock),
            _ if in_futex => Doing::Synchronising(of_purpose(purposes.get(&spot(&view)).map_or(usual, |p| p.1))),
            _ => elsewhere(model, sample, &view, &mut in_fault),
        };
        *found.counts.entry(doing).or_default() += 1;
        found.total += 1;
        if doing == Doing::Synchronising(Why::Lock) {
            found.lock_sites.entry(spot(&view)).or_insert((0, view)).0 += 1;
        }
    }
    found
}

fn elsewhere<'t>(
    model: &Model<'t>,
    sample: &Sample,
    view: &View<'t>,
    in_fault: &mut HashMap<StackId, bool>,
) -> Doing<'t> {
    match (sample.mode, sample.syscall) {
        (Mode::Kernel, Some(number)) => Doing::Call(number),
        (Mode::Kernel, None) => {
            let handles = |name: &str| FAULT_FUNCTIONS.iter().any(|f| name.contains(f));
            let faults = |s| model.stacks.frames(s).iter().any(|c| c.name().is_some_and(handles));
            match sample.kernel_stack.is_some_and(|s| *in_fault.entry(s).or_insert_with(|| faults(s))) {
                true => Doing::Fault,
                false => Doing::Interrupt,
            }
        }
        _ => view.leaf.map_or(Doing::Unknown, |c| Doing::Function(c.name(), c.module)),
    }
}

fn of_role(role: Role) -> Why {
    of_purpose(role.into())
}

fn of_purpose(purpose: Purpose) -> Why {
    match purpose {
        Purpose::Lock => Why::Lock,
        Purpose::Condition => Why::Condition,
        Purpose::Barrier => Why::Barrier,
        Purpose::Join => Why::Join,
        Purpose::Unknown => Why::Futex,
    }
}
