//! Who waits for work waits for no lock.

use crate::answer::CauseId;
use crate::common::*;

mod near_miss {
    use super::*;

    #[test]
    fn consumers_of_a_slow_producer_wait_for_no_lock() {
        let answer = answer_for(&queue());
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::CONDITION_WAIT).is_some(), "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::USER_LOCK));
        insta::assert_snapshot!(text(&answer));
    }
}
