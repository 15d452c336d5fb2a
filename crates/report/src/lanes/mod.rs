//! What each thread did when, at any level of detail.
//!
//! A run may have ten million slices, but a screen has two thousand columns. For each thread and bucket of time the
//! state that took most of it is computed here, in levels of ever finer buckets, so that a picture costs as much as it
//! shows, not as much as was recorded. Rooms: [`timeline`] slices and system calls as one sequence per
//! thread; `kinds` and `class` what these show; [`sampled`] what was run, by samples; [`drawing`] lanes one at a time;
//! [`levels`] buckets; [`tasks`] the tasks that the program's marks name.
//!
//! May import: `observed`, `analyze`, `recording`.

mod class;
pub mod drawing;
mod kinds;
pub mod levels;
pub mod sampled;
pub mod tasks;
pub mod timeline;

pub use class::Class;
pub use drawing::Drawing;
pub use kinds::Kind;
pub use timeline::{Lane, Span, Timeline};
