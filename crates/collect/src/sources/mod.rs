//! Where events come from: programs in the kernel (`bpf`), perf events (`perf`), and files of /proc alone (`proc`).
//!
//! `sleeping` is what the last two share: reading in /proc what sleeping threads wait for. A source gives events to a
//! builder and copied stacks to `stacks`; it does not know the sinks of the rows.
//!
//! May import: `build`, `error`, `events`, `stacks`, `recording`, libc.

pub(crate) mod bpf;
pub(crate) mod perf;
pub(crate) mod proc;
mod sleeping;

use crate::build::Builder;
use crate::error::Error;
use crate::events::{Doing, ThreadLife, WaitPlace};
use crate::stacks::Stacks;
use recording::WaitId;

/// Observes one run of the target.
pub(crate) trait Source {
    /// Observing begins, on the calling thread.
    fn begin(&mut self) {}

    /// Takes what is there.
    fn poll(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder);

    /// Takes what is left. The target has ended or is no longer observed. `cpu_ns`: the processor time that the kernel
    /// counted for the whole run.
    fn finish(self, cpu_ns: Option<u64>, stacks: &mut Stacks<'_>, to: &mut Builder) -> Result<(), Error>;
}

/// A source that can also be asked what threads do now.
pub(crate) trait LiveSource: Source {
    /// The living threads, with their sums up to a time.
    fn living(&mut self, now_ns: u64) -> Vec<Living>;

    /// Where a wait is.
    fn place(&self, wait: WaitId, stacks: &mut Stacks<'_>) -> Option<WaitPlace>;

    /// Forgets what only recordings need, and the places of threads that have ended.
    fn forget(&mut self);

    /// Time between two CPU samples of one processor; 0 without samples.
    fn sample_period_ns(&self) -> u64;
}

/// A living thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Living {
    /// Its life up to now.
    pub(crate) life: ThreadLife,
    pub(crate) doing: Doing,
    /// Where it is blocked, and since when.
    pub(crate) blocked: Option<(WaitId, u64)>,
}
