//! Tasks that the program named by its marks.

use crate::observed::Observed;
use recording::ThreadId;
use recording::tables::MarkKind;
use std::collections::BTreeMap;

/// One task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task<'t> {
    /// The thread that did it.
    pub thread: ThreadId,
    /// Begin, on the recording's clock.
    pub start: u64,
    /// End; the run's end when the task did not end.
    pub end: u64,
    /// Its name.
    pub name: &'t str,
    /// How many tasks of the thread were open when it began.
    pub depth: usize,
}

/// The tasks of a run: first those that ended, in the order of their ends, then those that did not.
pub fn tasks<'t>(observed: &Observed<'_, 't>) -> Vec<Task<'t>> {
    let run = observed.traced.run.run;
    let (begin, end) =
        (observed.traced.trace.begin_ns, observed.traced.trace.end_ns.max(observed.traced.trace.begin_ns));
    let mut marks: Vec<_> = observed.model.tables.marks.iter().filter(|m| m.run == run).collect();
    marks.sort_by_key(|m| m.time_ns);
    let mut open: BTreeMap<ThreadId, Vec<(u64, &'t str)>> = BTreeMap::new();
    let mut found = Vec::new();
    for mark in marks {
        let of_thread = open.entry(mark.thread).or_default();
        let time = mark.time_ns.clamp(begin, end);
        match mark.kind {
            MarkKind::TaskBegin => of_thread.push((time, mark.name.as_deref().unwrap_or("task"))),
            MarkKind::TaskEnd => {
                if let Some((start, name)) = of_thread.pop() {
                    found.push(Task { thread: mark.thread, start, end: time, name, depth: of_thread.len() });
                }
            }
            MarkKind::Begin | MarkKind::End | MarkKind::Work | MarkKind::Unknown => {}
        }
    }
    for (thread, tasks) in open {
        for (depth, (start, name)) in tasks.into_iter().enumerate() {
            found.push(Task { thread, start, end, name, depth });
        }
    }
    found
}
