//! The measured part of a program that prints its time: how long the part is, is known.
//!
//! Imports `model::run`, `statistics`.

use super::same_work::{SameWork, stretches};
use super::{ALIKE, FITS, KINDS, PROCESS, Part, Stretch, TracedRate, WindowKind, length, stretch, workers};
use crate::model::run::Traced;
use crate::statistics::{MIN_SHARE, median};

/// The rate of a run is one in the printed seconds, so that each run does one unit of work.
const ONE_RUN: SameWork = SameWork { low: 1.0, high: 1.0 };

/// The stretch in which the workers live, if it is as long as the printed time in every run; otherwise the stretch of that
/// length in which they run most. `None` where the time is that of the whole run.
pub(super) fn infer(runs: &[TracedRate], traced: &[Traced<'_>]) -> Option<(Part, Vec<Stretch>)> {
    if runs.iter().all(|run| seconds(run) >= (1.0 - MIN_SHARE) * length(run.trace)) {
        return None;
    }
    let fitting: Vec<(f64, Vec<Stretch>)> = KINDS.iter().filter_map(|kind| fit(*kind, runs, traced)).collect();
    let best = fitting.iter().map(|(off, _)| *off).fold(f64::INFINITY, f64::min);
    // Among those that fit about equally well, the first kind is taken.
    if let Some((_, found)) = fitting.into_iter().find(|(off, _)| *off <= best + ALIKE) {
        return Some((Part::Workers { certain: true }, found));
    }
    let found = stretches(ONE_RUN, traced, |run| workers(run).map(|thread| thread.thread).collect())?;
    Some((Part::AsLong, found))
}

fn seconds(run: &TracedRate) -> f64 {
    1.0 / run.rate
}

/// How much the stretches of one kind are longer or shorter than the printed times, and the stretches. Where the main
/// thread does the work of the first run itself, as much time comes after it as in the others.
fn fit(kind: WindowKind, runs: &[TracedRate], traced: &[Traced<'_>]) -> Option<(f64, Vec<Stretch>)> {
    let found: Vec<Option<Stretch>> = traced.iter().map(|run| stretch(run, kind)).collect();
    let after: Vec<f64> = runs.iter().zip(&found).filter_map(|(run, s)| Some(length(((*s)?.1, run.trace.1)))).collect();
    let usual = median(&after)?;
    if found.iter().skip(1).any(Option::is_none) {
        return None;
    }
    let off = |(run, found): (&TracedRate, &Option<Stretch>)| {
        let found = (*found)?;
        Some(((length(found) - seconds(run)).abs() - PROCESS).max(0.0) / seconds(run))
    };
    let most = runs.iter().zip(&found).filter_map(off).fold(0.0, f64::max);
    let placed = |run: &TracedRate| {
        let after = usual.min(length(run.trace) - seconds(run)).max(0.0);
        let end = run.trace.1.saturating_sub((after * 1e9) as u64);
        (end.saturating_sub((seconds(run) * 1e9) as u64).max(run.trace.0), end)
    };
    let stretches = runs.iter().zip(found).map(|(run, found)| found.unwrap_or_else(|| placed(run))).collect();
    (most <= FITS).then_some((most, stretches))
}
