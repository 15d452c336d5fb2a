//! Differences inside blocks: one value per block, and what can be said about all of them.
//!
//! Two cases are run in the same blocks, in an order drawn anew for each block. If they do not differ, each is as often
//! the slower as the faster one in a block, whatever the machine did meanwhile (Fisher 1935, "The Design of
//! Experiments"). So the *sign* of each block's difference is a fair coin, with or without drift, and the exact
//! distribution of the signed ranks (Wilcoxon 1945, "Individual comparisons by ranking methods") tells how seldom
//! chance alone looks like a difference. The interval is the set of differences that this test does not exclude; its
//! centre is the median of the means of all pairs of blocks (Hodges & Lehmann 1963, "Estimates of location based on
//! rank tests"). A bootstrap of five or ten blocks has no such guarantee: it claims about twice as many differences as
//! it should. For fewer than 6 blocks see `intervals`.

use crate::answer::Interval;
use crate::statistics::{Measured, quantile};
use std::collections::BTreeMap;

/// The share of comparisons in which chance alone may look like a difference.
///
/// Decides: how often two equal cases may be called different.
/// From: the usual significance level of a test; `knee sweep --check-noise` shows what it amounts to.
/// Shown by: `bench/intervals`.
/// Wrong if: the order of runs within a block is not random.
pub const ERROR: f64 = 0.05;

/// If there are more blocks, neighbours are merged: 200 already exclude chance by far more than needed, and the number
/// of pairs grows with the square of the number of blocks.
///
/// Decides: how many blocks are kept apart.
/// From: statistics and time: the number of pairs grows with the square of the number of blocks.
/// Wrong if: neighbouring blocks that are merged differ from each other systematically.
const MOST_BLOCKS: usize = 200;

/// What blocks say about a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// The difference.
    pub centre: f64,
    /// Its interval; absent when there are too few blocks for any.
    pub interval: Option<Interval>,
    /// Blocks that had both values.
    pub blocks: usize,
}

/// One difference for each block that both series have, in the order of the blocks.
pub fn differences(a: &[Measured], b: &[Measured], difference: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let second: BTreeMap<u32, f64> = b.iter().map(|m| (m.block, m.value)).collect();
    let mut first: Vec<&Measured> = a.iter().collect();
    first.sort_by_key(|m| m.block);
    let both = first.into_iter().filter_map(|m| Some(difference(m.value, *second.get(&m.block)?)));
    both.filter(|difference| difference.is_finite()).collect()
}

/// Centre and interval of differences inside blocks. `error` is the share of intervals that may miss the truth. `None`
/// without blocks.
pub fn paired(differences: &[f64], error: f64) -> Option<Paired> {
    let merged = merge(differences);
    let mut means: Vec<f64> = Vec::with_capacity(merged.len() * (merged.len() + 1) / 2);
    for (i, a) in merged.iter().enumerate() {
        means.extend(merged.iter().take(i + 1).map(|b| (a + b) / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let centre = quantile(&means, 0.5)?;
    let interval = cut(merged.len(), error)
        .and_then(|cut| Some(Interval { low: *means.get(cut - 1)?, high: *means.get(means.len().checked_sub(cut)?)? }));
    Some(Paired { centre, interval, blocks: differences.len() })
}

/// The fewest blocks for which an interval with this error exists. The strongest evidence is that all are on one side,
/// which chance brings about once in 2^(blocks - 1) times.
pub fn blocks_needed(error: f64) -> usize {
    (1..=MOST_BLOCKS).find(|blocks| cut(*blocks, error).is_some()).unwrap_or(MOST_BLOCKS)
}

/// Means of neighbours, at most [`MOST_BLOCKS`] of them. If the signs of single differences are fair, so are those of
/// means.
fn merge(differences: &[f64]) -> Vec<f64> {
    let finite: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite()).collect();
    let together = finite.len().div_ceil(MOST_BLOCKS).max(1);
    finite.chunks(together).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect()
}

/// The largest `k` for which a signed-rank sum below `k`, on either side, has at most this probability: `k` − 1 of the
/// sorted means of pairs are cut off at each end. `None` when not even a sum of 0 is that rare.
fn cut(blocks: usize, error: f64) -> Option<usize> {
    let most = blocks * (blocks + 1) / 2;
    // Probability of each rank sum if every sign is a fair coin: each rank is added or not.
    let mut probability = vec![0.0; most + 1];
    probability[0] = 1.0;
    for rank in 1..=blocks {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = (probability[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let rare = probability.iter().take_while(|p| {
        below += 2.0 * **p;
        below <= error
    });
    Some(rare.count()).filter(|k| *k > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_published_tables() {
        // Wilcoxon's two-sided table at 5 %: reject at a sum of 0, 2, 3, 5, 8, 10, 13 or less with 6 to 12 pairs.
        let table: Vec<usize> = (6..=12).filter_map(|n| cut(n, 0.05)).map(|cut| cut - 1).collect();
        assert_eq!(table, [0, 2, 3, 5, 8, 10, 13]);
        assert_eq!(cut(5, 0.05), None);
        assert_eq!([0.05, 0.025, 0.0125].map(blocks_needed), [6, 7, 8]);
    }

    /// All 2^n outcomes of fair coins, for blocks that are disturbed in very different ways.
    #[test]
    fn chance_alone_is_called_a_difference_in_one_of_twenty_cases_at_most() {
        let sizes: [&[f64]; 4] = [
            &[1.0; 10],
            &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
            &[1e-9, 2e-9, 1.0, 1e3, 1e6, 1e9, 3.0, 5.0, 0.1, 40.0],
            &[0.5, 0.5, 0.5, 2.0, 2.0, 2.0, 9.0, 9.0, 9.0, 9.0],
        ];
        for sizes in sizes {
            for blocks in 1..=sizes.len() {
                let claimed = (0_u32..1 << blocks).filter(|coins| {
                    let signed = sizes.iter().take(blocks).enumerate();
                    let signed: Vec<f64> = signed.map(|(i, s)| if coins >> i & 1 == 1 { *s } else { -*s }).collect();
                    let interval = paired(&signed, ERROR).and_then(|p| p.interval);
                    interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0)
                });
                let share = claimed.count() as f64 / f64::from(1_u32 << blocks);
                assert!(share <= ERROR, "{share} of all outcomes with {blocks} blocks of {sizes:?}");
                assert!(blocks < 6 || share > 0.0, "{blocks} blocks never show anything");
            }
        }
    }

    #[test]
    fn what_is_common_to_a_block_does_not_matter() {
        let measured = |values: &[f64]| -> Vec<Measured> {
            values.iter().enumerate().map(|(b, v)| Measured { block: b as u32, value: *v }).collect()
        };
        let a = measured(&[1.0, 9.0, 4.0, 2.0, 7.0, 3.0]);
        let b = measured(&[1.1, 9.9, 4.4, 2.2, 7.7, 3.3]);
        let found = paired(&differences(&a, &b, |a, b| (b / a).ln()), ERROR).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.centre - 1.1_f64.ln()).abs() < 1e-12);
        assert!((interval.low - interval.high).abs() < 1e-12 && found.blocks == 6);
    }

    #[test]
    fn only_blocks_that_both_have_count() {
        let at = |block, value| Measured { block, value };
        let a = [at(3, 1.0), at(0, 5.0), at(1, f64::NAN)];
        let b = [at(0, 7.0), at(1, 1.0), at(2, 1.0)];
        assert_eq!(differences(&a, &b, |a, b| b - a), [2.0]);
        assert_eq!(paired(&[], ERROR), None);
        assert_eq!(paired(&[2.0], ERROR), Some(Paired { centre: 2.0, interval: None, blocks: 1 }));
    }

    #[test]
    fn many_blocks_are_merged() {
        let many: Vec<f64> = (0..10_000).map(|i| f64::from(i % 7) - 2.0).collect();
        let found = paired(&many, ERROR).unwrap();
        assert!(found.blocks == 10_000 && (found.centre - 1.0).abs() < 0.1, "{found:?}");
    }
}
