//! How far off an extrapolated curve is, by how far out it goes.
//!
//! From published scaling curves: the law of Amdahl, with a serial share that may exceed 1, was fitted to the smaller
//! counts of 271 of them and compared with a larger one. Median errors: from 1 and 2 threads 13 % at 4, 28 % at 8 and 55 %
//! at 16; from 1, 2 and 4 threads 14 % at 8; from 1, 4 and 8 threads 14 % at 32.

/// Decides: the median error of a curve extrapolated from two counts, by the logarithm to base 2 of how many times the
/// largest count the target is: 1, 2, 4, 8.
/// From: 271 published curves, from 1 and 2 threads; the first was chosen, as the noise of one count.
/// Shown by: `the_range_grows_with_the_target`.
/// Wrong if: the program is of a kind that those curves lack.
const FROM_TWO: [f64; 4] = [0.05, 0.13, 0.28, 0.55];

/// Decides: the same from three counts or more.
/// From: the same curves: 14 % at twice and at four times the largest; the last was chosen as twice that.
/// Shown by: `the_range_grows_with_the_target`.
/// Wrong if: the program is of a kind that those curves lack.
const FROM_MORE: [f64; 4] = [0.05, 0.14, 0.14, 0.28];

/// Decides: how many times the median error the range reaches to each side, in logarithms.
/// From: the normal distribution: half of the values lie within 0.6745 standard errors, nine tenths within 1.645.
/// Shown by: `the_range_grows_with_the_target`.
/// Wrong if: errors have heavier tails than that: the range then holds fewer than nine in ten.
const MEDIAN_TO_90: f64 = 1.645 / 0.6745;

/// Decides: beyond how many times the largest measured count a range stands without a single figure.
/// From: the same curves: from two counts, the median error at eight times the largest is 55 %.
/// Shown by: `far_targets_have_only_a_range`.
/// Wrong if: the program's limits are all known, as in a program whose only limit is a serial phase.
pub(super) const POINT_UP_TO: f64 = 4.0;

/// Decides: beyond how many times the largest measured count not even a range is given.
/// From: the same curves: none was followed further.
/// Shown by: `far_targets_have_only_a_range`.
/// Wrong if: as for the single figure.
pub(super) const RANGE_UP_TO: f64 = 8.0;

/// Half the width of the range in logarithms, for a target of `ratio` times the largest of `counts` counts.
pub(super) fn half_width(ratio: f64, counts: usize) -> f64 {
    let errors = if counts > 2 { &FROM_MORE } else { &FROM_TWO };
    let doublings = ratio.max(1.0).log2();
    let at = |place: usize| errors.get(place.min(errors.len() - 1)).copied().unwrap_or(1.0);
    let (below, part) = (doublings.floor(), doublings.fract());
    let error = at(below as usize) * (1.0 - part) + at(below as usize + 1) * part;
    MEDIAN_TO_90 * (1.0 + error).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_that_of_the_curves() {
        let median = |ratio, counts| (half_width(ratio, counts) / MEDIAN_TO_90).exp() - 1.0;
        assert!((median(2.0, 2) - 0.13).abs() < 1e-9 && (median(8.0, 2) - 0.55).abs() < 1e-9);
        assert!((median(2.0, 3) - 0.14).abs() < 1e-9 && (median(1.0, 3) - 0.05).abs() < 1e-9);
        assert!(median(3.0, 2) > 0.13 && median(3.0, 2) < 0.28 && median(99.0, 2) < 0.551);
    }
}
