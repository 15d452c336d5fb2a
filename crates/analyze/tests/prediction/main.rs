//! What the program would do on more processors, or without a cause.

#[path = "../common/mod.rs"]
mod common;

mod foresight;
mod processors;
