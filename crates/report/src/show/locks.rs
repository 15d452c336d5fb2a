//! Locks that threads waited for: the program's and the kernel's.

use super::pick::Pick;
use super::view::{Cell, View, column};
use super::waits::inside;
use crate::observed::{Observed, place_of};
use crate::{text, words};
use analyze::account::lines::Why;
use analyze::answer::{Bounded, Queue, QueueKind};
use analyze::model::code;
use analyze::sharing::variable_at;
use analyze::words::reasons::reason;
use recording::ThreadId;
use recording::tables::{Reason, Wait};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Lock<'a> {
    threads: BTreeSet<ThreadId>,
    count: f64,
    blocked: f64,
    runnable: f64,
    longest: u64,
    /// The place with the most time.
    place: (f64, String, String),
    released_by: BTreeMap<ThreadId, f64>,
    /// The same lock as a queue.
    queue: Option<&'a Queue>,
}

/// Which lock of a process it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum LockAt {
    /// The one at this address.
    Address(u64),
    /// Without an address: the one that is waited for at this place, in this way.
    Place(Reason, String),
}

fn own_place(observed: &Observed<'_, '_>, wait: &Wait) -> String {
    place_of(observed.model.stacks.view(wait.user_stack, false).own)
}

/// One row per lock.
pub fn locks(observed: &Observed<'_, '_>, pick: Pick) -> View {
    let mut view = View::new(
        "locks",
        &[
            column(
                "lock",
                "lock",
                "The kernel lock's name, or the address of the program's, with its variable where that is known.",
            ),
            column("kind", "kind", "Whose lock it is and how it was waited for.").minor(6),
            column("in", "in", "The library function or call with the most waiting."),
            column("from", "from", "The place in the program with the most waiting."),
            column("threads", "threads", "Threads that had to wait for it.").minor(4),
            column("waits", "waits", "Times that one had to wait.").minor(1),
            column("blocked_s", "blocked", "Time off the processor, all threads."),
            column("spun_s", "spun", "Time spent spinning for it in the kernel.").minor(3),
            column("runnable_s", "wake latency", "Time from being woken to running again.").minor(7),
            column("longest_s", "longest", "The longest wait.").minor(5),
            column(
                "held",
                "held",
                "Share of the time that it is held, estimated from waits and holds; of a pool, of all it has.",
            )
            .minor(2),
            column("hold_s", "each hold", "How long it is held, on average.").minor(5),
            column(
                "arrivals",
                "taken/s",
                "Times a second that a thread acquires it, with or without waiting; estimated.",
            )
            .minor(6),
            column("wait_s", "each wait", "How long those waited that had to, on average.").minor(6),
            column("waiting", "queue", "Threads that waited for it at a time, on average.").minor(5),
            column(
                "at_twice",
                "at twice",
                "Threads that would wait at a time if twice as many came, with the 95 % interval.",
            )
            .minor(4),
            column("released_by", "mostly released by", "The thread that ended most of the waiting.").minor(2),
        ],
    );
    let meant = pick.threads(observed);
    let parts = inside(observed, pick);
    // A queue is that of all threads and of the whole run.
    let whole = pick == Pick::default();
    let mut found: BTreeMap<(u32, LockAt), Lock<'_>> = BTreeMap::new();
    for wait in observed.traced.waits.values().filter(|w| meant.contains(&w.thread)) {
        let part = parts.part(wait.wait);
        let queue = observed.queues().find(|queue| whole && queue.waits.contains(&wait.wait));
        // A pool has a row of its own.
        let in_pool = queue.is_some_and(|queue| queue.kind == QueueKind::Pool);
        if !observed.is_for_lock(wait) || part == 0.0 || in_pool {
            continue;
        }
        let pid = observed.traced.pid(wait.thread).unwrap_or(0);
        let place = || LockAt::Place(wait.reason, own_place(observed, wait));
        let at = observed.lock_address(wait).map_or_else(place, LockAt::Address);
        let lock = found.entry((pid, at)).or_default();
        lock.queue = queue;
        lock.threads.insert(wait.thread);
        let blocked = wait.blocked_ns as f64 * part;
        lock.count += wait.count as f64 * part;
        lock.blocked += blocked;
        lock.runnable += wait.runnable_ns as f64 * part;
        lock.longest = lock.longest.max(wait.longest_ns);
        if blocked >= lock.place.0 {
            let view = observed.model.stacks.view(wait.user_stack, true);
            let name = view.entry.and_then(|c| c.name()).unwrap_or_default();
            lock.place = (blocked, name.to_owned(), place_of(view.own));
        }
        for wake in observed.traced.wakes.get(&wait.wait).into_iter().flatten() {
            if let Some(waker) = observed.ended_by(wait, wake) {
                *lock.released_by.entry(waker).or_default() += wake.blocked_ns as f64;
            }
        }
    }
    let mut rows: Vec<(f64, Vec<Cell>)> = Vec::new();
    let (tables, run) = (observed.model.tables, observed.traced.run.run);
    for ((_, at), lock) in found {
        let name = match at {
            LockAt::Address(object) => {
                let name = variable_at(tables, run, object).map_or_else(String::new, |name| format!("{name} "));
                format!("{name}{object:#x}")
            }
            LockAt::Place(Reason::Futex, _) => "of goroutines".to_owned(),
            LockAt::Place(..) => "with pauses".to_owned(),
        };
        let released = lock.released_by.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(t, _)| observed.thread(*t));
        let queue = queue_cells(lock.queue);
        let cells = [
            Cell::text(name),
            Cell::text("program or library"),
            Cell::text(lock.place.1),
            Cell::text(lock.place.2),
            Cell::count(lock.threads.len() as u64),
            Cell::Count(lock.count.round()),
            Cell::Seconds(lock.blocked / 1e9),
            Cell::None,
            Cell::Seconds(lock.runnable / 1e9),
            Cell::ns(lock.longest),
        ];
        let released = [Cell::text(released.unwrap_or_default())];
        rows.push((lock.blocked, cells.into_iter().chain(queue).chain(released).collect()));
    }
    if whole {
        rows.extend(observed.queues().filter(|queue| queue.kind == QueueKind::Pool).map(pool));
        view.notes.extend(observed.queues().filter_map(|queue| queue.summary.as_deref()).map(text::sentence));
    }
    // Waits for kernel locks are summed over the whole run and have no times of their own.
    if pick.between.is_none() {
        rows.extend(kernel(observed, &meant));
    } else {
        view.notes.push("Locks inside the kernel are summed over the whole run and left out here.".to_owned());
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    view.rows = rows.into_iter().map(|(_, row)| row).collect();
    view
}

/// What is known of a lock or a pool as a queue.
fn queue_cells(queue: Option<&Queue>) -> [Cell; 6] {
    let Some(queue) = queue else { return std::array::from_fn(|_| Cell::None) };
    let twice = match queue.waiting_at_twice {
        None => "no end".to_owned(),
        Some(Bounded { mean, low, high }) => {
            let high = high.map_or("no end".to_owned(), words::mean);
            format!("{} ({} to {high})", words::mean(mean), words::mean(low))
        }
    };
    [
        Cell::Share(queue.utilisation),
        Cell::Seconds(queue.hold_seconds),
        Cell::Count(queue.arrivals_per_second.round()),
        Cell::Seconds(queue.wait_seconds),
        Cell::Mean(queue.waiting),
        Cell::Text(twice),
    ]
}

/// A pool's row. Which thread ends the waiting says nothing of it: any that has one.
fn pool(queue: &Queue) -> (f64, Vec<Cell>) {
    let waited = queue.waiting * queue.observed_seconds;
    let cells = [
        Cell::text(format!("pool of {}", queue.size)),
        Cell::text(reason(Why::Pool)),
        Cell::None,
        Cell::text(queue.site.as_ref().map(code::place).unwrap_or_default()),
        Cell::count(queue.waiters as u64),
        Cell::Count((queue.waits_per_second * queue.observed_seconds).round()),
        Cell::Seconds(waited),
        Cell::None,
        Cell::None,
        Cell::None,
    ];
    (waited * 1e9, cells.into_iter().chain(queue_cells(Some(queue))).chain([Cell::None]).collect())
}

fn kernel(observed: &Observed<'_, '_>, meant: &BTreeSet<ThreadId>) -> Vec<(f64, Vec<Cell>)> {
    #[derive(Default)]
    struct Sum {
        threads: BTreeSet<ThreadId>,
        count: u64,
        waited: u64,
        blocked: u64,
        longest: u64,
        place: (u64, String, String),
    }
    let mut found: BTreeMap<(&str, String), Sum> = BTreeMap::new();
    let mut blocked: BTreeMap<&str, f64> = BTreeMap::new();
    for row in observed.traced.kernel_locks.iter().filter(|k| meant.contains(&k.thread)) {
        let how = format!("kernel, {}", recording_word(row.how));
        let sum = found.entry((&row.lock, how)).or_default();
        sum.threads.insert(row.thread);
        sum.count = sum.count.saturating_add(row.count);
        sum.waited = sum.waited.saturating_add(row.waited_ns);
        sum.blocked = sum.blocked.saturating_add(row.blocked_ns);
        sum.longest = sum.longest.max(row.longest_ns);
        *blocked.entry(&row.lock).or_default() += row.blocked_ns as f64;
        if row.waited_ns >= sum.place.0 {
            let call = row.syscall.map_or_else(|| "page fault".to_owned(), |n| observed.model.call_name(n));
            sum.place = (row.waited_ns, call, observed.where_(row.user_stack, row.syscall.is_some()).1);
        }
    }
    // The kernel counts until the thread has the lock and runs. The timelines tell how much of that time the thread was
    // runnable, but only for all ways together in which it waits for the lock.
    let mut runnable: BTreeMap<&str, f64> = BTreeMap::new();
    for wait in observed.traced.waits.values().filter(|w| meant.contains(&w.thread)) {
        if let Some(what) = wait.what.as_deref().filter(|_| observed.why(wait) == Why::KernelLock) {
            *runnable.entry(what).or_default() += wait.runnable_ns as f64;
        }
    }
    let ready = |lock: &str| {
        let (ready, all) = (runnable.get(lock).copied().unwrap_or(0.0), blocked.get(lock).copied().unwrap_or(0.0));
        if all > 0.0 { (ready / all).min(1.0) } else { 0.0 }
    };
    let row = |((lock, how), s): ((&str, String), Sum)| {
        let to_run = s.blocked as f64 * ready(lock);
        let cells = [
            Cell::text(lock),
            Cell::text(how),
            Cell::text(s.place.1),
            Cell::text(s.place.2),
            Cell::count(s.threads.len() as u64),
            Cell::count(s.count),
            Cell::Seconds((s.blocked as f64 - to_run) / 1e9),
            Cell::ns(s.waited.saturating_sub(s.blocked)),
            Cell::Seconds(to_run / 1e9),
            Cell::ns(s.longest),
        ];
        (s.waited as f64, cells.into_iter().chain(queue_cells(None)).chain([Cell::None]).collect())
    };
    found.into_iter().map(row).collect()
}

fn recording_word(how: recording::tables::KernelWait) -> &'static str {
    use recording::tables::KernelWait;
    match how {
        KernelWait::Mutex => "mutex",
        KernelWait::Read => "for reading",
        KernelWait::Write => "for writing",
        KernelWait::Spin => "spinning",
        KernelWait::Other => "other",
    }
}
