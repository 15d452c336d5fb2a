//! A control group's quota.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::waiting::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::RunKind;

/// Threads that a quota holds back for half of the time; `clean` and `traced`: what the runs recorded of it.
fn throttled(clean: Option<u64>, traced: Option<u64>) -> Tables {
    let mut tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0)), WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..10 {
                    thread = thread.runs(ms(50), WORK).preempted(ms(50));
                }
            }
        })
        .tables();
    for run in &mut tables.runs {
        run.throttled_ns = if run.kind == RunKind::Clean { clean } else { traced };
        if run.threads == 1 {
            run.throttled_ns = run.throttled_ns.map(|_| 0);
        }
    }
    tables
}

mod positive {
    use super::*;

    #[test]
    fn a_quota_is_found_where_it_held_the_timed_runs_back() {
        let answer = answer_for(&throttled(Some(ms(1000)), Some(ms(1000))));
        assert_balanced(&answer);
        assert!(ids(&answer) == [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(condition(&answer, CauseId::CPU_QUOTA).unwrap().share > Some(0.4), "{:#?}", answer.verdict);
        assert!(answer.verdict.summary.contains("The control group's quota is used up"), "{}", answer.verdict.summary);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_quota_that_the_timed_runs_did_not_meet_is_none_of_theirs() {
        for (clean, traced) in [(Some(0), Some(ms(1000))), (None, None), (Some(0), Some(0))] {
            let answer = answer_for(&throttled(clean, traced));
            assert!(condition(&answer, CauseId::CPU_QUOTA).is_none(), "{clean:?} {traced:?} {:#?}", answer.verdict);
        }
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_quota_that_is_never_reached_takes_nothing() {
        let mut tables = repaired();
        for run in &mut tables.runs {
            (run.throttled_ns, run.throttled_periods) = (Some(0), Some(0));
        }
        assert!(condition(&answer_for(&tables), CauseId::CPU_QUOTA).is_none());
    }
}
