//! The measured part of a program that prints its time: how long the part is, is known.
//!
//! Imports `model::run`, `statistics`.

use super::same_work::{SameWork, stretches};
use super::stretch::{ALIKE, FITS, KINDS, PROCESS, Stretch, WindowKind, length, stretch, trace, workers};
use crate::model::run::Traced;
use crate::statistics::{MIN_SHARE, median};

/// The rate of a run is one in the printed seconds, so that each run does one unit of work.
const ONE_RUN: SameWork = SameWork { low: 1.0, high: 1.0 };

/// The stretch in which the workers live (true), if it is as long as the printed time in every run; otherwise the stretch of
/// that length in which they run most. `None` where the time is that of the whole run. `printed`: seconds.
pub(super) fn infer(printed: &[f64], traced: &[Traced<'_>]) -> Option<(bool, Vec<Stretch>)> {
    let whole = |(seconds, run): (&f64, &Traced<'_>)| *seconds >= (1.0 - MIN_SHARE) * length(trace(run));
    if printed.iter().zip(traced).all(whole) {
        return None;
    }
    let fitting: Vec<(f64, Vec<Stretch>)> = KINDS.iter().filter_map(|kind| fit(*kind, printed, traced)).collect();
    let best = fitting.iter().map(|(off, _)| *off).fold(f64::INFINITY, f64::min);
    // Among those that fit about equally well, the first kind is taken.
    if let Some((_, found)) = fitting.into_iter().find(|(off, _)| *off <= best + ALIKE) {
        return Some((true, found));
    }
    let found = stretches(ONE_RUN, traced, |run| workers(run).map(|thread| thread.thread).collect())?;
    Some((false, found))
}

/// How much the stretches of one kind are longer or shorter than the printed times, and the stretches. Where the main
/// thread does the work of the first run itself, as much time comes after it as in the others.
fn fit(kind: WindowKind, printed: &[f64], traced: &[Traced<'_>]) -> Option<(f64, Vec<Stretch>)> {
    let found: Vec<Option<Stretch>> = traced.iter().map(|run| stretch(run, kind)).collect();
    let runs = || printed.iter().zip(traced.iter().map(trace));
    let after: Vec<f64> = runs().zip(&found).filter_map(|((_, run), s)| Some(length(((*s)?.1, run.1)))).collect();
    let usual = median(&after)?;
    if found.iter().skip(1).any(Option::is_none) {
        return None;
    }
    let off = |(seconds, found): (&f64, &Option<Stretch>)| {
        Some(((length((*found)?) - seconds).abs() - PROCESS).max(0.0) / seconds)
    };
    let most = printed.iter().zip(&found).filter_map(off).fold(0.0, f64::max);
    let placed = |(seconds, run): (&f64, Stretch)| {
        let after = usual.min(length(run) - seconds).max(0.0);
        let end = run.1.saturating_sub((after * 1e9) as u64);
        (end.saturating_sub((seconds * 1e9) as u64).max(run.0), end)
    };
    let stretches = runs().zip(found).map(|(run, found)| found.unwrap_or_else(|| placed(run))).collect();
    (most <= FITS).then_some((most, stretches))
}
