//! Some thousand slices in a row, each kept in as few bytes as the widest of them allows.

use crate::ids::{RunId, ThreadId, WaitId};
use crate::tables::Slice;
use crate::words::State;
use std::ops::Range;

/// Rows that follow each other.
#[derive(Clone)]
pub(super) enum Block {
    /// Rows of one run, close to each other in time, thread and wait; none is summed up.
    Narrow(Front, Box<[NarrowSlice]>),
    /// Rows of one run; none is summed up.
    Single(RunId, Box<[SingleSlice]>),
    /// Rows of one run.
    Summed(RunId, Box<[SummedSlice]>),
    Whole(Box<[Slice]>),
}

/// What the rows of a block have in common: the run, and the smallest of each number.
#[derive(Clone, Copy)]
pub(super) struct Front {
    run: RunId,
    start_ns: u64,
    thread: u32,
    wait: u32,
}

/// A slice that is not summed up, as distances from the front of its block.
#[derive(Clone, Copy)]
pub(super) struct NarrowSlice {
    start_ns: u32,
    length_ns: u32,
    thread: u16,
    /// [`NO_NEAR_WAIT`] for none.
    wait: u16,
    /// [`NO_PROCESSOR`] for none.
    processor: u16,
    state: State,
}

/// A slice that is not summed up, without its run.
#[derive(Clone, Copy)]
pub(super) struct SingleSlice {
    start_ns: u64,
    length_ns: u32,
    thread: ThreadId,
    /// [`NO_WAIT`] for none.
    wait: WaitId,
    /// [`NO_PROCESSOR`] for none.
    processor: u16,
    state: State,
}

const NO_NEAR_WAIT: u16 = u16::MAX;
pub(super) const NO_WAIT: WaitId = WaitId(u32::MAX);
pub(super) const NO_PROCESSOR: u16 = u16::MAX;

/// The same for a slice that may be a part of a summed-up stretch.
#[derive(Clone, Copy)]
pub(super) struct SummedSlice {
    slice: SingleSlice,
    spent_ns: u32,
    count: u32,
}

impl Front {
    fn of(rows: &[Slice], run: RunId) -> Front {
        let least = |of: fn(&Slice) -> Option<u32>| rows.iter().filter_map(of).min().unwrap_or(0);
        Front {
            run,
            start_ns: rows.iter().map(|row| row.start_ns).min().unwrap_or(0),
            thread: least(|row| Some(row.thread.0)),
            wait: least(|row| row.wait.map(|wait| wait.0)),
        }
    }
}

/// A processor in two bytes; none where it does not fit.
fn processor(row: &Slice) -> Option<u16> {
    let Some(processor) = row.processor else { return Some(NO_PROCESSOR) };
    u16::try_from(processor).ok().filter(|processor| *processor != NO_PROCESSOR)
}

impl NarrowSlice {
    /// None where a value does not fit. `spent_ns` and `count` are not kept.
    fn of(row: &Slice, front: &Front) -> Option<NarrowSlice> {
        let wait = match row.wait {
            Some(wait) => u16::try_from(wait.0 - front.wait).ok().filter(|wait| *wait != NO_NEAR_WAIT)?,
            None => NO_NEAR_WAIT,
        };
        Some(NarrowSlice {
            start_ns: u32::try_from(row.start_ns - front.start_ns).ok()?,
            length_ns: u32::try_from(row.end_ns.checked_sub(row.start_ns)?).ok()?,
            thread: u16::try_from(row.thread.0 - front.thread).ok()?,
            wait,
            processor: processor(row)?,
            state: row.state,
        })
    }

    #[inline]
    pub(super) fn row(&self, front: &Front) -> Slice {
        let start_ns = front.start_ns + u64::from(self.start_ns);
        Slice {
            run: front.run,
            thread: ThreadId(front.thread + u32::from(self.thread)),
            start_ns,
            end_ns: start_ns + u64::from(self.length_ns),
            state: self.state,
            spent_ns: u64::from(self.length_ns),
            count: 1,
            wait: (self.wait != NO_NEAR_WAIT).then_some(WaitId(front.wait.wrapping_add(u32::from(self.wait)))),
            processor: (self.processor != NO_PROCESSOR).then_some(u32::from(self.processor)),
        }
    }
}

impl SingleSlice {
    /// None where a value does not fit. `spent_ns` and `count` are not kept.
    fn of(row: &Slice) -> Option<SingleSlice> {
        Some(SingleSlice {
            start_ns: row.start_ns,
            length_ns: u32::try_from(row.end_ns.checked_sub(row.start_ns)?).ok()?,
            thread: row.thread,
            wait: if row.wait == Some(NO_WAIT) { return None } else { row.wait.unwrap_or(NO_WAIT) },
            processor: processor(row)?,
            state: row.state,
        })
    }

    #[inline]
    pub(super) fn row(&self, run: RunId) -> Slice {
        Slice {
            run,
            thread: self.thread,
            start_ns: self.start_ns,
            end_ns: self.start_ns + u64::from(self.length_ns),
            state: self.state,
            spent_ns: u64::from(self.length_ns),
            count: 1,
            wait: (self.wait != NO_WAIT).then_some(self.wait),
            processor: (self.processor != NO_PROCESSOR).then_some(u32::from(self.processor)),
        }
    }
}

impl SummedSlice {
    fn of(row: &Slice) -> Option<SummedSlice> {
        Some(SummedSlice {
            slice: SingleSlice::of(row)?,
            spent_ns: u32::try_from(row.spent_ns).ok()?,
            count: row.count,
        })
    }

    #[inline]
    pub(super) fn row(&self, run: RunId) -> Slice {
        Slice { spent_ns: u64::from(self.spent_ns), count: self.count, ..self.slice.row(run) }
    }
}

impl Block {
    pub(super) fn new(rows: &[Slice]) -> Block {
        let run = rows.first().map(|row| row.run).unwrap_or_default();
        let single = |row: &Slice| row.count == 1 && row.end_ns.checked_sub(row.start_ns) == Some(row.spent_ns);
        let less = match rows.iter().all(|row| row.run == run) {
            true if rows.iter().all(single) => {
                let front = Front::of(rows, run);
                let narrow = all(rows, |row| NarrowSlice::of(row, &front)).map(|rows| Block::Narrow(front, rows));
                narrow.or_else(|| all(rows, SingleSlice::of).map(|rows| Block::Single(run, rows)))
            }
            true => all(rows, SummedSlice::of).map(|rows| Block::Summed(run, rows)),
            false => None,
        };
        less.unwrap_or_else(|| Block::Whole(rows.into()))
    }

    pub(super) fn rows(&self) -> BlockRows<'_> {
        match self {
            Block::Narrow(front, rows) => BlockRows::Narrow(front, rows),
            Block::Single(run, rows) => BlockRows::Single(*run, rows),
            Block::Summed(run, rows) => BlockRows::Summed(*run, rows),
            Block::Whole(rows) => BlockRows::Whole(rows),
        }
    }
}

/// All of them, if all fit.
fn all<T>(rows: &[Slice], of: impl Fn(&Slice) -> Option<T>) -> Option<Box<[T]>> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        found.push(of(row)?);
    }
    Some(found.into())
}

/// The rows of a block, or those that do not fill a block yet.
#[derive(Clone, Copy)]
pub(super) enum BlockRows<'a> {
    Narrow(&'a Front, &'a [NarrowSlice]),
    Single(RunId, &'a [SingleSlice]),
    Summed(RunId, &'a [SummedSlice]),
    Whole(&'a [Slice]),
}

impl BlockRows<'_> {
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Slice> {
        match self {
            BlockRows::Narrow(front, rows) => rows.get(at).map(|row| row.row(front)),
            BlockRows::Single(run, rows) => rows.get(at).map(|row| row.row(*run)),
            BlockRows::Summed(run, rows) => rows.get(at).map(|row| row.row(*run)),
            BlockRows::Whole(rows) => rows.get(at).copied(),
        }
    }
}

/// The rows at these places, as far as they exist.
pub(super) fn cut<T>(rows: &[T], places: Range<usize>) -> &[T] {
    rows.get(places.start..places.end.min(rows.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_row_takes_less_than_a_third_of_a_row() {
        let sizes = (size_of::<NarrowSlice>(), size_of::<SingleSlice>(), size_of::<SummedSlice>(), size_of::<Slice>());
        assert_eq!(sizes, (16, 24, 32, 56));
    }

    #[test]
    fn the_widest_row_decides() {
        let near = Slice {
            run: RunId(1),
            thread: ThreadId(1 << 20),
            start_ns: 1 << 50,
            end_ns: (1 << 50) + 7,
            state: State::Blocked,
            spent_ns: 7,
            count: 1,
            wait: Some(WaitId(1 << 30)),
            processor: Some(3),
        };
        let kind = |other: Slice| match Block::new(&[near, other]) {
            Block::Narrow(..) => "narrow",
            Block::Single(..) => "single",
            Block::Summed(..) => "summed",
            Block::Whole(_) => "whole",
        };
        let far = 1 << 32;
        assert_eq!(kind(Slice { wait: None, processor: None, ..near }), "narrow");
        assert_eq!(kind(Slice { wait: Some(WaitId((1 << 30) + 0xfffe)), ..near }), "narrow");
        assert_eq!(kind(Slice { wait: Some(WaitId((1 << 30) + 0xffff)), ..near }), "single");
        assert_eq!(kind(Slice { thread: ThreadId(3), ..near }), "single");
        assert_eq!(kind(Slice { start_ns: near.start_ns + far, end_ns: near.end_ns + far, ..near }), "single");
        assert_eq!(kind(Slice { spent_ns: 5, ..near }), "summed");
        assert_eq!(kind(Slice { end_ns: near.end_ns + far, spent_ns: 7 + far, ..near }), "whole");
        assert_eq!(kind(Slice { run: RunId(2), ..near }), "whole");
    }
}
