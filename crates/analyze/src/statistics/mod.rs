//! Statistics: medians, intervals from few values, differences inside blocks.
//!
//! Rooms: `measured` medians and quantiles, and what they are taken of; [`intervals`] how uncertain they are;
//! [`paired`] differences inside blocks; [`queueing`] how many wait in a simple queue.
//!
//! May import: `answer`.

pub mod intervals;
mod measured;
pub mod paired;
pub mod queueing;

pub use measured::*;
