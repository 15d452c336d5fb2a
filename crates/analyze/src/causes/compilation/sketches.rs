//! Threads that a runtime starts to compile and to collect garbage: what they run is not the program's work.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const WORK: &str = "parse@app app.c:5 < work@app app.c:9";
const SERVE: &str = "Compile::Optimize()@libjvm.so < thread_native_entry(Thread*)@libjvm.so";
const CALLED: &str = "?@libc.so.6 < thread_native_entry(Thread*)@libjvm.so";

/// A second of work on two processors, beside a thread of this name that runs for 0.4 s at each count. With one thread
/// it has the other processor. `waits`: how many milliseconds each of two threads waits at the same place.
fn beside(name: &'static str, waits: u64) -> Answer {
    let two = 700 + waits;
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.4))
        .traced(1, move |run| {
            main_joins(run, ms(1000));
            run.thread("worker").runs(ms(1000), WORK);
            run.thread(name).runs(ms(400), SERVE).blocks(Reason::Futex, ms(600), CALLED);
        })
        .clean_cpu(2, &around(two as f64 * 1e-3), &around(1.4))
        .traced(2, move |run| {
            main_joins(run, ms(two));
            run.thread("worker").runs(ms(700), WORK).locks(0x10, ms(waits), LOCK, LOCK);
            run.thread("worker").runnable(ms(400)).runs(ms(300), WORK).locks(0x10, ms(waits), LOCK, LOCK);
            run.thread(name).runs(ms(400), SERVE).blocks(Reason::Futex, ms(two - 400), CALLED);
        });
    let answer = answer_for(&sketch.tables());
    assert_balanced(&answer);
    answer
}

const LOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < append@app app.c:7 < work@app app.c:9";

const ONCE: &str = "pthread_mutex_lock@libc.so.6 < open@app app.c:30 < work@app app.c:9";

fn useful(answer: &Answer) -> f64 {
    answer.account.last().unwrap().useful
}

/// `cpu`: CPU seconds that the timed runs used in one second on two processors. `queued`: another thread of the compiler
/// is ready meanwhile.
fn waits_behind_a_compiler(cpu: f64, queued: bool) {
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(cpu))
        .traced(1, |run| {
            main_joins(run, ms(1000));
            run.thread("worker").runs(ms(1000), WORK);
            run.thread("C2 CompilerThre").runs(ms(900), SERVE).blocks(Reason::Futex, ms(100), CALLED);
        })
        .clean_cpu(2, &around(1.0), &around(cpu))
        .traced(2, move |run| {
            main_joins(run, ms(1000));
            if queued {
                run.thread("C1 CompilerThre").runnable(ms(900)).blocks(Reason::Futex, ms(100), CALLED);
            }
            run.thread("worker").runs(ms(490), WORK).runs(ms(10), ONCE).locks(0x10, ms(500), LOCK, "worker-2");
            run.thread("worker-2").locks(0x10, ms(500), LOCK, "worker").runs(ms(500), WORK);
            run.thread("C2 CompilerThre").runs(ms(900), SERVE).blocks(Reason::Futex, ms(100), CALLED);
        });
    let answer = answer_for(&sketch.tables());
    assert_balanced(&answer);
    assert!((useful(&answer) - 1.0).abs() < 0.06, "{:#?}", answer.account);
    assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].share > 0.9 && answer.verdict.machine.is_empty(), "{:#?}", answer.verdict);
    // Threads wait in one function, and another one took such a lock once.
    assert_eq!(answer.verdict.causes[0].culprit.as_ref().unwrap().function.as_deref(), Some("append"));
    // No thread waited for a page.
    assert!(answer.verdict.clear.contains(&CauseId::PAGE_FAULT), "{:#?}", answer.verdict);
}

const GO: &str = "main.parse@app a.go:5 < main.work@app a.go:9 < runtime.goexit@app";
const MARKS: &str = "runtime.scanobject@app < runtime.gcDrain@app < runtime.gcBgMarkWorker@app < \
                     runtime.gcBgMarkStartWorkers.gowrap1@app < runtime.goexit@app";
const ASSISTS: &str = "runtime.scanobject@app < runtime.gcAssistAlloc@app < runtime.mallocgc@app < main.parse@app a.go:6 < \
                       main.work@app a.go:9 < runtime.goexit@app";
const NO_TASK: &str = "runtime.futex@app < runtime.notesleep@app < runtime.stopm@app < runtime.findRunnable@app < \
                       runtime.schedule@app < runtime.mstart@app";

/// A second of work, and a collector that runs for `collects` ms at each count: in a task of its own with one thread, on
/// the other processor. `stack`: what that task runs.
fn goroutines(collects: u64, stack: &'static str) -> Answer {
    let two = (1000 + collects) / 2;
    let cpu = (1000 + collects) as f64 * 1e-3;
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(cpu))
        .traced(1, move |run| {
            main_joins(run, ms(1000));
            run.thread("app").runs(ms(1000), GO);
            run.thread("app").runs(ms(collects), stack).blocks(Reason::Futex, ms(1000 - collects), NO_TASK);
        })
        .clean_cpu(2, &around(two as f64 * 1e-3), &around(cpu))
        .traced(2, move |run| {
            main_joins(run, ms(two));
            run.thread("app").runs(ms(two), GO);
            run.thread("app").runnable(ms(collects)).runs(ms(two - collects), GO);
            run.thread("app").runs(ms(collects), stack).blocks(Reason::Futex, ms(two - collects), NO_TASK);
        });
    let answer = answer_for(&sketch.tables());
    assert_balanced(&answer);
    answer
}

mod positive {
    use super::*;

    #[test]
    fn what_a_compiler_runs_beside_one_thread_is_no_useful_work() {
        let answer = beside("C2 CompilerThre", 0);
        assert!((useful(&answer) - 1.0).abs() < 0.02, "{:#?}", answer.account);
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        let machine = &answer.verdict.machine;
        assert_eq!(machine.len(), 1, "{machine:#?}");
        assert_eq!(machine[0].id, CauseId::COMPILATION);
        assert!((machine[0].share.unwrap() - 0.4 / 1.4).abs() < 0.02, "{machine:#?}");
        assert!(answer.verdict.summary.contains("The runtime's compiler took 29 %"), "{}", answer.verdict.summary);
    }
}

mod near_miss {
    use super::*;

    /// Near miss: a thread of the program that does the same is a stage of it, and its work is useful.
    #[test]
    fn a_stage_of_the_program_is_useful_work() {
        let answer = beside("indexer", 0);
        assert!((useful(&answer) - 1.4).abs() < 0.02, "{:#?}", answer.account);
        assert!(answer.verdict.machine.is_empty(), "{:#?}", answer.verdict.machine);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_program_that_nobody_compiles_loses_nothing_to_a_compiler() {
        assert!(condition(&answer_for(&repaired()), CauseId::COMPILATION).is_none());
    }
}

#[test]
fn the_program_s_own_cause_comes_first() {
    let answer = beside("C1 CompilerThre", 600);
    assert_eq!(ids(&answer).first(), Some(&CauseId::USER_LOCK), "{:#?}", answer.verdict);
    assert!(answer.verdict.summary.contains("Apart from compiling at run time"), "{}", answer.verdict.summary);
}

/// Threads that wait while a compiler has the processors leave none idle: the time is lost to what they wait for. The
/// tests above are the near miss, in which threads are ready to run meanwhile.
#[test]
fn what_threads_wait_for_behind_a_compiler_is_told() {
    waits_behind_a_compiler(1.9, false);
}

/// The same where the timed runs leave no processor idle at all: there is no idle time to scale to.
#[test]
fn it_is_told_where_the_timed_runs_are_never_idle_too() {
    waits_behind_a_compiler(2.0, false);
}

/// Without the compiler, none of its threads would be ready either: the processor is free for the program.
#[test]
fn a_ready_thread_of_the_compiler_is_no_work_of_the_program() {
    waits_behind_a_compiler(1.9, true);
}

#[test]
fn what_a_collector_runs_beside_one_thread_is_lost_with_two() {
    let answer = beside("GC Thread#0", 0);
    assert!((useful(&answer) - 1.0).abs() < 0.02, "{:#?}", answer.account);
    assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].summary.contains("garbage collector"), "{:#?}", answer.verdict.causes);
}

#[test]
fn what_a_collector_s_tasks_run_beside_one_goroutine_is_lost_with_two() {
    let answer = goroutines(400, MARKS);
    assert!((useful(&answer) - 1.0).abs() < 0.02, "{:#?}", answer.account);
    assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
    // Near miss: goroutines that collect because they allocate do so instead of their work.
    let answer = goroutines(400, ASSISTS);
    assert!((useful(&answer) - 1.4).abs() < 0.02, "{:#?}", answer.account);
}

#[test]
fn what_a_collector_costs_a_program_that_scales_is_a_small_loss() {
    let answer = goroutines(120, MARKS);
    assert_eq!(ids(&answer), [CauseId::NONE, CauseId::ALLOCATOR], "{:#?}", answer.verdict);
    assert!(answer.verdict.summary.contains("It scales"), "{}", answer.verdict.summary);
}

/// Two threads wait half of their time for memory, while a thread of the virtual machine collects garbage.
#[test]
fn who_waits_for_memory_waits_for_the_collector_by_its_name() {
    const ALLOCATE: &str =
        "?@libc.so.6 < MemAllocator::allocate() const@libjvm.so < scan@app Basket.java:30 < run@app Basket.java:9";
    const COLLECT: &str = "DefNewGeneration::copy_to_survivor_space(oopDesc*)@libjvm.so < VM_GenCollectForAllocation::doit()@libjvm.so < \
                           thread_native_entry(Thread*)@libjvm.so";
    let answer = answer_for(
        &with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.5)), WORK)
            .traced(2, |run| {
                main_joins(run, ms(1000));
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(500), WORK).locks(0x10, ms(500), ALLOCATE, "VM Thread");
                }
                run.thread("VM Thread").blocks(Reason::Futex, ms(500), CALLED).runs(ms(500), COLLECT);
            })
            .tables(),
    );
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::ALLOCATOR).unwrap();
    assert_eq!(
        cause.summary,
        "Threads wait for the garbage collector (the serial collector) where they allocate, most in scan (Basket.java:30)."
    );
    assert!(
        cause.remedies[0].contains("ParallelGC") && !cause.remedies.iter().any(|r| r.contains("jemalloc")),
        "{cause:#?}"
    );
}
