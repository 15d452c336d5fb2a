//! Switches, readings and lost records in any order.

use super::*;
use proptest::prelude::*;
use recording::RunId;
use recording::tables::Slice;

const RUN: RunId = RunId(0);

fn track(start_ns: u64) -> Track {
    Track::new(ThreadId(0), 1, 1, start_ns, 1_000_000)
}

const WAIT: Option<WaitId> = Some(WaitId(1));

fn states(rows: &[Slice]) -> Vec<(State, u64, u64)> {
    rows.iter().map(|row| (row.state, row.start_ns, row.end_ns)).collect()
}

#[test]
fn queueing_is_taken_from_the_ends_of_blocks() {
    let (mut track, mut waits, mut to, mut silent) = (track(0), Waits::default(), Builder::new(RUN), Vec::new());
    track.enter(10, 0, WAIT);
    track.leave(20, false, &mut silent);
    track.enter(60, 0, WAIT);
    track.leave(70, true, &mut silent);
    track.enter(75, 1, WAIT);
    track.leave(90, false, &mut silent);
    track.enter(95, 1, WAIT);
    // 10 while it was new and 5 while preempted; the other 25 go to two blocks of 40 and 5.
    track.settle(95, 40, &mut waits, &mut to);
    let expected = [
        (State::Runnable, 0, 10),
        (State::Running, 10, 20),
        (State::Blocked, 20, 40),
        (State::Runnable, 40, 60),
        (State::Running, 60, 70),
        (State::Preempted, 70, 75),
        (State::Running, 75, 90),
        (State::Runnable, 90, 95),
    ];
    assert_eq!(states(&to.take_slices()), expected);
    assert_eq!((track.migrations, track.voluntary, track.involuntary), (1, 2, 1));
    assert_eq!(track.times, Times { running_ns: 35, runnable_ns: 35, preempted_ns: 5, blocked_ns: 20 });
}

#[test]
fn without_a_reading_blocks_stay_whole_and_are_counted() {
    let (mut track, mut waits, mut to, mut silent) = (track(0), Waits::default(), Builder::new(RUN), Vec::new());
    track.enter(0, 0, WAIT);
    track.leave(20, false, &mut silent);
    track.enter(60, 0, WAIT);
    track.settle_unread(&mut waits, &mut to);
    // This sum includes the first block's queue time, so it only marks where the next one starts.
    track.leave(70, false, &mut silent);
    track.enter(80, 0, WAIT);
    track.settle(80, 1000, &mut waits, &mut to);
    track.leave(90, false, &mut silent);
    track.enter(99, 0, WAIT);
    track.settle(99, 1004, &mut waits, &mut to);
    assert_eq!((track.blocks, track.unread_blocks), (3, 2));
    assert_eq!(track.times.runnable_ns, 4);
}

#[test]
fn lost_records_leave_unknown_time() {
    let (mut track, mut waits, mut to, mut silent) = (track(0), Waits::default(), Builder::new(RUN), Vec::new());
    track.enter(0, 0, WAIT);
    track.enter(30, 0, WAIT);
    track.leave(40, false, &mut silent);
    track.leave(50, false, &mut silent);
    track.end(60, WAIT, &mut silent);
    track.enter(70, 0, WAIT);
    track.settle_unread(&mut waits, &mut to);
    let expected =
        [(State::Unknown, 0, 30), (State::Running, 30, 40), (State::Unknown, 40, 50), (State::Blocked, 50, 60)];
    assert_eq!(states(&to.take_slices()), expected);
    assert!(track.ended() && track.last_ns() == 60);
}

#[test]
fn storms_are_summed_up() {
    let (mut track, mut waits, mut to, mut silent) = (track(0), Waits::default(), Builder::new(RUN), Vec::new());
    track.enter(0, 0, WAIT);
    for turn in 0..500 {
        track.leave(turn * 1000 + 600, false, &mut silent);
        track.enter(turn * 1000 + 1000, 0, WAIT);
    }
    track.settle(500_000, 0, &mut waits, &mut to);
    let sums: Vec<_> = to.take_slices().iter().map(|r| (r.state, r.start_ns, r.end_ns, r.spent_ns, r.count)).collect();
    let expected = [(State::Running, 0, 500_000, 300_000, 500), (State::Blocked, 0, 500_000, 200_000, 500)];
    assert_eq!(sums, expected);
}

proptest! {
    /// In whatever order events come, the pieces join without gaps and their sums equal the thread's life.
    #[test]
    fn pieces_cover_a_life_without_gaps(
        events in proptest::collection::vec((0..5_u8, 0..2_000_u64, 0..3_u32, 0..3_000_u64), 0..400)
    ) {
        let (mut track, mut waits, mut to, mut silent) = (track(100), Waits::default(), Builder::new(RUN), Vec::new());
        let (mut now, mut queued) = (100_u64, 0_u64);
        for (what, step, processor, more) in events {
            now = (now + step).saturating_sub(u64::from(what == 2) * 500);
            queued += more;
            match what {
                0 => track.enter(now, processor, WAIT),
                1 => track.leave(now, processor == 1, &mut silent),
                2 => track.sample(now, &mut silent),
                3 => track.settle(now, queued, &mut waits, &mut to),
                _ => track.settle_unread(&mut waits, &mut to),
            }
        }
        track.end(now, WAIT, &mut silent);
        track.settle_unread(&mut waits, &mut to);
        let sums = track.times;
        let life = track.last_ns() - 100;
        prop_assert_eq!(sums.running_ns + sums.runnable_ns + sums.preempted_ns + sums.blocked_ns, life);
        let rows = to.take_slices();
        prop_assert_eq!(rows.iter().map(|row| row.spent_ns).sum::<u64>(), life);
        let mut at = 100;
        for row in &rows {
            prop_assert!(row.start_ns == at || rows.iter().any(|other| other.start_ns == row.start_ns), "{row:?}");
            at = row.end_ns;
        }
    }
}
