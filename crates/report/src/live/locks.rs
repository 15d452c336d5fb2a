//! The locks that threads waited for in the last seconds, the program's and the kernel's, most waiting first.

use crate::observed::{Observed, place_of};
use crate::show::view::{Cell, View, column};
use analyze::account::lines::Why;
use recording::tables::Wait;
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// A lock of a process by its address, or one of the kernel by its name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LockName<'t> {
    Program(u32, u64),
    Kernel(&'t str),
}

#[derive(Default)]
struct LockSum {
    threads: BTreeSet<ThreadId>,
    /// Threads that wait for it at this moment.
    now: u64,
    count: u64,
    blocked_ns: u64,
    /// The place with the most time: that, and the call and the program's line.
    place: (u64, String, String),
}

/// One row a lock. `waiting`: what threads wait in at this moment.
pub(super) fn locks(observed: &Observed<'_, '_>, waiting: &BTreeSet<WaitId>) -> View {
    let mut view = View::new(
        "locks",
        &[
            column("lock", "lock", "The address of the program's lock, or the kernel lock's name."),
            column("in", "in", "The library function or system call with the most waiting.").minor(2),
            column("from", "from", "The place in the program with the most waiting."),
            column("now", "waiting now", "Threads that wait for it at this moment.").minor(1),
            column("threads", "threads", "Threads that waited for it in the last seconds.").minor(4),
            column("waits", "waits", "Times that one waited.").minor(3),
            column("blocked_s", "waited", "Time waited in the last seconds, all threads."),
        ],
    );
    let mut found: BTreeMap<LockName<'_>, LockSum> = BTreeMap::new();
    for wait in observed.traced.waits.values() {
        let Some(name) = name(observed, wait) else { continue };
        let lock = found.entry(name).or_default();
        lock.threads.insert(wait.thread);
        lock.now += u64::from(waiting.contains(&wait.wait));
        lock.count = lock.count.saturating_add(wait.count);
        lock.blocked_ns = lock.blocked_ns.saturating_add(wait.blocked_ns);
        if wait.blocked_ns >= lock.place.0 {
            let stack = observed.model.stacks.view(wait.user_stack, wait.syscall.is_some());
            let call = || wait.syscall.map_or_else(|| "page fault".to_owned(), |n| observed.model.call_name(n));
            let entry = stack.entry.and_then(|c| c.name()).map_or_else(call, str::to_owned);
            lock.place = (wait.blocked_ns, entry, place_of(stack.own));
        }
    }
    let mut rows: Vec<_> = found.into_iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse((row.blocked_ns, row.now)));
    view.rows = rows.into_iter().map(|(name, lock)| row(&name, lock)).collect();
    view
}

/// What lock a wait is for; none where it is for something else.
fn name<'t>(observed: &Observed<'_, 't>, wait: &'t Wait) -> Option<LockName<'t>> {
    if observed.is_for_lock(wait) {
        let pid = observed.traced.pid(wait.thread).unwrap_or(0);
        return Some(LockName::Program(pid, observed.lock_address(wait).unwrap_or(0)));
    }
    (observed.why(wait) == Why::KernelLock).then(|| LockName::Kernel(wait.what.as_deref().unwrap_or("kernel lock")))
}

fn row(name: &LockName<'_>, lock: LockSum) -> Vec<Cell> {
    vec![
        Cell::text(match name {
            LockName::Program(_, address) => format!("{address:#x}"),
            LockName::Kernel(name) => (*name).to_owned(),
        }),
        Cell::text(lock.place.1),
        Cell::text(lock.place.2),
        Cell::count(lock.now),
        Cell::count(lock.threads.len() as u64),
        Cell::count(lock.count),
        Cell::ns(lock.blocked_ns),
    ]
}
