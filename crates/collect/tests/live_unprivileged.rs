//! The collectors for users without rights: what they record is complete, and they do not change the target. They work
//! for everybody, but where a machine forbids perf events there would be nothing to test, so `./dev live` runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod common;

use collect::{Collector, Exit};
use common::{assert_whole, compile, lost, observe};
use recording::Tables;
use recording::tables::{Reason, State};

fn unlucky(collector: Collector, what: &str) -> (Tables, Exit) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "unlucky");
    observe(collector, folder.path(), &[program.to_str().unwrap(), what])
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn targets_end_as_they_would_alone() {
    for collector in [Collector::Perf, Collector::Proc] {
        for (what, exit) in [
            ("segfault", Exit::Signal(libc::SIGSEGV)),
            ("exit-in-thread", Exit::Status(9)),
            ("main-leaves-first", Exit::Status(5)),
            ("killed", Exit::Signal(libc::SIGKILL)),
        ] {
            let (tables, ended) = unlucky(collector, what);
            assert_eq!(ended, exit, "{collector} {what}");
            assert_whole(&tables);
        }
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn perf_events_tell_of_each_of_a_thousand_children() {
    let (tables, exit) = unlucky(Collector::Perf, "forks");
    assert_eq!(exit, Exit::Status(0));
    assert!(tables.threads.len() == 1001 || lost(&tables, "") > 0, "{} {:?}", tables.threads.len(), tables.losses);
    assert_whole(&tables);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn short_processes_that_proc_does_not_show_do_no_harm() {
    let (tables, exit) = unlucky(Collector::Proc, "forks");
    assert_eq!(exit, Exit::Status(0));
    assert!(tables.threads.len() < 1001, "most live for less than a look takes");
    assert_whole(&tables);
}

/// A shell that sleeps, works, and waits for a pipe, long enough to be looked at.
const SCRIPT: &str = "sleep 0.3; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; (sleep 0.3; echo) | read x";

#[test]
#[ignore = "needs root: run ./dev live"]
fn long_waits_have_their_reasons() {
    for collector in [Collector::Perf, Collector::Proc] {
        let folder = tempfile::tempdir().unwrap();
        let (tables, _) = observe(collector, folder.path(), &["sh", "-c", SCRIPT]);
        assert_whole(&tables);
        for reason in [Reason::Child, Reason::Sleep] {
            let waited = tables.waits.iter().filter(|w| w.reason == reason && w.count > 0 && w.blocked_ns > 0).count();
            assert!(waited > 0, "{collector} {reason:?} {:#?}", tables.waits);
        }
        let ran: u64 = tables.slices.iter().filter(|s| s.state == State::Running).map(|s| s.spent_ns).sum();
        let untold = lost(&tables, "milliseconds of processor time") * 1_000_000;
        assert!(ran + untold > 0, "{collector}: {ran}, {untold}");
        let sampled = tables.samples.iter().any(|sample| sample.user_stack.is_some());
        assert_eq!(sampled, collector == Collector::Perf);
    }
}
