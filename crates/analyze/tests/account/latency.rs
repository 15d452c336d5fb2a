//! Waits that the work also has with one thread are no loss at other counts.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::CauseId;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const WORK: &str = "parse@app app.c:5 < work@app app.c:9";
const QUERY: &str = "clock_nanosleep@libc.so.6 < query@app app.c:7 < work@app app.c:9";
const POP: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app app.c:20 < work@app app.c:9";

/// A program with 100 requests, shared by the threads, that each run for 1 ms and sleep for 9. `queued`: how many
/// milliseconds more each waits for its turn, by thread count.
fn requests(threads: &[u32], queued: impl Fn(u32) -> u64 + Copy + 'static) -> Tables {
    let mut sketch = Sketch::new(2);
    for count in threads.iter().copied() {
        let each = u64::from(100 / count) * (10 + queued(count));
        let seconds = each as f64 * 1e-3;
        sketch = sketch.clean_cpu(count, &around(seconds), &around(0.1)).traced(count, move |run| {
            main_joins(run, ms(each));
            for _ in 0..count {
                let mut thread = run.thread("worker");
                for _ in 0..100 / count {
                    thread = thread.runs(ms(1), WORK).blocks(Reason::Sleep, ms(9), QUERY);
                    if queued(count) > 0 {
                        thread = thread.blocks(Reason::Futex, ms(queued(count)), POP);
                    }
                }
            }
        });
    }
    sketch.tables()
}

#[test]
fn a_program_that_sleeps_and_scales_loses_nothing() {
    let answer = answer_for(&requests(&[1, 2, 4], |_| 0));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
    assert!(answer.verdict.clear.contains(&CauseId::CONDITION_WAIT), "{:#?}", answer.verdict);
    assert!(answer.account.iter().all(|a| a.unexplained.abs() < 0.05 * a.capacity), "{:#?}", answer.account);
}

#[test]
fn what_is_waited_for_beyond_that_is_the_loss() {
    let answer = answer_for(&requests(&[1, 2], |threads| if threads > 1 { 10 } else { 0 }));
    assert_balanced(&answer);
    let account = &answer.account[1];
    let waiting: f64 = account.lines.iter().filter(|l| l.what == "waiting for work").map(|l| l.seconds).sum();
    let sleeping: f64 = account.lines.iter().filter(|l| l.what == "sleeping").map(|l| l.seconds).sum();
    assert!(waiting > 0.4 * account.capacity && sleeping < 0.05 * account.capacity, "{:#?}", answer.account);
    assert!(!answer.verdict.clear.contains(&CauseId::CONDITION_WAIT), "{:#?}", answer.verdict);
}

/// Near miss: only sleeping is seen, but the program gets no faster, so something must prevent it.
#[test]
fn sleeping_that_does_not_scale_is_not_acquitted() {
    let mut tables = requests(&[1, 2], |_| 0);
    for run in tables.runs.iter_mut().filter(|r| r.threads == 2) {
        run.wall_ns *= 2;
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(!answer.verdict.clear.contains(&CauseId::CONDITION_WAIT), "{:#?}", answer.verdict);
    assert!(!answer.verdict.summary.contains("Nothing but"), "{}", answer.verdict.summary);
}

/// One thread asks, another answers: with one request at a time they take turns, with more the second never rests.
#[test]
fn a_wait_for_another_thread_is_no_latency_of_the_work() {
    let (ask, answer) = ("ask@app app.c:3 < main@app app.c:9", "answer@app app.c:8 < serve@app app.c:12");
    let mut sketch = Sketch::new(2);
    for (count, waits) in [(1, 4), (2, 3)] {
        let seconds = 0.1 * (1 + waits) as f64;
        sketch = sketch.clean_cpu(count, &around(seconds), &around(0.5)).traced(count, move |run| {
            let mut main = run.thread("main");
            for _ in 0..100 {
                main = main.runs(ms(1), ask).blocks(Reason::Futex, ms(waits), POP);
            }
            let mut server = run.thread("server");
            for _ in 0..100 {
                if count == 1 {
                    server = server.blocks(Reason::Futex, ms(1), POP);
                }
                server = server.runs(ms(4), answer);
            }
        });
    }
    let answer = answer_for(&sketch.tables());
    assert_balanced(&answer);
    let cause = &answer.verdict.causes[0];
    assert_eq!(cause.id, CauseId::CONDITION_WAIT, "{:#?}", answer.verdict);
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("answer"), "{cause:#?}");
    assert!(cause.summary.contains("the stage that is busy"), "{}", cause.summary);
}
