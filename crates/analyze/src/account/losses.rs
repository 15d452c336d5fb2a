//! Both halves of a loss, idle processors and processor time beyond the useful, scaled from the traced run to the clean
//! runs.

use super::growth::{self, Base, CpuProfile};
use super::lines::{LineId, Unexplained};
use super::parts::LossPart;
use super::profile::Doing;
use super::scale::{self, Both, TimeScale};
use crate::model::Model;

/// Differences below this share of the capacity are rounding errors of floating-point sums.
///
/// Decides: whether idle time of the timed runs that the observed run does not show gets a line of its own in the loss.
/// From: arithmetic: sums of 64-bit floating-point numbers are off by far less.
/// Shown by: `an_observed_run_that_hardly_waited_tells_nothing_about_the_rest`, for a difference far above it.
/// Wrong if: never; a billionth of the capacity is too small to report.
const ROUNDING: f64 = 1e-9;

/// What is known about a thread count, in processor-seconds per unit of work.
#[derive(Debug)]
pub(super) struct CleanTimes {
    /// Its traced value is without what knee, and other programs beyond the usual, took.
    pub(super) capacity: Both,
    pub(super) useful: Both,
    /// Processor time of the clean runs; absent where it is not known for the same work.
    pub(super) on_cpu: Option<f64>,
    /// What other programs took from the clean runs beyond what they took from the traced one: idle time of the clean
    /// runs that the traced run does not show.
    pub(super) pressed: f64,
    /// On-CPU time of the traced run while more threads ran than the capacity counts.
    pub(super) surplus: f64,
    /// Processor time of the clean runs at the baseline.
    pub(super) base: Option<f64>,
}

/// How the on-CPU time of a count is explained.
#[derive(Debug, Clone, Copy)]
pub(super) enum Comparand<'a, 't> {
    /// By its growth over a base.
    Base(Base<'a, 't>),
    /// The baseline: only creating threads and waiting in loops may be loss.
    Itself,
}

/// The parts of a loss, scaled to the clean runs.
#[derive(Debug)]
pub(super) struct Losses<'t> {
    pub(super) parts: Vec<LossPart>,
    /// User-space functions by growth, largest first.
    pub(super) grown: Vec<(Doing<'t>, f64)>,
    /// Clean seconds for one traced second of idle time.
    pub(super) idle: f64,
    /// The same for processor time beyond that of the baseline.
    pub(super) on_cpu: f64,
    /// The same for processor time as a whole.
    pub(super) code: f64,
}

impl CleanTimes {
    /// Scales the parts of a traced run.
    pub(super) fn scale<'t>(
        &self,
        model: &Model<'t>,
        mut parts: Vec<LossPart>,
        run: &CpuProfile<'_, 't>,
        against: Comparand<'_, 't>,
    ) -> Losses<'t> {
        let Some(clean) = self.on_cpu else { return self.as_one(model, parts, run, against) };
        let seen: f64 = parts.iter().map(|p| p.seconds).sum();
        let both = Both { traced: seen, clean: self.capacity.clean - clean };
        let pressed = self.pressed.min(both.clean);
        let both = Both { clean: both.clean - pressed, ..both };
        let idle_scale = scale::idle(both, self.capacity);
        scaled(&mut parts, idle_scale);
        let unseen = both.clean - seen * idle_scale;
        if pressed > 0.0 {
            parts.push(LossPart::exact(LineId::OtherProgramsTimed, pressed));
        }
        if unseen.abs() > ROUNDING * self.capacity.clean {
            parts.push(LossPart::exact(LineId::Unexplained(Unexplained::IdleInTimedRuns), unseen));
        }
        let growing = Both { traced: run.on_cpu - self.useful.traced, clean: clean - self.useful.clean };
        let as_clean = CpuProfile { on_cpu: clean, ..run.clone() };
        let (mut growth, grown, on_cpu) = match (against, scale::growth(growing, self.capacity)) {
            (Comparand::Base(Base::Run(base)), TimeScale::Differences(factor)) => {
                let (mut growth, mut grown) = growth::growth(model, run, Base::Run(base));
                scaled(&mut growth, factor);
                grown.iter_mut().for_each(|g| g.1 *= factor);
                if growing.clean < 0.0 {
                    // The clean runs gained: the factor is then 0, so what the traced run lost does not count.
                    growth.push(LossPart::exact(LineId::SameFunctions, growing.clean));
                }
                (growth, grown, factor)
            }
            (Comparand::Base(Base::Run(base)), TimeScale::Times) => {
                let base = CpuProfile { on_cpu: self.base.unwrap_or(base.on_cpu), ..base.clone() };
                let (growth, grown) = growth::growth(model, &as_clean, Base::Run(&base));
                (growth, grown, clean / run.on_cpu)
            }
            (Comparand::Base(base), _) => {
                let (growth, grown) = growth::growth(model, &as_clean, base);
                (growth, grown, clean / run.on_cpu)
            }
            (Comparand::Itself, _) => (as_clean.waste(), Vec::new(), clean / run.on_cpu),
        };
        let beyond = self.useful.clean - self.capacity.clean;
        if matches!(against, Comparand::Itself) && beyond > ROUNDING * self.capacity.clean {
            growth.push(LossPart::exact(LineId::Beyond, -beyond));
        }
        parts.append(&mut growth);
        let known = |factor: f64| if factor.is_finite() { factor } else { 1.0 };
        Losses { parts, grown, idle: idle_scale, on_cpu: known(on_cpu), code: known(clean / run.on_cpu) }
    }

    /// Where only the whole loss is known, both halves are scaled by the same factor.
    fn as_one<'t>(
        &self,
        model: &Model<'t>,
        mut parts: Vec<LossPart>,
        run: &CpuProfile<'_, 't>,
        against: Comparand<'_, 't>,
    ) -> Losses<'t> {
        let loss =
            Both { traced: self.capacity.traced - self.useful.traced, clean: self.capacity.clean - self.useful.clean };
        let scale = scale::whole(loss, self.capacity);
        let (growth, mut grown) = match against {
            Comparand::Base(base) => growth::growth(model, run, base),
            Comparand::Itself => (run.waste(), Vec::new()),
        };
        parts.extend(growth);
        if self.surplus > 0.0 {
            // On-CPU time that the growth counts and the capacity does not.
            parts.push(LossPart::exact(LineId::Unexplained(Unexplained::Surplus), -self.surplus));
        }
        scaled(&mut parts, scale);
        grown.iter_mut().for_each(|g| g.1 *= scale);
        Losses { parts, grown, idle: scale, on_cpu: scale, code: scale::times(self.capacity) }
    }
}

fn scaled(parts: &mut [LossPart], scale: f64) {
    for part in parts {
        part.seconds *= scale;
        part.variance *= scale * scale;
    }
}
