//! Waiting for work, for input and output, and for a control group's quota.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use analyze::answer::{Answer, CauseId};
use common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms, us};
use recording::tables::{Reason, RunKind};

const JOIN: &str = "?@libc.so.6 < pthread_join@libc.so.6 < main@app app.c:90";
const WORK: &str = "work@app app.c:5";
const POP: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < queue_pop@app queue.c:30 < transform@app app.c:50";

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
    let own = told("hash@app app.c:70 < worker@/usr/lib/libhash.so < start_thread@libc.so.6");
    assert!(!own.0.contains("comes from") && own.1 == "hash", "its own code says more: {own:?}");
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
fn a_wake_up_by_an_interrupt_that_met_one_of_the_threads_is_input() {
    let futex = 202;
    let answer = answer_for(&fed_by_a_pipe(futex));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::IO_WAIT).is_some(), "{:#?}", answer.verdict);
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

#[test]
fn what_a_program_sends_to_itself_is_no_input() {
    let answer = answer_for(&serves_itself("client"));
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::IO_WAIT).is_none(), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    let charged = |a: &analyze::answer::Account| {
        a.lines.iter().filter(|l| l.cause == CauseId::IO_WAIT).map(|l| l.seconds).sum::<f64>()
    };
    assert_eq!(charged(&answer.account[1]), 0.0, "not even what ended with the process: {:#?}", answer.account[1]);
}

/// Near miss: the client is another process.
#[test]
fn what_somebody_else_sends_is_input() {
    let answer = answer_for(&serves_itself("somebody else"));
    assert!(found(&answer, CauseId::IO_WAIT).is_some(), "{:#?}", answer.verdict);
}

#[test]
fn a_pool_without_work_is_no_problem_of_the_program() {
    let answer = answer_for(&idle_pool());
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("nothing in the program runs"));
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

#[test]
fn workers_that_sleep_are_named_by_the_line_that_sleeps() {
    let nap = "?@libc.so.6 < clock_nanosleep@libc.so.6 < usleep@libc.so.6 < poll_flag@app app.c:33 < work@app app.c:9";
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

/// Threads that a quota holds back for half of the time; `clean` and `traced`: what the runs recorded of it.
fn throttled(clean: Option<u64>, traced: Option<u64>) -> Tables {
    let mut tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..10 {
                    thread = thread.runs(ms(50), WORK).preempted(ms(50));
                }
            }
        })
        .tables();
    for run in &mut tables.runs {
        run.throttled_ns = if run.kind == RunKind::Clean { clean } else { traced };
        if run.threads == 1 {
            run.throttled_ns = run.throttled_ns.map(|_| 0);
        }
    }
    tables
}

#[test]
fn a_quota_is_found_where_it_held_the_timed_runs_back() {
    let answer = answer_for(&throttled(Some(ms(1000)), Some(ms(1000))));
    assert_balanced(&answer);
    assert!(ids(&answer) == [CauseId::NONE], "{:#?}", answer.verdict);
    assert!(condition(&answer, CauseId::CPU_QUOTA).unwrap().share > Some(0.4), "{:#?}", answer.verdict);
    assert!(answer.verdict.summary.contains("The control group's quota is used up"), "{}", answer.verdict.summary);
}

#[test]
fn a_quota_that_the_timed_runs_did_not_meet_is_none_of_theirs() {
    for (clean, traced) in [(Some(0), Some(ms(1000))), (None, None), (Some(0), Some(0))] {
        let answer = answer_for(&throttled(clean, traced));
        assert!(condition(&answer, CauseId::CPU_QUOTA).is_none(), "{clean:?} {traced:?} {:#?}", answer.verdict);
    }
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
    let answer =
        answer_for(&tables("runtime.usleep@app < runtime.findRunnable@app < runtime.schedule@app < runtime.mcall@app"));
    assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("goroutines"), "{:#?}", answer.verdict);
    // A sleeping thread of a C program is found, also if its function's name merely begins like one of the runtime.
    let answer = answer_for(&tables("nanosleep@libc.so.6 < runtime_poll@app a.c:3 < main@app a.c:9"));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
}

/// Turns of ten milliseconds: the thread whose turn it is sleeps while it holds the lock.
#[test]
fn threads_that_hardly_run_are_the_workers_where_no_other_does() {
    let wait = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < wait_turn@app app.c:33";
    let pause = "clock_nanosleep@libc.so.6 < wait_turn@app app.c:35";
    let tables = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.001))
        .clean_cpu(2, &around(1.0), &around(0.001))
        .traced(1, |run| {
            main_joins(run, ms(1000));
            (0..100).fold(run.thread("worker-1"), |t, _| {
                t.runs(us(10), "work@app app.c:9").blocks(Reason::Sleep, ms(10), pause)
            });
        })
        .traced(2, |run| {
            main_joins(run, ms(1000));
            for (name, other, first) in [("worker-1", "worker-2", true), ("worker-2", "worker-1", false)] {
                let turns = (0..100).map(|turn| (turn % 2 == 0) == first);
                turns.fold(run.thread(name), |t, own| match own {
                    true => t.runs(us(10), "work@app app.c:9").blocks(Reason::Sleep, ms(10), pause),
                    false => t.locks(0x100, ms(10) + us(10), wait, other),
                });
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "it has two threads: {:#?}", answer.verdict);
    assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
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

#[test]
fn waiting_that_a_larger_count_of_a_pipeline_does_without_is_no_limit() {
    let answer = answer_for(&reader_workers_writer(0.8));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    assert!(answer.verdict.summary.starts_with("With 4 threads"), "{}", answer.verdict.summary);
    // Near miss: four workers are no faster than two.
    let answer = answer_for(&reader_workers_writer(0.9));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
}

const PARK: &str =
    "?@libc.so.6 < pthread_cond_wait@libc.so.6 < Parker::park(bool, long)@libjvm.so < Unsafe_Park@libjvm.so";

/// Java threads that take turns of ten milliseconds. `stacks`: where each of them parks.
fn parking(stacks: [&str; 2]) -> Tables {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    with_base(sketch, "void Shop.sell(int)@anonymous")
        .traced(2, |run| {
            for (i, (name, stack)) in ["a", "b"].into_iter().zip(stacks).enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100_usize {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(10), "void Shop.sell(int)@anonymous"),
                        false => thread.locks(0x100 + i as u64, ms(10), stack, ["b", "a"][i]),
                    };
                }
            }
        })
        .tables()
}

#[test]
fn methods_tell_what_threads_of_java_park_for() {
    let queued = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
    let at = |methods: &str| format!("{PARK} < {methods} < void Shop.sell(int)@anonymous");
    let lock = at(&format!(
        "int {queued}.acquire(int)@anonymous < void java.util.concurrent.locks.ReentrantLock.lock()@anonymous"
    ));
    let answer = answer_for(&parking([&lock, &lock]));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
    assert_eq!(answer.verdict.causes[0].culprit.as_ref().unwrap().function.as_deref(), Some("void Shop.sell(int)"));
    let queue = at(&format!(
        "void {queued}$ConditionObject.await()@anonymous < java.lang.Object \
         java.util.concurrent.ArrayBlockingQueue.take()@anonymous"
    ));
    assert_eq!(ids(&answer_for(&parking([&queue, &queue]))), [CauseId::CONDITION_WAIT]);
}

/// Threads that park wake others that park: this may be a lock, or two threads that wait for each other's answers. If a
/// place's waits are ended by threads that never wait there, it is no lock.
#[test]
fn without_methods_names_parking_is_open_where_it_may_be_a_lock() {
    let at = |address: u32| format!("{PARK} < ?@anonymous a:{address}");
    let answer = answer_for(&parking([&at(1), &at(1)]));
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::USER_LOCK).contains("purpose"), "{:#?}", answer.verdict);
    assert_eq!(ids(&answer_for(&parking([&at(1), &at(2)]))), [CauseId::CONDITION_WAIT]);
}

/// A pool of two workers and a thread that gives them work; all park in the interpreter. The giver waits nearly always,
/// too long for a thread that a worker could wait for at a lock.
#[test]
fn who_hardly_does_anything_else_holds_no_lock_that_others_wait_for() {
    let park = format!("{PARK} < Interpreter@anonymous < ?@libjvm.so");
    let task = "void Shop.sell(int)@anonymous";
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.9), &around(1.0));
    let tables = with_base(sketch, task)
        .traced(2, |run| {
            let mut giver = run.thread("main");
            for round in 0..10 {
                let last = if round % 2 == 0 { "a" } else { "b" };
                giver = giver.runs(ms(1), "void Shop.main()@anonymous").locks(0x300, ms(89), &park, last);
            }
            for (i, name) in ["a", "b"].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..10_usize {
                    let work = if round % 2 == i { 89 } else { 11 };
                    thread = thread.locks(0x100 + i as u64, ms(90 - work), &park, "main").runs(ms(work), task);
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    // No lock and no stage: the tasks that it hands out are of unequal size.
    assert_eq!(ids(&answer), [CauseId::IMBALANCE], "{:#?}", answer.verdict);
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

/// A small cause beside a large unexplained loss.
#[test]
fn a_larger_part_that_is_not_explained_is_in_the_summary() {
    let wait = format!("{PARK} < ?@anonymous a:1");
    let (sell, start) = ("void Shop.sell(int)@anonymous", "void Shop.load()@anonymous");
    let tables = |alone: u64| {
        let seconds = 1.0 + alone as f64 * 1e-3;
        let sketch = Sketch::new(2).clean(1, &around(seconds)).clean_cpu(2, &around(seconds), &around(seconds));
        sketch
            .traced(1, |run| {
                run.thread("main").runs(ms(alone), start).runs(ms(1000), sell);
            })
            .traced(2, |run| {
                main_joins(run, ms(1000 + alone));
                for (i, name) in ["a", "b"].into_iter().enumerate() {
                    let mut thread = run.thread_at(name, if i == 0 { 0 } else { ms(alone) });
                    thread = if i == 0 { thread.runs(ms(alone), start) } else { thread };
                    for round in 0..100_usize {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(10), sell),
                            false => thread.locks(0x100 + i as u64, ms(10), &wait, ["b", "a"][i]),
                        };
                    }
                }
            })
            .tables()
    };
    let answer = answer_for(&tables(200));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::NONE, CauseId::SERIAL_PHASE], "{:#?}", answer.verdict);
    let told = &answer.verdict.summary;
    assert!(told.contains("The largest part, 42 %, is not explained. A smaller part, 8 %: Shop.load"), "{told}");
    let answer = answer_for(&tables(2000));
    assert!(!answer.verdict.summary.contains("A larger part"), "{}", answer.verdict.summary);
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

/// Wherever it waits, it waits for the others to end.
#[test]
fn who_starts_the_others_and_then_waits_is_no_worker() {
    let answer = answer_for(&waits_at_a_loop(20));
    assert_eq!(ids(&answer).first(), Some(&CauseId::IMBALANCE), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
}

/// Near miss: it does part of the work, and waits for more.
#[test]
fn who_hands_out_the_work_is_one() {
    let answer = answer_for(&waits_at_a_loop(400));
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
}

/// Two threads that run in turns, each waiting for what the other hands over.
fn in_turns(stolen: u64) -> Answer {
    const WAIT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app queue.c:9 < work@app app.c:5";
    const WORK: &str = "count@app app.c:7 < work@app app.c:6";
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
            rounds.iter().zip(&other).fold(one, |t, (own, wait)| t.runs(*own, WORK).locks(0x100, *wait, WAIT, "two"));
            let two = run.thread("two");
            rounds.iter().zip(&other).fold(two, |t, (wait, own)| t.locks(0x200, *wait, WAIT, "one").runs(*own, WORK));
        })
        .tables();
    tables.runs.iter_mut().filter(|run| run.threads == 2).for_each(|run| run.steal_ns = Some(ms(stolen)));
    answer_for(&tables)
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
