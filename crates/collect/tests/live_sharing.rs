//! What threads do to each other's memory, seen on real programs. These tests load BPF programs and set breakpoints:
//! they need root and are run by `./dev live`.
#![allow(clippy::print_stderr, reason = "says what is not tested")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod common;

use common::trace;
use recording::Tables;
use recording::tables::{AccessKind, Confirmation, Frame, Region, RuntimeBytes, Spin};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Observes until the check passes. Other programs on the machine affect how much two threads run at the same time, and
/// thus how long it takes until breakpoints have seen them together. A busy machine gets more time, but the result must
/// be the same.
fn observe_until(compiler: &str, level: &str, what: &str, check: impl Fn(&Tables) -> Result<(), String>) -> Tables {
    let mut told = String::new();
    for attempt in 1..=4 {
        let tables = observe(compiler, level, what, attempt * 1000);
        match check(&tables) {
            Ok(()) => return tables,
            Err(why) => told = why,
        }
    }
    panic!("{compiler} {level} {what}: {told}");
}

fn observe(compiler: &str, level: &str, what: &str, milliseconds: u32) -> Tables {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("sharing");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/sharing.c");
    let arguments = [level, "-g", "-pthread", "-o"];
    assert!(Command::new(compiler).args(arguments).arg(&program).arg(source).status().unwrap().success());
    let (tables, _) = trace(folder.path(), &[program.to_str().unwrap(), what, &milliseconds.to_string()]);
    tables
}

fn function(tables: &Tables, frame: recording::FrameId) -> (&str, Option<u32>) {
    let row = tables.frames.iter().find(|row| row.frame == frame).unwrap();
    (row.function.as_deref().unwrap_or("?"), row.line)
}

fn name(tables: &Tables, address: u64) -> (&str, u64) {
    let row = tables.variables.iter().find(|row| row.address == address);
    row.and_then(|row| Some((row.name.as_deref()?, row.offset?))).unwrap_or(("?", 0))
}

/// Which threads touched what, in lines that breakpoints showed two threads to touch in the same trials.
fn shared(tables: &Tables) -> BTreeMap<(&str, u64), BTreeSet<u32>> {
    let mut shared: BTreeMap<(&str, u64), BTreeSet<u32>> = BTreeMap::new();
    for row in tables.confirmations.iter().filter(|row| row.shared_trials >= 3) {
        shared.entry(name(tables, row.address)).or_default().insert(row.thread.0);
    }
    shared
}

/// Of the samples in waiting loops, the line and the variable that have most.
fn awaited(tables: &Tables) -> Option<(String, u32, String, u64)> {
    let mut samples: BTreeMap<(String, u32, String), u64> = BTreeMap::new();
    for row in &tables.spins {
        let (function, line) = function(tables, row.frame);
        let (variable, _) = row.address.map_or(("unknown", 0), |address| name(tables, address));
        *samples.entry((function.to_owned(), line.unwrap_or(0), variable.to_owned())).or_default() += row.samples;
    }
    let most = samples.into_iter().max_by_key(|(_, samples)| *samples);
    most.map(|((function, line, variable), samples)| (function, line, variable, samples))
}

/// The number of the line of the test program that has this mark.
fn marked(mark: &str) -> u32 {
    let source = include_str!("targets/sharing.c");
    source.lines().position(|line| line.contains(mark)).unwrap() as u32 + 1
}

fn expect(true_or: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if true_or { Ok(()) } else { Err(what()) }
}

/// The compilers of the list that are installed.
fn present<'c>(compilers: &[(&'c str, &'c str)]) -> Vec<(&'c str, &'c str)> {
    let is_here = |(compiler, _): &&(&str, &str)| {
        let found = Command::new(compiler).arg("--version").output().is_ok();
        if !found {
            eprintln!("NOT TESTED: `{compiler}` is not installed");
        }
        found
    };
    compilers.iter().filter(is_here).copied().collect()
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn variables_that_share_a_line_are_seen_by_thread_and_confirmed() {
    for (compiler, level) in present(&[("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O2")]) {
        let tables = observe_until(compiler, level, "packed", |tables| {
            let offsets: Vec<(&str, u64)> = shared(tables).keys().copied().collect();
            expect(offsets == [("packed", 0), ("packed", 8)], || format!("{:?}", tables.confirmations))
        });
        let shared = shared(&tables);
        assert!(shared.values().all(|threads| threads.len() == 1), "each thread has its own: {shared:?}");
        let by = tables.confirmations.iter().filter_map(|row| row.frame);
        let by: BTreeSet<_> = by.map(|frame| function(&tables, frame)).collect();
        assert_eq!(by, BTreeSet::from([("count_packed", Some(marked("OWN COUNTER")))]));
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn members_of_an_object_on_the_heap_have_the_names_of_their_type() {
    for (compiler, level) in present(&[("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O2"), ("clang", "-O0")]) {
        observe_until(compiler, level, "members", |tables| {
            let named = |address: u64| {
                let row = tables.variables.iter().find(|row| row.address == address)?;
                assert_eq!((row.region, &row.name), (Region::Heap, &None));
                Some((row.type_name.clone()?, row.member.clone()?, row.offset?))
            };
            let shared = tables.confirmations.iter().filter(|row| row.shared_trials >= 3);
            let names: BTreeSet<_> = shared.map(|row| named(row.address)).collect();
            let member = |name: &str, offset| Some(("struct statistics".to_owned(), name.to_owned(), offset));
            let wanted = BTreeSet::from([member(".hits", 8), member(".misses", 16)]);
            expect(names == wanted, || format!("{names:?} of {:?}", tables.confirmations))
        });
    }
}

/// Observes `Shared.java` until the check passes; skipped where there is no Java.
fn observe_java_until(what: &str, steps: u64, check: impl Fn(&Tables) -> Result<(), String>) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/runtimes/Shared.java");
    let compiled = Command::new("javac").arg("-d").arg(folder.path()).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("NOT TESTED: `javac` does not run here");
        return;
    }
    let class = folder.path().to_str().unwrap();
    let mut told = String::new();
    for attempt in 1..=4 {
        let steps = (steps * attempt).to_string();
        let named = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer"];
        let argv: Vec<&str> = [&["java"], &named[..], &["-cp", class, "Shared", what, &steps, "2"]].concat();
        let (tables, _) = trace(&folder.path().join(attempt.to_string()), &argv);
        match check(&tables) {
            Ok(()) => return,
            Err(why) => told = why,
        }
    }
    panic!("Java {what}: {told}");
}

/// What two threads of a Java program touched in the same trials, as breakpoints showed, in order: address from the
/// start of the line, threads, and methods.
fn java_shared(tables: &Tables) -> Vec<(u64, BTreeSet<u32>, BTreeSet<String>)> {
    let mut shared: BTreeMap<u64, (BTreeSet<u32>, BTreeSet<String>)> = BTreeMap::new();
    for row in tables.confirmations.iter().filter(|row| row.shared_trials >= 3 && row.writes) {
        let at = shared.entry(row.address).or_default();
        at.0.insert(row.thread.0);
        at.1.extend(row.frame.map(|frame| function(tables, frame).0.to_owned()));
    }
    shared.into_iter().map(|(address, (threads, methods))| (address % 64, threads, methods)).collect()
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn one_atomic_of_several_java_threads_is_seen() {
    observe_java_until("atomic", 600_000_000, |tables| {
        let shared = java_shared(tables);
        let told = || format!("{shared:?}");
        let both = shared.iter().filter(|(_, threads, _)| threads.len() == 2);
        expect(both.flat_map(|one| &one.2).any(|method| method.contains("Shared.count")), told)?;
        // The code that it was worked out from is recorded, and contains the instructions.
        let within = |frame: &Frame| {
            let holds =
                |row: &RuntimeBytes| (row.address..row.address + row.bytes.len() as u64).contains(&frame.address);
            tables.runtime_bytes.iter().any(holds)
        };
        let frames: Vec<&Frame> = tables
            .accesses
            .iter()
            .filter_map(|row| tables.frames.iter().find(|frame| frame.frame == row.frame))
            .filter(|frame| frame.function.as_deref().is_some_and(|name| name.contains("Shared.count")))
            .collect();
        expect(!frames.is_empty() && frames.into_iter().all(within), || "no bytes of the code".to_owned())
    });
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn java_fields_beside_each_other_share_a_line_and_padded_ones_do_not() {
    observe_java_until("packed", 600_000_000, |tables| {
        let shared = java_shared(tables);
        let [first, second] = shared.as_slice() else { return Err(format!("{shared:?}")) };
        expect(first.0 + 8 == second.0 && first.1.is_disjoint(&second.1), || format!("{shared:?}"))?;
        // A volatile write is followed by a fence, where its samples are taken.
        let near = tables.accesses.iter().filter(|row| row.distance == -1 && row.kind == AccessKind::Store);
        expect(near.count() > 100, || "the writes are not where the samples are".to_owned())
    });
    observe_java_until("padded", 600_000_000, |tables| {
        expect(java_shared(tables).is_empty(), || format!("{:?}", java_shared(tables)))
    });
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_java_loop_that_waits_for_a_volatile_is_told() {
    observe_java_until("turns", 20_000, |tables| {
        let waits = |row: &&Spin| function(tables, row.frame).0.contains("Shared.turns");
        let samples: u64 = tables.spins.iter().filter(waits).map(|row| row.samples).sum();
        expect(samples * 10 > tables.samples.len() as u64, || format!("{samples} of {}", tables.samples.len()))?;
        let read = tables.spins.iter().filter(waits).filter_map(|row| Some((row.thread, row.address?)));
        let read: BTreeSet<_> = read.collect();
        let others = |row: &Confirmation| {
            row.hits > 0 && read.iter().any(|(thread, at)| *thread != row.thread && at / 8 == row.address / 8)
        };
        expect(tables.confirmations.iter().any(others), || format!("nobody was seen to write {read:?}"))
    });
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn one_variable_of_several_threads_is_seen() {
    let tables = observe_until("gcc", "-O2", "atomic", |tables| {
        let shared = shared(tables);
        expect(shared.get(&("total", 0)).is_some_and(|threads| threads.len() == 2), || format!("{shared:?}"))
    });
    let mut own = tables.accesses.iter().filter(|row| name(&tables, row.address).0 == "total");
    assert!(own.all(|row| row.kind == AccessKind::Atomic && row.width == 8));
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn variables_with_lines_of_their_own_and_tables_are_not_suspected() {
    for what in ["padded", "table"] {
        let tables = observe("gcc", "-O2", what, 1000);
        assert!(tables.samples.len() > 100, "{}", tables.samples.len());
        assert_eq!(tables.confirmations, [], "{what}");
        assert_eq!(tables.spins, [], "{what}");
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn loops_that_wait_are_told_with_what_they_wait_for_and_who_writes_it() {
    for (what, function_name, variable, waits, releases) in [
        ("turns", "take_turns", "turn", "WAITS FOR ITS TURN", "ENDS ITS TURN"),
        ("lock", "spin_lock", "locked", "WAITS FOR THE LOCK", "TAKES THE LOCK"),
        ("yield", "yielding", "turn", "YIELDS UNTIL ITS TURN", "YIELDED TURN"),
    ] {
        for level in ["-O2", "-O0"] {
            observe_until("gcc", level, what, |tables| {
                let (seen, line, polled, samples) = awaited(tables).ok_or("no loop that waits")?;
                expect(seen == function_name && polled == variable, || format!("{:?}", tables.spins))?;
                expect(line == marked(waits), || format!("line {line}"))?;
                // Each waits for most of the other's turn.
                let all = tables.samples.len() as u64;
                expect(samples * 10 > all, || format!("{samples} samples of {all} in the loop"))?;
                let flags = (what == "lock", what == "yield");
                // A few samples may be in the loop around it, which tries to take the lock.
                let mut inner = tables.spins.iter().filter(|row| !row.takes);
                expect(inner.all(|row| (row.pauses, row.yields) == flags), || format!("{:?}", tables.spins))?;
                let writers = tables.confirmations.iter().filter(|row| name(tables, row.address).0 == variable);
                let writers = writers.filter(|row| row.hits > 0).filter_map(|row| row.frame);
                let lines: BTreeSet<u32> = writers.filter_map(|frame| function(tables, frame).1).collect();
                // Both taking and releasing a lock write it.
                let near = |line: &u32| (marked(releases)..marked(releases) + 7).contains(line);
                expect(!lines.is_empty() && lines.iter().all(near), || format!("written in lines {lines:?}"))
            });
        }
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn the_library_s_spin_lock_and_a_reader_that_waits_for_a_writer_are_told() {
    for (what, function_name, variable, waits) in [
        // Without debug information of the C library, the line of its loop is not known.
        ("library", "pthread_spin_lock", "spin", None),
        ("sequence", "read_sequence", "sequence", Some("WAITS FOR THE WRITER")),
    ] {
        observe_until("gcc", "-O2", what, |tables| {
            let (seen, line, polled, samples) = awaited(tables).ok_or("no loop that waits")?;
            expect(seen.ends_with(function_name) && polled == variable, || format!("{seen} {polled}"))?;
            expect(waits.is_none_or(|waits| line == marked(waits)), || format!("line {line}"))?;
            let all = tables.samples.len() as u64;
            expect(samples * 10 > all, || format!("{samples} samples of {all} in the loop"))?;
            let wrote = |row: &&Confirmation| row.writes && row.hits > 0 && name(tables, row.address).0 == variable;
            let writers: BTreeSet<u32> = tables.confirmations.iter().filter(wrote).map(|row| row.thread.0).collect();
            // Both threads write a lock; only the writer writes a sequence.
            let expected = if what == "library" { 2 } else { 1 };
            expect(writers.len() == expected, || format!("written by {writers:?}"))
        });
    }
}
