//! Sketches of locks.

mod parking;
mod placed;
mod queues;
mod styles;
mod whole_answers;
