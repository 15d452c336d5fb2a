//! Where the time of the processors went, whatever caused it.

#[path = "../common/mod.rs"]
mod common;

mod balance;
mod halves;
mod latency;
mod measured;
mod processors;
