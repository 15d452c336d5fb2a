//! A main thread that does its share of the work of the threads that it started, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, us};
use recording::tables::Reason;

const ROWS: &str = "compare@app app.cc:40 < rows@app app.cc:57 < worker@app app.cc:60";
/// The same work, to which the main thread comes by functions of its own.
const OWN_ROWS: &str =
    "compare@app app.cc:40 < rows@app app.cc:57 < search@app app.cc:70 < read@app app.cc:75 < main@app app.cc:90";
const OTHER: &str = "store@app app.cc:80 < writer@app app.cc:85";
const END: &str = "syscall@libc.so.6 < ?@libtasks.so < main@app app.cc:70";
const NEXT: &str = "syscall@libc.so.6 < ?@libtasks.so < start_thread@libc.so.6";

/// A second with two threads, and what the closure sketches. `cpu`: processor seconds.
fn run(cpu: f64, sketch: impl FnOnce(&mut RunSketch<'_>)) -> Answer {
    answer(&sketched(cpu, sketch))
}

fn sketched(cpu: f64, sketch: impl FnOnce(&mut RunSketch<'_>)) -> Tables {
    let base = Sketch::new(2).clean(1, &around(cpu)).clean_cpu(2, &around(1.0), &around(cpu));
    with_base(base, ROWS).traced(2, sketch).tables()
}

fn answer(tables: &Tables) -> Answer {
    let answer = answer_for(tables);
    assert_balanced(&answer);
    answer
}

/// `rounds` loops: the main thread runs for `share` of each and waits for the other thread, which runs all the time.
fn loops(rounds: u64, share: f64, other: &str) -> Answer {
    let length = 1_000_000 / rounds;
    let own = (share * length as f64) as u64;
    run(1.0 + share, |run| {
        let main = run.thread("main");
        (0..rounds).fold(main, |main, _| main.runs(us(own), OWN_ROWS).locks(0x200, us(length - own), END, "a"));
        run.thread("a").runs(us(rounds * length), other);
    })
}

#[test]
fn a_caller_that_has_done_its_share_waits_for_unequal_ones() {
    for rounds in [1, 7] {
        let answer = loops(rounds, 0.08, ROWS);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(cause.share > 0.9, "{cause:?}");
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("compare"));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }
}

/// Near misses: the thread that the caller waits for does something else; and the waits are too short to be looked at.
#[test]
fn what_the_caller_waits_for_is_no_share_where_it_does_something_else() {
    for answer in [loops(1, 0.4, OTHER), loops(300, 0.4, ROWS)] {
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    }
}

/// Near miss: each waits for the other's part, now and then.
#[test]
fn threads_that_wait_in_turns_have_no_shares() {
    let answer = run(1.4, |run| {
        let main = run.thread("main");
        (0..5).fold(main, |main, _| main.runs(us(140_000), OWN_ROWS).locks(0x200, us(60_000), END, "a"));
        let a = run.thread("a");
        (0..5).fold(a, |a, _| a.locks(0x100, us(60_000), NEXT, "main").runs(us(140_000), ROWS));
    });
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
}

/// Near miss: the main thread and the other one never work side by side.
#[test]
fn who_works_before_the_others_has_no_share() {
    let told = |beside: bool| {
        let answer = run(1.0, |run| {
            run.thread("main").runs(us(80_000), OWN_ROWS).locks(0x200, us(920_000), END, "a");
            let a = run.thread("a");
            let a = if beside { a } else { a.waits_for(Reason::Io, "/x", Some(0), us(80_000), OTHER) };
            a.runs(us(if beside { 1_000_000 } else { 920_000 }), ROWS);
        });
        found(&answer, CauseId::IMBALANCE).is_some()
    };
    assert!(told(true) && !told(false));
}

/// Near miss: the main thread did not start the thread that it waits for.
#[test]
fn threads_that_somebody_else_started_are_no_helpers_of_the_caller() {
    let told = |started: bool| {
        let mut tables = sketched(1.08, |run| {
            run.thread("main").runs(us(80_000), OWN_ROWS).locks(0x200, us(920_000), END, "a");
            run.thread("a").runs(us(1_000_000), ROWS);
        });
        tables.threads.iter_mut().filter(|_| !started).for_each(|thread| thread.parent = None);
        found(&answer(&tables), CauseId::IMBALANCE).is_some()
    };
    assert!(told(true) && !told(false));
}

/// The main thread runs for `own` milliseconds of a second beside another one, and waits for its end.
fn joins(own: u64, other: &str) -> Tables {
    const JOIN: &str = "__pthread_clockjoin_ex@libc.so.6 < main@app app.cc:90";
    sketched(1.0 + own as f64 / 1000.0, |run| {
        run.thread("main").runs(us(own * 1000), OWN_ROWS).locks(0x200, us((1000 - own) * 1000), JOIN, "a");
        run.thread("a").runs(us(1_000_000), other);
    })
}

#[test]
fn who_joins_after_its_own_share_had_a_smaller_one() {
    let mut tables = joins(150, ROWS);
    // The main thread goes on running when it has started the other one.
    tables.threads.iter_mut().filter(|thread| thread.name == "a").for_each(|thread| thread.start_ns += 1_000_000);
    for tables in [joins(150, ROWS), tables] {
        let answer = answer(&tables);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.share > 0.9, "{cause:?}");
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("compare"));
        assert!(
            cause.summary.starts_with("A thread that has done its part waits in main (app.cc:90) for another one"),
            "{}",
            cause.summary
        );
    }
}

/// Other programs have the processor of the busy thread for a third of the time.
#[test]
fn who_joins_a_thread_that_is_kept_from_its_processor_had_a_smaller_share_too() {
    const JOIN: &str = "__pthread_clockjoin_ex@libc.so.6 < main@app app.cc:90";
    let answer = run(0.85, |run| {
        run.thread("main").runs(us(150_000), OWN_ROWS).locks(0x200, us(850_000), JOIN, "a");
        let a = run.thread("a").runs(us(200_000), ROWS);
        (0..10).fold(a, |a, _| a.preempted(us(30_000)).runs(us(50_000), ROWS));
    });
    assert!(found(&answer, CauseId::IMBALANCE).is_some(), "{:#?}", answer.verdict);
}

/// Near misses: the thread that is joined does something else; and the one that joins it only started it.
#[test]
fn who_joins_others_without_a_share_has_none() {
    for answer in [joins(400, OTHER), joins(10, ROWS)].iter().map(answer) {
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}

#[test]
fn a_caller_with_an_equal_share_has_no_cause() {
    let answer = loops(1, 0.98, ROWS);
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// The main thread and another one run `rows` side by side, each with functions of its own; then the main thread joins the
/// other one, which runs `last` to the end.
fn few_at_work(last: &str) -> Answer {
    const JOIN: &str = "__pthread_clockjoin_ex@libc.so.6 < main@app app.cc:90";
    const PARSE: &str = "parse@app app.cc:44 < rows@app app.cc:58 < main@app app.cc:90";
    run(1.4, |run| {
        run.thread("main").runs(us(400_000), PARSE).locks(0x200, us(600_000), JOIN, "a");
        run.thread("a").runs(us(400_000), ROWS).runs(us(600_000), last);
    })
}

#[test]
fn the_last_with_work_may_have_a_larger_share() {
    let answer = few_at_work(ROWS);
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_some(), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::IMBALANCE).contains("side by side at other times"), "{:#?}", answer.verdict);
}

#[test]
fn a_part_for_one_thread_alone_excludes_unequal_shares() {
    let answer = few_at_work("merge@app app.cc:81 < worker@app app.cc:62");
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_some(), "{:#?}", answer.verdict);
    assert!(answer.verdict.clear.contains(&CauseId::IMBALANCE), "{:#?}", answer.verdict);
}

/// A pool's worker runs `beside` for a part of the time and then waits for work, while the main thread goes on.
fn busy_stage(beside: &str) -> Answer {
    const NO_WORK: &str = "pthread_cond_wait@libc.so.6 < take@app app.cc:30 < worker@app app.cc:31";
    run(1.3, |run| {
        run.thread("main").runs(us(1_000_000), OWN_ROWS);
        run.thread("a").runs(us(300_000), beside).locks(0x300, us(700_000), NO_WORK, "main");
    })
}

/// The near miss: what waits runs something else.
#[test]
fn a_busy_stage_that_runs_what_those_run_that_wait_may_have_a_larger_share() {
    let answer = busy_stage(ROWS);
    assert!(missing(&answer, CauseId::IMBALANCE).contains("run themselves at other times"), "{:#?}", answer.verdict);
    let answer = busy_stage(OTHER);
    assert!(answer.verdict.clear.contains(&CauseId::IMBALANCE), "{:#?}", answer.verdict);
}

/// A worker of a task library runs `beside` for 300 ms, while the main thread does the same for a second, and finds no further
/// task, or one that it gets `later`.
fn pool_beside_caller(beside: &str, later: bool) -> Answer {
    beside_caller(OWN_ROWS, beside, later)
}

/// The same, where the main thread runs `own`.
fn beside_caller(own: &str, beside: &str, later: bool) -> Answer {
    const NO_TASK: &str = "pthread_cond_timedwait@libc.so.6 < \
                           System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart@dotnet";
    run(1.3, |run| {
        run.thread("main").runs(us(1_000_000), own);
        let worker = run.thread("worker").runs(us(300_000), beside);
        match later {
            true => worker.locks(0x300, us(600_000), NO_TASK, "main").runs(us(100_000), beside),
            false => worker.locks(0x300, us(700_000), NO_TASK, "main"),
        };
    })
}

#[test]
fn a_worker_without_a_further_task_had_a_smaller_share() {
    let answer = pool_beside_caller(ROWS, false);
    let cause = found(&answer, CauseId::IMBALANCE).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!(cause.share > 0.9, "{cause:?}");
}

/// The worker's code was not yet optimized: there `compare` calls `fill`, which is part of it in the main thread's. The near
/// miss: only a function that calls what both do is the same.
#[test]
fn a_share_that_is_compiled_in_another_way_is_the_same_work() {
    let answer = pool_beside_caller("fill@app app.cc:44 < compare@app app.cc:40", false);
    assert!(found(&answer, CauseId::IMBALANCE).is_some(), "{:#?}", answer.verdict);
    let answer = pool_beside_caller("store@app app.cc:80 < rows@app app.cc:57", false);
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// .NET puts the program's function into the library's that calls it, and does not tell. Near miss: where lines are known, so
/// are such functions, and the library's is none of the program's.
#[test]
fn a_library_s_function_may_contain_the_program_s() {
    let next = |line: &str| {
        format!("System.Linq.Parallel.MoveNext@anonymous{line} < System.Linq.Parallel.Spool@anonymous{line}")
    };
    let answer = beside_caller(&format!("{} < find@app app.cc:9", next("")), &next(""), false);
    assert!(found(&answer, CauseId::IMBALANCE).is_some(), "{:#?}", answer.verdict);
    let lines = next(" /usr/lib/linq/Parallel.cs:30");
    let answer = beside_caller(&format!("{lines} < find@app app.cc:9"), &lines, false);
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// Near misses: the main thread has a task for it later; and the worker's task was something else.
#[test]
fn a_worker_that_gets_further_tasks_waits_for_them() {
    for answer in [pool_beside_caller(ROWS, true), pool_beside_caller(OTHER, false)] {
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}
