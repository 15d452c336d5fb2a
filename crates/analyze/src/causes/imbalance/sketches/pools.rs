//! Threads of a pool that have no task left while another one is busy, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::Tables;
use recording::synthetic::{FUTEX, RunSketch, Sketch, ms};
use recording::tables::Reason;

/// The number of `write` on x86-64.
const WRITE: u32 = 1;
const PRICE: &str = "price@app app.c:20 < worker@app app.c:60";
const NEXT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < next_task@app app.c:40 < worker@app app.c:58";
const NAMELESS: &str = "?@libc.so.6 < ?@libc.so.6 < next_task@app app.c:40 < worker@app app.c:58";
const RESULT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < result@app app.c:70 < main@app app.c:90";

/// A sweep with one and two threads. The closure sketches the run with two; with one, everything takes a second.
fn run(seconds: f64, cpu: f64, sketch: impl FnOnce(&mut RunSketch<'_>)) -> Tables {
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(seconds), &around(cpu)), PRICE)
        .traced(2, sketch)
        .tables()
}

/// Thread `a` works for 200 ms and waits for a task for 600 ms. Meanwhile `b` runs `busy`, and `giver` does what the
/// closure says.
fn last_task(busy: &str, giver: impl FnOnce(&mut RunSketch<'_>)) -> Answer {
    let answer = answer_for(&run(0.8, 1.0, |run| {
        giver(run);
        run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NEXT, "giver");
        run.thread("b").runs(ms(800), busy);
    }));
    assert_balanced(&answer);
    answer
}

fn waits_for_a_result(run: &mut RunSketch<'_>) {
    run.thread("giver").locks(0x200, ms(800), RESULT, "b");
}

mod positive {
    use super::*;

    #[test]
    fn a_task_that_is_larger_than_what_is_left_is_unequal_work() {
        let answer = last_task(PRICE, waits_for_a_result);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(cause.share > 0.9, "{cause:?}");
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("price"));
        assert_eq!(
            cause.summary,
            "Threads of a pool have no task left while another one is still busy in price (app.c:20), called from worker \
             (app.c:60)."
        );
        let value = |what: &str| cause.evidence.iter().find(|e| e.what.starts_with(what)).unwrap().value;
        assert_eq!((value("threads without"), value("times one had none")), (1.0, 1.0));
        assert!((value("time without a task") - 0.6).abs() < 1e-9);
        assert!((value("CPU time of the thread that was busy then (b)") - 0.8).abs() < 1e-9);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }

    /// Others have the processor of the busy thread for a third of the time, as a runtime's compiler may.
    #[test]
    fn a_thread_that_is_kept_from_its_processor_still_has_its_task() {
        let answer = answer_for(&run(0.8, 0.8, |run| {
            waits_for_a_result(run);
            run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NEXT, "giver");
            (0..8).fold(run.thread("b"), |b, _| b.runs(ms(66), PRICE).preempted(ms(34)));
        }));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::IMBALANCE).is_some(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }

    /// A thread that has done its part waits for the busy one, while another one finds no task: what most of the waiting is
    /// for is said first. Where the last part is waited for is said in any case.
    #[test]
    fn where_the_last_part_is_waited_for_is_told() {
        const JOIN: &str = "__pthread_clockjoin_ex@libc.so.6 < collect@app app.c:95 < worker@app app.c:60";
        let told = |without_task: u64| {
            let answer = answer_for(&run(0.8, 1.2, |run| {
                waits_for_a_result(run);
                run.thread("j").runs(ms(200), PRICE).locks(0x500, ms(600), JOIN, "b");
                run.thread("a").runs(ms(800 - without_task), PRICE).locks(0x100, ms(without_task), NEXT, "giver");
                run.thread("b").runs(ms(800), PRICE);
            }));
            found(&answer, CauseId::IMBALANCE).unwrap_or_else(|| panic!("{:#?}", answer.verdict)).summary.clone()
        };
        let (mostly_joins, mostly_tasks) = (told(100), told(700));
        assert!(mostly_joins.contains("done their part wait in collect (app.c:95)"), "{mostly_joins}");
        assert!(
            mostly_tasks.contains("no task left") && mostly_tasks.contains("; collect (app.c:95) waits for it"),
            "{mostly_tasks}"
        );
    }

    #[test]
    fn a_giver_waits_for_the_pool_through_the_threads_that_collect_its_results() {
        let answer = last_task(
            PRICE,
            waits_through(|run| {
                run.thread("reader").handed(Reason::Pipe, ms(800), COLLECT, "b", WRITE);
            }),
        );
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(cause.share > 0.9, "{cause:?}");
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("price"));
    }
}

/// As pools of processes do it: `feeder` gives out tasks and waits for `main`, which waits for `reader`, which
/// collects the results of the pool.
fn waits_through(collects: impl FnOnce(&mut RunSketch<'_>)) -> impl FnOnce(&mut RunSketch<'_>) {
    const FEED: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < feed@app app.c:110";
    |run| {
        run.thread("main").locks(0x300, ms(800), RESULT, "reader");
        collects(run);
        run.thread("giver").locks(0x400, ms(800), FEED, "main");
    }
}

const COLLECT: &str = "?@libc.so.6 < read@libc.so.6 < collect@app app.c:120";

mod near_miss {
    use super::*;

    /// The thread that collects the results works through them meanwhile: it is the stage that the others wait for.
    #[test]
    fn a_thread_between_that_runs_does_not_wait_for_the_pool() {
        let answer = last_task(
            PRICE,
            waits_through(|run| {
                let thread = run.thread("reader").handed(Reason::Pipe, ms(100), COLLECT, "b", WRITE);
                thread.runs(ms(700), "merge@app app.c:130 < collect@app app.c:121");
            }),
        );
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    #[test]
    fn a_stage_that_does_something_else_is_waited_for() {
        let answer = last_task("sort@app app.c:30 < sorter@app app.c:80", waits_for_a_result);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("sort"));
    }

    /// The same, but the interrupt that wakes the giver interrupts a thread of the pool.
    #[test]
    fn an_interrupt_is_no_thread_of_the_pool() {
        let read = "?@libc.so.6 < recv@libc.so.6 < serve@app app.c:95 < main@app app.c:90";
        let answer = last_task(PRICE, |run| {
            run.thread("giver").handed(Reason::Pipe, ms(800), read, "b", FUTEX);
        });
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    /// A thread of the pool brings the task, and itself waits for a third thread.
    #[test]
    fn threads_of_a_pool_that_hand_each_other_work_are_no_imbalance() {
        let answer = answer_for(&run(0.8, 1.0, |run| {
            run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NEXT, "c");
            run.thread("b").runs(ms(800), PRICE);
            run.thread("c").runs(ms(200), PRICE).locks(0x300, ms(600), RESULT, "b");
        }));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    /// A thread that hands out one task at a time and waits for the result has not divided the work.
    #[test]
    fn tasks_that_are_handed_out_one_at_a_time_are_waited_for() {
        let answer = answer_for(&run(1.0, 1.0, |run| {
            let mut giver = run.thread("giver");
            for turn in 0..100 {
                giver = giver.locks(0x200, ms(10), RESULT, ["a", "b"][turn % 2]);
            }
            for (i, name) in ["a", "b"].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for turn in 0..100_usize {
                    thread = match turn % 2 == i {
                        true => thread.runs(ms(10), PRICE),
                        false => thread.locks(0x100 + i as u64, ms(10), NEXT, "giver"),
                    };
                }
            }
        }));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_pool_whose_tasks_fill_its_time_has_no_cause() {
        let answer = answer_for(&run(0.505, 1.0, |run| {
            run.thread("giver").locks(0x200, ms(505), RESULT, "b");
            run.thread("a").runs(ms(500), PRICE).locks(0x100, ms(5), NEXT, "giver");
            run.thread("b").runs(ms(505), PRICE);
        }));
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }
}

/// The waits have a time limit and no names, so only the wakers tell what they are for.
#[test]
fn a_wait_that_nothing_names_may_be_for_a_task() {
    let of = |giver: fn(&mut RunSketch<'_>)| {
        let mut tables = run(0.8, 1.0, |run| {
            giver(run);
            run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NAMELESS, "giver");
            run.thread("b").runs(ms(800), PRICE);
        });
        tables.waits.iter_mut().filter(|wait| wait.object == Some(0x100)).for_each(|wait| wait.timed = true);
        answer_for(&tables)
    };
    let answer = of(waits_for_a_result);
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::IMBALANCE).is_some(), "{:#?}", answer.verdict);
    // Near miss: the thread that would bring the next task runs meanwhile.
    let answer = of(|run| {
        run.thread("giver").runs(ms(800), "prepare@app app.c:95 < main@app app.c:90");
    });
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// Tasks come from outside, one at a time: a thread without a task is no sign of unequal shares.
#[test]
fn a_giver_that_waits_for_the_network_has_no_tasks_to_give() {
    let read = "?@libc.so.6 < recv@libc.so.6 < serve@app app.c:95 < main@app app.c:90";
    let answer = last_task(PRICE, |run| {
        run.thread("giver").blocks(Reason::Pipe, ms(800), read);
    });
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn a_giver_that_waits_for_somebody_else_may_have_tasks_to_give() {
    let answer = last_task(PRICE, |run| {
        run.thread("giver").locks(0x200, ms(800), RESULT, "other");
        run.thread("other").blocks(Reason::Sleep, ms(800), "?@libc.so.6 < nanosleep@libc.so.6 < tick@app app.c:99");
    });
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// The busy thread waits for a file.
#[test]
fn where_none_of_the_pool_runs_none_of_them_has_too_much_to_do() {
    let answer = answer_for(&run(0.8, 0.4, |run| {
        waits_for_a_result(run);
        run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NEXT, "giver");
        let write = "?@libc.so.6 < fsync@libc.so.6 < worker@app app.c:62";
        run.thread("b").runs(ms(200), PRICE).blocks(Reason::Io, ms(600), write);
    }));
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// It is known that a thread waited somewhere in a stretch, but not which thread ran then.
#[test]
fn waits_in_summed_up_stretches_say_nothing_of_tasks() {
    let mut tables = run(0.8, 0.82, |run| {
        waits_for_a_result(run);
        run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NEXT, "giver");
        // It has no work for a while: the shares of the whole run do not tell.
        let read = "?@libc.so.6 < pread@libc.so.6 < worker@app app.c:61";
        run.thread("b").runs(ms(100), PRICE).blocks(Reason::Io, ms(180), read).runs(ms(520), PRICE);
    });
    assert!(found(&answer_for(&tables), CauseId::IMBALANCE).is_some());
    let a = tables.threads.iter().find(|t| t.name == "a").unwrap().thread;
    let long = |s: &recording::tables::Slice| s.thread == a && s.wait.is_some() && s.spent_ns == ms(600);
    assert_eq!(tables.slices.iter().filter(long).count(), 1);
    tables.slices.change(|slice| slice.count = if long(slice) { 2 } else { slice.count });
    assert!(found(&answer_for(&tables), CauseId::IMBALANCE).is_none());
}

#[test]
fn a_giver_that_runs_meanwhile_is_the_stage_that_sets_the_pace() {
    let answer = answer_for(&run(0.8, 1.4, |run| {
        let mut giver = run.thread("giver");
        for _ in 0..40 {
            giver = giver.runs(ms(15), "make@app app.c:10 < main@app app.c:90").locks(0x200, ms(5), RESULT, "b");
        }
        run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(600), NEXT, "giver");
        let mut b = run.thread("b").runs(ms(200), PRICE);
        for _ in 0..40 {
            b = b.runs(ms(5), PRICE).locks(0x300, ms(10), NEXT, "giver");
        }
    }));
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
}

/// Waits of half a millisecond: between two samples anything may have happened, and the giver mostly waits for the
/// network.
#[test]
fn waits_that_are_shorter_than_samples_are_apart_say_nothing_of_tasks() {
    let read = "?@libc.so.6 < recv@libc.so.6 < serve@app app.c:95 < main@app app.c:90";
    let answer = answer_for(&run(0.8, 1.2, |run| {
        let mut giver = run.thread("giver");
        for _ in 0..800 {
            giver = giver.locks(0x200, ms(3) / 10, RESULT, "b").blocks(Reason::Pipe, ms(7) / 10, read);
        }
        let mut a = run.thread("a").runs(ms(20), PRICE).runs(ms(3) / 10, PRICE);
        for _ in 0..800 {
            a = a.runs(ms(1) / 2, PRICE).locks(0x100, ms(1) / 2, NEXT, "giver");
        }
        run.thread("b").runs(ms(800), PRICE);
    }));
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
}

/// In the last part a thread has ended: neither cause is charged with the other's time.
#[test]
fn tasks_and_ends_are_two_causes_that_share_the_loss() {
    let answer = answer_for(&run(0.8, 1.0, |run| {
        waits_for_a_result(run);
        run.thread("a").runs(ms(200), PRICE).locks(0x100, ms(300), NEXT, "giver");
        run.thread("b").runs(ms(800), PRICE);
    }));
    assert_balanced(&answer);
    let shares: Vec<f64> =
        answer.verdict.causes.iter().filter(|c| c.id == CauseId::IMBALANCE).map(|c| c.share).collect();
    let all: f64 = shares.iter().sum();
    assert!(shares.len() == 2 && (0.9..1.01).contains(&all), "{:#?}", answer.verdict);
}
