//! Loops that wait for what another thread writes.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::memory::*;
use crate::common::*;

mod positive {
    use super::*;

    #[test]
    fn a_loop_that_reads_what_another_thread_writes_is_a_spin_wait() {
        let mut tables = slower();
        spins(&mut tables);
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        variable(&mut tables, "turn", 4, &[LINE]);
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::SPIN_WAIT], "{:#?}", answer.verdict);
        let cause = found(&answer, CauseId::SPIN_WAIT).unwrap();
        let expected = "Threads wait in a loop at count (app.c:7) until count (app.c:7) writes to turn.";
        assert_eq!(cause.summary, expected);
        assert!((cause.lost_seconds - 1.0).abs() < 0.1, "{cause:?}");
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_loop_that_nobody_writes_for_stays_unsure() {
        let mut tables = slower();
        spins(&mut tables);
        let answer = answer_for(&tables);
        assert_eq!(ids(&answer), [CauseId::NONE]);
        assert!(
            missing(&answer, CauseId::SPIN_WAIT).contains("no other thread was seen to write"),
            "{:?}",
            answer.verdict
        );
        // What only the waiting thread writes is not what it waits for.
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        tables.confirmations.truncate(1);
        tables.spins.truncate(1);
        assert!(missing(&answer_for(&tables), CauseId::SPIN_WAIT).contains("no other thread was seen to write"));
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_loop_that_takes_no_more_time_waits_for_nobody() {
        let mut tables = slower();
        spins(&mut tables);
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        let answer = answer_for(&costs_nothing(tables));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::SPIN_WAIT), "{:#?}", answer.verdict);
    }
}
