//! System calls by name, place and error.

use super::pick::{Pick, overlap};
use super::view::{Cell, View, column};
use crate::observed::Observed;
use recording::ThreadId;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct SyscallSum {
    threads: BTreeSet<ThreadId>,
    calls: f64,
    /// Of them, those that a time is known of.
    timed: u64,
    total: f64,
    on_cpu: f64,
    longest: u64,
}

/// One row per call, error and place; calls from an unknown place are counted by name alone.
pub fn syscalls(observed: &Observed<'_, '_>, pick: Pick) -> View {
    let mut view = View::new(
        "system calls",
        &[
            column("call", "call", "The system call."),
            column("error", "error", "The error that it returned; empty when it succeeded."),
            column("from", "from", "The place in the program."),
            column("threads", "threads", "Threads that made it there.").minor(2),
            column("calls", "calls", "How many."),
            column(
                "total_s",
                "time",
                "Time between entry and return, blocked time included; empty where no call was timed.",
            ),
            column("on_cpu_s", "on CPU", "Of that, time on a processor.").minor(1),
            column("longest_s", "longest", "The longest timed call.").minor(3),
        ],
    );
    let meant = pick.threads(observed);
    let mut found: BTreeMap<(String, String, String), SyscallSum> = BTreeMap::new();
    if pick.between.is_some() {
        let range = pick.range(observed);
        let run = observed.traced.run.run;
        for call in observed.model.tables.calls.iter().filter(|c| c.run == run && meant.contains(&c.thread)) {
            let inside = overlap(range, call.start_ns, call.end_ns);
            if inside > 0 {
                let error = call.error.map(error_name).unwrap_or_default();
                let sum = found.entry((observed.model.call_name(call.number), error, String::new())).or_default();
                sum.threads.insert(call.thread);
                sum.calls += 1.0;
                sum.timed += 1;
                sum.total += inside as f64;
                sum.longest = sum.longest.max(call.end_ns.saturating_sub(call.start_ns));
            }
        }
        view.notes
            .push("From the calls on the timeline: where calls come fast, only some of them are there.".to_owned());
    } else {
        let mut placed: BTreeMap<&str, f64> = BTreeMap::new();
        for site in observed.traced.call_sites.iter().filter(|s| meant.contains(&s.thread)) {
            let error = site.error.map(error_name).unwrap_or_default();
            let own = observed.where_(site.user_stack, true).1;
            let sum = found.entry((site.name.clone(), error, own)).or_default();
            // The timed calls are scaled up to all calls of their site. A thread makes one call at a time, so all its
            // calls together take no longer than the thread lived.
            let lived = observed
                .traced
                .threads
                .get(&site.thread)
                .map_or(f64::INFINITY, |t| t.end_ns.saturating_sub(t.start_ns) as f64);
            let scale = if site.timed > 0 { site.calls / site.timed as f64 } else { 1.0 };
            sum.threads.insert(site.thread);
            sum.calls += site.calls;
            sum.timed += site.timed;
            sum.total += (site.total_ns as f64 * scale).min(lived);
            sum.on_cpu += (site.on_cpu_ns as f64 * scale).min(lived);
            sum.longest = sum.longest.max(site.longest_ns);
            *placed.entry(&site.name).or_default() += site.calls;
        }
        // Without call sites (another collector, or an old recording) the counts by name are all there is.
        for call in observed.traced.syscalls.iter().filter(|s| meant.contains(&s.thread)) {
            if !placed.contains_key(call.name.as_str()) {
                let sum = found.entry((call.name.clone(), String::new(), String::new())).or_default();
                sum.threads.insert(call.thread);
                sum.calls += call.count as f64;
            }
        }
        if observed.traced.call_sites.iter().any(|s| s.calls_high > s.calls_low) {
            view.notes
                .push("Where calls come too fast to time each, numbers are estimates from some windows.".to_owned());
        }
    }
    let mut rows: Vec<_> = found.into_iter().collect();
    rows.sort_by(|a, b| b.1.total.total_cmp(&a.1.total).then(b.1.calls.total_cmp(&a.1.calls)));
    view.rows = rows
        .into_iter()
        .map(|((call, error, own), s)| {
            let time = |ns: f64| if s.timed > 0 { Cell::Seconds(ns / 1e9) } else { Cell::None };
            vec![
                Cell::text(call),
                Cell::text(error),
                Cell::text(own),
                Cell::count(s.threads.len() as u64),
                Cell::Count(s.calls.round()),
                time(s.total),
                // The timeline does not tell how much of a call was spent on a processor.
                if pick.between.is_some() { Cell::None } else { time(s.on_cpu) },
                time(s.longest as f64),
            ]
        })
        .collect();
    view
}

/// Names of the Linux error numbers that programs meet most (include/uapi/asm-generic/errno-base.h and errno.h).
fn error_name(error: u32) -> String {
    let name = match error {
        1 => "EPERM",
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        9 => "EBADF",
        10 => "ECHILD",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        17 => "EEXIST",
        22 => "EINVAL",
        25 => "ENOTTY",
        32 => "EPIPE",
        38 => "ENOSYS",
        104 => "ECONNRESET",
        110 => "ETIMEDOUT",
        115 => "EINPROGRESS",
        // Used inside the kernel only (include/linux/errno.h): the call is started again after a signal.
        512..=516 => "restart",
        _ => return format!("error {error}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::model::Model;
    use recording::synthetic::{Sketch, ms, us};

    #[test]
    fn calls_without_times_have_empty_cells() {
        let sketch = Sketch::new(2).traced(2, |run| {
            run.thread("t").runs(ms(5), "work@app");
            run.syscalls("t", 1, "write", 10);
            run.call_site("t", (0, "read"), "read@libc.so.6 < work@app", None, 4, us(20));
        });
        let tables = sketch.tables();
        let model = Model::new(&tables);
        let analysis = analyze::analyze(&model);
        let view = syscalls(&Observed::at(&analysis, None).unwrap(), Pick::default());
        let row = |name: &str| view.rows.iter().find(|r| r[0] == Cell::text(name)).unwrap();
        assert_eq!(row("write")[4..], [Cell::Count(10.0), Cell::None, Cell::None, Cell::None]);
        assert!(row("read")[5].number().is_some_and(|s| s > 0.0), "{:?}", row("read"));
    }
}
