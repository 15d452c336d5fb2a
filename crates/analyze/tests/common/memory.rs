//! What threads do to each other's memory.

use crate::common::*;
use recording::meta::Capability;
use recording::synthetic::{Sketch, ms};
use recording::tables::*;
use recording::{FrameId, RunId, StackId, Tables, ThreadId};

pub(crate) const WORK: &str = "work@app app.c:5";

pub(crate) const COUNT: &str = "count@app app.c:7 < work@app app.c:9";

pub(crate) const LINE: u64 = 0x5000;

/// A program whose function `count` takes one second more with two threads: 0.5 s with one, 1.5 s with two.
pub(crate) fn slower() -> Tables {
    slower_with(COUNT, COUNT, &around(1.0))
}

/// The same, with `count` at these places in the runs with one and with two threads, and timed runs with two threads
/// that take `seconds`.
pub(crate) fn slower_with(alone: &str, shared: &str, seconds: &[f64]) -> Tables {
    let cpu: Vec<f64> = seconds.iter().map(|s| 2.0 * s).collect();
    let mut tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, seconds, &cpu)
        .traced(1, |run| {
            run.thread("main").runs(ms(500), WORK).runs(ms(500), alone);
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(250), WORK).runs(ms(750), shared);
            }
        })
        .tables();
    for what in ["kernel observation (eBPF)", "memory that threads share"] {
        tables.meta.capabilities.push(Capability {
            what: what.to_owned(),
            available: true,
            why: String::new(),
            costs: String::new(),
            unlock: None,
        });
    }
    tables
}

/// The frame of a function; of several the last, which is from the run with two threads.
pub(crate) fn frame_of(tables: &Tables, function: &str) -> FrameId {
    tables.frames.iter().rfind(|row| row.function.as_deref() == Some(function)).unwrap().frame
}

pub(crate) fn traced(tables: &Tables) -> RunId {
    tables.runs.iter().find(|row| row.kind == RunKind::Traced && row.threads == 2).unwrap().run
}

/// Adds an access before every sample in `count` of the run with two threads. `what`: its kind and address, by thread.
pub(crate) fn accesses(tables: &mut Tables, what: [(AccessKind, u64); 2]) {
    let (run, frame) = (traced(tables), frame_of(tables, "count"));
    let stack = tables.stacks.iter().find(|row| row.frame == frame).unwrap().stack;
    let samples = tables.samples.iter().filter(|row| row.run == run && row.user_stack == Some(stack));
    let rows = samples.map(|sample| {
        let (kind, address) = what[sample.thread.0 as usize];
        Access {
            run,
            thread: sample.thread,
            time_ns: sample.time_ns,
            address,
            width: 8,
            kind,
            frame,
            distance: -1,
            certainty: AddressCertainty::Exact,
        }
    });
    tables.accesses = rows.collect();
}

/// Adds breakpoints that saw both threads at their addresses in eight trials.
pub(crate) fn confirm(tables: &mut Tables, what: [(bool, u64); 2]) {
    let (run, frame) = (traced(tables), frame_of(tables, "count"));
    for (thread, (writes, address)) in what.into_iter().enumerate() {
        tables.confirmations.push(Confirmation {
            run,
            thread: ThreadId(thread as u32),
            address,
            width: 8,
            writes,
            frame: Some(frame),
            trials: 8,
            hit_trials: 8,
            shared_trials: 8,
            hits: 48,
            gap_ns: Some(9_000),
            across_ns: Some(2_000),
        });
    }
}

pub(crate) fn variable(tables: &mut Tables, name: &str, size: u64, at: &[u64]) {
    let run = traced(tables);
    for address in at {
        tables.variables.push(Variable {
            run,
            address: *address,
            region: Region::Global,
            module: Some("app".to_owned()),
            name: Some(name.to_owned()),
            offset: Some(address - LINE),
            size: Some(size),
            member: None,
            type_name: None,
        });
    }
}

/// Names members of an object on the heap by its type.
pub(crate) fn member(tables: &mut Tables, name: &str, offset: u64, size: u64, address: u64) {
    let run = traced(tables);
    tables.variables.push(Variable {
        run,
        address,
        region: Region::Heap,
        module: None,
        name: None,
        offset: Some(offset),
        size: Some(size),
        member: Some(name.to_owned()),
        type_name: Some("struct stats".to_owned()),
    });
}

/// Waiting loops in `count` of both threads.
pub(crate) fn spins(tables: &mut Tables) {
    let (run, frame) = (traced(tables), frame_of(tables, "count"));
    let stack = tables.stacks.iter().find(|row| row.frame == frame).unwrap().stack;
    spins_at(tables, run, frame, stack);
}

/// The same accesses in a program that scales: with one thread as much time is spent there.
pub(crate) fn costs_nothing(tables: Tables) -> Tables {
    let mut fast = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(0.5), &around(1.0))
        .traced(1, |run| {
            run.thread("main").runs(ms(500), WORK).runs(ms(500), COUNT);
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(250), WORK).runs(ms(250), COUNT);
            }
        })
        .tables();
    fast.meta = tables.meta;
    (fast.accesses, fast.confirmations, fast.spins) = (tables.accesses, tables.confirmations, tables.spins);
    fast
}

/// Waiting loops of both threads in a frame.
pub(crate) fn spins_at(tables: &mut Tables, run: RunId, frame: FrameId, stack: StackId) {
    for thread in [ThreadId(0), ThreadId(1)] {
        tables.spins.push(Spin {
            run,
            thread,
            frame,
            address: Some(LINE),
            width: 4,
            samples: 750,
            first_ns: 0,
            last_ns: ms(1000),
            pauses: true,
            yields: false,
            takes: false,
            user_stack: Some(stack),
        });
    }
}
