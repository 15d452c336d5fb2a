//! Sketches of threads that wait for work.

mod pace;
mod pausing;
mod stages;
