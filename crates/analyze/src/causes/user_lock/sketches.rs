//! Sketches of locks.

mod classes;
mod holding_place;
mod parking;
mod placed;
mod queues;
mod styles;
mod whole_answers;
