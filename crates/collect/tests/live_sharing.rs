//! What threads do to each other's memory, seen on real programs. These tests load BPF programs and set breakpoints:
//! they need root, and run by `./dev live`.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up is to fail")]
#![allow(clippy::print_stderr, reason = "tells what was seen")]

mod common;

use common::trace;
use recording::Tables;
use recording::tables::AccessKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn observe(compiler: &str, level: &str, what: &str) -> Tables {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("sharing");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/sharing.c");
    let arguments = [level, "-g", "-pthread", "-o"];
    assert!(Command::new(compiler).args(arguments).arg(&program).arg(source).status().unwrap().success());
    let (tables, _) = trace(folder.path(), &[program.to_str().unwrap(), what, "1000"]);
    tables
}

fn function(tables: &Tables, frame: recording::FrameId) -> (&str, Option<u32>) {
    let row = tables.frames.iter().find(|row| row.frame == frame).unwrap();
    (row.function.as_deref().unwrap_or("?"), row.line)
}

fn show(tables: &Tables, what: &str) {
    let mut lines: BTreeMap<u64, BTreeMap<(u32, u64, AccessKind), u32>> = BTreeMap::new();
    for row in &tables.accesses {
        *lines.entry(row.address / 64).or_default().entry((row.thread.0, row.address, row.kind)).or_default() += 1;
    }
    eprintln!("== {what}: {} samples, {} accesses", tables.samples.len(), tables.accesses.len());
    for (line, users) in lines.iter().filter(|(_, users)| users.values().sum::<u32>() > 20) {
        let name = |address: u64| {
            tables.variables.iter().find(|v| v.address == address).map(|v| (v.name.clone(), v.offset, v.region))
        };
        eprintln!("  line {:#x}", line * 64);
        for ((thread, address, kind), count) in users {
            eprintln!("    thread {thread} {address:#x} {kind} {count} {:?}", name(*address));
        }
    }
    for spin in &tables.spins {
        let name = tables.variables.iter().find(|v| Some(v.address) == spin.address).and_then(|v| v.name.clone());
        eprintln!(
            "  spin thread {} {:?} {:x?} {name:?} samples {} pauses {} yields {} takes {}",
            spin.thread,
            function(tables, spin.frame),
            spin.address,
            spin.samples,
            spin.pauses,
            spin.yields,
            spin.takes
        );
    }
    for row in &tables.confirmations {
        eprintln!(
            "  watched thread {} {:#x}+{} writes {} trials {} hit {} shared {} hits {} gap {:?} across {:?} by {:?}",
            row.thread,
            row.address,
            row.width,
            row.writes,
            row.trials,
            row.hit_trials,
            row.shared_trials,
            row.hits,
            row.gap_ns,
            row.across_ns,
            row.frame.map(|frame| function(tables, frame))
        );
    }
    let _: BTreeSet<u32> = BTreeSet::new();
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn show_all() {
    for level in ["-O2", "-O0"] {
        for what in ["packed", "padded", "atomic", "table", "turns", "lock", "yield"] {
            show(&observe("gcc", level, what), &format!("{level} {what}"));
        }
    }
}
