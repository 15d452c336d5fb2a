//! The replay by shares: how long the program would take on more processors, as far as its recorded phases and shares
//! tell.
//!
//! A unit of work takes at least: the time of its serial phases; what it waits for that no processor brings; and the
//! processor time of the thread with the most of the rest. That processor time is taken once as it is at the baseline,
//! where nothing is in a thread's way, and once as the largest count's runs recorded it. What the measured counts
//! take beyond this is what threads do to each other. It is continued by the law of Amdahl with a serial share that may
//! exceed 1 (`law`).

use super::law::{Excess, excess_with, serial_share};
use super::shares::{Pattern, largest_part};
use super::work::RunWork;

/// One count of the sweep. Times are seconds per unit of work.
#[derive(Debug, Clone)]
pub(super) struct MeasuredCount {
    /// The count.
    pub(super) count: u32,
    /// Processors that the program could use.
    pub(super) processors: f64,
    /// Median time of the timed runs.
    pub(super) time: f64,
    /// What was observed; absent where no run was.
    pub(super) work: Option<RunWork>,
}

impl MeasuredCount {
    fn serial(&self) -> f64 {
        self.work.as_ref().map_or(0.0, |work| work.serial * self.time)
    }

    fn waits(&self) -> f64 {
        self.work.as_ref().map_or(0.0, |work| work.waits * self.time)
    }

    /// Processor-seconds apart from the serial phases.
    fn parallel(&self) -> f64 {
        self.work.as_ref().map_or(self.time * self.processors, |work| work.total() * self.time)
    }
}

/// Which processor time the work is taken to need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// That of the baseline.
    Alone,
    /// The same, divided evenly.
    Evenly,
    /// That of the runs themselves.
    Recorded,
}

/// The measured counts, ready to be continued.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    /// Counts within the processors, ascending. Speeds are relative to the first.
    pub(super) within: Vec<MeasuredCount>,
    /// Counts above the processors, ascending.
    pub(super) beyond: Vec<MeasuredCount>,
    /// Threads whose number does not follow the count.
    pub(super) fixed_threads: Option<u32>,
}

/// What the time on so many processors consists of, processor-seconds per unit of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimeParts {
    /// Processors × time.
    pub(super) all: f64,
    /// Processors without work during serial phases.
    pub(super) serial: f64,
    /// Processors without work because one thread has more to do.
    pub(super) uneven: f64,
    /// Processors without work while all wait for the world outside.
    pub(super) waits: f64,
    /// What threads do to each other.
    pub(super) between: f64,
}

impl Replay {
    /// The count that speeds are over.
    pub(super) fn base(&self) -> Option<&MeasuredCount> {
        self.within.first()
    }

    /// The largest count within the processors.
    pub(super) fn largest(&self) -> Option<&MeasuredCount> {
        self.within.last()
    }

    /// The count whose phases stand for so many processors: that very one, else the largest that was observed.
    fn stage(&self, processors: u32) -> Option<&MeasuredCount> {
        let all = || self.within.iter().chain(&self.beyond).filter(|step| step.work.is_some());
        all().find(|step| step.count == processors).or_else(|| all().next_back()).or(self.largest())
    }

    /// The processor time of the work apart from serial phases, as the baseline has it.
    fn baseline_parallel(&self) -> f64 {
        let Some(base) = self.base() else { return 0.0 };
        // With one processor every thread runs alone. What the workers run serially is known only from more processors.
        let known = base.processors > 1.0 || base.work.is_none();
        let within = self.stage(0).and_then(|step| Some(step.work.as_ref()?.within * step.time));
        let within = within.filter(|_| !known).unwrap_or(0.0);
        (base.parallel() - within).max(0.0)
    }

    /// Processor time of the thread that has the most to do.
    fn longest(&self, step: &MeasuredCount, processors: f64, needs: Needs) -> f64 {
        let work = match needs {
            Needs::Alone => self.baseline_parallel(),
            Needs::Evenly => return self.baseline_parallel() / processors.max(1.0),
            Needs::Recorded => step.parallel(),
        };
        let observed: Vec<&RunWork> = self.within.iter().chain(&self.beyond).filter_map(|s| s.work.as_ref()).collect();
        let threads = step.work.as_ref().map_or(f64::from(step.count), |work| work.threads.len() as f64);
        let same = self.fixed_threads.is_some() || f64::from(step.count) == processors;
        let more = if same { 0.0 } else { processors - f64::from(step.count) };
        let recorded = step.work.as_ref().filter(|_| same);
        work * largest_part(recorded, Pattern::from_runs(&observed), (threads + more).max(1.0), processors)
    }

    /// How many times longer than the replay tells the measured counts take, apart from phases and waits.
    fn excesses(&self, needs: Needs) -> Vec<Excess> {
        let Some(base) = self.base() else { return Vec::new() };
        let more = self.within.iter().skip(1);
        more.map(|step| {
            let longest = self.longest(step, step.processors, needs).max(f64::MIN_POSITIVE);
            (step.processors / base.processors, (step.time - step.serial() - step.waits()) / longest)
        })
        .collect()
    }

    /// Seconds per unit of work on so many processors. Without `continued`, threads do nothing to each other.
    pub(super) fn time(&self, processors: u32, needs: Needs, continued: bool) -> f64 {
        let (Some(base), Some(step)) = (self.base(), self.stage(processors)) else { return f64::NAN };
        let share = if continued { serial_share(&self.excesses(needs)) } else { 0.0 };
        let longest = self.longest(step, f64::from(processors), needs);
        let each = excess_with(share, f64::from(processors) / base.processors);
        step.serial() + step.waits() + longest * each
    }

    /// What that time consists of, for work that needs what it does alone.
    pub(super) fn parts(&self, processors: u32) -> Option<TimeParts> {
        let (step, n) = (self.stage(processors)?, f64::from(processors));
        let longest = self.longest(step, n, Needs::Alone);
        let time = self.time(processors, Needs::Alone, true);
        Some(TimeParts {
            all: n * time,
            serial: (n - 1.0) * step.serial(),
            uneven: (n * longest - self.baseline_parallel()).max(0.0),
            waits: n * step.waits(),
            between: n * (time - step.serial() - step.waits() - longest),
        })
    }

    /// Speed over the baseline.
    pub(super) fn speed(&self, processors: u32, needs: Needs, continued: bool) -> f64 {
        let base = self.base().map_or(f64::NAN, |base| base.time);
        base / self.time(processors, needs, continued)
    }

    /// The largest share of the time in which all wait for the world outside.
    pub(super) fn waiting(&self) -> f64 {
        let all = self.within.iter().chain(&self.beyond).filter_map(|step| step.work.as_ref());
        all.map(|work| work.waits).fold(0.0, f64::max)
    }

    /// The measured curve alone: counts over the smallest, and how many times the ideal time they take.
    pub(super) fn curve(&self) -> Vec<Excess> {
        let Some(base) = self.base() else { return Vec::new() };
        let excess = |step: &MeasuredCount| {
            let n = step.processors / base.processors;
            (n, n * step.time / base.time)
        };
        self.within.iter().map(excess).collect()
    }

    /// The same with another time at one of the counts within the processors.
    pub(super) fn with_time(&self, place: usize, time: f64) -> Replay {
        let mut other = self.clone();
        if let Some(step) = other.within.get_mut(place) {
            step.time = time;
        }
        other
    }
}
