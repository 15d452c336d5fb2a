//! Sketches of threads that wait for work.

mod pausing;
mod stages;
