//! Registers and stack bytes → code addresses.
//!
//! Rooms: `unwinder` one process and its stacks; `arch` the registers of each architecture; `leaving` how a frame is
//! left where the file does not say so, by the instructions there; `epilogue` the same by the function's end; `in_file`
//! which of these holds for a function in a file; `rest` the bytes of a stack.
//! May import: `address`, `error`, `go`, `jit`, `maps`, `module`.

mod arch;
mod epilogue;
mod in_file;
pub(crate) mod leaving;
mod rest;
mod unwinder;

pub use unwinder::*;
