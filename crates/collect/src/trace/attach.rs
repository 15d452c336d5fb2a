//! Observing a program that runs already, without changing anything about it.
//!
//! May import: /proc, the BPF side, the other rooms of `trace`.

use super::asleep::Sleeper;
use super::consumer::Consumer;
use super::{POLL, Tracer, enrol_itself};
use crate::bpf::Programs;
use crate::bpf::abi::SLOT_ATTACHED;
use crate::error::Error;
use crate::launch::pidfd_open;
use crate::procfs::{self, MachineTime, monotonic_ns, unix_ns};
use crate::rights;
use crate::stop::Stop;
use recording::tables::{Run, RunKind};
use recording::{RunId, Writer};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Why observing a running program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The time was up.
    Time,
    /// The program ended.
    Program,
    /// The user stopped it.
    Stopped,
}

/// A program that was observed while it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Attached {
    /// The row of the run. `threads` is how many were alive at the beginning.
    pub run: Run,
    /// Why it ended.
    pub end: End,
}

impl Tracer {
    /// Observes a running process and all of its threads for a time, and appends the rows of the run, all but its row
    /// in `runs`, which is returned.
    ///
    /// # Errors
    /// When there is no such process, it is not the caller's to observe, the programs cannot be loaded, or the rows
    /// cannot be written.
    pub fn attach(
        &mut self,
        pid: u32,
        length: Option<Duration>,
        stop: &Stop,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Attached, Error> {
        let gone = |source: io::Error| Error::process(pid, source);
        let handle = pidfd_open(i32::try_from(pid).map_err(|_| gone(io::Error::from_raw_os_error(libc::ESRCH)))?)
            .map_err(gone)?;
        procfs::may_observe(pid).map_err(gone)?;
        if rights::lent() && !rights::gains_none(pid) {
            return Err(Error::MayGain { pid });
        }
        let mut programs = Programs::load()?;
        programs.attach()?;
        let enrolment = programs.enrolment()?;
        enrol_itself(&enrolment);
        let (started_unix_ns, start) = (unix_ns(), monotonic_ns());
        let (before, machine) = (procfs::process_time(pid), MachineTime::now());
        enrolment.enrol(handle.as_fd(), SLOT_ATTACHED).map_err(gone)?;
        programs.enrol_threads(start)?;
        let mut consumer = Consumer::new(run_id, programs, &mut self.interner, &self.cache, Some(writer));
        consumer.attached(pid, start);
        let threads = procfs::threads(pid);
        let sleepers = threads.iter().filter_map(|tid| Some((*tid, Sleeper::read(pid, *tid)?))).collect();
        consumer.asleep_at_begin(pid, sleepers);

        let end = loop {
            consumer.poll();
            if has_ended(&handle) {
                break End::Program;
            }
            if stop.requested() {
                break End::Stopped;
            }
            if length.is_some_and(|length| u128::from(monotonic_ns() - start) >= length.as_nanos()) {
                break End::Time;
            }
            std::thread::sleep(POLL);
        };
        let wall_ns = monotonic_ns() - start;
        // After its end a process has no times left to read: those of its threads are in the rows.
        let times = before.zip(procfs::process_time(pid));
        let machine = machine.zip(MachineTime::now());
        let totals = consumer.finish()?;
        let of = |after: u64, before: u64| after.saturating_sub(before);
        let (user_ns, system_ns) =
            times.map_or((totals.running_ns, 0), |(b, a)| (of(a.user_ns, b.user_ns), of(a.system_ns, b.system_ns)));
        Ok(Attached {
            run: Run {
                started_unix_ns,
                wall_ns,
                user_ns,
                system_ns,
                voluntary_switches: totals.voluntary_switches,
                involuntary_switches: totals.involuntary_switches,
                minor_faults: totals.minor_faults,
                major_faults: totals.major_faults,
                max_rss_bytes: procfs::peak_rss_bytes(pid).unwrap_or(0),
                migrations: Some(totals.migrations),
                foreign_ns: machine.map(|(b, a)| of(of(a.busy_ns, b.busy_ns), totals.running_ns)),
                steal_ns: machine.map(|(b, a)| of(a.steal_ns, b.steal_ns)),
                ..Run::blank(run_id, RunKind::Traced, threads.len() as u32)
            },
            end,
        })
    }
}

/// Whether the process behind a pidfd has ended: then the descriptor is readable (pidfd_open(2)).
pub(crate) fn has_ended(handle: &std::os::fd::OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: handle.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one initialised pollfd.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
}
