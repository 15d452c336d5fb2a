//! More system calls for the same work.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::no_faster::*;
use crate::common::*;

mod positive {
    use super::*;

    #[test]
    fn more_calls_per_unit_of_work_are_extra_work() {
        let answer = answer_for(&failing(0, 12));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap();
        assert!(
            cause.summary.contains("mmap is called 100000 times per unit of work instead of 0"),
            "{}",
            cause.summary
        );
    }
}
