//! What more processors would bring: the speed on N of them, from the counts that a sweep measured.
//!
//! Rooms: `told` the shape of the result; `work` what a run's work consists of; `shares` how threads divide it; `replay` how
//! long it would take on more processors; `law` how what threads do to each other goes on; `band` how far off that may
//! be; `contended` locks and cache lines; `refusals` when nothing is told. May import: `account`, `answer`, `causes`,
//! `curve`, `facts`, `foresight`, `model`, `scaling`, `statistics`, `words`, `recording`, serde.

mod band;
mod contended;
mod law;
mod refusals;
mod replay;
mod shares;
mod told;
mod work;

use crate::account::Ledger;
use crate::account::lines::{LineId, Why};
use crate::answer::{Answer, CauseId, Interval, Point, QueueKind};
use crate::causes::lines::{owner, words};
use crate::curve::{Clean, median_of};
use crate::facts::{Facts, more_threads};
use crate::model::Model;
use crate::statistics::MIN_SHARE;
use crate::words::{count, said, two_digits};
use contended::{ALONE, Contended, UNEVEN, is_replayed};
use law::{excess_with, serial_share, universal, universal_speed};
use recording::meta::Counted;
use refusals::{not_known, refused};
use replay::{MeasuredCount, Needs, Replay};
use std::collections::{BTreeMap, BTreeSet};
pub use told::{MeasuredSpeed, NotKnown, Predicted, PredictedLimit, Prediction, ReplayEnds};
use work::RunWork;

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// Numbers of processors; where there are none, twice, four and eight times the largest measured count, or, with
    /// `from`, the measured counts above it.
    pub processors: Vec<u32>,
    /// Use only the counts up to this one, and compare with the others.
    pub from: Option<u32>,
    /// Show the universal scalability law, too.
    pub usl: bool,
}

/// Decides: how many times the largest measured count the default targets are.
/// From: the band: at eight times it is nearly as wide as the speed itself.
/// Wrong if: somebody wants others: they can be given.
const TARGETS: [u32; 3] = [2, 4, 8];

/// Decides: from which speed over the ideal a measured count is reported as faster than linear.
/// From: chosen: 2 % is within the noise of most sweeps.
/// Shown by: `more_than_linear_is_said`.
/// Wrong if: the runs scatter more than that.
const SUPERLINEAR: f64 = 1.02;

/// Decides: how low the range begins that is made from one count alone: N times as many processors may be slower by N to
/// this power.
/// From: how locks collapse whose waiters all spin (`contended`); and chosen after the comparison in `docs/foresight.md`: with
/// it, the range holds 74 of 81 measured speeds, and with no loss of speed at all, 48 would have been held.
/// Shown by: `from_one_count_the_speed_is_an_upper_bound_and_compared`.
/// Wrong if: threads fight harder than that, as for a cache line that they do nothing but write.
const COLLAPSE_FROM_ONE: f64 = 1.0;

/// Predicts the speed of the program on other numbers of processors. Never panics, whatever the recording holds.
pub fn predict<'t>(
    (model, clean): (&Model<'t>, &Clean<'t>),
    ledgers: &[Ledger<'_, 't>],
    answer: &Answer,
    ask: &Ask,
) -> Prediction {
    let facts = Facts {
        model,
        clean,
        points: &answer.curve,
        ledgers,
        processors: model.tables.meta.machine.usable_processors.max(1),
        more_threads: more_threads(ledgers),
        named: words,
        only: None,
    };
    let basis = Basis::new(&facts, ask.from);
    let mut prediction = Prediction {
        knee: answer.knee.clone(),
        command: answer.command.clone(),
        counted: answer.counted,
        based_on: basis.replay.within.iter().map(|step| step.count).collect(),
        beyond_processors: basis.replay.beyond.iter().map(|step| step.count).collect(),
        fixed_threads: basis.replay.fixed_threads,
        refused: refused(&facts, &basis.replay, ask.from.is_some()),
        points: Vec::new(),
        notes: Vec::new(),
    };
    if prediction.refused.is_some() {
        return prediction;
    }
    let utilisation = || {
        let at = |q: &&crate::answer::Queue| Some(q.threads) == basis.largest() && q.kind == QueueKind::Lock;
        answer
            .queues
            .iter()
            .filter(at)
            .map(|q| q.utilisation)
            .fold(None, |most: Option<f64>, u| Some(most.map_or(u, |most| most.max(u))))
    };
    let contended = basis.ledger(&facts).and_then(|ledger| Contended::new(ledger, &basis.points, utilisation()));
    prediction.points =
        basis.targets(ask).into_iter().map(|n| basis.predicted(&facts, n, contended.as_ref(), ask.usl)).collect();
    prediction.notes = basis.notes(ask, contended.as_ref());
    prediction
}

/// The counts that a prediction is made from.
struct Basis<'a> {
    replay: Replay,
    /// Their points of the curve, within the processors.
    points: Vec<&'a Point>,
    /// All points within the processors, also those above `--from`.
    measured: Vec<&'a Point>,
    /// Times of `replay.within` at the ends of the intervals of their speeds.
    ends: Vec<[f64; 2]>,
    counted: Counted,
}

impl<'a> Basis<'a> {
    fn new(facts: &Facts<'a, '_>, from: Option<u32>) -> Basis<'a> {
        let counted = facts.counted();
        let used = |count: u32| from.is_none_or(|from| count <= from);
        let on_processors = |count: u32| count <= facts.processors || counted == Counted::Processors;
        let measured: Vec<&Point> = facts.points.iter().filter(|p| on_processors(p.threads)).collect();
        let points: Vec<&Point> = measured.iter().copied().filter(|p| used(p.threads)).collect();
        let mut replay = Replay { within: Vec::new(), beyond: Vec::new(), fixed_threads: None };
        let mut ends = Vec::new();
        for point in facts.points.iter().filter(|p| used(p.threads)) {
            let time = median_of(&facts.clean.seconds_per_unit(point.threads)).filter(|time| *time > 0.0);
            let Some(time) = time else { continue };
            let ledger = facts.ledgers.iter().find(|l| l.account.threads == point.threads);
            let work = ledger.map(RunWork::new).filter(|work| work.total() > 0.0);
            let processors = f64::from(point.threads.min(facts.processors.max(1)));
            let step = MeasuredCount { count: point.threads, processors, time, work };
            if on_processors(point.threads) {
                replay.within.push(step);
                // Relative to the baseline, inside the blocks of runs: what a block has in common does not count.
                let base = replay.base().map_or(time, |base| base.time);
                ends.push([point.speedup_interval.low, point.speedup_interval.high].map(|speed| base / speed));
            } else {
                replay.beyond.push(step);
            }
        }
        if counted == Counted::Processors {
            let threads = |l: &Ledger<'_, '_>| used(l.account.threads).then(|| l.traced.asked());
            replay.fixed_threads = fixed(&facts.ledgers.iter().filter_map(threads).collect::<Vec<_>>());
        }
        Basis { replay, points, measured, ends, counted }
    }

    fn largest(&self) -> Option<u32> {
        self.replay.largest().map(|step| step.count)
    }

    /// The account of the largest count within the processors; none where nothing is known of what threads do to each
    /// other, because there is only one count.
    fn ledger<'f, 't>(&self, facts: &Facts<'f, 't>) -> Option<&'f Ledger<'f, 't>> {
        let largest = self.largest().filter(|_| self.replay.within.len() > 1)?;
        facts.ledgers.iter().find(|l| l.account.threads == largest)
    }

    fn targets(&self, ask: &Ask) -> BTreeSet<u32> {
        let largest = self.largest().unwrap_or(1);
        let above = || self.measured.iter().map(|p| p.threads).filter(|threads| *threads > largest);
        match ask.from {
            _ if !ask.processors.is_empty() => ask.processors.iter().copied().filter(|n| *n > 0).collect(),
            Some(_) if above().next().is_some() => above().collect(),
            _ => TARGETS.iter().map(|times| largest.saturating_mul(*times)).collect(),
        }
    }

    /// The most that is possible: no thread is faster than it is alone, unless measured so.
    fn most(&self, processors: u32) -> f64 {
        let base = self.replay.base().map_or(1.0, |base| base.processors);
        let able = self.replay.fixed_threads.map_or(processors, |threads| processors.min(threads));
        f64::from(able) / base * self.superlinear().max(1.0)
    }

    /// The largest measured speed over the ideal.
    fn superlinear(&self) -> f64 {
        let curve = self.replay.curve();
        curve.iter().map(|(_, excess)| 1.0 / excess).filter(|speed| speed.is_finite()).fold(0.0, f64::max)
    }

    fn predicted(&self, facts: &Facts<'_, '_>, processors: u32, contended: Option<&Contended>, usl: bool) -> Predicted {
        let replay = &self.replay;
        let counts = replay.within.len();
        let largest = replay.largest().map_or(1.0, |step| step.processors);
        let base = replay.base().map_or(1.0, |base| base.processors);
        let ratio = f64::from(processors) / largest;
        let most = self.most(processors);
        let capped = |speed: f64| speed.min(most);
        let speed = capped(replay.speed(processors, Needs::Alone, true));
        let ends = ReplayEnds {
            as_recorded: capped(replay.speed(processors, Needs::Recorded, false)),
            as_alone: capped(replay.speed(processors, Needs::Alone, false)),
        };
        let over = f64::from(processors) / base;
        let mut predicted = Predicted {
            processors,
            times_as_fast: Some(speed),
            at_most: counts == 1,
            range: None,
            not_known: None,
            replay: replay.within.iter().any(|step| step.work.is_some()).then_some(ends),
            amdahl: (counts > 1).then(|| over / excess_with(serial_share(&replay.curve()), over)),
            usl: if usl { universal(&replay.curve()).map(|law| universal_speed(law, over)) } else { None },
            limit: self.limit(facts, processors),
            measured: None,
        };
        let known = speed.is_finite() && speed > 0.0 && processors > 0;
        if !known || ratio > band::RANGE_UP_TO {
            let far = format!(
                "it is {} times the largest measured count, and no published curve was followed further than {} times",
                two_digits(ratio),
                band::RANGE_UP_TO
            );
            let least = (f64::from(processors) / band::POINT_UP_TO).ceil() as u32;
            let machine = format!("a sweep on a machine with {} or more", count(least, "processor"));
            predicted.not_known = Some(not_known(&far, &machine));
            (predicted.times_as_fast, predicted.limit) = (None, None);
        } else {
            let mut range = self.range(processors, speed, (ratio, most));
            if ratio > band::POINT_UP_TO {
                let far = format!("it is {} times the largest measured count", two_digits(ratio));
                let least = (f64::from(processors) / band::POINT_UP_TO).ceil() as u32;
                let machine = format!("a sweep on a machine with {} or more", count(least, "processor"));
                predicted.not_known = Some(not_known(&far, &machine));
                predicted.times_as_fast = None;
            }
            if let Some(contended) = contended.filter(|_| ratio > 1.0) {
                range = contended.bound(range, processors);
                predicted.not_known =
                    Some(not_known(contended.kind.told(), "a sweep on a machine with as many processors"));
                predicted.times_as_fast = None;
            }
            predicted.range = Some(Interval { low: range.0, high: range.1 });
        }
        predicted.measured = self.compared(processors, &predicted);
        predicted
    }

    /// The ends of the range around a speed: the band of published curves and the noise of the sweep, as independent
    /// errors; widened to the speed that the recorded processor time gives, and cut to what is possible.
    fn range(&self, processors: u32, speed: f64, (ratio, most): (f64, f64)) -> (f64, f64) {
        let (replay, counts) = (&self.replay, self.replay.within.len());
        let band = band::half_width(ratio, counts);
        let noise = |needs: Needs, continued: bool, below: bool| -> f64 {
            let own = replay.speed(processors, needs, continued);
            let noisy = self.ends.iter().enumerate().skip(1).flat_map(|(place, ends)| {
                ends.map(|time| {
                    replay.with_time(place, time.max(f64::MIN_POSITIVE)).speed(processors, needs, continued)
                })
            });
            let logs = noisy.map(|other| (other / own).ln()).filter(|log| log.is_finite() && (*log < 0.0) == below);
            logs.fold(0.0, |sum, log| sum + log * log).sqrt()
        };
        let low = speed * (-band.hypot(noise(Needs::Alone, true, true))).exp();
        let high = speed * band.hypot(noise(Needs::Alone, true, false)).exp();
        if counts == 1 {
            // Nothing is known of what threads do to each other.
            let over = ratio.max(1.0);
            return (low.min(over.powf(-COLLAPSE_FROM_ONE)), high.min(most).max(speed));
        }
        // Without an observed run it is not known what of the time is processor time.
        let seen = replay.largest().is_some_and(|step| step.work.is_some());
        let recorded = if seen { replay.speed(processors, Needs::Recorded, true).min(most) } else { speed };
        // Unequal shares may be chance; serial phases are none.
        let evenly = replay.speed(processors, Needs::Evenly, false);
        let phases = evenly * (noise(Needs::Evenly, false, false) + band::half_width(1.0, counts)).exp();
        let high = high.max(recorded).min(phases).min(most).max(speed);
        (low.min(recorded), high)
    }

    fn compared(&self, processors: u32, predicted: &Predicted) -> Option<MeasuredSpeed> {
        let point = self.measured.iter().find(|p| p.threads == processors)?;
        let first = self.points.first()?;
        let speed = point.speedup / first.speedup;
        Some(MeasuredSpeed {
            times_as_fast: speed,
            interval: point.speedup_interval,
            error: predicted.times_as_fast.map(|told| told / speed - 1.0),
            in_range: predicted.range.map(|range| range.low <= speed && speed <= range.high),
            usl_error: predicted.usl.map(|told| told / speed - 1.0),
        })
    }

    /// What keeps this many processors from useful work: the part of their time whose share grows most.
    fn limit(&self, facts: &Facts<'_, '_>, processors: u32) -> Option<PredictedLimit> {
        let shares = |n: u32| self.losses(facts, n);
        let before = self.largest().map(shares).unwrap_or_default();
        let grown = |cause: &Option<CauseId>, share: f64| share - before.get(cause).copied().unwrap_or(0.0);
        let large = shares(processors).into_iter().filter(|(_, share)| *share > MIN_SHARE);
        let most = large.max_by(|a, b| grown(&a.0, a.1).total_cmp(&grown(&b.0, b.1)))?;
        Some(PredictedLimit { cause: most.0, share: most.1 })
    }

    /// The shares of so many processors that causes take, as the replay tells.
    fn losses(&self, facts: &Facts<'_, '_>, processors: u32) -> BTreeMap<Option<CauseId>, f64> {
        let mut losses = BTreeMap::new();
        let Some(parts) = self.replay.parts(processors).filter(|parts| parts.all > 0.0) else { return losses };
        let mut add = |cause, seconds: f64| {
            if seconds > 0.0 {
                *losses.entry(cause).or_insert(0.0) += seconds / parts.all;
            }
        };
        for (line, seconds) in [(ALONE, parts.serial), (UNEVEN, parts.uneven), (LineId::Blocked(Why::Io), parts.waits)]
        {
            add(owner(line).map(|meta| meta.id), seconds);
        }
        // What threads do to each other is divided as it is at the largest measured count.
        let lines = self.ledger(facts).map(|l| l.account.lines.as_slice()).unwrap_or_default();
        let between = lines.iter().filter(|l| l.seconds > 0.0 && !is_replayed(l.id) && !l.id.is_outside());
        let mut by_cause: BTreeMap<Option<CauseId>, f64> = BTreeMap::new();
        for line in between {
            *by_cause.entry(owner(line.id).map(|meta| meta.id)).or_default() += line.seconds;
        }
        let all: f64 = by_cause.values().sum();
        if all > 0.0 {
            by_cause.into_iter().for_each(|(cause, seconds)| add(cause, parts.between * seconds / all));
        } else {
            add(None, parts.between);
        }
        losses
    }

    fn notes(&self, ask: &Ask, contended: Option<&Contended>) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |text: String| notes.push(said(text, String::new));
        if self.replay.within.len() == 1 {
            let (one, kind) = (self.largest().unwrap_or(1), self.counted);
            note(format!(
                "from {} alone: nothing is known of what threads do to each other, so the speed is an upper bound, and \
                 the range begins far below it",
                kind.many(one)
            ));
        }
        if !self.replay.within.iter().any(|step| step.work.is_some()) {
            note("no run was observed: the curve alone is continued".to_owned());
        }
        if self.superlinear() > SUPERLINEAR {
            note(format!(
                "a measured count is {} times as fast as so many processors should be: it is continued as such at most",
                two_digits(self.superlinear())
            ));
        }
        if let Some(threads) = self.replay.fixed_threads {
            note(format!(
                "the program has {} whatever the processors: more processors than that bring nothing, unless it starts \
                 more on a larger machine",
                count(threads, "thread")
            ));
        }
        if let Some(contended) = contended {
            note(contended.kind.told().to_owned());
        }
        if ask.usl && self.replay.within.len() < 3 {
            note("the universal scalability law has two parameters, which two counts do not tell".to_owned());
        }
        if ask.usl && self.replay.within.len() > 2 {
            note(
                "the universal scalability law alone is off by 35 % (median) on published curves where Amdahl's law with \
                 a share that may exceed 1 is off by 14 %"
                    .to_owned(),
            );
        }
        notes
    }
}

/// The number of threads, where it does not follow the number of processors: the same with several counts, or several
/// with one.
fn fixed(threads: &[u32]) -> Option<u32> {
    match threads {
        [] | [1] => None,
        [first, rest @ ..] => rest.iter().all(|other| other == first).then_some(*first),
    }
}
