//! What holds the rows of a table in memory: a vector, or something that takes less room.

use std::borrow::Cow;

/// Rows for which memory is reserved before they are read, at most. What a file claims beyond that is believed when it
/// has been read.
const EXPECTED_ROWS: usize = 4 << 20;

/// Takes the rows of a table one by one and part by part.
pub(crate) trait Held<T: Clone>: Default {
    /// Adds one row at the end.
    fn add(&mut self, row: T);
    /// Adds a part at the end. `left`: how many parts are to come, with this one.
    fn join(&mut self, part: Self, left: usize);
    /// All rows as a table has them.
    fn rows(&self) -> Cow<'_, [T]>;
}

impl<T: Clone> Held<T> for Vec<T> {
    fn add(&mut self, row: T) {
        self.push(row);
    }

    fn join(&mut self, mut part: Vec<T>, left: usize) {
        if self.is_empty() && left < 2 {
            *self = part;
            return;
        }
        if self.capacity() - self.len() < part.len() {
            // Parts are mostly of one size, so that the last one fits into the room. What a few parts let expect is
            // believed only so far. If there is no room, the rows make it as they come.
            let expected = part.len().saturating_mul(left);
            let _ = self.try_reserve_exact(expected.min(EXPECTED_ROWS.max(self.len() / 2)).max(part.len()));
        }
        self.append(&mut part);
    }

    fn rows(&self) -> Cow<'_, [T]> {
        Cow::Borrowed(self)
    }
}
