//! The threads of a run, and who wakes whom.

use super::pick::{Pick, overlap};
use super::view::{Cell, View, column};
use crate::observed::{Observed, place_of};
use recording::ThreadId;
use recording::tables::State;
use std::collections::BTreeMap;

/// One row per thread: how it spent its life.
pub fn threads(observed: &Observed<'_, '_>, pick: Pick) -> View {
    let mut view = View::new(
        "threads",
        &[
            column("tid", "tid", "The thread's id."),
            column("name", "name", "Its name when it ended."),
            column("started_s", "start", "When it was created, since the run's start.").minor(5),
            column("lived_s", "life", "How long it lived."),
            column("running_s", "running", "Time on a processor."),
            column("running_share", "run %", "Of its life.").minor(1),
            column("blocked_s", "blocked", "Time that it waited for something."),
            column("runnable_s", "wake latency", "Time woken and waiting for a processor.").minor(3),
            column("preempted_s", "preempted", "Time taken off the processor although it could have gone on.").minor(4),
            column("voluntary", "waits", "Times it left the processor to wait.").minor(2),
            column("involuntary", "preemptions", "Times it was taken off the processor.").minor(6),
            column("migrations", "moves", "Moves between processors.").minor(8),
            column("minor_faults", "faults", "Page faults served without input or output.").minor(7),
            column("created_at", "created at", "Where its parent created it.").minor(9),
        ],
    );
    let imported = observed.model.tables.meta.imported.is_some();
    if imported {
        view.notes
            .push("Running times are estimated from samples; what threads did between them is unknown.".to_owned());
    }
    let range = pick.range(observed);
    let whole = pick.between.is_none();
    let mut spent: BTreeMap<ThreadId, [u64; 4]> = BTreeMap::new();
    if !whole {
        for slice in observed.traced.slices.iter() {
            let length = slice.end_ns.saturating_sub(slice.start_ns).max(1);
            let inside = overlap(range, slice.start_ns, slice.end_ns) as f64 / length as f64;
            let slot = match slice.state {
                State::Running => 0,
                State::Blocked => 1,
                State::Runnable => 2,
                State::Preempted => 3,
                State::Unknown => continue,
            };
            if let Some(at) = spent.entry(slice.thread).or_default().get_mut(slot) {
                *at = at.saturating_add((slice.spent_ns as f64 * inside) as u64);
            }
        }
        view.notes.push("Counts are those of the whole run; times are those of the stretch.".to_owned());
    }
    let mut rows: Vec<(u64, Vec<Cell>)> = Vec::new();
    for id in pick.threads(observed) {
        let Some(t) = observed.traced.threads.get(&id) else { continue };
        let lived = overlap(range, t.start_ns, t.end_ns);
        if lived == 0 && !whole {
            continue;
        }
        let [running, blocked, runnable, preempted] = if whole {
            [t.running_ns, t.blocked_ns, t.runnable_ns, t.preempted_ns]
        } else {
            spent.get(&id).copied().unwrap_or_default()
        };
        let created = observed.model.stacks.view(t.created_stack, false);
        let optional = |n: Option<u64>| n.map_or(Cell::None, Cell::count);
        // An imported profile does not know these.
        let told = |cell: Cell| if imported { Cell::None } else { cell };
        rows.push((
            running,
            vec![
                Cell::Text(t.tid.to_string()),
                Cell::text(t.name.clone()),
                Cell::ns(t.start_ns.saturating_sub(observed.traced.trace.begin_ns)),
                Cell::ns(lived),
                Cell::ns(running),
                if lived > 0 { Cell::Share(running as f64 / lived as f64) } else { Cell::None },
                told(Cell::ns(blocked)),
                told(Cell::ns(runnable)),
                told(Cell::ns(preempted)),
                told(Cell::count(t.voluntary_switches)),
                told(Cell::count(t.involuntary_switches)),
                told(Cell::count(t.migrations)),
                optional(t.minor_faults),
                Cell::text(place_of(created.own)),
            ],
        ));
    }
    rows.sort_by_key(|(running, _)| std::cmp::Reverse(*running));
    view.rows = rows.into_iter().map(|(_, row)| row).collect();
    view
}

/// Blocked nanoseconds, number of blocks, nanoseconds of the largest wait, and that wait in words.
type BlockedBy = (u64, u64, u64, String);

/// One row per pair of threads: who waited for whom.
pub fn wakers(observed: &Observed<'_, '_>, pick: Pick) -> View {
    let mut view = View::new(
        "who waits for whom",
        &[
            column("waiter", "waiter", "The thread that waited."),
            column("waker", "woken by", "The thread that ended the waits; the kernel for timers and devices."),
            column("blocked_s", "blocked", "Blocked time that the waker ended."),
            column("times", "times", "How many blocks."),
            column("mostly_for", "longest for", "What the largest part of that time was spent waiting for."),
        ],
    );
    let meant = pick.threads(observed);
    let mut edges: BTreeMap<(ThreadId, Option<ThreadId>), BlockedBy> = BTreeMap::new();
    for wait in observed.traced.waits.values().filter(|w| meant.contains(&w.thread)) {
        for wake in observed.traced.wakes.get(&wait.wait).into_iter().flatten() {
            let edge = edges.entry((wait.thread, observed.ended_by(wait, wake))).or_default();
            edge.0 = edge.0.saturating_add(wake.blocked_ns);
            edge.1 = edge.1.saturating_add(wake.count);
            if wake.blocked_ns >= edge.2 {
                (edge.2, edge.3) = (wake.blocked_ns, observed.wait_in_words(wait));
            }
        }
    }
    let mut edges: Vec<_> = edges.into_iter().collect();
    edges.sort_by_key(|(_, edge)| std::cmp::Reverse(edge.0));
    view.rows = edges
        .into_iter()
        .map(|((waiter, waker), (ns, times, _, what))| {
            let waker = waker.map_or_else(|| "the kernel".to_owned(), |w| observed.thread(w));
            vec![
                Cell::text(observed.thread(waiter)),
                Cell::text(waker),
                Cell::ns(ns),
                Cell::count(times),
                Cell::text(what),
            ]
        })
        .collect();
    if pick.between.is_some() {
        view.notes.push("Who wakes whom is summed over the whole run; the stretch of time is not applied.".to_owned());
    }
    view
}
