//! Runs the target while the kernel tells who ran, who waited, for what and woken by whom, and writes the rows.
//!
//! Rooms: `consumer` polls while the target runs: `events` takes what comes, `kept` what the kernel summed up, `roll` the
//! threads that have ended, of which `record` and `rows` make rows that wait in `parts`; `told` remembers what places told
//! (`story`). `sleeping` knows who slept before, `summary` the run as a whole. `image` knows a process's memory map and
//! unwinds its stacks, `goroutine` what runs on them in Go; `intern` gives out handles for stacks and names them; `languages` tells
//! what runtimes need to be named; `live` what happened since the last look; `slices` turns records into timeline rows.
//! May import: the BPF side, `launch`, `recording`, `resolve`.

mod asleep;
mod attach;
mod consumer;
mod estimate;
mod events;
mod goroutine;
pub(crate) mod image;
pub(crate) mod intern;
mod kept;
mod known;
mod languages;
mod live;
mod parts;
mod record;
mod roll;
mod rows;
mod sleeping;
mod slices;
pub(crate) mod story;
mod summary;
mod timing;
mod told;
mod watched;

pub(crate) use attach::has_ended;
pub use attach::{Attached, End};
pub(crate) use live::BpfView;

use crate::bpf::abi::{SLOT_OBSERVER, SLOT_PENDING};
use crate::bpf::{Enrolment, Programs};
use crate::error::Error;
use crate::launch::{Command, Finished, RunOptions, pidfd_open, run};
use crate::output::OutputSink;
use crate::stop::Stop;
use consumer::Consumer;
use intern::Interner;
use recording::{RunId, Writer};
use resolve::ModuleCache;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Events wait in rings of some thousand places; at this pace the rings stay nearly empty and the consumer costs about
/// half a per cent of one processor.
const POLL: Duration = Duration::from_millis(10);

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
    /// not tell the names of its functions, and how to make it; whose stacks broke off.
    pub fn notes(&self) -> Vec<String> {
        self.interner.sentences()
    }

    /// Runs the command observed and appends the rows of the run, all but its row in `runs`.
    ///
    /// # Errors
    /// As [`crate::run_clean`]; also when the programs cannot be loaded or the rows cannot be written. The target is
    /// not run when it cannot be observed.
    pub fn run(
        &mut self,
        command: &Command,
        options: &RunOptions,
        sink: &mut dyn OutputSink,
        stop: &Stop,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Finished, Error> {
        self.run_with(Programs::load()?, command, options, sink, stop, writer, run_id)
    }

    #[expect(clippy::too_many_arguments, reason = "the public function's, and what it observes with")]
    fn run_with(
        &mut self,
        mut programs: Programs,
        command: &Command,
        options: &RunOptions,
        sink: &mut dyn OutputSink,
        stop: &Stop,
        writer: &mut Writer,
        run_id: RunId,
    ) -> Result<Finished, Error> {
        programs.attach()?;
        // Its libraries follow when they are mapped.
        if let Some(program) = command.program() {
            programs.listen_to_marks(&program);
        }
        let enrolment = programs.enrolment()?;
        enrol_itself(&enrolment);
        let mut consumer = Consumer::new(run_id, programs, &mut self.interner, &self.cache, Some(writer));
        let ended = AtomicBool::new(false);
        let mut prepare = |pid: i32| enrolment.enrol(pidfd_open(pid)?.as_fd(), SLOT_PENDING);
        let finished = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    consumer.poll();
                    std::thread::sleep(POLL);
                }
            });
            let finished = run(command, options, sink, stop, Some(&mut prepare));
            ended.store(true, Ordering::SeqCst);
            finished
        });
        // Also after a failed run: what was seen until then is worth keeping.
        let written = consumer.finish();
        let finished = finished?;
        // Measured at each switch, and without knee itself: better than the machine's ticks.
        let foreign_ns = Some(written?.foreign_ns);
        Ok(Finished { foreign_ns, ..finished })
    }
}

/// Lets the programs tell knee's time, that of all its threads, from other programs' time. Where it cannot be done it
/// counts as another program's: a little less exact, not wrong.
fn enrol_itself(enrolment: &Enrolment) {
    if let Ok(handle) = pidfd_open(std::process::id().cast_signed()) {
        let _ = enrolment.enrol(handle.as_fd(), SLOT_OBSERVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::hardware::Hardware;
    use crate::machine::usable_processors;
    use crate::output::Stream;
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
        let command = Command { argv: argv.map(Into::into).to_vec(), env: Vec::new(), cwd: None };
        Tracer::new()
            .run_with(programs, &command, &RunOptions::default(), &mut Nowhere, &Stop::new(), &mut writer, RunId(0))
            .expect("the shell runs");
        drop(writer);
        Recording::open(&path).and_then(|recording| recording.tables()).expect("a recording")
    }

    /// Hardware events are read at switches. A clock in their place has to give the time on the processor.
    #[test]
    #[ignore = "needs root: run ./dev live"]
    fn counters_of_a_thread_count_while_it_runs_and_not_else() {
        let programs = Programs::load_with(Hardware::stand_in(&usable_processors()), 1 << 20).expect("root, and BPF");
        let tables = traced(programs, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.1");
        assert!(!tables.threads.is_empty());
        for thread in &tables.threads {
            let counted = thread.cycles.expect("the stand-in is open");
            // Both are read at each switch, some hundred nanoseconds apart; a hypervisor may stop the thread between.
            let switches = thread.voluntary_switches + thread.involuntary_switches + 2;
            assert!(counted.abs_diff(thread.running_ns) < 1_000_000 + switches * 20_000, "{counted} {thread:?}");
        }
    }

    /// Room for about 70 events, which many poll intervals of this script overflow, and for no stack at all.
    #[test]
    #[ignore = "needs root: run ./dev live"]
    fn without_room_for_events_the_sums_stay_exact() {
        let programs = Programs::load_with(Hardware::stand_in(&[]), 4096).expect("root, and BPF");
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
        // Each thread's last switch leaves for good: its exit is no wait.
        assert!(waited <= voluntary && waited + 212 >= voluntary, "{waited} of {voluntary}");
        assert!(tables.waits.iter().all(|wait| wait.user_stack.is_none()), "no stack fits");
        let untold = tables.losses.iter().find(|loss| loss.what == "stacks of wait places");
        assert!(untold.is_some_and(|loss| loss.count > 0), "{:?}", tables.losses);
    }
}
