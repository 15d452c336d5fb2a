//! The answer as a whole, whatever the causes.

#[path = "../common/mod.rs"]
mod common;

mod acquitted;
mod beyond;
mod larger_part;
mod near_misses;
mod power;
mod sentences;
mod single;
