//! The scaling curve: points with their intervals, from the clean runs alone.

use crate::answer::{CounterId, Point, Spread};
use crate::statistics::intervals::{above, holding, ratio, spread};
use crate::statistics::paired::ERROR;
use crate::statistics::{MIN_SHARE, Measured, median, point};
use recording::Tables;
use recording::meta::Counted;
use recording::tables::{Run, RunKind};
use std::collections::BTreeMap;

/// Nanoseconds to seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// What a run takes before and after its measured part, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outside {
    /// Wall time.
    pub wall: f64,
    /// Processor time.
    pub cpu: f64,
}

/// The measured part must be at least this share of a run. What the rest took is known from another run, where it may
/// differ by a few per cent; relative to the measured part, that error is at most three times as large.
///
/// Decides: whether the CPU time of a measured part can be worked out from the whole run.
/// From: arithmetic: an error in the rest weighs at most three times as much.
/// Wrong if: the rest differs by more than a few per cent from run to run.
const LEAST_INSIDE: f64 = 0.25;

/// A measured part may seem longer than its run where the printed speed covers a little less than the marks enclose. If
/// it seems longer by more than a quarter, the speed refers to other work.
///
/// Decides: whether the marks and the printed speed refer to the same work.
/// From: chosen; no measurement.
/// Wrong if: a program prints the speed of less than four fifths of what its marks enclose.
const MOST_INSIDE: f64 = 1.25;

/// The usable timed runs of a sweep, and what a unit of work is.
#[derive(Debug, Clone)]
pub struct Clean<'t> {
    runs: BTreeMap<u32, Vec<&'t Run>>,
    /// Runs with counted hardware events, by thread count: these are counted in warm-up runs, so that timed runs stay
    /// untouched.
    events: BTreeMap<u32, Vec<&'t Run>>,
    /// True when units of work come from the program's output; false when one run is the unit.
    pub by_throughput: bool,
    /// True when these are runs: the program prints the time of its measured part, and each run is taken to do the same.
    pub by_time: bool,
    /// What is counted: threads or processors.
    pub counted: Counted,
    /// What the reader should know about the runs.
    pub notes: Vec<RunNote>,
}

/// What to know about the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunNote {
    /// So many runs with this count failed and were left out.
    Failed {
        /// The thread count.
        threads: u32,
        /// The runs.
        runs: u32,
    },
    /// Some runs printed no usable throughput, so that none is used.
    SomeThroughputs,
    /// This count has one run only: its noise is unknown.
    OneRun {
        /// The thread count.
        threads: u32,
    },
}

impl<'t> Clean<'t> {
    /// Sorts the runs of a recording. Failed runs, and those without a duration, are left out with a warning.
    pub fn new(tables: &'t Tables) -> Clean<'t> {
        let mut clean = Clean::from_runs(&tables.runs, tables.meta.counted);
        clean.by_time =
            clean.by_throughput && tables.meta.throughput.as_ref().is_some_and(|throughput| throughput.times);
        if tables.meta.throughput.is_some() && !clean.by_throughput && !clean.runs.is_empty() {
            clean.notes.push(RunNote::SomeThroughputs);
        }
        let single = clean.runs.iter().filter(|(_, runs)| runs.len() == 1);
        clean.notes.extend(single.map(|(threads, _)| RunNote::OneRun { threads: *threads }));
        clean
    }

    fn from_runs(all: &'t [Run], counted: Counted) -> Clean<'t> {
        let mut runs: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        let mut events: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        let mut unusable: BTreeMap<u32, u32> = BTreeMap::new();
        for run in all.iter().filter(|r| r.threads > 0) {
            let good = run.exit_status == Some(0) && run.signal.is_none() && run.wall_ns > 0;
            match run.kind {
                RunKind::Clean if good => runs.entry(run.threads).or_default().push(run),
                RunKind::Clean => *unusable.entry(run.threads).or_default() += 1,
                RunKind::WarmUp if good => events.entry(run.threads).or_default().push(run),
                _ => {}
            }
        }
        let notes = unusable.into_iter().map(|(threads, runs)| RunNote::Failed { threads, runs }).collect();
        let usable = |r: &&Run| printed(r).is_some();
        let by_throughput = !runs.is_empty() && runs.values().flatten().all(usable);
        Clean { runs, events, by_throughput, by_time: false, counted, notes }
    }

    /// True when the program prints how much work it has done: more work is then told from slower work.
    pub fn counts_work(&self) -> bool {
        self.by_throughput && !self.by_time
    }

    /// Thread counts that have timed runs, ascending.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.keys().copied()
    }

    /// The baseline: the smallest thread count with timed runs. Speed-ups and growth refer to it.
    pub fn base(&self) -> Option<u32> {
        self.counts().next()
    }

    /// Units of work that a run did: its printed throughput times its seconds, or 1.
    pub fn work(&self, run: &Run) -> f64 {
        match printed(run) {
            Some(units) if self.by_throughput && run.wall_ns > 0 => units * seconds(run.wall_ns),
            _ => 1.0,
        }
    }

    /// One value for each timed run at a thread count.
    pub fn series(&self, threads: u32, value: impl Fn(&Run) -> f64) -> Vec<Measured> {
        let runs = self.runs.get(&threads).into_iter().flatten();
        runs.map(|r| Measured { block: r.block, value: value(r) }).collect()
    }

    /// Units of work per second of each run.
    pub fn speed(&self, threads: u32) -> Vec<Measured> {
        self.series(threads, |r| self.work(r) / seconds(r.wall_ns))
    }

    /// Wall seconds per unit of work of each run.
    pub fn seconds_per_unit(&self, threads: u32) -> Vec<Measured> {
        self.series(threads, |r| seconds(r.wall_ns) / self.work(r))
    }

    /// CPU seconds per unit of work of each run.
    pub fn cpu_per_unit(&self, threads: u32) -> Vec<Measured> {
        self.series(threads, |r| cpu(r) / self.work(r))
    }

    /// CPU seconds per unit of work of each run, if `processors` are busy throughout.
    pub fn busy_per_unit(&self, threads: u32, processors: f64) -> Vec<Measured> {
        self.series(threads, |r| processors * seconds(r.wall_ns) / self.work(r))
    }

    /// CPU seconds per unit of work of each run, in its measured part alone; absent where that part is too short to be
    /// told from the rest.
    ///
    /// A run's printed speed tells how long its measured part took for `work` units. Outside that part the processors
    /// are assumed to be as busy as in the traced run. `processors` is how many the threads could use.
    pub fn cpu_inside(&self, threads: u32, work: f64, outside: Outside, processors: f64) -> Option<Vec<Measured>> {
        let busy = if outside.wall > 0.0 { outside.cpu / outside.wall } else { 0.0 };
        let inside = |r: &Run| {
            let wall = seconds(r.wall_ns);
            let told = work * wall / self.work(r);
            let inside = told.min(wall);
            let used = (cpu(r) - busy * (wall - inside)).clamp(0.0, processors * inside);
            (inside >= LEAST_INSIDE * wall && told <= MOST_INSIDE * wall).then(|| used / inside * wall / self.work(r))
        };
        let runs = self.runs.get(&threads)?.iter();
        runs.map(|r| Some(Measured { block: r.block, value: inside(r)? })).collect()
    }

    /// Median processor-seconds per unit of work that other programs and kernel threads took; absent where not known.
    pub fn foreign_per_unit(&self, threads: u32) -> Option<f64> {
        self.median(threads, |r| r.foreign_ns.map_or(f64::NAN, seconds) / self.work(r))
    }

    /// The median of one value per run.
    pub fn median(&self, threads: u32, value: impl Fn(&Run) -> f64) -> Option<f64> {
        median_of(&self.series(threads, value))
    }

    /// The median number of a hardware event per unit of work: of the counted runs if there are any, else of the timed
    /// runs.
    pub fn counted_per_unit(&self, threads: u32, event: impl Fn(&Run) -> Option<u64>) -> Option<f64> {
        let of = |runs: Option<&Vec<&Run>>| -> Vec<f64> {
            let runs = runs.into_iter().flatten();
            runs.filter_map(|r| event(r).map(|v| v as f64 / self.work(r))).collect()
        };
        let counted = of(self.events.get(&threads));
        median(&counted).or_else(|| median(&of(self.runs.get(&threads))))
    }

    /// The points of the curve, ascending; empty without timed runs.
    pub fn points(&self) -> Vec<Point> {
        let Some(base) = self.base() else { return Vec::new() };
        let base_speed = self.speed(base);
        self.counts().filter_map(|threads| self.point(threads, base, &base_speed)).collect()
    }

    fn point(&self, threads: u32, base: u32, base_speed: &[Measured]) -> Option<Point> {
        let speed = self.speed(threads);
        let speedup = median_of(&speed)? / median_of(base_speed)?;
        let speedup_interval = match threads == base {
            true => point(1.0),
            false => holding(ratio(base_speed, &speed, ERROR).unwrap_or(point(speedup)), speedup),
        };
        let ideal = f64::from(threads) / f64::from(base);
        let mut efficiency_interval = speedup_interval;
        efficiency_interval.low /= ideal;
        efficiency_interval.high /= ideal;
        Some(Point {
            threads,
            processors: Some(threads).filter(|_| self.counted == Counted::Processors),
            runs: speed.len() as u32,
            seconds: self.spread(threads, |r| seconds(r.wall_ns))?,
            throughput: if self.by_throughput {
                self.spread(threads, |r| r.throughput.unwrap_or(f64::NAN))
            } else {
                None
            },
            speedup,
            speedup_interval,
            efficiency: speedup / ideal,
            efficiency_interval,
            processors_used: self.median(threads, |r| cpu(r) / seconds(r.wall_ns))?,
            load: None,
            counters: self.counters(threads),
        })
    }

    fn spread(&self, threads: u32, value: impl Fn(&Run) -> f64) -> Option<Spread> {
        spread(&self.series(threads, value))
    }

    fn counters(&self, threads: u32) -> BTreeMap<CounterId, f64> {
        let runs = self.runs.get(&threads).map_or(&[][..], Vec::as_slice);
        let counted = self.events.get(&threads).map_or(&[][..], Vec::as_slice);
        let mut counters = BTreeMap::new();
        let mut add = |id, values: Vec<f64>| {
            if let Some(value) = median(&values) {
                counters.insert(id, value);
            }
        };
        let every = |value: fn(&Run) -> f64| runs.iter().map(|r| value(r)).collect::<Vec<_>>();
        add(CounterId::UserSeconds, every(|r| seconds(r.user_ns)));
        add(CounterId::SystemSeconds, every(|r| seconds(r.system_ns)));
        add(CounterId::VoluntarySwitches, every(|r| r.voluntary_switches as f64));
        add(CounterId::InvoluntarySwitches, every(|r| r.involuntary_switches as f64));
        add(CounterId::MinorFaults, every(|r| r.minor_faults as f64));
        add(CounterId::MajorFaults, every(|r| r.major_faults as f64));
        add(CounterId::MaxRssBytes, every(|r| r.max_rss_bytes as f64));
        let known = |value: fn(&Run) -> Option<u64>| runs.iter().filter_map(|r| value(r)).map(seconds).collect();
        add(CounterId::ForeignSeconds, known(|r| r.foreign_ns));
        add(CounterId::StealSeconds, known(|r| r.steal_ns));
        let events = |value: fn(&Run) -> Option<u64>| {
            let of = |runs: &[&Run]| runs.iter().filter_map(|r| value(r)).map(|v| v as f64).collect::<Vec<_>>();
            Some(of(counted)).filter(|v| !v.is_empty()).unwrap_or_else(|| of(runs))
        };
        add(CounterId::Migrations, events(|r| r.migrations));
        add(CounterId::Cycles, events(|r| r.cycles));
        add(CounterId::Instructions, events(|r| r.instructions));
        add(CounterId::CacheMisses, events(|r| r.cache_misses));
        counters
    }
}

/// True when timed runs leave open whether the program loses time: at some count within the processors, the medians
/// show enough loss for a cause, but with the scatter there may be none. More runs would tell. If only the baseline
/// is within the processors, this is about the next one, as the verdict is.
pub fn undecided(runs: &[Run], processors: u32) -> bool {
    let clean = Clean::from_runs(runs, Counted::Threads);
    let Some(base) = clean.base() else { return false };
    let useful = clean.cpu_per_unit(base);
    let more = || clean.counts().filter(|threads| *threads > base);
    let next = more().next();
    more().filter(|threads| *threads <= processors || Some(*threads) == next).any(|threads| {
        let times = clean.seconds_per_unit(threads).into_iter();
        let used = f64::from(threads.min(processors.max(1)));
        let capacity: Vec<Measured> = times.map(|m| Measured { value: m.value * used, ..m }).collect();
        let (Some(has), Some(needs)) = (median_of(&capacity), median_of(&useful)) else { return false };
        let certain = above(&useful, &capacity, ERROR).is_some_and(|least| least > 0.0);
        has - needs > MIN_SHARE * has && !certain
    })
}

/// What the timed runs show so far: the largest count that has any, and its speed-up over the smallest count, by the
/// medians. None before two counts have runs.
pub fn so_far(runs: &[Run]) -> Option<(u32, f64)> {
    let clean = Clean::from_runs(runs, Counted::Threads);
    let (base, most) = (clean.base()?, clean.counts().last()?);
    let speed = |threads| median_of(&clean.speed(threads)).filter(|speed| *speed > 0.0);
    (most > base).then_some((most, speed(most)? / speed(base)?))
}

/// Usable throughputs: what programs print lies far inside, and products stay finite.
const SANE_THROUGHPUT: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// The throughput that a run printed, if it is usable.
fn printed(run: &Run) -> Option<f64> {
    run.throughput.filter(|t| SANE_THROUGHPUT.contains(t))
}

/// CPU seconds of a run, user and kernel.
pub(crate) fn cpu(run: &Run) -> f64 {
    seconds(run.user_ns.saturating_add(run.system_ns))
}

/// The median of measured values.
pub(crate) fn median_of(series: &[Measured]) -> Option<f64> {
    median(&series.iter().map(|m| m.value).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::Sketch;

    #[test]
    fn speedup_and_efficiency_count_from_the_smallest_count() {
        let tables = Sketch::new(4).clean(2, &[2.0, 2.0, 2.0]).clean(4, &[1.0, 1.25, 1.0]).tables();
        let points = Clean::new(&tables).points();
        assert_eq!((points[0].speedup, points[0].efficiency), (1.0, 1.0));
        assert_eq!((points[1].speedup, points[1].efficiency), (2.0, 1.0));
        assert!((points[1].processors_used - 4.0).abs() < 1e-6);
        assert!(points[1].speedup_interval.low < 1.6 && points[1].speedup_interval.high > 2.0);
    }

    #[test]
    fn throughput_replaces_time_when_every_run_has_it() {
        let sketch = || Sketch::new(4).clean(1, &[1.0, 1.0]).clean(2, &[1.0, 1.0]).throughput(1, &[10.0]);
        let part = sketch().tables();
        assert_eq!(Clean::new(&part).points()[1].speedup, 1.0);
        assert_eq!(Clean::new(&part).notes, [RunNote::SomeThroughputs]);
        let whole = sketch().throughput(2, &[19.0]).tables();
        assert_eq!(Clean::new(&whole).points()[1].speedup, 1.9);
    }

    #[test]
    fn the_first_runs_show_a_speed_up() {
        let runs = Sketch::new(4).clean(1, &[1.0]).clean(2, &[0.5]).clean(4, &[0.4, 0.8, 0.5]).tables().runs;
        assert_eq!(so_far(&runs), Some((4, 2.0)));
        let printed = Sketch::new(4).clean(1, &[1.0]).clean(2, &[1.0]).throughput(1, &[10.0]).throughput(2, &[5.0]);
        assert_eq!(so_far(&printed.tables().runs), Some((2, 0.5)), "by what the program prints");
        assert_eq!(so_far(&Sketch::new(4).clean(2, &[1.0]).tables().runs), None, "one count has no curve");
    }

    #[test]
    fn a_loss_that_the_scatter_may_make_is_open() {
        let two = |times: [f64; 5]| Sketch::new(2).clean(1, &[1.0; 5]).clean(2, &times).tables();
        let open = |times| undecided(&two(times).runs, 2);
        assert!(open([0.7, 0.65, 0.49, 0.6, 0.8]), "one of five gained");
        assert!(!open([0.7, 0.65, 0.51, 0.6, 0.8]), "all lost");
        assert!(!open([0.5, 0.51, 0.49, 0.5, 0.52]), "nothing to speak of");
        // One of ten runs may have gained. Looking at five and then at ten is wrong in at most 1/32 + 11/1024 of all
        // cases.
        let ten = |gained: &[f64]| {
            let times: Vec<f64> = gained.iter().copied().chain([0.7; 10]).take(10).collect();
            let tables = Sketch::new(2).clean(1, &[1.0; 10]).clean(2, &times).tables();
            undecided(&tables.runs, 2)
        };
        assert!(!ten(&[0.49]) && ten(&[0.49, 0.48]));
        // On one processor the second thread loses nothing. With four threads, the time of two processors counts.
        assert!(!undecided(&two([0.7, 0.65, 0.49, 0.6, 0.8]).runs, 1));
        let four = |times: [f64; 3]| Sketch::new(2).clean(1, &[1.0; 3]).clean(4, &times).tables();
        assert!(undecided(&four([1.08, 1.1, 1.7]).runs, 2), "one of three is far off");
        assert!(!undecided(&four([1.09, 1.1, 1.11]).runs, 2), "all lost");
        assert!(!undecided(&[], 2));
    }

    #[test]
    fn failed_runs_are_left_out_and_counters_come_from_the_warm_up() {
        let mut tables = Sketch::new(2).clean(1, &[1.0, 9.0, 1.0]).tables();
        tables.runs[1].exit_status = Some(1);
        let mut warm = tables.runs[0].clone();
        (warm.kind, warm.cycles) = (RunKind::WarmUp, Some(77));
        tables.runs.push(warm);
        let clean = Clean::new(&tables);
        let points = clean.points();
        assert_eq!((points[0].runs, points[0].seconds.max), (2, 1.0));
        assert_eq!(points[0].counters[&CounterId::Cycles], 77.0);
        assert!(!points[0].counters.contains_key(&CounterId::Instructions));
        assert_eq!(clean.notes, [RunNote::Failed { threads: 1, runs: 1 }]);
    }
}
