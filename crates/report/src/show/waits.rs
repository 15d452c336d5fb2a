//! Where threads waited and for what.

use super::pick::{Pick, overlap};
use super::view::{Cell, View, column};
use crate::observed::Observed;
use analyze::account::lines::Why;
use recording::tables::State;
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The share of each wait's blocked time that lies in the picked stretch of time.
pub(super) struct Inside {
    whole: bool,
    parts: HashMap<WaitId, f64>,
}

impl Inside {
    pub(super) fn part(&self, wait: WaitId) -> f64 {
        if self.whole { 1.0 } else { self.parts.get(&wait).copied().unwrap_or(0.0) }
    }
}

/// Computed from the timelines; without a picked stretch everything is inside.
pub(super) fn inside(observed: &Observed<'_, '_>, pick: Pick) -> Inside {
    let range = pick.range(observed);
    let mut sums: HashMap<WaitId, (f64, f64)> = HashMap::new();
    if pick.between.is_some() {
        for slice in observed.traced.slices.iter().filter(|s| s.state == State::Blocked) {
            let Some(wait) = slice.wait else { continue };
            let length = slice.end_ns.saturating_sub(slice.start_ns).max(1);
            let share = overlap(range, slice.start_ns, slice.end_ns) as f64 / length as f64;
            let sum = sums.entry(wait).or_default();
            sum.0 += slice.spent_ns as f64 * share;
            sum.1 += slice.spent_ns as f64;
        }
    }
    let parts = sums.into_iter().filter(|(_, s)| s.1 > 0.0).map(|(wait, s)| (wait, s.0 / s.1)).collect();
    Inside { whole: pick.between.is_none(), parts }
}

#[derive(Default)]
struct WaitSum {
    threads: BTreeSet<ThreadId>,
    count: f64,
    blocked: f64,
    runnable: f64,
    longest: u64,
    wakers: BTreeMap<Option<ThreadId>, f64>,
}

/// One row per reason and place.
pub fn waits(observed: &Observed<'_, '_>, pick: Pick) -> View {
    let mut view = View::new(
        "waits",
        &[
            column("for", "for", "What the threads waited for."),
            column("in", "in", "The library function or system call."),
            column("from", "from", "The place in the program."),
            column("threads", "threads", "Threads that waited there.").minor(3),
            column("times", "times", "Times that one blocked.").minor(2),
            column("blocked_s", "blocked", "Time off the processor, all threads."),
            column("share", "of all", "Of all blocked time of the run."),
            column("runnable_s", "wake latency", "Time from being woken to running again.").minor(5),
            column("longest_s", "longest", "The longest block.").minor(4),
            column(
                "woken_by",
                "mostly woken by",
                "Who ended most of it, and its share; the kernel for timers and devices.",
            )
            .minor(1),
        ],
    );
    let meant = pick.threads(observed);
    let parts = inside(observed, pick);
    let mut found: BTreeMap<(String, String, String), WaitSum> = BTreeMap::new();
    for wait in observed.traced.waits.values().filter(|w| meant.contains(&w.thread)) {
        let part = parts.part(wait.wait);
        if part == 0.0 {
            continue;
        }
        let (entry, own) = observed.where_(wait.user_stack, wait.syscall.is_some());
        let reason = observed.reason(wait);
        // Without a system call the kernel took its lock to handle a page fault.
        let fault = || if observed.why(wait) == Why::KernelLock { "page fault".to_owned() } else { String::new() };
        let call = || wait.syscall.map_or_else(fault, |n| observed.model.call_name(n));
        let entry = if entry.is_empty() { call() } else { entry };
        let sum = found.entry((reason, entry, own)).or_default();
        sum.threads.insert(wait.thread);
        sum.count += wait.count as f64 * part;
        sum.blocked += wait.blocked_ns as f64 * part;
        sum.runnable += wait.runnable_ns as f64 * part;
        sum.longest = sum.longest.max(wait.longest_ns);
        for wake in observed.traced.wakes.get(&wait.wait).into_iter().flatten() {
            *sum.wakers.entry(observed.ended_by(wait, wake)).or_default() += wake.blocked_ns as f64;
        }
    }
    let all: f64 = found.values().map(|s| s.blocked).sum();
    let mut rows: Vec<_> = found.into_iter().collect();
    rows.sort_by(|a, b| b.1.blocked.total_cmp(&a.1.blocked));
    view.rows = rows
        .into_iter()
        .map(|((reason, entry, own), s)| {
            vec![
                Cell::text(reason),
                Cell::text(entry),
                Cell::text(own),
                Cell::count(s.threads.len() as u64),
                Cell::Count(s.count.round()),
                Cell::Seconds(s.blocked / 1e9),
                if all > 0.0 { Cell::Share(s.blocked / all) } else { Cell::None },
                Cell::Seconds(s.runnable / 1e9),
                Cell::ns(s.longest),
                Cell::text(mostly(observed, &s.wakers)),
            ]
        })
        .collect();
    if pick.between.is_some() {
        view.notes
            .push("Times counted in the stretch are estimated from the share of each wait that lies in it.".to_owned());
    }
    view
}

fn mostly(observed: &Observed<'_, '_>, wakers: &BTreeMap<Option<ThreadId>, f64>) -> String {
    let all: f64 = wakers.values().sum();
    let most = wakers.iter().max_by(|a, b| a.1.total_cmp(b.1)).filter(|_| all > 0.0);
    let Some((waker, ns)) = most else { return String::new() };
    let name = waker.map_or_else(|| "the kernel".to_owned(), |w| observed.thread(w));
    let share = crate::words::percent(ns / all);
    if ns / all < 0.5 { format!("several, most {name} ({share})") } else { format!("{name} ({share})") }
}
