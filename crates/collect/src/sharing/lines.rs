//! Accesses by cache line. All are kept for lines that several threads touch; for other lines only the latest.

use super::input::LINE;
use recording::RunId;
use recording::tables::{AccessKind, AddressCertainty, Loss};
use std::collections::{BTreeSet, HashMap};

/// How many accesses are kept for a line that only one thread has touched so far: the latest. A program that uses much
/// memory has millions of such lines.
///
/// Decides: how many accesses are kept of a line that only one thread has touched.
/// From: memory; chosen.
/// Wrong if: the second thread comes after many accesses of the first.
const ALONE: usize = 32;

/// Lines that are followed at the same time (some 30 MiB with few accesses each). When there is no more room, lines
/// that only one thread touched a few times are dropped; if that frees less than half, all are.
///
/// Decides: how many lines are followed.
/// From: memory: some 30 MiB.
/// Wrong if: a program uses so many lines that shared ones are dropped before they are suspected.
const FOLLOWED: usize = 1 << 17;

/// Accesses that are kept in all (some 100 MiB); further ones are only counted.
///
/// Decides: how many accesses are kept.
/// From: memory: some 100 MiB.
/// Wrong if: the accesses to shared lines come last.
const ROWS: usize = 2 << 20;

/// Threads that are told apart at a line. Where more come and go, a new one replaces the one with the fewest accesses.
/// If several thousand lived at once and shared one line evenly, trials of four threads would not find that anyway.
///
/// Decides: how many threads are told apart at a line.
/// From: memory; chosen.
/// Wrong if: thousands of threads share a line evenly.
const THREADS: usize = 1024;

/// A line is suspected when each of two threads made at least this many accesses, there were at least [`WRITES`]
/// writes, and different threads touched it in at least [`WINDOWS`] of the same time windows. Fewer can meet by chance
/// in a run over shared data: in prototypes on programs with and without sharing, breakpoints confirmed no line below
/// these limits.
///
/// Decides: from how many sampled accesses by each of two threads on a line is suspected.
/// From: prototypes on programs with and without sharing.
/// Shown by: `bench/sharing`.
/// Wrong if: a run is too short for so many samples.
const EACH: u32 = 5;
/// Decides: from how many sampled writes on a line is suspected.
/// From: prototypes on programs with and without sharing.
/// Shown by: `bench/sharing`.
/// Wrong if: the writes to a line are few, but expensive.
const WRITES: u32 = 3;
/// Decides: in how many time windows different threads must have touched a line before it is suspected.
/// From: prototypes on programs with and without sharing.
/// Shown by: `bench/sharing`.
/// Wrong if: sharing happens in one short phase.
const WINDOWS: u32 = 3;
/// Decides: how long the time windows are, nanoseconds: accesses of a line within one window count as made at the same
/// time.
/// From: two periods of the sampling clock.
/// Shown by: `bench/sharing`.
/// Wrong if: the sampling clock is slower, as on more than 16 processors: a window is then shorter than two of its
/// periods.
const WINDOW_NS: u64 = 2_000_000;

/// A line is suspected, too, when its atomic updates changed from one thread to another this many times. Where threads
/// share hundreds of counters, as reference counts of a tree's nodes, each is sampled too seldom for two threads to meet in
/// a window, but private memory never has a second thread that updates it atomically again and again.
///
/// Decides: from how many turns of the threads on a line is suspected that they did not meet at.
/// From: chosen: with memory that one thread frees and another one gets, a few turns come by chance.
/// Shown by: `one_of_many_counters_is_suspected_by_turns`.
/// Wrong if: a lock goes from thread to thread: it is then tried, and the trials see that threads hand it on.
const TURNS: u32 = 8;
/// Decides: how many lines are suspected by turns. The trials of a run are few, and lines of one kind are alike.
/// From: arithmetic: a run of a second has 25 ms for trials, some 60 with 12 traps of 30 µs each; a line needs 8 to be proven.
/// Shown by: `one_of_many_counters_is_suspected_by_turns`.
/// Wrong if: the first three lines are the only ones that threads do not really share.
const BY_TURNS: u32 = 3;

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) thread: u32,
    pub(super) time_ns: u64,
    pub(super) address: u64,
    pub(super) instruction: u64,
    pub(super) width: u16,
    pub(super) kind: AccessKind,
    pub(super) distance: i8,
    pub(super) certainty: AddressCertainty,
}

fn writes(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Store | AccessKind::Update | AccessKind::Atomic)
}

#[derive(Debug, Default)]
struct Line {
    rows: Vec<Row>,
    /// Accesses by thread.
    threads: Vec<(u32, u32)>,
    writes: u32,
    /// The current time window, the first thread in it, and whether the window was already counted as shared.
    window: u64,
    first: u32,
    counted: bool,
    shared_windows: u32,
    nominated: bool,
    /// The thread of the latest atomic update, and how often it was another one than before.
    updated_by: Option<u32>,
    turns: u32,
}

impl Line {
    fn add(&mut self, row: Row) {
        if let Some((_, count)) = self.threads.iter_mut().find(|(thread, _)| *thread == row.thread) {
            *count += 1;
        } else if self.threads.len() < THREADS {
            self.threads.push((row.thread, 1));
        } else if let Some(fewest) = self.threads.iter_mut().min_by_key(|(_, count)| *count) {
            *fewest = (row.thread, 1);
        }
        self.writes += u32::from(writes(row.kind));
        if row.kind == AccessKind::Atomic {
            let before = self.updated_by.replace(row.thread);
            self.turns += u32::from(before.is_some_and(|thread| thread != row.thread));
        }
        let window = row.time_ns / WINDOW_NS;
        if window != self.window {
            (self.window, self.first, self.counted) = (window, row.thread, false);
        } else if row.thread != self.first && !self.counted {
            self.counted = true;
            self.shared_windows += 1;
        }
    }

    fn suspect(&self) -> bool {
        let often = self.threads.iter().filter(|(_, count)| *count >= EACH).count();
        often >= 2 && self.writes >= WRITES && self.shared_windows >= WINDOWS
    }
}

/// What a thread does most at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Habit {
    pub(super) thread: u32,
    pub(super) address: u64,
    pub(super) width: u16,
    pub(super) writes: bool,
}

/// What a thread writes is watched rather than what it reads, unless it reads something of the line this many times as
/// often.
///
/// Decides: which address of a line a thread is watched at.
/// From: chosen, after a program whose threads keep a minimum and a maximum in one line: the maximum was 56 of 1,041
/// samples, and in 42 trials nobody wrote it.
/// Shown by: `what_is_written_rarely_is_not_watched`.
/// Wrong if: a thread reads one variable of a line and writes another a tenth as often, and only the writes fall together.
const RARELY: u64 = 4;

/// All lines of a run, by address space.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: HashMap<(u32, u64), Line>,
    nominated: Vec<(u32, u64)>,
    rows: usize,
    dropped: u64,
    forgotten: u64,
    by_turns: u32,
}

impl Lines {
    pub(super) fn add(&mut self, space: u32, row: Row) {
        if self.lines.len() >= FOLLOWED {
            self.forget();
        }
        let line = self.lines.entry((space, row.address / LINE)).or_default();
        line.add(row);
        if line.threads.len() == 1 && line.rows.len() >= ALONE {
            line.rows.drain(..ALONE / 2);
            self.rows = self.rows.saturating_sub(ALONE / 2);
        }
        if self.rows >= ROWS {
            self.dropped += 1;
        } else {
            line.rows.push(row);
            self.rows += 1;
        }
        let met = line.suspect();
        if !line.nominated && (met || line.turns >= TURNS && self.by_turns < BY_TURNS) {
            self.by_turns += u32::from(!met);
            line.nominated = true;
            self.nominated.push((space, row.address / LINE));
        }
    }

    /// Whether several threads have touched the line of an address.
    pub(super) fn is_shared(&self, space: u32, address: u64) -> bool {
        self.lines.get(&(space, address / LINE)).is_some_and(|line| line.threads.len() > 1)
    }

    /// Drops the lines that only one thread touched and only a few times.
    fn forget(&mut self) {
        let (lines, rows) = (self.lines.len(), &mut self.rows);
        self.lines.retain(|_, line| {
            let keep = line.threads.len() > 1 || line.rows.len() >= ALONE / 2;
            if !keep {
                *rows = rows.saturating_sub(line.rows.len());
            }
            keep
        });
        // Most lines are worth keeping, but there is no room: start over rather than grow.
        if self.lines.len() * 2 > lines {
            self.forgotten += self.lines.len() as u64;
            self.lines.clear();
            self.rows = 0;
        }
    }

    /// Lines that became suspects since the last call: address space, and address / [`LINE`].
    pub(super) fn nominated(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.nominated)
    }

    /// What each thread mostly does at a line (writes, if it writes at all), the thread with the most accesses first.
    pub(super) fn habits(&self, space: u32, line: u64) -> Vec<Habit> {
        let Some(line) = self.lines.get(&(space, line)) else { return Vec::new() };
        let mut counts: HashMap<Use, u32> = HashMap::new();
        for row in &line.rows {
            *counts.entry((row.thread, writes(row.kind), row.address, row.width)).or_default() += 1;
        }
        let mut threads = line.threads.clone();
        threads.sort_by_key(|(thread, count)| (std::cmp::Reverse(*count), *thread));
        let most = |(thread, _): &(u32, u32)| {
            let own = || counts.iter().filter(|((of, ..), _)| of == thread);
            let largest = own().map(|(_, count)| *count).max()?;
            // A variable that is written now and then is rarely written during a trial.
            let written = |writes: bool, count: u32| writes && u64::from(count) * RARELY >= u64::from(largest);
            let ((_, writes, address, width), _) =
                own().max_by_key(|((_, writes, address, _), count)| (written(*writes, **count), **count, *address))?;
            Some(Habit { thread: *thread, address: *address, width: *width, writes: *writes })
        };
        threads.iter().filter_map(most).collect()
    }

    /// The rows of lines that several threads touched and one wrote, and of the lines in `also`, sorted by time.
    pub(super) fn shared(&mut self, also: &BTreeSet<(u32, u64)>) -> Vec<(u32, Row)> {
        let wanted = |key: &(u32, u64), line: &Line| {
            let written = line.rows.iter().any(|row| writes(row.kind));
            line.threads.len() > 1 && written || also.contains(key)
        };
        let lines = self.lines.drain().filter(|(key, line)| wanted(key, line));
        let mut rows: Vec<(u32, Row)> =
            lines.flat_map(|((space, _), line)| line.rows.into_iter().map(move |row| (space, row))).collect();
        rows.sort_by_key(|(_, row)| (row.time_ns, row.thread, row.distance, row.address));
        rows
    }

    pub(super) fn losses(&self, run: RunId) -> Vec<Loss> {
        let of = Some(self.rows as u64 + self.dropped);
        let dropped = Loss { run, what: "memory accesses".to_owned(), count: self.dropped, of };
        let forgotten = Loss { run, what: "cache lines".to_owned(), count: self.forgotten, of: None };
        [dropped, forgotten].into_iter().filter(|loss| loss.count > 0).collect()
    }
}

/// Thread, whether it writes, address, width.
type Use = (u32, bool, u64, u16);

#[cfg(test)]
mod tests {
    use super::*;

    fn row(thread: u32, time_ns: u64, address: u64, kind: AccessKind) -> Row {
        Row {
            thread,
            time_ns,
            address,
            instruction: 1,
            width: 8,
            kind,
            distance: -1,
            certainty: AddressCertainty::Exact,
        }
    }

    #[test]
    fn a_line_is_suspected_when_threads_meet_there_often() {
        let mut lines = Lines::default();
        for step in 0..4 {
            for thread in [1, 2] {
                lines.add(0, row(thread, step * WINDOW_NS, 0x1000 + u64::from(thread) * 8, AccessKind::Update));
            }
        }
        assert!(lines.nominated().is_empty(), "four each are too few");
        for thread in [1, 2] {
            lines.add(0, row(thread, 9 * WINDOW_NS, 0x1000 + u64::from(thread) * 8, AccessKind::Update));
        }
        assert_eq!(lines.nominated(), [(0, 0x1000 / LINE)]);
        let habits = lines.habits(0, 0x1000 / LINE);
        assert_eq!(
            habits.iter().map(|habit| (habit.thread, habit.address)).collect::<Vec<_>>(),
            [(1, 0x1008), (2, 0x1010)]
        );
        assert_eq!(lines.shared(&BTreeSet::new()).len(), 10);
    }

    /// A thread compares with its minimum all the time, and seldom has a new maximum. Near miss: one that writes its sum as
    /// often as it reads its count.
    #[test]
    fn what_is_written_rarely_is_not_watched() {
        let mut lines = Lines::default();
        for step in 0..100 {
            lines.add(0, row(1, step, 0x1008, AccessKind::Load));
            lines.add(0, row(2, step, 0x1020, AccessKind::Load));
            lines.add(0, row(2, step, 0x1028, AccessKind::Update));
            if step % 10 == 0 {
                lines.add(0, row(1, step, 0x1010, AccessKind::Store));
            }
        }
        let habits = lines.habits(0, 0x1000 / LINE);
        let mut watched: Vec<_> = habits.iter().map(|h| (h.thread, h.address, h.writes)).collect();
        watched.sort_unstable();
        assert_eq!(watched, [(1, 0x1008, false), (2, 0x1028, true)]);
    }

    #[test]
    fn threads_that_never_meet_and_lines_that_nobody_writes_are_not_suspected() {
        let mut lines = Lines::default();
        for step in 0..100 {
            lines.add(0, row(step as u32 / 50, step * WINDOW_NS, 0x1000, AccessKind::Update));
            lines.add(0, row(1, step * WINDOW_NS, 0x2000, AccessKind::Load));
            lines.add(0, row(2, step * WINDOW_NS, 0x2000, AccessKind::Load));
        }
        assert!(lines.nominated().is_empty());
        let shared = lines.shared(&BTreeSet::new());
        assert!(shared.iter().all(|(_, row)| row.address == 0x1000));
    }

    /// Threads that never meet in a window, but take turns. Near miss: plain updates, as of memory that is freed and given to
    /// another thread.
    #[test]
    fn one_of_many_counters_is_suspected_by_turns() {
        let suspected = |kind: AccessKind, turns: u32| {
            let mut lines = Lines::default();
            for step in 0..=u64::from(turns) {
                for counter in 0..20 {
                    let time_ns = (step * 20 + counter) * WINDOW_NS;
                    lines.add(0, row((step % 2) as u32, time_ns, 0x1000 + counter * LINE, kind));
                }
            }
            lines.nominated().len()
        };
        assert_eq!(suspected(AccessKind::Atomic, TURNS), BY_TURNS as usize);
        assert_eq!(suspected(AccessKind::Atomic, TURNS - 1), 0);
        assert_eq!(suspected(AccessKind::Update, 2 * TURNS), 0);
    }

    #[test]
    fn threads_that_come_and_go_at_a_line_do_not_grow_it() {
        let mut lines = Lines::default();
        for step in 0..3 * THREADS as u64 {
            lines.add(0, row(1, step, 64, AccessKind::Update));
            lines.add(0, row(step as u32 + 3, step, 64, AccessKind::Load));
            lines.add(0, row(2, step, 64, AccessKind::Load));
        }
        assert_eq!(lines.lines[&(0, 1)].threads.len(), THREADS);
        let habits = lines.habits(0, 1);
        assert_eq!((habits[0].thread, habits[1].thread), (1, 2), "those that stay are known");
    }

    #[test]
    fn running_over_much_memory_keeps_little() {
        let mut lines = Lines::default();
        for step in 0..1_000_000 {
            lines.add(0, row(1, step, step * LINE, AccessKind::Store));
        }
        for step in 0..1000 {
            lines.add(0, row(1, step, 0, AccessKind::Store));
        }
        assert!(lines.lines.len() <= FOLLOWED);
        assert!(lines.lines[&(0, 0)].rows.len() <= ALONE);
    }
}
