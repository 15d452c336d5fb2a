//! Code that takes more time with more threads.

use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};

pub(crate) const WORK: &str = "work@app app.c:5";

/// Two threads that spend half of their time in `lines` lines of a function. If `new`, a single thread does not run it.
pub(crate) fn slower(function: &str, lines: u64, new: bool) -> Tables {
    let place = |i: u64| format!("{function}@app app.c:{} < work@app app.c:9", 100 + i % lines);
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(1.0), &around(2.0))
        .traced(1, |run| {
            let mut thread = run.thread("main").runs(ms(if new { 1000 } else { 500 }), WORK);
            for i in 0..if new { 0 } else { 500 } {
                thread = thread.runs(ms(1), &place(i));
            }
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name).runs(ms(if new { 500 } else { 250 }), WORK);
                for i in 0..if new { 500 } else { 750 } {
                    thread = thread.runs(ms(1), &place(i));
                }
            }
        })
        .tables()
}

/// Adds instructions and cache misses of the timed runs at both counts.
pub(crate) fn counted(mut tables: Tables, instructions: [u64; 2], misses: [u64; 2]) -> Tables {
    for run in &mut tables.runs {
        let at = usize::from(run.threads > 1);
        (run.instructions, run.cache_misses) = (Some(instructions[at]), Some(misses[at]));
    }
    tables
}
