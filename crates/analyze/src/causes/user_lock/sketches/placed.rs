//! Which lock it is and where: by waits, by code, by the call. And what looks like a lock.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::handing::*;
use crate::common::*;
use recording::synthetic::{FUTEX, Sketch, ms, us};
use recording::tables::Syscall;
use recording::{Tables, ThreadId};

/// The same lock, with `slept` milliseconds in which two threads sleep for a writer, and a tenth of that for readers.
fn read_and_rarely_written(slept: u64) -> Tables {
    read_and_written(slept, 100)
}

/// The same, with `by_readers` thousandths of the time asleep spent by readers.
fn read_and_written(slept: u64, by_readers: u64) -> Tables {
    let take = "pthread_rwlock_rdlock@libc.so.6 < look_up@app app.c:12";
    let write = "pthread_rwlock_wrlock@libc.so.6 < update@app app.c:40";
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(1.0), &around(2.0 - 0.002 * slept as f64))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), "work@app app.c:5");
        })
        .traced(2, |run| {
            for (name, other) in [("a", "b"), ("b", "a")] {
                let thread = run.thread(name).runs(ms(500), "work@app app.c:5").runs(ms(500 - slept), take);
                let thread = thread.locks(0x100, us((1000 - by_readers) * slept), write, other);
                if by_readers > 0 {
                    thread.locks(0x100, us(by_readers * slept), take, other);
                }
            }
        })
        .tables()
}

/// Goroutines that take turns of ten milliseconds, and wait at one of two lines of the program in between.
fn turns(waits: &str) -> Tables {
    let lines = ["main.begin@app usage.go:14", "main.end@app usage.go:20"];
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    with_base(sketch, "main.work@app main.go:48")
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100_usize {
                    let stack = format!("{waits} < {} < main.worker@app main.go:74", lines[(round / 2) % 2]);
                    thread = match round % 2 == i {
                        true => thread.runs(ms(10), "main.work@app main.go:48"),
                        false => thread.locks(0x100 + i as u64, ms(10), &stack, other),
                    };
                }
            }
        })
        .tables()
}

/// Two workers of a pool in a crate take turns at a lock of the crate, without a function of the program around them. A
/// function of the program takes another lock for a moment. The main thread waits at `main`.
fn workers_of_a_crate(main: Option<&str>) -> Tables {
    const WORK: &str = "work@app app.rs:5";
    const STARTS: &str = "thread_start@app /rustc/1/library/std/src/thread.rs:9";
    let next = "lock_contended@app /rustc/1/library/std/src/mutex.rs:61 < \
                par_bridge::fold_with@app /root/.cargo/registry/src/i/rayon/par_bridge.rs:140 < \
                main_loop@app /root/.cargo/registry/src/i/rayon-core/registry.rs:929";
    let next = format!("{next} < {STARTS}");
    let built = "lock_contended@app /rustc/1/library/std/src/mutex.rs:61 < \
                 build_global@app /root/.cargo/registry/src/i/rayon-core/lib.rs:279 < main@app app.rs:113";
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
        .traced(2, |run| {
            if let Some(main) = main {
                run.thread("main").locks(0x300, ms(1000), main, "a");
            }
            for (first, name, other) in [(true, "a", "b"), (false, "b", "a")] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = match first {
                        true => thread.runs(ms(10), WORK).locks(0x100, ms(10), &next, other).woken_at(&next),
                        false => thread.locks(0x100, ms(10), &next, other).woken_at(&next).runs(ms(10), WORK),
                    };
                }
                thread.locks(0x100, us(2), built, other);
            }
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn a_lock_of_a_crate_s_workers_is_told_at_the_crate_s_function() {
        let answer = answer_for(&workers_of_a_crate(None));
        let cause = found(&answer, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert_eq!(cause.summary, "Threads wait for the lock inside par_bridge::fold_with.");
    }

    /// The near miss: it waits for a thread of another crate.
    #[test]
    fn a_lock_of_a_pool_is_told_with_the_place_that_waits_for_the_pool() {
        let waits = |function: &str| {
            let main = format!("futex_wait@libc.so.6 < {function} < run@app app.rs:58 < main@app app.rs:113");
            let answer = answer_for(&workers_of_a_crate(Some(&main)));
            found(&answer, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", answer.verdict)).summary.clone()
        };
        let pool = waits("main_loop@app /root/.cargo/registry/src/i/rayon-core/registry.rs:880");
        assert_eq!(pool, "Threads wait for the lock inside par_bridge::fold_with, called from run (app.rs:58).");
        let other = waits("recv@app /root/.cargo/registry/src/i/flume/lib.rs:880");
        assert_eq!(other, "Threads wait for the lock inside par_bridge::fold_with.");
    }

    /// Go's world is the same one wherever it is stopped.
    #[test]
    fn calls_that_stop_all_goroutines_wait_for_one_thing() {
        let answer = answer_for(&turns(
            "runtime.futex@app < runtime.notetsleep@app < runtime.stopTheWorldWithSema@app < runtime.systemstack@app < \
             runtime.stopTheWorld@app < runtime.ReadMemStats@app",
        ));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        let begins =
            "Threads wait for the stop of all goroutines: runtime.ReadMemStats, called from main.begin (usage.go:14)";
        assert!(cause.summary.starts_with(begins), "{}", cause.summary);
        assert_eq!(cause.culprit.as_ref().and_then(|c| c.line), Some(14));
        assert!(cause.disproved_by.starts_with("Leave these calls out"), "{}", cause.disproved_by);
        // Near miss: two lines may take two locks.
        let locks = answer_for(&turns("runtime.futex@app < runtime.semacquire1@app < sync.(*Mutex).Lock@app"));
        let told = locks.verdict.causes.iter().filter(|c| c.id == CauseId::USER_LOCK).count();
        assert_eq!(told, 2, "{:#?}", locks.verdict);
    }

    #[test]
    fn many_locks_of_one_make_are_one_cause() {
        let wait = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < bucket_add@table hash.c:88 < run@table hash.c:120";
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean_cpu(2, &around(1.0), &around(1.0))
            .traced(1, |run| {
                run.thread("a").runs(ms(1000), RANDOM.work);
            })
            .traced(2, |run| {
                for (name, other) in [("a", "b"), ("b", "a")] {
                    let mut thread = run.thread(name);
                    for i in 0..100_u64 {
                        let at = 0x1000 + 64 * (i % 20);
                        thread = match (i % 2 == 0) == (name == "a") {
                            true => thread.runs(ms(10), "bucket_add@table hash.c:90"),
                            false => thread.locks(at, ms(10) - us(5), wait, other).runnable(us(5)),
                        };
                    }
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        let ours: Vec<_> = answer.verdict.causes.iter().filter(|c| c.id == CauseId::USER_LOCK).collect();
        assert_eq!(ours.len(), 1);
        let culprit = ours[0].culprit.as_ref().unwrap();
        assert_eq!((culprit.function.as_deref(), culprit.line, &culprit.object), (Some("bucket_add"), Some(88), &None));
    }

    #[test]
    fn a_static_program_without_symbols_is_named_by_the_address_of_the_call() {
        let answer = answer_for(&handing_over("?@app a:1 < ?@app a:2 < ?@app a:3 < ?@app a:4"));
        let cause = found(&answer, CauseId::USER_LOCK).unwrap();
        let culprit = cause.culprit.as_ref().unwrap();
        assert_eq!((culprit.function.as_deref(), culprit.module.as_str()), (None, "app"));
        assert_eq!(culprit.line, Some(3), "the lock's own two frames are skipped");
    }

    #[test]
    fn the_release_that_ended_the_waiting_is_named() {
        let mut tables = handing_over(RANDOM.wait);
        let release = tables.samples.last().and_then(|s| s.user_stack);
        tables.wakes.iter_mut().for_each(|w| w.waker_stack = release);
        let answer = answer_for(&tables);
        let evidence = &found(&answer, CauseId::USER_LOCK).unwrap().evidence;
        let row = evidence.iter().find(|e| e.source == "wakes").unwrap();
        assert!(row.what.contains("simulate (birthday.c:45)") && row.value > 0.9, "{row:?}");
    }

    /// Without root, knee does not count calls: it then says nothing of their number.
    #[test]
    fn calls_that_nobody_counted_are_no_evidence() {
        let rows = |tables: &Tables| {
            let answer = answer_for(tables);
            let evidence = &found(&answer, CauseId::USER_LOCK).unwrap().evidence;
            evidence.iter().filter(|row| row.what.starts_with("futex calls")).count()
        };
        let mut tables = handing_over(RANDOM.wait);
        tables.syscalls.clear();
        assert_eq!(rows(&tables), 0);
        let calls = |run| Syscall { run, thread: ThreadId(0), number: FUTEX, name: "futex".to_owned(), count: 7 };
        tables.syscalls.extend(tables.traces.iter().map(|trace| calls(trace.run)));
        assert!(rows(&tables) > 0);
    }

    #[test]
    fn threads_that_spin_for_a_lock_are_seen_by_samples() {
        let spin = "pthread_spin_lock@libc.so.6 < push@app app.c:12";
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean(2, &around(1.0))
            .traced(1, |run| {
                run.thread("a").runs(ms(1000), "work@app app.c:5");
            })
            .traced(2, |run| {
                run.thread("a").runs(ms(500), "work@app app.c:5").runs(ms(500), spin);
                run.thread("b").runs(ms(500), spin).runs(ms(500), "work@app app.c:5");
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::USER_LOCK).unwrap();
        let culprit = cause.culprit.as_ref().unwrap();
        assert_eq!((culprit.function.as_deref(), culprit.line), (Some("push"), Some(12)));
    }

    /// Readers of a read-write lock never sleep for each other, but its cache line moves between them. They take and
    /// release it in one function.
    #[test]
    fn taking_and_releasing_a_lock_in_one_function_is_one_cause() {
        let take = "pthread_rwlock_rdlock@libc.so.6 < look_up@app app.c:12";
        let release = "pthread_rwlock_unlock@libc.so.6 < look_up@app app.c:14";
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean(2, &around(1.0))
            .traced(1, |run| {
                run.thread("a").runs(ms(1000), "work@app app.c:5");
            })
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(500), "work@app app.c:5").runs(ms(300), take).runs(ms(200), release);
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(cause.share > 0.9, "{cause:?}");
        assert!(cause.summary.contains("nobody sleeps"), "{}", cause.summary);
    }

    #[test]
    fn a_lock_that_costs_code_is_placed_by_its_code_and_not_by_the_few_waits() {
        let first = |slept: u64| {
            let answer = answer_for(&read_and_rarely_written(slept));
            let cause = found(&answer, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", answer.verdict)).clone();
            (cause.culprit.unwrap().function.unwrap(), cause.summary)
        };
        let (place, summary) = first(5);
        assert!(place == "look_up" && summary.contains("hardly anybody sleeps"), "{place}: {summary}");
        let (place, summary) = first(200);
        assert!(place == "update" && !summary.contains("hardly anybody sleeps"), "{place}: {summary}");
    }

    /// Only the writer sleeps, in another function than the readers, which compete for the lock's counter.
    #[test]
    fn readers_that_compete_are_told_and_not_the_writer_that_sleeps() {
        let first = |slept: u64| {
            let answer = answer_for(&read_and_written(slept, 0));
            assert_balanced(&answer);
            found(&answer, CauseId::USER_LOCK).unwrap().culprit.clone().unwrap().function.unwrap()
        };
        assert_eq!(first(5), "look_up");
        assert_eq!(first(200), "update");
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn many_futex_calls_without_waiting_are_no_loss() {
        let mut tables = repaired();
        for syscall in tables.threads.iter().map(|t| (t.run, t.thread)).collect::<Vec<_>>() {
            let (run, thread) = syscall;
            let name = "futex".to_owned();
            tables.syscalls.push(Syscall { run, thread, number: FUTEX, name, count: 9_000_000 });
        }
        let answer = answer_for(&tables);
        assert!(only_none(&answer) && answer.verdict.clear.contains(&CauseId::USER_LOCK));
    }

    #[test]
    fn a_futex_of_unknown_purpose_stays_unexplained_and_unsure() {
        let mut tables = handing_over("?@libc.so.6 < work@app app.c:3");
        tables.waits.iter_mut().for_each(|w| w.expected = Some(1));
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(only_none(&answer));
        assert!(answer.account[1].unexplained > 0.9, "{:?}", answer.account[1]);
        assert!(missing(&answer, CauseId::USER_LOCK).contains("purpose"));
        let told = |w: &&String| w.contains("% of the processor time with 2 threads stays unexplained (among it: ");
        let warning = answer.warnings.iter().find(told).unwrap();
        assert!(warning.contains("unknown purpose"), "{warning}");
        // The evidence is from the count that has the loss.
        let none = &answer.verdict.causes[0];
        let lost = none.evidence.iter().find(|e| e.what == "processor time lost with 2 threads").unwrap();
        assert!(none.threads == 2 && lost.unit == crate::answer::Unit::Share && lost.value > 0.4, "{none:?}");
    }

    #[test]
    fn lock_code_in_place_of_condition_code_is_no_lock() {
        let lock = "pthread_mutex_lock@libc.so.6 < pop@app queue.c:47 < work@app app.c:9";
        let condition = "pthread_cond_wait@libc.so.6 < pop@app queue.c:49 < work@app app.c:9";
        let tables = |before: &str| {
            Sketch::new(2)
                .clean(1, &around(1.0))
                .clean_cpu(2, &around(0.6), &around(1.0))
                .traced(1, |run| {
                    run.thread("a").runs(ms(600), "work@app app.c:5").runs(ms(400), before);
                })
                .traced(2, |run| {
                    main_joins(run, ms(600));
                    run.thread("a").runs(ms(400), "work@app app.c:5").runs(ms(200), lock);
                    run.thread("b").runs(ms(200), "work@app app.c:5").runs(ms(200), lock);
                })
                .tables()
        };
        let answer = answer_for(&tables(condition));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::USER_LOCK).is_none(), "{:#?}", answer.verdict);
        // Near miss: it takes the place of the program's own work.
        let answer = answer_for(&tables("work@app app.c:5"));
        assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
    }
}
