//! Observed runs that differ from the timed ones and must be made again.
//!
//! Contended programs can have two speeds: in one run the threads queue for the lock, in the next they hardly meet. An
//! observed run at the other speed would explain a loss that the timed runs do not have. So would an observed run that
//! other programs disturbed: while they held up one thread, the others waited for it.

use analyze::disturbance::{beyond, load};
use recording::tables::{Run, RunKind};
use std::collections::BTreeMap;

/// An observed run is near the timed ones if it takes at most this many times as long as their median, and they at most
/// this many times as long as it. Observing costs at most this, in a storm of futex calls, so a larger difference has
/// another reason.
///
/// Decides: whether an observed run is repeated because it is unlike the timed ones.
/// From: measured: observing costs at most this in a storm of futex calls.
/// Wrong if: the times of single runs spread by more: runs are then repeated in vain.
const FAR: f64 = 1.35;

/// The most observed runs of one count.
///
/// Decides: how often the observed run of a thread count is made at most.
/// From: chosen: what is rarer than one run in three is not typical.
/// Wrong if: the machine is disturbed for long: the least unlike of three runs is then still disturbed.
const TRIES: usize = 3;

/// The parts of a run that matter here.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Seconds per unit of work, or per run if the program prints no throughput.
    time: f64,
    /// The share of the processors that other programs took.
    load: f64,
}

/// The runs so far, by thread count.
#[derive(Debug, Default)]
pub(super) struct Times {
    timed: BTreeMap<u32, Vec<Seen>>,
    observed: BTreeMap<u32, Vec<Seen>>,
}

impl Times {
    pub(super) fn add(&mut self, run: &Run, processors: u32) {
        let runs = match run.kind {
            RunKind::Clean => &mut self.timed,
            RunKind::Traced => &mut self.observed,
            _ => return,
        };
        let time = run.throughput.map_or(run.wall_ns as f64, |units| 1.0 / units);
        let load = load(run, processors).unwrap_or(0.0);
        runs.entry(run.threads).or_default().push(Seen { time, load });
    }

    /// Counts whose observed runs are all far from the timed ones, and which have tries left.
    pub(super) fn strays(&self) -> Vec<u32> {
        let stray = |(threads, observed): (&u32, &Vec<Seen>)| {
            let timed = self.timed.get(threads)?;
            let usual = median(timed.iter().map(|run| run.time))?;
            let usual_load = median(timed.iter().map(|run| run.load))?;
            let near = |run: &Seen| run.time <= FAR * usual && usual <= FAR * run.time && !beyond(run.load, usual_load);
            (observed.len() < TRIES && !observed.iter().any(near)).then_some(*threads)
        };
        self.observed.iter().filter_map(stray).collect()
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(timed: &[f64], observed: &[f64]) -> Times {
        let by_count = |times: &[f64]| {
            BTreeMap::from([(2, times.iter().map(|time| Seen { time: *time, load: 0.0 }).collect::<Vec<_>>())])
        };
        Times { timed: by_count(timed), observed: by_count(observed) }
    }

    #[test]
    fn a_run_disturbed_by_other_programs_is_a_stray_unless_the_timed_ones_were_too() {
        let beside = |timed: f64, observed: f64| {
            let runs = |load: f64| BTreeMap::from([(2, vec![Seen { time: 1.0, load }; 3])]);
            let mut times = Times { timed: runs(timed), observed: runs(observed) };
            times.observed.values_mut().for_each(|runs| runs.truncate(1));
            times.strays()
        };
        assert_eq!(beside(0.01, 0.2), [2]);
        assert!(beside(0.01, 0.04).is_empty());
        assert!(beside(0.19, 0.2).is_empty());
    }

    #[test]
    fn a_run_at_another_speed_is_a_stray() {
        assert_eq!(times(&[1.0, 1.0, 1.7], &[1.7]).strays(), [2]);
        assert_eq!(times(&[1.0, 1.0, 1.7], &[0.6]).strays(), [2]);
    }

    #[test]
    fn the_cost_of_observing_alone_does_not_make_a_stray() {
        assert!(times(&[1.0, 1.1, 1.2], &[1.3]).strays().is_empty());
    }

    #[test]
    fn one_run_like_the_timed_ones_is_enough_and_tries_are_bounded() {
        assert!(times(&[1.0], &[4.0, 1.0]).strays().is_empty());
        assert_eq!(times(&[1.0], &[4.0, 4.0]).strays(), [2]);
        assert!(times(&[1.0], &[4.0, 4.0, 4.0]).strays().is_empty());
        assert!(times(&[], &[4.0]).strays().is_empty());
    }
}
