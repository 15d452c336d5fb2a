//! One run that is observed: a source, polled on a thread of its own, its events, and the recording that they go to.

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
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Pause between two readings of a source. Events wait in rings that hold more than ten times that, and at this pace the
/// rings stay nearly empty: reading costs about half a per cent of one processor. Looks at sleeping threads find more short
/// waits with a shorter pause, and cost more.
pub(crate) const POLL: Duration = Duration::from_millis(10);

/// A run on its way into a recording.
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

    /// The parts, for what has to happen before the first poll.
    pub(crate) fn parts(&mut self) -> (&mut S, &mut Stacks<'a>, &mut Builder) {
        (&mut self.source, &mut self.stacks, &mut self.rows)
    }

    /// Takes what is there.
    pub(crate) fn poll(&mut self) {
        self.source.poll(&mut self.stacks, &mut self.rows);
        self.recorder.write_parts(&mut self.rows);
    }

    /// Takes and writes what is left. `cpu_ns` as for [`Source::finish`]; `load`: what ran beside the target for it.
    pub(crate) fn finish(self, cpu_ns: Option<u64>, load: Option<&Loaded>) -> Result<Totals, Error> {
        let Observation { source, mut stacks, mut rows, recorder } = self;
        load.into_iter().for_each(|load| rows.leave_out(load));
        source.finish(cpu_ns, &mut stacks, &mut rows)?;
        let totals = rows.totals();
        recorder.finish(rows, stacks)?;
        Ok(totals)
    }
}

/// What a command is run with.
pub(crate) struct Running<'a> {
    pub(crate) command: &'a Command,
    pub(crate) options: &'a RunOptions,
    pub(crate) sink: &'a mut dyn OutputSink,
    pub(crate) stop: &'a Stop,
    /// What asks it for work, where it is a server.
    pub(crate) load: Option<Loading<'a>>,
}

/// Runs a command observed. `open` makes the source for the child, which waits to execute the target: an error keeps it from
/// doing so.
pub(crate) fn observe<'a, S: Source + Send>(
    running: Running<'_>,
    run_id: RunId,
    stacks: Stacks<'a>,
    writer: &'a mut Writer,
    mut open: impl FnMut(i32) -> io::Result<S> + Send,
) -> Result<Finished, Error> {
    let observation: Mutex<Option<Observation<'a, S>>> = Mutex::new(None);
    // Both go to the observation, which begins when the child is there.
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
    let Running { command, options, sink, stop, load } = running;
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| poll_until(&observation, &ended));
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
    let observation = observation.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Also after a failed run: what was seen until then is worth keeping.
    let load = finished.as_ref().ok().and_then(|finished| finished.load.as_ref());
    // Of a server only what it used under its load is counted.
    let whole = finished.as_ref().ok().filter(|_| load.is_none());
    let cpu_ns = whole.map(|finished| finished.user_ns + finished.system_ns);
    let totals = observation.map(|observation| observation.finish(cpu_ns, load)).transpose();
    let finished = finished?;
    // Measured from beginning to end, and without knee itself: better than the machine's ticks around it.
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
