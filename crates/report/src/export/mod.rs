//! One observed run in formats that other tools open.
//!
//! Rooms: [`folded`] stacks as lines of text; [`pprof`] profiles; [`firefox`] the Firefox Profiler's; [`perfetto`]
//! traces; `names` what code is called in all of them; `wire` the encoding of protocol buffers.
//!
//! May import: `lanes`, `observed`, `show`, `text`, `analyze`, `recording`.

pub mod firefox;
pub mod folded;
mod names;
pub mod perfetto;
pub mod pprof;
mod wire;
