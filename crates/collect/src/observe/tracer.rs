//! Observing with programs in the kernel: a command from its start, or a program that runs already.

use super::observation::{Observation, POLL, Running, observe};
use crate::bpf::abi::{SLOT_ATTACHED, SLOT_OBSERVER, SLOT_PENDING};
use crate::bpf::{Enrolment, Programs};
use crate::error::Error;
use crate::launch::OutputSink;
use crate::launch::{Command, Finished, RunOptions, pidfd_open};
use crate::machine::cgroup::Groups;
use crate::patience::readable;
use crate::procfs::{self, MachineTime, monotonic_ns, unix_ns};
use crate::rights;
use crate::sockets::listening;
use crate::sources::bpf::BpfSource;
use crate::stacks::{Interner, Stacks};
use crate::stop::Stop;
use recording::tables::{Run, RunKind};
use recording::{RunId, Writer};
use resolve::ModuleCache;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
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

/// The result of observing a program that was running already.
#[derive(Debug, Clone, PartialEq)]
pub struct Attached {
    /// The row of the run; its `threads` is how many were alive at the beginning.
    pub run: Run,
    /// Why it ended.
    pub end: End,
}

/// Observes runs of one recording; stacks keep their handles from run to run.
pub struct Tracer {
    interner: Interner,
    cache: ModuleCache,
}

impl Default for Tracer {
    fn default() -> Tracer {
        Tracer::new()
    }
}

impl Tracer {
    /// A tracer for a new recording.
    pub fn new() -> Tracer {
        Tracer { interner: Interner::new(), cache: ModuleCache::new() }
    }

    /// What the user should know about the names and stacks of all runs so far, in plain sentences: which runtime did
    /// not reveal the names of its functions, and how to make it do so; whose stacks are incomplete.
    pub fn notes(&self) -> Vec<String> {
        self.interner.sentences()
    }

    /// Runs the command observed and appends the rows of the run, all but its row in `runs`.
    ///
    /// # Errors
    /// As [`crate::run_clean`]; also when the programs cannot be loaded or the rows cannot be written. When it cannot
    /// be observed, the target is not run.
    pub fn run(
        &mut self,
        command: &Command,
        options: &RunOptions,
        sink: &mut dyn OutputSink,
        stop: &Stop,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Finished, Error> {
        let stacks = Stacks::new(&mut self.interner, &self.cache);
        trace(
            Programs::load()?,
            Running { command, options, sink, stop, load: None, ahead: None },
            run_id,
            stacks,
            writer,
        )
    }

    /// Observes a running process with all its threads for a time, and appends the rows of the run. Its row in `runs`
    /// is not appended but returned.
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
        let at = listening(pid);
        // A connection over a path tells by itself who made it.
        at.iter().flatten().filter_map(|listener| listener.port).for_each(|port| programs.listens_at(port));
        let (started_unix_ns, start) = (unix_ns(), monotonic_ns());
        let (before, machine) = (procfs::process_time(pid), MachineTime::now());
        // Its groups, which need not be knee's: a container's quota holds back what is inside.
        let groups = Groups::of_process(pid);
        let held_back = groups.throttled();
        enrolment.enrol(handle.as_fd(), SLOT_ATTACHED).map_err(gone)?;
        programs.enrol_threads(start)?;
        let stacks = Stacks::new(&mut self.interner, &self.cache);
        let mut observation = Observation::new(run_id, BpfSource::new(programs), stacks, writer);
        let threads = procfs::threads(pid).len();
        let (source, stacks, rows) = observation.parts();
        rows.set_listens(at.map(|at| !at.is_empty()));
        source.attached(pid, start, stacks, rows);

        let end = loop {
            observation.poll();
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
        // A process that has ended has no times left to read; then those of its threads, which are in the rows, are
        // used.
        let times = before.zip(procfs::process_time(pid));
        let machine = machine.zip(MachineTime::now());
        let held_back = held_back.zip(groups.throttled()).map(|(before, after)| after.since(before));
        let totals = observation.finish(None, None)?;
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
                throttled_ns: held_back.map(|held_back| held_back.ns),
                throttled_periods: held_back.map(|held_back| held_back.periods),
                ..Run::blank(run_id, RunKind::Traced, threads as u32)
            },
            end,
        })
    }
}

/// Runs a command observed by these programs.
pub(crate) fn trace(
    mut programs: Programs,
    running: Running<'_>,
    run_id: RunId,
    stacks: Stacks<'_>,
    writer: &mut Writer,
) -> Result<Finished, Error> {
    programs.attach()?;
    // The marks in its libraries are attached to when the libraries are mapped.
    if let Some(program) = running.command.program() {
        programs.listen_to_marks(&program);
    }
    let enrolment = programs.enrolment()?;
    enrol_itself(&enrolment);
    let mut source = Some(BpfSource::new(programs));
    let open = |pid: i32| {
        enrolment.enrol(pidfd_open(pid)?.as_fd(), SLOT_PENDING)?;
        // A run has only one child.
        let source = source.take().ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
        Ok(source.executed_by(pid.unsigned_abs()))
    };
    observe(running, run_id, stacks, writer, open)
}

/// Makes the kernel side count the time of knee's own threads apart from that of other programs. If that fails, knee
/// counts as another program: less exact, but not wrong.
fn enrol_itself(enrolment: &Enrolment) {
    if let Ok(handle) = pidfd_open(std::process::id().cast_signed()) {
        let _ = enrolment.enrol(handle.as_fd(), SLOT_OBSERVER);
    }
}

/// Whether the process behind a pidfd has ended, which makes the descriptor readable (pidfd_open(2)).
pub(crate) fn has_ended(handle: &OwnedFd) -> bool {
    readable([handle.as_raw_fd()], Duration::ZERO)[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::hardware::Hardware;
    use crate::launch::Stream;
    use crate::machine::usable_processors;
    use recording::{Recording, synthetic};

    struct Nowhere;

    impl OutputSink for Nowhere {
        fn bytes(&mut self, _: Stream, _: &[u8]) {}
    }

    fn traced(programs: Programs, script: &str) -> recording::Tables {
        let folder = tempfile::tempdir().expect("a folder for the recording");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, &synthetic::meta(1)).expect("an empty folder");
        let argv = ["sh", "-c", script];
        let command =
            Command { argv: argv.map(Into::into).to_vec(), env: Vec::new(), cwd: None, processors: Vec::new() };
        let (options, stop) = (RunOptions::default(), Stop::new());
        let running =
            Running { command: &command, options: &options, sink: &mut Nowhere, stop: &stop, load: None, ahead: None };
        let (mut interner, cache) = (Interner::new(), ModuleCache::new());
        let stacks = Stacks::new(&mut interner, &cache);
        trace(programs, running, RunId(0), stacks, &mut writer).expect("the shell runs");
        drop(writer);
        Recording::open(&path).and_then(|recording| recording.tables()).expect("a recording")
    }

    /// With a clock in place of the hardware events that are read at switches, the count must equal the time on the
    /// processor.
    #[test]
    #[ignore = "needs root: run ./dev live"]
    fn counters_of_a_thread_count_while_it_runs_and_not_else() {
        let programs =
            Programs::load_with(Some(Hardware::stand_in(&usable_processors())), 1 << 20).expect("root, and BPF");
        let tables = traced(programs, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.1");
        assert!(!tables.threads.is_empty());
        for thread in &tables.threads {
            let counted = thread.cycles.expect("the stand-in is open");
            // Both are read at each switch, some hundred nanoseconds apart; a hypervisor may stop the thread between.
            let switches = thread.voluntary_switches + thread.involuntary_switches + 2;
            assert!(counted.abs_diff(thread.running_ns) < 1_000_000 + switches * 20_000, "{counted} {thread:?}");
        }
    }

    /// Room for about 70 events, fewer than this script makes in a poll interval, and for no stack at all.
    #[test]
    #[ignore = "needs root: run ./dev live"]
    fn without_room_for_events_the_sums_stay_exact() {
        let programs = Programs::load_with(Some(Hardware::stand_in(&[])), 4096).expect("root, and BPF");
        let script = "i=0; while [ $i -lt 211 ]; do (exit 3); i=$((i+1)); done";
        let tables = traced(programs, script);
        assert_eq!(tables.threads.len(), 212);
        for thread in &tables.threads {
            let life = thread.end_ns - thread.start_ns;
            let slices = tables.slices.iter().filter(|slice| slice.thread == thread.thread);
            assert_eq!(slices.map(|slice| slice.spent_ns).sum::<u64>(), life, "{thread:?}");
        }
        let waited: u64 = tables.waits.iter().map(|wait| wait.count).sum();
        let voluntary: u64 = tables.threads.iter().map(|thread| thread.voluntary_switches).sum();
        // A thread's last switch is its exit, which is not a wait.
        assert!(waited <= voluntary && waited + 212 >= voluntary, "{waited} of {voluntary}");
        assert!(tables.waits.iter().all(|wait| wait.user_stack.is_none()), "no stack fits");
        let missing = tables.losses.iter().find(|loss| loss.what == "stacks of wait places");
        assert!(missing.is_some_and(|loss| loss.count > 0), "{:?}", tables.losses);
    }
}
