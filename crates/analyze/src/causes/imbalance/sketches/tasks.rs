//! Goroutines of one function, of which one gets most of the work, and near misses.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::*;
use recording::synthetic::{Sketch, us};

const RATE: &str = "main.rate@app a.go:20 < main.worker@app a.go:30 < runtime.goexit@app";
const RECEIVE: &str = "runtime.chanrecv@app < runtime.chanrecv2@app < main.worker@app a.go:28";
const LOCK: &str =
    "runtime.semacquire1@app < sync.(*Mutex).lockSlow@app < sync.(*Mutex).Lock@app < main.worker@app a.go:29";
const SEND: &str = "runtime.chansend@app < runtime.chansend1@app < main.route@app a.go:50";
const UNLOCK: &str =
    "runtime.semrelease1@app < sync.(*Mutex).unlockSlow@app < sync.(*Mutex).Unlock@app < main.worker@app a.go:33";

/// A second in which goroutine 1 runs for `first` microseconds of each ten milliseconds and goroutine 2 for `second`; their
/// threads sleep for the rest, because a goroutine waits at `waits`, until `wakes`.
fn shares(first: u64, second: u64, waits: &str, wakes: &str) -> Answer {
    shares_of([first, second], [RATE, RATE], waits, wakes)
}

/// The same, with what each of them runs.
fn shares_of([first, second]: [u64; 2], code: [&str; 2], waits: &str, wakes: &str) -> Answer {
    let sleep = format!(
        "runtime.futex@app < runtime.notesleep@app < runtime.stopm@app < runtime.findRunnable@app < \
         runtime.schedule@app < runtime.park_m@app < runtime.mcall@app < runtime.gopark@app < {waits} < \
         runtime.goexit@app"
    );
    let wake = format!(
        "runtime.futex@app < runtime.notewakeup@app < runtime.wakep@app < runtime.ready@app < \
         runtime.systemstack@app < runtime.goready@app < {wakes} < runtime.goexit@app"
    );
    let cpu = (first + second) as f64 * 1e-4;
    let sketch = Sketch::new(2).clean(1, &around(cpu)).clean_cpu(2, &around(1.0), &around(cpu));
    let tables = with_base(sketch, RATE).traced(2, |run| {
        for (i, (name, other, runs)) in [("a", "b", first), ("b", "a", second)].into_iter().enumerate() {
            let mut thread = run.thread(name);
            thread.goroutine_is(Some(0xc000 + i as u64));
            for _ in 0..100 {
                thread = thread.runs(us(runs), code[i]);
                if runs < 10_000 {
                    thread = thread.locks(0x100 + i as u64, us(10_000 - runs), &sleep, other).woken_at(&wake);
                }
            }
        }
    });
    let answer = answer_for(&tables.tables());
    assert_balanced(&answer);
    answer
}

mod positive {
    use super::*;

    #[test]
    fn one_goroutine_that_gets_most_of_the_work_has_the_largest_share() {
        let answer = shares(10_000, 2_000, RECEIVE, SEND);
        let cause = found(&answer, CauseId::IMBALANCE).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert_eq!(
            cause.summary,
            "One of 2 goroutines that do the same work has most of it: it runs for 100 % of the time, the next one for \
             20 %, and the others wait: main.rate (a.go:20), called from main.worker (a.go:30)."
        );
        assert!(cause.share > 0.9, "{cause:?}");
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_none(), "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn goroutines_with_equal_shares_that_wait_have_no_largest_one() {
        let answer = shares(6_000, 6_000, RECEIVE, SEND);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        assert!(!answer.verdict.clear.contains(&CauseId::CONDITION_WAIT), "{:#?}", answer.verdict);
    }

    /// One function starts both, as where a loop starts the stages of a pipeline.
    #[test]
    fn goroutines_that_do_different_things_have_no_largest_share() {
        let stages = [
            "main.sort@app a.go:70 < main.merge@app a.go:71 < main.worker@app a.go:31 < runtime.goexit@app",
            "main.parse@app a.go:80 < main.read@app a.go:81 < main.worker@app a.go:31 < runtime.goexit@app",
        ];
        let answer = shares_of([10_000, 2_000], stages, RECEIVE, SEND);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
    }

    /// The busy one may be what the others wait for.
    #[test]
    fn goroutines_that_wait_for_a_lock_have_no_largest_share() {
        let answer = shares(10_000, 2_000, LOCK, UNLOCK);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn goroutines_that_are_always_busy_have_no_largest_share() {
        assert!(found(&shares(10_000, 9_900, RECEIVE, SEND), CauseId::IMBALANCE).is_none());
    }
}
