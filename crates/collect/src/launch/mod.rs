//! Running the target: started as the user who asked for it, measured from outside, its output handed on.
//!
//! Rooms: `run` one run from start to end; `affinity` on which processors; `output` what the target prints; [`user`] on whose behalf knee runs.
//!
//! May import: `counters`, `error`, `machine`, `procfs`, `rights`, `stop`.

mod affinity;
mod output;
mod run;
pub mod user;

pub use output::{OutputSink, Stream};
pub use run::{Command, Exit, Finished, RunOptions, run_clean};
pub(crate) use run::{pidfd_open, run};
