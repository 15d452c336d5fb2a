//! A task that blocks its thread keeps the other tasks of a server waiting, however many threads share them.

use crate::common::*;
use analyze::answer::{Answer, CauseId};
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

/// nanosleep(2) on x86-64.
const NANOSLEEP: u32 = 35;
const SLEEP: &str = "nanosleep@libc.so.6 < std::thread::sleep@server < load_profile@server main.rs:39";
const TASK: &str = "tokio::runtime::scheduler::multi_thread::worker::Context::run_task@server < ?@libc.so.6";
const BLOCKING: &str = "tokio::runtime::blocking::pool::Task::run@server < ?@libc.so.6";

/// A server whose threads sleep nine tenths of the time, below the frames of `within`; with two threads it answers twice
/// as many requests.
fn server(within: &str, loaded: bool) -> Answer {
    let sleep = format!("{SLEEP} < {within}");
    let work = format!("parse@server main.rs:47 < {within}");
    let serve = |run: &mut recording::synthetic::RunSketch<'_>, threads: u64| {
        for thread in 0..threads {
            let mut thread = run.thread(&format!("worker-{thread}"));
            for _ in 0..20 {
                thread = thread.runs(ms(5), &work).waits_for(Reason::Sleep, "", Some(NANOSLEEP), ms(45), &sleep);
            }
        }
        run.row().throughput = Some(400.0 * threads as f64);
    };
    let mut tables = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.1))
        .clean_cpu(2, &around(1.0), &around(0.2))
        .throughput(1, &around(400.0))
        .throughput(2, &around(800.0))
        .traced(1, |run| serve(run, 1))
        .traced(2, |run| serve(run, 2))
        .tables();
    for trace in tables.traces.iter_mut().filter(|_| loaded) {
        (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(0));
    }
    answer_for(&tables)
}

#[test]
fn a_sleep_inside_a_task_keeps_the_others_waiting() {
    let answer = server(TASK, true);
    assert_balanced(&answer);
    let cause = answer.verdict.causes.first().unwrap();
    assert_eq!(cause.id, CauseId::CONDITION_WAIT, "{:#?}", answer.verdict);
    let culprit = cause.culprit.as_ref().unwrap();
    assert_eq!((culprit.function.as_deref(), culprit.line), (Some("load_profile"), Some(39)));
    assert!(cause.summary.contains("no other task runs on these threads meanwhile"), "{}", cause.summary);
    assert!(cause.remedies[0].starts_with("await"), "{:?}", cause.remedies);
}

#[test]
fn a_sleep_on_a_thread_for_it_is_part_of_the_work() {
    for (within, loaded) in [(BLOCKING, true), ("serve@server server.c:24 < ?@libc.so.6", true), (TASK, false)] {
        let answer = server(within, loaded);
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::NONE], "{within} {loaded}: {:#?}", answer.verdict);
    }
}
