//! Containers for the rows of a table: a vector, or something that takes less memory.

use std::borrow::Cow;

/// The most rows for which memory is reserved before they are read, because a damaged file may claim any number.
const EXPECTED_ROWS: usize = 4 << 20;

/// Takes the rows of a table one by one and part by part.
pub(crate) trait RowStore<T: Clone>: Default {
    /// Adds one row at the end.
    fn add(&mut self, row: T);
    /// Adds a part at the end. `left`: how many parts are still to be added, including this one.
    fn join(&mut self, part: Self, left: usize);
    /// All rows as a table has them.
    fn rows(&self) -> Cow<'_, [T]>;
}

impl<T: Clone> RowStore<T> for Vec<T> {
    fn add(&mut self, row: T) {
        self.push(row);
    }

    fn join(&mut self, mut part: Vec<T>, left: usize) {
        if self.is_empty() && left < 2 {
            *self = part;
            return;
        }
        if self.capacity() - self.len() < part.len() {
            // Parts are mostly of one size, so the room for all of them is reserved now, up to a limit. If that fails,
            // the vector grows as rows are added.
            let expected = part.len().saturating_mul(left);
            let _ = self.try_reserve_exact(expected.min(EXPECTED_ROWS.max(self.len() / 2)).max(part.len()));
        }
        self.append(&mut part);
    }

    fn rows(&self) -> Cow<'_, [T]> {
        Cow::Borrowed(self)
    }
}
