//! Variables that all threads write.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::memory::*;
use crate::common::*;
use recording::tables::*;

mod positive {
    use super::*;

    #[test]
    fn the_same_bytes_are_true_sharing() {
        let mut tables = slower();
        accesses(&mut tables, [(AccessKind::Atomic, LINE), (AccessKind::Atomic, LINE)]);
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        variable(&mut tables, "total", 8, &[LINE]);
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::TRUE_SHARING], "{:#?}", answer.verdict);
        let cause = found(&answer, CauseId::TRUE_SHARING).unwrap();
        assert!(cause.summary.contains("use total all the time"), "{}", cause.summary);
        assert!(answer.verdict.clear.contains(&CauseId::FALSE_SHARING));
    }

    #[test]
    fn what_a_thread_uses_beside_a_variable_that_all_write_is_not_to_blame() {
        let mut tables = slower();
        accesses(&mut tables, [(AccessKind::Atomic, LINE), (AccessKind::Atomic, LINE)]);
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        variable(&mut tables, "state", 8, &[LINE]);
        variable(&mut tables, "options", 8, &[LINE + 8]);
        // Most samples come after the load of the neighbouring variable: it is the first access to the line in each round.
        for row in tables.accesses.iter_mut().step_by(4) {
            row.distance = -3;
        }
        let beside: Vec<Access> = tables
            .accesses
            .iter()
            .map(|row| Access { kind: AccessKind::Load, address: LINE + 8, ..row.clone() })
            .collect();
        tables.accesses.extend(beside);
        let answer = answer_for(&tables);
        assert_eq!(ids(&answer), [CauseId::TRUE_SHARING], "{:#?}", answer.verdict);
        assert!(answer.verdict.causes[0].summary.contains("use state all the time"), "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_variable_that_all_threads_only_read_is_not_shared() {
        let mut tables = slower();
        accesses(&mut tables, [(AccessKind::Load, LINE), (AccessKind::Load, LINE)]);
        confirm(&mut tables, [(false, LINE), (false, LINE)]);
        let answer = answer_for(&tables);
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(missing(&answer, CauseId::TRUE_SHARING).contains("no cache line was seen"), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_shared_variable_that_costs_nothing_is_clear() {
        let mut tables = slower();
        accesses(&mut tables, [(AccessKind::Atomic, LINE), (AccessKind::Atomic, LINE)]);
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        let answer = answer_for(&costs_nothing(tables));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::TRUE_SHARING), "{:#?}", answer.verdict);
    }
}
