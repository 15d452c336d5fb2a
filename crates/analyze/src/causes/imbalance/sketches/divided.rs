//! Threads that divide the tasks among themselves and have none left while another one is busy, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, ms};

const STATEMENT: &str = "statement@app main.rs:20 < main::{{closure}}@app main.rs:60 < rayon_core::registry::WorkerThread::wait_until_cold@app registry.rs:9";
const NO_JOB: &str = "syscall@libc.so.6 < rayon_core::sleep::Sleep::sleep@app mod.rs:180 < \
                      rayon_core::registry::WorkerThread::wait_until_cold@app registry.rs:9";
const NO_TASK: &str = "syscall@libc.so.6 < std::thread::park@app < tokio::runtime::park::Inner::park@app park.rs:9";
const INSTALL: &str = "syscall@libc.so.6 < rayon_core::latch::LockLatch::wait@app latch.rs:9 < main@app main.rs:60";

/// Ten rounds of 100 ms. In each, `a` runs for `a_runs` ms and then waits at `idle` until `b` divides the next round's
/// work. `b` runs all the time, and `main` waits for it for `waits` ms of each round.
fn rounds(a_runs: u64, idle: &str, waits: u64) -> Answer {
    let cpu = 1.0 + a_runs as f64 * 1e-2 + (100 - waits) as f64 * 1e-2;
    let sketch = Sketch::new(2).clean(1, &around(cpu)).clean_cpu(2, &around(1.0), &around(cpu));
    let tables = with_base(sketch, STATEMENT)
        .traced(2, |run| {
            let mut main = run.thread("main");
            for _ in 0..10 {
                main = main.locks(0x200, ms(waits), INSTALL, "b").runs(ms(100 - waits), "prepare@app main.rs:50");
            }
            let mut a = run.thread("a");
            for _ in 0..10 {
                a = a.runs(ms(a_runs), STATEMENT).locks(0x100, ms(100 - a_runs), idle, "b");
            }
            let mut b = run.thread("b");
            for _ in 0..10 {
                b = b.runs(ms(100), STATEMENT);
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

mod positive {
    use super::*;

    #[test]
    fn one_long_task_of_each_round_is_unequal_work() {
        let answer = rounds(20, NO_JOB, 100);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap();
        assert!(cause.share > 0.9, "{cause:?}");
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("statement"));
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    /// Tasks that wait for each other leave threads idle, too.
    #[test]
    fn an_executor_whose_tasks_may_wait_has_no_unequal_work() {
        let answer = rounds(20, NO_TASK, 100);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }

    /// Who gives the work to the pool does something else meanwhile.
    #[test]
    fn a_caller_that_is_busy_may_keep_tasks_back() {
        let answer = rounds(20, NO_JOB, 40);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn about_equal_tasks_have_no_cause() {
        let answer = rounds(98, NO_JOB, 100);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}
