//! Sketches of work that one thread does not have.

mod calls;
mod code;
mod grown;
mod memory;
