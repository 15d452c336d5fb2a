//! The measured part of programs that print its time.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::CauseId;
use analyze::{model::Model, model::window::Part};
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const LOAD: &str = "load@app app.c:7 < main@app app.c:80";
const READ: &str = "read@app app.c:17 < main@app app.c:85";
const WORK: &str = "work@app app.c:5";
const JOIN: &str = "__pthread_clockjoin_ex@libc.so.6 < main@app app.c:90";

/// Milliseconds of the parts of a run: what the program loads before its clock starts, what it reads afterwards, alone, too,
/// and what its threads do.
#[derive(Clone, Copy)]
struct Shape {
    load: u64,
    read: u64,
    work: u64,
}

/// Counts of 1 and 2; `printed` tells the milliseconds that a run prints.
fn sweep(shapes: [Shape; 2], printed: impl Fn(Shape) -> u64) -> Tables {
    let mut sketch = Sketch::new(2);
    for (threads, shape) in (1_u32..).zip(shapes) {
        let whole = (shape.load + shape.read + shape.work) as f64 * 1e-3;
        let cpu = (shape.load + shape.read + u64::from(threads) * shape.work) as f64 * 1e-3;
        let seconds = printed(shape) as f64 * 1e-3;
        sketch = sketch
            .clean_cpu(threads, &around(whole), &around(cpu))
            .printed_times(threads, &around(seconds))
            .traced(threads, |run| {
                let alone = ms(shape.load + shape.read);
                run.thread("main").runs(ms(shape.load), LOAD).runs(ms(shape.read), READ).blocks(
                    Reason::Futex,
                    ms(shape.work),
                    JOIN,
                );
                for worker in 0..threads {
                    run.thread_at(&format!("w{worker}"), alone).runs(ms(shape.work), WORK);
                }
                run.row().throughput = Some(1.0 / seconds);
            });
    }
    sketch.tables()
}

const ONE: Shape = Shape { load: 600, read: 0, work: 1000 };
const TWO: Shape = Shape { work: 500, ..ONE };

#[test]
fn a_time_of_the_workers_leaves_the_start_out() {
    let tables = sweep([ONE, TWO], |shape| shape.work);
    let model = Model::new(&tables);
    assert_eq!(model.part, Part::Workers { certain: true });
    assert_eq!(model.traced[1].measured, (ms(600), ms(1100)));
    let answer = answer_for(&tables);
    assert!((answer.curve[1].speedup - 2.0).abs() < 0.02);
    assert_eq!(answer.verdict.causes[0].id, CauseId::NONE, "{:?}", answer.verdict.causes);
    let remark = answer.warnings.iter().find(|w| w.contains("outside the measured part")).unwrap();
    assert!(remark.contains("the time that the program prints does not count them"), "{remark}");
}

#[test]
fn what_the_time_counts_is_told_though_one_thread_does_it() {
    let shape = |shape: Shape| Shape { read: 400, ..shape };
    let tables = sweep([shape(ONE), shape(TWO)], |shape| shape.read + shape.work);
    let model = Model::new(&tables);
    assert_eq!(model.part, Part::AsLong);
    let (begin, end) = model.traced[1].measured;
    assert!(begin.abs_diff(ms(600)) < ms(10) && end.abs_diff(ms(1500)) < ms(10), "{begin} {end}");
    let answer = answer_for(&tables);
    assert_eq!(answer.verdict.causes[0].id, CauseId::SERIAL_PHASE);
    assert_eq!(answer.verdict.causes[0].culprit.as_ref().unwrap().function.as_deref(), Some("read"));
}

#[test]
fn a_time_of_the_whole_run_changes_nothing() {
    let tables = sweep([ONE, TWO], |shape| shape.load + shape.work);
    assert_eq!(Model::new(&tables).part, Part::Whole);
    assert_eq!(answer_for(&tables).verdict.causes[0].id, CauseId::SERIAL_PHASE);
}

/// Such a time does not tell more work from slower work.
#[test]
fn a_time_is_no_count_of_work() {
    let slower = Shape { work: 900, ..ONE };
    let answer = answer_for(&sweep([ONE, slower], |shape| shape.work));
    assert!(
        answer.warnings.iter().any(|w| w.contains("each run is taken to do the same work")),
        "{:?}",
        answer.warnings
    );
}
