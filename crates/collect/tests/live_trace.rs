//! Observing real programs. These tests load BPF programs: they need root and are run by `./dev live`.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod common;

use collect::{End, Exit, RunOptions, Stop, Tracer, run_clean};
use common::{KeptOutput, command, compile, trace};
use recording::tables::{CallSite, MarkKind, Reason, Timed};
use recording::{Recording, RunId, StackId, Tables, ThreadId, Writer};
use std::time::Duration;

/// Whether a function is on a stack.
fn called_by(tables: &Tables, stack: Option<StackId>, function: &str) -> bool {
    let mut next = stack;
    while let Some(id) = next {
        let Some(row) = tables.stacks.iter().find(|row| row.stack == id) else { return false };
        if tables.frames.iter().any(|f| f.frame == row.frame && f.function.as_deref() == Some(function)) {
            return true;
        }
        next = row.parent;
    }
    false
}

fn count(tables: &Tables, name: &str) -> u64 {
    tables.syscalls.iter().filter(|row| row.name == name).map(|row| row.count).sum()
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn known_events_are_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "known");
    let (tables, exit) = trace(folder.path(), &[program.to_str().unwrap()]);
    assert_eq!(exit, Exit::Status(0));
    assert_eq!(tables.threads.len(), 16, "15 threads and the main one");
    assert_eq!(count(&tables, "getppid"), 307);

    // 4001 calls that return at once, one for each wake-up, one or two for each wait (a wake-up may come between load
    // and wait), and joins.
    let main = ThreadId(0);
    let of_main: u64 =
        tables.syscalls.iter().filter(|row| row.name == "futex" && row.thread == main).map(|row| row.count).sum();
    let joins_of_main: u64 =
        tables.waits.iter().filter(|w| w.thread == main && w.reason == Reason::Futex).map(|w| w.count).sum();
    assert!(of_main >= 4001 + 211 && of_main <= 4001 + 211 + 13 + joins_of_main, "{of_main}");

    let waiter = ThreadId(13);
    let waits: Vec<_> =
        tables.waits.iter().filter(|wait| wait.thread == waiter && wait.reason == Reason::Futex).collect();
    let blocked: u64 = waits.iter().map(|wait| wait.count).sum();
    let wakes: Vec<_> = tables
        .wakes
        .iter()
        .filter(|wake| waits.iter().any(|wait| wait.wait == wake.wait))
        .filter(|wake| wake.same_object && wake.waker == Some(main))
        .collect();
    // The main thread never waits there, and wakes one thread at a time.
    assert!(wakes.iter().all(|wake| (wake.waker_waited_here, wake.wakes_many) == (Some(false), Some(false))));
    let woken: u64 = wakes.iter().map(|wake| wake.count).sum();
    // When a turn passes before the thread has come to wait for it, there is no wait; how often depends on the
    // machine's load.
    assert!((1..=211).contains(&blocked), "{blocked} waits");
    assert_eq!(woken, blocked, "each wait was ended by the main thread through the same futex");
}

/// The kernel side distinguishes call paths by the code addresses on the stack, and learns where code lies only when
/// user space has looked.
#[test]
#[ignore = "needs root: run ./dev live"]
fn waits_of_the_first_milliseconds_have_stacks_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "early");
    let (tables, exit) = trace(folder.path(), &[program.to_str().unwrap()]);
    assert_eq!(exit, Exit::Status(0));
    let of_sleeper = |w: &&recording::tables::Wait| w.thread == ThreadId(1) && w.reason == Reason::Futex;
    let within = |function: &str| {
        let waits = tables.waits.iter().filter(of_sleeper).filter(|w| called_by(&tables, w.user_stack, function));
        waits.map(|w| w.count).sum::<u64>()
    };
    assert!(within("lasting") >= 1, "{} in brief", within("brief"));
    assert!(within("brief") <= 1, "{}", within("brief"));
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn failing_calls_faults_creations_and_pipes_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "known");
    let (toucher, reader) = (ThreadId(14), ThreadId(15));
    // The limit is a rate, far above what this program makes, so all calls are timed on any machine.
    let tables = trace(folder.path(), &[program.to_str().unwrap(), "calm"]).0;
    let closed = tables.syscalls.iter().filter(|row| row.thread == toucher && row.name == "close");
    assert_eq!(closed.map(|row| row.count).sum::<u64>(), 509);
    let failed: Vec<&CallSite> =
        tables.call_sites.iter().filter(|site| site.error == Some(libc::EBADF as u32)).collect();
    let &[site] = failed.as_slice() else { panic!("{failed:?}") };
    assert_eq!((site.name.as_str(), site.thread, site.timed, site.calls), ("close", toucher, 509, 509.0));
    assert!(site.total_ns > 0 && site.on_cpu_ns <= site.total_ns && site.longest_ns <= site.total_ns);
    let bars: u64 =
        tables.durations.iter().filter(|d| d.of == Timed::CallSite && d.id == site.site.0).map(|d| d.count).sum();
    assert_eq!(bars, 509);
    assert!(called_by(&tables, site.user_stack, "toucher"), "{site:?}");

    let row = |thread| tables.threads.iter().find(|row| row.thread == thread).unwrap();
    let faults = row(toucher).minor_faults.unwrap();
    // A new thread first touches its stack, its thread-local storage and the code that it runs.
    assert!((1009..1009 + 64).contains(&faults), "{faults} faults");
    let sampled: u64 = tables.fault_sites.iter().filter(|f| f.thread == toucher).map(|f| f.sampled * f.period).sum();
    // One fault in 61 is sampled, but each processor's counter may be in the middle of a period.
    let most = 61 * (1 + u64::from(collect::machine::machine().usable_processors));
    assert!(sampled.abs_diff(faults) <= most, "{sampled} of {faults} faults");

    let thread = row(reader);
    assert_eq!(thread.parent, Some(ThreadId(0)));
    assert!(called_by(&tables, thread.created_stack, "main"), "{thread:?}");

    let piped: Vec<_> = tables.waits.iter().filter(|w| w.thread == reader && w.reason == Reason::Pipe).collect();
    let blocks: u64 = piped.iter().map(|wait| wait.count).sum();
    assert!((1..=101).contains(&blocks), "{blocks}");
    assert!(piped.iter().all(|wait| wait.what.as_deref() == Some("pipe")), "{piped:?}");
    let reads: f64 = tables.call_sites.iter().filter(|s| s.name == "read" && s.thread == reader).map(|s| s.calls).sum();
    assert_eq!(reads, 101.0);
    let operations: u64 = tables.futex_operations.iter().filter(|f| f.operation == "FUTEX_WAKE").map(|f| f.count).sum();
    assert!(operations >= 211, "{operations}");
}

/// A program that runs for ever; it is killed when the test ends, however it ends.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the program `patient` has all its threads, and the last two are asleep.
fn waits_for_ever(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let mut ids: Vec<u32> = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    let sleeps = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
    };
    ids.len() == 4 && ids[2..].iter().all(sleeps)
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_running_program_is_observed_with_all_its_threads_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "patient");
    let mut child = Killed(std::process::Command::new(&program).spawn().unwrap());
    // All four threads exist, and the two that never run again have reached their waits.
    while !waits_for_ever(child.0.id()) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let path = folder.path().join("recording");
    let meta = recording::synthetic::meta(collect::machine::machine().usable_processors);
    let mut writer = Writer::create(&path, &meta).unwrap();
    let length = Some(Duration::from_secs(1));
    let attached = Tracer::new().attach(child.0.id(), length, &Stop::new(), &mut writer, RunId(0)).unwrap();
    assert_eq!((attached.end, attached.run.threads), (End::Time, 4));
    drop(writer);
    let tables = Recording::open(&path).unwrap().tables().unwrap();
    assert_eq!(tables.threads.len(), 4);
    for thread in &tables.threads {
        let life = thread.end_ns - thread.start_ns;
        let sum = thread.running_ns + thread.runnable_ns + thread.preempted_ns + thread.blocked_ns;
        assert_eq!(sum, life, "{thread:?}");
        let slices = tables.slices.iter().filter(|slice| slice.thread == thread.thread);
        assert_eq!(slices.map(|slice| slice.spent_ns).sum::<u64>(), life, "{thread:?}");
    }
    // One waits for a lock that another always holds, so no switch of it is ever seen.
    let stuck: Vec<_> = tables.waits.iter().filter(|w| called_by(&tables, w.user_stack, "stuck")).collect();
    let [stuck] = stuck.as_slice() else { panic!("{:?}", tables.waits) };
    assert_eq!((stuck.reason, stuck.count), (Reason::Futex, 1));
    assert!(tables.waits.iter().any(|w| w.reason == Reason::Sleep && called_by(&tables, w.user_stack, "napper")));
    assert!(tables.samples.iter().any(|s| called_by(&tables, s.user_stack, "busy")));
    assert_eq!(child.0.try_wait().unwrap(), None, "the program goes on");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn marks_are_heard_with_their_names_and_amounts() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "marked");
    let (tables, exit) = trace(folder.path(), &[program.to_str().unwrap()]);
    assert_eq!(exit, Exit::Status(0));
    let kinds = |kind| tables.marks.iter().filter(move |mark| mark.kind == kind);
    assert_eq!((kinds(MarkKind::Begin).count(), kinds(MarkKind::End).count()), (1, 1));
    for (thread, name) in [(ThreadId(1), "parse"), (ThreadId(2), "<b>write</b>")] {
        for kind in [MarkKind::TaskBegin, MarkKind::TaskEnd] {
            let tasks = kinds(kind).filter(|m| m.thread == thread && m.name.as_deref() == Some(name));
            let of_thread = || kinds(kind).filter(|mark| mark.thread == thread).map(|mark| mark.name.as_deref());
            assert_eq!(tasks.count(), 31, "{name}: {:?}", of_thread().collect::<Vec<_>>());
        }
        let units: u64 =
            kinds(MarkKind::Work).filter(|mark| mark.thread == thread).filter_map(|mark| mark.amount).sum();
        assert_eq!(units, 31 * 37, "{name}");
    }
    let (begin, end) = (kinds(MarkKind::Begin).next().unwrap(), kinds(MarkKind::End).next().unwrap());
    assert!(
        tables
            .marks
            .iter()
            .all(|mark| (begin.time_ns..=end.time_ns).contains(&mark.time_ns) || mark.kind == MarkKind::Work)
    );
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_process_that_is_gone_is_an_error_that_names_it() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path().join("r"), &recording::synthetic::meta(1)).unwrap();
    let error = Tracer::new().attach(child.id(), None, &Stop::new(), &mut writer, RunId(0)).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no process {}", child.id()));
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn the_times_of_a_thread_sum_to_its_life_and_its_slices_cover_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "known");
    let (tables, _) = trace(folder.path(), &[program.to_str().unwrap()]);
    for thread in &tables.threads {
        let life = thread.end_ns - thread.start_ns;
        let sum = thread.running_ns + thread.runnable_ns + thread.preempted_ns + thread.blocked_ns;
        assert_eq!(sum, life, "{thread:?}");
        let mut slices: Vec<_> = tables.slices.iter().filter(|slice| slice.thread == thread.thread).collect();
        slices.sort_by_key(|slice| slice.start_ns);
        assert_eq!(slices.iter().map(|slice| slice.spent_ns).sum::<u64>(), life, "{thread:?}");
        assert_eq!(slices.first().map(|s| s.start_ns), Some(thread.start_ns));
        assert_eq!(slices.iter().map(|s| s.end_ns).max(), Some(thread.end_ns));
    }
}

/// The time of a thread that never leaves its processor is counted only after its end.
#[test]
#[ignore = "needs root: run ./dev live"]
fn the_targets_own_time_is_not_that_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let (tables, _) = trace(folder.path(), &["/bin/sh", "-c", busy]);
    assert_eq!(tables.threads.len(), 1);
    let own: Vec<_> = tables.foreign.iter().filter(|other| other.pid == tables.threads[0].pid).collect();
    assert!(own.is_empty(), "{own:?}");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn exit_status_signal_and_output_of_the_target_stay_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (_, exit) = trace(folder.path(), &["/bin/sh", "-c", "exit 7"]);
    assert_eq!(exit, Exit::Status(7));
    let folder = tempfile::tempdir().unwrap();
    let (_, exit) = trace(folder.path(), &["/bin/sh", "-c", "kill -SEGV $$"]);
    assert_eq!(exit, Exit::Signal(11));
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn children_that_exec_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (tables, _) = trace(folder.path(), &["/bin/sh", "-c", "/bin/sleep 0.2; /bin/sleep 0.3; true"]);
    // A thread's row is written when the thread has ended.
    let mut threads: Vec<_> = tables.threads.iter().collect();
    threads.sort_by_key(|thread| thread.thread);
    let names: Vec<&str> = threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["sh", "sleep", "sleep"]);
    assert!(threads[1..].iter().all(|thread| thread.parent == Some(ThreadId(0))));
    for sleeper in &threads[1..] {
        let slept = tables.waits.iter().filter(|w| w.thread == sleeper.thread && w.reason == Reason::Sleep);
        assert_eq!(slept.map(|wait| wait.count).sum::<u64>(), 1, "{sleeper:?} {:?}", tables.waits);
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn nothing_is_left_in_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    trace(folder.path(), &["/bin/true"]);
    let own = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let left: Vec<_> = own
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|link| link.to_string_lossy().contains("bpf") || link.to_string_lossy().contains("perf_event"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_missing_program_is_told_before_anything_runs() {
    let run =
        |argv: &[&str]| run_clean(&command(argv), &RunOptions::default(), &mut KeptOutput::default(), &Stop::new());
    assert!(matches!(run(&["/nowhere/program"]), Err(collect::Error::Start { .. })));
    assert!(matches!(run(&[]), Err(collect::Error::EmptyCommand)));
}

#[test]
fn a_clean_run_measures_time_and_keeps_the_output() {
    let mut output = KeptOutput::default();
    let finished = run_clean(
        &command(&["/bin/sh", "-c", "echo out; echo err >&2; sleep 0.05; exit 3"]),
        &RunOptions::default(),
        &mut output,
        &Stop::new(),
    )
    .unwrap();
    assert_eq!(finished.exit, Exit::Status(3));
    assert!(finished.wall_ns >= 50_000_000);
    let text = String::from_utf8(output.0).unwrap();
    assert!(text.contains("out\n") && text.contains("err\n"), "{text:?}");
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let options = RunOptions { timeout: Some(Duration::from_millis(100)), ..RunOptions::default() };
    let ended = run_clean(&command(&["/bin/sleep", "60"]), &options, &mut KeptOutput::default(), &Stop::new());
    assert!(matches!(ended, Err(collect::Error::Timeout { .. })), "{ended:?}");
}

#[test]
fn a_stopped_run_is_ended_even_when_a_grandchild_holds_its_output() {
    let stop = Stop::new();
    stop.request();
    let ended = run_clean(
        &command(&["/bin/sh", "-c", "sleep 5 & sleep 60"]),
        &RunOptions::default(),
        &mut KeptOutput::default(),
        &stop,
    );
    assert!(matches!(ended, Err(collect::Error::Interrupted)), "{ended:?}");
}
