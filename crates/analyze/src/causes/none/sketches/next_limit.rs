//! Programs that lose nothing on these processors: what would limit them on more.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::{Reason, RunKind};

const PUT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < put@app app.c:30 < rater@app app.c:60";
const RATE: &str = "rate@app app.c:50 < rater@app app.c:61";
const ARCHIVE: &str = "compress@app app.c:70 < archive@app app.c:75";

fn sentence(two: impl FnOnce(&mut RunSketch<'_>)) -> String {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.5), &around(1.0));
    answer_for(&with_base(sketch, RATE).traced(2, two).tables()).verdict.summary
}

/// Two threads that hand work to a third one.
fn raters(run: &mut RunSketch<'_>, waits: u64) {
    for name in ["a", "b"] {
        (0..10).fold(run.thread(name), |thread, _| {
            thread.runs(ms(50 - waits), RATE).locks(0x100, ms(waits), PUT, "archive")
        });
    }
}

mod positive {
    use super::*;

    #[test]
    fn a_stage_that_is_always_busy_is_the_next_limit() {
        let told = sentence(|run| {
            run.thread("archive").runs(ms(500), ARCHIVE);
            raters(run, 25);
        });
        assert!(told.contains("Nothing but the number of processors (2) limits it."), "{told}");
        assert!(told.contains("one thread would be the next limit, most in compress (app.c:70)"), "{told}");
    }
}

mod near_miss {
    use super::*;

    /// Threads of a scheduler wait for each other, and one of them happens to be always busy.
    #[test]
    fn a_thread_that_does_the_same_as_others_is_no_next_limit() {
        let told = sentence(|run| {
            run.thread("archive").runs(ms(500), RATE);
            raters(run, 25);
        });
        assert!(told.ends_with("Nothing but the number of processors (2) limits it."), "{told}");
    }

    /// Others wait, and the stage pauses, too: it is not what they wait for most.
    #[test]
    fn a_stage_with_pauses_is_no_next_limit() {
        let told = sentence(|run| {
            let pause = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app app.c:33 < archive@app app.c:75";
            (0..10)
                .fold(run.thread("archive"), |thread, _| thread.runs(ms(40), ARCHIVE).locks(0x200, ms(10), pause, "a"));
            raters(run, 20);
        });
        assert!(!told.contains("next limit"), "{told}");
    }
}

#[test]
fn equal_threads_have_no_next_limit() {
    let told = sentence(|run| {
        run.thread("a").runs(ms(500), RATE);
        run.thread("b").runs(ms(500), RATE);
    });
    assert!(told.ends_with("limits it."), "{told}");
}

/// Two threads that sleep for most of the time are twice as fast as one, on 0.2 processors.
#[test]
fn who_sleeps_most_of_the_time_is_not_limited_by_processors() {
    let naps = "?@libc.so.6 < usleep@libc.so.6 < load_profile@app app.c:6 < serve@app app.c:20";
    let nap = |run: &mut RunSketch<'_>, name: &str, times: u64| {
        (0..times).fold(run.thread(name), |thread, _| {
            thread.runs(ms(10), RATE).waits_for(Reason::Sleep, "", Some(35), ms(90), naps)
        });
    };
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.1))
        .clean_cpu(2, &around(0.5), &around(0.1))
        .traced(1, |run| nap(run, "a", 10))
        .traced(2, |run| ["a", "b"].iter().for_each(|name| nap(run, name, 5)));
    let mut tables = sketch.tables();
    let told = answer_for(&tables).verdict.summary;
    assert!(told.contains("Its threads mostly wait: with 2 threads, 0.20 of 2 processors are busy"), "{told}");
    assert!(told.contains("Most of that is sleeping, in load_profile (app.c:6)."), "{told}");
    assert!(!told.contains("Nothing but"), "{told}");
    // Other programs had the processors in the timed runs; the observed run shows that the threads wanted none of it.
    for run in tables.runs.iter_mut().filter(|run| run.kind == RunKind::Clean) {
        run.foreign_ns = Some(run.wall_ns * 17 / 20);
    }
    let told = answer_for(&tables).verdict.summary;
    assert!(told.contains("Its threads mostly wait: with 2 threads, 0.20 of 2 processors are busy"), "{told}");
    // Near miss: the same in the timed runs, and threads that are always ready in the observed one.
    let ready = |run: &mut RunSketch<'_>, name: &str, times: u64| {
        (0..times).fold(run.thread(name), |thread, _| thread.runs(ms(10), RATE).runnable(ms(90)));
    };
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.1))
        .clean_cpu(2, &around(0.5), &around(0.1))
        .traced(1, |run| ready(run, "a", 10))
        .traced(2, |run| ["a", "b"].iter().for_each(|name| ready(run, name, 5)));
    let mut tables = sketch.tables();
    for run in tables.runs.iter_mut().filter(|run| run.kind == RunKind::Clean) {
        run.foreign_ns = Some(run.wall_ns * 17 / 20);
    }
    let told = answer_for(&tables).verdict.summary;
    assert!(!told.contains("mostly wait"), "{told}");
}
