//! What a run's work consists of, by its timelines: time outside the workers' lives, the processor time of each thread,
//! time in which one thread alone wanted to run, and time in which none did because all waited for the world outside.
//!
//! A thread that is ready to run wants to run like one that does: with more threads than processors, the timelines show
//! what the program could have done on more processors.

use crate::account::Ledger;
use crate::account::lines::{LineId, Why};
use crate::account::timeline::others;
use crate::model::Traced;
use recording::tables::{Slice, State};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, HashMap};

/// Decides: how many threads want to run when one counts as alone; above it, two do.
/// From: the middle between one and two; stretches that are summed up have fractions of threads.
/// Shown by: `a_serial_phase_is_found_at_once`.
/// Wrong if: summed-up stretches blur who ran beside whom.
const TWO: f64 = 1.5;

/// Decides: below how many threads none counts as wanting to run.
/// From: chosen: stretches that are summed up leave about a twentieth of a thread.
/// Shown by: `what_sleeps_outside_needs_no_processor`.
/// Wrong if: all that runs does so in very short turns.
const NONE: f64 = 0.05;

/// Decides: which threads count among those that share the work: those with more than this part of the largest share.
/// From: chosen: a thread with less does not make the largest smaller by an amount that matters.
/// Shown by: `one_thread_with_twice_the_share_is_the_limit`.
/// Wrong if: many threads do a little each.
const LEAST_PART: f64 = 0.05;

/// The work of one observed run, as shares of its time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RunWork {
    /// Time in which no worker lived, or in which the code ran that never runs beside other code.
    pub(super) serial: f64,
    /// The part of that which is within the workers' lives: they did it themselves.
    pub(super) within: f64,
    /// Time in which no thread wanted to run while one waited for files, sockets or the clock.
    pub(super) waits: f64,
    /// Processor time of each thread apart from the serial time, largest first.
    pub(super) threads: Vec<f64>,
}

impl RunWork {
    /// Reads the timelines of a run.
    pub(super) fn new(ledger: &Ledger<'_, '_>) -> RunWork {
        let traced = ledger.traced;
        let seen = WorkSeen::new(traced, &ledger.reasons);
        let length = (seen.end - seen.begin).max(f64::MIN_POSITIVE);
        // Idle processors beside code that never runs beside other code tell how long that ran.
        let processors = f64::from(traced.processors());
        let idle = ledger.sum(|id| id == LineId::OneAlone).0 / ledger.account.capacity.max(f64::MIN_POSITIVE);
        let alone: f64 = seen.alone.values().sum();
        let within = match processors > 1.0 && alone > 0.0 {
            true => (idle * processors / (processors - 1.0)).clamp(0.0, alone / length),
            false => 0.0,
        };
        let of_alone = if alone > 0.0 { within * length / alone } else { 0.0 };
        let own = |(thread, ran): (&ThreadId, &f64)| {
            (ran - of_alone * seen.alone.get(thread).copied().unwrap_or(0.0)).max(0.0) / length
        };
        let mut threads: Vec<f64> = seen.ran.iter().map(own).collect();
        threads.sort_by(|a, b| b.total_cmp(a));
        let least = LEAST_PART * threads.first().copied().unwrap_or(0.0);
        threads.retain(|share| *share > least);
        RunWork { serial: seen.serial / length + within, within, waits: seen.waits / length, threads }
    }

    /// Processor time apart from the serial time, in processors.
    pub(super) fn total(&self) -> f64 {
        self.threads.iter().sum()
    }
}

/// What was seen of a run, nanoseconds.
#[derive(Debug, Default)]
struct WorkSeen {
    begin: f64,
    end: f64,
    serial: f64,
    waits: f64,
    /// Running time within the workers' lives.
    ran: BTreeMap<ThreadId, f64>,
    /// The part of it in which no other thread wanted to run, and none had ended.
    alone: BTreeMap<ThreadId, f64>,
}

/// A change at an instant.
#[derive(Debug, Clone, Copy)]
enum WorkChange {
    Runs(ThreadId, f64),
    Ready(f64),
    Outside(f64),
    Worker(i64),
}

impl WorkSeen {
    fn new(traced: &Traced<'_>, reasons: &QuickMap<WaitId, Why>) -> WorkSeen {
        let (begin, end) = traced.measured;
        let helpers = traced.helpers();
        let not_workers = others(traced);
        let mut changes: Vec<(u64, WorkChange)> = Vec::with_capacity(2 * traced.slices.len());
        for slice in traced.slices.iter().filter(|s| s.end_ns > s.start_ns && !helpers.contains(&s.thread)) {
            let Some(change) = change(&slice, reasons) else { continue };
            let (from, to) = (slice.start_ns.clamp(begin, end), slice.end_ns.clamp(begin, end));
            if from < to {
                changes.extend([(from, change(1.0)), (to, change(-1.0))]);
            }
        }
        let mut workers = 0;
        for thread in traced.threads.values().filter(|t| !not_workers.contains(&t.thread)) {
            let (from, to) = (thread.start_ns.clamp(begin, end), thread.end_ns.clamp(begin, end));
            if from < to {
                workers += 1;
                changes.extend([(from, WorkChange::Worker(1)), (to, WorkChange::Worker(-1))]);
            }
        }
        changes.sort_by_key(|(at, _)| *at);
        let mut seen = WorkSeen { begin: begin as f64, end: end as f64, ..WorkSeen::default() };
        let mut now = Wanting { has_workers: workers > 0, ..Wanting::default() };
        let mut at = begin;
        for (time, change) in changes {
            if time > at {
                now.passes((time - at) as f64, &mut seen);
                at = time;
            }
            now.take(change);
        }
        if end > at {
            now.passes((end - at) as f64, &mut seen);
        }
        seen
    }
}

/// What a slice changes at its start (1) and its end (−1).
fn change(slice: &Slice, reasons: &QuickMap<WaitId, Why>) -> Option<impl Fn(f64) -> WorkChange> {
    let weight = slice.spent_ns as f64 / (slice.end_ns - slice.start_ns) as f64;
    let weight = weight.min(1.0);
    let (thread, state) = (slice.thread, slice.state);
    let why = slice.wait.and_then(|wait| reasons.get(&wait)).copied();
    let outside =
        matches!(why, Some(Why::Io | Why::Sleep | Why::Poll | Why::Reply | Why::Pause | Why::Fault | Why::Child));
    let counts = !matches!(state, State::Unknown) && (state != State::Blocked || outside);
    counts.then_some(move |sign: f64| match state {
        State::Running => WorkChange::Runs(thread, sign * weight),
        State::Blocked => WorkChange::Outside(sign * weight),
        State::Runnable | State::Preempted | State::Unknown => WorkChange::Ready(sign * weight),
    })
}

/// What holds at an instant.
#[derive(Debug, Default)]
struct Wanting {
    running: HashMap<ThreadId, f64>,
    runs: f64,
    ready: f64,
    outside: f64,
    workers: i64,
    ended: bool,
    has_workers: bool,
}

impl Wanting {
    fn take(&mut self, change: WorkChange) {
        match change {
            WorkChange::Runs(thread, weight) => {
                let now = self.running.entry(thread).or_default();
                *now += weight;
                if *now < 1e-9 {
                    self.running.remove(&thread);
                }
                self.runs += weight;
            }
            WorkChange::Ready(weight) => self.ready += weight,
            WorkChange::Outside(weight) => self.outside += weight,
            WorkChange::Worker(born) => {
                self.workers += born;
                self.ended = self.workers > 0 && (born < 0 || self.ended);
            }
        }
    }

    fn passes(&self, time: f64, seen: &mut WorkSeen) {
        if self.has_workers && self.workers == 0 {
            seen.serial += time;
            return;
        }
        let wants = self.runs + self.ready;
        if wants < NONE {
            seen.waits += if self.outside > NONE { time } else { 0.0 };
            return;
        }
        for (thread, weight) in &self.running {
            *seen.ran.entry(*thread).or_default() += weight * time;
            if wants < TWO && !self.ended {
                *seen.alone.entry(*thread).or_default() += weight * time;
            }
        }
    }
}
