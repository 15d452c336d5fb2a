//! What each thread did when, at any level of detail.
//!
//! A run may have ten million slices and a screen has two thousand columns. For each thread and bucket of time the state
//! that took most of it is worked out here, in levels of ever finer buckets, so that a picture costs what it shows and not
//! what was recorded. Rooms: [`timeline`] slices and system calls as one sequence a thread; [`levels`] buckets; [`tasks`]
//! what the program's marks name.
//!
//! May import: `observed`, `analyze`, `recording`.

pub mod levels;
pub mod tasks;
pub mod timeline;

pub use timeline::{Class, Kind, Lane, Span, Timeline};
