//! What was seen in the last seconds, summed up as the rows of one run.

use collect::observe::live::{Now, Window};
use recording::Tables;
use recording::tables::{Syscall, Thread, Wait};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, VecDeque};

/// Looks that are summed up. A single look fluctuates; with more of them, ended threads would stay visible too long.
const LOOKS: usize = 5;
/// Looks whose use of processors is kept: as many as the widest screen can draw.
const LONG: usize = 512;

/// What was seen lately.
#[derive(Debug, Default)]
pub(crate) struct History {
    windows: VecDeque<Window>,
    used: VecDeque<f64>,
}

impl History {
    /// Takes the newest look.
    pub(crate) fn add(&mut self, window: Window) {
        let ran: u64 = window.tables.threads.iter().fold(0, |sum, t| sum.saturating_add(t.running_ns));
        let length = window.tables.traces.first().map_or(0, |t| t.end_ns.saturating_sub(t.begin_ns));
        if length > 0 {
            self.used.push_back(ran as f64 / length as f64);
        }
        // The newest look brings all names; those of older looks would only take memory.
        for old in &mut self.windows {
            old.tables.frames.clear();
            old.tables.stacks.clear();
            old.tables.modules.clear();
        }
        self.windows.push_back(window);
        while self.windows.len() > LOOKS {
            self.windows.pop_front();
        }
        while self.used.len() > LONG {
            self.used.pop_front();
        }
    }

    /// Processors used at each look, the newest last.
    pub(crate) fn used(&self) -> Vec<f64> {
        self.used.iter().copied().collect()
    }

    /// The last looks summed up, and what threads do now. `None` before the first look.
    pub(crate) fn summed(&self) -> Option<(Tables, &[Now])> {
        let newest = self.windows.back()?;
        let mut tables = newest.tables.clone();
        let mut threads: BTreeMap<ThreadId, Thread> = BTreeMap::new();
        let mut waits: BTreeMap<WaitId, Wait> = BTreeMap::new();
        let mut calls: BTreeMap<u32, Syscall> = BTreeMap::new();
        tables.samples.clear();
        tables.marks.clear();
        for window in &self.windows {
            for row in &window.tables.threads {
                threads.entry(row.thread).and_modify(|sum| add_thread(sum, row)).or_insert_with(|| row.clone());
            }
            for row in &window.tables.waits {
                waits.entry(row.wait).and_modify(|sum| add_wait(sum, row)).or_insert_with(|| row.clone());
            }
            // Each look names the calls of its own rows.
            for row in &window.tables.syscalls {
                calls.entry(row.number).or_insert_with(|| row.clone());
            }
            tables.samples.extend(window.tables.samples.iter().cloned());
            tables.marks.extend(window.tables.marks.iter().cloned());
        }
        (tables.threads, tables.waits) = (threads.into_values().collect(), waits.into_values().collect());
        tables.syscalls = calls.into_values().collect();
        let first = self.windows.front().and_then(|window| window.tables.traces.first());
        if let (Some(trace), Some(first)) = (tables.traces.first_mut(), first) {
            trace.begin_ns = first.begin_ns;
        }
        Some((tables, &newest.now))
    }
}

fn add_thread(sum: &mut Thread, more: &Thread) {
    sum.end_ns = more.end_ns;
    sum.name.clone_from(&more.name);
    for (sum, more) in [
        (&mut sum.running_ns, more.running_ns),
        (&mut sum.runnable_ns, more.runnable_ns),
        (&mut sum.preempted_ns, more.preempted_ns),
        (&mut sum.blocked_ns, more.blocked_ns),
        (&mut sum.voluntary_switches, more.voluntary_switches),
        (&mut sum.involuntary_switches, more.involuntary_switches),
    ] {
        *sum = sum.saturating_add(more);
    }
}

fn add_wait(sum: &mut Wait, more: &Wait) {
    let (count, blocked_ns) = (sum.count.saturating_add(more.count), sum.blocked_ns.saturating_add(more.blocked_ns));
    let runnable_ns = sum.runnable_ns.saturating_add(more.runnable_ns);
    let longest_ns = sum.longest_ns.max(more.longest_ns);
    // The newest row has the most complete description of the place.
    *sum = Wait { count, blocked_ns, runnable_ns, longest_ns, ..more.clone() };
}

#[cfg(test)]
mod tests {
    use super::*;
    use collect::observe::live::Doing;
    use recording::RunId;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::{Mark, MarkKind};

    fn window(from_ms: u64, running_ms: u64, blocked_ms: u64) -> Window {
        let mut tables = Sketch::new(2)
            .traced(1, |run| {
                run.thread("a").runs(ms(running_ms), "work@app").locks(0x100, ms(blocked_ms), "lock@app", "a");
            })
            .tables();
        for trace in &mut tables.traces {
            (trace.begin_ns, trace.end_ns) = (ms(from_ms), ms(from_ms + running_ms + blocked_ms));
        }
        Window { now: vec![Now { thread: ThreadId(0), doing: Doing::Runs, wait: None }], tables }
    }

    #[test]
    fn the_last_looks_are_summed_up() {
        let mut history = History::default();
        assert!(history.summed().is_none());
        for at in 0..8 {
            history.add(window(at * 100, 25, 75));
        }
        let (tables, now) = history.summed().unwrap();
        assert_eq!((tables.threads.len(), tables.waits.len(), now.len()), (1, 1, 1));
        assert_eq!(tables.threads[0].running_ns, ms(5 * 25));
        assert_eq!(tables.waits[0].blocked_ns, ms(5 * 75));
        assert_eq!((tables.traces[0].begin_ns, tables.traces[0].end_ns), (ms(300), ms(800)));
        assert!(!tables.frames.is_empty(), "names are those of the newest look");
        assert_eq!(history.used(), [0.25; 8]);
    }

    /// Each look names only the calls of its own rows: a wait that the newest look has not seen keeps its call's name.
    #[test]
    fn calls_and_marks_of_all_looks_are_kept() {
        let mut history = History::default();
        for (at, call) in [(0, "read"), (1, "poll"), (2, "poll")] {
            let mut window = window(at * 100, 25, 75);
            let mark = Mark {
                run: RunId(0),
                thread: ThreadId(0),
                time_ns: 0,
                kind: MarkKind::Work,
                name: None,
                amount: Some(7),
            };
            let (run, thread, number, name) = (RunId(0), ThreadId(0), u32::from(call == "read"), call.to_owned());
            window.tables.syscalls = vec![Syscall { run, thread, number, name, count: 0 }];
            window.tables.marks = vec![mark];
            history.add(window);
        }
        let (tables, _) = history.summed().unwrap();
        let names: Vec<&str> = tables.syscalls.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((names, tables.marks.len()), (vec!["poll", "read"], 3));
    }
}
