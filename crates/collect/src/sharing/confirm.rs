//! Trials with hardware breakpoints: do the suspected threads really touch the line, and how often?
//!
//! A trial of a line watches up to four of its threads, each at the address that it uses most, for a fraction of a
//! millisecond. A trial of a waiting loop watches all threads for writes to what the loop reads. It lasts longer,
//! because the thread that ends the wait may write rarely. In both, a thread is no longer watched after a few hits, and
//! trials stop when their budget is spent.

use super::input::LINE;
use super::lines::{Habit, Lines};
use super::watch::{Hit, Watch, thread_time_ns};
use crate::procfs::monotonic_ns;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// How long a line is watched. Threads that really share a line come back to it within microseconds, and a trap costs
/// up to 30 µs in a virtual machine: this is long enough for each of two threads to hit it several times.
///
/// Decides: how long a cache line is watched in one trial.
/// From: measured: a trap takes up to 30 µs in a virtual machine.
/// Shown by: `bench/sharing`.
/// Wrong if: threads come back to a line less often than that.
const TRIAL: Duration = Duration::from_micros(600);

/// How long the address that a loop polls is watched, nanoseconds.
///
/// Decides: how long a polled address is watched in one trial.
/// From: chosen; no measurement.
/// Shown by: `bench/sharing`.
/// Wrong if: the writer comes less often than that.
const SPIN_TRIAL_NS: u64 = 30_000_000;

/// Limits for the trials of a line: how many in all, how many in which two or more threads hit it, and how many in
/// which fewer than two of its threads ran at all. Trials of the last kind show nothing about the line; other programs
/// may keep the threads apart.
///
/// Decides: when a line is no longer watched: after this many trials, whatever they showed.
/// From: chosen together with the budget of all trials.
/// Shown by: `bench/sharing`.
/// Wrong if: sharing happens only in a few parts of a long run.
const TRIALS: u32 = 40;
/// Decides: when a line needs no further trials: after this many in which two or more threads hit it.
/// From: chosen; no measurement.
/// Shown by: `bench/sharing`.
/// Wrong if: threads touch different parts of the line later.
const AGREEING: u32 = 8;
/// Decides: when a line is given up: after this many trials in which fewer than two of its threads ran.
/// From: chosen; no measurement.
/// Wrong if: threads seldom run at the same time, and still share the line.
const APART: u32 = 400;

/// Limits for the trials of a polled address: how many in all, and how many in which a write was seen.
///
/// Decides: when a polled address is given up: after this many trials, even if no writer was seen.
/// From: chosen; no measurement.
/// Shown by: `bench/sharing`.
/// Wrong if: the writer is a thread that is not watched.
const SPIN_TRIALS: u32 = 30;
/// Decides: when it is known who ends a wait: after this many trials in which a write was seen.
/// From: chosen; no measurement.
/// Shown by: `bench/sharing`.
/// Wrong if: several threads write in turns: some of them may not be seen.
const SPIN_HITS: u32 = 3;

/// Threads that are watched in one trial. A processor has four debug address registers.
///
/// Decides: how many threads of a line are watched at a time.
/// From: the four address registers of x86-64, and of most processors of AArch64.
/// Shown by: `bench/sharing`.
/// Wrong if: the two threads that share the line are never watched together.
const LINE_THREADS: usize = 4;
/// Decides: how many threads are watched at a time as possible writers of a polled address; the next trial watches the
/// next ones.
/// From: chosen together with the budget of all trials.
/// Shown by: `bench/sharing`.
/// Wrong if: there are so many threads that the writer is watched in none of the trials, or only in one in which it
/// does not write.
const SPIN_THREADS: usize = 16;

/// Hits after which a thread is no longer watched for the rest of a trial.
///
/// Decides: after how many hits at a line a thread is no longer watched in a trial.
/// From: the budget: a hit costs up to 30 µs.
/// Wrong if: a thread reaches this limit before the other one comes to the line: the trial then hardly shows how they
/// alternate.
const LINE_HITS: u32 = 6;
/// Decides: after how many writes to a polled address a thread is no longer watched in a trial.
/// From: the budget: a hit costs up to 30 µs.
/// Wrong if: a thread's first writes in a trial are unlike its other writes.
const SPIN_LIMIT: u32 = 3;

/// The assumed cost of a trap to the thread, nanoseconds: measured at 20 to 30 µs in a virtual machine, less without
/// one.
///
/// Decides: how much of the budget a trap is taken to cost.
/// From: measured: 20 to 30 µs in a virtual machine.
/// Wrong if: traps cost more, as in nested virtual machines: trials then cost more than the budget.
const TRAP_NS: u64 = 30_000;

/// What trials may cost all threads together, nanoseconds: a fixed grant, so that short runs are looked at too, plus a
/// share of the time.
///
/// Decides: what trials may cost in a short run.
/// From: chosen: enough for some 500 traps.
/// Shown by: `bench/sharing`.
/// Wrong if: the run is shorter than some tenths of a second: the grant is then a noticeable share of it.
const GRANT_NS: u64 = 15_000_000;
/// Decides: what trials may cost in a long run: one part in this many.
/// From: chosen: one per cent, as for all observing.
/// Shown by: `bench/cost`.
/// Wrong if: the speed-up curve were taken from the observed run, which it is not.
const SHARE: u64 = 100;

/// The most times between hits that are kept for one thread, for their quartile: the first ones.
///
/// Decides: from how many times between hits a thread's quartile is computed.
/// From: memory; chosen.
/// Wrong if: these times drift over a run.
const GAPS: usize = 4096;

/// Which thread was watched at which address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WatchKey {
    pub(super) space: u32,
    pub(super) address: u64,
    pub(super) thread: u32,
    pub(super) width: u16,
    pub(super) writes: bool,
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) trials: u32,
    pub(super) hit_trials: u32,
    pub(super) shared_trials: u32,
    pub(super) hits: u64,
    pub(super) gaps_ns: Vec<u64>,
    pub(super) across_ns: Vec<u64>,
    ips: HashMap<u64, u32>,
}

impl Seen {
    /// Where most traps came from; the smallest address among equals.
    pub(super) fn most_frequent(&self) -> Option<u64> {
        self.ips.iter().max_by_key(|(ip, count)| (**count, std::cmp::Reverse(**ip))).map(|(ip, _)| *ip)
    }
}

#[derive(Debug, Clone, Copy)]
enum Suspect {
    Line { space: u32, line: u64, trials: u32, agreeing: u32, apart: u32, next: usize },
    Spin { space: u32, address: u64, width: u16, trials: u32, hits: u32, next: usize },
}

impl Suspect {
    fn done(&self) -> bool {
        match self {
            Suspect::Line { trials, agreeing, apart, .. } => {
                *trials >= TRIALS || *agreeing >= AGREEING || *apart >= APART
            }
            Suspect::Spin { trials, hits, .. } => *trials >= SPIN_TRIALS || *hits >= SPIN_HITS,
        }
    }
}

/// Watches of a polled address that are open.
#[derive(Debug)]
struct Open {
    suspect: usize,
    until_ns: u64,
    watches: Vec<(WatchKey, Watch)>,
}

/// The threads as the kernel side knows them.
pub(crate) trait Threads {
    /// The kernel's number of a thread, while the thread is alive.
    fn number(&self, thread: u32) -> Option<u32>;
    /// How long the thread has run up to its latest switch (the low 32 bits of the nanoseconds, enough to see a
    /// change), and whether it is on a processor.
    fn ran(&self, thread: u32) -> Option<(u32, bool)>;
    /// The handles of the living threads of a process, given by its program image and number.
    fn alive(&self, image: u32, pid: u32) -> Vec<u32>;
}

/// All trials of a run.
#[derive(Debug)]
pub(super) struct Confirm {
    suspects: Vec<Suspect>,
    known: HashSet<(u32, u64, bool)>,
    turn: usize,
    open: Option<Open>,
    seen: BTreeMap<WatchKey, Seen>,
    began_ns: u64,
    spent_ns: u64,
    /// Refusals in a row; at [`REFUSED`], no more breakpoints are asked for.
    refused: u32,
}

/// After this many refusals in a row no more breakpoints are asked for: the machine has none, or knee lacks the right.
///
/// Decides: after how many refusals in a row no more breakpoints are asked for.
/// From: chosen; no measurement.
/// Wrong if: a debugger held the registers only for a while.
const REFUSED: u32 = 32;

impl Confirm {
    pub(super) fn new() -> Confirm {
        Confirm {
            suspects: Vec::new(),
            known: HashSet::new(),
            turn: 0,
            open: None,
            seen: BTreeMap::new(),
            began_ns: monotonic_ns(),
            spent_ns: 0,
            refused: 0,
        }
    }

    pub(super) fn suspect_line(&mut self, space: u32, line: u64) {
        if self.known.insert((space, line * LINE, false)) {
            self.suspects.push(Suspect::Line { space, line, trials: 0, agreeing: 0, apart: 0, next: 0 });
        }
    }

    pub(super) fn suspect_spin(&mut self, space: u32, address: u64, width: u16) {
        if self.known.insert((space, address, true)) {
            self.suspects.push(Suspect::Spin { space, address, width, trials: 0, hits: 0, next: 0 });
        }
    }

    /// Makes a trial when one is due and within the budget.
    pub(super) fn tick(&mut self, now_ns: u64, lines: &Lines, threads: &dyn Threads, alive: &dyn Fn(u32) -> Vec<u32>) {
        if let Some(open) = self.open.take_if(|open| now_ns >= open.until_ns) {
            self.close(open);
        }
        let allowed = GRANT_NS + now_ns.saturating_sub(self.began_ns) / SHARE;
        if self.spent_ns >= allowed || self.refused >= REFUSED {
            return;
        }
        let count = self.suspects.len();
        for step in 0..count {
            let index = (self.turn + step) % count;
            let Some(suspect) = self.suspects.get(index).copied().filter(|suspect| !suspect.done()) else { continue };
            match suspect {
                Suspect::Line { space, line, next, .. } => {
                    let habits = rotated(lines.habits(space, line), next, LINE_THREADS);
                    self.line_trial(index, space, &habits, threads);
                }
                Suspect::Spin { .. } if self.open.is_some() => continue,
                Suspect::Spin { space, address, width, next, .. } => {
                    let watched = rotated(alive(space), next, SPIN_THREADS);
                    self.spin_trial(index, now_ns, (space, address, width), &watched, threads);
                }
            }
            self.turn = index + 1;
            return;
        }
    }

    fn line_trial(&mut self, index: usize, space: u32, habits: &[Habit], threads: &dyn Threads) {
        let begin_ns = thread_time_ns();
        let mut watches = Vec::new();
        let before: Vec<_> = habits.iter().map(|habit| threads.ran(habit.thread)).collect();
        for habit in habits {
            let Some(tid) = threads.number(habit.thread) else { continue };
            let (address, width) = aligned(habit.address, habit.width);
            let key = WatchKey { space, address, thread: habit.thread, width, writes: habit.writes };
            self.watch(&mut watches, key, tid, LINE_HITS);
        }
        // One thread alone cannot share: watching it would cost time and show nothing.
        let (start_ns, trial_ns) = (monotonic_ns(), TRIAL.as_nanos() as u64);
        if watches.len() >= 2 {
            std::thread::sleep(TRIAL);
        }
        let stretched = monotonic_ns().saturating_sub(start_ns) > 2 * trial_ns;
        // On a busy machine the pause may last too long, and threads that ran one after the other would seem to have
        // shared.
        let mut hits: Vec<(WatchKey, Vec<Hit>)> = watches.into_iter().map(|(key, watch)| (key, watch.hits())).collect();
        let trapped_ns = traps(&hits);
        hits.iter_mut().for_each(|(_, hits)| hits.retain(|hit| hit.time_ns <= start_ns + trial_ns));
        let shared = self.note(&hits);
        let ran = |(habit, before): (&Habit, &Option<(u32, bool)>)| match (before, threads.ran(habit.thread)) {
            (Some((before, was)), Some((after, is))) => *was || is || after != *before,
            _ => false,
        };
        let together = shared || !stretched && habits.iter().zip(&before).filter(|pair| ran(*pair)).count() >= 2;
        if let Some(Suspect::Line { trials, agreeing, apart, next, .. }) = self.suspects.get_mut(index) {
            *trials += u32::from(together);
            *apart += u32::from(!together);
            *agreeing += u32::from(shared);
            *next += LINE_THREADS;
        }
        self.spent_ns += thread_time_ns().saturating_sub(begin_ns) + trapped_ns;
    }

    fn spin_trial(
        &mut self,
        index: usize,
        now_ns: u64,
        (space, address, width): (u32, u64, u16),
        watched: &[u32],
        threads: &dyn Threads,
    ) {
        let begin_ns = thread_time_ns();
        let (address, width) = aligned(address, width);
        let mut watches = Vec::new();
        for thread in watched {
            let Some(tid) = threads.number(*thread) else { continue };
            let key = WatchKey { space, address, thread: *thread, width, writes: true };
            self.watch(&mut watches, key, tid, SPIN_LIMIT);
        }
        self.open = Some(Open { suspect: index, until_ns: now_ns + SPIN_TRIAL_NS, watches });
        self.spent_ns += thread_time_ns().saturating_sub(begin_ns);
    }

    fn watch(&mut self, watches: &mut Vec<(WatchKey, Watch)>, key: WatchKey, tid: u32, limit: u32) {
        match Watch::open(tid, key.address, key.width, key.writes, limit) {
            Ok(watch) => {
                self.refused = 0;
                watches.push((key, watch));
            }
            // That the thread has just ended says nothing about breakpoints.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(_) => self.refused += 1,
        }
    }

    fn close(&mut self, open: Open) {
        let hits: Vec<(WatchKey, Vec<Hit>)> =
            open.watches.into_iter().map(|(key, watch)| (key, watch.hits())).collect();
        self.note(&hits);
        let any = hits.iter().any(|(_, hits)| !hits.is_empty());
        if let Some(Suspect::Spin { trials, hits, next, .. }) = self.suspects.get_mut(open.suspect) {
            *trials += 1;
            *hits += u32::from(any);
            *next += SPIN_THREADS;
        }
        self.spent_ns += traps(&hits);
    }

    /// Adds up one trial. Returns whether at least two threads hit.
    fn note(&mut self, trial: &[(WatchKey, Vec<Hit>)]) -> bool {
        let shared = trial.iter().filter(|(_, hits)| !hits.is_empty()).count() >= 2;
        for (key, hits) in trial {
            let seen = self.seen.entry(*key).or_default();
            seen.trials += 1;
            seen.hit_trials += u32::from(!hits.is_empty());
            seen.shared_trials += u32::from(shared && !hits.is_empty());
            seen.hits += hits.len() as u64;
            let gaps = hits.windows(2).map(|pair| pair[1].time_ns.saturating_sub(pair[0].time_ns));
            let room = GAPS.saturating_sub(seen.gaps_ns.len());
            seen.gaps_ns.extend(gaps.take(room));
            for hit in hits {
                *seen.ips.entry(hit.ip).or_default() += 1;
            }
        }
        let mut all: Vec<(u64, usize)> = Vec::new();
        for (index, (_, hits)) in trial.iter().enumerate() {
            all.extend(hits.iter().map(|hit| (hit.time_ns, index)));
        }
        all.sort_unstable();
        for pair in all.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
            if let Some(seen) = trial.get(pair[1].1).and_then(|(key, _)| self.seen.get_mut(key))
                && seen.across_ns.len() < GAPS
            {
                seen.across_ns.push(pair[1].0 - pair[0].0);
            }
        }
        shared
    }

    pub(super) fn finish(mut self) -> BTreeMap<WatchKey, Seen> {
        if let Some(open) = self.open.take() {
            self.close(open);
        }
        self.seen
    }
}

fn traps(hits: &[(WatchKey, Vec<Hit>)]) -> u64 {
    hits.iter().map(|(_, hits)| hits.len() as u64 * TRAP_NS).sum()
}

/// Up to `most` elements, from the one at `next` on, wrapping around.
fn rotated<T: Clone>(all: Vec<T>, next: usize, most: usize) -> Vec<T> {
    let (count, start) = (all.len(), if all.len() <= most { 0 } else { next % all.len() });
    (0..count.min(most)).filter_map(|step| all.get((start + step) % count).cloned()).collect()
}

/// Extends the range to what a breakpoint can watch: 1, 2, 4 or 8 bytes at a multiple of that size.
pub(super) fn aligned(address: u64, width: u16) -> (u64, u16) {
    let width = match width {
        0 | 1 => 1,
        2 | 3 => 2,
        4..=7 => 4,
        _ => 8,
    };
    (address & !(u64::from(width) - 1), width)
}

/// The lower quartile: the value that a quarter of the times do not exceed.
pub(super) fn lower_quartile(times: &[u64]) -> Option<u64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 4).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(thread: u32) -> WatchKey {
        WatchKey { space: 0, address: 64, thread, width: 8, writes: true }
    }

    fn hits(times: &[u64]) -> Vec<Hit> {
        times.iter().map(|time_ns| Hit { time_ns: *time_ns, ip: 5 }).collect()
    }

    #[test]
    fn a_trial_counts_for_both_threads_when_both_hit() {
        let mut confirm = Confirm::new();
        assert!(confirm.note(&[(key(1), hits(&[10, 30])), (key(2), hits(&[25, 70]))]));
        assert!(!confirm.note(&[(key(1), hits(&[110, 130, 150])), (key(2), hits(&[]))]));
        let (one, other) = (&confirm.seen[&key(1)], &confirm.seen[&key(2)]);
        assert_eq!((one.trials, one.hit_trials, one.shared_trials, one.hits), (2, 2, 1, 5));
        assert_eq!((other.trials, other.hit_trials, other.shared_trials, other.hits), (2, 1, 1, 2));
        assert_eq!(one.gaps_ns, [20, 20, 20]);
        assert_eq!((one.across_ns.as_slice(), other.across_ns.as_slice()), ([5].as_slice(), [15, 40].as_slice()));
        assert_eq!(one.most_frequent(), Some(5));
    }

    /// Simulated threads. They have no number, so they cannot be watched.
    struct FakeThreads(std::cell::Cell<u32>, [bool; 2]);

    impl Threads for FakeThreads {
        fn number(&self, _: u32) -> Option<u32> {
            None
        }

        fn ran(&self, thread: u32) -> Option<(u32, bool)> {
            self.0.set(self.0.get() + 1);
            let runs = *self.1.get(thread as usize)?;
            Some((if runs { self.0.get() } else { 7 }, false))
        }

        fn alive(&self, _: u32, _: u32) -> Vec<u32> {
            Vec::new()
        }
    }

    #[test]
    fn trials_in_which_threads_were_kept_apart_do_not_use_up_those_of_a_line() {
        let habits = [0, 1].map(|thread| Habit { thread, address: 64, width: 8, writes: true });
        for (runs, expected) in [([true, true], (1, 0)), ([true, false], (0, 1)), ([false, false], (0, 1))] {
            let mut confirm = Confirm::new();
            confirm.suspect_line(0, 1);
            confirm.line_trial(0, 0, &habits, &FakeThreads(std::cell::Cell::new(0), runs));
            let Some(Suspect::Line { trials, apart, .. }) = confirm.suspects.first() else { panic!("no line") };
            assert_eq!((*trials, *apart), expected, "{runs:?}");
        }
    }

    #[test]
    fn quartiles_and_alignment() {
        assert_eq!(lower_quartile(&[]), None);
        assert_eq!(lower_quartile(&[4, 3, 2, 1, 5]), Some(2));
        assert_eq!(aligned(0x1003, 4), (0x1000, 4));
        assert_eq!(aligned(0x1005, 16), (0x1000, 8));
        assert_eq!(aligned(0x1007, 1), (0x1007, 1));
        assert_eq!(rotated(vec![1, 2, 3, 4, 5], 4, 3), [5, 1, 2]);
        assert_eq!(rotated(vec![1, 2], 7, 4), [1, 2]);
    }
}
