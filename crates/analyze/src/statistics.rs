//! Medians and bootstrap intervals. May import: `answer` (for `Spread` and `Interval`).
//!
//! Intervals are percentile bootstraps (Efron 1979, "Bootstrap methods: another look at the jackknife"): resample with
//! replacement, take the statistic each time, cut off 2.5 % at each end. Whole *blocks* are resampled, because the runs
//! of one block share the state of the machine and a ratio inside one block is steadier than one across blocks.

use crate::answer::{Interval, Spread};

/// Resamples of a bootstrap: enough that the ends of a 95 % interval move by less than their own width's 5 %.
pub const RESAMPLES: usize = 2000;

/// Share cut off at each end: the interval holds the middle 95 %.
const TAIL: f64 = 0.025;

/// Resamples that must have given a value; with fewer the percentiles would be noise.
const FEWEST_USABLE: usize = 200;

/// A 95 % normal interval reaches this many standard errors to each side.
pub const NORMAL_95: f64 = 1.96;

/// One measured value and the block of runs that it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Block of the randomised order.
    pub block: u32,
    /// The value.
    pub value: f64,
}

/// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators"): small, seeded, and the
/// same on every machine, so that an answer can be repeated.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that always gives the same sequence for the same seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is at least 1. The bias of the high multiplication is below `end` / 2⁶⁴.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end.max(1) as u128) >> 64) as usize
    }
}

/// The median of the finite values; absent when there is none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    quantile(&finite, 0.5)
}

/// The quantile of sorted values, interpolated between neighbours; absent for no values.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let (low, high) = (sorted.get(below)?, sorted.get(above)?);
    Some(if low == high { *low } else { low + (high - low) * (position - below as f64) })
}

/// Median, range and interval of the median. Absent when no value is finite.
pub fn spread(values: &[Measured], seed: u64) -> Option<Spread> {
    let finite: Vec<f64> = values.iter().map(|m| m.value).filter(|v| v.is_finite()).collect();
    let median = median(&finite)?;
    let (min, max) = finite.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
    let Interval { low, high } = interval(&[values], seed, |m| m.first().copied()).unwrap_or(point(median));
    Some(Spread { median, min, max, low, high })
}

/// The interval of a value that has none: itself at both ends.
pub fn point(value: f64) -> Interval {
    Interval { low: value, high: value }
}

/// The 95 % interval of a statistic of the medians of several series, by resampling blocks.
///
/// `statistic` gets one median a series. Absent when there are fewer than two blocks: then no interval exists.
pub fn interval(series: &[&[Measured]], seed: u64, statistic: impl Fn(&[f64]) -> Option<f64>) -> Option<Interval> {
    let mut blocks: Vec<u32> = series.iter().flat_map(|s| s.iter().map(|m| m.block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    if blocks.len() < 2 {
        return None;
    }
    let of_block = |s: &[Measured], b: u32| s.iter().filter(|m| m.block == b).map(|m| m.value).collect::<Vec<_>>();
    let by_block: Vec<Vec<Vec<f64>>> =
        series.iter().map(|s| blocks.iter().map(|b| of_block(s, *b)).collect()).collect();
    let mut random = SplitMix64::new(seed);
    let mut found = Vec::with_capacity(RESAMPLES);
    let mut drawn = Vec::new();
    for _ in 0..RESAMPLES {
        let draw: Vec<usize> = blocks.iter().map(|_| random.below(blocks.len())).collect();
        let medians: Option<Vec<f64>> = by_block
            .iter()
            .map(|values| {
                drawn.clear();
                drawn.extend(draw.iter().filter_map(|b| values.get(*b)).flatten());
                median(&drawn)
            })
            .collect();
        found.extend(medians.and_then(|m| statistic(&m)).filter(|v| v.is_finite()));
    }
    if found.len() < FEWEST_USABLE {
        return None;
    }
    found.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&found, TAIL)?, high: quantile(&found, 1.0 - TAIL)? })
}

/// The 95 % interval of median(`a`) / median(`b`), of series that share no blocks: each is resampled by itself. Absent
/// when one of them has fewer than two values.
pub fn ratio_interval(a: &[Measured], b: &[Measured], seed: u64) -> Option<Interval> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let mut random = SplitMix64::new(seed);
    let mut draw = |of: &[Measured]| {
        let drawn: Vec<f64> = of.iter().filter_map(|_| of.get(random.below(of.len()))).map(|m| m.value).collect();
        median(&drawn)
    };
    let mut found: Vec<f64> =
        (0..RESAMPLES).filter_map(|_| Some(draw(a)? / draw(b)?)).filter(|ratio| ratio.is_finite()).collect();
    if found.len() < FEWEST_USABLE {
        return None;
    }
    found.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&found, TAIL)?, high: quantile(&found, 1.0 - TAIL)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(values: &[f64]) -> Vec<Measured> {
        values.iter().enumerate().map(|(b, v)| Measured { block: b as u32, value: *v }).collect()
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0, f64::NAN]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    }

    #[test]
    fn an_interval_holds_the_median_and_stays_in_the_range() {
        let spread = spread(&measured(&[1.0, 1.1, 0.9, 1.05, 0.95]), 7).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (1.0, 0.9, 1.1));
        assert!(spread.min <= spread.low && spread.low < 1.0 && 1.0 < spread.high && spread.high <= spread.max);
    }

    #[test]
    fn one_run_has_a_point_for_an_interval() {
        let spread = spread(&measured(&[2.5]), 7).unwrap();
        assert_eq!((spread.low, spread.high), (2.5, 2.5));
        assert_eq!(interval(&[&measured(&[2.5])], 7, |m| m.first().copied()), None);
    }

    #[test]
    fn blocks_cancel_what_they_share() {
        // Every block is slow or fast as a whole; the ratio is 2 in each.
        let a = measured(&[1.0, 3.0, 1.5, 2.0, 5.0]);
        let b: Vec<Measured> = a.iter().map(|m| Measured { value: m.value * 2.0, ..*m }).collect();
        let ratio = interval(&[&a, &b], 7, |m| Some(m[1] / m[0])).unwrap();
        assert!((ratio.low - 2.0).abs() < 1e-12 && (ratio.high - 2.0).abs() < 1e-12, "{ratio:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values = measured(&[1.0, 1.3, 0.8, 1.1]);
        assert_eq!(spread(&values, 3), spread(&values, 3));
    }
}
