//! Profiles of other tools as recordings: what `perf script` prints becomes samples, stacks and threads.
//!
//! Rooms: [`perf_script`] the text, line by line; `event` which events measure processor time; `header` what
//! `perf script --header` says about the machine; `names` handles for functions, stacks and modules; `threads` the
//! times of threads, as far as samples show them; [`profile`] puts a recording together. Nothing is invented: what
//! samples cannot show is absent, and `meta.json` says that the recording was imported.
//!
//! May import: `recording`. Reads only its input, opens no file, knows no clock.
#![forbid(unsafe_code)]

mod event;
mod header;
mod names;
pub mod perf_script;
pub mod profile;
mod threads;

pub use profile::{Error, Source, import};
