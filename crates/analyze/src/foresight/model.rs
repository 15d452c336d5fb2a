//! The arithmetic of a removal at one thread count.
//!
//! The capacity of a unit of work is C = p·T: processors times the time that it takes. A cause that takes L of it away
//! leaves C − L, so that the unit takes (C − L)/p. What the baseline needs for the unit, C₁, no count does with
//! less: the time is at least C₁/p. Code that would not run at all, a share u of C₁, comes off both. So does what the
//! cause takes away at the baseline already: where one worker waits for one thread that feeds it, for example.
//!
//! How long a lock is held at one thread does not predict what it costs at two: handing it from one processor to
//! another costs more than that. The model uses what was lost, and never the length of holds.
//!
//! A program that runs more threads than it was asked for has idle processors at the baseline that no thread asked for: there
//! the unit needs the processor time that it took, and not the capacity.

use crate::account::Ledger;
use crate::answer::{Foreseen, Interval, Spread};
use crate::facts::Facts;
use crate::statistics::intervals::spread;

/// A 90 % normal interval reaches this many standard errors to each side.
///
/// Decides: how wide the interval of a predicted speed is, by the sampling error of what is charged to the cause.
/// From: the normal distribution.
/// Shown by: `the_interval_holds_the_models_own_error`.
/// Wrong if: the error comes from few samples, so that it is not normal.
const NORMAL_90: f64 = 1.645;

/// Decides: how wide the interval of a predicted speed is, apart from the noise of the runs: the model's own error.
/// From: `bench/foresight`: of 18 measured repairs of locks and shared lines, 13 were within this of the model. It was
/// chosen from these, so that intervals hold nine in ten of them.
/// Shown by: `the_interval_holds_the_models_own_error`.
/// Wrong if: a repair also changes what the program does, such as how much memory it touches.
const MODEL_ERROR: f64 = 0.4;

/// Decides: whether nothing is predicted for more threads than processors, because the program mostly waits: at the baseline
/// it keeps less than this share of the processors busy that it could use.
/// From: chosen: below it, four threads on two processors could be more than a quarter faster than the processors alone
/// allow to a program that never waits.
/// Shown by: `threads_that_sleep_may_overlap_more_than_processors_tell`.
/// Wrong if: the waiting is for something that serves one thread at a time.
const LEAST_BUSY: f64 = 0.8;

/// A thread count beside the smallest. Times are seconds per unit of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    threads: u32,
    /// Processors that count in the capacity.
    processors: f64,
    /// Wall time here, and at the baseline.
    time: Spread,
    base_time: Spread,
    /// Capacity of the baseline over its wall time.
    base_processors: f64,
    /// Processor time at the baseline over its wall time.
    base_busy: f64,
    /// True where the baseline's capacity counts processors that its threads were not asked to fill.
    base_uses_more: bool,
    /// What the work takes, over the wall time of the baseline.
    useful: f64,
    /// The share of the loss that is the program's own.
    own: f64,
}

/// What is removed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    /// How much of it, 0 to 1.
    part: f64,
    /// Share of the program's own loss.
    pub(super) lost: f64,
    /// Its standard error.
    error: f64,
    /// Share of the processor time at the baseline in code that would not run.
    pub(super) code: f64,
    /// The same, as far as the loss does not contain it.
    beyond_loss: f64,
    /// Share of the capacity at the baseline that the cause takes there.
    at_base: f64,
    at_most: bool,
}

impl Count {
    /// The times of a count; none where either has no timed runs, and where sleeping threads may overlap beyond the
    /// processors.
    pub(super) fn new(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, base: &Ledger<'_, '_>) -> Option<Count> {
        let time = spread(&facts.clean.seconds_per_unit(ledger.account.threads))?;
        let base_time = spread(&facts.clean.seconds_per_unit(base.account.threads))?;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !positive(time.low) || !positive(base_time.low) {
            return None;
        }
        let alone = facts.points.iter().find(|p| p.threads == base.account.threads)?;
        let sleeps = alone.processors_used < LEAST_BUSY * f64::from(base.traced.processors());
        if sleeps && ledger.account.threads > facts.processors {
            return None;
        }
        Some(Count {
            threads: ledger.account.threads,
            processors: f64::from(ledger.traced.processors()),
            time,
            base_time,
            base_processors: f64::from(base.traced.processors()),
            base_busy: alone.processors_used,
            base_uses_more: base.traced.uses_more(),
            useful: ledger.account.useful / base_time.median,
            own: if ledger.loss > 0.0 { (ledger.own_loss() / ledger.loss).clamp(0.0, 1.0) } else { 0.0 },
        })
    }

    /// The speed without what is taken, with its interval.
    pub(super) fn without(&self, taken: &Taken) -> Foreseen {
        let (time, base) = (self.time.median, self.base_time.median);
        let speed = self.times_as_fast((time, base), taken, taken.lost);
        // Each source of noise alone; their logarithms add up like independent errors.
        let noisy = [
            self.times_as_fast((self.time.low, base), taken, taken.lost),
            self.times_as_fast((self.time.high, base), taken, taken.lost),
            self.times_as_fast((time, self.base_time.low), taken, taken.lost),
            self.times_as_fast((time, self.base_time.high), taken, taken.lost),
            self.times_as_fast((time, base), taken, taken.lost - NORMAL_90 * taken.error),
            self.times_as_fast((time, base), taken, taken.lost + NORMAL_90 * taken.error),
        ];
        let model = (1.0 + MODEL_ERROR).ln();
        let off = |below: bool| {
            let logs = noisy.iter().map(|other| (other / speed).ln()).filter(|log| (*log < 0.0) == below);
            logs.fold(model * model, |sum, log| sum + log * log).sqrt()
        };
        let low = if taken.at_most { 1.0 } else { (speed * (-off(true)).exp()).max(1.0) };
        let interval = Interval { low, high: speed * off(false).exp() };
        Foreseen { threads: self.threads, times_as_fast: speed, interval, speedup: speed * base / time }
    }

    fn times_as_fast(&self, (time, base): (f64, f64), taken: &Taken, lost: f64) -> f64 {
        let capacity = time * self.processors;
        let loss = (capacity - self.useful * base).max(0.0) * self.own;
        let code = |share: f64| share * self.base_busy * base;
        let left = capacity - taken.part * (lost.clamp(0.0, 1.0) * loss + code(taken.beyond_loss));
        let needed = self.base_processors * (1.0 - taken.part * taken.at_base.min(1.0));
        // Threads beside the one that was asked for leave their processors idle: what nobody runs is not needed.
        let needed = if self.base_uses_more { needed.min(self.base_busy) } else { needed };
        let least = base * needed - taken.part * code(taken.code);
        let needed = left.max(least).max(f64::MIN_POSITIVE);
        (capacity / needed).max(1.0)
    }
}

impl Taken {
    /// Nothing yet. `part`: how much of each cause is removed.
    pub(super) fn new(part: f64) -> Taken {
        Taken { part, ..Taken::default() }
    }

    /// Removes one more cause. `lost`: its share of the program's own loss, and the standard error of that. `code`: the
    /// share of the baseline's processor time that its code takes, and whether the loss contains it. `at_base`: the
    /// share of that count's capacity that it takes otherwise.
    pub(super) fn add(&mut self, (lost, error): (f64, f64), (code, in_loss): (f64, bool), at_base: f64, at_most: bool) {
        self.lost += lost;
        self.error = self.error.hypot(error);
        self.code += code;
        self.beyond_loss += if in_loss { 0.0 } else { code };
        self.at_base += at_base;
        self.at_most |= at_most;
    }
}
