//! Observed runs that are not like the timed ones, and so have to be made again. May import: recording.
//!
//! Contended programs can have two speeds: the threads queue for the lock in one run and hardly meet in the next. An
//! observed run that fell into the other speed explains a loss that the timed runs do not have.

use recording::tables::{Run, RunKind};
use std::collections::BTreeMap;

/// An observed run may take this much longer or shorter than the median of the timed runs. Observing itself is to cost
/// at most this in a storm of futex calls, so a larger distance has another reason.
const FAR: f64 = 1.35;

/// Observed runs of one count at most. What is rarer than one run in three is no typical run.
const TRIES: usize = 3;

/// The times of the runs so far: seconds for a unit of work, or for a run where the program prints no throughput.
#[derive(Debug, Default)]
pub(super) struct Times {
    timed: BTreeMap<u32, Vec<f64>>,
    observed: BTreeMap<u32, Vec<f64>>,
}

impl Times {
    pub(super) fn add(&mut self, run: &Run) {
        let times = match run.kind {
            RunKind::Clean => &mut self.timed,
            RunKind::Traced => &mut self.observed,
            _ => return,
        };
        let time = run.throughput.map_or(run.wall_ns as f64, |units| 1.0 / units);
        times.entry(run.threads).or_default().push(time);
    }

    /// Counts whose observed runs are all far from the timed ones, and that have tries left.
    pub(super) fn strays(&self) -> Vec<u32> {
        let stray = |(threads, observed): (&u32, &Vec<f64>)| {
            let median = median(self.timed.get(threads)?)?;
            let near = |time: &f64| *time <= FAR * median && median <= FAR * time;
            (observed.len() < TRIES && !observed.iter().any(near)).then_some(*threads)
        };
        self.observed.iter().filter_map(stray).collect()
    }
}

fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(timed: &[f64], observed: &[f64]) -> Times {
        let by_count = |times: &[f64]| BTreeMap::from([(2, times.to_vec())]);
        Times { timed: by_count(timed), observed: by_count(observed) }
    }

    #[test]
    fn a_run_at_another_speed_is_a_stray() {
        assert_eq!(times(&[1.0, 1.0, 1.7], &[1.7]).strays(), [2]);
        assert_eq!(times(&[1.0, 1.0, 1.7], &[0.6]).strays(), [2]);
    }

    #[test]
    fn the_cost_of_observing_makes_no_stray() {
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
