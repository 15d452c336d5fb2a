//! Names of code that a program made at run time, by address and time.
//!
//! Runtimes tell the names of such code in files, when asked to: `/tmp/perf-PID.map`, which perf introduced, and jitdump
//! (`jit-PID.dump`), which also tells when code came to an address, and its lines. Both grow while the program runs and
//! belong to the target: whatever is in them is hostile.
//!
//! | module | holds |
//! |---|---|
//! | `code_map` | which code is at an address now |
//! | `perf_map`, `dump` | the two kinds of files, read as they grow |
//! | `origin` | the process that writes them, and where |
//! | `names` | all of it for one process |
//!
//! May import `demangle`, `maps` (numbers, mapped files), `module` (opening files).

mod code_map;
mod dump;
mod names;
mod origin;
mod perf_map;

pub use code_map::{Code, Found};
pub use dump::is_dump;
pub use names::RuntimeCode;
