//! Readings of threads that run, sleep and queue.

use super::*;
use proptest::prelude::*;
use recording::RunId;

const RUN: RunId = RunId(0);
const MS: u64 = 1_000_000;

fn reading(now: u64, running: u64, queued: u64, turns: u64, voluntary: u64, seen: SeenState) -> Reading {
    let read = SchedulerTimes { running_ns: running * MS, queued_ns: queued * MS, turns };
    Reading {
        now_ns: now * MS,
        read,
        switches: Switches { voluntary, involuntary: turns - voluntary.min(turns) },
        seen,
    }
}

/// State, begin, end and time spent in milliseconds, count.
type StateRow = (State, u64, u64, u64, u32);

fn states(readings: &[Reading]) -> (Vec<StateRow>, Vec<(u64, u64)>) {
    let (mut waits, mut to) = (Waits::default(), Builder::new(RUN));
    let mut thread = ReadThread::new(ThreadId(0), 0, SchedulerTimes::default(), Switches::default());
    readings.iter().for_each(|reading| thread.take(reading, &mut waits, &mut to));
    thread.end(0, &mut to);
    let rows = to.take_slices();
    let rows = rows.iter().map(|r| (r.state, r.start_ns / MS, r.end_ns / MS, r.spent_ns / MS, r.count)).collect();
    waits.emit(&mut to);
    (rows, to.rows.waits.iter().map(|row| (row.count, row.blocked_ns / MS)).collect())
}

#[test]
fn a_thread_that_runs_on_is_one_row() {
    let (rows, waits) = states(&[
        reading(10, 8, 0, 0, 0, SeenState::Ready),
        reading(20, 20, 0, 0, 0, SeenState::Ready),
        reading(30, 28, 0, 0, 0, SeenState::Ready),
    ]);
    assert_eq!(rows, [(State::Running, 0, 30, 30, 1)]);
    assert_eq!(waits, []);
}

#[test]
fn a_thread_that_sleeps_on_is_one_row_and_one_wait() {
    let mut waits = Waits::default();
    let at = waits.unseen(ThreadId(0), 1);
    let (rows, waits) = states(&[
        reading(10, 2, 0, 1, 1, SeenState::Asleep(at)),
        reading(20, 2, 0, 1, 1, SeenState::Same),
        reading(30, 2, 0, 1, 1, SeenState::Same),
    ]);
    let expected = [(State::Running, 0, 10, 2, 1), (State::Blocked, 0, 10, 8, 1), (State::Blocked, 10, 30, 20, 1)];
    assert_eq!(rows, expected);
    // The place's own number is the first one that `Waits` gives out: no other was made here.
    assert_eq!(waits, []);
}

#[test]
fn what_is_left_of_a_sleep_is_of_that_sleep() {
    let (mut waits, mut to) = (Waits::default(), Builder::new(RUN));
    let at = waits.unseen(ThreadId(0), 1);
    let mut thread = ReadThread::new(ThreadId(0), 0, SchedulerTimes::default(), Switches::default());
    thread.take(&reading(10, 2, 0, 1, 1, SeenState::Asleep(at)), &mut waits, &mut to);
    // It woke up meanwhile and has not slept since.
    thread.take(&reading(100, 30, 0, 2, 1, SeenState::Ready), &mut waits, &mut to);
    waits.emit(&mut to);
    assert_eq!(to.rows.waits.iter().map(|w| (w.wait, w.count, w.blocked_ns / MS)).collect::<Vec<_>>(), [(at, 1, 60)]);
}

#[test]
fn queueing_is_split_by_the_kinds_of_switches() {
    let (rows, waits) = states(&[reading(100, 50, 20, 4, 3, SeenState::Hidden)]);
    let expected = [
        (State::Running, 0, 100, 50, 4),
        (State::Runnable, 0, 100, 15, 3),
        (State::Preempted, 0, 100, 5, 1),
        (State::Blocked, 0, 100, 30, 3),
    ];
    assert_eq!(rows, expected);
    assert_eq!(waits, [(3, 30)]);
}

proptest! {
    #[test]
    fn rows_cover_a_life_and_sum_to_it(
        steps in proptest::collection::vec((0..30_u64, 0..30_u64, 0..30_u64, 0..4_u64, 0..4_u64, 0..4_u8), 0..60),
        gone in 0..50_u64,
    ) {
        let (mut waits, mut to) = (Waits::default(), Builder::new(RUN));
        let mut thread = ReadThread::new(ThreadId(0), 0, SchedulerTimes::default(), Switches::default());
        let mut last = reading(0, 0, 0, 0, 0, SeenState::Ready);
        for (time, ran, queued, voluntary, involuntary, seen) in steps {
            last.now_ns += time;
            last.read.running_ns += ran;
            last.read.queued_ns += queued;
            last.read.turns += voluntary + involuntary;
            last.switches.voluntary += voluntary;
            last.switches.involuntary += involuntary;
            last.seen = match seen { 0 => SeenState::Ready, 1 => SeenState::Asleep(WaitId(1)), 2 => SeenState::Hidden, _ => SeenState::Same };
            thread.take(&last, &mut waits, &mut to);
        }
        last.now_ns += gone;
        thread.end(last.now_ns, &mut to);
        prop_assert_eq!(to.take_slices().iter().map(|row| row.spent_ns).sum::<u64>(), last.now_ns);
        let times = thread.times;
        let sum = times.running_ns + times.runnable_ns + times.preempted_ns + times.blocked_ns;
        prop_assert_eq!(sum, last.now_ns);
    }
}
