//! Runs a command once and measures it from outside: time, processor time, switches, faults.
//!
//! The child waits before it executes the target until `prepare` has seen its process id, so that whatever observes it
//! misses nothing.

use super::affinity;
use super::output::{OutputSink, drain};
use super::user::{Caller, sudo_caller};
use crate::counters::{Counters, Counting};
use crate::error::Error;
use crate::machine::cgroup::Groups;
use crate::machine::clock::Processors;
use crate::procfs::{MachineTime, monotonic_ns, unix_ns};
use crate::rights;
use crate::stop::Stop;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// The processors that it may run on; none given: those that knee may.
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
    /// The target has the user's terminal: its input and output are knee's own, and when the user stops knee, the target
    /// is given time to end by itself and the run counts as finished.
    pub interactive: bool,
}

/// How the target ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It returned this status.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
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
    /// CPU time of everything else meanwhile, on the processors that the target may use, in steps of 10 ms; of an observed run exact where the kernel
    /// tells each switch, and without knee's own.
    pub foreign_ns: Option<u64>,
    /// Time that the hypervisor took of these meanwhile, in steps of 10 ms.
    pub steal_ns: Option<u64>,
    /// Time that a control group's quota kept threads from running meanwhile, all threads of the group.
    pub throttled_ns: Option<u64>,
    /// Quota periods in which that happened.
    pub throttled_periods: Option<u64>,
    /// Times that a processor throttled itself meanwhile because of heat or power.
    pub thermal_throttles: Option<u64>,
    /// Highest clock of the processors when the run had just ended, kHz.
    pub clock_khz: Option<u64>,
}

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
    finished.counters = counting.map(Counting::read).unwrap_or_default();
    Ok(finished)
}

/// Called with the child's process id before it executes the target; an error keeps it from doing so.
pub(crate) type Prepare<'a> = &'a mut (dyn FnMut(i32) -> io::Result<()> + Send);

pub(crate) fn run(
    command: &Command,
    options: &RunOptions,
    sink: &mut dyn OutputSink,
    stop: &Stop,
    prepare: Option<Prepare<'_>>,
) -> Result<Finished, Error> {
    let program = command.argv.first().ok_or(Error::EmptyCommand)?;
    let caller = sudo_caller();
    let mut process = std::process::Command::new(program);
    process.args(&command.argv[1..]).envs(command.env.iter().map(|(k, v)| (k, v)));
    if !options.interactive {
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    if let Some(folder) = &command.cwd {
        process.current_dir(folder);
    }
    if let Some(caller) = &caller {
        become_caller(&mut process, caller);
    }
    affinity::bind(&mut process, &command.processors);
    if !options.interactive {
        die_with_knee(&mut process);
    }
    if rights::lent() {
        rights::gain_none(&mut process);
    }
    refuse_set_user_id(command)?;

    let groups = Groups::own();
    let processors = Processors::of_machine();
    let heat_before = processors.thermal_throttles();
    let (before, throttled_before) = (MachineTime::of(&command.processors), groups.throttled());
    let started_unix_ns = unix_ns();
    let start = monotonic_ns();
    let mut child =
        spawn(process, prepare).map_err(|source| Error::Start { program: PathBuf::from(program), source })?;
    let (out, err) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
    let ended = AtomicBool::new(false);
    let (waited, end) = std::thread::scope(|scope| {
        if let (Some(out), Some(err)) = (out, err) {
            scope.spawn(|| drain(File::from(out), File::from(err), &ended, sink));
        }
        let waited = wait(&child, options, stop, start);
        let end = monotonic_ns();
        ended.store(true, Ordering::SeqCst);
        (waited, end)
    });
    let (status, usage) = waited?;
    let after = MachineTime::of(&command.processors);
    // At once: an idle processor lowers its clock.
    let (clock_khz, heat) = (processors.clock_khz(), processors.thermal_throttles());
    let throttled = throttled_before.zip(groups.throttled()).map(|(before, after)| after.since(before));

    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let (user_ns, system_ns) = (nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime));
    let machine = before.zip(after);
    Ok(Finished {
        started_unix_ns,
        wall_ns: end.saturating_sub(start),
        user_ns,
        system_ns,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        // getrusage(2): kilobytes on Linux.
        max_rss_bytes: usage.ru_maxrss as u64 * 1024,
        exit: if libc::WIFSIGNALED(status) {
            Exit::Signal(libc::WTERMSIG(status))
        } else {
            Exit::Status(libc::WEXITSTATUS(status))
        },
        counters: Counters::default(),
        foreign_ns: machine.map(|(b, a)| a.busy_ns.saturating_sub(b.busy_ns).saturating_sub(user_ns + system_ns)),
        steal_ns: machine.map(|(b, a)| a.steal_ns.saturating_sub(b.steal_ns)),
        throttled_ns: throttled.map(|throttled| throttled.ns),
        throttled_periods: throttled.map(|throttled| throttled.periods),
        thermal_throttles: heat_before.zip(heat).map(|(before, after)| after.saturating_sub(before)),
        clock_khz,
    })
}

fn become_caller(process: &mut std::process::Command, caller: &Caller) {
    for (name, value) in caller.environment() {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    let (uid, gid, groups) = (caller.uid, caller.gid, caller.groups.clone());
    let lower = move || {
        // SAFETY: the three calls take plain numbers and a slice that outlives them; the order matters, because
        // without the user id of root the groups could no longer be changed.
        let failed = unsafe {
            libc::setgroups(groups.len(), groups.as_ptr()) != 0 || libc::setgid(gid) != 0 || libc::setuid(uid) != 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { process.pre_exec(lower) };
}

/// When knee is killed, so is the target: else it would go on unobserved, and write into a broken pipe.
fn die_with_knee(process: &mut std::process::Command) {
    let knee = std::process::id();
    let ask = move || {
        // SAFETY: prctl and getppid take and return numbers; the signal is kept over exec (PR_SET_PDEATHSIG(2const)).
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // knee was killed before the request was made: no signal will come.
            if libc::getppid() as u32 != knee {
                return Err(io::Error::from_raw_os_error(libc::ECANCELED));
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { process.pre_exec(ask) };
}

/// A program that gains rights when executed would lose them under an observer, or reveal its secrets to it.
fn refuse_set_user_id(command: &Command) -> Result<(), Error> {
    let Some(path) = command.program() else { return Ok(()) };
    match std::fs::metadata(&path) {
        Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o6000 != 0 => {
            Err(Error::SetUserId { program: path })
        }
        // A missing or unreadable program shows in the attempt to start it.
        _ => Ok(()),
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are new and owned by nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// Starts the process; with `prepare`, lets it go on only when that has returned.
fn spawn(mut process: std::process::Command, prepare: Option<Prepare<'_>>) -> io::Result<Child> {
    let Some(prepare) = prepare else { return process.spawn() };
    let (mut ready_read, ready_write) = pipe()?;
    let (go_read, mut go_write) = pipe()?;
    let (ready, go) = (ready_write.as_raw_fd(), go_read.as_raw_fd());
    let gate = move || {
        // SAFETY: getpid has no preconditions.
        let pid = unsafe { libc::getpid() }.to_ne_bytes();
        let mut byte = 0_u8;
        // SAFETY: the buffer lives on this stack with the length passed; the descriptor is open until exec.
        let written = again(|| unsafe { libc::write(ready, pid.as_ptr().cast(), pid.len()) }) == pid.len() as isize;
        // SAFETY: as above.
        let let_go = written && again(|| unsafe { libc::read(go, (&raw mut byte).cast(), 1) }) == 1;
        if let_go && byte == 1 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ECANCELED)) }
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { process.pre_exec(gate) };
    let mut prepared = Ok(());
    let spawned = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut pid = [0; 4];
            // The pipe ends without a process id when the fork fails.
            if ready_read.read_exact(&mut pid).is_ok() {
                prepared = prepare(i32::from_ne_bytes(pid));
                // That the child has died meanwhile is reported by spawn.
                let _ = go_write.write_all(&[u8::from(prepared.is_ok())]);
            }
        });
        let spawned = process.spawn();
        drop(ready_write);
        spawned
    });
    prepared?;
    spawned
}

/// Makes a call until no signal interrupts it. Allocates nothing.
fn again(mut call: impl FnMut() -> isize) -> isize {
    loop {
        let result = call();
        if result >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return result;
        }
    }
}

/// Waits for the child's end, and ends it when its time is up or the user asks.
fn wait(child: &Child, options: &RunOptions, stop: &Stop, start: u64) -> Result<(libc::c_int, libc::rusage), Error> {
    let pid = child.id() as libc::pid_t;
    let pidfd = pidfd_open(pid).map_err(Error::system("pidfd_open"))?;
    let mut given_up = None;
    let mut stopping = Stopping::default();
    loop {
        let mut poll = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one initialised pollfd.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 50) };
        if ready > 0 {
            break;
        }
        if given_up.is_some() {
            continue;
        }
        if stop.requested() && options.interactive {
            if let Some(signal) = stopping.next(monotonic_ns()) {
                // SAFETY: as below.
                unsafe { libc::kill(pid, signal) };
            }
        } else if stop.requested() {
            given_up = Some(Error::Interrupted);
        } else if let Some(limit) = options.timeout.filter(|t| u128::from(monotonic_ns() - start) > t.as_nanos()) {
            given_up = Some(Error::Timeout { seconds: limit.as_secs_f64() });
        }
        if given_up.is_some() {
            // SAFETY: the child has not been waited for, so the process id is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
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
    match given_up {
        Some(error) => Err(error),
        None => Ok((status, usage)),
    }
}

/// How a target that has the terminal is asked to end: Ctrl-C reaches it by itself, then it gets SIGTERM, then SIGKILL.
#[derive(Debug, Default)]
struct Stopping {
    since_ns: Option<u64>,
    sent: usize,
}

impl Stopping {
    /// Time for each step: what a program may need to write its files.
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
