//! What is measured: the part that the program marks, and all threads that it uses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::CauseId;
use recording::Tables;
use recording::ThreadId;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::{Mark, MarkKind, Reason, RunKind};

const PREPARE: &str = "prepare@app app.c:7 < main@app app.c:80";
const WORK: &str = "work@app app.c:5";

/// The first thread first prepares alone, then the workers share 400 ms of work.
fn prepares(run: &mut RunSketch<'_>, workers: u64) {
    let each = ms(400 / workers);
    run.thread("main").runs(ms(400), PREPARE).blocks(
        Reason::Futex,
        each,
        "__pthread_clockjoin_ex@libc.so.6 < main@app",
    );
    for worker in 0..workers {
        run.thread_at(&format!("w{worker}"), ms(400)).runs(each, WORK);
    }
    run.row().throughput = Some(100.0 * workers as f64);
}

fn scales_after_preparing() -> Tables {
    Sketch::new(2)
        .clean_cpu(1, &around(0.8), &around(0.8))
        .throughput(1, &[100.0])
        .clean_cpu(2, &around(0.6), &around(0.8))
        .throughput(2, &[200.0])
        .traced(1, |run| prepares(run, 1))
        .traced(2, |run| prepares(run, 2))
        .tables()
}

fn mark(tables: &mut Tables) {
    let begins: Vec<_> = tables.traces.iter().map(|t| (t.run, t.begin_ns, t.end_ns)).collect();
    for (run, begin, end) in begins {
        for (kind, time_ns) in [(MarkKind::Begin, begin + ms(400)), (MarkKind::End, end)] {
            tables.marks.push(Mark { run, thread: ThreadId(0), time_ns, kind, name: None, amount: None });
        }
    }
}

#[test]
fn what_comes_before_the_marked_part_is_not_charged() {
    let mut tables = scales_after_preparing();
    mark(&mut tables);
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
    let account = &answer.account[1];
    assert!(account.lines.iter().all(|l| l.cause != CauseId::SERIAL_PHASE || l.seconds < 0.02 * account.capacity));
}

#[test]
fn without_a_printed_speed_the_timed_runs_are_of_the_whole_and_so_is_the_account() {
    let mut tables = scales_after_preparing();
    mark(&mut tables);
    for run in &mut tables.runs {
        run.throughput = None;
    }
    tables.meta.throughput = None;
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert_eq!(answer.verdict.causes[0].id, CauseId::SERIAL_PHASE, "{:#?}", answer.verdict);
}

#[test]
fn a_part_that_never_ends_lasts_to_the_end_and_hostile_marks_are_cut() {
    for times in [[u64::MAX, 0], [0, u64::MAX], [0, 0], [5, 5]] {
        let mut tables = scales_after_preparing();
        for trace in &tables.traces {
            for (kind, time_ns) in [(MarkKind::Begin, times[0]), (MarkKind::End, times[1])] {
                tables.marks.push(Mark {
                    run: trace.run,
                    thread: ThreadId(9),
                    time_ns,
                    kind,
                    name: None,
                    amount: None,
                });
            }
        }
        assert_balanced(&answer_for(&tables));
    }
    let mut tables = scales_after_preparing();
    mark(&mut tables);
    tables.marks.retain(|m| m.kind == MarkKind::Begin);
    assert_eq!(ids(&answer_for(&tables)), [CauseId::NONE]);
}

#[test]
fn a_program_with_more_threads_than_asked_for_could_have_used_their_processors() {
    // One transformer was asked for; a reader feeds it and is half as busy.
    let stages = |run: &mut RunSketch<'_>| {
        main_joins(run, ms(999));
        run.thread("transform").runs(ms(1000), WORK);
        let mut reader = run.thread("reader");
        for _ in 0..50 {
            reader = reader.runs(ms(10), "read@app app.c:20").blocks(
                Reason::Futex,
                ms(10),
                "pthread_cond_wait@libc.so.6 < push@app app.c:30",
            );
        }
    };
    let mut tables = Sketch::new(2).clean_cpu(1, &around(1.0), &around(1.5)).traced(1, stages).tables();
    tables.runs.iter_mut().filter(|r| r.kind == RunKind::Traced).for_each(|r| r.exit_status = Some(0));
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let account = &answer.account[0];
    assert!((account.capacity - 2.0).abs() < 0.01 && account.unexplained.abs() < 0.02, "{account:?}");
}
