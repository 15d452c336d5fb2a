//! Observing a run of one's own program without privileges.
//!
//! Rooms: `perf` fetches what perf events tell of context switches and samples; `track` makes one thread's time of them,
//! `ticks` finds samples that the kernel did not show; `looks` reads in /proc what sleeping threads wait for, within
//! `budget`; `waits` sums that up; `watch` is the consumer of all this. `poll` does with /proc alone, by way of `sampled`. `task` reads a
//! thread's files, `books` writes the rows. May import: `launch`, `trace::image`,
//! `trace::intern`, `recording`, `resolve`, libc.
//!
//! The rows have the meaning that they have where the kernel tells everything. What cannot be known is absent: who woke a
//! thread, locks and stacks of the kernel, counts of system calls. Between leaving the processor to wait and coming back
//! nothing tells when a thread was woken; `track` says how its time in the queue is found.

mod books;
mod budget;
pub(crate) mod live;
mod looks;
mod perf;
mod poll;
mod sampled;
mod task;
mod ticks;
mod track;
mod waits;
mod watch;

use crate::error::Error;
use crate::launch::{Command, Finished, RunOptions, run};
use crate::machine::usable_processors;
use crate::output::OutputSink;
use crate::sampling::sample_hz;
use crate::stop::Stop;
use crate::trace::intern::Interner;
use recording::{RunId, Writer};
use resolve::ModuleCache;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pause between two looks. Records wait in rings that hold more than ten times that; a shorter pause finds more of the
/// short waits, and costs more.
const POLL: Duration = Duration::from_millis(10);

const UNKNOWN_PLACES: &str = "places where threads waited (too short to be looked at)";
const INFERRED_PLACES: &str = "looks at waits (taken for the same as others of their length)";
const UNREAD_QUEUES: &str = "waits' times in the run queue";

/// With what a run is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// Perf events, and /proc for what threads sleep in.
    Perf,
    /// /proc alone.
    Proc,
}

/// Turns what is seen of a run into rows, on a thread of its own.
trait Consumer {
    /// Observing begins, on the calling thread.
    fn starts(&mut self);
    /// Takes what is there.
    fn poll(&mut self);
    /// Writes what is left, and returns the nanoseconds that other programs ran meanwhile, without knee. `cpu_ns` is the
    /// processor time that the kernel counted for the run as a whole.
    fn finish(self: Box<Self>, cpu_ns: Option<u64>) -> Result<u64, Error>;
}

/// Whether perf events may be used, found out by trying.
pub(crate) fn perf_allowed() -> io::Result<()> {
    perf::allowed()
}

/// Observes runs of one recording; stacks keep their handles from run to run.
pub(crate) struct Unprivileged {
    interner: Interner,
    cache: ModuleCache,
    means: Means,
}

impl Unprivileged {
    pub(crate) fn new(means: Means) -> Unprivileged {
        Unprivileged { interner: Interner::new(), cache: ModuleCache::new(), means }
    }

    /// As [`crate::trace::Tracer::notes`].
    pub(crate) fn notes(&self) -> Vec<String> {
        self.interner.sentences()
    }

    /// Runs the command observed and appends the rows of the run, all but its row in `runs`.
    pub(crate) fn run(
        &mut self,
        command: &Command,
        options: &RunOptions,
        sink: &mut dyn OutputSink,
        stop: &Stop,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Finished, Error> {
        let Unprivileged { interner, cache, means } = self;
        let period_ns = 1_000_000_000 / sample_hz(usable_processors().len());
        let place: Mutex<Option<Box<dyn Consumer + Send + '_>>> = Mutex::new(None);
        // Both are wanted by the consumer, which is made when the child is there.
        let mut parts = Some((interner, writer));
        let mut prepare = |pid: i32| {
            let child = pid.unsigned_abs();
            let events = match means {
                Means::Perf => Some(perf::Events::open(pid, period_ns)?),
                Means::Proc => None,
            };
            if let Some((interner, writer)) = parts.take() {
                let made: Box<dyn Consumer + Send + '_> = match events {
                    Some(events) => {
                        Box::new(watch::Watch::new(run_id, child, events, period_ns, interner, cache, writer))
                    }
                    None => Box::new(poll::Poll::new(run_id, child, interner, cache, Some(writer))),
                };
                *place.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(made);
            }
            Ok(())
        };
        let ended = AtomicBool::new(false);
        let finished = std::thread::scope(|scope| {
            scope.spawn(|| observe(&place, &ended));
            let finished = run(command, options, sink, stop, Some(&mut prepare));
            ended.store(true, Ordering::SeqCst);
            finished
        });
        let consumer = place.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Also after a failed run: what was seen until then is worth keeping.
        let cpu_ns = finished.as_ref().ok().map(|finished| finished.user_ns + finished.system_ns);
        let written = consumer.map(|consumer| consumer.finish(cpu_ns)).transpose();
        let finished = finished?;
        let foreign_ns = written?.or(finished.foreign_ns);
        Ok(Finished { foreign_ns, ..finished })
    }
}

fn observe(place: &Mutex<Option<Box<dyn Consumer + Send + '_>>>, ended: &AtomicBool) {
    let mut started = false;
    while !ended.load(Ordering::SeqCst) {
        if let Some(consumer) = place.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_mut() {
            if !std::mem::replace(&mut started, true) {
                consumer.starts();
            }
            consumer.poll();
        }
        std::thread::sleep(POLL);
    }
}

/// Writes stacks, frames and modules that no part holds yet.
fn append_names(interner: &mut Interner, writer: &mut Writer) -> Result<(), Error> {
    let (stacks, frames, modules) = interner.take_rows();
    writer.append(&stacks)?;
    writer.append(&frames)?;
    Ok(writer.append(&modules)?)
}
