//! The tables of one traced run: threads, locks, waits, system calls, functions, lines, sharing, who wakes whom.
//!
//! Rooms: [`view`] a table with typed cells, as text, JSON and CSV; [`pick`] which run, thread and time; one file per
//! table. The HTML page shows the same tables.
//!
//! May import: `lanes`, `observed`, `text`, `words`, `analyze`, `recording`.

pub mod functions;
pub mod lanes;
pub mod locks;
pub mod pick;
pub mod sharing;
pub mod syscalls;
pub mod threads;
pub mod view;
pub mod waits;

pub use pick::Pick;
pub use view::View;

/// What an imported profile cannot show, in a sentence.
pub const NOT_IN_PROFILES: &str = "The recording was imported from a profile, which holds samples alone: locks, waits, who wakes \
                          whom, system calls and shared memory are not in it.";
