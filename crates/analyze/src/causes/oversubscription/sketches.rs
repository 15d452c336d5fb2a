//! More threads than processors.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::*;

mod positive {
    use super::*;

    #[test]
    fn more_threads_than_processors_that_lose_time() {
        let answer = answer_for(&crowded());
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::OVERSUBSCRIPTION).unwrap();
        assert_eq!(cause.threads, 4);
        assert!(cause.share > 0.8, "{cause:?}");
        assert!(answer.verdict.summary.contains("on 2 processors"), "{}", answer.verdict.summary);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn more_threads_than_processors_that_wait_for_a_lock_lose_no_time_by_turns() {
        let answer = answer_for(&birthday(&RANDOM));
        assert!(found(&answer, CauseId::OVERSUBSCRIPTION).is_none(), "{:#?}", answer.verdict);
        assert_eq!(ids(&answer).first(), Some(&CauseId::USER_LOCK), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn more_threads_than_processors_that_lose_nothing() {
        assert!(answer_for(&repaired()).verdict.clear.contains(&CauseId::OVERSUBSCRIPTION));
    }
}
