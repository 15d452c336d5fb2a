//! Calls that fail.

use crate::answer::{Answer, CauseId};
use crate::common::no_faster::*;
use crate::common::*;

fn lost(answer: &Answer, id: CauseId) -> f64 {
    found(answer, id).map_or(0.0, |c| c.lost_seconds)
}

mod positive {
    use super::*;

    #[test]
    fn a_call_that_fails_each_time_first_is_named_with_its_error() {
        let answer = answer_for(&failing(40_000, 12));
        assert_balanced(&answer);
        assert!((lost(&answer, CauseId::FAILING_SYSCALL) - 0.8).abs() < 0.05, "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(
            cause.summary.contains("mmap fails with ENOMEM 80000 times, called from stack_map (app.c:12)"),
            "{cause:?}"
        );
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn calls_that_only_say_not_yet_are_no_cause() {
        let answer = answer_for(&failing(40_000, 11));
        assert!(found(&answer, CauseId::FAILING_SYSCALL).is_none(), "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::FAILING_SYSCALL));
    }
}

mod clean {
    use super::*;

    #[test]
    fn failing_calls_that_cost_nothing_are_no_cause() {
        let answer = answer_for(&failing(500, 12));
        assert!(found(&answer, CauseId::FAILING_SYSCALL).is_none(), "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::FAILING_SYSCALL));
    }
}

#[test]
fn without_results_of_calls_failing_ones_stay_unsure() {
    let mut tables = failing(40_000, 12);
    tables.call_sites.clear();
    assert!(missing(&answer_for(&tables), CauseId::FAILING_SYSCALL).contains("not in this recording"));
}
