//! One thread's time from readings of its files in /proc, and rows of `slices`.
//!
//! A reading has exact sums (time on a processor, time in the queue, switches) and one moment's state. Between two
//! readings each state's time is known as a sum only, and the rows are summed up over that stretch; what a thread waited
//! for in it is what it was seen waiting for at its end. May import: `recording`, `task`, `waits`.

use super::task::{Switches, Times};
use super::waits::Waits;
use crate::live::Doing;
use recording::tables::{Slice, State};
use recording::{RunId, ThreadId, WaitId};

/// The scheduler books the time of a running thread at its clock's tick, which comes every 10 ms at the slowest
/// (CONFIG_HZ=100).
const TICK_NS: u64 = 10_000_000;

/// What a thread was seen doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// On a processor, or ready for one.
    Ready,
    /// Asleep, at a place.
    Asleep(WaitId),
    /// Asleep; where is hidden.
    Hidden,
    /// Not looked at: nothing has changed since the last reading.
    Same,
}

/// A reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) now_ns: u64,
    pub(super) times: Times,
    pub(super) switches: Switches,
    pub(super) seen: Seen,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Sampled {
    pub(super) thread: ThreadId,
    pub(super) start_ns: u64,
    pub(super) last_ns: u64,
    pub(super) times: Times,
    pub(super) switches: Switches,
    /// Switches before the beginning.
    before: Switches,
    seen: Seen,
    /// Time that was taken for running before the scheduler booked it.
    ahead_ns: u64,
    pub(super) running_ns: u64,
    pub(super) runnable_ns: u64,
    pub(super) preempted_ns: u64,
    pub(super) blocked_ns: u64,
    /// A row that may go on.
    open: Option<Slice>,
}

impl Sampled {
    /// A thread that began at a time, with the sums that it had then.
    pub(super) fn new(thread: ThreadId, start_ns: u64, times: Times, switches: Switches) -> Sampled {
        Sampled {
            thread,
            start_ns,
            last_ns: start_ns,
            times,
            switches,
            before: switches,
            seen: Seen::Ready,
            ahead_ns: 0,
            running_ns: 0,
            runnable_ns: 0,
            preempted_ns: 0,
            blocked_ns: 0,
            open: None,
        }
    }

    /// Whether the thread has not run since the last reading, going by its times now.
    pub(super) fn stands_still(&self, times: Times) -> bool {
        self.times == times && matches!(self.seen, Seen::Asleep(_) | Seen::Hidden)
    }

    /// Voluntary and involuntary switches since the beginning.
    pub(super) fn switched(&self) -> (u64, u64) {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        (
            since(self.switches.voluntary, self.before.voluntary),
            since(self.switches.involuntary, self.before.involuntary),
        )
    }

    /// What it did at the last reading. Whether it ran or was ready to, nobody can see.
    pub(super) fn now(&self) -> (Doing, Option<WaitId>) {
        match self.seen {
            Seen::Ready => (Doing::RunsOrReady, None),
            Seen::Asleep(wait) => (Doing::Waits, Some(wait)),
            Seen::Hidden | Seen::Same => (Doing::Waits, None),
        }
    }

    /// Takes a reading.
    pub(super) fn read(&mut self, reading: &Reading, waits: &mut Waits, run: RunId, rows: &mut Vec<Slice>) {
        let length = reading.now_ns.saturating_sub(self.last_ns);
        if length == 0 {
            return;
        }
        let still = reading.seen == Seen::Same;
        let seen = if still { self.seen } else { reading.seen };
        // Without a new block all of the sleep is that in which it was seen last.
        let same_block = reading.switches.voluntary <= self.switches.voluntary;
        let goes_on = same_block && !matches!(self.seen, Seen::Ready);
        let slept_in = if goes_on { self.seen } else { seen };
        let grown = |now: u64, before: u64| now.saturating_sub(before);
        let ran = grown(reading.times.running_ns, self.times.running_ns);
        let voluntary = grown(reading.switches.voluntary, self.switches.voluntary);
        let involuntary = grown(reading.switches.involuntary, self.switches.involuntary);
        let turns = grown(reading.times.turns, self.times.turns);
        let queued = grown(reading.times.queued_ns, self.times.queued_ns).min(length);
        let booked = ran.saturating_sub(self.ahead_ns).min(length - queued);
        self.ahead_ns = self.ahead_ns.saturating_sub(ran);
        let mut rest = length - queued - booked;
        let mut running = booked;
        if seen == Seen::Ready {
            // It has not begun anew since the last reading: it was on its processor all the time. Else what the
            // scheduler has not booked yet is at most a tick.
            let ahead = if turns == 0 && queued == 0 { rest } else { rest.min(TICK_NS) };
            running += ahead;
            self.ahead_ns += ahead;
            rest -= ahead;
        }
        let parts = voluntary + involuntary;
        let woken =
            if parts == 0 { queued } else { (u128::from(queued) * u128::from(voluntary) / u128::from(parts)) as u64 };
        let blocks = if still { 0 } else { voluntary.max(1) };
        let wait = (rest > 0).then(|| self.wait(slept_in, rest / voluntary.max(1), waits));
        if let Some(wait) = wait {
            let longest = if voluntary <= 1 { rest + self.so_far(wait) } else { 0 };
            let count = if goes_on { 0 } else { blocks };
            waits.book(wait, count, rest, woken, longest);
        }
        self.runnable_ns += woken;
        self.preempted_ns += queued - woken;
        self.running_ns += running;
        self.blocked_ns += rest;
        self.rows(
            run,
            reading.now_ns,
            rows,
            &[
                (State::Running, running, turns, None),
                (State::Runnable, woken, voluntary, None),
                (State::Preempted, queued - woken, involuntary, None),
                (State::Blocked, rest, voluntary, wait),
            ],
        );
        (self.last_ns, self.times, self.seen) = (reading.now_ns, reading.times, seen);
        if !still {
            self.switches = reading.switches;
        }
    }

    /// How long the open row's block at a wait lasts already.
    fn so_far(&self, wait: WaitId) -> u64 {
        self.open.as_ref().filter(|slice| slice.wait == Some(wait)).map_or(0, |slice| slice.spent_ns)
    }

    fn wait(&self, seen: Seen, each_ns: u64, waits: &mut Waits) -> WaitId {
        match seen {
            Seen::Asleep(wait) => {
                waits.looked(self.thread, each_ns, wait);
                wait
            }
            Seen::Ready | Seen::Hidden | Seen::Same => waits.unseen(self.thread, each_ns),
        }
    }

    fn rows(&mut self, run: RunId, now_ns: u64, rows: &mut Vec<Slice>, parts: &[(State, u64, u64, Option<WaitId>)]) {
        let there: Vec<_> = parts.iter().filter(|(_, spent, ..)| *spent > 0).collect();
        // One state that goes on: its row grows.
        if let ([(state, spent, count, wait)], Some(open)) = (there.as_slice(), self.open.as_mut())
            && (open.state, open.wait) == (*state, *wait)
        {
            open.end_ns = now_ns;
            open.spent_ns += spent;
            open.count = open.count.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
            return;
        }
        rows.extend(self.open.take());
        let (thread, start_ns) = (self.thread, self.last_ns);
        let slice = |(state, spent_ns, count, wait): &(State, u64, u64, Option<WaitId>)| Slice {
            run,
            thread,
            start_ns,
            end_ns: now_ns,
            state: *state,
            spent_ns: *spent_ns,
            count: u32::try_from(*count).unwrap_or(u32::MAX).max(1),
            wait: *wait,
            processor: None,
        };
        match there.as_slice() {
            [one] => self.open = Some(slice(one)),
            several => rows.extend(several.iter().map(|part| slice(part))),
        }
    }

    /// Gives out the last row. The thread ended at some time between the last reading and `gone_ns`: what it did in between
    /// is not known, and that it was there is likelier than that it had ended at once.
    pub(super) fn end(&mut self, gone_ns: u64, run: RunId, rows: &mut Vec<Slice>) {
        rows.extend(self.open.take());
        let untold_ns = gone_ns.saturating_sub(self.last_ns);
        if untold_ns > 0 {
            rows.push(Slice {
                run,
                thread: self.thread,
                start_ns: self.last_ns,
                end_ns: gone_ns,
                state: State::Unknown,
                spent_ns: untold_ns,
                count: 1,
                wait: None,
                processor: None,
            });
            self.blocked_ns += untold_ns;
            self.last_ns = gone_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUN: RunId = RunId(0);
    const MS: u64 = 1_000_000;

    fn reading(now: u64, running: u64, queued: u64, turns: u64, voluntary: u64, seen: Seen) -> Reading {
        let times = Times { running_ns: running * MS, queued_ns: queued * MS, turns };
        Reading {
            now_ns: now * MS,
            times,
            switches: Switches { voluntary, involuntary: turns - voluntary.min(turns) },
            seen,
        }
    }

    /// State, begin, end and time spent in milliseconds, count.
    type Row = (State, u64, u64, u64, u32);

    fn states(readings: &[Reading]) -> (Vec<Row>, Vec<(u64, u64)>) {
        let (mut waits, mut rows) = (Waits::default(), Vec::new());
        let mut thread = Sampled::new(ThreadId(0), 0, Times::default(), Switches::default());
        readings.iter().for_each(|reading| thread.read(reading, &mut waits, RUN, &mut rows));
        thread.end(0, RUN, &mut rows);
        let rows = rows.iter().map(|r| (r.state, r.start_ns / MS, r.end_ns / MS, r.spent_ns / MS, r.count)).collect();
        (rows, waits.rows(RUN).rows.iter().map(|row| (row.count, row.blocked_ns / MS)).collect())
    }

    #[test]
    fn a_thread_that_runs_on_is_one_row() {
        let (rows, waits) = states(&[
            reading(10, 8, 0, 0, 0, Seen::Ready),
            reading(20, 20, 0, 0, 0, Seen::Ready),
            reading(30, 28, 0, 0, 0, Seen::Ready),
        ]);
        assert_eq!(rows, [(State::Running, 0, 30, 30, 1)]);
        assert_eq!(waits, []);
    }

    #[test]
    fn a_thread_that_sleeps_on_is_one_row_and_one_wait() {
        let mut waits = Waits::default();
        let at = waits.unseen(ThreadId(0), 1);
        let (rows, waits) = states(&[
            reading(10, 2, 0, 1, 1, Seen::Asleep(at)),
            reading(20, 2, 0, 1, 1, Seen::Same),
            reading(30, 2, 0, 1, 1, Seen::Same),
        ]);
        let expected = [(State::Running, 0, 10, 2, 1), (State::Blocked, 0, 10, 8, 1), (State::Blocked, 10, 30, 20, 1)];
        assert_eq!(rows, expected);
        // The place's own number is the first that `Waits` gives out: none was made here.
        assert_eq!(waits, []);
    }

    #[test]
    fn what_is_left_of_a_sleep_is_of_that_sleep() {
        let (mut waits, mut rows) = (Waits::default(), Vec::new());
        let at = waits.unseen(ThreadId(0), 1);
        let mut thread = Sampled::new(ThreadId(0), 0, Times::default(), Switches::default());
        thread.read(&reading(10, 2, 0, 1, 1, Seen::Asleep(at)), &mut waits, RUN, &mut rows);
        // It woke up meanwhile, and has not slept again.
        thread.read(&reading(100, 30, 0, 2, 1, Seen::Ready), &mut waits, RUN, &mut rows);
        let told = waits.rows(RUN).rows;
        assert_eq!(told.iter().map(|w| (w.wait, w.count, w.blocked_ns / MS)).collect::<Vec<_>>(), [(at, 1, 60)]);
    }

    #[test]
    fn queueing_is_split_by_the_kinds_of_switches() {
        let (rows, waits) = states(&[reading(100, 50, 20, 4, 3, Seen::Hidden)]);
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
            let (mut waits, mut rows) = (Waits::default(), Vec::new());
            let mut thread = Sampled::new(ThreadId(0), 0, Times::default(), Switches::default());
            let mut last = reading(0, 0, 0, 0, 0, Seen::Ready);
            for (time, ran, queued, voluntary, involuntary, seen) in steps {
                last.now_ns += time;
                last.times.running_ns += ran;
                last.times.queued_ns += queued;
                last.times.turns += voluntary + involuntary;
                last.switches.voluntary += voluntary;
                last.switches.involuntary += involuntary;
                last.seen = match seen { 0 => Seen::Ready, 1 => Seen::Asleep(WaitId(1)), 2 => Seen::Hidden, _ => Seen::Same };
                thread.read(&last, &mut waits, RUN, &mut rows);
            }
            last.now_ns += gone;
            thread.end(last.now_ns, RUN, &mut rows);
            prop_assert_eq!(rows.iter().map(|row| row.spent_ns).sum::<u64>(), last.now_ns);
            let sum = thread.running_ns + thread.runnable_ns + thread.preempted_ns + thread.blocked_ns;
            prop_assert_eq!(sum, last.now_ns);
        }
    }
}
