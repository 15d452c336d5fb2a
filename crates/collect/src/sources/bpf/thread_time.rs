//! A thread's time as the kernel side reports it → events.

use crate::bpf::abi::*;
use crate::build::Builder;
use crate::events::{Event, Spent};
use recording::tables::State;
use recording::{ThreadId, WaitId};

/// The handle of a thread that the kernel side counts from 1.
pub(super) fn thread_id(thread: u32) -> ThreadId {
    ThreadId(thread.saturating_sub(1))
}

fn wait_id(place: u32) -> Option<WaitId> {
    (place != 0).then_some(WaitId(place))
}

/// One cycle: away from `off`, woken at `wake`, back at `on`, running until `end`.
pub(super) fn period(event: &PeriodEvent, to: &mut Builder) {
    let thread = thread_id(event.header.thread);
    if event.was_preempted != 0 {
        one(to, Spent::all(thread, State::Preempted, event.off_ns, event.on_ns));
    } else {
        one(
            to,
            Spent { wait: wait_id(event.place), ..Spent::all(thread, State::Blocked, event.off_ns, event.wake_ns) },
        );
        one(to, Spent::all(thread, State::Runnable, event.wake_ns, event.on_ns));
    }
    one(to, running(thread, event.on_ns, event.end_ns, event.processor));
}

/// A stretch that was summed up.
pub(super) fn stretch(thread: u32, stretch: &Stretch, to: &mut Builder) {
    let (start_ns, end_ns) = (stretch.start_ns, stretch.end_ns);
    let mut sum = |state, spent_ns, count, wait| {
        let thread = thread_id(thread);
        one(to, Spent { thread, start_ns, end_ns, state, spent_ns, count, wait, processor: None });
    };
    sum(State::Running, stretch.running_ns, stretch.running_count, None);
    sum(State::Runnable, stretch.runnable_ns, stretch.runnable_count, None);
    sum(State::Preempted, stretch.preempted_ns, stretch.preempted_count, None);
    sum(State::Blocked, stretch.blocked_ns, stretch.blocked_count, None);
    for place in stretch.places.iter().filter(|place| place.count > 0) {
        sum(State::Blocked, place.ns, place.count, wait_id(place.place));
    }
}

/// What is still in the record of a thread that has ended, or is still alive at the end of the run.
pub(super) fn rest(record: &ThreadRecord, end_ns: u64, to: &mut Builder) {
    if record.stretch.end_ns != 0 {
        stretch(record.thread, &record.stretch, to);
    }
    if record.state == THREAD_ENDED {
        return;
    }
    let thread = thread_id(record.thread);
    let end = end_ns.max(record.off_ns);
    let on = if record.phase == PHASE_RUNNING { record.on_ns.clamp(record.off_ns, end) } else { end };
    if record.was_preempted != 0 {
        one(to, Spent::all(thread, State::Preempted, record.off_ns, on));
    } else {
        let wake = if record.phase == PHASE_BLOCKED { on } else { record.wake_ns.clamp(record.off_ns, on) };
        one(to, Spent { wait: wait_id(record.place), ..Spent::all(thread, State::Blocked, record.off_ns, wake) });
        one(to, Spent::all(thread, State::Runnable, wake, on));
    }
    if record.phase == PHASE_RUNNING {
        one(to, running(thread, on, end, record.processor));
    }
}

fn running(thread: ThreadId, start_ns: u64, end_ns: u64, processor: u32) -> Spent {
    Spent { processor: Some(processor), ..Spent::all(thread, State::Running, start_ns, end_ns) }
}

fn one(to: &mut Builder, spent: Spent) {
    to.add(Event::Spent(spent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::RunId;

    fn states(builder: &mut Builder) -> Vec<(State, u64, u64, Option<u32>)> {
        builder.take_slices().iter().map(|s| (s.state, s.start_ns, s.end_ns, s.wait.map(|w| w.0))).collect()
    }

    #[test]
    fn a_period_covers_its_time_without_gaps() {
        let mut builder = Builder::new(RunId(0));
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
        period(&event, &mut builder);
        let expected =
            [(State::Blocked, 10, 30, Some(7)), (State::Runnable, 30, 35, None), (State::Running, 35, 50, None)];
        assert_eq!(states(&mut builder), expected);
        event.was_preempted = 1;
        period(&event, &mut builder);
        assert_eq!(states(&mut builder), [(State::Preempted, 10, 35, None), (State::Running, 35, 50, None)]);
    }

    #[test]
    fn the_parts_of_a_stretch_sum_to_it() {
        let mut builder = Builder::new(RunId(0));
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
        super::stretch(3, &stretch, &mut builder);
        let rows = builder.take_slices();
        assert_eq!(rows.iter().map(|s| s.spent_ns).sum::<u64>(), 100);
        assert!(rows.iter().all(|s| (s.thread, s.start_ns, s.end_ns) == (ThreadId(2), 100, 200)));
        assert_eq!(rows.last().and_then(|s| s.wait), Some(WaitId(9)));
    }
}
