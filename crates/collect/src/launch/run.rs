//! Runs a command once and measures it from outside: time, processor time, switches, faults.

use super::command::{Command, Finished, RunOptions};
use super::family;
use super::meter::Meter;
use super::output::{OutputSink, drain};
use super::start::{Prepare, ready_to_start, start_child};
use crate::counters::Counting;
use crate::error::Error;
use crate::exit::Exit;
use crate::patience::readable;
use crate::procfs::{monotonic_ns, unix_ns};
use crate::stop::Stop;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the command with nothing attached.
///
/// # Errors
/// When it cannot be started, takes too long, or the user stops it.
pub fn run_clean(
    command: &Command,
    options: &RunOptions,
    sink: &mut dyn OutputSink,
    stop: &Stop,
) -> Result<Finished, Error> {
    let mut counting = None;
    let mut prepare = |pid: i32| {
        counting = Some(Counting::open(pid));
        Ok(())
    };
    let gate: Option<Prepare<'_>> = if options.count_events { Some(&mut prepare) } else { None };
    let mut finished = run(command, options, sink, stop, gate)?;
    finished.counters = counting.as_ref().map(Counting::read).unwrap_or_default();
    Ok(finished)
}

pub(crate) fn run(
    command: &Command,
    options: &RunOptions,
    sink: &mut dyn OutputSink,
    stop: &Stop,
    prepare: Option<Prepare<'_>>,
) -> Result<Finished, Error> {
    let process = ready_to_start(command, options.interactive)?;

    let meter = Meter::begin(&command.processors);
    let started_unix_ns = unix_ns();
    let start = monotonic_ns();
    let mut child = start_child(command, process, prepare)?;
    let (out, err) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
    let ended = AtomicBool::new(false);
    let (waited, end) = std::thread::scope(|scope| {
        let draining = out.zip(err).map(|(out, err)| {
            let drain = || drain(File::from(out), File::from(err), &ended, sink);
            std::thread::Builder::new().spawn_scoped(scope, drain)
        });
        let waited = match draining.transpose() {
            Ok(_) => wait(&child, options, stop, start),
            Err(source) => {
                family::kill_all(child.id());
                // Nothing is known of a run whose output was not read.
                reap(child.id().cast_signed()).and(Err(Error::Thread(source)))
            }
        };
        let end = monotonic_ns();
        ended.store(true, Ordering::SeqCst);
        (waited, end)
    });
    let (status, usage) = waited?;
    let metered = meter.end();
    let run = Finished {
        started_unix_ns,
        wall_ns: end.saturating_sub(start),
        ..Finished::used(&usage, Exit::from_status(status))
    };
    let ours_ns = run.user_ns + run.system_ns;
    Ok(metered.beside(run, ours_ns))
}

/// Pause between two checks whether the run's time is up or the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for the child's end, and ends it when its time is up or the user wants to stop.
fn wait(child: &Child, options: &RunOptions, stop: &Stop, start: u64) -> Result<(libc::c_int, libc::rusage), Error> {
    let pid = child.id() as libc::pid_t;
    let pidfd = pidfd_open(pid).map_err(Error::system("pidfd_open"))?;
    let mut given_up = None;
    let mut stopping = Stopping::default();
    loop {
        if readable([pidfd.as_raw_fd()], LOOK)[0] {
            break;
        }
        if given_up.is_some() {
            continue;
        }
        if stop.requested() && options.interactive {
            if let Some(signal) = stopping.next(monotonic_ns()) {
                // SAFETY: the child has not been waited for, so the process id is still its own.
                unsafe { libc::kill(pid, signal) };
            }
        } else if stop.requested() {
            given_up = Some(Error::Interrupted);
        } else if let Some(limit) = options.timeout.filter(|t| u128::from(monotonic_ns() - start) > t.as_nanos()) {
            given_up = Some(Error::Timeout { seconds: limit.as_secs_f64() });
        }
        if given_up.is_some() {
            // The program may be a script or have started others, which would go on.
            family::kill_all(child.id());
        }
    }
    let (status, usage) = reap(pid)?;
    match given_up {
        Some(error) => Err(error),
        None => Ok((status, usage)),
    }
}

/// The status and the resource usage of a child that has ended or will soon end.
pub(crate) fn reap(pid: libc::pid_t) -> Result<(libc::c_int, libc::rusage), Error> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both out-parameters are valid for writing.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(Error::System { call: "wait4", source: error });
        }
    }
    Ok((status, usage))
}

/// How a target that has the terminal is asked to end: Ctrl-C reaches it by itself, then it gets SIGTERM, then SIGKILL.
#[derive(Debug, Default)]
struct Stopping {
    since_ns: Option<u64>,
    sent: usize,
}

impl Stopping {
    /// Time for each step, so that a program can still write its files.
    const PATIENCE_NS: u64 = 3_000_000_000;

    /// The signal that is due, if any.
    fn next(&mut self, now_ns: u64) -> Option<libc::c_int> {
        let since = *self.since_ns.get_or_insert(now_ns);
        let signal = *[libc::SIGTERM, libc::SIGKILL].get(self.sent)?;
        let due = since + Self::PATIENCE_NS * (self.sent as u64 + 1);
        (now_ns >= due).then(|| {
            self.sent += 1;
            signal
        })
    }
}

pub(crate) fn pidfd_open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two numbers (pidfd_open(2), Linux 5.3).
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a non-negative result is a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_asked_twice_before_it_is_killed() {
        let mut stopping = Stopping::default();
        let second = 1_000_000_000;
        let sent: Vec<_> = (0..20).filter_map(|at| Some((at, stopping.next(100 + at * second)?))).collect();
        assert_eq!(sent, [(3, libc::SIGTERM), (6, libc::SIGKILL)]);
    }
}
