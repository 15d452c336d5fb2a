//! How long an analysis takes. Run with `cargo test -p analyze --release --test speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod common;

use analyze::analyze;
use common::*;
use recording::synthetic::{Sketch, us};
use std::time::Instant;

#[test]
#[ignore = "measures time: wants an optimised build and a quiet machine"]
fn a_million_slices_take_less_than_a_second() {
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
    let answer = analyze(&tables);
    let took = begin.elapsed();
    println!("{} slices, {} samples: {took:?}", tables.slices.len(), tables.samples.len());
    assert_balanced(&answer);
    assert!(took.as_secs_f64() < 1.0, "{took:?}");
}
