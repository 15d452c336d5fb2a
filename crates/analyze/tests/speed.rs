//! How long an analysis takes. Run with `cargo test -p analyze --release --test speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod common;

use analyze::answer_for;
use common::*;
use recording::synthetic::{Sketch, us};
use std::time::Instant;

#[test]
#[ignore = "measures time: wants an optimised build and a quiet machine"]
fn a_million_slices_take_no_longer_than_expected() {
    let mut tables = Sketch::new(4)
        .clean(1, &around(1.0))
        .clean(8, &around(1.0))
        .traced(8, |run| {
            for (i, name) in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().enumerate() {
                let mut thread = run.thread_at(name, us(i as u64));
                for _ in 0..40_000 {
                    thread = thread.runs(us(9), RANDOM.work).locks(1, us(7), RANDOM.wait, "a").runnable(us(3));
                }
            }
        })
        .tables();
    let samples = tables.samples.clone();
    tables.samples.extend(samples.iter().cycle().take(200_000).cloned());
    let begin = Instant::now();
    let answer = answer_for(&tables);
    let took = begin.elapsed();
    println!("{} slices, {} samples: {took:?}", tables.slices.len(), tables.samples.len());
    assert_balanced(&answer);
    // Ten times the goal: a slower algorithm should fail here, a busy machine should not.
    assert!(took.as_secs_f64() < 10.0, "{took:?}");
}

/// The most memory that this process has used, bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// The goal: 10 million slices and 1 million samples in 5 s and 1 GB, not counting the recording itself.
#[test]
#[ignore = "measures time and memory: wants an optimised build, a quiet machine, and to run alone"]
fn ten_million_slices_take_no_longer_than_expected() {
    let (rounds, copies) = (41_700, 10);
    let mut tables = Sketch::new(4)
        .clean(1, &around(1.0))
        .clean(8, &around(1.0))
        .traced(8, |run| {
            for (i, name) in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().enumerate() {
                let mut thread = run.thread_at(name, us(i as u64));
                for _ in 0..rounds {
                    thread = thread.runs(us(9), RANDOM.work).locks(1, us(7), RANDOM.wait, "a").runnable(us(3));
                }
            }
        })
        .tables();
    let length = us(19 * rounds);
    let (slices, samples) = (tables.slices.clone(), tables.samples.clone());
    for copy in 1..copies as u64 {
        tables.slices.extend(slices.iter().map(|s| recording::tables::Slice {
            start_ns: s.start_ns + copy * length,
            end_ns: s.end_ns + copy * length,
            ..s
        }));
    }
    drop(slices);
    tables.samples.extend(samples.iter().cycle().take(1_000_000 - samples.len().min(1_000_000)).cloned());
    for thread in &mut tables.threads {
        thread.end_ns += (copies as u64 - 1) * length;
        thread.running_ns *= copies as u64;
        thread.blocked_ns *= copies as u64;
    }
    for trace in &mut tables.traces {
        trace.end_ns += (copies as u64 - 1) * length;
    }
    let before = peak_memory();
    let begin = Instant::now();
    let answer = answer_for(&tables);
    let took = begin.elapsed();
    let memory = peak_memory() - before;
    println!("{} slices, {} samples: {took:?}, {} MB", tables.slices.len(), tables.samples.len(), memory / 1_000_000);
    assert_balanced(&answer);
    assert!(tables.slices.len() >= 10_000_000 && tables.samples.len() >= 1_000_000);
    assert!(took.as_secs_f64() < 50.0, "{took:?}");
    assert!(memory < 1_000_000_000, "{memory} bytes");
}
