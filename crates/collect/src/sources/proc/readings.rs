//! One thread's time from readings of its files in /proc.
//!
//! A reading has exact sums (time on a processor, time in the run queue, switches) and the state at one moment. Between
//! two readings, only the sum of each state's time is known, and it is emitted as such. The wait is the one that the
//! thread was seen in at the second reading.

use crate::build::Builder;
use crate::events::{Doing, Event, Spent, Times, WaitSums};
use crate::sources::sleeping::Waits;
use crate::task::{SchedulerTimes, Switches};
use recording::tables::State;
use recording::{ThreadId, WaitId};

/// The scheduler adds a running thread's time to the sum at each tick of its clock, at least every 10 ms
/// (CONFIG_HZ=100).
const TICK_NS: u64 = 10_000_000;

/// What a thread was seen doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeenState {
    /// On a processor, or ready for one.
    Ready,
    /// Asleep, at a place.
    Asleep(WaitId),
    /// Asleep, but the place is hidden.
    Hidden,
    /// Not looked at: nothing has changed since the last reading.
    Same,
}

/// A reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) now_ns: u64,
    pub(super) read: SchedulerTimes,
    pub(super) switches: Switches,
    pub(super) seen: SeenState,
}

/// A thread.
#[derive(Debug)]
pub(super) struct ReadThread {
    pub(super) thread: ThreadId,
    pub(super) start_ns: u64,
    pub(super) last_ns: u64,
    /// The scheduler's sums at the last reading.
    pub(super) read: SchedulerTimes,
    pub(super) switches: Switches,
    /// Switches before the thread's beginning.
    before: Switches,
    seen: SeenState,
    /// Time that was counted as running before the scheduler added it to its sum.
    ahead_ns: u64,
    pub(super) times: Times,
    /// A stretch in one state that may go on.
    open: Option<Spent>,
}

impl ReadThread {
    /// A thread that began at `start_ns`, with its sums at that time.
    pub(super) fn new(thread: ThreadId, start_ns: u64, read: SchedulerTimes, switches: Switches) -> ReadThread {
        ReadThread {
            thread,
            start_ns,
            last_ns: start_ns,
            read,
            switches,
            before: switches,
            seen: SeenState::Ready,
            ahead_ns: 0,
            times: Times::default(),
            open: None,
        }
    }

    /// Whether the thread has not run since the last reading, judging by its times now.
    pub(super) fn stands_still(&self, now: SchedulerTimes) -> bool {
        self.read == now && matches!(self.seen, SeenState::Asleep(_) | SeenState::Hidden)
    }

    /// Voluntary and involuntary switches since the beginning.
    pub(super) fn switched(&self) -> (u64, u64) {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        (
            since(self.switches.voluntary, self.before.voluntary),
            since(self.switches.involuntary, self.before.involuntary),
        )
    }

    /// What it did at the last reading. /proc does not distinguish running from ready.
    pub(super) fn doing(&self) -> Doing {
        match self.seen {
            SeenState::Ready => Doing::RunsOrReady,
            SeenState::Asleep(_) | SeenState::Hidden | SeenState::Same => Doing::Waits,
        }
    }

    /// Where it is blocked, and since when.
    pub(super) fn blocked(&self) -> Option<(WaitId, u64)> {
        let SeenState::Asleep(wait) = self.seen else { return None };
        let since_ns = self.open.filter(|open| open.wait == Some(wait)).map_or(self.last_ns, |open| open.start_ns);
        Some((wait, since_ns))
    }

    /// Takes a reading.
    pub(super) fn take(&mut self, reading: &Reading, waits: &mut Waits, to: &mut Builder) {
        let length = reading.now_ns.saturating_sub(self.last_ns);
        if length == 0 {
            return;
        }
        let still = reading.seen == SeenState::Same;
        let seen = if still { self.seen } else { reading.seen };
        // If no new block has begun, all of the sleep belongs to the block in which the thread was seen last.
        let same_block = reading.switches.voluntary <= self.switches.voluntary;
        let goes_on = same_block && !matches!(self.seen, SeenState::Ready);
        let slept_in = if goes_on { self.seen } else { seen };
        let grown = |now: u64, before: u64| now.saturating_sub(before);
        let ran = grown(reading.read.running_ns, self.read.running_ns);
        let voluntary = grown(reading.switches.voluntary, self.switches.voluntary);
        let involuntary = grown(reading.switches.involuntary, self.switches.involuntary);
        let turns = grown(reading.read.turns, self.read.turns);
        let queued = grown(reading.read.queued_ns, self.read.queued_ns).min(length);
        let booked = ran.saturating_sub(self.ahead_ns).min(length - queued);
        self.ahead_ns = self.ahead_ns.saturating_sub(ran);
        let mut rest = length - queued - booked;
        let mut running = booked;
        if seen == SeenState::Ready {
            // If it was not scheduled anew since the last reading, it was on its processor all the time. Otherwise the
            // time that the scheduler has not added yet is at most a tick.
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
            waits.count(wait, WaitSums { count, blocked_ns: rest, runnable_ns: woken, longest_ns: longest });
        }
        self.times.runnable_ns += woken;
        self.times.preempted_ns += queued - woken;
        self.times.running_ns += running;
        self.times.blocked_ns += rest;
        self.emit(
            reading.now_ns,
            to,
            &[
                (State::Running, running, turns, None),
                (State::Runnable, woken, voluntary, None),
                (State::Preempted, queued - woken, involuntary, None),
                (State::Blocked, rest, voluntary, wait),
            ],
        );
        (self.last_ns, self.read, self.seen) = (reading.now_ns, reading.read, seen);
        if !still {
            self.switches = reading.switches;
        }
    }

    /// How long the open block at a wait has lasted already.
    fn so_far(&self, wait: WaitId) -> u64 {
        self.open.filter(|open| open.wait == Some(wait)).map_or(0, |open| open.spent_ns)
    }

    fn wait(&self, seen: SeenState, each_ns: u64, waits: &mut Waits) -> WaitId {
        match seen {
            SeenState::Asleep(wait) => {
                waits.inspected(self.thread, each_ns, wait);
                wait
            }
            SeenState::Ready | SeenState::Hidden | SeenState::Same => waits.unseen(self.thread, each_ns),
        }
    }

    fn emit(&mut self, now_ns: u64, to: &mut Builder, parts: &[(State, u64, u64, Option<WaitId>)]) {
        let there: Vec<_> = parts.iter().filter(|(_, spent, ..)| *spent > 0).collect();
        // One state that continues.
        if let ([(state, spent, count, wait)], Some(open)) = (there.as_slice(), self.open.as_mut())
            && (open.state, open.wait) == (*state, *wait)
        {
            open.end_ns = now_ns;
            open.spent_ns += spent;
            open.count = open.count.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
            return;
        }
        self.emit_open(to);
        let (thread, start_ns) = (self.thread, self.last_ns);
        let spent = |(state, spent_ns, count, wait): &(State, u64, u64, Option<WaitId>)| Spent {
            spent_ns: *spent_ns,
            count: u32::try_from(*count).unwrap_or(u32::MAX).max(1),
            wait: *wait,
            ..Spent::all(thread, *state, start_ns, now_ns)
        };
        match there.as_slice() {
            [one] => self.open = Some(spent(one)),
            several => several.iter().for_each(|part| to.add(Event::Spent(spent(part)))),
        }
    }

    fn emit_open(&mut self, to: &mut Builder) {
        if let Some(open) = self.open.take() {
            to.add(Event::Spent(open));
        }
    }

    /// Emits what is left. The thread ended at some time between the last reading and `gone_ns`. What it did in between
    /// is not known; that it was still alive is more likely than that it had ended at once.
    pub(super) fn end(&mut self, gone_ns: u64, to: &mut Builder) {
        self.emit_open(to);
        if gone_ns > self.last_ns {
            let unknown = Spent::all(self.thread, State::Unknown, self.last_ns, gone_ns);
            to.add(Event::Spent(unknown));
            self.times.blocked_ns += unknown.spent_ns;
            self.last_ns = gone_ns;
        }
    }
}

#[cfg(test)]
mod tests;
