//! Threads that hand each other work in small pieces: the calls for that take the time.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::waiting::WORK;
use crate::common::*;
use recording::synthetic::{RunSketch, Sketch, ms, us};

const POP: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < queue_pop@app queue.c:30 < work@app app.c:50";
const PUSH: &str = "?@libc.so.6 < pthread_cond_signal@libc.so.6 < queue_push@app queue.c:12 < work@app app.c:52";

/// Two threads that hand each other a hundred items, which takes `code` microseconds of calls an item.
fn hand_over(run: &mut RunSketch<'_>, code: u64) {
    for (name, other) in [("a", "b"), ("b", "a")] {
        let mut thread = run.thread(name);
        for _ in 0..100 {
            thread = thread.runs(ms(5), WORK).runs(us(code), PUSH).locks(0x100, us(500), POP, other);
        }
    }
}

/// A sweep in which the calls take `code` microseconds an item with two threads.
fn sweep(code: u64) -> Answer {
    let seconds = 0.55 + code as f64 * 1e-4;
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(seconds), &around(2.0 * seconds - 0.1));
    answer_for(&with_base(sketch, WORK).traced(2, |run| hand_over(run, code)).tables())
}

mod positive {
    use super::*;

    #[test]
    fn calls_that_hand_work_over_may_cost_more_than_waiting_for_it() {
        let answer = sweep(4000);
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::CONDITION_WAIT).unwrap();
        assert_eq!(
            cause.summary,
            "Threads wait for each other and wake each other so often that the calls for it take much of the processor \
             time, most in queue_push (queue.c:12)."
        );
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("queue_push"));
        let code = cause.evidence.iter().find(|e| e.what.contains("in these calls")).unwrap().value;
        assert!((code - 0.8).abs() < 0.1, "{code}");
    }
}

mod near_miss {
    use super::*;

    /// There is nothing to compare with: any program with a queue has such calls.
    #[test]
    fn in_one_run_such_calls_are_no_loss() {
        let tables = Sketch::new(2).traced(2, |run| hand_over(run, 4000)).tables();
        let answer = answer_for(&tables);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
        assert!(!answer.verdict.clear.contains(&CauseId::CONDITION_WAIT), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn calls_that_take_little_are_no_cause() {
        assert!(found(&sweep(100), CauseId::CONDITION_WAIT).is_none());
    }
}
