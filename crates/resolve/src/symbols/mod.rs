//! Code addresses → functions, inlined functions, files and lines.
//!
//! Rooms: `symbolizer` asks the others in turn; `symbol_table` the names in a file; `lines` its debug information, with
//! `split` for parts of that in separate files; `debug_file` finds the file that has it; `kernel` the kernel's
//! functions; `coreclr` those of .NET's virtual machine, which has no symbols. May import: `build_id`, `demangle`, `elf`,
//! `error`, `maps`, `module`, `rust_path`, `site`.

mod coreclr;
pub(crate) mod debug_file;
mod kernel;
mod lines;
mod split;
pub(crate) mod symbol_table;
mod symbolizer;

pub use symbolizer::{FunctionSite, ResolvedFrame, Symbolizer};
