//! How much of a cause could have been missed: this makes *clear* mean more than *not seen*.
//!
//! The bound for a cause is the time booked to it, plus its error, plus the time that samples could have missed. What
//! threads do to each other shows only while they run at the same time: where other programs or other virtual machines
//! kept them apart, the bound grows in proportion.

use crate::account::{Booked, Ledger, LineId};
use crate::answer::{Cause, Power};
use crate::causes::Meta;
use crate::curve::seconds;
use crate::disturbance::{Usual, disturbance};
use crate::facts::{Facts, in_proportion, significant};
use crate::statistics::MIN_SHARE;
use crate::verdict::usual::is_small_start;
use crate::words::percent;
use recording::meta::Counted;
use recording::tables::{Run, RunKind};

/// This many standard errors bound a value from one side with 95 % confidence.
///
/// Decides: how much more time than was booked to it a cause may take.
/// From: the normal distribution.
/// Wrong if: the error of a charge comes from few samples, so that it is not normal.
const ONE_SIDED_95: f64 = 1.645;

/// Exposure is how much of the time in which two or more threads wanted processors they had them. Below this, threads
/// ran together too rarely to extrapolate: what is seen in a tenth of the time cannot be multiplied by ten.
///
/// Decides: whether any cause can be excluded although other programs took processors.
/// From: chosen: beside one program that computes all the time, two threads on two processors run together for a third
/// of the time.
/// Shown by: `power`'s tests: a lock that costs half of the time and shows in 5 % of the run.
/// Wrong if: contention grows faster than the time in which threads run together.
const LEAST_EXPOSURE: f64 = 0.2;

/// Decides: whether a small start is the answer of disturbed runs: it must be most of the loss.
/// From: the definition of a majority.
/// Shown by: `a_small_start_in_disturbed_runs_stays_unsure`.
/// Wrong if: the start is the only problem, and other programs took more than it.
const MOST: f64 = 0.5;

/// How much of a cause could have been missed, at the count at which that is most; absent where no run was observed.
pub(super) fn power(facts: &Facts<'_, '_>, meta: &Meta) -> Option<Power> {
    let counts = facts.in_order().into_iter().map(|ledger| at(facts, ledger, meta));
    counts.max_by(|a, b| a.at_most.total_cmp(&b.at_most))
}

/// Why too much could have been missed to exclude a cause; `None` where it can be excluded.
pub(super) fn too_weak(power: &Power, counted: Counted) -> Option<String> {
    if power.at_most <= MIN_SHARE {
        return None;
    }
    let bound = format!("{} of the processor time with {}", percent(power.at_most), counted.many(power.threads));
    Some(match power.exposure < 1.0 - MIN_SHARE {
        true => format!(
            "too disturbed to exclude: threads could run side by side for only {} of the time that they wanted to; it may \
             take up to {bound}",
            percent(power.exposure)
        ),
        false if power.undisturbed_runs == 0 => format!(
            "too disturbed to exclude: other programs or virtual machines disturbed every timed run; it may take up to {bound}"
        ),
        false => format!("too few samples to exclude, {}: it may take up to {bound}", power.samples),
    })
}

fn at(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, meta: &Meta) -> Power {
    let traced = ledger.traced;
    let others = seconds(traced.trace.foreign_ns) * traced.measured_share() * (1.0 - traced.kernel_threads());
    let stolen = traced.run.steal_ns.map_or(0.0, seconds) * traced.measured_share();
    let exposure = ledger.split.exposure(others, stolen);
    let (booked, error) = meta.charged(ledger);
    let (open, open_error) = elsewhere(ledger, meta);
    let samples = ledger.profile.total;
    let a_sample = ledger.split.on_cpu / samples.max(1) as f64 * ledger.on_cpu_scale;
    let undisturbed_runs = undisturbed(facts, ledger.account.threads);
    // A cause that seems to save time saves none. That shows how far disturbed runs are off, in either direction.
    let booked = if undisturbed_runs == 0 { booked.abs() } else { booked.max(0.0) };
    let seen = booked + open + ONE_SIDED_95 * error.hypot(open_error) + meta.samples_needed as f64 * a_sample;
    let capacity = ledger.account.capacity.max(f64::MIN_POSITIVE);
    let bound = if exposure < LEAST_EXPOSURE { f64::INFINITY } else { seen / exposure };
    // No cause can take more than the whole loss.
    let most = ledger.account.loss_interval.high.max(ledger.loss).max(0.0);
    // Nor more than what is missing to a speed-up proportional to the threads.
    let most = match ledger.efficiency.filter(|_| ledger.scales()) {
        Some((_, low)) => most.min((1.0 - low).max(0.0) * capacity),
        None => most,
    };
    let trials = facts.model.sharing.lines.iter().filter(|line| line.run == traced.run.run);
    let trials = trials.flat_map(|line| &line.trials).map(|row| u64::from(row.trials)).max().unwrap_or(0);
    Power {
        id: meta.id,
        threads: ledger.account.threads,
        at_most: (bound.min(most) / capacity).clamp(0.0, 1.0),
        samples,
        exposure,
        undisturbed_runs,
        trials,
    }
}

/// Why a cause that was found is not certain: no timed run was undisturbed, and with them it may take less than what
/// counts as a cause.
pub(super) fn too_disturbed(facts: &Facts<'_, '_>, cause: &Cause) -> Option<String> {
    let ledger = facts.ledgers.iter().find(|ledger| ledger.account.threads == cause.threads)?;
    let least = cause.interval.low / ledger.account.capacity.max(f64::MIN_POSITIVE);
    let runs = &facts.model.tables.runs;
    let timed = runs.iter().any(|run| run.kind == RunKind::Clean && run.threads == cause.threads);
    let disturbed = timed && !ledger.traced.is_only_run && undisturbed(facts, cause.threads) == 0;
    // A start that costs little is what every program has: beside it, most of the loss hides.
    if disturbed && is_small_start(facts, cause) && cause.share < MOST {
        return Some(format!(
            "{} is booked to it, a small part of what is lost, and other programs or virtual machines disturbed every timed \
             run: what else is lost does not show; repeat it on a quiet machine",
            in_proportion(ledger, cause.lost_seconds)
        ));
    }
    (disturbed && least < MIN_SHARE).then(|| {
        let booked = in_proportion(ledger, cause.lost_seconds);
        let least = if least > 0.0 { percent(least) } else { "nothing".to_owned() };
        format!(
            "{booked} is booked to it, but other programs or virtual machines disturbed every timed run: it may be {least}; \
             repeat it on a quiet machine"
        )
    })
}

/// What may belong to the cause besides its lines, and its standard error: parts too small for a line, and lines that
/// other causes claim. Significant lines of these are left out: they were judged before the cause was called clear.
fn elsewhere(ledger: &Ledger<'_, '_>, meta: &Meta) -> (f64, f64) {
    let foreign = |id: LineId| meta.may_be_in.contains(&id) && !meta.claims(id);
    let part = |booked: &Booked| (booked.seconds, booked.sampling_error);
    let small = |fits: &dyn Fn(LineId) -> bool| together(ledger.small.iter().filter(|b| fits(b.id)).map(part));
    let lines = ledger.account.lines.iter().filter(|b| foreign(b.id)).map(part);
    let lines = lines.filter(|line| !significant(ledger, *line)).chain([small(&foreign)]);
    let (own, (seconds, error)) = (small(&|id| meta.claims(id)), together(lines));
    // Code cannot have grown more than all processor time, which the timed runs tell.
    let most = ledger.most_growth.unwrap_or(f64::INFINITY).max(0.0);
    (own.0 + seconds.min(most), own.1.hypot(error.min(most / ONE_SIDED_95)))
}

/// The sum of those parts of an account that are losses, and the standard error of all parts.
fn together(parts: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0.max(0.0), f64::hypot(sum.1, part.1)))
}

/// The number of undisturbed timed runs of a count.
fn undisturbed(facts: &Facts<'_, '_>, threads: u32) -> u32 {
    let timed = |run: &&Run| run.kind == RunKind::Clean && run.threads == threads;
    let runs = || facts.model.tables.runs.iter().filter(timed);
    let processors = facts.model.tables.meta.usable_at(threads);
    let usual = Usual::from_runs(runs(), processors);
    runs().filter(|run| disturbance(run, &usual, processors).is_none()).count() as u32
}
