//! The windows of a live view. Nothing is kept and nothing written.

use crate::build::{Builder, Rows, thread_row, wait_row};
use crate::events::{Doing, ThreadLife, Times, WaitSums};
use crate::sources::{LiveSource, Living};
use crate::stacks::Stacks;
use recording::tables::{MarkKind, Slice, State, Thread, Wait};
use recording::{RunId, Tables, ThreadId, WaitId};
use std::collections::HashMap;

/// One thread at the end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The thread.
    pub thread: ThreadId,
    /// What it does.
    pub doing: Doing,
    /// What it waits for, where that is known: a row of the window's `waits`.
    pub wait: Option<WaitId>,
}

/// A thread's sums: its times, and its switches of both kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ThreadSums {
    times: Times,
    voluntary: u64,
    involuntary: u64,
}

impl ThreadSums {
    fn from_life(life: &ThreadLife) -> ThreadSums {
        let (voluntary, involuntary) = (life.voluntary_switches, life.involuntary_switches);
        ThreadSums { times: life.times, voluntary, involuntary }
    }
}

/// Makes the rows of one window: what happened since the window before.
#[derive(Debug, Default)]
pub(crate) struct LiveSink {
    /// Sums at the end of the window before, of the threads that were alive then.
    before: HashMap<ThreadId, ThreadSums>,
}

impl LiveSink {
    /// Adds the rows of a window, and what threads do at its end.
    pub(crate) fn window(
        &mut self,
        source: &mut impl LiveSource,
        stacks: &mut Stacks<'_>,
        rows: &mut Builder,
        (from_ns, to_ns): (u64, u64),
        tables: &mut Tables,
        now: &mut Vec<Now>,
    ) {
        let living = source.living(to_ns);
        let mut waited: HashMap<WaitId, WaitSums> = HashMap::new();
        for slice in rows.take_slices() {
            add_slice(&mut waited, &slice, from_ns);
        }
        let Rows { threads: ended, samples, mut marks, .. } = std::mem::take(&mut rows.rows);
        for row in ended {
            let sums = ThreadSums {
                times: Times {
                    running_ns: row.running_ns,
                    runnable_ns: row.runnable_ns,
                    preempted_ns: row.preempted_ns,
                    blocked_ns: row.blocked_ns,
                },
                voluntary: row.voluntary_switches,
                involuntary: row.involuntary_switches,
            };
            tables.threads.push(self.grown(row, sums, (from_ns, to_ns)));
        }
        let mut sums_now = HashMap::with_capacity(living.len());
        for Living { life, doing, blocked } in living {
            let (thread, sums) = (life.thread, ThreadSums::from_life(&life));
            if let Some((wait, since_ns)) = blocked {
                add_block(waited.entry(wait).or_default(), since_ns, (from_ns, to_ns));
            }
            now.push(Now { thread, doing, wait: blocked.map(|(wait, _)| wait) });
            sums_now.insert(thread, sums);
            tables.threads.push(self.grown(thread_row(rows.run(), life), sums, (from_ns, to_ns)));
        }
        self.before = sums_now;
        tables.waits.extend(wait_rows(rows.run(), waited, source, stacks));
        tables.samples.extend(samples);
        // What was done; that something began tells no speed.
        marks.retain(|mark| matches!(mark.kind, MarkKind::Work | MarkKind::TaskEnd));
        tables.marks.extend(marks);
        source.forget();
    }

    /// A thread's row for the window: the growth of its sums.
    fn grown(&self, mut row: Thread, now: ThreadSums, (from_ns, to_ns): (u64, u64)) -> Thread {
        let before = self.before.get(&row.thread);
        let then = before.copied().unwrap_or_default();
        let since = |of: fn(&ThreadSums) -> u64| of(&now).saturating_sub(of(&then));
        row.running_ns = since(|sums| sums.times.running_ns);
        row.runnable_ns = since(|sums| sums.times.runnable_ns);
        row.preempted_ns = since(|sums| sums.times.preempted_ns);
        row.blocked_ns = since(|sums| sums.times.blocked_ns);
        row.voluntary_switches = since(|sums| sums.voluntary);
        row.involuntary_switches = since(|sums| sums.involuntary);
        (row.start_ns, row.end_ns) = (row.start_ns.max(from_ns), row.end_ns.clamp(from_ns, to_ns.max(from_ns)));
        if before.is_none() {
            // Asleep before it was first seen: time before the window must not be counted.
            let all = row.running_ns + row.runnable_ns + row.preempted_ns + row.blocked_ns;
            row.blocked_ns = row.blocked_ns.saturating_sub(all.saturating_sub(row.end_ns - row.start_ns));
        }
        row
    }
}

fn wait_rows(
    run: RunId,
    waited: HashMap<WaitId, WaitSums>,
    source: &impl LiveSource,
    stacks: &mut Stacks<'_>,
) -> Vec<Wait> {
    let row = |(wait, sums): (WaitId, WaitSums)| Some(wait_row(run, source.place(wait, stacks)?, &sums));
    let mut rows: Vec<Wait> = waited.into_iter().filter_map(row).collect();
    rows.sort_by_key(|wait| wait.wait);
    rows
}

/// Adds the part of a slice that lies inside the window.
fn add_slice(waited: &mut HashMap<WaitId, WaitSums>, slice: &Slice, from_ns: u64) {
    let (State::Blocked, Some(wait)) = (slice.state, slice.wait) else { return };
    let length = slice.end_ns.saturating_sub(slice.start_ns).max(1);
    let inside = slice.end_ns.saturating_sub(slice.start_ns.max(from_ns));
    let part = (u128::from(slice.spent_ns) * u128::from(inside) / u128::from(length)) as u64;
    let sums = waited.entry(wait).or_default();
    sums.count += u64::from(slice.count);
    sums.blocked_ns += part;
    if slice.count == 1 {
        sums.longest_ns = sums.longest_ns.max(slice.spent_ns);
    }
}

/// Adds a block that has not ended.
fn add_block(sums: &mut WaitSums, since_ns: u64, (from_ns, to_ns): (u64, u64)) {
    let so_far = to_ns.saturating_sub(since_ns);
    sums.count += 1;
    sums.blocked_ns += so_far.min(to_ns.saturating_sub(from_ns));
    sums.longest_ns = sums.longest_ns.max(so_far);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice() -> Slice {
        Slice {
            run: RunId(0),
            thread: ThreadId(0),
            start_ns: 100,
            end_ns: 300,
            state: State::Blocked,
            spent_ns: 100,
            count: 2,
            wait: Some(WaitId(7)),
            processor: None,
        }
    }

    #[test]
    fn of_a_wait_that_began_before_only_the_part_inside_counts() {
        let mut waited = HashMap::new();
        add_slice(&mut waited, &slice(), 200);
        add_slice(&mut waited, &Slice { start_ns: 250, end_ns: 260, spent_ns: 10, count: 1, ..slice() }, 200);
        let sums = &mut waited.get_mut(&WaitId(7)).expect("it was added");
        assert_eq!((sums.count, sums.blocked_ns, sums.longest_ns), (3, 60, 10));
        add_block(sums, 150, (200, 300));
        assert_eq!((sums.count, sums.blocked_ns, sums.longest_ns), (4, 160, 150));
    }

    #[test]
    fn a_window_has_the_growth_of_sums_and_no_more_than_its_time() {
        let mut sink = LiveSink::default();
        let thread = ThreadId(3);
        let blank = Thread { start_ns: 0, end_ns: 300, ..Thread::blank(RunId(0), thread) };
        let sums = |running_ns, blocked_ns| ThreadSums {
            times: Times { running_ns, blocked_ns, ..Times::default() },
            ..ThreadSums::default()
        };
        let first = sink.grown(blank.clone(), sums(40, 260), (200, 300));
        assert_eq!((first.running_ns, first.blocked_ns, first.start_ns), (40, 60, 200), "it slept before it was seen");
        sink.before.insert(thread, sums(40, 260));
        let second = sink.grown(Thread { end_ns: 400, ..blank }, sums(110, 290), (300, 400));
        assert_eq!((second.running_ns, second.blocked_ns, second.start_ns), (70, 30, 300));
    }
}
