//! From addresses to frames: memory maps, unwinding of copied stacks, and names for code addresses.
//!
//! | module | holds |
//! |---|---|
//! | [`maps`], [`spans`] | the memory map of a process, and its code as few ranges |
//! | [`address`] | code addresses and registers |
//! | `elf`, [`build_id`], [`module`], `functions` | mapped files, read once and shared |
//! | [`executable`] | how a program's file is loaded: which C library, which libraries |
//! | [`unwind`] | registers and stack bytes → code addresses |
//! | `go` | the function table of Go programs |
//! | [`goroutines`] | goroutines and the stacks of those that wait, from a process's memory |
//! | [`symbols`] | code addresses → functions, inlined ones (each a `site`), files, lines; `demangle` and `rust_path` make names readable |
//! | [`jit`] | names of code that was made at run time |
//! | `assembly` | the methods of .NET's class library, which is compiled ahead of time |
//! | [`python`] | the functions of Python, from the interpreter's memory (`memory`) |
//! | [`decode`] | code bytes and registers → memory accesses near a sample, loops that wait |
//! | [`objects`] | data addresses → variables |
//! | [`data_types`] | data addresses → members of variables and of types |
//! | [`mod@probes`] | the marks in a program's file, and where their arguments are |
//! | [`error`] | what can go wrong; none of it ends a run |
//!
//! Everything that comes from the target (paths, files, symbol names) is hostile input: it is bounded and checked, and
//! what cannot be read is reported and left out. The crate prints nothing and maps no file into memory.
//!
//! May import: no crate of the workspace.
#![forbid(unsafe_code)]

pub mod address;
mod assembly;
pub mod build_id;
pub mod data_types;
pub mod decode;
mod demangle;
mod elf;
pub mod error;
mod functions;
mod go;
pub mod goroutines;
pub mod jit;
pub mod maps;
mod memory;
pub mod module;
pub mod objects;
pub mod probes;
pub mod python;
mod rust_path;
mod site;
pub mod spans;
pub mod symbols;
pub mod unwind;

pub use address::{CodeAddress, UserRegisters};
pub use assembly::Assemblies;
pub use build_id::BuildId;
pub use data_types::{DataTypes, Moment, Placed};
pub use elf::executable;
pub use error::{ModuleError, ModuleProblem, SymbolProblem};
pub use goroutines::{GoroutineRecord, GoroutineRecords, ParkedGoroutine, ParkedGoroutines};
pub use jit::{JitFunction, RuntimeCode};
pub use maps::{MappedFile, Mapping, MapsError, parse_maps};
pub use module::{Module, ModuleCache, ModuleRef};
pub use objects::{Object, Objects};
pub use probes::{Probe, ProbesError, probes, probes_in_file};
pub use python::Python;
pub use spans::{code_spans, executable_spans, joined, merge_spans};
pub use symbols::{FunctionSite, ResolvedFrame, Symbolizer};
pub use unwind::{DEPTH_LIMIT, Located, StackEnd, Truncation, Unwinder};
