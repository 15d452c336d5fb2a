//! One thread alone.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::rounds::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::Reason;

fn amdahl() -> Tables {
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(0.7), &around(1.0))
        .traced(1, |run| {
            run.thread("one").runs(ms(400), SERIAL).runs(ms(600), PARALLEL);
        })
        .traced(2, |run| rounds(run, 4, [3, 3]))
        .tables()
}

/// Reads for `before` ms, works in parallel, then merges for `after` ms.
fn start_and_end(before: u64, after: u64) -> Tables {
    let (read, merge) =
        ("parse@app app.c:3 < read_input@app app.c:9 < main@app app.c:80", "merge@app app.c:60 < main@app app.c:95");
    let whole = (before + after) as f64 / 1000.0;
    Sketch::new(2)
        .clean(1, &around(1.0 + whole))
        .clean_cpu(2, &around(0.5 + whole), &around(1.0 + whole))
        .traced(1, |run| {
            run.thread("main").runs(ms(before), read).blocks(Reason::Futex, ms(1000), JOIN).runs(ms(after), merge);
            run.thread_at("a", ms(before)).runs(ms(1000), PARALLEL);
        })
        .traced(2, |run| {
            run.thread("main").runs(ms(before), read).blocks(Reason::Futex, ms(500), JOIN).runs(ms(after), merge);
            run.thread_at("a", ms(before)).runs(ms(500), PARALLEL);
            run.thread_at("b", ms(before)).runs(ms(500), PARALLEL);
        })
        .tables()
}

/// A launcher's thread that waits for `main`, which works alone at the end. The workers are created by `main`, or all
/// threads by the launcher.
fn launched(by_main: bool) -> Tables {
    let run = |workers: u64| {
        move |run: &mut RunSketch<'_>| {
            let parallel = 1000 / workers;
            run.thread("launcher").blocks(Reason::Futex, ms(parallel + 400), JOIN);
            run.thread("main").blocks(Reason::Futex, ms(parallel), JOIN).runs(ms(400), PARALLEL);
            for name in ["a", "b"].into_iter().take(workers as usize) {
                run.thread(name).runs(ms(parallel), PARALLEL);
            }
        }
    };
    let mut tables = Sketch::new(2)
        .clean(1, &around(1.4))
        .clean_cpu(2, &around(0.9), &around(1.4))
        .traced(1, run(1))
        .traced(2, run(2))
        .tables();
    let main = recording::ThreadId(1);
    for thread in tables.threads.iter_mut().filter(|t| t.thread > main && by_main) {
        thread.parent = Some(main);
    }
    tables
}

const JOIN: &str = "?@libc.so.6 < __pthread_clockjoin_ex@libc.so.6 < main@app app.c:90";

/// A start of 600 ms in one thread, in code that workers run too, beside a runtime's thread that runs for `busy` of
/// every 100 ms; then as many workers as asked for.
fn beside_a_runtime(busy: u64) -> Tables {
    const CALL: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < ?@libvm.so < ?@libc.so.6";
    let run = move |workers: u64| {
        move |run: &mut RunSketch<'_>| {
            let parallel = 600 / workers;
            main_joins(run, ms(600 + parallel));
            run.thread("start").runs(ms(600), PARALLEL).blocks(Reason::Futex, ms(parallel), CALL);
            for name in ["Scanner#0", "Compiler"] {
                let mut thread = run.thread(name);
                for _ in 0..(600 + parallel) / 100 {
                    thread = thread.runs(ms(busy), "?@libvm.so < ?@libc.so.6");
                    thread = thread.blocks(Reason::Futex, ms(100 - busy), CALL);
                }
            }
            for name in ["worker-0", "worker-1", "worker-2", "worker-3"].into_iter().take(workers as usize) {
                run.thread_at(name, ms(600)).runs(ms(parallel), PARALLEL);
            }
        }
    };
    Sketch::new(4).clean(1, &around(1.2)).clean(4, &around(0.75)).traced(1, run(1)).traced(4, run(4)).tables()
}

mod positive {
    use super::*;

    #[test]
    fn a_serial_part_behind_a_barrier_is_named_with_its_limit() {
        let answer = answer_for(&amdahl());
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::SERIAL_PHASE], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        let culprit = cause.culprit.as_ref().unwrap();
        assert_eq!((culprit.function.as_deref(), culprit.line), (Some("serial_part"), Some(10)));
        let limit = cause.evidence.iter().find(|e| e.what.contains("Amdahl")).unwrap();
        assert!((limit.value - 2.5).abs() < 0.1, "{limit:?}");
        assert!((cause.lost_seconds - 0.4).abs() < 0.02 && cause.summary.contains("runs alone"), "{cause:?}");
        insta::assert_snapshot!(text(&answer));
    }

    #[test]
    fn start_up_and_tail_are_told_apart() {
        let answer = answer_for(&start_and_end(400, 150));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::SERIAL_PHASE; 2], "{:#?}", answer.verdict);
        let functions: Vec<_> =
            answer.verdict.causes.iter().map(|c| c.culprit.as_ref().unwrap().function.clone().unwrap()).collect();
        assert_eq!(functions, ["parse", "merge"]);
        assert!(answer.verdict.causes[0].summary.contains("before the first worker"), "{:?}", answer.verdict.causes[0]);
        assert!(answer.verdict.causes[1].summary.contains("after the last worker"), "{:?}", answer.verdict.causes[1]);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn unequal_shares_at_a_barrier_are_no_serial_phase() {
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean_cpu(2, &around(0.7), &around(1.0))
            .traced(1, |run| {
                run.thread("one").runs(ms(1000), PARALLEL);
            })
            .traced(2, |run| rounds(run, 0, [7, 3]))
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::IMBALANCE], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(
            cause.summary.contains("(one)") && cause.summary.contains("parallel_part (app.c:20)"),
            "{}",
            cause.summary
        );
        assert!(answer.verdict.clear.contains(&CauseId::SERIAL_PHASE));
    }

    /// A main thread that hardly runs, beside a pool of four whose threads run even less: nobody runs alone.
    #[test]
    fn a_pool_whose_threads_hardly_run_is_no_single_thread() {
        let idle = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < uv_cond_wait@node < worker@node < ?@libc.so.6";
        let polls = "?@libc.so.6 < epoll_wait@libc.so.6 < uv__io_poll@node < main@node";
        let sketch = |run: &mut RunSketch<'_>| {
            (0..10).fold(run.thread("node"), |t, _| {
                t.runs(ms(20), "serve@node tills.c:41").blocks(Reason::Poll, ms(80), polls)
            });
            for name in ["a", "b", "c", "d"] {
                (0..2).fold(run.thread(name), |t, _| {
                    t.runs(ms(1), "print@vendor.so").blocks(Reason::Futex, ms(499), idle)
                });
            }
        };
        let tables = Sketch::new(2)
            .clean_cpu(1, &around(1.0), &around(0.24))
            .clean_cpu(2, &around(1.0), &around(0.24))
            .traced(1, sketch)
            .traced(2, sketch)
            .tables();
        let answer = answer_for(&tables);
        assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
        assert!(!answer.verdict.clear.contains(&CauseId::SERIAL_PHASE), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_short_start_up_is_clear() {
        let answer = answer_for(&start_and_end(10, 5));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::SERIAL_PHASE));
    }
}

#[test]
fn the_only_thread_of_a_launcher_is_what_starts_the_workers() {
    let answer = answer_for(&launched(true));
    assert_eq!(ids(&answer), [CauseId::SERIAL_PHASE], "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].summary.contains("after the last worker thread"), "{:#?}", answer.verdict);
    // Near miss: if the first thread created several threads, `main` is a worker like the others.
    let answer = answer_for(&launched(false));
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn threads_of_a_runtime_that_wait_for_calls_hide_no_serial_phase() {
    let answer = answer_for(&beside_a_runtime(3));
    assert_balanced(&answer);
    assert_eq!(ids(&answer).first(), Some(&CauseId::SERIAL_PHASE), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn a_stage_that_is_busy_for_longer_is_no_runtime_thread() {
    let answer = answer_for(&beside_a_runtime(30));
    assert_ne!(ids(&answer).first(), Some(&CauseId::SERIAL_PHASE), "{:#?}", answer.verdict);
}
