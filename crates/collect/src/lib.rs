//! Everything privileged: running the target, measuring it from outside, and observing it through the kernel.
//!
//! [`launch`] runs a command once and measures it; [`load`] runs a server under a load. Observing always goes through
//! the same stages: `sources` (programs in the kernel, perf events, /proc) give `events`, with handles for stacks from
//! `stacks`; `build` makes rows of them; `sinks` write the rows into a recording or show them. [`observe`] has the
//! three ways to observe: a run, a program that runs already, and a live view. `sharing` looks for memory that threads
//! share. [`rights`] gives up the rights that are not needed; [`machine`] and [`probe`] describe what is there; `bpf`
//! is the loader's side of the programs in `../bpf`. Nothing here prints. Every `unsafe` of the project is in this
//! crate, each with its reason.
//!
//! May import: `recording`, `resolve`, aya, caps, libc.

mod bpf;
mod build;
mod counters;
pub mod error;
mod events;
pub mod exit;
mod file_kind;
pub mod launch;
pub mod load;
pub mod machine;
pub mod observe;
mod patience;
pub mod probe;
mod procfs;
pub mod rights;
mod sampling;
mod sharing;
mod sinks;
mod sockets;
mod sources;
mod stacks;
pub mod stop;
mod syscall_names;
mod task;

pub use error::Error;
pub use exit::Exit;
pub use launch::{Command, Finished, Loaded, OutputSink, RunOptions, Stream, run_clean};
pub use observe::{Ahead, Attached, Collector, End, Observer, Tracer};
pub use stop::Stop;
