//! The thread that sets the pace: one thread has work all the time at a count, and as much of it as at the baseline.
//! The program then cannot be faster than that thread, whatever the others do.

use crate::account::lines::{Balance, Booked, LineId, Why};
use crate::model::Traced;
use crate::model::similar_threads::overlap;
use crate::model::stacks::Stacks;
use crate::statistics::MIN_SHARE;
use recording::ThreadId;
use recording::tables::State;

/// One thread sets the pace if it has work, running or ready to run, for at least this share of the measured time.
///
/// Decides: with the next three numbers, whether a program's growth and idle time that nothing else explains is told as
/// waiting for one busy thread.
/// From: measured on recordings that were at hand, and chosen with these in view: of 162 foreign programs, swept quickly on
/// two processors, 24 had such a thread with two threads (by whole runs, without the upper bound of [`KEEPS`] and without
/// [`SAME`]). All of them are limited by one thread: a stage, an event loop, a serial part, one large share. The least busy
/// of these threads has work for 84 % of the run. Of twelve later programs, no clean one was told so.
/// Shown by: `one_thread_that_is_always_busy_sets_the_pace`.
/// Wrong if: the thread waits for its own work in a loop of its own: it is busy, and others set the pace.
const HAS_WORK: f64 = 0.8;

/// It runs for at least this share of the measured time: it does not only wait for a processor.
///
/// Decides: see [`HAS_WORK`].
/// From: measured with it: 57 % to 100 % there.
/// Wrong if: other threads of the program keep the processors from it: their work is then the limit too.
const RUNS: f64 = 0.55;

/// No other thread runs for more than this share of its time.
///
/// Decides: see [`HAS_WORK`].
/// From: measured with it: at most 51 % there. Two threads that share all work evenly are at 100 %.
/// Wrong if: a second thread spins for as long as it waits for the first: nothing is told.
const NEXT: f64 = 2.0 / 3.0;

/// It runs for at least this share of what the busiest thread runs at the baseline, and that thread for at least this
/// share of it: it neither gives work to others, nor takes longer because of them. Or so for their shares of what all
/// threads run.
///
/// Decides: see [`HAS_WORK`].
/// From: measured with it: 85 % to 108 % for 22 of the 24, and 117 % and 122 %; a thread that shares its work with a second
/// one is at 50 %.
/// Wrong if: the work of one thread grows by as much as it gives away.
const KEEPS: f64 = 0.85;

/// It runs for at most this many times what the busiest thread runs at the baseline, where its share of what all threads
/// run is the same: all of them take longer.
///
/// Decides: see [`HAS_WORK`].
/// From: measured on a virtual machine: of the three to five timed runs of a program with the same number of threads, the
/// slowest took up to 1.32 times as long as the fastest one in nine of ten cases (93 cases, 31 foreign programs).
/// Shown by: `a_busy_thread_with_its_old_share_sets_the_pace_on_a_slower_machine`.
/// Wrong if: something that all threads share slows them: the busy thread is then named, and not why it got slower.
const SLOWED: f64 = 1.32;

/// The busiest thread of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busiest {
    /// The thread.
    pub thread: ThreadId,
    /// Share of the measured time in which it ran, 0 to 1.
    pub runs: f64,
    /// Share of the measured time in which it ran or was ready to run, 0 to 1.
    pub has_work: f64,
    /// How long the next busiest thread ran, by its own running time.
    next: f64,
    /// Seconds that it ran, per unit of work.
    ran: f64,
    /// Its share of what the threads ran that do the program's work, 0 to 1.
    share: f64,
}

/// Two threads do the same work if they share more than this part of their calls.
///
/// Decides: whether a busy thread is a stage of its own. One that does the same as others has the largest share.
/// From: the definition of a majority.
/// Shown by: `a_busy_thread_beside_others_that_do_the_same_sets_no_pace`.
/// Wrong if: two stages spend most of their time in the same function of the program: nothing is told.
const SAME: f64 = 0.5;

impl Busiest {
    /// The busiest thread of the measured part. `work`: units of work. Threads that a runtime started for itself are
    /// left out.
    pub fn new(traced: &Traced<'_>, work: f64) -> Option<Busiest> {
        let length = traced.length_ns() as f64;
        if length <= 0.0 {
            return None;
        }
        let mut threads: Vec<_> =
            traced.threads.values().filter(|t| !traced.services.contains_key(&t.thread)).collect();
        threads.sort_by_key(|t| (std::cmp::Reverse(t.running_ns), t.thread));
        let spent = |thread: ThreadId| {
            let (mut runs, mut ready) = (0.0, 0.0);
            for slice in traced.within(thread, traced.measured.0, traced.measured.1) {
                let whole = slice.end_ns.saturating_sub(slice.start_ns) as f64;
                let (start, end) = (slice.start_ns.max(traced.measured.0), slice.end_ns.min(traced.measured.1));
                let inside = if whole > 0.0 { end.saturating_sub(start) as f64 / whole } else { 0.0 };
                let spent = slice.spent_ns as f64 * inside;
                match slice.state {
                    State::Running => runs += spent,
                    State::Blocked => {}
                    _ => ready += spent,
                }
            }
            (runs, ready)
        };
        let (first, second) = (threads.first()?, threads.get(1));
        let (runs, ready) = spent(first.thread);
        let next = second.map_or(0.0, |t| spent(t.thread).0);
        let all: f64 = threads.iter().map(|t| spent(t.thread).0).sum();
        (runs > 0.0).then_some(Busiest {
            thread: first.thread,
            runs: runs / length,
            has_work: (runs + ready) / length,
            next: next / runs,
            ran: runs * 1e-9 / work,
            share: runs / all,
        })
    }

    /// True when it sets the pace. `base`: the busiest thread at the baseline.
    pub fn sets_the_pace(&self, base: &Busiest) -> bool {
        let alike = |a: f64, b: f64| a >= KEEPS * b && b >= KEEPS * a;
        let slowed = self.ran >= base.ran && self.ran <= SLOWED * base.ran;
        let same_work = alike(self.ran, base.ran) || (slowed && alike(self.share, base.share));
        self.is_ahead(NEXT) && same_work
    }

    /// True when it has work all the time and much more of it than any other thread, `most` of its own time at most.
    pub fn is_ahead(&self, most: f64) -> bool {
        self.has_work >= HAS_WORK && self.runs >= RUNS && self.next <= most
    }

    /// True when no other thread does the same.
    pub fn is_stage(&self, stacks: &Stacks<'_>, traced: &Traced<'_>) -> bool {
        let calls = traced.thread_calls(stacks);
        let Some(own) = calls.get(&self.thread) else { return false };
        calls.iter().all(|(thread, other)| *thread == self.thread || overlap(own, other) <= SAME)
    }
}

/// Books what no other evidence explains to the thread that sets the pace: more time in functions, in `sched_yield`, in
/// code that waits for the end of others, and what is not explained. Other threads do that, and none of it delays the
/// busy thread. Nothing changes unless it is enough for a cause and more than any other line.
pub fn book(account: &mut Balance) {
    let open = |id: LineId| {
        matches!(
            id,
            LineId::NewFunctions
                | LineId::SameFunctions
                | LineId::SameFunctionsLess
                | LineId::Noise
                | LineId::Yielding
                | LineId::Synchronising(Why::Join)
        )
    };
    let moved: Vec<&Booked> = account.lines.iter().filter(|line| open(line.id)).collect();
    let seconds = moved.iter().map(|line| line.seconds).sum::<f64>() + account.unexplained;
    let error = moved.iter().map(|line| line.sampling_error.powi(2)).sum::<f64>().sqrt();
    let larger = |line: &Booked| !open(line.id) && line.seconds >= seconds;
    if seconds <= MIN_SHARE * account.capacity || account.lines.iter().any(larger) {
        return;
    }
    account.lines.retain(|line| !open(line.id));
    account.unexplained = 0.0;
    account.lines.push(Booked { id: LineId::Paced, seconds, sampling_error: error });
    account.lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.id.cmp(&b.id)));
}
