//! Which of Parquet's encodings takes the least room for a column of whole numbers. Any reader knows all of them.
//!
//! Times, counts and handles are mostly close to their neighbours: their differences take few bits
//! (DELTA_BINARY_PACKED). Other columns have few distinct values in no order: a dictionary takes less room. Which kind
//! a column is depends on the observed program, so some rows are examined.

use crate::cell::Cell;
use parquet::data_type::{AsBytes, DataType};
use std::collections::HashSet;

/// How many stretches are examined, and the rows in each: together one page, which costs little compared to writing.
const STRETCHES: usize = 16;
const STRETCH: usize = 256;

/// Defined by Parquet: differences are packed in blocks of 128, with one bit width for every 32.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// The rows to examine; all rows of a small table.
pub(crate) fn examined<T>(rows: &[T]) -> Vec<&[T]> {
    if rows.len() <= STRETCHES * STRETCH {
        return vec![rows];
    }
    let starts = (0..STRETCHES).map(|stretch| (rows.len() - STRETCH) / (STRETCHES - 1) * stretch);
    starts.filter_map(|start| rows.get(start..start + STRETCH)).collect()
}

/// A cell as a number; none for null and for anything but whole numbers.
pub(crate) fn number<T: Cell>(cell: &T) -> Option<i64> {
    let value = cell.encode()?;
    let bytes = AsBytes::as_bytes(&value);
    match bytes.len() {
        4 => Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?))),
        8 => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// Whether delta encoding takes less room than a dictionary. `stretches` are the values of neighbouring rows.
pub(crate) fn differences_are_smaller(stretches: &[Vec<i64>]) -> bool {
    let mut distinct: HashSet<i64> = HashSet::new();
    let (mut values, mut changes, mut packed) = (0_u64, 0_u64, 0_u64);
    for stretch in stretches {
        distinct.extend(stretch);
        values += stretch.len() as u64;
        let differences: Vec<i64> = stretch.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        changes += differences.iter().filter(|difference| **difference != 0).count() as u64;
        packed += differences.chunks(BLOCK).map(packed_bits).sum::<u64>();
    }
    if distinct.len() < 2 {
        return false;
    }
    // How many distinct values the other rows have is unknown: at least as many. If most of the examined values were
    // new, the other rows may have arbitrarily many.
    if 2 * distinct.len() as u64 > values {
        return true;
    }
    let width = u64::from((distinct.len() - 1).ilog2()) + 1;
    // Runs of the same value are stored once: a byte of header, and the value in whole bytes.
    let dictionary = (values * width).min(changes * (8 + width.next_multiple_of(8)));
    packed < dictionary
}

/// Bits that a block of differences takes: the smallest difference, then by how much each is larger.
fn packed_bits(differences: &[i64]) -> u64 {
    let Some(least) = differences.iter().min() else { return 0 };
    let miniblocks = differences.chunks(MINIBLOCK).map(|miniblock| {
        let above = miniblock.iter().map(|difference| difference.wrapping_sub(*least) as u64).max().unwrap_or(0);
        8 + MINIBLOCK as u64 * u64::from(u64::BITS - above.leading_zeros())
    });
    let front = u64::from(u64::BITS - least.unsigned_abs().leading_zeros()).next_multiple_of(8);
    front + miniblocks.sum::<u64>()
}

/// The values of one column in the examined rows.
pub(crate) fn column<'r, R: 'r, T: Cell + 'r>(stretches: &[&'r [R]], cell: impl Fn(&'r R) -> &'r T) -> Vec<Vec<i64>> {
    if size_of::<<T::Data as DataType>::T>() > 8 {
        return Vec::new();
    }
    stretches.iter().map(|rows| rows.iter().filter_map(|row| number(cell(row))).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smaller(values: impl Iterator<Item = i64>) -> bool {
        let values: Vec<i64> = values.collect();
        differences_are_smaller(&examined(&values).into_iter().map(<[i64]>::to_vec).collect::<Vec<_>>())
    }

    /// Pseudo-random bits, without any pattern that a sample of rows could follow.
    fn scattered(step: i64) -> i64 {
        (step as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) as i64 >> 1
    }

    #[test]
    fn handles_in_order_and_times_are_stored_as_differences() {
        assert!(smaller((0..100_000).map(|step| step / 3)));
        assert!(smaller((0..100_000).map(|step| 1_000_000_000_000 + step * 1_000 + scattered(step) % 500)));
        assert!(smaller((0..100_000).map(|step| scattered(step) % (1 << 24))), "no two are the same");
    }

    #[test]
    fn few_distinct_values_are_stored_in_a_dictionary() {
        assert!(!smaller((0..100_000).map(|_| 7)));
        assert!(!smaller((0..100_000).map(|step| scattered(step) & 1)));
        assert!(!smaller((0..100_000).map(|step| 1 << (8 + (scattered(step) & 7)))), "the bars of a histogram");
        assert!(!smaller(std::iter::empty()));
    }

    #[test]
    fn large_tables_are_examined_from_end_to_end() {
        let rows: Vec<usize> = (0..1_000_000).collect();
        let looked = examined(&rows);
        assert_eq!(looked.iter().map(|stretch| stretch.len()).sum::<usize>(), STRETCHES * STRETCH);
        assert_eq!(looked[0][0], 0);
        assert!(looked[STRETCHES - 1][STRETCH - 1] > 999_900);
    }
}
