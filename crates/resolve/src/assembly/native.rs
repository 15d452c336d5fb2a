//! The compressed numbers, arrays and hash tables of ReadyToRun (nativeformatreader.h).

use super::image::Bytes;

/// Entries of one array or table that are read at most. The class library has some 40,000 methods.
const ENTRIES_LIMIT: u32 = 2_000_000;

/// An unsigned number, and where it ends.
pub(super) fn unsigned(bytes: Bytes<'_>, at: usize) -> Option<(u32, usize)> {
    let byte = |number: usize| bytes.byte(at.checked_add(number)?).map(u32::from);
    let first = byte(0)?;
    Some(match first.trailing_ones() {
        0 => (first >> 1, at + 1),
        1 => (first >> 2 | byte(1)? << 6, at + 2),
        2 => (first >> 3 | byte(1)? << 5 | byte(2)? << 13, at + 3),
        3 => (first >> 4 | byte(1)? << 4 | byte(2)? << 12 | byte(3)? << 20, at + 4),
        4 => (bytes.word(at + 1)?, at + 5),
        _ => return None,
    })
}

/// A signed number, and where it ends.
pub(super) fn signed(bytes: Bytes<'_>, at: usize) -> Option<(i32, usize)> {
    let (value, end) = unsigned(bytes, at)?;
    // The number fills 7 bits of each of its bytes; with five bytes, it is whole.
    let spare = 32u32.saturating_sub(7 * (end - at) as u32);
    Some(((value << spare) as i32 >> spare, end))
}

/// An array in which entries may be absent.
pub(super) struct Array<'a> {
    bytes: Bytes<'a>,
    base: usize,
    count: u32,
    index_size: u32,
}

/// Entries are found in blocks of so many, each a binary tree.
const BLOCK: u32 = 16;

impl<'a> Array<'a> {
    /// The array at the start of these bytes.
    pub(super) fn read(bytes: Bytes<'a>) -> Option<Self> {
        let (header, base) = unsigned(bytes, 0)?;
        Some(Self { bytes, base, count: header >> 2, index_size: header & 3 })
    }

    /// Indexes of entries and where each begins.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, usize)> {
        (0..self.count.min(ENTRIES_LIMIT)).filter_map(|index| Some((index, self.entry(index)?)))
    }

    fn entry(&self, index: u32) -> Option<usize> {
        let block = (index / BLOCK) as usize;
        let start = match self.index_size {
            0 => u32::from(self.bytes.byte(self.base + block)?),
            1 => u32::from(self.bytes.short(self.base + 2 * block)?),
            _ => self.bytes.word(self.base + 4 * block)?,
        };
        let mut at = self.base + start as usize;
        let mut bit = BLOCK >> 1;
        while bit > 0 {
            let (value, after) = unsigned(self.bytes, at)?;
            at = match (index & bit != 0, value & 3) {
                (true, 2 | 3) => at.checked_add((value >> 2) as usize)?,
                (false, 1 | 3) => after,
                // Only one entry is in this part of the tree.
                (_, 0) => return (value >> 2 == index & (BLOCK - 1)).then_some(after),
                _ => return None,
            };
            bit >>= 1;
        }
        Some(at)
    }
}

/// Where the entries of the hash table at the start of these bytes begin.
pub(super) fn hashed(bytes: Bytes<'_>) -> Option<Vec<usize>> {
    let header = bytes.byte(0)?;
    let (base, index_size) = (1, header & 3);
    let buckets = 1usize.checked_shl(u32::from(header >> 2)).filter(|&buckets| buckets <= ENTRIES_LIMIT as usize)?;
    let bound = |number: usize| match index_size {
        0 => bytes.byte(base + number).map(usize::from),
        1 => bytes.short(base + 2 * number).map(usize::from),
        _ => bytes.word(base + 4 * number).map(|at| at as usize),
    };
    let mut entries = Vec::new();
    for bucket in 0..buckets {
        let (Some(start), Some(end)) = (bound(bucket), bound(bucket + 1)) else { break };
        let mut at = base + start;
        // Of each entry a byte of its hash, and how far away it is from here.
        while at < base + end && entries.len() < ENTRIES_LIMIT as usize {
            let Some((distance, after)) = signed(bytes, at + 1) else { break };
            entries.extend((at + 1).checked_add_signed(distance as isize));
            at = after;
        }
    }
    Some(entries)
}
