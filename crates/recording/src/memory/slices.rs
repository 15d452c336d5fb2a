//! The slices of a recording in memory. There are millions of them, and a row of `slices` takes 56 bytes, most of them
//! zeros or values that follow from others. Here most rows take 16 bytes, and every row comes back as it was.

use super::blocks::{Block, BlockRows, cut};
use super::row_store::RowStore;
use crate::tables::Slice;
use std::fmt;
use std::ops::Range;

/// The most rows of a block. The widest row of a block decides in which form all its rows are kept.
const BLOCK: usize = 4096;

/// Rows of `slices` in their order, in less memory than a vector. Reading a row builds it, so rows are values here.
#[derive(Clone, Default)]
pub struct Slices {
    blocks: Vec<Block>,
    /// For each block, the number of rows in it and all blocks before it.
    ends: Vec<usize>,
    /// The last rows, which do not fill a block yet.
    open: Vec<Slice>,
}

impl Slices {
    /// No rows.
    pub fn new() -> Slices {
        Slices::default()
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.closed() + self.open.len()
    }

    /// How many rows are in blocks.
    fn closed(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row at the end.
    pub fn push(&mut self, row: Slice) {
        self.open.push(row);
        if self.open.len() >= BLOCK {
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.ends.push(self.len());
            self.blocks.push(Block::new(&self.open));
            self.open.clear();
        }
    }

    /// Adds rows at the end, without looking at each of them.
    pub fn append(&mut self, mut rows: Slices) {
        // A part of a few rows makes no block of its own.
        if rows.blocks.is_empty() {
            rows.open.into_iter().for_each(|row| self.push(row));
            return;
        }
        self.close();
        let before = self.closed();
        self.ends.extend(rows.ends.iter().map(|end| before + end));
        self.blocks.append(&mut rows.blocks);
        self.open = rows.open;
    }

    /// A row by its place.
    pub fn get(&self, at: usize) -> Option<Slice> {
        let (block, at) = self.locate(at);
        self.block_rows(block)?.get(at)
    }

    /// The last row.
    pub fn last(&self) -> Option<Slice> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The block of a row, and its place there.
    fn locate(&self, at: usize) -> (usize, usize) {
        let block = self.ends.partition_point(|end| *end <= at);
        let before = block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        (block, at - before)
    }

    /// The rows of a block; the open ones after the last block.
    fn block_rows(&self, block: usize) -> Option<BlockRows<'_>> {
        match self.blocks.get(block) {
            Some(block) => Some(block.rows()),
            None => (block == self.blocks.len()).then_some(BlockRows::Whole(&self.open)),
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> SliceRows<'_> {
        self.range(0..self.len())
    }

    /// The rows from one place to before another, in order.
    pub fn range(&self, range: Range<usize>) -> SliceRows<'_> {
        let (block, at) = self.locate(range.start);
        let left = range.end.min(self.len()).saturating_sub(range.start);
        SliceRows { slices: self, block, shown: self.block_rows(block).unwrap_or(BlockRows::Whole(&[])), at, left }
    }

    /// The rows at these places, best in order. Places beyond the last row are left out.
    pub fn picked<'a>(&'a self, places: impl Iterator<Item = usize> + 'a) -> impl Iterator<Item = Slice> + 'a {
        let (mut now, mut shown) = (0..0, BlockRows::Whole(&[]));
        places.filter_map(move |place| {
            if !now.contains(&place) {
                let (block, at) = self.locate(place);
                shown = self.block_rows(block)?;
                now = place - at..self.ends.get(block).copied().unwrap_or(self.len());
            }
            shown.get(place - now.start)
        })
    }

    /// Keeps only the rows for which `fits` is true.
    pub fn retain(&mut self, fits: impl Fn(&Slice) -> bool) {
        *self = self.iter().filter(fits).collect();
    }

    /// Changes each row.
    pub fn change(&mut self, mut change: impl FnMut(&mut Slice)) {
        let changed = |mut row: Slice| {
            change(&mut row);
            row
        };
        *self = self.iter().map(changed).collect();
    }
}

/// Rows of [`Slices`], in order.
#[derive(Clone)]
pub struct SliceRows<'a> {
    slices: &'a Slices,
    block: usize,
    shown: BlockRows<'a>,
    /// The next row's place in the block.
    at: usize,
    left: usize,
}

impl Iterator for SliceRows<'_> {
    type Item = Slice;

    #[inline]
    fn next(&mut self) -> Option<Slice> {
        while self.left > 0 {
            if let Some(row) = self.shown.get(self.at) {
                (self.at, self.left) = (self.at + 1, self.left - 1);
                return Some(row);
            }
            (self.block, self.at) = (self.block + 1, 0);
            self.shown = self.slices.block_rows(self.block)?;
        }
        None
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    /// Looks at the kind of a block once for all of its rows: loops over all rows take most of an analysis.
    #[inline]
    fn fold<B, F: FnMut(B, Slice) -> B>(mut self, first: B, mut add: F) -> B {
        let mut sum = first;
        while self.left > 0 {
            let places = self.at..self.at.saturating_add(self.left);
            let before = self.left;
            (sum, self.left) = match self.shown {
                BlockRows::Narrow(front, rows) => {
                    let rows = cut(rows, places);
                    (rows.iter().fold(sum, |sum, row| add(sum, row.row(front))), before - rows.len())
                }
                BlockRows::Single(run, rows) => {
                    let rows = cut(rows, places);
                    (rows.iter().fold(sum, |sum, row| add(sum, row.row(run))), before - rows.len())
                }
                BlockRows::Summed(run, rows) => {
                    let rows = cut(rows, places);
                    (rows.iter().fold(sum, |sum, row| add(sum, row.row(run))), before - rows.len())
                }
                BlockRows::Whole(rows) => {
                    let rows = cut(rows, places);
                    (rows.iter().fold(sum, |sum, row| add(sum, *row)), before - rows.len())
                }
            };
            (self.block, self.at) = (self.block + 1, 0);
            let Some(shown) = self.slices.block_rows(self.block) else { break };
            self.shown = shown;
        }
        sum
    }
}

impl ExactSizeIterator for SliceRows<'_> {}

impl fmt::Debug for SliceRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl fmt::Debug for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().fmt(f)
    }
}

impl PartialEq for Slices {
    fn eq(&self, other: &Slices) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Extend<Slice> for Slices {
    fn extend<I: IntoIterator<Item = Slice>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

impl FromIterator<Slice> for Slices {
    fn from_iter<I: IntoIterator<Item = Slice>>(rows: I) -> Slices {
        let mut slices = Slices::new();
        slices.extend(rows);
        slices
    }
}

impl<'a> IntoIterator for &'a Slices {
    type Item = Slice;
    type IntoIter = SliceRows<'a>;

    fn into_iter(self) -> SliceRows<'a> {
        self.iter()
    }
}

impl RowStore<Slice> for Slices {
    fn add(&mut self, row: Slice) {
        self.push(row);
    }

    fn join(&mut self, part: Slices, _left: usize) {
        self.append(part);
    }

    fn rows(&self) -> std::borrow::Cow<'_, [Slice]> {
        self.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::{NO_PROCESSOR, NO_WAIT};
    use super::*;
    use crate::ids::{RunId, ThreadId, WaitId};
    use crate::words::State;

    /// A row with values of every size.
    fn row(at: u64) -> Slice {
        let end_ns = at * 1000 + if at % 9000 == 17 { 5 << 32 } else { 300 };
        Slice {
            run: RunId(at as u32 / 20_000),
            thread: ThreadId(at as u32 % 7),
            start_ns: at * 1000,
            end_ns,
            state: if at.is_multiple_of(3) { State::Blocked } else { State::Running },
            spent_ns: if (12_288..14_000).contains(&at) { 100 } else { end_ns - at * 1000 },
            count: if (12_288..14_000).contains(&at) { 9 } else { 1 },
            wait: at.is_multiple_of(3).then_some(WaitId(at as u32)),
            processor: (!at.is_multiple_of(3)).then_some(at as u32 % 4),
        }
    }

    #[test]
    fn every_row_comes_back_as_it_was() {
        let odd = [
            Slice { end_ns: 5, ..row(9) },
            Slice { wait: Some(NO_WAIT), ..row(9) },
            Slice { processor: Some(u32::from(NO_PROCESSOR)), ..row(9) },
            Slice { processor: Some(u32::MAX), ..row(9) },
            Slice { spent_ns: u64::MAX, count: u32::MAX, ..row(9) },
            Slice { start_ns: u64::MAX, end_ns: u64::MAX, ..row(9) },
        ];
        for odd in odd {
            let rows: Vec<Slice> = (0..50_000).map(|at| if at == 30_000 { odd } else { row(at) }).collect();
            let slices: Slices = rows.iter().copied().collect();
            assert!(slices.iter().eq(rows.iter().copied()));
            assert!((0..rows.len()).step_by(997).all(|at| slices.get(at).as_ref() == rows.get(at)));
            let counted = slices.range(4_000..9_000).fold(0, |sum, row| sum + row.start_ns);
            assert_eq!(counted, rows[4_000..9_000].iter().map(|row| row.start_ns).sum::<u64>());
            assert!(slices.range(4_000..9_000).eq(rows[4_000..9_000].iter().copied()));
            assert_eq!((slices.len(), slices.last()), (rows.len(), rows.last().copied()));
            assert_eq!(slices.get(rows.len()), None);
            let places = [3, 5, 4_096, 4_095, 49_999, 50_000, 2, 49_998];
            let picked: Vec<Slice> = slices.picked(places.into_iter()).collect();
            assert_eq!(picked, places.iter().filter_map(|at| rows.get(*at).copied()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_are_joined_in_order() {
        let parts = [0..3, 3..10_000, 10_000..10_001, 10_001..10_001, 10_001..18_192, 18_192..30_000];
        let mut joined = Slices::new();
        parts.into_iter().for_each(|part| joined.append(part.map(row).collect()));
        assert_eq!(joined, (0..30_000).map(row).collect());
        assert!((0..30_000).all(|at| joined.get(at as usize) == Some(row(at))));
    }
}
