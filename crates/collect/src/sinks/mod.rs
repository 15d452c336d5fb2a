//! Where rows go: into a recording, or to a screen.
//!
//! May import: `build`, `error`, `events`, `sources`, `stacks`, `recording`.

mod live;
mod recorder;

pub(crate) use live::LiveSink;
pub use live::Now;
pub(crate) use recorder::Recorder;
