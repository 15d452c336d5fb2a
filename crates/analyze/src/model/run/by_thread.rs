//! The slices of a run thread by thread, and its blocked slices by what they waited for. Both are made once, because a
//! run may have millions of slices.

use recording::tables::{Slice, State};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

/// Where the slices of each thread are.
#[derive(Debug, Default)]
pub struct ByThread {
    lines: BTreeMap<ThreadId, Range<usize>>,
    blocked: OnceLock<HashMap<WaitId, Vec<usize>>>,
}

impl ByThread {
    /// Puts slices into the order of their threads, and those of each thread into the order of time.
    pub fn sort(slices: &mut Vec<&Slice>) -> ByThread {
        let mut lines: BTreeMap<ThreadId, Vec<&Slice>> = BTreeMap::new();
        for stretch in slices.chunk_by(|a, b| a.thread == b.thread) {
            if let Some(first) = stretch.first() {
                lines.entry(first.thread).or_default().extend_from_slice(stretch);
            }
        }
        slices.clear();
        let mut found = ByThread::default();
        for (thread, mut line) in lines {
            // Recordings are in this order, as a rule.
            line.sort_by_key(|slice| (slice.start_ns, slice.end_ns));
            found.lines.insert(thread, slices.len()..slices.len() + line.len());
            slices.append(&mut line);
        }
        found
    }

    /// The slices of one thread among those that were sorted, in the order of time.
    pub fn line<'s, 't>(&self, slices: &'s [&'t Slice], thread: ThreadId) -> &'s [&'t Slice] {
        self.lines.get(&thread).and_then(|range| slices.get(range.clone())).unwrap_or_default()
    }

    /// Begin and end of each thread's slices among those that were sorted.
    pub fn lines(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.lines.values().cloned()
    }

    /// The blocked slices of these waits, wait by wait, each in the order of time.
    pub fn blocked<'s, 't>(
        &'s self,
        slices: &'s [&'t Slice],
        waits: impl IntoIterator<Item = WaitId, IntoIter: 's>,
    ) -> impl Iterator<Item = &'t Slice> + 's {
        let index = self.blocked.get_or_init(|| {
            let mut index: HashMap<WaitId, Vec<usize>> = HashMap::new();
            for (at, slice) in slices.iter().enumerate().filter(|(_, slice)| slice.state == State::Blocked) {
                if let Some(wait) = slice.wait {
                    index.entry(wait).or_default().push(at);
                }
            }
            index
        });
        let places = waits.into_iter().filter_map(|wait| index.get(&wait)).flatten();
        places.filter_map(|at| slices.get(*at).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::Reason;

    #[test]
    fn slices_come_thread_by_thread_and_blocks_by_wait() {
        let stack = "nanosleep@libc.so.6 < work@app app.c:5";
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name)
                        .runs(ms(2), "work@app app.c:5")
                        .blocks(Reason::Sleep, ms(3), stack)
                        .runs(ms(1), "work@app app.c:6");
                }
            })
            .tables();
        // As parts of a long recording follow each other: every part has all threads.
        tables.slices.sort_by_key(|slice| (slice.start_ns, slice.thread));
        let mut slices: Vec<&Slice> = tables.slices.iter().collect();
        let found = ByThread::sort(&mut slices);
        assert!(slices.is_sorted_by_key(|slice| (slice.thread, slice.start_ns)), "{slices:?}");
        assert_eq!(slices.len(), tables.slices.len());
        for range in found.lines() {
            let thread = slices[range.start].thread;
            assert_eq!(found.line(&slices, thread), &slices[range]);
        }
        let waits: Vec<WaitId> = tables.waits.iter().map(|wait| wait.wait).collect();
        let blocked: Vec<&Slice> = found.blocked(&slices, waits.clone()).collect();
        let asleep = tables.slices.iter().filter(|slice| slice.wait.is_some_and(|wait| waits.contains(&wait)));
        assert!(!blocked.is_empty());
        assert_eq!(blocked.len(), asleep.count());
        assert!(blocked.iter().all(|slice| slice.state == State::Blocked));
        assert_eq!(found.blocked(&slices, []).count(), 0);
        assert!(found.line(&slices, ThreadId(u32::MAX)).is_empty());
    }
}
