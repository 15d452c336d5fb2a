//! Medians and quantiles, and the values that they are taken of.

use crate::answer::Interval;

/// A loss must exceed this share of the capacity to be called a cause. Two identical sets of runs on a shared machine
/// often differ by a few per cent, so that a fix for a smaller loss could not be shown to work.
///
/// Decides: whether a loss is called a cause, and whether two things differ.
/// From: chosen: identical sets of runs on a shared machine differ by a few per cent.
/// Wrong if: runs on a machine vary by more than that, or a smaller loss matters.
pub const MIN_SHARE: f64 = 0.05;

/// A 95 % normal interval reaches this many standard errors to each side.
///
/// Decides: whether a charge, a growth or a change is certain, given its standard error.
/// From: the normal distribution.
/// Shown by: `what_grows_with_the_threads_comes_first_and_what_does_not_is_left_out`.
/// Wrong if: the error comes from few samples, so that it is not normal.
pub const NORMAL_95: f64 = 1.96;

/// One measured value, and the block of runs that it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Block of the randomised order.
    pub block: u32,
    /// The value.
    pub value: f64,
}

/// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators"): small, seeded, and the same
/// on every machine, so that answers are reproducible.
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

    /// A number below `end`, which is at least 1. The bias of this multiplication method is below `end` / 2⁶⁴.
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

/// The quantile of sorted values, interpolated between neighbours; absent without values.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let (low, high) = (sorted.get(below)?, sorted.get(above)?);
    Some(if low == high { *low } else { low + (high - low) * (position - below as f64) })
}

/// An interval of width 0, for a value without one.
pub fn point(value: f64) -> Interval {
    Interval { low: value, high: value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0, f64::NAN]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    }
}
