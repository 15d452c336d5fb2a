//! Programs that crash, exit oddly or flood the observer, and disks that fill: there must be a readable recording or a
//! clear error, and the target must not be harmed. These tests load BPF programs: they need root and are run by `./dev
//! live`.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod common;

use collect::{Error, Exit, RunOptions, Stop, Tracer};
use common::{KeptOutput, assert_whole, command, compile, lost, trace};
use recording::{RunId, Tables, Writer};
use std::path::Path;

fn unlucky(what: &str) -> (Tables, Exit) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "unlucky");
    trace(folder.path(), &[program.to_str().unwrap(), what])
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn targets_end_as_they_would_alone() {
    for (what, exit, threads) in [
        ("segfault", Exit::Signal(libc::SIGSEGV), 2),
        ("exit-in-thread", Exit::Status(9), 2),
        ("main-leaves-first", Exit::Status(5), 2),
        ("killed", Exit::Signal(libc::SIGKILL), 1),
    ] {
        let (tables, ended) = unlucky(what);
        assert_eq!((ended, tables.threads.len()), (exit, threads), "{what}");
        assert_whole(&tables);
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_thousand_children_are_followed() {
    let (tables, exit) = unlucky("forks");
    assert_eq!(exit, Exit::Status(0));
    assert_eq!(tables.threads.len(), 1001);
    assert_whole(&tables);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn five_thousand_threads_at_once_are_all_seen() {
    let (tables, exit) = unlucky("threads");
    assert_eq!(exit, Exit::Status(0));
    assert_eq!(tables.threads.len() as u64 + lost(&tables, "threads"), 5001);
    assert_eq!(lost(&tables, "threads"), 0);
    assert_whole(&tables);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn records_of_ended_threads_are_used_again() {
    let (tables, exit) = unlucky("many-threads");
    assert_eq!(exit, Exit::Status(0));
    assert_eq!(tables.threads.len() as u64 + lost(&tables, "threads"), 20_001);
    assert_eq!(lost(&tables, "threads"), 0, "16384 records have to be enough for 20001 threads, two at a time");
    assert_eq!(lost(&tables, "wait places") + lost(&tables, "system call counts"), 0, "{:?}", tables.losses);
    let clones: u64 = tables.syscalls.iter().filter(|row| row.name.starts_with("clone")).map(|row| row.count).sum();
    assert_eq!(clones, 20_000);
    assert_whole(&tables);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_storm_of_calls_is_counted_exactly_and_timed_in_part() {
    let (tables, exit) = unlucky("calls");
    assert_eq!(exit, Exit::Status(0));
    let counted: u64 = tables.syscalls.iter().filter(|row| row.name == "getppid").map(|row| row.count).sum();
    assert_eq!(counted, 2_000_000);
    let sites: Vec<_> = tables.call_sites.iter().filter(|site| site.name == "getppid").collect();
    let timed: u64 = sites.iter().map(|site| site.timed).sum();
    assert!(timed > 0 && timed < 2_000_000, "{timed}");
    let [site] = sites.as_slice() else { panic!("{sites:?}") };
    // No other place that makes this call was seen, but there might be one.
    assert_eq!((site.calls, site.calls_high), (2e6, 2e6));
    assert!(site.calls_low >= timed as f64 && site.calls_low < 2e6, "{site:?}");
    assert_whole(&tables);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_full_disk_is_an_error_that_names_the_recording_and_leaves_the_target_alone() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mount = |arguments: &[&str]| std::process::Command::new("mount").args(arguments).arg(&small).status().unwrap();
    assert!(mount(&["-t", "tmpfs", "-o", "size=48k", "none"]).success());
    let result = fill(&small, folder.path());
    let unmounted = std::process::Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    let error = result.expect_err("48 KiB do not hold a recording");
    assert!(matches!(&error, Error::Recording(_)), "{error:?}");
    let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
    assert!(text.contains("small/recording"), "{text}");
    // The program writes this as its last action.
    assert_eq!(std::fs::read_to_string(folder.path().join("proof")).unwrap(), "done\n");
}

fn fill(small: &Path, beside: &Path) -> Result<(), Error> {
    let mut writer = Writer::create(small.join("recording"), &recording::synthetic::meta(1))?;
    let script = format!("for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; done; echo done > {}/proof", beside.display());
    let command = command(&["/bin/sh", "-c", &script]);
    Tracer::new()
        .run(&command, &RunOptions::default(), &mut KeptOutput::default(), &Stop::new(), &mut writer, RunId(0))
        .map(drop)
}
