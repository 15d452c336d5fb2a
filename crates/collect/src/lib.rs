//! Everything privileged: running the target, measuring it from outside, and observing it through the kernel.
//!
//! Rooms: [`launch`] runs a command once and measures it; [`trace`] does so while observing it and writes the rows;
//! `unprivileged` does the same with less, for users without rights; [`observer`] chooses between the two; [`live`] keeps
//! nothing and shows what happens now. [`rights`] gives up those that are not needed.
//! [`machine`] and [`probe`] describe what is there; `bpf` is the loader's side of the programs in `../bpf`.
//! Nothing here prints. Every `unsafe` of the project is in this crate, each with its reason.
//!
//! May import: `recording`, `resolve`, aya, caps, libc.

mod bpf;
mod cgroup;
mod counters;
pub mod error;
pub mod launch;
pub mod live;
pub mod machine;
pub mod observer;
mod output;
pub mod probe;
mod processors;
mod procfs;
pub mod rights;
mod sampling;
mod sharing;
pub mod stop;
mod syscall_names;
pub mod trace;
mod unprivileged;
pub mod user;

pub use error::Error;
pub use launch::{Command, Exit, Finished, RunOptions, run_clean};
pub use observer::{Collector, Observer};
pub use output::{OutputSink, Stream};
pub use stop::Stop;
pub use trace::{Attached, End, Tracer};
