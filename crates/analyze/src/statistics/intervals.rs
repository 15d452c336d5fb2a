//! Intervals from few values: for the centre that they scatter around, for a difference inside blocks, and for the
//! shift between two samples.
//!
//! Nothing here assumes normal noise, and nothing is resampled: from five runs, a percentile bootstrap gives hardly
//! more than their range, which misses the median once in sixteen times, and even less for ratios. The methods:
//!
//! - **Centre of n values**, each as likely above as below it (Thompson 1936, "On confidence ranges for the median"):
//!   from the k-th smallest to the k-th largest, where n fair coins seldom enough give fewer than k heads, or tails.
//!   This holds for any distribution, and for values of different scatter (drift, a disturbed block).
//! - **Fewer values than that needs** (under 6 for 95 %): the range, widened at both ends by a share of its width
//!   ([`widening`]). It holds for every symmetric distribution with one peak, however heavy its tails. Without symmetry
//!   or with two peaks only the range itself is certain, which misses in 2^(1-n) of all cases: 6.25 % with five values.
//! - **Shift between two samples** without common blocks: the shifts that the exact rank-sum test does not exclude
//!   (Mann & Whitney 1947, "On a test of whether one of two random variables is stochastically larger than the other").

use crate::answer::{Interval, Spread};
use crate::statistics::paired::{ERROR, differences};
use crate::statistics::{Measured, median, point};

/// Samples are merged into at most this many values before they are ranked: 30 against 30 exclude chance by far more
/// than needed.
///
/// Decides: how many values of each side a rank test gets.
/// From: statistics: 30 against 30 exclude chance by far more than needed.
/// Wrong if: neighbouring samples that are merged differ from each other systematically.
const MOST_RANKED: usize = 30;

/// The interval of the centre that values scatter around; `error` is the share of intervals that may miss it. `None`
/// for fewer than two finite values.
pub fn centre(values: &[f64], error: f64) -> Option<Interval> {
    let sorted = sorted(values);
    if sorted.len() < 2 {
        return None;
    }
    let (cut, beyond) = match cut_by_coins(sorted.len(), error) {
        0 => (0, widening(sorted.len(), error)),
        k => (k - 1, 0.0),
    };
    let (low, high) = (*sorted.get(cut)?, *sorted.get(sorted.len() - 1 - cut)?);
    let further = beyond * (high - low);
    Some(Interval { low: low - further, high: high + further })
}

/// A lower bound for the centre of second − first inside blocks, wrong in at most `error` of all cases. It answers
/// whether there is a difference in that direction at all: five values of 0 or more show that, however far apart they
/// are (the chance is one in 32). The two-sided interval is wider, and its lower end says little about a program with two
/// speeds; it is returned only when there are too few values for this bound. `None` where that end does not exist
/// either.
pub fn above(first: &[Measured], second: &[Measured], error: f64) -> Option<f64> {
    let inside = sorted(&differences(first, second, |a, b| b - a));
    let few = 2 * inside.len() < first.len().min(second.len());
    match cut_by_coins(inside.len(), 2.0 * error).checked_sub(1) {
        Some(cut) if !few => inside.get(cut).copied(),
        _ => difference(first, second, error).map(|interval| interval.low),
    }
}

/// The share of its width by which the range of `n` values must be widened at each end, so that it misses the centre in
/// at most `error` of all cases: (1 / error)^(1/(n-1)) / 2 - 1, but at least 0.
///
/// Proof: let the differences from the centre be independent and symmetric with one peak, each with its own scatter.
/// The range misses the centre when all have the same sign, with probability 2^(1-n). The range widened by w also needs
/// the smallest difference to be more than the share q = w / (1 + w) of the largest. Given the largest, the others lie
/// below it with a falling density, so each is above that share with a probability of at most 1 - q, and all are with
/// (1 - q)^(n-1). Together: (2 (1 + w))^(1-n) = error. A uniform distribution attains the bound.
fn widening(n: usize, error: f64) -> f64 {
    ((1.0 / error).powf(1.0 / (n as f64 - 1.0)) / 2.0 - 1.0).max(0.0)
}

/// The interval of second − first inside blocks. Where the two have too few blocks in common (runs failed), each gets
/// its own interval, and the ends furthest apart count. `None` where even that does not exist.
pub fn difference(first: &[Measured], second: &[Measured], error: f64) -> Option<Interval> {
    let inside = differences(first, second, |a, b| b - a);
    if inside.len() >= 2 && 2 * inside.len() >= first.len().min(second.len()) {
        return centre(&inside, error);
    }
    let own = |of: &[Measured]| centre(&of.iter().map(|m| m.value).collect::<Vec<_>>(), error / 2.0);
    let (a, b) = (own(first)?, own(second)?);
    Some(Interval { low: b.low - a.high, high: b.high - a.low })
}

/// The interval of second / first inside blocks, for positive values.
pub fn ratio(first: &[Measured], second: &[Measured], error: f64) -> Option<Interval> {
    difference(&logarithms(first), &logarithms(second), error).map(exponential)
}

/// The interval of second / first where they share no blocks. `None` where there are too few values: see
/// [`runs_needed`].
pub fn unpaired_ratio(first: &[Measured], second: &[Measured], error: f64) -> Option<Interval> {
    shift(&values(&logarithms(first)), &values(&logarithms(second)), error).map(exponential)
}

/// Median, range and 95 % interval of the median of positive values. Absent when no value is finite.
pub fn spread(values: &[Measured]) -> Option<Spread> {
    let finite: Vec<f64> = values.iter().map(|m| m.value).filter(|v| v.is_finite()).collect();
    let median = median(&finite)?;
    let (min, max) = finite.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
    // In logarithms, because noise multiplies times.
    let logarithms: Vec<f64> = finite.iter().map(|v| v.ln()).collect();
    let Interval { low, high } = holding(centre(&logarithms, ERROR).map_or(point(median), exponential), median);
    Some(Spread { median, min, max, low, high })
}

/// The interval, widened to contain `value`, so that no estimate lies outside its own interval.
pub fn holding(interval: Interval, value: f64) -> Interval {
    Interval { low: interval.low.min(value), high: interval.high.max(value) }
}

/// The interval of the shift of the second sample relative to the first.
fn shift(first: &[f64], second: &[f64], error: f64) -> Option<Interval> {
    let (first, second) = (merged(first), merged(second));
    let cut = cut_by_ranks(first.len(), second.len(), error).checked_sub(1)?;
    let all: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| b - a)).collect();
    let all = sorted(&all);
    Some(Interval { low: *all.get(cut)?, high: *all.get(all.len().checked_sub(cut + 1)?)? })
}

/// The fewest runs in each of two samples for which an interval of their shift exists.
pub fn runs_needed(error: f64) -> usize {
    (1..=MOST_RANKED).find(|n| cut_by_ranks(*n, *n, error) > 0).unwrap_or(MOST_RANKED)
}

/// The largest k for which n fair coins give fewer than k heads, or fewer than k tails, with a probability of at most
/// `error`; 0 when there is none.
fn cut_by_coins(n: usize, error: f64) -> usize {
    // In logarithms, because 2^-n underflows for thousands of runs.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    (0..n / 2 + 1)
        .take_while(|heads| {
            below += 2.0 * term.exp();
            term += ((n - heads) as f64 / (heads + 1) as f64).ln();
            below <= error
        })
        .count()
}

/// The same for the number of pairs in which the first sample's value is larger, if both have the same distribution.
fn cut_by_ranks(first: usize, second: usize, error: f64) -> usize {
    let most = first * second;
    // ways[chosen][sum]: in how many ways `chosen` of the ranks so far exceed their least sum by `sum`. At most a
    // binomial coefficient of 60, which a double holds precisely enough.
    let mut ways = vec![vec![0.0; most + 1]; first + 1];
    ways[0][0] = 1.0;
    for rank in 0..first + second {
        for chosen in (1..=first.min(rank + 1)).rev() {
            let Some(over) = rank.checked_sub(chosen - 1).filter(|over| *over <= second) else { continue };
            for sum in (over..=most).rev() {
                ways[chosen][sum] += ways[chosen - 1][sum - over];
            }
        }
    }
    let all: f64 = ways[first].iter().sum();
    let mut below = 0.0;
    let rare = ways[first].iter().take_while(|count| {
        below += 2.0 * **count / all;
        below <= error
    });
    rare.count().min(most.div_ceil(2))
}

/// Means of neighbours in time, at most [`MOST_RANKED`] of them.
fn merged(values: &[f64]) -> Vec<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let together = finite.len().div_ceil(MOST_RANKED).max(1);
    finite.chunks(together).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect()
}

fn values(series: &[Measured]) -> Vec<f64> {
    series.iter().map(|m| m.value).collect()
}

fn logarithms(series: &[Measured]) -> Vec<Measured> {
    series.iter().map(|m| Measured { value: m.value.ln(), ..*m }).filter(|m| m.value.is_finite()).collect()
}

fn exponential(interval: Interval) -> Interval {
    Interval { low: interval.low.exp(), high: interval.high.exp() }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    finite
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_losses_are_a_loss_however_far_apart() {
        let series = |values: [f64; 5]| -> Vec<Measured> {
            values.iter().enumerate().map(|(block, value)| Measured { block: block as u32, value: *value }).collect()
        };
        let (none, two_speeds) = (series([1.0; 5]), series([4.0, 1.1, 1.05, 1.08, 4.2]));
        assert!(difference(&none, &two_speeds, ERROR).unwrap().low < 0.0);
        assert!((above(&none, &two_speeds, ERROR).unwrap() - 0.05).abs() < 1e-9);
        assert!(above(&none, &series([4.0, 1.1, 0.99, 1.08, 4.2]), ERROR).unwrap() < 0.0, "one gain is too many");
        assert!(above(&none[..4], &two_speeds[..4], ERROR).unwrap() < 0.0, "four may be chance");
    }

    fn measured(values: &[f64]) -> Vec<Measured> {
        values.iter().enumerate().map(|(b, v)| Measured { block: b as u32, value: *v }).collect()
    }

    #[test]
    fn order_statistics_are_those_of_the_published_tables() {
        // Exact 95 % intervals of a median: the whole range up to 8 values, then the 2nd, 3rd ... on each side.
        let cuts = [5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20].map(|n| cut_by_coins(n, ERROR));
        assert_eq!(cuts, [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6]);
        // Far beyond where 2^-n underflows: 1.96 standard deviations of the number of heads below half.
        assert_eq!(cut_by_coins(10_000, ERROR), 4902);
    }

    #[test]
    fn rank_sums_are_those_of_the_published_tables() {
        // Mann & Whitney's two-sided table at 5 %: the largest U that is rejected is 0, 2, 5, 8, 13, 17, 23 for n = 4
        // to 10.
        let table: Vec<usize> = (4..=10).map(|n| cut_by_ranks(n, n, 0.05) - 1).collect();
        assert_eq!(table, [0, 2, 5, 8, 13, 17, 23]);
        assert_eq!((cut_by_ranks(3, 3, 0.05), cut_by_ranks(3, 5, 0.05), cut_by_ranks(0, 5, 0.05)), (0, 1, 0));
        assert_eq!([0.05, 0.05 / 3.0, 0.05 / 10.0].map(runs_needed), [4, 5, 6]);
    }

    #[test]
    fn the_widened_range_misses_evenly_scattered_values_exactly_as_often_as_it_may() {
        for n in 2..=5 {
            // All on one side, and the smallest above that share of the largest; the others are uniform below the
            // largest.
            let beyond = widening(n, ERROR);
            let share = beyond / (1.0 + beyond);
            let missed = 2.0_f64.powi(1 - n as i32) * (1.0 - share).powi(n as i32 - 1);
            assert!((missed - ERROR).abs() < 1e-12, "{missed} with {n}");
        }
        assert_eq!(widening(6, ERROR), 0.0);
        let five = centre(&[1.0, 2.0, 3.0, 4.0, 5.0], ERROR).unwrap();
        assert!((five.low - 0.7711).abs() < 1e-3 && (five.high - 5.2289).abs() < 1e-3, "{five:?}");
        assert_eq!(centre(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ERROR), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(centre(&[1.0, f64::NAN], ERROR), None);
    }

    #[test]
    fn what_is_common_to_a_block_does_not_matter() {
        let a = measured(&[1.0, 3.0, 1.5, 2.0, 5.0]);
        let twice: Vec<Measured> = a.iter().map(|m| Measured { value: m.value * 2.0, ..*m }).collect();
        let found = ratio(&a, &twice, ERROR).unwrap();
        assert!((found.low - 2.0).abs() < 1e-12 && (found.high - 2.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn without_common_blocks_the_difference_is_less_certain() {
        let at = |first: u32, values: &[f64]| -> Vec<Measured> {
            (first..).zip(values).map(|(block, value)| Measured { block, value: *value }).collect()
        };
        let a = at(0, &[1.0, 1.1, 1.2, 1.3]);
        let [together, apart] = [0, 10].map(|first| difference(&a, &at(first, &[2.0, 2.1, 2.2, 2.3]), ERROR).unwrap());
        assert!(together.high - together.low < 1e-9);
        assert!(apart.low < 0.8 && apart.high > 1.2, "{apart:?}");
        assert_eq!(difference(&a, &at(0, &[2.0]), ERROR), None);
    }

    #[test]
    fn a_shift_of_ranks() {
        let at = measured;
        let found = unpaired_ratio(&at(&[1.0; 5]), &at(&[2.0; 5]), ERROR).unwrap();
        assert!((found.low - 2.0).abs() < 1e-12 && (found.high - 2.0).abs() < 1e-12);
        assert_eq!(unpaired_ratio(&at(&[1.0; 3]), &at(&[2.0; 3]), ERROR), None);
        // One outlier of five runs does not move an end to itself.
        let wild =
            unpaired_ratio(&at(&[1.0, 1.01, 0.99, 1.02, 9.0]), &at(&[2.0, 2.01, 1.99, 2.02, 2.0]), ERROR).unwrap();
        assert!(wild.low < 1.0 && wild.high < 2.1, "{wild:?}");
    }

    #[test]
    fn an_interval_holds_the_median() {
        let five = spread(&measured(&[1.0, 1.1, 0.9, 1.05, 0.95])).unwrap();
        assert_eq!((five.median, five.min, five.max), (1.0, 0.9, 1.1));
        assert!(five.low < five.min && five.high > five.max, "five values are too few for their range: {five:?}");
        let six = spread(&measured(&[1.0, 1.1, 0.9, 1.05, 0.95, 1.02])).unwrap();
        assert!((six.low - 0.9).abs() < 1e-12 && (six.high - 1.1).abs() < 1e-12, "{six:?}");
    }

    #[test]
    fn one_run_has_a_point_for_an_interval() {
        let spread = spread(&measured(&[2.5])).unwrap();
        assert_eq!((spread.low, spread.high), (2.5, 2.5));
    }
}
