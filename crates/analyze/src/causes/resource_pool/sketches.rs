//! Sketches of pools, and what the answer says about them.

mod tasks;

use super::*;
use crate::answer::Answer;
use crate::common::{answer_for, around, assert_balanced, found, repaired};
use recording::Tables;
use recording::synthetic::{Sketch, ms, us};
use recording::tables::Reason;

const WAIT: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < acquire@app pool.c:10 < work@app app.c:5";
const RELEASE: &str = "?@libc.so.6 < release@app pool.c:20 < work@app app.c:7";
const QUERY: &str = "?@libc.so.6 < usleep@libc.so.6 < query@app db.c:3 < work@app app.c:6";

/// Three threads share one thing and hold it for 4 ms each; `asleep`: whether they sleep or run meanwhile.
fn one_for_three(asleep: bool) -> Tables {
    let used = if asleep { 0.01 } else { 1.0 };
    let cpu: Vec<f64> = around(1.2).iter().map(|s| s * used).collect();
    Sketch::new(4)
        .clean_cpu(1, &around(1.2), &cpu)
        .traced(1, |run| {
            let thread = run.thread("t0");
            (0..300).fold(thread, |t, _| hold(t, asleep));
        })
        .clean_cpu(3, &around(1.2), &cpu)
        .traced(3, |run| {
            for at in 0..3_u64 {
                let by = format!("t{}", (at + 2) % 3);
                let mut thread = run.thread(&format!("t{at}")).runs(us(10), "work@app app.c:5");
                if at > 0 {
                    thread = thread.locks(0x100, ms(4) * at, WAIT, &by).woken_at(RELEASE);
                }
                for _ in 0..100 {
                    thread = hold(thread, asleep).locks(0x100, ms(8), WAIT, &by).woken_at(RELEASE);
                }
            }
        })
        .tables()
}

fn hold<'s, 'a>(
    thread: recording::synthetic::ThreadSketch<'s, 'a>,
    asleep: bool,
) -> recording::synthetic::ThreadSketch<'s, 'a> {
    match asleep {
        true => thread.blocks(Reason::Sleep, ms(4) - us(30), QUERY).runs(us(30), "work@app app.c:7"),
        false => thread.runs(ms(4), "render@app render.c:9 < work@app app.c:6"),
    }
}

fn pool(answer: &Answer) -> &Cause {
    assert_balanced(answer);
    found(answer, CauseId::RESOURCE_POOL).unwrap_or_else(|| panic!("{:#?}", answer.verdict))
}

mod positive {
    use super::*;

    #[test]
    fn who_sleeps_with_the_only_one_is_told_with_it() {
        let answer = answer_for(&one_for_three(true));
        let cause = pool(&answer);
        assert_eq!(answer.verdict.causes[0].id, CauseId::RESOURCE_POOL, "{:#?}", answer.verdict);
        assert!(
            cause.summary.contains("acquire (pool.c:10)") && cause.summary.contains("only one"),
            "{}",
            cause.summary
        );
        assert!(cause.summary.contains("4.0 ms asleep in usleep, called from query (db.c:3)"), "{}", cause.summary);
        assert!(cause.remedies[0].contains("more than one"), "{:?}", cause.remedies);
        // The sleeping is not told as polling with pauses.
        assert!(found(&answer, CauseId::new("condition-wait")).is_none(), "{:#?}", answer.verdict);
    }

    #[test]
    fn who_computes_with_the_only_one_is_told_to_do_less() {
        let answer = answer_for(&one_for_three(false));
        let cause = pool(&answer);
        assert!(cause.summary.contains("running in render (render.c:9)"), "{}", cause.summary);
        assert!(cause.remedies[0].contains("do less while holding one"), "{:?}", cause.remedies);
        // A lock is a resource that only one can hold.
        assert!(answer.verdict.unsure.iter().any(|unsure| unsure.id == CauseId::USER_LOCK), "{:#?}", answer.verdict);
    }

    /// Threads spin for a while before they sleep: that time belongs to the pool, as the waiting does.
    #[test]
    fn code_that_acquires_is_the_pool_s() {
        let mut tables = one_for_three(false);
        let answer = answer_for(&tables);
        let before = pool(&answer).lost_seconds;
        let traced = tables.runs.iter().filter(|r| r.threads == 3).map(|r| r.run).max().unwrap();
        let acquires = tables.waits.iter().find(|w| w.object == Some(0x100)).and_then(|w| w.user_stack).unwrap();
        let samples: Vec<_> = tables.samples.iter().filter(|s| s.run == traced).step_by(3).cloned().collect();
        for sample in samples {
            let stack = tables.stacks.iter().find(|s| s.stack == acquires).unwrap().parent;
            tables.samples.iter_mut().filter(|s| **s == sample).for_each(|s| s.user_stack = stack);
        }
        let answer = answer_for(&tables);
        let lines = &answer.account.last().unwrap().lines;
        let line = lines.iter().find(|l| l.what == "code of acquiring resources").unwrap();
        assert!(line.seconds > 0.2, "{lines:#?}");
        assert!(pool(&answer).lost_seconds > before, "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    /// glibc's `pthread_cond_signal` waits for threads that still use the condition: who signals gives, and takes nothing.
    #[test]
    fn a_wait_inside_a_signal_acquires_nothing() {
        let mut tables = one_for_three(false);
        for function in tables.frames.iter_mut().filter_map(|f| f.function.as_mut()) {
            if function == "pthread_cond_wait" {
                *function = "pthread_cond_signal".to_owned();
            }
        }
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn threads_that_wait_for_nothing_have_no_pool() {
        let answer = answer_for(&repaired());
        assert!(answer.verdict.clear.contains(&CauseId::RESOURCE_POOL), "{:#?}", answer.verdict);
    }
}
