//! The measured part of a program that marks none: which stretch of a run the printed rate covers.
//!
//! Programs mostly print the rate of their parallel part and leave out what comes before and after: a runtime's start,
//! imports, loading. Two readings of a rate are checked against the runs: it covers the whole run, or the stretch in
//! which the worker threads live. Rate × length is the work done. Under the right reading it is the same in every run,
//! however noisy; under the wrong one it changes with the rest of the run. Where neither fits, the lengths of the timed
//! runs may tell ([`same_work`]). A printed time says how long the part is ([`timed`]).
//!
//! May import: `run`, `statistics`, `recording`.

mod same_work;
mod stretch;
mod timed;

use super::run::Traced;
use crate::statistics::{MIN_SHARE, median, quantile};
use recording::Tables;
use recording::tables::Run;
use same_work::{SameWork, same_work, stretches};
use stretch::{ALIKE, FITS, KINDS, PROCESS, Stretch, length, stretch, trace, workers};

/// The time outside the stretch may differ between runs by this share: no two starts take the same time.
///
/// Decides: whether a run at the baseline that has no worker threads is taken to spend as long outside the
/// stretch as the other counts.
/// From: chosen; in 13 sweeps the starts of two counts differed by less than 10 % in most, and by up to 35 % on a
/// machine whose load changed.
/// Shown by: `without_a_worker_at_one_thread_its_part_is_as_long_as_its_rate_says`.
/// Wrong if: what comes before the workers grows with their number.
const SAME_REST: f64 = 0.25;

/// This share of the runs must fit a reading: some runs may be disturbed just while they start.
///
/// Decides: whether the printed rate can refer to whole runs.
/// From: chosen: of five timed runs one may be unlike the others.
/// Shown by: `a_rate_of_the_whole_run_keeps_its_serial_phase`.
/// Wrong if: more than a quarter of the runs were disturbed outside the part that the rate refers to.
const MOST: f64 = 0.75;

/// A stretch below this share of its run is too short to be used: it cannot be told from chance.
///
/// Decides: which stretches of the runs can be the part that the printed rate refers to.
/// From: chosen: the smallest difference that [`FITS`] can tell.
/// Shown by: `tests/model/window.rs`.
/// Wrong if: a program works in parallel for less than a fiftieth of its run, and prints the rate of that part.
const SHORTEST: f64 = 0.02;

/// Decides: whether the whole run may explain the rate better than any stretch: none of them fits as well as this.
/// From: chosen: a quarter of what counts as a fit at all; 13 of 15 sweeps were nearer than twice of it.
/// Shown by: `tests/model/window.rs`.
/// Wrong if: a stretch fits that well by chance, and the rate is of the whole run.
const EXACT: f64 = FITS / 4.0;

/// Decides: whether the whole run then explains the rate better: it must be off by less than this share of what the best
/// stretch is off by.
/// From: chosen: what fits twice as well is no accident of the noise.
/// Shown by: `tests/model/window.rs`.
/// Wrong if: the time outside the stretch is as noisy as the work: whichever fits better is then chance.
const CLOSER: f64 = 0.5;

/// Which part of a run the printed rate covers.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// The whole run; also where no rate is printed, or hardly anything is outside.
    Whole,
    /// The part that the program marks; for a server, the time of its load.
    Marked,
    /// The stretch of the worker threads.
    Workers {
        /// False when the whole run fits as well.
        certain: bool,
    },
    /// As long a stretch as the work takes at its rate, by the lengths of the timed runs.
    AsLong,
    /// No reading fits.
    Open,
}

/// What stays the same when the thread count changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Law {
    /// Each count does the same work.
    Total,
    /// Each thread does the same work.
    Each,
    /// Each count works for the same time.
    Time,
}

const LAWS: [Law; 3] = [Law::Total, Law::Each, Law::Time];

/// One traced run: its thread count, printed rate, and trace in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct TracedRate {
    threads: u32,
    rate: f64,
    trace: (u64, u64),
}

/// Which part the rate covers, and that stretch in each run, in the order of `traced`.
pub(crate) fn infer(tables: &Tables, traced: &[Traced<'_>]) -> (Part, Vec<Stretch>) {
    let seen = |t: &Traced| Some(TracedRate { threads: t.run.threads, rate: t.run.throughput?, trace: trace(t) });
    let nothing = || (Part::Whole, traced.iter().map(trace).collect());
    let Some(runs) = traced.iter().map(seen).collect::<Option<Vec<TracedRate>>>().filter(|r| r.len() > 1) else {
        return nothing();
    };
    if tables.meta.throughput.as_ref().is_some_and(|throughput| throughput.times) {
        let printed: Vec<f64> = runs.iter().map(|run| 1.0 / run.rate).collect();
        return match timed::infer(&printed, traced) {
            Some((true, found)) => (Part::Workers { certain: true }, found),
            Some((false, found)) => (Part::AsLong, found),
            None => nothing(),
        };
    }
    let mut fitting: Vec<(f64, Vec<Stretch>)> = Vec::new();
    let mut outside = false;
    for kind in KINDS {
        let found: Vec<Option<Stretch>> = traced.iter().map(|t| stretch(t, kind).filter(|s| s.1 > s.0)).collect();
        let large = |(run, s): (&TracedRate, &Option<Stretch>)| {
            s.is_some_and(|s| length(s) < (1.0 - MIN_SHARE) * length(run.trace))
        };
        outside |= runs.iter().zip(&found).any(large);
        if runs.iter().zip(&found).any(large)
            && let Some(fit) = fit(&runs, &found)
        {
            fitting.push(fit);
        }
    }
    let whole = fits_whole(tables);
    let known = if whole { None } else { same_work(tables) };
    let by_length = |work: SameWork| {
        let found = stretches(work, traced, |run| workers(run).map(|t| t.thread).collect())?;
        Some((Part::AsLong, found))
    };
    if !outside {
        return known.and_then(by_length).unwrap_or_else(nothing);
    }
    if let Some(work) = known {
        fitting.retain(|(_, found)| runs.iter().zip(found).all(|(run, s)| work.fits(run.rate * length(*s))));
    }
    // Among stretches that fit about equally well, the first kind in `KINDS` is taken.
    let best = fitting.iter().map(|f| f.0).fold(f64::INFINITY, f64::min);
    let as_whole: Vec<(TracedRate, Stretch)> = runs.iter().map(|r| (*r, r.trace)).collect();
    if whole && best > EXACT && closest(&as_whole).is_some_and(|(off, _)| off < CLOSER * best) {
        return nothing();
    }
    match fitting.into_iter().find(|f| f.0 <= best + ALIKE) {
        Some((_, stretches)) => (Part::Workers { certain: !whole }, stretches),
        None if whole => nothing(),
        None => known.and_then(by_length).unwrap_or_else(|| (Part::Open, traced.iter().map(trace).collect())),
    }
}

/// Time of a run outside its measured part, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutsideTime {
    /// Before it.
    pub before: f64,
    /// After it.
    pub after: f64,
    /// The whole run.
    pub whole: f64,
}

impl OutsideTime {
    /// Of a run.
    pub fn for_run(run: &Traced<'_>) -> OutsideTime {
        let before = run.measured.0.saturating_sub(run.trace.begin_ns) as f64 * 1e-9;
        let after = run.trace.end_ns.saturating_sub(run.measured.1) as f64 * 1e-9;
        OutsideTime { before, after, whole: length(trace(run)) }
    }
}

/// The quantity that is the same in every run under a law, if the rate covers `seconds`.
fn constant(law: Law, threads: u32, rate: f64, seconds: f64) -> f64 {
    match law {
        Law::Total => rate * seconds,
        Law::Each => rate * seconds / f64::from(threads.max(1)),
        Law::Time => seconds,
    }
}

/// True when the rate can cover whole runs: under one law the constant is the same in most runs and from count to
/// count. Disturbed runs count too: a run that takes longer has a rate lower in proportion.
fn fits_whole(tables: &Tables) -> bool {
    let good = |r: &&Run| r.exit_status.is_none_or(|s| s == 0) && r.signal.is_none() && r.wall_ns > 0;
    let runs = || tables.runs.iter().filter(good).filter_map(|r| Some((r, r.throughput.filter(|t| *t > 0.0)?)));
    let wall = |r: &Run| r.wall_ns as f64 * 1e-9;
    let Some(usual) = median(&runs().map(|(r, _)| wall(r)).collect::<Vec<_>>()) else { return false };
    let may = FITS + PROCESS / usual;
    LAWS.iter().any(|law| {
        let value = |(r, rate): (&Run, f64)| constant(*law, r.threads, rate, wall(r)).ln();
        let all: Vec<f64> = runs().map(value).collect();
        let Some(middle) = median(&all) else { return false };
        let mut off: Vec<f64> = all.iter().map(|v| (v - middle).abs()).collect();
        off.sort_by(f64::total_cmp);
        let scatter = quantile(&off, MOST).unwrap_or(0.0);
        let mut counts: Vec<u32> = runs().map(|(r, _)| r.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        let usual = |count: &u32| median(&runs().filter(|(r, _)| r.threads == *count).map(value).collect::<Vec<_>>());
        scatter <= may && range(&counts.iter().filter_map(usual).collect::<Vec<_>>()) <= may
    })
}

/// The largest minus the smallest.
fn range(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    if values.is_empty() { 0.0 } else { most - least }
}

/// How well the rates fit stretches of one kind (lower is better), and the stretch of each run; `None` when they do not
/// fit. If the baseline has no stretch, because its main thread does the work, its rate gives the length.
fn fit(runs: &[TracedRate], found: &[Option<Stretch>]) -> Option<(f64, Vec<Stretch>)> {
    let known: Vec<(TracedRate, Stretch)> = runs.iter().zip(found).filter_map(|(r, s)| Some((*r, (*s)?))).collect();
    let missing = runs.len() - known.len();
    let first_only = missing == 0 || (missing == 1 && found.first().is_some_and(Option::is_none));
    if !first_only || known.is_empty() || known.iter().any(|(r, s)| length(*s) < SHORTEST * length(r.trace)) {
        return None;
    }
    // A single stretch fits any law. The main thread works too in such a run, and may go on after the workers have
    // ended.
    if let [(run, stretch)] = known.as_slice()
        && length((stretch.1, run.trace.1)) > MIN_SHARE * length(run.trace)
    {
        return None;
    }
    let (off, law) = closest(&known)?;
    if off.is_nan() || off > FITS {
        return None;
    }
    let stretches = runs.iter().zip(found).map(|(run, s)| s.or_else(|| placed(run, law, &known)));
    Some((off, stretches.collect::<Option<Vec<_>>>()?))
}

/// The law that fits best, and the range of the logarithm of its constant.
fn closest(known: &[(TracedRate, Stretch)]) -> Option<(f64, Law)> {
    let off = |law: &Law| {
        let values = known.iter().map(|(r, s)| constant(*law, r.threads, r.rate, length(*s)).ln());
        (range(&values.collect::<Vec<_>>()), *law)
    };
    LAWS.iter().map(off).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// The stretch of a run without workers: as long as its rate says, with the rest split before and after it as in the
/// other runs. `None` when that rest is too unlike theirs.
fn placed(run: &TracedRate, law: Law, known: &[(TracedRate, Stretch)]) -> Option<Stretch> {
    let rest = |(seen, stretch): &(TracedRate, Stretch)| length(seen.trace) - length(*stretch);
    let usual = median(&known.iter().map(rest).collect::<Vec<_>>())?;
    let before = median(&known.iter().map(|(seen, s)| length((seen.trace.0, s.0))).collect::<Vec<_>>())?;
    let constants = known.iter().map(|(seen, s)| constant(law, seen.threads, seen.rate, length(*s)));
    let constant = median(&constants.collect::<Vec<_>>())?;
    let seconds = match law {
        Law::Total => constant / run.rate,
        Law::Each => constant * f64::from(run.threads) / run.rate,
        Law::Time => constant,
    };
    let own = length(run.trace) - seconds;
    if own < 0.0 || seconds <= 0.0 || (own - usual).abs() > SAME_REST * usual.max(own) {
        return None;
    }
    let begin = run.trace.0 + ((own * before / usual.max(f64::MIN_POSITIVE)).min(own) * 1e9) as u64;
    Some((begin, (begin + (seconds * 1e9) as u64).min(run.trace.1)))
}
