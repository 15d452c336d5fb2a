//! Statistics: medians, intervals from few values, differences inside blocks.
//!
//! Rooms: `measured` medians, quantiles and measured values; [`intervals`] how uncertain they are; [`paired`]
//! differences inside blocks.
//!
//! May import: `answer`.

pub mod intervals;
mod measured;
pub mod paired;

pub use measured::*;
