//! What is run and how, and the result of a run that has ended.

use crate::counters::Counters;
use crate::exit::Exit;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to run. No shell is ever involved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Variables added to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working folder; knee's own when absent.
    pub cwd: Option<PathBuf>,
    /// The processors that it may run on; when empty, those that knee may run on.
    pub processors: Vec<u32>,
}

impl Command {
    /// The file that will be executed, as execvp(3) finds it; `None` when there is none.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        let program = Path::new(self.argv.first()?);
        if program.components().count() > 1 {
            return Some(self.cwd.as_deref().map_or_else(|| program.to_owned(), |folder| folder.join(program)));
        }
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
    }
}

/// How to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// Longest time that the run may take; then it is killed.
    pub timeout: Option<Duration>,
    /// Count migrations and hardware events. It costs time at every switch.
    pub count_events: bool,
    /// The target has the user's terminal: its input and output are knee's own, and when the user stops knee, the
    /// target is given time to end by itself and the run counts as finished. A server under load does not have the
    /// terminal; when the user stops knee, its load is ended and the run counts as finished.
    pub interactive: bool,
}

/// A time of getrusage(2), nanoseconds.
pub(crate) fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// A run that has ended, whatever the target made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// When it was started, nanoseconds of the Unix epoch.
    pub started_unix_ns: u64,
    /// Wall time from before the fork to the exit.
    pub wall_ns: u64,
    /// CPU time in user space, all threads and waited-for children.
    pub user_ns: u64,
    /// CPU time in the kernel, likewise.
    pub system_ns: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults without input/output.
    pub minor_faults: u64,
    /// Page faults with input/output.
    pub major_faults: u64,
    /// Largest resident set, bytes.
    pub max_rss_bytes: u64,
    /// How it ended.
    pub exit: Exit,
    /// Counted events.
    pub counters: Counters,
    /// CPU time of everything else meanwhile on the processors that the target may use, in steps of 10 ms. Of an
    /// observed run it is exact where the kernel reports each switch, and does not include knee's own.
    pub foreign_ns: Option<u64>,
    /// Time that the hypervisor took of these meanwhile, in steps of 10 ms.
    pub steal_ns: Option<u64>,
    /// Time that a control group's quota kept threads from running meanwhile, summed over the threads of the group.
    pub throttled_ns: Option<u64>,
    /// Quota periods in which that happened.
    pub throttled_periods: Option<u64>,
    /// Times that a processor throttled itself meanwhile because of heat or power.
    pub thermal_throttles: Option<u64>,
    /// Highest clock of the processors when the run had just ended, kHz.
    pub clock_khz: Option<u64>,
    /// The load's part of the run, where the target is a server: then all of this is from the load's beginning to its
    /// end.
    pub load: Option<Loaded>,
}

impl Finished {
    /// A run of which only two things are known: what getrusage(2) reports of its processes, and how it ended.
    pub(crate) fn used(usage: &libc::rusage, exit: Exit) -> Finished {
        Finished {
            started_unix_ns: 0,
            wall_ns: 0,
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            // getrusage(2): kilobytes on Linux.
            max_rss_bytes: usage.ru_maxrss as u64 * 1024,
            exit,
            counters: Counters::default(),
            foreign_ns: None,
            steal_ns: None,
            throttled_ns: None,
            throttled_periods: None,
            thermal_throttles: None,
            clock_khz: None,
            load: None,
        }
    }
}

/// The load's part of a run of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// When it began, nanoseconds of CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// When it had ended.
    pub end_ns: u64,
    /// Processor time of all its processes.
    pub cpu_ns: u64,
    /// The part of `cpu_ns` on the processors that the server may use.
    pub here_ns: u64,
    /// Threads of the load that worked: that ran for at least a twentieth of the busiest one's time. Sampled now and
    /// then.
    pub threads: u32,
    /// Its processes, as far as they were seen.
    pub pids: Vec<u32>,
    /// True when the server did not end when it was asked to, and had to be killed.
    pub server_killed: bool,
}
