//! One observed run: a source, polled on a thread of its own, its events, and the recording that they go to.

use super::ahead::Ahead;
use crate::build::{Builder, Totals};
use crate::counters::Counters;
use crate::error::Error;
use crate::launch::OutputSink;
use crate::launch::{Command, Finished, Loaded, RunOptions, run};
use crate::load::{Loading, Server, serve};
use crate::sinks::Recorder;
use crate::sources::Source;
use crate::stacks::Stacks;
use crate::stop::Stop;
use recording::{RunId, Writer};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Pause between two readings of a source. Events wait in rings that hold more than ten times as much, and at this pace
/// the rings stay nearly empty; reading costs about 0.5 % of one processor. With a shorter pause, looks at sleeping
/// threads would find more short waits and cost more.
pub(crate) const POLL: Duration = Duration::from_millis(10);

/// A run that is being recorded.
pub(crate) struct Observation<'a, S> {
    source: S,
    stacks: Stacks<'a>,
    rows: Builder,
    recorder: Recorder<'a>,
}

impl<'a, S: Source> Observation<'a, S> {
    pub(crate) fn new(run: RunId, source: S, stacks: Stacks<'a>, writer: &'a mut Writer) -> Observation<'a, S> {
        Observation { source, stacks, rows: Builder::new(run), recorder: Recorder::new(writer) }
    }

    /// The parts, for what must happen before the first poll.
    pub(crate) fn parts(&mut self) -> (&mut S, &mut Stacks<'a>, &mut Builder) {
        (&mut self.source, &mut self.stacks, &mut self.rows)
    }

    /// Takes what is there.
    pub(crate) fn poll(&mut self) {
        self.source.poll(&mut self.stacks, &mut self.rows);
        self.recorder.write_parts(&mut self.rows);
    }

    /// Takes and writes what is left. `cpu_ns` as for [`Source::finish`]; `load` where the target is a server.
    pub(crate) fn finish(self, cpu_ns: Option<u64>, load: Option<&Loaded>) -> Result<Totals, Error> {
        let Observation { source, mut stacks, mut rows, recorder } = self;
        load.into_iter().for_each(|load| rows.leave_out(load));
        source.finish(cpu_ns, &mut stacks, &mut rows)?;
        let totals = rows.totals();
        recorder.finish(rows, stacks)?;
        Ok(totals)
    }
}

/// How a command is run.
pub(crate) struct Running<'a> {
    pub(crate) command: &'a Command,
    pub(crate) options: &'a RunOptions,
    pub(crate) sink: &'a mut dyn OutputSink,
    pub(crate) stop: &'a Stop,
    /// The load, where the command is a server.
    pub(crate) load: Option<Loading<'a>>,
    /// Begins to load the next run's programs when the target has ended.
    pub(crate) ahead: Option<Arc<Ahead>>,
}

/// Runs a command observed. `open` makes the source for the child, which waits to execute the target; after an error it
/// does not execute it.
pub(crate) fn observe<'a, S: Source + Send>(
    running: Running<'_>,
    run_id: RunId,
    stacks: Stacks<'a>,
    writer: &'a mut Writer,
    mut open: impl FnMut(i32) -> io::Result<S> + Send,
) -> Result<Finished, Error> {
    let observation: Mutex<Option<Observation<'a, S>>> = Mutex::new(None);
    // An option, so that `prepare` can move both into the observation once the child exists.
    let mut parts = Some((stacks, writer));
    let mut prepare = |pid: i32| {
        let source = open(pid)?;
        if let Some((stacks, writer)) = parts.take() {
            let begun = Observation::new(run_id, source, stacks, writer);
            *observation.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        }
        Ok(())
    };
    let ended = AtomicBool::new(false);
    let Running { command, options, sink, stop, load, ahead } = running;
    let finished = std::thread::scope(|scope| {
        let polling = || poll_until(&observation, &ended);
        std::thread::Builder::new().spawn_scoped(scope, polling).map_err(Error::Thread)?;
        let finished = match load {
            None => run(command, options, sink, stop, Some(&mut prepare)),
            Some(load) => {
                let server = Server { command, options, sink, stop };
                serve(server, load, Some(&mut prepare), &Counters::default)
            }
        };
        ended.store(true, Ordering::SeqCst);
        finished
    });
    ahead.iter().for_each(|ahead| ahead.start());
    let observation = observation.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Finished also after a failed run: what was seen until then is worth keeping.
    let load = finished.as_ref().ok().and_then(|finished| finished.load.as_ref());
    // Of a server, only what it used under its load counts.
    let whole = finished.as_ref().ok().filter(|_| load.is_none());
    let cpu_ns = whole.map(|finished| finished.user_ns + finished.system_ns);
    let totals = observation.map(|observation| observation.finish(cpu_ns, load)).transpose();
    let finished = finished?;
    // The observed value covers the whole run and excludes knee itself, so it is better than the machine's ticks.
    let totals = totals?.filter(|_| finished.load.is_none());
    let foreign_ns = totals.map(|totals| totals.foreign_ns).or(finished.foreign_ns);
    Ok(Finished { foreign_ns, ..finished })
}

fn poll_until<S: Source>(observation: &Mutex<Option<Observation<'_, S>>>, ended: &AtomicBool) {
    let mut begun = false;
    while !ended.load(Ordering::SeqCst) {
        if let Some(observation) = observation.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            if !std::mem::replace(&mut begun, true) {
                observation.source.begin();
            }
            observation.poll();
        }
        std::thread::sleep(POLL);
    }
}
