//! Threads that meet at what the program built itself, and threads that feed each other.

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms, us};

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
    answer_for(&meeting(wait, threads, woken_in, again))
}

fn meeting(wait: &str, threads: u64, woken_in: &str, again: u64) -> Tables {
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
            // It does something else than the others: no thread has too large a share of one kind of work.
            run.thread("slow").runs(ms(10 * rounds), "edge@app app.c:44 < work@app app.c:49");
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
    sketch.tables()
}

const ARRIVES: &str = "pthread_cond_broadcast@libc.so.6 < arrive@app gate.c:33 < work@app app.c:50";
const FEEDS: &str = "pthread_cond_broadcast@libc.so.6 < publish@app gate.c:13 < work@app app.c:48";

mod positive {
    use super::*;

    #[test]
    fn a_barrier_that_the_program_built_is_one() {
        let answer = meets(4, ARRIVES, 0);
        assert_eq!(ids(&answer), [CauseId::IMBALANCE], "{:#?}", answer.verdict);
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
}

mod near_miss {
    use super::*;

    #[test]
    fn who_feeds_the_others_in_another_function_is_a_stage() {
        assert_eq!(ids(&meets(4, FEEDS, 0)), [CauseId::CONDITION_WAIT]);
    }

    #[test]
    fn threads_that_are_woken_in_vain_gather_nowhere() {
        assert_eq!(ids(&meets(4, ARRIVES, 2)), [CauseId::CONDITION_WAIT]);
    }

    /// GLib's locks: their slow paths have no names, and are called for taking and for releasing. The word says that others
    /// wait, and each wake-up is for one thread.
    #[test]
    fn waiters_of_a_lock_without_a_name_do_not_meet() {
        let wait = "?@libc.so.6 < syscall@libc.so.6 < ?@libglib-2.0.so.0 < work@app app.c:50";
        let mut tables = meeting(wait, 4, wait, 0);
        assert_eq!(ids(&answer_for(&tables)), [CauseId::IMBALANCE]);
        tables.wakes.iter_mut().for_each(|wake| wake.wakes_many = Some(false));
        let answer = answer_for(&tables);
        assert!(!ids(&answer).contains(&CauseId::IMBALANCE), "{:#?}", answer.verdict);
    }

    #[test]
    fn two_threads_alone_show_no_barrier() {
        assert_eq!(ids(&meets(2, ARRIVES, 0)), [CauseId::CONDITION_WAIT]);
    }
}
