//! What takes processor time at the baseline that no work needs, so that it is loss there too.
//!
//! Imports `growth`, `profile`, `curve`, `model`, `statistics`.

use super::growth::CpuProfile;
use super::profile::Doing;
use crate::curve::{Clean, median_of};
use crate::model::{Model, Traced};
use crate::statistics::MIN_SHARE;
use std::collections::BTreeSet;

/// The kinds of processor time that are loss at the baseline too.
pub(super) fn wasted_at_base<'t>(
    model: &Model<'_>,
    clean: &Clean<'_>,
    base: &Traced<'_>,
    spent: &CpuProfile<'_, 't>,
) -> BTreeSet<Doing<'t>> {
    let mut wasted = BTreeSet::new();
    if creating_is_loss(model, clean, base, spent) {
        wasted.insert(Doing::Creation);
    }
    let waits = [Doing::Spinning, Doing::Call(model.numbers.sched_yield)];
    if spinning_is_loss(clean, base, spent, &waits) {
        wasted.extend(waits);
    }
    wasted
}

/// True when waiting in loops is loss at the baseline too: a thread that waits so, beside each requested one, takes a
/// processor at every count, so that it does not show as growth. It counts where more threads bring less than they could.
/// A single thread waits for nobody: what it spends in such a loop is the loop's own cost.
fn spinning_is_loss(clean: &Clean<'_>, base: &Traced<'_>, spent: &CpuProfile<'_, '_>, waits: &[Doing<'_>]) -> bool {
    let spinning: f64 = waits.iter().map(|doing| spent.spent(*doing).0).sum();
    let falls_short = clean.points().iter().any(|point| {
        let room = f64::from(point.threads.min(base.trace.processors)) / f64::from(base.run.threads.max(1));
        room > 1.0 && point.speedup < (1.0 - MIN_SHARE) * room
    });
    base.uses_more() && !base.is_only_run && falls_short && spinning > MIN_SHARE * spent.on_cpu
}

/// True when creating threads is loss at the baseline too. No unit of work needs its own thread, but a program
/// that makes one for each task pays the same at every count, so that this cost does not show as growth.
///
/// It counts where the program loses enough for a cause, and creating takes more than all other loss. A program that
/// scales is not held back by creating threads, and neither is one with a larger loss.
fn creating_is_loss(model: &Model<'_>, clean: &Clean<'_>, base: &Traced<'_>, spent: &CpuProfile<'_, '_>) -> bool {
    let creating = spent.spent(Doing::Creation).0;
    let Some(useful) = median_of(&clean.cpu_per_unit(base.run.threads)) else { return false };
    let lost = model.traced.iter().filter(|traced| !traced.is_only_run).filter_map(|traced| {
        let time = median_of(&clean.seconds_per_unit(traced.run.threads))?;
        let capacity = time * f64::from(traced.processors());
        Some((capacity - useful, capacity))
    });
    let worst = lost.max_by(|a, b| a.0.total_cmp(&b.0));
    worst.is_some_and(|(lost, capacity)| lost > MIN_SHARE * capacity && creating > lost)
}
