//! The phases of a run: the server starts and gets ready, the load runs, the server is ended.

use super::ready::{Ready, Watching};
use crate::counters::{Counters, Counting};
use crate::error::{Error, lacks_descriptors};
use crate::exit::Exit;
use crate::launch::family::{self, Used};
use crate::launch::{
    Command, Finished, Loaded, Meter, OutputSink, Prepare, RunOptions, drain, nanoseconds, pidfd_open, ready_to_start,
    reap, start_child,
};
use crate::machine::usable_processors;
use crate::patience::readable;
use crate::procfs::{self, MachineTime, monotonic_ns, unix_ns};
use crate::stop::Stop;
use crate::task;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Pause between two checks whether the server is ready or the user wants to stop.
const LOOK: Duration = Duration::from_millis(20);
/// When the load's threads are looked at first, and the pause before each later look. A look reads all of /proc.
const FIRST_LOOK_NS: u64 = 50_000_000;
const NEXT_LOOK_NS: u64 = 1_000_000_000;
/// How long a server may take to end when the user has stopped knee.
const HURRY: Duration = Duration::from_secs(2);

/// What belongs to a server: its load, and when to start it.
#[derive(Debug, Clone)]
pub struct Serving {
    /// The load.
    pub load: Command,
    /// When the server is ready for it.
    pub ready: Ready,
    /// How long getting ready may take.
    pub ready_within: Duration,
    /// How long the server has to end when it is asked to; then it is killed.
    pub stop_within: Duration,
}

/// A load to run.
pub struct Loading<'a> {
    /// The load, and when it starts.
    pub serving: &'a Serving,
    /// Takes what it prints.
    pub sink: &'a mut dyn OutputSink,
}

/// A server to run.
pub struct Server<'a> {
    /// Its command.
    pub command: &'a Command,
    /// How it is run.
    pub options: &'a RunOptions,
    /// Takes what it prints.
    pub sink: &'a mut dyn OutputSink,
    /// The user's wish to stop.
    pub stop: &'a Stop,
}

/// Runs a server under its load with nothing attached. Times and counts are of the time of the load, and the exit is
/// the load's.
///
/// # Errors
/// When one of the two cannot be started, the server does not get ready or ends before the load, it takes too long, or
/// the user stops it. No process of either is left behind.
pub fn run_clean_under(server: Server<'_>, loading: Loading<'_>) -> Result<Finished, Error> {
    let counting: Mutex<Option<Counting>> = Mutex::new(None);
    let mut open = |pid: i32| {
        *counting.lock().unwrap_or_else(PoisonError::into_inner) = Some(Counting::open(pid));
        Ok(())
    };
    let prepare: Option<Prepare<'_>> = if server.options.count_events { Some(&mut open) } else { None };
    let count = || {
        let counting = counting.lock().unwrap_or_else(PoisonError::into_inner);
        counting.as_ref().map(Counting::read).unwrap_or_default()
    };
    serve(server, loading, prepare, &count)
}

/// Why a run failed.
enum Trouble {
    /// The server has ended.
    Ended {
        was_ready: bool,
    },
    Other(Error),
}

/// The time of the load.
struct UnderLoad {
    /// What the server had used when the load began.
    before: Used,
    used: (u64, u64),
    counters: Counters,
    load: Loaded,
    exit: Exit,
    /// The result, except for what is known only when the server has ended.
    run: Finished,
}

/// Runs a server under its load. `count` reads the server's counters.
pub(crate) fn serve(
    server: Server<'_>,
    loading: Loading<'_>,
    prepare: Option<Prepare<'_>>,
    count: &dyn Fn() -> Counters,
) -> Result<Finished, Error> {
    let Server { command, options, sink, stop } = server;
    let serving = loading.serving;
    if let Some(port) = serving.ready.taken() {
        return Err(Error::PortTaken { port });
    }
    let mut process = ready_to_start(command, false)?;
    process.process_group(0);
    let (started_unix_ns, start) = (unix_ns(), monotonic_ns());
    let mut child = start_child(command, process, prepare)?;
    let pid = child.id();
    let (ended, printed) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut watching = Watching::new(sink, &serving.ready, &printed);
    let limits = Limits { options, stop, start };
    let (window, killed) = std::thread::scope(|scope| {
        let draining = pipes(&mut child).map(|(out, err)| {
            std::thread::Builder::new().spawn_scoped(scope, || drain(out, err, &ended, &mut watching))
        });
        let window = draining
            .transpose()
            .map_err(|source| Trouble::Other(Error::Thread(source)))
            .and_then(|_| wait_until_ready(pid, serving, &printed, &limits))
            .and_then(|handle| under_load(pid, &handle, command, loading, &limits, count));
        let patience = if stop.requested() { HURRY.min(serving.stop_within) } else { serving.stop_within };
        let killed = family::end(pid, patience);
        ended.store(true, Ordering::SeqCst);
        (window, killed)
    });
    let (status, usage) = reap(pid.cast_signed())?;
    let window = window.map_err(|trouble| match trouble {
        Trouble::Ended { was_ready } => Error::ServerEnded { was_ready, exit: Exit::from_status(status) },
        Trouble::Other(error) => error,
    })?;
    let whole = Finished::used(&usage, window.exit);
    let since = |whole: u64, before: u64| whole.saturating_sub(before);
    Ok(Finished {
        started_unix_ns,
        user_ns: window.used.0,
        system_ns: window.used.1,
        voluntary_switches: since(whole.voluntary_switches, window.before.voluntary_switches),
        involuntary_switches: since(whole.involuntary_switches, window.before.involuntary_switches),
        minor_faults: since(whole.minor_faults, window.before.minor_faults),
        major_faults: since(whole.major_faults, window.before.major_faults),
        max_rss_bytes: whole.max_rss_bytes,
        exit: window.exit,
        counters: window.counters,
        load: Some(Loaded { server_killed: killed, ..window.load }),
        ..window.run
    })
}

fn pipes(child: &mut Child) -> Option<(File, File)> {
    let (out, err) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
    Some((File::from(out?), File::from(err?)))
}

/// What can end a run early.
struct Limits<'a> {
    options: &'a RunOptions,
    stop: &'a Stop,
    start: u64,
}

impl Limits<'_> {
    fn hold(&self) -> Result<(), Trouble> {
        if self.stop.requested() {
            return Err(Trouble::Other(Error::Interrupted));
        }
        let over = |limit: &Duration| u128::from(monotonic_ns() - self.start) > limit.as_nanos();
        match self.options.timeout.filter(over) {
            Some(limit) => Err(Trouble::Other(Error::Timeout { seconds: limit.as_secs_f64() })),
            None => Ok(()),
        }
    }
}

fn handle(pid: u32) -> Result<OwnedFd, Trouble> {
    pidfd_open(pid.cast_signed()).map_err(|source| Trouble::Other(Error::System { call: "pidfd_open", source }))
}

/// Waits up to `longest` for one of these processes to end; which of them have ended.
fn ended<const N: usize>(handles: [&OwnedFd; N], longest: Duration) -> [bool; N] {
    readable(handles.map(AsRawFd::as_raw_fd), longest)
}

fn wait_until_ready(
    pid: u32,
    serving: &Serving,
    printed: &AtomicBool,
    limits: &Limits<'_>,
) -> Result<OwnedFd, Trouble> {
    let handle = handle(pid)?;
    loop {
        if ended([&handle], LOOK)[0] {
            return Err(Trouble::Ended { was_ready: false });
        }
        limits.hold()?;
        can_look(pid)?;
        if serving.ready.now(&family::members(pid), printed.load(Ordering::SeqCst)) {
            return Ok(handle);
        }
        if u128::from(monotonic_ns() - limits.start) > serving.ready_within.as_nanos() {
            let (seconds, until) = (serving.ready_within.as_secs_f64(), serving.ready.to_string());
            return Err(Trouble::Other(Error::NotReady { seconds, until }));
        }
    }
}

/// Without descriptors for the files of /proc no server would ever seem to listen.
fn can_look(pid: u32) -> Result<(), Trouble> {
    match File::open("/proc/self/stat") {
        Err(source) if lacks_descriptors(&source) => Err(Trouble::Other(Error::Process { pid, source })),
        _ => Ok(()),
    }
}

/// Runs the load to its end.
fn under_load(
    pid: u32,
    server: &OwnedFd,
    command: &Command,
    loading: Loading<'_>,
    limits: &Limits<'_>,
    count: &dyn Fn() -> Counters,
) -> Result<UnderLoad, Trouble> {
    let Loading { serving, sink } = loading;
    let load = &serving.load;
    let mut process = ready_to_start(load, false).map_err(Trouble::Other)?;
    process.process_group(0);
    let place = Place::from_processes(&command.processors, &load.processors);
    let (before, counted) = (family::used(&family::members(pid)), count());
    let own = || family::process_cpu_ns(std::process::id()).unwrap_or(0);
    let own_before = own();
    let (all, meter) = (MachineTime::now(), Meter::begin(&command.processors));
    let begin_ns = monotonic_ns();
    let mut child = start_child(load, process, None).map_err(Trouble::Other)?;
    let load_pid = child.id();
    let over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let draining = pipes(&mut child)
            .map(|(out, err)| std::thread::Builder::new().spawn_scoped(scope, || drain(out, err, &over, sink)));
        let draining = draining.transpose().map_err(|source| Trouble::Other(Error::Thread(source)));
        let seen =
            draining.and_then(|_| handle(load_pid)).and_then(|handle| watch(load_pid, [&handle, server], limits));
        // Processes that a load leaves behind would disturb the next run, so they are ended.
        let seen = seen.map(|seen| (seen, monotonic_ns(), meter.end(), MachineTime::now(), own()));
        let after = family::used(&family::members(pid));
        let counters = count().since(&counted);
        family::end(load_pid, Duration::ZERO);
        over.store(true, Ordering::SeqCst);
        seen.map(|seen| (seen, after, counters))
    });
    let (status, usage) = reap(load_pid.cast_signed()).map_err(Trouble::Other)?;
    let (((threads, pids), end_ns, metered, all_after, own_after), after, counters) = seen?;
    let used = after.since(&before);
    let cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
    let server_ns = used.0 + used.1;
    let all = all.zip(all_after).map(|(before, after)| after.busy_ns.saturating_sub(before.busy_ns));
    let here_ns = place.of_load(cpu_ns, server_ns, metered.busy_ns, all);
    let exit = Exit::from_status(status);
    let run = Finished { wall_ns: end_ns.saturating_sub(begin_ns), ..Finished::used(&usage, exit) };
    Ok(UnderLoad {
        before,
        used,
        counters,
        load: Loaded { begin_ns, end_ns, cpu_ns, here_ns, threads, pids, server_killed: false },
        exit,
        // knee does not count as another program.
        run: metered.beside(run, server_ns + here_ns + own_after.saturating_sub(own_before)),
    })
}

/// A thread of the load that ran for less than this part of the busiest one's time only starts the others or waits for
/// them.
const WORKER: u64 = 20;

/// Waits until the load, the first of the two handles, has ended. Returns how many of its threads worked, and its
/// processes.
fn watch(load: u32, handles: [&OwnedFd; 2], limits: &Limits<'_>) -> Result<(u32, Vec<u32>), Trouble> {
    let (mut ran, mut pids) = (HashMap::new(), BTreeSet::from([load]));
    let mut next = monotonic_ns() + FIRST_LOOK_NS;
    loop {
        match ended(handles, LOOK) {
            [true, _] => return Ok((workers(&ran), pids.into_iter().collect())),
            [_, true] => return Err(Trouble::Ended { was_ready: true }),
            // The user has seen enough.
            _ if limits.options.interactive && limits.stop.requested() => {
                return Ok((workers(&ran), pids.into_iter().collect()));
            }
            _ => limits.hold()?,
        }
        if monotonic_ns() >= next {
            for pid in family::members(load).into_iter().map(|member| member.pid) {
                pids.insert(pid);
                let times = procfs::threads(pid).into_iter().filter_map(|tid| Some((tid, task::times(pid, tid)?)));
                ran.extend(times.map(|(tid, times)| (tid, times.running_ns)));
            }
            next = monotonic_ns() + NEXT_LOOK_NS;
        }
    }
}

/// How many threads worked, from how long each of them ran; at least 1.
fn workers(ran: &HashMap<u32, u64>) -> u32 {
    let busiest = ran.values().copied().max().unwrap_or(0);
    ran.values().filter(|ns| ns.saturating_mul(WORKER) >= busiest).count().max(1) as u32
}

/// Whether the load runs on the processors of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Apart,
    /// On some of them, and also on others.
    Both,
}

impl Place {
    fn from_processes(server: &[u32], load: &[u32]) -> Place {
        let all: Vec<u32> = usable_processors().into_iter().map(|processor| processor as u32).collect();
        let set = |given: &[u32]| -> HashSet<u32> {
            if given.is_empty() { all.iter().copied().collect() } else { given.iter().copied().collect() }
        };
        let (server, load) = (set(server), set(load));
        match (load.is_subset(&server), load.is_disjoint(&server)) {
            (true, _) => Place::Inside,
            (_, true) => Place::Apart,
            _ => Place::Both,
        }
    }

    /// How much time the load took of the server's processors, which were busy for `busy`; nanoseconds. Where the load
    /// ran on others too, it gets the busy time that is not the server's, less what other programs took of the whole
    /// machine.
    fn of_load(self, load: u64, server: u64, busy: Option<u64>, busy_all: Option<u64>) -> u64 {
        match self {
            Place::Inside => load,
            Place::Apart => 0,
            Place::Both => {
                let others = busy_all.map_or(0, |all| all.saturating_sub(server).saturating_sub(load));
                busy.map_or(0, |busy| busy.saturating_sub(server).saturating_sub(others)).min(load)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_starts_the_others_does_not_work() {
        assert_eq!(workers(&HashMap::from([(1, 2), (2, 1000), (3, 51)])), 2);
        assert_eq!(workers(&HashMap::new()), 1);
    }

    #[test]
    fn a_load_takes_of_its_server_s_processors_what_it_runs_there() {
        assert_eq!(Place::from_processes(&[3, 4], &[4]), Place::Inside);
        assert_eq!(Place::from_processes(&[3, 4], &[5]), Place::Apart);
        assert_eq!(Place::from_processes(&[3, 4], &[4, 5]), Place::Both);
        assert_eq!(Place::from_processes(&[], &[]), Place::Inside);
        assert_eq!(Place::Inside.of_load(50, 10, Some(30), Some(100)), 50);
        assert_eq!(Place::Apart.of_load(50, 10, Some(30), Some(100)), 0);
        // Other programs took 40 of the machine's 100, so at most 40 on these processors.
        assert_eq!(Place::Both.of_load(50, 10, Some(70), Some(100)), 20);
        assert_eq!(Place::Both.of_load(50, 10, Some(90), Some(60)), 50);
        assert_eq!(Place::Both.of_load(50, 10, None, None), 0);
    }
}
