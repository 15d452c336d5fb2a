//! Threads that wait for work while whoever hands it out sleeps by the clock.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const WORK: &str = "work@app app.c:5";

mod positive {
    use super::*;

    /// Workers wait for work that one thread hands out after sleeping for a while, again and again.
    #[test]
    fn who_waits_for_work_from_a_thread_that_sleeps_is_told_where_it_sleeps() {
        const TAKES: &str = "pthread_cond_wait@libc.so.6 < take@app app.c:12 < work@app app.c:5";
        let answer = |asleep: Reason, also: &str| {
            let tables =
                with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.3)), WORK)
                    .traced(2, |run| {
                        let mut feeder = run.thread("feeder");
                        for round in 0..50 {
                            let stack = if round % 2 == 0 { "nanosleep@libc.so.6 < feed@app app.c:30" } else { also };
                            feeder =
                                feeder.runs(ms(1), "feed@app app.c:31").waits_for(asleep, "", Some(230), ms(19), stack);
                        }
                        for name in ["a", "b"] {
                            (0..50).fold(run.thread(name), |t, _| {
                                t.locks(0x100, ms(17), TAKES, "feeder").runs(ms(3), WORK)
                            });
                        }
                    })
                    .tables();
            answer_for(&tables)
        };
        let same = "nanosleep@libc.so.6 < feed@app app.c:30";
        let told = answer(Reason::Sleep, same);
        let cause = found(&told, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", told.verdict));
        assert!(cause.summary.contains("for a fixed time in feed (app.c:30)"), "{}", cause.summary);
        // Near misses: it reads a device; and it sleeps at two places, of which either may be the one.
        let reads = answer(Reason::Io, same);
        let other = answer(Reason::Sleep, "nanosleep@libc.so.6 < watch@app app.c:50");
        for near in [reads, other] {
            let told = near.verdict.causes.iter().any(|c| c.summary.contains("wait for work that comes after a sleep"));
            assert!(!told, "{:#?}", near.verdict);
        }
    }
}

/// A thread that hands out rounds of work, waits until each is done, and sleeps before the next, at `sleeps`.
fn rounds(sleeps: &str) -> Answer {
    let tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.5)), WORK)
        .traced(2, |run| {
            let mut main = run.thread("main");
            for _ in 0..50 {
                main = main.locks(0x200, ms(5), "pthread_cond_wait@libc.so.6 < done@app app.c:40", "a").waits_for(
                    Reason::Sleep,
                    "",
                    Some(230),
                    ms(15),
                    sleeps,
                );
            }
            for name in ["a", "b"] {
                (0..50).fold(run.thread(name), |t, _| {
                    t.runs(ms(5), WORK).locks(0x100, ms(15), "pthread_cond_wait@libc.so.6 < take@app app.c:12", "main")
                });
            }
        })
        .tables();
    answer_for(&tables)
}

#[test]
fn who_hands_out_a_round_sleeps_and_waits_for_the_answers() {
    // The second stack breaks off in the library, whose function is then the place.
    let broken = "nanosleep@libc.so.6 < pause@libtimers.so";
    for (stack, place) in [("nanosleep@libc.so.6 < rounds@app app.c:41", "rounds (app.c:41)"), (broken, "pause")] {
        let answer = rounds(stack);
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.contains(&format!("after a sleep for a fixed time in {place}")), "{}", cause.summary);
    }
}

mod near_miss {
    use super::*;

    /// Threads that sleep in turn while the others wait hold something meanwhile: that is no work which comes later.
    #[test]
    fn who_sleeps_in_turn_with_those_that_wait_hands_out_no_work() {
        let tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.1)), WORK)
            .traced(2, |run| {
                for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..50 {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(1), WORK).waits_for(
                                Reason::Sleep,
                                "",
                                Some(230),
                                ms(19),
                                "nanosleep@libc.so.6 < seal@app app.c:64",
                            ),
                            false => {
                                thread.locks(0x100, ms(20), "pthread_cond_wait@libc.so.6 < add@app app.c:49", other)
                            }
                        };
                    }
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert!(
            answer.verdict.causes.iter().all(|c| !c.summary.contains("work that comes after")),
            "{:#?}",
            answer.verdict
        );
    }
}

/// The loop of a library, which hands out work by a timer: it waits in no code of the program.
#[test]
fn an_event_loop_that_only_the_clock_wakes_sleeps() {
    const POLLS: &str = "epoll_pwait@libc.so.6 < uv_run@libuv.so.1";
    const HANDS_OUT: &str = "write@libc.so.6 < uv_async_send@libuv.so.1 < dispatch@app app.js:16 < uv_run@libuv.so.1";
    const NUMBER_OF_WRITE: u32 = 1;
    let answer = |outside: Option<(u32, &str)>, woken_by: Option<&str>| {
        let tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.3)), WORK)
            .traced(2, |run| {
                (0..50).fold(run.thread("loop"), |looped, _| match woken_by {
                    Some(waker) => looped.handed(Reason::Poll, ms(20), POLLS, waker, NUMBER_OF_WRITE),
                    None => looped.waits_for(Reason::Poll, "eventpoll", Some(232), ms(20), POLLS),
                });
                for name in ["a", "b"] {
                    (0..50).fold(run.thread(name), |worker, _| {
                        let waits = worker.handed(Reason::Poll, ms(17), POLLS, "loop", NUMBER_OF_WRITE);
                        waits.woken_at(HANDS_OUT).runs(ms(3), WORK)
                    });
                }
                run.syscalls("loop", NUMBER_OF_WRITE, "write", 100);
                if let Some((number, name)) = outside {
                    run.syscalls("loop", number, name, 1);
                }
            })
            .tables();
        answer_for(&tables)
    };
    let told = answer(None, None);
    let cause = found(&told, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", told.verdict));
    assert!(cause.summary.contains("for a fixed time in dispatch (app.js:16)"), "{}", cause.summary);
    // Near misses: it accepted a connection, so that something outside may wake it; and workers wake it.
    for near in [answer(Some((288, "accept4")), None), answer(None, Some("a"))] {
        let told = near.verdict.causes.iter().any(|c| c.summary.contains("for a fixed time"));
        assert!(!told, "{:#?}", near.verdict);
    }
}
