//! Waiting for input and output.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::waiting::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const JOIN: &str = "?@libc.so.6 < pthread_join@libc.so.6 < main@app app.c:90";

/// Workers that get their work through a pipe from a thread that cannot keep up; `call`: the system call in which it
/// wakes them.
fn fed_by_a_pipe(call: u32) -> Tables {
    let read = "?@libc.so.6 < read@libc.so.6 < next_job@app pipe.c:30 < transform@app app.c:50";
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(3, &around(1.0), &around(1.2)), WORK)
        .traced(3, |run| {
            let mut feeder = run.thread("feeder");
            for _ in 0..50 {
                feeder = feeder.runs(ms(20), "make@app app.c:10");
            }
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread =
                        thread.handed(Reason::Pipe, ms(18), read, "feeder", call).runs(ms(2), "transform@app app.c:52");
                }
            }
        })
        .tables()
}

/// A server and its client in one process: both wait in event loops, and the last waits end with the process.
fn serves_itself(ended_by: &'static str) -> Tables {
    const WRITE: u32 = 1;
    const EXIT: u32 = 231;
    let poll = "epoll_wait@libc.so.6 < event_loop@app loop.c:12 < serve@app app.c:50";
    let rest = "epoll_wait@libc.so.6 < event_loop@app loop.c:12 < close_down@app app.c:70";
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
        .traced(2, |run| {
            for (first, name, other) in [(true, "server", ended_by), (false, "client", "server")] {
                let mut thread = run.thread(name);
                for round in 0..50 {
                    thread = match first == (round % 2 == 0) {
                        true => thread.runs(ms(19), WORK),
                        false => thread.handed(Reason::Poll, ms(19), poll, other, WRITE),
                    };
                }
                thread.handed(Reason::Poll, ms(50), rest, "main", EXIT);
            }
            run.thread("main").blocks(Reason::Futex, ms(1000), JOIN);
        })
        .tables()
}

/// Two threads that wait for a file half of the time.
fn reading(what: &str, syscall: Option<u32>, reason: Reason) -> Tables {
    let read = "pread@libc.so.6 < load@app app.c:12 < work@app app.c:9";
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread.runs(ms(10), WORK).waits_for(reason, what, syscall, ms(10), read);
                }
            }
            run.row().major_faults = 100;
        })
        .tables()
}

mod positive {
    use super::*;

    /// Near miss: the client is another process.
    #[test]
    fn what_somebody_else_sends_is_input() {
        let answer = answer_for(&serves_itself("somebody else"));
        assert!(found(&answer, CauseId::IO_WAIT).is_some(), "{:#?}", answer.verdict);
    }

    #[test]
    fn waiting_for_a_file_names_the_file_and_the_line() {
        let answer = answer_for(&reading("/data/input.bin", Some(17), Reason::Io));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::IO_WAIT], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(cause.summary.contains("wait for /data/input.bin, called from load (app.c:12)"), "{}", cause.summary);
    }

    #[test]
    fn faults_that_read_from_a_device_are_input_and_output() {
        let answer = answer_for(&reading("/data/map.bin", None, Reason::Fault));
        assert_eq!(ids(&answer), [CauseId::IO_WAIT], "{:#?}", answer.verdict);
        assert!(answer.verdict.causes[0].summary.contains("pages of /data/map.bin"), "{:?}", answer.verdict.causes[0]);
        // No fault needed the device: the wait is for memory.
        let mut tables = reading("/data/map.bin", None, Reason::Fault);
        tables.runs.iter_mut().for_each(|r| r.major_faults = 0);
        assert_eq!(ids(&answer_for(&tables)), [CauseId::PAGE_FAULT]);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn work_that_the_program_hands_itself_through_a_pipe_is_a_pipeline() {
        let write = 1;
        let answer = answer_for(&fed_by_a_pipe(write));
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("make"));
        assert!(found(&answer, CauseId::IO_WAIT).is_none(), "{:#?}", answer.verdict);
    }

    #[test]
    fn what_a_program_sends_to_itself_is_no_input() {
        let answer = answer_for(&serves_itself("client"));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::IO_WAIT).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
        let charged = |a: &crate::answer::Account| {
            a.lines.iter().filter(|l| l.cause == CauseId::IO_WAIT).map(|l| l.seconds).sum::<f64>()
        };
        assert_eq!(charged(&answer.account[1]), 0.0, "not even what ended with the process: {:#?}", answer.account[1]);
    }
}

mod clean {
    use super::*;

    #[test]
    fn input_that_is_not_waited_for_is_clear() {
        let answer = answer_for(
            &with_base(halved(), WORK)
                .traced(2, |run| {
                    for name in ["a", "b"] {
                        run.thread(name).runs(ms(495), WORK).waits_for(Reason::Io, "/data/x", Some(0), ms(5), WORK);
                    }
                })
                .tables(),
        );
        assert!(answer.verdict.clear.contains(&CauseId::IO_WAIT), "{:#?}", answer.verdict);
    }
}

#[test]
fn a_wake_up_by_an_interrupt_that_met_one_of_the_threads_is_input() {
    let futex = 202;
    let answer = answer_for(&fed_by_a_pipe(futex));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::IO_WAIT).is_some(), "{:#?}", answer.verdict);
}
