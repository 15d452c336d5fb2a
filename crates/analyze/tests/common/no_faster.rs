//! Programs that gain nothing from the second thread.

use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms, us};

pub(crate) const MMAP: u32 = 9;

pub(crate) const WORK: &str = "sum_pages@app app.c:20 < work@app app.c:40";

/// A sweep that gains nothing from the second thread.
pub(crate) fn flat() -> Sketch {
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(1.0)), WORK)
}

/// Two threads, each of which does what `other` says.
pub(crate) fn halves<'a>(run: &mut RunSketch<'a>, other: impl Fn(recording::synthetic::ThreadSketch<'_, 'a>, bool)) {
    for (i, name) in ["a", "b"].into_iter().enumerate() {
        other(run.thread(name), i == 0);
    }
}

/// Half of the time in mmap; `failed` of its calls fail, at 10 µs each.
pub(crate) fn failing(failed: u64, error: u32) -> Tables {
    let map = "mmap@libc.so.6 < stack_map@app app.c:12 < work@app app.c:40";
    flat()
        .traced(2, |run| {
            halves(run, |thread, _| {
                thread.runs(ms(500), WORK).runs_in_kernel(ms(500), MMAP, map);
            });
            for name in ["a", "b"] {
                run.syscalls(name, MMAP, "mmap", 50_000);
                run.call_site(name, (MMAP, "mmap"), map, Some(error), failed, us(10));
                run.call_site(name, (MMAP, "mmap"), map, None, 50_000 - failed, us(10));
            }
        })
        .tables()
}
