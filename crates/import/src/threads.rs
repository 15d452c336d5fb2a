//! The threads of a profile, and when each was on a processor, as far as samples show it.
//!
//! A sample stands for one period of running time before it. The time between such periods is unknown: the thread may
//! have waited then, or run without being sampled.

use recording::tables::{Slice, State, Thread};
use recording::{RunId, ThreadId};
use std::collections::BTreeMap;

/// What identifies a thread: its process, when printed, and its id.
pub(crate) type Key = (Option<u32>, u32);

/// One sample's time and processor.
pub(crate) type Instant = (u64, Option<u32>);

/// A thread that was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) name: String,
    /// In ascending order of time.
    pub(crate) samples: Vec<Instant>,
}

/// Two stretches of running are merged if the gap between them is at most a period divided by this, because sampling is
/// not perfectly regular.
///
/// Decides: whether two samples belong to one stretch of running.
/// From: chosen: half a period, which jitter stays far below.
/// Wrong if: a thread waits for less than half a period: that wait is not seen.
const JITTER: u64 = 2;

/// The rows of all threads of a run. Every thread has at least one sample.
pub(crate) fn rows(run: RunId, seen: &BTreeMap<Key, Seen>, period_ns: u64) -> (Vec<Thread>, Vec<Slice>) {
    let (mut threads, mut slices) = (Vec::new(), Vec::new());
    for (number, ((pid, tid), of)) in seen.iter().enumerate() {
        let thread = ThreadId(u32::try_from(number).unwrap_or(u32::MAX));
        let lane = lane(run, thread, &of.samples, period_ns);
        let (Some(first), Some(last)) = (lane.first(), lane.last()) else { continue };
        let running = lane.iter().filter(|slice| slice.state == State::Running);
        threads.push(Thread {
            // If the process is unknown, use the thread's number: for a process's first thread both are the same.
            pid: pid.unwrap_or(*tid),
            tid: *tid,
            name: of.name.clone(),
            start_ns: first.start_ns,
            end_ns: last.end_ns,
            running_ns: running.fold(0, |sum, slice| sum.saturating_add(slice.spent_ns)),
            ..Thread::blank(run, thread)
        });
        slices.extend(lane);
    }
    (threads, slices)
}

/// Running for a period before each sample, unknown in between.
fn lane(run: RunId, thread: ThreadId, samples: &[Instant], period_ns: u64) -> Vec<Slice> {
    let slice = |start_ns: u64, end_ns: u64, state, processor| Slice {
        run,
        thread,
        start_ns,
        end_ns,
        state,
        spent_ns: end_ns.saturating_sub(start_ns),
        count: 1,
        wait: None,
        processor,
    };
    let mut lane: Vec<Slice> = Vec::new();
    for (time_ns, processor) in samples {
        let from_ns = time_ns.saturating_sub(period_ns);
        let Some(last) = lane.last_mut() else {
            lane.push(slice(from_ns, *time_ns, State::Running, *processor));
            continue;
        };
        let end_ns = last.end_ns;
        if *time_ns <= end_ns {
            continue;
        }
        let near = from_ns <= end_ns.saturating_add(period_ns / JITTER);
        match (near, last.processor == *processor) {
            (true, true) => {
                last.end_ns = *time_ns;
                last.spent_ns = last.end_ns - last.start_ns;
            }
            (true, false) => lane.push(slice(end_ns, *time_ns, State::Running, *processor)),
            (false, _) => {
                lane.push(slice(end_ns, from_ns, State::Unknown, None));
                lane.push(slice(from_ns, *time_ns, State::Running, *processor));
            }
        }
    }
    lane
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_for_the_period_before_them() {
        let samples = [(100, Some(0)), (211, Some(0)), (300, Some(1)), (900, Some(1)), (900, Some(1))];
        let lane = lane(RunId(0), ThreadId(0), &samples, 100);
        let shown: Vec<_> = lane.iter().map(|s| (s.start_ns, s.end_ns, s.state, s.processor)).collect();
        assert_eq!(
            shown,
            [
                (0, 211, State::Running, Some(0)),
                (211, 300, State::Running, Some(1)),
                (300, 800, State::Unknown, None),
                (800, 900, State::Running, Some(1)),
            ]
        );
        assert!(lane.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "without gaps");
    }
}
