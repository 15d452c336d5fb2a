//! What looks like a cause but is none, and what stays open.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use analyze::answer::{Answer, CauseId};
use common::*;
use recording::Tables;
use recording::meta::Capability;
use recording::synthetic::{FUTEX, Sketch, ms, us};
use recording::tables::RunKind;

fn only_none(answer: &Answer) -> bool {
    answer.verdict.causes.iter().map(|c| c.id).eq([CauseId::NONE])
}

#[test]
fn consumers_of_a_slow_producer_wait_for_no_lock() {
    let answer = answer_for(&queue());
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    assert!(answer.verdict.clear.contains(&CauseId::USER_LOCK));
    insta::assert_snapshot!(text(&answer));
}

#[test]
fn more_threads_than_processors_that_lose_time() {
    let answer = answer_for(&crowded());
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::OVERSUBSCRIPTION).unwrap();
    assert_eq!(cause.threads, 4);
    assert!(cause.share > 0.8, "{cause:?}");
    assert!(answer.verdict.summary.contains("on 2 processors"), "{}", answer.verdict.summary);
}

#[test]
fn more_threads_than_processors_that_lose_nothing() {
    assert!(answer_for(&repaired()).verdict.clear.contains(&CauseId::OVERSUBSCRIPTION));
}

#[test]
fn many_futex_calls_without_waiting_are_no_loss() {
    let mut tables = repaired();
    for syscall in tables.threads.iter().map(|t| (t.run, t.thread)).collect::<Vec<_>>() {
        let (run, thread) = syscall;
        let name = "futex".to_owned();
        tables.syscalls.push(recording::tables::Syscall { run, thread, number: FUTEX, name, count: 9_000_000 });
    }
    let answer = answer_for(&tables);
    assert!(only_none(&answer) && answer.verdict.clear.contains(&CauseId::USER_LOCK));
}

/// The speed of the runs differs by 30 % either way, and with two threads each leaves a third of the processors idle.
/// Near misses: the same where they leave a fortieth idle, and where other programs had what this one did not use.
#[test]
fn processors_that_every_run_leaves_idle_are_a_loss_in_noise() {
    const JOIN: &str = "?@libc.so.6 < __pthread_clockjoin_ex@libc.so.6 < main@app app.c:59";
    let of = |alone: u64| {
        let noisy = |middle: f64| -> Vec<f64> { [0.7, 0.85, 1.0, 1.15, 1.3].iter().map(|n| n * middle).collect() };
        let backwards = |middle: f64| noisy(middle).into_iter().rev().collect::<Vec<_>>();
        let wall = (500 + alone / 2) as f64 * 1e-3;
        let sketch = Sketch::new(2)
            .clean_cpu(1, &noisy(1.0), &noisy(1.0))
            .clean_cpu(2, &backwards(wall), &backwards(1.0))
            .traced(1, |run| {
                run.thread("app").runs(ms(1000), "work@app app.c:40");
            })
            .traced(2, |run| {
                let both = (1000 - alone) / 2;
                run.thread("main")
                    .blocks(recording::tables::Reason::Futex, ms(both), JOIN)
                    .runs(ms(alone), "merge@app app.c:50 < main@app app.c:60");
                ["a", "b"].iter().for_each(|name| {
                    run.thread(name).runs(ms(both), "work@app app.c:40");
                });
            });
        sketch.tables()
    };
    assert_eq!(ids(&answer_for(&of(500))), [CauseId::SERIAL_PHASE]);
    assert_eq!(ids(&answer_for(&of(25))), [CauseId::NONE]);
    let mut busy = of(500);
    for run in busy.runs.iter_mut().filter(|run| run.kind == RunKind::Clean && run.threads == 2) {
        run.foreign_ns = Some(2 * run.wall_ns - run.user_ns - run.system_ns);
    }
    let answer = answer_for(&busy);
    assert!(!ids(&answer).contains(&CauseId::SERIAL_PHASE), "{:#?}", answer.verdict);
}

#[test]
fn a_loss_inside_the_noise_is_no_cause() {
    // Threads wait for a lock for 8 % of the time, and the runs differ by 30 %.
    let noisy = |middle: f64| -> Vec<f64> { [0.7, 0.85, 1.0, 1.15, 1.3].iter().map(|n| n * middle).collect() };
    let tables = Sketch::new(2)
        .clean_cpu(1, &noisy(1.0), &noisy(1.0))
        .clean_cpu(2, &noisy(0.54).into_iter().rev().collect::<Vec<_>>(), &noisy(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(500), RANDOM.work).locks(1, ms(40), RANDOM.wait, "b");
            run.thread("b").locks(1, ms(40), RANDOM.wait, "a").runs(ms(500), RANDOM.work);
        })
        .tables();
    let answer = answer_for(&tables);
    assert!(only_none(&answer), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::USER_LOCK).contains("noise"));
}

/// Two threads; the first is pushed off its processor for half of the time.
fn pushed(foreign_in_clean: u64) -> Tables {
    let mut tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(0.75), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(250), RANDOM.work).preempted(ms(250)).runs(ms(250), RANDOM.work);
            run.thread("b").runs(ms(500), RANDOM.work).preempted(ms(250));
        })
        .tables();
    tables.traces[1].foreign_ns = ms(510);
    for run in tables.runs.iter_mut().filter(|r| r.kind == RunKind::Clean) {
        run.foreign_ns = Some(foreign_in_clean);
    }
    tables
}

#[test]
fn other_programs_are_blamed_when_they_were_there_in_the_timed_runs() {
    let mut tables = pushed(ms(480));
    for (pid, name, running_ns) in [(7, "backup", ms(400)), (8, "sshd", ms(110))] {
        let (run, name) = (tables.traces[1].run, name.to_owned());
        tables.foreign.push(recording::tables::Foreign { run, pid, name, running_ns });
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(only_none(&answer), "nothing of it is the program's own: {:#?}", answer.verdict);
    let condition = condition(&answer, CauseId::CPU_PRESSURE).unwrap();
    assert!(condition.share > Some(0.2) && condition.threads == 2, "{condition:?}");
    assert_eq!(condition.by, ["backup", "sshd"]);
    assert!(answer.verdict.summary.contains("Other programs, most of all backup, took"), "{}", answer.verdict.summary);
    assert!(answer.warnings.iter().any(|w| w.contains("other programs")), "{:?}", answer.warnings);
}

#[test]
fn threads_of_the_kernel_are_no_other_programs() {
    let mut tables = pushed(ms(480));
    for (pid, name) in [(14, "ksoftirqd/0"), (903, "kworker/1:2")] {
        let (run, name) = (tables.traces[1].run, name.to_owned());
        tables.foreign.push(recording::tables::Foreign { run, pid, name, running_ns: ms(250) });
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(condition(&answer, CauseId::CPU_PRESSURE).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn other_programs_in_the_traced_run_alone_prove_nothing() {
    let answer = answer_for(&pushed(0));
    assert!(only_none(&answer), "{:#?}", answer.verdict);
    assert!(condition(&answer, CauseId::CPU_PRESSURE).is_none());
    assert!(
        answer.warnings.iter().any(|w| w.contains("of the observed run with 2 threads, and not of the timed ones"))
    );
}

#[test]
fn without_a_traced_run_there_is_a_curve_and_nothing_else() {
    let mut tables = Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(0.9)).tables();
    tables.meta.capabilities.push(Capability {
        what: "eBPF".to_owned(),
        available: false,
        why: "not permitted".to_owned(),
        costs: "the account and all causes".to_owned(),
        unlock: Some("sudo knee sweep ...".to_owned()),
    });
    let answer = answer_for(&tables);
    assert_eq!((answer.curve.len(), answer.account.len()), (2, 0));
    assert_eq!(answer.limitations[0].unlock.as_deref(), Some("sudo knee sweep ..."));
    assert!(answer.verdict.unsure.len() >= 15 && only_none(&answer), "{:#?}", answer.verdict);
    insta::assert_snapshot!(text(&answer));
}

#[test]
fn one_traced_run_alone_has_an_account() {
    let tables = Sketch::new(2)
        .traced(2, |run| {
            run.thread("a").runs(ms(50), RANDOM.work).locks(1, ms(50), RANDOM.wait, "b");
            run.thread("b").locks(1, ms(50), RANDOM.wait, "a").runs(ms(50), RANDOM.work);
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::USER_LOCK).unwrap();
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("random"));
    assert!(answer.no_curve().is_some(), "{:?}", answer.limitations);
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
fn work_that_grows_with_the_threads_is_compared_by_throughput() {
    let tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .throughput(1, &[100.0])
        .clean(2, &around(1.0))
        .throughput(2, &[200.0])
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
            run.thread("b").runs(ms(1000), RANDOM.work);
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(only_none(&answer) && answer.curve[1].speedup == 2.0);
    assert!((answer.account[1].capacity - 0.01).abs() < 1e-3, "{:?}", answer.account[1]);
}

/// Two threads that hand a lock to each other and each run half of the time; `stack` is where they wait.
fn handing_over(stack: &str) -> Tables {
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(1.0), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(500), RANDOM.work).locks(1, ms(500), stack, "b");
            run.thread("b").locks(1, ms(500), stack, "a").runs(ms(500), RANDOM.work);
        })
        .tables()
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
    assert!(none.threads == 2 && lost.unit == analyze::answer::Unit::Share && lost.value > 0.4, "{none:?}");
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

#[test]
fn a_sweep_whose_base_was_not_traced_still_splits_waiting() {
    let mut tables = handing_over(RANDOM.wait);
    let base = tables.traces[0].run;
    tables.traces.retain(|t| t.run != base);
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert_eq!(answer.account.len(), 1);
    assert!(found(&answer, CauseId::USER_LOCK).unwrap().lost_seconds > 0.9);
}

#[test]
fn a_second_main_thread_beyond_the_capacity_is_said() {
    let mut tables = repaired();
    // The main thread of the run with two threads works instead of joining.
    let run = tables.traces[1].run;
    let main = tables.threads.iter().find(|t| t.run == run).unwrap().thread;
    tables.slices.change(|slice| {
        if (slice.run, slice.thread) == (run, main) {
            (slice.state, slice.wait) = (recording::tables::State::Running, None);
        }
    });
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(answer.warnings.iter().any(|w| w.contains("at times more threads ran than")), "{:?}", answer.warnings);
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

#[test]
fn runs_of_a_few_milliseconds_are_called_too_short() {
    let warned = |seconds: f64| {
        let tables = Sketch::new(2).clean(1, &around(seconds)).clean(2, &around(seconds / 2.0)).tables();
        answer_for(&tables).warnings.iter().any(|w| w.contains("give it more work"))
    };
    assert!(warned(0.02) && !warned(0.2));
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

/// The same lock, with `slept` milliseconds in which two threads sleep for a writer, and a tenth of that for readers.
fn read_and_rarely_written(slept: u64) -> Tables {
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
                thread.locks(0x100, us(100 * slept), take, other).locks(0x100, us(900 * slept), write, other);
            }
        })
        .tables()
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

/// Without privileges many waits are too short to be inspected: their reasons are unknown.
#[test]
fn waits_that_nobody_looked_at_leave_their_causes_open() {
    let mut tables = birthday(&RANDOM);
    for wait in &mut tables.waits {
        (wait.reason, wait.user_stack, wait.syscall) = (recording::tables::Reason::None, None, None);
    }
    tables.wakes.clear();
    for sample in &mut tables.samples {
        sample.user_stack = None;
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(only_none(&answer), "{:#?}", answer.verdict);
    let open = |id| answer.verdict.unsure.iter().any(|u| u.id == id) && !answer.verdict.clear.contains(&id);
    let waits = [CauseId::USER_LOCK, CauseId::CONDITION_WAIT, CauseId::KERNEL_LOCK, CauseId::IO_WAIT];
    let runs = [CauseId::EXTRA_WORK, CauseId::MEMORY_BOUND, CauseId::FAILING_SYSCALL];
    assert!(waits.into_iter().chain(runs).all(open), "{:#?}", answer.verdict);
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

/// `threads` meet in `arrive` after each of 20 rounds, in which the first has 10 ms of work and the others 3.
/// `woken_in`: where the last one wakes the others; `again`: how often each is woken in vain before.
fn meets(threads: u64, woken_in: &str, again: u64) -> Answer {
    meets_in("arrive", threads, woken_in, again)
}

fn meets_in(function: &str, threads: u64, woken_in: &str, again: u64) -> Answer {
    let wait = format!("?@libc.so.6 < pthread_cond_wait@libc.so.6 < {function}@app gate.c:30 < work@app app.c:50");
    meets_at(&wait, threads, woken_in, again)
}

fn meets_at(wait: &str, threads: u64, woken_in: &str, again: u64) -> Answer {
    let stretch = ms(7) / (again + 1);
    let rounds = 20;
    let sketch = Sketch::new(4)
        .clean(1, &around(20.0 * (10.0 + 3.0 * (threads - 1) as f64) * 1e-3))
        .clean(threads as u32, &around(0.2));
    let sketch = sketch
        .traced(1, |run| {
            run.thread("app").runs(ms(rounds * (10 + 3 * (threads - 1))), "cell@app app.c:40 < work@app app.c:49");
        })
        .traced(threads as u32, |run| {
            main_joins(run, ms(10 * rounds));
            run.thread("slow").runs(ms(10 * rounds), "cell@app app.c:40 < work@app app.c:49");
            for at in 1..threads {
                let mut thread = run.thread(&format!("quick-{at}"));
                for _ in 0..rounds {
                    thread = thread.runs(ms(3) - us(10) * again, "cell@app app.c:40 < work@app app.c:49");
                    for _ in 0..again {
                        thread = thread.locks(0x100, stretch, wait, "slow").woken_at(woken_in).runs(us(10), wait);
                    }
                    thread = thread.locks(0x100, stretch, wait, "slow").woken_at(woken_in);
                }
            }
        });
    answer_for(&sketch.tables())
}

const ARRIVES: &str = "pthread_cond_broadcast@libc.so.6 < arrive@app gate.c:33 < work@app app.c:50";
const FEEDS: &str = "pthread_cond_broadcast@libc.so.6 < publish@app gate.c:13 < work@app app.c:48";

#[test]
fn a_barrier_that_the_program_built_is_one() {
    let answer = meets(4, ARRIVES, 0);
    assert_eq!(ids(&answer), [CauseId::IMBALANCE], "{:#?}", answer.verdict);
}

#[test]
fn who_feeds_the_others_in_another_function_is_a_stage() {
    assert_eq!(ids(&meets(4, FEEDS, 0)), [CauseId::CONDITION_WAIT]);
}

#[test]
fn threads_that_are_woken_in_vain_gather_nowhere() {
    assert_eq!(ids(&meets(4, ARRIVES, 2)), [CauseId::CONDITION_WAIT]);
}

#[test]
fn two_threads_alone_show_no_barrier() {
    assert_eq!(ids(&meets(2, ARRIVES, 0)), [CauseId::CONDITION_WAIT]);
}

/// Two may meet where the program calls it a barrier. Near miss: the same name at the stage that feeds the other.
#[test]
fn two_threads_meet_in_a_barrier_of_that_name() {
    let arrives = "pthread_cond_broadcast@libc.so.6 < sim::StepBarrier::wait()@app gate.c:33 < work@app app.c:50";
    assert_eq!(ids(&meets_in("sim::StepBarrier::wait()", 2, arrives, 0)), [CauseId::IMBALANCE]);
    assert_eq!(ids(&meets_in("sim::StepBarrier::wait()", 2, FEEDS, 0)), [CauseId::CONDITION_WAIT]);
}

/// JavaScript has no barriers: programs build them from `Atomics.wait`, which serves for anything. Near miss: the same
/// waits, ended by who feeds the others in another function.
#[test]
fn threads_meet_at_what_has_no_name() {
    let wait = "?@libc.so.6 < syscall@libc.so.6 < await@app gate.js:12 < work@app app.js:50";
    let arrives = "syscall@libc.so.6 < await@app gate.js:12 < work@app app.js:50";
    let feeds = "syscall@libc.so.6 < publish@app gate.js:33 < work@app app.js:48";
    assert_eq!(ids(&meets_at(wait, 4, arrives, 0)), [CauseId::IMBALANCE]);
    assert_ne!(ids(&meets_at(wait, 4, feeds, 0)), [CauseId::IMBALANCE]);
}

/// Two barriers with hardly any work between them: threads pass the second one after a moment, one by one, and by number
/// most of the waits end alone. The time is lost at the first.
#[test]
fn two_barriers_in_a_row_are_told_by_the_time_lost() {
    let wait = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < arrive@app gate.c:30 < work@app app.c:50";
    let (work, rounds) = ("cell@app app.c:40 < work@app app.c:49", 20);
    let seconds = rounds as f64 * 1e-3;
    let sketch = Sketch::new(4)
        .clean(1, &around(seconds * 19.0))
        .clean(4, &around(seconds * 10.0))
        .traced(1, |run| {
            run.thread("app").runs(ms(rounds * 19), work);
        })
        .traced(4, |run| {
            main_joins(run, ms(10 * rounds));
            run.thread("slow").runs(ms(10 * rounds), work);
            for at in 1..4 {
                let mut thread = run.thread(&format!("quick-{at}"));
                for _ in 0..rounds {
                    let passes = us(250 * at);
                    thread = thread.runs(ms(3), work).locks(0x100, ms(6), wait, "slow").woken_at(ARRIVES);
                    for _ in 0..2 {
                        thread = thread.runs(us(10), work).locks(0x100, passes / 2, wait, "slow").woken_at(ARRIVES);
                    }
                    thread = thread.runs(ms(1) - passes - us(20), work);
                }
            }
        });
    assert_eq!(ids(&answer_for(&sketch.tables())), [CauseId::IMBALANCE]);
}

/// Threads with 60 µs of work in each round wait again soon, and are not woken in vain.
#[test]
fn threads_with_little_work_in_each_round_meet_too() {
    let wait = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < arrive@app gate.c:30 < work@app app.c:50";
    let (work, rounds) = ("cell@app app.c:40 < work@app app.c:49", 100);
    let seconds = rounds as f64 * 1e-3;
    let sketch = Sketch::new(4)
        .clean(1, &around(seconds * (2.0 + 3.0 * 0.06)))
        .clean(4, &around(seconds * 2.0))
        .traced(1, |run| {
            run.thread("app").runs(us(rounds * 2180), work);
        })
        .traced(4, |run| {
            main_joins(run, ms(2 * rounds));
            run.thread("slow").runs(ms(2 * rounds), work);
            for at in 1..4 {
                let mut thread = run.thread(&format!("quick-{at}"));
                for _ in 0..rounds {
                    thread = thread.runs(us(60), work).locks(0x100, us(1940), wait, "slow").woken_at(ARRIVES);
                }
            }
        });
    assert_eq!(ids(&answer_for(&sketch.tables())), [CauseId::IMBALANCE]);
}
