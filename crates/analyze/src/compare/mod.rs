//! Comparisons between the runs of two recordings, or of two cases of a sweep.
//!
//! Rooms: `recordings` two recordings; [`blocks`] two cases whose runs were made in the same blocks; `counters` which
//! counters of such runs differ; `drift` how far the machine itself drifted; `load` what other programs may have done;
//! `summary` the conclusion in words; [`experiment`] what trials of a program say about a cause.
//!
//! May import: `account`, `amounts`, `answer`, `causes`, `curve`, `disturbance`, `model`, `statistics`, `words`,
//! `recording`.

pub mod blocks;
mod counters;
mod drift;
pub mod experiment;
mod load;
mod recordings;
mod summary;

pub use recordings::{compare, curve_change, interleaved, noise};
