//! Sketches of threads that wait for work.

mod handing;
mod pace;
mod pausing;
mod stages;
