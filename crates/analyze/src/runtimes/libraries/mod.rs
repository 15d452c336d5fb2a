//! Libraries that make threads wait in ways of their own. Rooms: [`openmp`] teams of threads; [`sqlite`] the lock on a
//! database file.
//!
//! May import: `function_name`, `names`, `runtime`, `types`.

pub(super) mod openmp;
pub(super) mod sqlite;
