//! How far the speed of a machine drifted by itself while a recording was made.
//!
//! Two recordings made one after the other share no blocks, so a machine that gets slower looks like a program that
//! does. Nothing in them tells what happened in between, but a machine that drifts in between mostly drifts within them
//! too. So the interval of a difference is widened by the larger drift of the two, extrapolated to the distance between
//! the recordings.

use crate::answer::{CurveChange, Judgement};
use crate::curve::{Clean, median_of};
use crate::statistics::median;
use std::collections::BTreeMap;

/// The share of a recording's blocks that is compared at each end: two of five, so that one disturbed block has only
/// half of the weight.
///
/// Decides: which blocks are compared to see whether the machine drifts.
/// From: chosen: two of five blocks.
/// Wrong if: the machine changed for a while in the middle and came back: no drift is seen.
const END: f64 = 0.4;

/// How much a steady drift, as large as that from a recording's start to its end, changes times from the middle of one
/// recording to the middle of the next: a difference of logarithms, 0 or more. 0 with fewer than two blocks.
pub(super) fn moved(clean: &Clean<'_>) -> f64 {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for threads in clean.counts() {
        let series = clean.seconds_per_unit(threads);
        let Some(usual) = median_of(&series) else { continue };
        for run in series {
            blocks.entry(run.block).or_default().push((run.value / usual).ln());
        }
    }
    // A block's level is the median of its thread counts, so that one disturbed run is no drift.
    let levels: Vec<f64> = blocks.values().filter_map(|of_block| median(of_block)).collect();
    let end = ((END * levels.len() as f64).round() as usize).max(1);
    if levels.len() < 2 * end {
        return 0.0;
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (first, last) = (mean(&levels[..end]), mean(&levels[levels.len() - end..]));
    // The middles of the two ends are `levels.len() - end` blocks apart; the middles of two recordings, at least
    // `levels.len()`.
    (last - first).abs() * levels.len() as f64 / (levels.len() - end) as f64
}

/// The warning for differences that are unclear only because of drift.
pub(super) fn warning(curve: &[CurveChange], moved: f64) -> Option<String> {
    let hidden = curve.iter().filter(|point| point.judgement == Judgement::Unclear).filter_map(|p| p.interval);
    let hidden = hidden.filter(|i| i.low * moved.exp() > 1.0 || i.high * (-moved).exp() < 1.0);
    (hidden.count() > 0).then(|| {
        format!(
            "the speed of the machine itself drifted while one of the two was recorded, by as much as {:.0} % from one \
             recording to the next: a difference could be that. `knee compare` runs both in turn",
            (moved.exp() - 1.0) * 100.0
        )
    })
}
