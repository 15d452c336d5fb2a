//! Tasks that were looked at while their scheduler's threads slept (goroutines): what they waited for is what is told.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::parked::*;
use crate::common::*;
use analyze::answer::{Answer, CauseId};
use analyze::model::parked_tasks::tell_tasks;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::{StackId, Tables};

const LOCK: &str = "runtime.gopark@app < runtime.goparkunlock@app < runtime.semacquire1@app < sync.(*Mutex).lockSlow@app < \
                    sync.(*Mutex).Lock@app < main.reserve@app a.go:15 < main.serve@app a.go:6 < runtime.goexit@app";
const OTHER_LOCK: &str = "runtime.gopark@app < runtime.goparkunlock@app < runtime.semacquire1@app < \
                          sync.(*Mutex).lockSlow@app < sync.(*Mutex).Lock@app < main.audit@app a.go:30 < runtime.goexit@app";
const HOLDER: &str = "runtime.gopark@app < time.Sleep@app < main.reserve@app a.go:17 < main.serve@app a.go:6 < \
                      runtime.goexit@app";
const READS: &str = "runtime.gopark@app < runtime.netpollblock@app < internal/poll.runtime_pollWait@app < \
                     internal/poll.(*FD).Read@app < main.serve@app a.go:7 < runtime.goexit@app";
const QUEUE: &str = "runtime.gopark@app < runtime.chanrecv@app < runtime.chanrecv1@app < main.worker@app a.go:50 < \
                     runtime.goexit@app";

fn unsure_of_locks(answer: &Answer) -> bool {
    answer.verdict.unsure.iter().any(|unsure| unsure.id == CauseId::USER_LOCK)
}

/// Nanoseconds of the run's slices at waits of a stack.
fn told(tables: &Tables, stack: StackId) -> u64 {
    let waits: Vec<_> = tables.waits.iter().filter(|w| w.user_stack == Some(stack)).map(|w| w.wait).collect();
    let slices = tables.slices.iter().filter(|s| s.wait.is_some_and(|wait| waits.contains(&wait)));
    slices.map(|slice| slice.spent_ns).sum()
}

#[test]
fn a_task_that_sleeps_with_the_lock_is_said() {
    let answer = answer(&[(LOCK, 7), (HOLDER, 1), (READS, 3)]);
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::USER_LOCK).unwrap();
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("main.reserve"));
    assert!(cause.summary.contains("in time.Sleep, called from main.reserve (a.go:17)"), "{}", cause.summary);
}

/// Nobody saw who holds the lock. What the threads do in so many of a hundred milliseconds is what the others wait for if it
/// is most of the time.
fn beside_waiting_tasks(each: u64) -> String {
    const OTHER: &str = "main.parse@app a.go:60 < main.main.func1@app a.go:40 < runtime.goexit@app";
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.1 + 0.009 * each as f64));
    let run = |run: &mut RunSketch<'_>| {
        run.thread("b").runs(ms(100), WORK).locks(0x100, ms(900), IDLE, "a");
        let a = run.thread("a").locks(0x200, ms(100), IDLE, "b");
        (0..9).fold(a, |a, _| a.runs(ms(each), OTHER).locks(0x200, ms(100 - each), IDLE, "b"));
        (0..100).for_each(|look| run.look(ms(10 * look), &[(LOCK, 7), (READS, 3)]));
    };
    let mut tables = with_base(sketch, WORK).traced(2, run).tables();
    tell_tasks(&mut tables);
    found(&answer_for(&tables), CauseId::USER_LOCK).unwrap().summary.clone()
}

#[test]
fn what_hardly_runs_while_tasks_wait_for_a_lock_is_not_told() {
    let told = beside_waiting_tasks(20);
    assert_eq!(told, "Threads wait for a lock that is taken in main.reserve (a.go:15).");
    let told = beside_waiting_tasks(80);
    assert!(told.contains("meanwhile mostly main.parse (a.go:60)"), "{told}");
}

/// The near miss: the same sleep, and nobody waits for a lock. Looks say so, too.
#[test]
fn without_waiting_tasks_no_lock_is_told() {
    let answer = answer(&[(HOLDER, 1), (READS, 3), (QUEUE, 5)]);
    assert!(found(&answer, CauseId::USER_LOCK).is_none() && !unsure_of_locks(&answer), "{:#?}", answer.verdict);
}

/// The near miss: the first goroutine takes all permits to wait for the end of the others.
#[test]
fn the_first_task_waits_for_the_others() {
    let ends = "runtime.gopark@app < runtime.selectgo@app < golang.org/x/sync/semaphore.(*Weighted).Acquire@app < \
                main.main@app a.go:62 < runtime.main@app < runtime.goexit@app";
    let tables = server(&[(ends, 1)]);
    assert_eq!(told(&tables, tables.parked_tasks[0].user_stack.unwrap()), 0);
    let worker = ends.replace("main.main@app a.go:62 < runtime.main@app", "main.worker@app a.go:50");
    let tables = server(&[(&worker, 1)]);
    assert!(told(&tables, tables.parked_tasks[0].user_stack.unwrap()) > 0);
}

/// A library starts tasks of its own for what the program asks of it. The near miss: Go's own library does.
#[test]
fn tasks_of_a_package_wait_for_its_lock() {
    let lock = |file: &str| {
        let stack = format!(
            "runtime.gopark@app < runtime.semacquire1@app < sync.(*Mutex).lockSlow@app < sync.(*Mutex).Lock@app < \
             bus.(*subscriber).send@app {file}:344 < runtime.goexit@app"
        );
        let tables = server(&[(&stack, 3)]);
        told(&tables, tables.parked_tasks[0].user_stack.unwrap())
    };
    assert!(lock("/go/pkg/mod/example.com/bus@v1.4.7/subscriber.go") > 0);
    assert_eq!(lock("/usr/local/go/src/bus/subscriber.go"), 0);
}

/// One task cannot keep two processors.
#[test]
fn no_more_threads_wait_than_tasks() {
    let tables = server(&[(LOCK, 1)]);
    let lock = tables.parked_tasks[0].user_stack.unwrap();
    let whole = 900;
    let told = told(&tables, lock) / ms(1);
    assert!((whole - 20..=whole).contains(&told), "{told}");
}

#[test]
fn each_lock_gets_its_part() {
    let tables = server(&[(LOCK, 3), (OTHER_LOCK, 1)]);
    let part = |at: usize| told(&tables, tables.parked_tasks[at].user_stack.unwrap()) as f64 / ms(1800) as f64;
    assert!((0.65..0.85).contains(&part(0)) && (0.15..0.35).contains(&part(1)), "{} {}", part(0), part(1));
}

#[test]
fn the_time_of_every_thread_stays_the_same() {
    let mut tables = server(&[(LOCK, 1), (READS, 2)]);
    for thread in tables.threads.iter().filter(|t| t.run.0 != 0) {
        let of = |slices: &recording::Slices| -> u64 {
            slices.iter().filter(|s| (s.run, s.thread) == (thread.run, thread.thread)).map(|s| s.spent_ns).sum()
        };
        assert_eq!(of(&tables.slices), thread.end_ns - thread.start_ns);
    }
    let once = tables.clone();
    tell_tasks(&mut tables);
    assert_eq!(tables, once, "a second time nothing changes");
}

#[test]
fn far_from_a_look_nothing_is_told() {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.2));
    let run = |run: &mut RunSketch<'_>| {
        run.thread("a").runs(ms(100), WORK).locks(0x100, ms(900), IDLE, "a");
        run.look(ms(500), &[(LOCK, 4)]);
    };
    let mut tables = with_base(sketch, WORK).traced(2, run).tables();
    tell_tasks(&mut tables);
    assert_eq!(told(&tables, tables.parked_tasks[0].user_stack.unwrap()), ms(50));
}

/// What few looks did not meet may be there all the same.
#[test]
fn few_looks_clear_nothing() {
    let mut tables = server(&[(READS, 3)]);
    assert!(!unsure_of_locks(&answer_for(&tables)));
    tables.parked_tasks.truncate(58);
    assert!(unsure_of_locks(&answer_for(&tables)), "{:#?}", answer_for(&tables).verdict);
}

/// What a task with an unknown stack waits for may be a lock.
#[test]
fn looks_with_an_unknown_stack_clear_nothing() {
    let mut tables = server(&[(READS, 3)]);
    let looks: Vec<_> = tables.parked_tasks.clone();
    tables.parked_tasks.extend(looks.into_iter().map(|row| recording::tables::ParkedTasks {
        user_stack: None,
        count: 1,
        ..row
    }));
    assert!(unsure_of_locks(&answer_for(&tables)), "{:#?}", answer_for(&tables).verdict);
}

/// Of some tasks, whose number samples tell, a part waits and the others run whenever they are looked at. `takes` and
/// `gives`: the functions between the channel and the task's own.
fn always_running((tasks, waiting): (u64, u32), takes: &str, gives: &str) -> Answer {
    let task = "main.add@app a.go:71 < main.upload@app a.go:72 < runtime.goexit@app";
    let takes = format!("runtime.gopark@app < runtime.chanrecv@app < runtime.chanrecv1@app < {takes} < {task}");
    let gives = format!("runtime.lock2@app < runtime.chansend@app < runtime.chansend1@app < {gives} < {task}");
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    let run = |run: &mut RunSketch<'_>| {
        run.thread("a").runs(ms(990), task).runs(ms(10), &gives);
        run.thread("b").runs(ms(10), task).locks(0x100, ms(990), IDLE, "a");
        (0..100).for_each(|look| run.look(ms(10 * look), &[(&takes, waiting)]));
    };
    let mut tables = with_base(sketch, WORK).traced(2, run).tables();
    let last = tables.traces.last().unwrap().run;
    let samples = tables.samples.iter_mut().filter(|sample| sample.run == last).enumerate();
    samples.for_each(|(at, sample)| sample.goroutine = Some(0xc000 + at as u64 % tasks));
    tell_tasks(&mut tables);
    answer_for(&tables)
}

#[test]
fn tasks_that_wait_in_a_library_for_the_only_one_are_told_with_their_call() {
    let library = "github.com/x/zip.(*Encoder).EncodeAll@app /go/pkg/mod/zip/zip.go:50";
    let gives = format!("github.com/x/zip.(*Encoder).EncodeAll.func1@app /go/pkg/mod/zip/zip.go:52 < {library}");
    let answer = always_running((4, 3), library, &gives);
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::RESOURCE_POOL).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!(cause.summary.contains("EncodeAll, called from main.add (a.go:71)"), "{}", cause.summary);
    // The near miss: the program's own function may as well pass a turn on.
    let own = "main.turn@app a.go:60";
    let answer = always_running((4, 3), own, own);
    assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{:#?}", answer.verdict);
    // Two that always run hold two. Tasks that come one after the other are more than can run at once.
    let answer = always_running((5, 3), library, &gives);
    let cause = found(&answer, CauseId::RESOURCE_POOL).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert!(cause.summary.contains("for one of 2 resources"), "{}", cause.summary);
    let answer = always_running((50, 3), library, &gives);
    assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{:#?}", answer.verdict);
}

/// The runtime's own semaphores are no locks of the program.
#[test]
fn a_task_that_starts_a_collection_waits_for_no_lock() {
    let collects = "runtime.gopark@app < runtime.semacquire1@app < runtime.gcStart@app < runtime.mallocgc@app < \
                    runtime.newobject@app < main.serve@app a.go:6 < runtime.goexit@app";
    let answer = answer(&[(collects, 2)]);
    assert!(found(&answer, CauseId::USER_LOCK).is_none(), "{:#?}", answer.verdict);
}

/// Workers that wait for a channel while the goroutine that feeds them sleeps: the sleep is the reason.
const SLEEPS: &str = "runtime.gopark@app < time.Sleep@app < main.await@app a.go:44 < main.main@app a.go:60 < runtime.main@app < \
                      runtime.goexit@app";

#[test]
fn a_task_that_sleeps_while_nothing_runs_is_told() {
    let told = answer(&[(SLEEPS, 1), (QUEUE, 5)]);
    assert_balanced(&told);
    let cause = found(&told, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", told.verdict));
    assert!(cause.summary.contains("for a fixed time in main.await (a.go:44)"), "{}", cause.summary);
    // Near misses: one of them waits for a socket; and something runs whenever the tasks are looked at.
    for near in [answer(&[(SLEEPS, 1), (QUEUE, 5), (READS, 1)]), busy(&[(SLEEPS, 1), (QUEUE, 5)])] {
        let slept = found(&near, CauseId::CONDITION_WAIT).filter(|cause| cause.summary.contains("for a fixed"));
        assert!(slept.is_none(), "{:#?}", near.verdict);
    }
}

/// Receives from a ticker, in the functions in which one receives work.
const TICKS: &str = "runtime.gopark@app < runtime.chanrecv@app < runtime.chanrecv2@app < main.dispatch@app a.go:70 < \
                     runtime.goexit@app";

/// The sleep at a timer's channel: only the channel tells it from a wait for work.
#[test]
fn a_task_that_waits_for_a_ticker_is_told_as_one_that_sleeps() {
    let answer = |timer: bool, waiting: &[(&str, u32)]| {
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.2));
        let run = |run: &mut RunSketch<'_>| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(100), WORK).locks(0x100, ms(900), IDLE, "a");
            }
            for look in 0..100 {
                run.look(ms(10 * look), waiting);
                if timer {
                    run.look_at_timer(ms(10 * look), TICKS, 1);
                } else {
                    run.look(ms(10 * look), &[(TICKS, 1)]);
                }
            }
        };
        let mut tables = with_base(sketch, WORK).traced(2, run).tables();
        tell_tasks(&mut tables);
        answer_for(&tables)
    };
    let told = answer(true, &[(QUEUE, 5)]);
    assert_balanced(&told);
    let cause = found(&told, CauseId::CONDITION_WAIT).unwrap_or_else(|| panic!("{:#?}", told.verdict));
    assert!(cause.summary.contains("for a fixed time in main.dispatch (a.go:70)"), "{}", cause.summary);
    // Near misses: a channel that no timer feeds; and another task that waits for a socket.
    for near in [answer(false, &[(QUEUE, 5)]), answer(true, &[(QUEUE, 5), (READS, 1)])] {
        let slept = found(&near, CauseId::CONDITION_WAIT).filter(|cause| cause.summary.contains("for a fixed"));
        assert!(slept.is_none(), "{:#?}", near.verdict);
    }
}

/// The same scheduler, with another thread that always runs.
fn busy(waiting: &[(&str, u32)]) -> Answer {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.1));
    let run = |run: &mut RunSketch<'_>| {
        run.thread("c").runs(ms(1000), WORK);
        for name in ["a", "b"] {
            run.thread(name).runs(ms(50), WORK).locks(0x100, ms(950), IDLE, "a");
        }
        (0..100).for_each(|look| run.look(ms(10 * look), waiting));
    };
    let mut tables = with_base(sketch, WORK).traced(2, run).tables();
    tell_tasks(&mut tables);
    answer_for(&tables)
}
