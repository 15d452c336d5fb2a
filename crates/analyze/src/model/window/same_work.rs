//! The measured part of a run by its rate alone: how the length of the runs follows their rates. For programs whose threads
//! do not show it, because a library keeps a pool of threads, which also worked before.
//!
//! If each count does the same work W at a rate r, after the same start of s seconds, a run takes s + W / r. Two runs with
//! different counts give W, and the median of all pairs is hardly moved by runs that were disturbed (Sen 1968,
//! doi:10.1080/01621459.1968.10480934).
//!
//! Imports `model::run`, `statistics`, `recording`.

use crate::model::run::Traced;
use crate::statistics::{MIN_SHARE, median, quantile};
use recording::tables::{Run, RunKind, State};
use recording::{Tables, ThreadId};
use std::collections::BTreeSet;

/// The quartiles of the work that pairs of runs show may differ by this share of their median.
///
/// Decides: whether the length of the runs follows their rates, so that it gives the measured part; half of it, how far the
/// work of a stretch in which the workers live may be from that.
/// From: for 9 to 15 runs the quartiles bound the slope with about 95 % (Sen 1968, by Kendall's variance). Of 14 sweeps of
/// Python programs with libraries, the lower quartile of those within this share was 0 to 20 % below the work, but for one whose
/// processes took longer to start at larger counts (8 % above it); of those with a wider one, up to 15 % above it. They were
/// written for this purpose.
/// Shown by: `tests/model/same_work.rs`, `workers_stay_the_part_where_whole_runs_were_slower`.
/// Wrong if: what comes before the measured part takes longer in just those counts that have a lower rate.
const SPREAD: f64 = 0.5;

/// The time outside the measured part of one count may differ from the usual by this share of the measured part.
///
/// Decides: the same: whether all counts do the same work after the same start.
/// From: chosen: the counts of the sweeps that [`SPREAD`] accepted differed by up to about this much.
/// Shown by: `counts_that_do_not_do_the_same_work_show_nothing`.
/// Wrong if: a library that is loaded starts its threads one by one, and takes a tenth longer for that.
const SAME_START: f64 = 0.1;

/// Decides: how many counts must show it: with two, any start and any work fit.
/// From: arithmetic: a line through two points.
/// Shown by: `two_counts_show_nothing`.
/// Wrong if: never; fewer would be a guess.
const COUNTS: usize = 3;

/// Timed runs that are compared, each with all others; of more, about as many are taken, of each count its share.
///
/// Decides: how long a recording with very many runs may keep the reader.
/// From: arithmetic: 80,000 pairs, a few milliseconds.
/// Shown by: `very_many_runs_tell_the_same`.
/// Wrong if: a count has less than one of 400 runs: it is then left out.
const MOST_RUNS: usize = 400;

/// The stretch that ends with the run is taken if it has this share of the most that workers run in any stretch as long.
///
/// Decides: where in the run the measured part lies.
/// From: chosen: programs print their rate and end. One that goes on alone after it, to check or to write, has an end in which
/// the workers hardly run.
/// Shown by: `what_comes_after_the_measured_part_is_outside_too`.
/// Wrong if: the workers run as much before the measured part as in it, and little comes after it.
const AT_THE_END: f64 = 0.95;

/// Into how many pieces a run is cut to find the stretch in which its workers run most.
///
/// Decides: how finely the measured part is placed.
/// From: chosen: a fifth of a percent of the run, well below what is known of its length.
/// Wrong if: never; with more pieces the same stretch is found.
const PIECES: usize = 500;

/// Units of work that each run does in its measured part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SameWork {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

impl SameWork {
    /// True when a stretch in which this much work is done can be the measured part.
    pub(super) fn fits(self, work: f64) -> bool {
        // Where all of a run was slower, what is known of the work is off by as much as pairs may differ.
        (self.low * (1.0 - SPREAD / 2.0)..=self.high * (1.0 + SPREAD / 2.0)).contains(&work)
    }
}

/// What the timed runs show; `None` where their length does not follow their rates.
pub(super) fn same_work(tables: &Tables) -> Option<SameWork> {
    let ended_well = |r: &&Run| r.exit_status.is_none_or(|s| s == 0) && r.signal.is_none() && r.wall_ns > 0;
    let timed = tables.runs.iter().filter(|r| r.kind == RunKind::Clean).filter(ended_well);
    let rate = |r: &Run| r.throughput.filter(|rate| rate.is_finite() && *rate > 0.0);
    let mut runs: Vec<Timed> = timed
        .filter_map(|r| Some(Timed { count: r.threads, wall: r.wall_ns as f64 * 1e-9, per_unit: 1.0 / rate(r)? }))
        .collect();
    // Runs alternate between the counts, so a step through them could always meet the same one.
    runs.sort_by_key(|run| run.count);
    let step = runs.len().div_ceil(MOST_RUNS).max(1);
    runs = runs.into_iter().step_by(step).collect();
    let counts: BTreeSet<u32> = runs.iter().map(|run| run.count).collect();
    if counts.len() < COUNTS {
        return None;
    }
    let mut slopes: Vec<f64> = Vec::new();
    for (at, a) in runs.iter().enumerate() {
        for b in runs.iter().take(at).filter(|b| a.count != b.count && a.per_unit != b.per_unit) {
            slopes.push((a.wall - b.wall) / (a.per_unit - b.per_unit));
        }
    }
    slopes.sort_by(f64::total_cmp);
    let (low, work, high) = (quantile(&slopes, 0.25)?, quantile(&slopes, 0.5)?, quantile(&slopes, 0.75)?);
    if low.is_nan() || low <= 0.0 || high - low > SPREAD * work {
        return None;
    }
    let rest = |run: &Timed| run.wall - work * run.per_unit;
    let usual = median(&runs.iter().map(rest).collect::<Vec<_>>())?;
    let is_usual = |count: &u32| {
        let of_count = || runs.iter().filter(|run| run.count == *count);
        let length = median(&of_count().map(|run| work * run.per_unit).collect::<Vec<_>>());
        let own = median(&of_count().map(rest).collect::<Vec<_>>());
        length.zip(own).is_some_and(|(length, own)| (own - usual).abs() <= SAME_START * length)
    };
    let wall = median(&runs.iter().map(|run| run.wall).collect::<Vec<_>>())?;
    (usual > MIN_SHARE * wall && counts.iter().all(is_usual)).then_some(SameWork { low, high })
}

/// A timed run: its count, seconds, and seconds per unit of work.
struct Timed {
    count: u32,
    wall: f64,
    per_unit: f64,
}

/// The measured part of each run, nanoseconds, in the order of `traced`: at least as long as the work takes at its rate.
/// `workers` tells the threads beside the main thread that do the program's work. `None` where a run is shorter than that.
pub(super) fn stretches(
    work: SameWork,
    traced: &[Traced<'_>],
    workers: impl Fn(&Traced<'_>) -> BTreeSet<ThreadId>,
) -> Option<Vec<(u64, u64)>> {
    let lengths: Vec<u64> = traced.iter().map(|run| length_of(work, run)).collect::<Option<_>>()?;
    // Where no worker ran, as much time comes after the measured part as in the other runs.
    let placed: Vec<Option<u64>> =
        traced.iter().zip(&lengths).map(|(run, length)| time_after(run, *length, &workers(run))).collect();
    let known: Vec<f64> = placed.iter().flatten().map(|after| *after as f64).collect();
    let usual = median(&known).unwrap_or(0.0) as u64;
    let stretch = |((run, length), after): ((&Traced<'_>, &u64), &Option<u64>)| {
        let room = run.trace.end_ns.saturating_sub(run.trace.begin_ns).saturating_sub(*length);
        let end = run.trace.end_ns.saturating_sub(after.unwrap_or(usual).min(room));
        (end.saturating_sub(*length), end)
    };
    Some(traced.iter().zip(&lengths).zip(&placed).map(stretch).collect())
}

fn length_of(work: SameWork, run: &Traced<'_>) -> Option<u64> {
    let rate = run.run.throughput.filter(|rate| *rate > 0.0)?;
    let length = (work.low / rate * 1e9) as u64;
    (length < run.trace.end_ns.saturating_sub(run.trace.begin_ns)).then_some(length)
}

/// How long a run goes on after the stretch in which its workers run most; `None` where none of them runs.
fn time_after(run: &Traced<'_>, length: u64, workers: &BTreeSet<ThreadId>) -> Option<u64> {
    let (begin, end) = (run.trace.begin_ns, run.trace.end_ns);
    let piece = end.saturating_sub(begin).div_ceil(PIECES as u64).max(1);
    let mut ran = [0_u64; PIECES];
    for slice in run.slices.iter().filter(|s| s.state == State::Running && workers.contains(&s.thread)) {
        let (mut from, to) = (slice.start_ns.clamp(begin, end), slice.end_ns.clamp(begin, end));
        while from < to {
            let at = ((from - begin) / piece) as usize;
            let next = to.min(begin + (at as u64 + 1) * piece);
            if let Some(sum) = ran.get_mut(at) {
                *sum = sum.saturating_add(next - from);
            }
            from = next;
        }
    }
    let wide = (length.div_ceil(piece) as usize).clamp(1, PIECES);
    let sums: Vec<u64> = ran.windows(wide).map(|pieces| pieces.iter().sum()).collect();
    let most = sums.iter().copied().max().filter(|most| *most > 0)?;
    // The latest of those that are about as good.
    let last = sums.iter().rposition(|sum| *sum as f64 >= AT_THE_END * most as f64)?;
    let after = PIECES.saturating_sub(last + wide) as u64;
    Some(after * piece)
}
