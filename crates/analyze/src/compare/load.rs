//! What other programs may have done to each of two recordings.
//!
//! Two recordings made one after the other may differ only in the load of the machine. The timed runs record which
//! share of the processors other programs took. This bounds how much longer a run can have become; a difference has to
//! be larger.

use crate::answer::CurveChange;
use crate::curve::{Clean, median_of};
use crate::disturbance::{beyond, taken};

/// The largest share of a thread's processor that other programs are assumed to take. Nine programs that compete for it
/// take nine tenths (fair scheduling, sched(7)).
///
/// Decides: how far the interval of a difference is widened at most where the recordings differ in the load from other
/// programs.
/// From: fair shares; chosen for nine competitors per processor.
/// Wrong if: one recording had more competitors than that, and the other had none.
const MOST: f64 = 0.9;

/// What others took while a recording was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Load {
    /// Share of all processors, median of the timed runs.
    pub(super) share: f64,
    /// How much longer that may have made runs: the logarithm of a ratio, 0 or more.
    pub(super) longer: f64,
}

/// The load on the timed runs at a thread count, on a machine with this many processors.
///
/// Others that take a share L of P processors compete with n threads on min(n, P) of them, so in the worst case they
/// take L·P/min(n, P) of each. A thread that gets 1 − x of a processor takes 1/(1 − x) times as long. If it holds a
/// lock or has the last share of the work, the others also wait for it, so the bound is the square of that.
pub(super) fn load(clean: &Clean<'_>, threads: u32, processors: u32) -> Load {
    let shares = clean.series(threads, |run| taken(run, processors).unwrap_or(0.0));
    let share = median_of(&shares).unwrap_or(0.0);
    let used = f64::from(threads.clamp(1, processors.max(1)));
    let of_each = (share * f64::from(processors.max(1)) / used).min(MOST);
    Load { share, longer: -2.0 * (1.0 - of_each).ln() }
}

/// Widens the interval of a speed (before ÷ after) by what a different load may have done.
pub(super) fn allow_for(point: &mut CurveChange, before: Load, after: Load) {
    if !differ(before, after) {
        return;
    }
    if let Some(interval) = &mut point.interval {
        // Load on the first recording makes the second look faster, and vice versa.
        interval.high *= after.longer.exp();
        interval.low *= (-before.longer).exp();
    }
}

/// True when one recording was made beside much more load than the other.
fn differ(before: Load, after: Load) -> bool {
    beyond(before.share.max(after.share), before.share.min(after.share))
}

/// The warning for recordings whose load differed.
pub(super) fn warning(loads: &[(Load, Load)]) -> Option<String> {
    let distance = |(a, b): &(Load, Load)| (a.share - b.share).abs();
    let (before, after) = loads.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    differ(*before, *after).then(|| {
        let percent = |load: &Load| (load.share * 100.0).round();
        format!(
            "other programs took {} % of the processors before the change and {} % after it: a difference can be that. \
             `knee compare` runs both in turn",
            percent(before),
            percent(after)
        )
    })
}
