//! Kernel records of a thread's time → rows of `slices`. May import: the BPF records, `recording`.

use super::parts::{is_part, write_part};
use crate::bpf::abi::*;
use recording::tables::{Slice, State};
use recording::{RunId, ThreadId, WaitId, Writer};

/// The handle of a thread that the kernel side counts from 1.
pub(crate) fn thread_id(thread: u32) -> ThreadId {
    ThreadId(thread.saturating_sub(1))
}

fn wait_id(place: u32) -> Option<WaitId> {
    (place != 0).then_some(WaitId(place))
}

/// Collects slices of one run.
#[derive(Debug)]
pub(crate) struct Slices {
    run: RunId,
    rows: Vec<Slice>,
    /// The beginning, when threads slept then: their first blocks are kept back, because their waits are known last.
    first_ns: Option<u64>,
    first: Vec<Slice>,
}

impl Slices {
    pub(crate) fn new(run: RunId) -> Slices {
        Slices { run, rows: Vec::new(), first_ns: None, first: Vec::new() }
    }

    /// Threads slept when observing began.
    pub(crate) fn keep_first(&mut self, begin_ns: u64) {
        self.first_ns = Some(begin_ns);
    }

    /// All that are left.
    pub(crate) fn take(&mut self) -> Vec<Slice> {
        self.rows.append(&mut self.first);
        sort(&mut self.rows);
        std::mem::take(&mut self.rows)
    }

    /// Writes them when they are worth a part.
    pub(crate) fn write_part(&mut self, writer: &mut Writer) -> Result<(), recording::Error> {
        if let Some(begin_ns) = self.first_ns.filter(|_| is_part(&self.rows)) {
            let first = |slice: &mut Slice| is_first(slice, begin_ns);
            self.first.extend(self.rows.extract_if(.., first));
        }
        write_part(&mut self.rows, writer, sort)
    }

    /// A thread that no hook has seen: blocked all the time.
    pub(crate) fn unseen(&mut self, thread: ThreadId, start_ns: u64, end_ns: u64) {
        self.one(thread, State::Blocked, start_ns, end_ns, None, None);
    }

    /// Gives the block that a thread was in when observing began its wait. Returns its length; `None` when there was none.
    pub(crate) fn first_wait(&mut self, thread: ThreadId, begin_ns: u64, wait: WaitId) -> Option<u64> {
        let mut all = self.first.iter_mut().chain(&mut self.rows);
        let first = all.find(|slice| slice.thread == thread && is_first(slice, begin_ns))?;
        first.wait = Some(wait);
        Some(first.spent_ns)
    }

    /// One cycle: away from `off`, woken at `wake`, back at `on`, running until `end`.
    pub(crate) fn period(&mut self, event: &PeriodEvent) {
        let thread = thread_id(event.header.thread);
        if event.was_preempted != 0 {
            self.one(thread, State::Preempted, event.off_ns, event.on_ns, None, None);
        } else {
            self.one(thread, State::Blocked, event.off_ns, event.wake_ns, wait_id(event.place), None);
            self.one(thread, State::Runnable, event.wake_ns, event.on_ns, None, None);
        }
        self.one(thread, State::Running, event.on_ns, event.end_ns, None, Some(event.processor));
    }

    /// A stretch that was summed up.
    pub(crate) fn stretch(&mut self, thread: u32, stretch: &Stretch) {
        let thread = thread_id(thread);
        let (run, start_ns, end_ns) = (self.run, stretch.start_ns, stretch.end_ns);
        let mut sum = |state, spent_ns, count, wait| {
            if spent_ns > 0 {
                self.rows.push(Slice { run, thread, start_ns, end_ns, state, spent_ns, count, wait, processor: None });
            }
        };
        sum(State::Running, stretch.running_ns, stretch.running_count, None);
        sum(State::Runnable, stretch.runnable_ns, stretch.runnable_count, None);
        sum(State::Preempted, stretch.preempted_ns, stretch.preempted_count, None);
        sum(State::Blocked, stretch.blocked_ns, stretch.blocked_count, None);
        for place in stretch.places.iter().filter(|place| place.count > 0) {
            sum(State::Blocked, place.ns, place.count, wait_id(place.place));
        }
    }

    /// What a record still holds of a thread that has ended, or lives on at the end of the run.
    pub(crate) fn rest(&mut self, record: &ThreadRecord, end_ns: u64) {
        if record.stretch.end_ns != 0 {
            self.stretch(record.thread, &record.stretch);
        }
        if record.state == THREAD_ENDED {
            return;
        }
        let thread = thread_id(record.thread);
        let end = end_ns.max(record.off_ns);
        let on = if record.phase == PHASE_RUNNING { record.on_ns.clamp(record.off_ns, end) } else { end };
        if record.was_preempted != 0 {
            self.one(thread, State::Preempted, record.off_ns, on, None, None);
        } else {
            let wake = if record.phase == PHASE_BLOCKED { on } else { record.wake_ns.clamp(record.off_ns, on) };
            self.one(thread, State::Blocked, record.off_ns, wake, wait_id(record.place), None);
            self.one(thread, State::Runnable, wake, on, None, None);
        }
        if record.phase == PHASE_RUNNING {
            self.one(thread, State::Running, on, end, None, Some(record.processor));
        }
    }

    fn one(
        &mut self,
        thread: ThreadId,
        state: State,
        start_ns: u64,
        end_ns: u64,
        wait: Option<WaitId>,
        processor: Option<u32>,
    ) {
        if end_ns > start_ns {
            let spent_ns = end_ns - start_ns;
            self.rows.push(Slice {
                run: self.run,
                thread,
                start_ns,
                end_ns,
                state,
                spent_ns,
                count: 1,
                wait,
                processor,
            });
        }
    }
}

/// The block, without a wait, that a thread was in when observing began.
fn is_first(slice: &Slice, begin_ns: u64) -> bool {
    (slice.start_ns, slice.state) == (begin_ns, State::Blocked) && slice.wait.is_none()
}

/// By thread and time: in a column, values that are near their neighbours take little room.
fn sort(rows: &mut [Slice]) {
    rows.sort_by_key(|slice| (slice.thread, slice.start_ns, slice.end_ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(slices: &mut Slices) -> Vec<(State, u64, u64, Option<u32>)> {
        slices.take().iter().map(|s| (s.state, s.start_ns, s.end_ns, s.wait.map(|w| w.0))).collect()
    }

    #[test]
    fn a_period_covers_its_time_without_gaps() {
        let mut slices = Slices::new(RunId(0));
        let mut event = PeriodEvent {
            header: Header { kind: EVENT_PERIOD, thread: 1 },
            off_ns: 10,
            wake_ns: 30,
            on_ns: 35,
            end_ns: 50,
            place: 7,
            was_preempted: 0,
            processor: 1,
            padding: 0,
        };
        slices.period(&event);
        let expected =
            [(State::Blocked, 10, 30, Some(7)), (State::Runnable, 30, 35, None), (State::Running, 35, 50, None)];
        assert_eq!(states(&mut slices), expected);
        event.was_preempted = 1;
        slices.period(&event);
        assert_eq!(states(&mut slices), [(State::Preempted, 10, 35, None), (State::Running, 35, 50, None)]);
    }

    #[test]
    fn the_parts_of_a_stretch_sum_to_it() {
        let mut slices = Slices::new(RunId(0));
        let mut stretch = Stretch {
            start_ns: 100,
            end_ns: 200,
            running_ns: 40,
            runnable_ns: 10,
            preempted_ns: 5,
            blocked_ns: 15,
            running_count: 4,
            runnable_count: 3,
            preempted_count: 1,
            blocked_count: 1,
            ..Stretch::default()
        };
        stretch.places[0] = PlaceSum { place: 9, count: 2, ns: 30 };
        slices.stretch(3, &stretch);
        let rows = slices.take();
        assert_eq!(rows.iter().map(|s| s.spent_ns).sum::<u64>(), 100);
        assert!(rows.iter().all(|s| (s.thread, s.start_ns, s.end_ns) == (ThreadId(2), 100, 200)));
        assert_eq!(rows.last().and_then(|s| s.wait), Some(WaitId(9)));
    }
}
