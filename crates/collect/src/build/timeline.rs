//! The slices of one run.

use super::rows::{is_part, write_part};
use crate::events::Spent;
use recording::tables::{Slice, State};
use recording::{RunId, ThreadId, WaitId, Writer};

/// Slices that are not written yet.
#[derive(Debug)]
pub(super) struct Timeline {
    run: RunId,
    slices: Vec<Slice>,
    /// When observing began, if threads slept then. Their first blocks are kept here, because their waits become known
    /// only at the end.
    first_ns: Option<u64>,
    first: Vec<Slice>,
}

impl Timeline {
    pub(super) fn new(run: RunId) -> Timeline {
        Timeline { run, slices: Vec::new(), first_ns: None, first: Vec::new() }
    }

    pub(super) fn add(&mut self, spent: &Spent) {
        let Spent { thread, start_ns, end_ns, state, spent_ns, count, wait, processor } = *spent;
        if spent_ns > 0 {
            let run = self.run;
            self.slices.push(Slice { run, thread, start_ns, end_ns, state, spent_ns, count, wait, processor });
        }
    }

    /// For observing threads that slept already when it began.
    pub(super) fn keep_first(&mut self, begin_ns: u64) {
        self.first_ns = Some(begin_ns);
    }

    /// Sets the wait of the block that a thread was in when observing began. Returns its length; `None` when there was
    /// none.
    pub(super) fn first_wait(&mut self, thread: ThreadId, begin_ns: u64, wait: WaitId) -> Option<u64> {
        let mut all = self.first.iter_mut().chain(&mut self.slices);
        let first = all.find(|slice| slice.thread == thread && is_first(slice, begin_ns))?;
        first.wait = Some(wait);
        Some(first.spent_ns)
    }

    /// All that are left.
    pub(super) fn take(&mut self) -> Vec<Slice> {
        self.slices.append(&mut self.first);
        sort(&mut self.slices);
        std::mem::take(&mut self.slices)
    }

    /// Writes the slices when there are enough for a part.
    pub(super) fn write_part(&mut self, writer: &mut Writer) -> Result<(), recording::Error> {
        if let Some(begin_ns) = self.first_ns.filter(|_| is_part(&self.slices)) {
            let first = |slice: &mut Slice| is_first(slice, begin_ns);
            self.first.extend(self.slices.extract_if(.., first));
        }
        write_part(&mut self.slices, writer, sort)
    }
}

/// Whether a slice is the block, still without a wait, that a thread was in when observing began.
fn is_first(slice: &Slice, begin_ns: u64) -> bool {
    (slice.start_ns, slice.state) == (begin_ns, State::Blocked) && slice.wait.is_none()
}

/// Sorts by thread and time, because a column whose neighbouring values are similar takes little room.
fn sort(slices: &mut [Slice]) {
    slices.sort_by_key(|slice| (slice.thread, slice.start_ns, slice.end_ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_a_thread_gets_its_wait_last() {
        let mut timeline = Timeline::new(RunId(0));
        timeline.keep_first(10);
        timeline.add(&Spent::all(ThreadId(1), State::Blocked, 10, 30));
        timeline.add(&Spent::all(ThreadId(1), State::Running, 30, 35));
        timeline.add(&Spent::all(ThreadId(1), State::Running, 35, 35));
        assert_eq!(timeline.first_wait(ThreadId(1), 10, WaitId(9)), Some(20));
        assert_eq!(timeline.first_wait(ThreadId(1), 10, WaitId(8)), None, "it has one");
        let slices = timeline.take();
        assert_eq!(
            slices.iter().map(|slice| (slice.state, slice.wait)).collect::<Vec<_>>(),
            [(State::Blocked, Some(WaitId(9))), (State::Running, None)]
        );
    }
}
