//! Threads that wait for work.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::waiting::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms, us};
use recording::tables::Reason;

const POP: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < queue_pop@app queue.c:30 < transform@app app.c:50";

/// Threads that hash in a library's pool of one thread; the callers wait for the answer.
fn library_pool(hash: &str) -> Tables {
    let wait = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < wait_for_hash@app app.c:30 < transform@app app.c:50";
    let idle = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < worker@/usr/lib/libhash.so < start_thread@libc.so.6";
    let submit =
        "?@libc.so.6 < pthread_cond_signal@libc.so.6 < hash_later@/usr/lib/libhash.so < transform@app app.c:48";
    with_base(Sketch::new(4).clean(1, &around(1.0)).clean_cpu(3, &around(1.0), &around(1.0)), WORK)
        .traced(3, |run| {
            let mut pool = run.thread("pool");
            for _ in 0..50 {
                pool = pool.locks(0x700, us(100), idle, "a").woken_at(submit).runs(ms(20) - us(100), hash);
            }
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread.locks(0x500, ms(19), wait, "pool").runs(ms(1), "transform@app app.c:52");
                }
            }
        })
        .tables()
}

/// A pool whose work comes from outside: a thread reads a socket and hands on what it gets.
fn idle_pool() -> Tables {
    with_base(Sketch::new(4).clean(1, &around(1.0)).clean_cpu(3, &around(1.0), &around(0.2)), WORK)
        .traced(3, |run| {
            let read = "?@libc.so.6 < recv@libc.so.6 < serve@app app.c:70";
            let mut server = run.thread("server");
            for _ in 0..50 {
                server = server.blocks(Reason::Pipe, ms(18), read).runs(ms(2), "serve@app app.c:72");
            }
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread.locks(0x500, ms(18), POP, "server").runs(ms(2), "transform@app app.c:52");
                }
            }
        })
        .tables()
}

/// A reader, as many workers as asked for, and a writer. Four workers take `fourth` seconds; two of them find nothing
/// to do.
fn reader_workers_writer(fourth: f64) -> Tables {
    let wait = "pthread_cond_wait@libc.so.6 < queue_pop@app queue.c:45 < work@app app.c:9";
    let of = |run: &mut RunSketch<'_>, begin: u64, pause: u64, workers: u64| {
        // Two threads run at a time, except during twice `pause`.
        let whole = 800 + 2 * pause;
        run.thread("reader").runs(ms(500), WORK).blocks(Reason::Futex, ms(whole - 500), wait);
        run.thread("worker").runs(ms(300), WORK).blocks(Reason::Futex, ms(whole - 300), wait);
        run.thread("writer").blocks(Reason::Futex, ms(300 + pause), wait).runs(ms(500 + pause - begin), WORK);
        run.thread("worker").blocks(Reason::Futex, ms(whole - 300), wait).runs(ms(300), WORK);
        for _ in 2..workers {
            run.thread("worker").blocks(Reason::Futex, ms(whole), wait);
        }
    };
    Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.6))
        .clean_cpu(2, &around(0.9), &around(1.6))
        .clean_cpu(4, &around(fourth), &around(1.6))
        .traced(1, |run| of(run, 100, 100, 2))
        .traced(2, |run| of(run, 50, 50, 2))
        .traced(4, |run| of(run, 0, ((fourth - 0.8) * 500.0) as u64, 4))
        .tables()
}

/// A first thread prepares for 100 ms, starts two workers, and waits in an event loop, where it runs for `ran` ms in 20
/// pieces. One worker has 1,000 ms of work, the other 300.
fn waits_at_a_loop(ran: u64) -> Tables {
    let at_loop = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < run_loop@app loop.c:30 < main@app app.c:90";
    with_base(Sketch::new(2).clean(1, &around(1.4)).clean_cpu(2, &around(1.1), &around(1.4)), WORK)
        .traced(2, |run| {
            let mut main = run.thread("app").runs(ms(100), "main@app app.c:80");
            for _ in 0..20 {
                main = main.locks(0x900, ms(50) - us(ran * 50), at_loop, "b").runs(us(ran * 50), "main@app app.c:91");
            }
            run.thread_at("app", ms(100)).runs(ms(1000), WORK);
            run.thread_at("b", ms(100)).runs(ms(300), WORK);
        })
        .tables()
}

/// Two threads that run in turns, each waiting for what the other hands over.
fn in_turns(stolen: u64) -> Answer {
    in_turns_with(stolen, 100)
}

/// The same, running in `count` for this percentage of a turn, and in `sort` and `merge` for halves of the rest.
fn in_turns_with(stolen: u64, counts: u64) -> Answer {
    const WAIT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app queue.c:9 < work@app app.c:5";
    const WORK: &str = "count@app app.c:7 < work@app app.c:6";
    const SORTS: &str = "sort@app app.c:8 < work@app app.c:6";
    const MERGES: &str = "merge@app app.c:9 < work@app app.c:6";
    let part = |own: u64| (own * counts / 100, own * (100 - counts) / 200);
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.95), &around(1.0));
    let mut tables = with_base(sketch, WORK)
        .traced(2, |run| {
            main_joins(run, ms(950));
            let (mut rounds, mut other) = (Vec::new(), Vec::new());
            for _ in 0..100 {
                rounds.push(ms(5));
                other.push(us(4500));
            }
            let one = run.thread("one");
            rounds.iter().zip(&other).fold(one, |t, (own, wait)| {
                let (count, sort) = part(*own);
                t.runs(count, WORK).runs(sort, SORTS).runs(sort, MERGES).locks(0x100, *wait, WAIT, "two")
            });
            let two = run.thread("two");
            rounds.iter().zip(&other).fold(two, |t, (wait, own)| {
                let (count, sort) = part(*own);
                t.locks(0x200, *wait, WAIT, "one").runs(count, WORK).runs(sort, SORTS).runs(sort, MERGES)
            });
        })
        .tables();
    tables.runs.iter_mut().filter(|run| run.threads == 2).for_each(|run| run.steal_ns = Some(ms(stolen)));
    answer_for(&tables)
}

mod positive {
    use super::*;

    #[test]
    fn the_stage_that_sets_the_pace_is_named_with_its_utilisation() {
        let answer = answer_for(&queue());
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert!(cause.share > 0.9, "{cause:?}");
        assert!(
            cause.summary.contains("busy 100 % of the time: one thread (producer) in make (app.c:10)"),
            "{}",
            cause.summary
        );
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("make"));
        let ended = cause.evidence.iter().find(|e| e.what.contains("ended by thread producer")).unwrap();
        assert!(ended.value > 1.0, "{ended:?}");
    }

    /// Near miss: of three functions, none runs most of the time, so the one around them is named.
    #[test]
    fn threads_that_wait_for_each_other_are_told_at_the_innermost_function_that_runs_most_of_the_time() {
        let told = |counts| {
            let answer = in_turns_with(0, counts);
            found(&answer, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", answer.verdict)).summary.clone()
        };
        assert!(told(70).ends_with("most in count (app.c:7), called from work (app.c:6)."), "{}", told(70));
        assert!(told(40).ends_with("most in work (app.c:6)."), "{}", told(40));
    }

    /// The producer has work for 90 % of the time and runs for 60 %. Near miss: it has none for the rest.
    #[test]
    fn a_stage_is_busy_also_while_others_have_its_processor() {
        let of = |ready: u64| {
            let wait = "?@libc.so.6 < ?@libc.so.6 < take@app app.c:30 < consume@app app.c:50";
            let read = "?@libc.so.6 < read@libc.so.6 < make@app app.c:9";
            let tables = Sketch::new(4)
                .clean_cpu(1, &around(0.72), &around(0.72))
                .clean_cpu(3, &around(0.8), &around(0.72))
                .traced(1, |run| {
                    run.thread("main").runs(ms(480), "make@app app.c:10").runs(ms(240), "use@app app.c:20");
                })
                .traced(3, |run| {
                    main_joins(run, ms(799));
                    (0..40).fold(run.thread("producer"), |thread, _| {
                        let thread = thread.blocks(Reason::Io, ms(8 - ready), read);
                        let thread = if ready > 0 { thread.preempted(ms(ready)) } else { thread };
                        thread.runs(ms(12), "make@app app.c:10")
                    });
                    for name in ["a", "b"] {
                        (0..40).fold(run.thread(name), |thread, _| {
                            thread.locks(0x500, ms(17), wait, "producer").runs(ms(3), "use@app app.c:20")
                        });
                    }
                })
                .tables();
            found(&answer_for(&tables), CauseId::CONDITION_WAIT).unwrap().summary.clone()
        };
        let busy = of(6);
        assert!(busy.contains("busy 90 % of the time: one thread (producer) in make"), "{busy}");
        let waits = of(0);
        assert!(waits.starts_with("Threads wait for each other"), "{waits}");
    }

    #[test]
    fn work_in_the_threads_of_a_library_comes_from_who_hands_it_in() {
        let told = |hash: &str| {
            let answer = answer_for(&library_pool(hash));
            let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
            (cause.summary.clone(), cause.culprit.clone().unwrap().function.unwrap(), cause.remedies.concat())
        };
        let plain = told("sha512@/usr/lib/libhash.so < worker@/usr/lib/libhash.so < start_thread@libc.so.6");
        assert!(plain.0.contains("one thread in worker, whose work comes from transform (app.c:48)"), "{}", plain.0);
        assert_eq!(plain.1, "transform");
        let uv = told("sha512@node < node::ThreadPoolWork::ScheduleWork()::_FUN(uv_work_s*)@node < worker@node");
        assert!(uv.0.contains("the one thread of libuv's pool") && uv.2.contains("raise UV_THREADPOOL_SIZE"), "{uv:?}");
        // An event loop that goes on with what the pool has done is no thread of the pool.
        let event_loop = told(
            "encode@app app.c:70 < node::ThreadPoolWork::ScheduleWork()::_FUN(uv_work_s*, int)@node < uv_run@node",
        );
        assert!(!event_loop.0.contains("libuv") && !event_loop.2.contains("UV_THREADPOOL_SIZE"), "{event_loop:?}");
        let own = told("hash@app app.c:70 < worker@/usr/lib/libhash.so < start_thread@libc.so.6");
        assert!(!own.0.contains("comes from") && own.1 == "hash", "its own code says more: {own:?}");
    }

    /// Most of the stage's time is in one function, on several lines; the single line that is seen most is in another.
    #[test]
    fn the_function_that_has_most_of_a_stage_is_named() {
        let idle = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app app.c:60 < stage@app app.c:30";
        let submit = "?@libc.so.6 < pthread_cond_signal@libc.so.6 < submit@app app.c:48 < transform@app app.c:49";
        let tables = with_base(Sketch::new(4).clean(1, &around(1.0)).clean_cpu(3, &around(1.0), &around(1.0)), WORK)
            .traced(3, |run| {
                let mut stage = run.thread("stage");
                for round in 0..50 {
                    let step = format!("step@app app.c:{} < drain@app app.c:20 < stage@app app.c:31", 10 + round % 5);
                    stage = stage.locks(0x700, us(100), idle, "a").woken_at(submit).runs(ms(16), &step);
                    stage = stage.runs(ms(4) - us(100), "note@app app.c:40 < stage@app app.c:32");
                }
                // At other times, so that each part of the stage runs beside others now and then.
                for (name, start) in [("a", 0), ("b", 8)] {
                    let mut thread = run.thread_at(name, ms(start));
                    for _ in 0..49 {
                        thread = thread.locks(0x500, ms(18), POP, "stage").runs(ms(2), "transform@app app.c:52");
                    }
                }
            })
            .tables();
        let answer = answer_for(&tables);
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("step"), "{}", cause.summary);
    }

    #[test]
    fn workers_that_sleep_are_named_by_the_line_that_sleeps() {
        let nap =
            "?@libc.so.6 < clock_nanosleep@libc.so.6 < usleep@libc.so.6 < poll_flag@app app.c:33 < work@app app.c:9";
        let answer = answer_for(
            &with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.8), &around(1.0)), WORK)
                .traced(2, |run| {
                    for name in ["a", "b"] {
                        let mut thread = run.thread(name);
                        for _ in 0..100 {
                            thread = thread.runs(ms(5), WORK).blocks(Reason::Sleep, ms(3), nap);
                        }
                    }
                })
                .tables(),
        );
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert!(cause.summary.contains("sleep for a fixed time in poll_flag (app.c:33)"), "{}", cause.summary);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_pool_without_work_is_no_problem_of_the_program() {
        let answer = answer_for(&idle_pool());
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
        assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("nothing in the program runs"));
    }

    #[test]
    fn threads_of_the_go_scheduler_do_not_tell_what_goroutines_wait_for() {
        let tables = |stack: &'static str| {
            with_base(
                Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)),
                "main.work@app a.go:5",
            )
            .traced(2, |run| {
                for (i, name) in ["a", "b"].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..100_usize {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(10), "main.work@app a.go:5"),
                            false => thread.blocks(Reason::Sleep, ms(10), stack),
                        };
                    }
                }
            })
            .tables()
        };
        let answer = answer_for(&tables(
            "runtime.usleep@app < runtime.findRunnable@app < runtime.schedule@app < runtime.mcall@app",
        ));
        assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("goroutines"), "{:#?}", answer.verdict);
        // A sleeping thread of a C program is found, also if its function's name merely begins like one of the runtime.
        let answer = answer_for(&tables("nanosleep@libc.so.6 < runtime_poll@app a.c:3 < main@app a.c:9"));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    }

    #[test]
    fn waiting_that_a_larger_count_of_a_pipeline_does_without_is_no_limit() {
        let answer = answer_for(&reader_workers_writer(0.8));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
        assert!(answer.verdict.summary.starts_with("With 4 threads"), "{}", answer.verdict.summary);
        // Near miss: four workers are no faster than two.
        let answer = answer_for(&reader_workers_writer(0.9));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    }

    /// Wherever it waits, it waits for the others to end.
    #[test]
    fn who_starts_the_others_and_then_waits_is_no_worker() {
        let answer = answer_for(&waits_at_a_loop(20));
        assert_eq!(ids(&answer).first(), Some(&CauseId::IMBALANCE), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_pipeline_that_keeps_the_processors_busy_is_clear() {
        let answer = answer_for(
            &with_base(halved(), WORK)
                .traced(2, |run| {
                    run.thread("a").runs(ms(500), WORK);
                    run.thread("b").runs(ms(500), WORK);
                    let mut writer = run.thread("writer");
                    for _ in 0..49 {
                        writer = writer.locks(0x500, ms(9), POP, "a").runnable(ms(1));
                    }
                })
                .tables(),
        );
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::CONDITION_WAIT));
    }
}

#[test]
fn threads_that_wait_for_each_others_answers_have_no_slow_stage() {
    let answer = answer_for(
        &with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
            .traced(2, |run| {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for round in 0..100 {
                    (if round % 2 == 0 { &mut a } else { &mut b }).push(round);
                }
                for (name, other, turns) in [("a", "b", a), ("b", "a", b)] {
                    let mut thread = run.thread(name);
                    for round in 0..100 {
                        thread = match turns.contains(&round) {
                            true => thread.runs(ms(10), "transform@app app.c:52"),
                            false => thread.locks(0x500, ms(10), POP, other),
                        };
                    }
                }
            })
            .tables(),
    );
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
    assert!(cause.summary.contains("on average 1.0 run at a time"), "{}", cause.summary);
}

/// A compiler's thread is busy at first, then waits for methods to compile while one thread works alone.
#[test]
fn a_virtual_machine_s_thread_that_waits_for_a_call_is_no_worker() {
    let queue = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < os::PlatformMonitor::wait(long)@libjvm.so < \
                 CompileQueue::get()@libjvm.so < CompileBroker::compiler_thread_loop()@libjvm.so";
    let own = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app app.c:30 < compile@app app.c:40";
    let answers = [queue, own].map(|stack| {
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.3));
        let tables = with_base(sketch, WORK)
            .traced(2, |run| {
                run.thread("main").runs(ms(1000), WORK);
                run.thread("compiler").runs(ms(300), "?@libjvm.so").locks(0x100, ms(700), stack, "main");
            })
            .tables();
        answer_for(&tables)
    });
    assert!(found(&answers[0], CauseId::CONDITION_WAIT).is_none(), "{:#?}", answers[0].verdict);
    assert!(found(&answers[1], CauseId::CONDITION_WAIT).is_some(), "{:#?}", answers[1].verdict);
}

/// Near miss: it does part of the work, and waits for more.
#[test]
fn who_hands_out_the_work_is_one() {
    let answer = answer_for(&waits_at_a_loop(400));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
}

/// Who waits for a thread that stands still, because another virtual machine has its processor, waits for that.
#[test]
fn threads_in_turns_are_told_unless_other_virtual_machines_may_be_why() {
    let answer = in_turns(100);
    let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!(cause.summary.contains("wait for each other"), "{}", cause.summary);
    let answer = in_turns(1000);
    assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("stands still"), "{:#?}", answer.verdict);
}
