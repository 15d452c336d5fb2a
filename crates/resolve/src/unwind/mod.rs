//! Registers and stack bytes → code addresses.
//!
//! Rooms: `unwinder` one process and its stacks; `arch` the registers of each architecture; `leaving` how a frame is
//! left where the file does not say so. May import: `address`, `error`, `go`, `jit`, `maps`, `module`.

mod arch;
pub(crate) mod leaving;
mod unwinder;

pub use unwinder::*;
