//! How locks cost time, which threads hold them, and locks of interpreters.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms, us};
use recording::tables::{Reason, Region, Variable};

const WORK: &str = "work@app app.c:5";
const WAIT: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < update@app app.c:40 < work@app app.c:9";

fn flat() -> Sketch {
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
}

/// Two threads that take turns: one has the lock and runs `inside`, the other waits.
fn turns(each: u64, rounds: u64, inside: &str) -> Tables {
    flat()
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..rounds {
                    thread = match round % 2 == i as u64 {
                        true => thread.runs(each, inside),
                        false => thread.locks(0x100, each, WAIT, other),
                    };
                }
            }
        })
        .tables()
}

fn lock(answer: &Answer) -> &crate::answer::Cause {
    assert_balanced(answer);
    found(answer, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", answer.verdict))
}

/// A lock of the program around code that releases the interpreter's lock: a thread that takes the latter back
/// sometimes waits at the same line. `own`, `interpreters`: how many milliseconds a thread waits for each.
fn python_lock(own: u64, interpreters: u64) -> Tables {
    let taken = "key_for@anonymous keys.py:35 < seal@anonymous keys.py:40";
    let lock = format!(
        "?@libc.so.6 < __new_sem_wait_slow64@libc.so.6 < PyThread_acquire_lock_timed@libpython3.11.so.1.0 < {taken}"
    );
    let gil = format!("?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < take_gil@libpython3.11.so.1.0 < {taken}");
    flat()
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100 {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(own + interpreters), "derive@anonymous keys.py:24"),
                        false => thread.locks(0x100, ms(own), &lock, other).locks(0x900, ms(interpreters), &gil, other),
                    };
                }
            }
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn a_long_critical_section_is_named_by_what_the_holder_does() {
        let mut tables = turns(ms(10), 100, "rehash@app table.c:70 < update@app app.c:41 < work@app app.c:9");
        let holder = |waiter: u32| Some(recording::ThreadId(1 - waiter));
        for wake in &mut tables.wakes {
            let waiter = tables.waits.iter().find(|w| w.run == wake.run && w.wait == wake.wait).unwrap().thread.0;
            wake.holder = holder(waiter);
        }
        let answer = answer_for(&tables);
        let cause = lock(&answer);
        assert!(cause.summary.contains("the holder works in rehash (table.c:70)"), "{}", cause.summary);
        assert!(
            cause.evidence.iter().any(|e| e.what.contains("while thread") && e.value > 0.4),
            "{:?}",
            cause.evidence
        );
        assert!(cause.remedies[0].contains("shorten"), "{:?}", cause.remedies);
    }

    #[test]
    fn a_short_critical_section_is_taken_too_often() {
        let answer = answer_for(&turns(us(10), 100_000, "update@app app.c:41 < work@app app.c:9"));
        assert!(lock(&answer).remedies[0].contains("less often: work in batches"), "{:?}", lock(&answer).remedies);
    }

    #[test]
    fn a_lock_that_is_handed_to_sleepers_is_a_convoy() {
        let tables = flat()
            .traced(2, |run| {
                // In each 20 µs, one thread runs for 4 µs, then the other is woken and needs 16 µs to get going.
                for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..5000 {
                        thread = match round % 2 == i {
                            true => thread.runnable(us(16)).runs(us(4), WORK),
                            false => thread.locks(0x100, us(20), WAIT, other),
                        };
                    }
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert!(lock(&answer).summary.contains("still waking up"), "{}", lock(&answer).summary);
    }
}

mod near_miss {
    use super::*;

    /// Two threads wait a little for a lock inside a library's function, whose work takes longer with two threads.
    #[test]
    fn work_deep_inside_a_library_is_not_its_lock() {
        let answer = |work: &str| {
            let wait = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < put@libstore.so < save@app app.c:40";
            let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.7), &around(1.36));
            let tables = with_base(sketch, work)
                .traced(2, |run| {
                    for (name, other) in [("a", "b"), ("b", "a")] {
                        (0..20).fold(run.thread(name), |t, _| t.runs(ms(34), work).locks(0x100, ms(1), wait, other));
                    }
                })
                .tables();
            answer_for(&tables)
        };
        let seconds = |answer: &Answer| found(answer, CauseId::USER_LOCK).map_or(0.0, |cause| cause.lost_seconds);
        let deep =
            answer("copy@libstore.so < encode@libstore.so < grow@libstore.so < put@libstore.so < save@app app.c:40");
        assert!(seconds(&deep) < 0.06, "{:#?}", deep.verdict);
        // Near miss: the function that takes the lock, and what it calls for its work.
        let near = answer("step@libstore.so < put@libstore.so < save@app app.c:40");
        assert!(seconds(&near) > 0.3, "{:#?}", near.verdict);
    }
}

#[test]
fn a_holder_that_waits_itself_is_said() {
    let write = "write@libc.so.6 < flush@app log.c:9 < update@app app.c:42 < work@app app.c:9";
    let tables = flat()
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100 {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(2), WORK).waits_for(Reason::Io, "/var/log/app", Some(1), ms(8), write),
                        false => thread.locks(0x100, ms(10), WAIT, other),
                    };
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert!(lock(&answer).summary.contains("waits for a file or a device meanwhile"), "{}", lock(&answer).summary);
    assert!(found(&answer, CauseId::IO_WAIT).is_some());
}

#[test]
fn a_global_lock_has_its_variable_s_name() {
    let mut tables = turns(ms(10), 100, WORK);
    tables.variables.push(Variable {
        run: tables.traces[1].run,
        address: 0xf8,
        region: Region::Global,
        module: Some("/home/user/app".to_owned()),
        name: Some("table_lock".to_owned()),
        offset: Some(0),
        size: Some(40),
        member: None,
        type_name: None,
    });
    let answer = answer_for(&tables);
    assert!(lock(&answer).summary.contains("the lock \"table_lock\""), "{}", lock(&answer).summary);
    assert_eq!(lock(&answer).culprit.as_ref().unwrap().object.as_deref(), Some("0x100"));
    tables.variables[0].size = Some(8);
    let answer = answer_for(&tables);
    assert!(!lock(&answer).summary.contains("table_lock"), "{}", lock(&answer).summary);
}

#[test]
fn the_python_interpreter_s_lock_is_called_by_its_name() {
    let wait = "?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < ?@python3.11 < ?@python3.11";
    let mut tables = turns(ms(5), 200, "?@python3.11");
    let stacks = Sketch::new(1).traced(1, |run| {
        let _ = run.thread("x").locks(1, 1, wait, "x");
    });
    // The same timeline, waiting in the interpreter.
    let other = stacks.tables();
    tables.stacks.extend(other.stacks.iter().map(|s| recording::tables::Stack {
        stack: recording::StackId(s.stack.0 + 1000),
        parent: s.parent.map(|p| recording::StackId(p.0 + 1000)),
        frame: recording::FrameId(s.frame.0 + 1000),
        ..s.clone()
    }));
    tables.frames.extend(other.frames.iter().map(|f| recording::tables::Frame {
        frame: recording::FrameId(f.frame.0 + 1000),
        module: recording::ModuleId(f.module.0 + 1000),
        ..f.clone()
    }));
    tables.modules.extend(
        other
            .modules
            .iter()
            .map(|m| recording::tables::Module { module: recording::ModuleId(m.module.0 + 1000), ..m.clone() }),
    );
    let leaf = other.waits[0].user_stack.unwrap();
    for wait in &mut tables.waits {
        (wait.user_stack, wait.timed, wait.expected) = (Some(recording::StackId(leaf.0 + 1000)), true, Some(0));
    }
    let answer = answer_for(&tables);
    assert!(lock(&answer).summary.contains("Python interpreter's global lock"), "{}", lock(&answer).summary);
    assert!(lock(&answer).remedies[0].contains("processes"), "{:?}", lock(&answer).remedies);
}

/// All threads wait where they request the lock. Its holder runs elsewhere, half of the time in each of two lines of
/// one function.
#[test]
fn an_interpreter_s_lock_is_told_at_the_function_of_the_program_that_runs() {
    let within = "method_vectorcall@libpython3.11.so.1.0 < Thread.run@anonymous /usr/lib/python3.11/threading.py:982";
    let wait = format!(
        "?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < take_gil@libpython3.11.so.1.0 < next_line@anonymous words.py:30 < {within}"
    );
    let places = ["tokenize@anonymous words.py:6", "count@anonymous words.py:14", "tokenize@anonymous words.py:7"];
    let runs = [0, 1, 2, 1, 0].map(|i| format!("{} < {within}", places[i]));
    let tables = flat()
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..200 {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(5), &runs[round / 2 % 5]),
                        false => thread.locks(0x100, ms(5), &wait, other),
                    };
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    let culprit = lock(&answer).culprit.as_ref().unwrap();
    assert_eq!((culprit.function.as_deref(), culprit.line), (Some("tokenize"), Some(6)), "{culprit:?}");
    let summary = &lock(&answer).summary;
    assert!(summary.ends_with("Most of the time that is tokenize (words.py:6)."), "{summary}");
}

/// The parent process combines what its worker processes send, in two threads that wait for its interpreter's lock.
#[test]
fn an_interpreter_s_lock_in_the_parent_of_processes_is_not_cured_by_processes() {
    let within = "method_vectorcall@libpython3.11.so.1.0 < Thread.run@anonymous /usr/lib/python3.11/threading.py:982";
    let wait = format!(
        "?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < take_gil@libpython3.11.so.1.0 < load@anonymous rollup.py:30 < {within}"
    );
    let mut tables = flat()
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..200 {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(5), &format!("add@anonymous rollup.py:42 < {within}")),
                        false => thread.locks(0x100, ms(5), &wait, other),
                    };
                }
            }
            let read = format!("read_store@anonymous rollup.py:20 < {within}");
            run.thread("worker").runs(ms(300), &read).waits_for(Reason::Pipe, "pipe", Some(0), ms(700), &read);
        })
        .tables();
    let alone = answer_for(&tables);
    assert!(lock(&alone).summary.starts_with("Threads wait for the Python"), "{}", lock(&alone).summary);
    for thread in tables.threads.iter_mut().filter(|t| t.name == "worker") {
        thread.pid = 4000;
    }
    let answer = answer_for(&tables);
    let cause = lock(&answer);
    assert!(cause.summary.starts_with("Threads of the parent process wait for the Python"), "{}", cause.summary);
    assert_eq!(cause.culprit.as_ref().and_then(|c| c.function.as_deref()), Some("add"), "{cause:?}");
    assert!(cause.remedies.iter().all(|remedy| !remedy.contains("ProcessPoolExecutor")), "{:?}", cause.remedies);
    assert!(cause.remedies[0].contains("do less in this process"), "{:?}", cause.remedies);
    assert!(!answer.verdict.clear.contains(&CauseId::SERIAL_PHASE), "{:?}", answer.verdict);
}

#[test]
fn a_lock_of_a_python_program_is_not_the_interpreter_s() {
    let answer = answer_for(&python_lock(9, 1));
    let cause = lock(&answer);
    assert_eq!(cause.culprit.as_ref().and_then(|c| c.line), Some(35), "{cause:?}");
    assert!(!cause.summary.contains("interpreter"), "{}", cause.summary);
    let answer = answer_for(&python_lock(1, 9));
    assert!(lock(&answer).summary.contains("Python interpreter's global lock"), "{}", lock(&answer).summary);
}

#[test]
fn a_semaphore_is_a_lock_although_interrupts_pass_on_the_longest_wakeups() {
    const SEM: &str = "?@libc.so.6 < __new_sem_wait_slow64@libc.so.6 < critical@app app.c:5 < work@app app.c:9";
    let tables = |unknown_each: u64| {
        let mut tables = flat()
            .traced(2, |run| {
                for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..400_usize {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(3), "critical@app app.c:5 < work@app app.c:9"),
                            false => thread.locks(0x100, ms(3), SEM, other),
                        };
                    }
                }
            })
            .tables();
        for wait in &mut tables.waits {
            wait.expected = Some(0);
        }
        // Of ten wake-ups, `unknown_each` are unknown, and those end nine tenths of the waiting.
        let mut parted = tables.wakes.clone();
        for wake in &mut tables.wakes {
            wake.count = 10 - unknown_each;
            wake.blocked_ns /= 10;
        }
        for wake in &mut parted {
            wake.waker = None;
            wake.waker_syscall = None;
            wake.same_object = false;
            wake.count = unknown_each;
            wake.blocked_ns = wake.blocked_ns * 9 / 10;
        }
        tables.wakes.extend(parted);
        tables
    };
    assert_eq!(lock(&answer_for(&tables(2))).culprit.as_ref().unwrap().function.as_deref(), Some("critical"));
    // When most wake-ups are unknown, the few known ones do not speak for them.
    let answer = answer_for(&tables(8));
    assert!(found(&answer, CauseId::USER_LOCK).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn a_java_monitor_is_called_so() {
    let monitor = "?@libc.so.6 < ?@libjvm.so < ObjectMonitor::enter@libjvm.so < \
                   SharedRuntime::complete_monitor_locking_C@libjvm.so";
    let tables = |wait: &str| {
        flat()
            .traced(2, |run| {
                for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..400_usize {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(3), WORK),
                            false => thread.locks(0x100, ms(3), wait, other),
                        };
                    }
                }
            })
            .tables()
    };
    let answer = answer_for(&tables(monitor));
    let cause = lock(&answer);
    assert!(cause.summary.contains("a Java monitor (synchronized)"), "{}", cause.summary);
    assert!(cause.remedies.iter().any(|r| r.contains("ConcurrentHashMap")), "{:?}", cause.remedies);
    // A lock inside the virtual machine itself is no monitor.
    let answer = answer_for(&tables("?@libc.so.6 < pthread_mutex_lock@libc.so.6 < G1Allocator::refill@libjvm.so"));
    assert!(answer.verdict.causes.iter().all(|c| !c.summary.contains("Java monitor")), "{:#?}", answer.verdict);
}

/// A spin lock that sleeps for a moment where spinning did not help is a lock and no pause of the program's.
#[test]
fn a_lock_that_sleeps_between_attempts_is_a_lock() {
    const LOOK: &str =
        "boost::detail::spinlock::lock()@app /usr/include/boost/spinlock.hpp:44 < next_hop@app app.cc:30";
    let answer = |pause: &str, look: &str| {
        let tables = flat()
            .traced(2, |run| {
                for (i, name) in ["a", "b"].into_iter().enumerate() {
                    let mut thread = run.thread(name);
                    for round in 0..100 {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(6), WORK).runs(ms(4), look),
                            false => thread.waits_for(Reason::Sleep, "", Some(230), ms(10), pause),
                        };
                    }
                }
            })
            .tables();
        answer_for(&tables)
    };
    let library = format!("clock_nanosleep@libc.so.6 < {LOOK}");
    let told = answer(&library, LOOK);
    assert_eq!(told.verdict.causes[0].id, CauseId::USER_LOCK, "{:#?}", told.verdict);
    assert!(lock(&told).summary.contains("next_hop (app.cc:30)"), "{}", lock(&told).summary);
    assert!(lock(&told).summary.contains("sleep for a moment and try again"), "{}", lock(&told).summary);
    // Near miss: the program's own pause.
    let own = answer("clock_nanosleep@libc.so.6 < next_hop@app app.cc:30", WORK);
    assert!(found(&own, CauseId::USER_LOCK).is_none() && found(&own, CauseId::CONDITION_WAIT).is_some());
}

/// Releasing a lock at the end of a value's life, and letting others run while it is taken, belong to the lock.
#[test]
fn what_a_lock_does_beside_waiting_is_charged_to_it() {
    const UNLOCK: &str = "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::unlock@app /registry/src/p.rs:1 < \
                          core::ptr::drop_in_place<lock_api::mutex::MutexGuard<u8>>@app /rustc/1/mod.rs:5 < \
                          front::page@app src/main.rs:22";
    const YIELD: &str = "sched_yield@libc.so.6 < <parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock@app \
                         /registry/src/p.rs:1 < lock_api::mutex::Mutex<R,T>::lock@app /registry/src/m.rs:2 < \
                         front::page@app src/main.rs:15";
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(2.0));
    let tables = with_base(sketch, WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(500), WORK).runs(ms(200), UNLOCK).runs_in_kernel(ms(300), 24, YIELD);
            }
        })
        .tables();
    let answer = answer_for(&tables);
    let cause = lock(&answer);
    assert!(cause.share > 0.9, "{:#?}", answer.verdict);
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("front::page"));
}

/// A lock of a language's scheduler that no code of the program leads to is no lock of the program.
#[test]
fn a_lock_inside_a_scheduler_is_left_open() {
    let answer = |stack: &str| {
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.8), &around(1.6));
        let tables = with_base(sketch, WORK)
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(500), WORK).runs(ms(300), stack);
                }
            })
            .tables();
        answer_for(&tables)
    };
    let own = answer("runtime.lock2@app < runtime.schedule@app < runtime.gosched_m@app < runtime.mcall@app");
    assert!(missing(&own, CauseId::USER_LOCK).contains("inside the language's runtime"), "{:#?}", own.verdict);
    // Near miss: the program's code leads to it.
    let called = answer("runtime.lock2@app < runtime.chansend@app < runtime.chansend1@app < main.hand@app a.go:9");
    assert!(found(&called, CauseId::USER_LOCK).is_some(), "{:#?}", called.verdict);
}

/// Threads that want to write to a database look again after a pause inside SQLite, while another one holds its lock.
#[test]
fn pauses_in_sqlite_are_waits_for_the_database() {
    let pause =
        |library: &str| format!("clock_nanosleep@libc.so.6 < usleep@libc.so.6 < {library} < store@app app.c:31");
    let answer = |stack: &str| {
        let base = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
        let base = with_base(base, "hash@app app.c:20");
        let tables = base.traced(2, |run| {
            for (name, first) in [("a", true), ("b", false)] {
                (0..10).fold(run.thread(name), |thread, round| match (round % 2 == 0) == first {
                    true => thread.runs(ms(100), "hash@app app.c:20"),
                    false => thread.waits_for(Reason::Sleep, "", Some(230), ms(100), stack),
                });
            }
        });
        answer_for(&tables.tables())
    };
    let told = answer(&pause("?@libsqlite3.so.0 < sqlite3_step@libsqlite3.so.0"));
    assert_balanced(&told);
    let cause = found(&told, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", told.verdict));
    assert!(cause.summary.contains("SQLite's write lock on the database file"), "{}", cause.summary);
    assert!(cause.summary.contains("taken in store (app.c:31)"), "{}", cause.summary);
    assert_eq!(cause.culprit.as_ref().and_then(|c| c.line), Some(31));
    // The near miss: the program asks the library to sleep.
    let slept = answer(&pause("?@libsqlite3.so.0 < sqlite3_sleep@libsqlite3.so.0"));
    assert!(found(&slept, CauseId::USER_LOCK).is_none(), "{:#?}", slept.verdict);
}

/// Workers look every 100 ms whether another one has released the lock on a file, and take the interpreter's lock then.
#[test]
fn pauses_of_a_lock_that_is_asked_for_again_are_waits_for_it() {
    let answer = |method: &str| {
        let within = format!(
            "pysleep@python3.11 < time_sleep@python3.11 < LockAcquisition._poll@anonymous \
             /usr/lib/python3/dist-packages/filelock/_api.py:7 < {method}@anonymous \
             /usr/lib/python3/dist-packages/filelock/_api.py:9 < Catalogue.add@anonymous wiki.py:57"
        );
        let stack = format!("clock_nanosleep@libc.so.6 < {within}");
        let gil = format!("?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < take_gil@python3.11 < {within}");
        let work = "Catalogue.write@anonymous wiki.py:60";
        let base = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
        let tables = with_base(base, work).traced(2, |run| {
            for (name, other, first) in [("a", "b", true), ("b", "a", false)] {
                (0..10).fold(run.thread(name), |thread, round| match (round % 2 == 0) == first {
                    true => thread.runs(ms(100), work),
                    false => {
                        let slept = thread.waits_for(Reason::Sleep, "", Some(230), ms(99), &stack);
                        slept.locks(0x900, ms(1), &gil, other)
                    }
                });
            }
        });
        answer_for(&tables.tables())
    };
    let told = answer("BaseFileLock.acquire");
    assert_balanced(&told);
    let cause = found(&told, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", told.verdict));
    assert!(cause.summary.contains("a lock that they ask for again after each pause"), "{}", cause.summary);
    assert!(cause.summary.contains("taken in Catalogue.add (wiki.py:57)"), "{}", cause.summary);
    // The near miss: what limits a rate is no lock.
    let limited = answer("RateLimiter.acquire");
    assert!(found(&limited, CauseId::USER_LOCK).is_none(), "{:#?}", limited.verdict);
}

/// Two threads wait for a lock, and about as long for each other.
#[test]
fn of_two_as_large_the_lock_comes_before_waiting_for_each_other() {
    let condition = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < take@app app.c:60 < work@app app.c:9";
    let answer = |lock: u64, noise: f64| {
        let spread = [1.0 - noise, 1.0 - noise / 2.0, 1.0, 1.0 + noise / 2.0, 1.0 + noise];
        let sketch = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &spread, &around(1.0)), WORK);
        let tables = sketch.traced(2, |run| {
            for (name, other, first) in [("a", "b", true), ("b", "a", false)] {
                (0..10).fold(run.thread(name), |thread, round| match (round % 2 == 0) == first {
                    true => thread.runs(ms(100), WORK),
                    false => thread.locks(0x100, ms(lock), WAIT, other).locks(0x200, ms(100 - lock), condition, other),
                });
            }
        });
        answer_for(&tables.tables())
    };
    let first = |answer: &Answer| answer.verdict.causes.first().map(|cause| cause.id);
    let told = answer(46, 0.3);
    assert_eq!(first(&told), Some(CauseId::USER_LOCK), "{:#?}", told.verdict);
    assert!(
        told.verdict.summary.contains("As large within the noise: Threads wait for each other"),
        "{:#?}",
        told.verdict
    );
    // The near miss: far apart, the larger one comes first.
    let told = answer(20, 0.02);
    assert_eq!(first(&told), Some(CauseId::CONDITION_WAIT), "{:#?}", told.verdict);
}
