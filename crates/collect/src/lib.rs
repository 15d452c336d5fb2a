//! Everything privileged: running the target, measuring it from outside, and observing it through the kernel.
//!
//! [`launch`] runs a command once and measures it. What is observed takes one way: `sources` (programs in the kernel, perf
//! events, /proc) give `events`, with handles for stacks from `stacks`; `build` makes rows of them; `sinks` write these into
//! a recording or show them. [`observer`] chooses the source of a run, [`tracer`] also observes programs that run already,
//! [`live`] keeps nothing and shows what happens now; `observation` is what they share. `sharing` looks for memory that
//! threads share. [`affinity`] keeps the target to some
//! processors. [`rights`] gives up those that are not needed; [`machine`] and [`probe`] describe what is there and
//! [`busy`] what else runs there; `bpf` is the loader's side of the programs in `../bpf`. Nothing here prints. Every `unsafe`
//! of the project is in this crate, each with its reason.
//!
//! May import: `recording`, `resolve`, aya, caps, libc.

pub mod affinity;
mod bpf;
mod build;
pub mod busy;
mod cgroup;
mod counters;
pub mod error;
mod events;
mod file_kind;
pub mod launch;
pub mod live;
pub mod machine;
mod observation;
pub mod observer;
mod output;
pub mod probe;
mod processors;
mod procfs;
pub mod rights;
mod sampling;
mod sharing;
mod sinks;
mod sources;
mod stacks;
pub mod stop;
mod syscall_names;
mod task;
pub mod tracer;
pub mod user;

pub use error::Error;
pub use launch::{Command, Exit, Finished, RunOptions, run_clean};
pub use observer::{Collector, Observer};
pub use output::{OutputSink, Stream};
pub use stop::Stop;
pub use tracer::{Attached, End, Tracer};
