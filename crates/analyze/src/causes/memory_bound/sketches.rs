//! Code that waits for memory.

use crate::answer::CauseId;
use crate::common::slower::*;
use crate::common::*;
use recording::synthetic::ms;

mod positive {
    use super::*;

    #[test]
    fn as_many_instructions_and_more_misses_are_memory() {
        let answer = answer_for(&counted(slower("stream", 120, false), [1_000_000, 1_010_000], [1000, 5000]));
        assert_eq!(ids(&answer), [CauseId::MEMORY_BOUND], "{:#?}", answer.verdict);
        assert!(answer.verdict.causes[0].summary.contains("stream"), "{}", answer.verdict.causes[0].summary);
        // The same without more misses may be a cache line that the threads share.
        let answer = answer_for(&counted(slower("stream", 120, false), [1_000_000, 1_010_000], [1000, 1010]));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn the_same_function_with_more_time_proves_nothing_without_counters() {
        let answer = answer_for(&slower("stream", 120, false));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(missing(&answer, CauseId::MEMORY_BOUND).contains("hardware counters"));
        assert!(missing(&answer, CauseId::EXTRA_WORK).contains("most in stream"));
    }
}

mod clean {
    use super::*;

    #[test]
    fn code_that_takes_no_more_time_does_not_wait_for_memory() {
        let tables = with_base(halved(), WORK)
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(500), WORK);
                }
            })
            .tables();
        let answer = answer_for(&counted(tables, [1_000_000, 1_010_000], [1000, 5000]));
        assert!(answer.verdict.clear.contains(&CauseId::MEMORY_BOUND), "{:#?}", answer.verdict);
    }
}
