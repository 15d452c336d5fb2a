//! How fast one case of a sweep is compared with another whose runs were made in the same blocks.

use crate::answer::Interval;
use crate::curve::Clean;
use crate::statistics::intervals;
use crate::statistics::paired::ERROR;
use crate::statistics::{median, point};
use serde::Serialize;

/// Speed at a thread count over another case's speed at the same count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The thread count.
    pub threads: u32,
    /// Median speed over the other's median speed.
    pub ratio: f64,
    /// Its 95 % interval, from ratios inside blocks: a disturbance of a block affects both cases.
    pub interval: Interval,
}

/// The ratios at every thread count that both have, ascending. Empty when one counts units of work and the other runs:
/// such speeds cannot be compared.
pub fn ratios(case: &Clean<'_>, other: &Clean<'_>) -> Vec<Ratio> {
    if case.by_throughput != other.by_throughput {
        return Vec::new();
    }
    let ratio = |threads| {
        let (mine, theirs) = (case.speed(threads), other.speed(threads));
        let of = |m: &[f64]| Some(m.first()? / m.get(1)?).filter(|ratio| ratio.is_finite());
        let medians = [&mine, &theirs].map(|runs| median(&runs.iter().map(|m| m.value).collect::<Vec<_>>()));
        let ratio = of(&[medians[0]?, medians[1]?])?;
        let interval = intervals::ratio(&theirs, &mine, ERROR).unwrap_or(point(ratio));
        let interval = intervals::holding(interval, ratio);
        Some(Ratio { threads, ratio, interval })
    };
    case.counts().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::Tables;
    use recording::synthetic::Sketch;

    /// Runs of one second at a thread count, each with its throughput; the blocks are in order.
    fn tables(threads: u32, throughputs: &[Option<f64>]) -> Tables {
        let sketch = Sketch::new(2).clean(threads, &vec![1.0; throughputs.len()]);
        match throughputs.iter().copied().collect::<Option<Vec<f64>>>() {
            Some(throughputs) => sketch.throughput(threads, &throughputs).tables(),
            None => sketch.tables(),
        }
    }

    #[test]
    fn what_disturbs_a_block_disturbs_no_ratio() {
        // The machine gets slower from block to block, by far more than the cases differ.
        let slow = tables(2, &[Some(10.0), Some(6.0), Some(2.0)]);
        let fast = tables(2, &[Some(20.0), Some(12.0), Some(4.0)]);
        let ratios = ratios(&Clean::new(&fast), &Clean::new(&slow));
        assert_eq!(ratios.len(), 1);
        assert_eq!((ratios[0].threads, ratios[0].ratio), (2, 2.0));
        let Interval { low, high } = ratios[0].interval;
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn without_a_common_measure_there_is_no_ratio() {
        let counted = tables(2, &[Some(10.0), Some(6.0)]);
        let timed = tables(2, &[None, None]);
        let elsewhere = tables(4, &[Some(10.0), Some(6.0)]);
        assert!(ratios(&Clean::new(&counted), &Clean::new(&timed)).is_empty());
        assert!(ratios(&Clean::new(&counted), &Clean::new(&elsewhere)).is_empty());
        assert_eq!(ratios(&Clean::new(&timed), &Clean::new(&timed))[0].ratio, 1.0);
    }
}
