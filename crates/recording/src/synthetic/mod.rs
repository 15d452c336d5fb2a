//! Recordings sketched in a few lines, for tests of everything that reads one.
//!
//! ```
//! use recording::synthetic::{Sketch, ms};
//! let tables = Sketch::new(2)
//!     .clean(1, &[2.00, 2.01, 1.99])
//!     .clean(2, &[2.50, 2.49, 2.52])
//!     .traced(2, |run| {
//!         run.thread("a").runs(ms(10), "work@app app.c:7").locks(0x100, ms(5), "work@app app.c:8", "b");
//!         run.thread("b").runs(ms(15), "work@app app.c:7");
//!     })
//!     .tables();
//! assert_eq!(tables.threads.len(), 2);
//! ```
//!
//! A stack is written innermost first, frames separated by ` < `, a frame as `function@module` with an optional
//! ` file:line`; the function `?` has no name. Modules: `kernel` is the kernel, a name with `.so` a library, anything
//! else the program.
//!
//! Rooms: `run` a traced run; `thread` one of its threads; `names` stacks, frames and modules from their text.
//! May import: `ids`, `meta`, `reader`, `tables`.

mod names;
mod run;
mod thread;

use crate::ids::*;
use crate::meta::*;
use crate::reader::Tables;
use crate::tables::*;
use names::Names;
pub use run::RunSketch;
use std::collections::HashMap;
pub use thread::ThreadSketch;

/// Milliseconds in nanoseconds.
pub fn ms(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000
}

/// Microseconds in nanoseconds.
pub fn us(microseconds: u64) -> u64 {
    microseconds * 1_000
}

/// One CPU sample per millisecond, the default of the real collector.
pub const SAMPLE_PERIOD_NS: u64 = 1_000_000;

/// FUTEX_WAIT | FUTEX_PRIVATE_FLAG, see futex(2).
pub const FUTEX_WAIT_PRIVATE: u64 = 128;

/// The number of futex(2) on x86-64, the architecture of every sketch.
pub const FUTEX: u32 = 202;

/// The meta data of a machine with this many processors.
pub fn meta(processors: u32) -> Meta {
    Meta {
        format: FORMAT,
        knee: "0.0.0".to_owned(),
        completion: Completion::Finished,
        started_unix_ns: 1_700_000_000_000_000_000,
        command: vec!["./app".to_owned(), "--threads={threads}".to_owned()],
        environment: Vec::new(),
        thread_counts: Vec::new(),
        counted: Counted::Threads,
        processor_order: Vec::new(),
        load: None,
        runs_per_count: 0,
        order_seed: 1,
        machine: Machine {
            processors,
            usable_processors: processors,
            usable_cores: processors,
            quota_milliprocessors: None,
            model: "Synthetic".to_owned(),
            architecture: "x86_64".to_owned(),
            kernel: "6.1.0".to_owned(),
            hypervisor: None,
            memory_bytes: 8 << 30,
            distribution: None,
        },
        clock: "CLOCK_MONOTONIC".to_owned(),
        throughput: None,
        capabilities: Vec::new(),
        imported: None,
        folder: None,
        tried: Vec::new(),
        functions: Vec::new(),
        notes: Vec::new(),
    }
}

/// A recording that is being made.
#[derive(Debug)]
pub struct Sketch {
    tables: Tables,
    names: Names,
    /// Timed runs whose processor time was not given.
    without_cpu_time: Vec<RunId>,
}

impl Sketch {
    /// An empty recording of a machine with this many processors.
    pub fn new(processors: u32) -> Sketch {
        Sketch { tables: Tables::empty(meta(processors)), names: Names::default(), without_cpu_time: Vec::new() }
    }

    /// The same for a sweep over processors.
    #[must_use]
    pub fn counting_processors(mut self) -> Sketch {
        self.tables.meta.counted = Counted::Processors;
        self
    }

    /// Timed runs at a thread count, each with its wall time in seconds. They use as many processors as the traced run
    /// of that count; without one, every thread that has a processor is busy all the time.
    pub fn clean(mut self, threads: u32, seconds: &[f64]) -> Sketch {
        let busy = f64::from(threads.min(self.tables.meta.machine.usable_processors));
        let cpu: Vec<f64> = seconds.iter().map(|s| s * busy).collect();
        let first = self.tables.runs.len();
        self = self.clean_cpu(threads, seconds, &cpu);
        self.without_cpu_time.extend(self.tables.runs.iter().skip(first).map(|run| run.run));
        self
    }

    /// Timed runs, each with its wall time and CPU time in seconds.
    pub fn clean_cpu(mut self, threads: u32, seconds: &[f64], cpu: &[f64]) -> Sketch {
        for (block, (wall, cpu)) in seconds.iter().zip(cpu).enumerate() {
            let mut run = self.blank_run(RunKind::Clean, threads, block as u32);
            run.wall_ns = (wall * 1e9) as u64;
            run.user_ns = (cpu * 1e9) as u64;
            self.tables.runs.push(run);
        }
        if !self.tables.meta.thread_counts.contains(&threads) {
            self.tables.meta.thread_counts.push(threads);
        }
        self
    }

    /// The throughput that each run so far at this thread count printed.
    pub fn throughput(mut self, threads: u32, units_per_second: &[f64]) -> Sketch {
        self.tables.meta.throughput = Some(Throughput {
            pattern: "tput=([0-9.]+)".to_owned(),
            unit: "ops/s".to_owned(),
            given: true,
            times: false,
        });
        let runs = self.tables.runs.iter_mut().filter(|r| r.threads == threads);
        for (run, units) in runs.zip(units_per_second.iter().cycle()) {
            run.throughput = Some(*units);
        }
        self
    }

    /// The seconds that each run so far at this thread count printed for its measured part.
    pub fn printed_times(self, threads: u32, seconds: &[f64]) -> Sketch {
        let rates: Vec<f64> = seconds.iter().map(|seconds| 1.0 / seconds).collect();
        let mut sketch = self.throughput(threads, &rates);
        let unit = "runs/s".to_owned();
        sketch.tables.meta.throughput =
            Some(Throughput { pattern: "time=([0-9.]+)".to_owned(), unit, given: false, times: true });
        sketch
    }

    /// A traced run at a thread count, sketched by the closure.
    pub fn traced(mut self, threads: u32, sketch: impl FnOnce(&mut RunSketch<'_>)) -> Sketch {
        let run = self.blank_run(RunKind::Traced, threads, 0);
        let id = run.run;
        self.tables.runs.push(run);
        let mut draft = RunSketch::new(id, &mut self.tables, &mut self.names);
        sketch(&mut draft);
        draft.finish();
        self
    }

    /// The recording.
    pub fn tables(mut self) -> Tables {
        let traced = |run: &&Run| run.kind == RunKind::Traced && run.wall_ns > 0;
        let used: HashMap<u32, f64> = self
            .tables
            .runs
            .iter()
            .filter(traced)
            .rev()
            .map(|run| (run.threads, run.user_ns as f64 / run.wall_ns as f64))
            .collect();
        for run in self.tables.runs.iter_mut().filter(|run| self.without_cpu_time.contains(&run.run)) {
            if let Some(used) = used.get(&run.threads) {
                run.user_ns = (run.wall_ns as f64 * used) as u64;
            }
        }
        self.tables
    }

    fn blank_run(&self, kind: RunKind, threads: u32, block: u32) -> Run {
        Run {
            block,
            started_unix_ns: self.tables.meta.started_unix_ns,
            exit_status: Some(0),
            ..Run::blank(RunId(self.tables.runs.len() as u32), kind, threads)
        }
    }
}
