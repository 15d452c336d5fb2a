//! What the model reads out of a recording.

#[path = "../common/mod.rs"]
mod common;

mod held_up;
mod parked_tasks;
mod queues;
mod same_work;
mod timed;
mod window;
