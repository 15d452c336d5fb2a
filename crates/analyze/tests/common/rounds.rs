//! Two threads in rounds, with a part that one of them does alone.

use crate::common::*;
use recording::synthetic::{RunSketch, ms};
use recording::tables::Reason;

pub(crate) const WAIT: &str = "?@libc.so.6 < pthread_barrier_wait@libc.so.6 < work@app app.c:30 < ?@libc.so.6";

pub(crate) const PARALLEL: &str = "burn@app burn.c:3 < parallel_part@app app.c:20 < work@app app.c:31 < ?@libc.so.6";

pub(crate) const SERIAL: &str = "burn@app burn.c:3 < serial_part@app app.c:10 < work@app app.c:28 < ?@libc.so.6";

/// Two threads in rounds: one runs `serial` ms alone, then both run their `shares` ms of the parallel part.
pub(crate) fn rounds(run: &mut RunSketch<'_>, serial: u64, shares: [u64; 2]) {
    let longest = shares[0].max(shares[1]);
    main_joins(run, ms(100 * (serial + longest)));
    for (i, name) in ["one", "two"].into_iter().enumerate() {
        let mut thread = run.thread(name);
        for _ in 0..100 {
            if serial > 0 {
                thread = match i {
                    0 => thread.runs(ms(serial), SERIAL),
                    _ => thread.blocks(Reason::Futex, ms(serial), WAIT),
                };
            }
            thread = thread.runs(ms(shares[i]), PARALLEL);
            if longest > shares[i] {
                thread = thread.blocks(Reason::Futex, ms(longest - shares[i]), WAIT);
            }
        }
    }
}
