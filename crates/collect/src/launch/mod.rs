//! Running the target: started as the user who asked for it, measured from outside, its output passed on.
//!
//! Rooms: `command` what is run, and the result; `run` one run from start to end; `start` its start; `family` a process
//! with those that belong to it; `meter` what the
//! machine did meanwhile; `affinity` on which processors; `output` what the target prints; [`user`] on whose behalf
//! knee runs.
//!
//! May import: `counters`, `error`, `exit`, `machine`, `patience`, `procfs`, `rights`, `stop`, `task`.

mod affinity;
mod command;
pub(crate) mod family;
mod meter;
mod output;
mod run;
mod start;
pub mod user;

pub(crate) use command::nanoseconds;
pub use command::{Command, Finished, Loaded, RunOptions};
pub(crate) use meter::Meter;
pub(crate) use output::drain;
pub use output::{OutputSink, Stream};
pub use run::run_clean;
pub(crate) use run::{pidfd_open, reap, run};
pub(crate) use start::{Prepare, ready_to_start, start_child};
