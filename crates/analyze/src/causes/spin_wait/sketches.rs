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

    /// One thread that waits in a loop beside each requested one takes as much of the processors with one as with two.
    #[test]
    fn a_loop_beside_each_thread_is_a_spin_wait_at_the_baseline_too() {
        let answer = answer_for(&pairs(2, 1.0));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::SPIN_WAIT], "{:#?}", answer.verdict);
        let cause = found(&answer, CauseId::SPIN_WAIT).unwrap();
        assert!((cause.lost_seconds - 0.9).abs() < 0.1, "{cause:?}");
        assert_eq!(cause.culprit.as_ref().unwrap().line, Some(7));
    }
}

/// Pairs of threads, one of which works while the other one waits in a loop for what it hands over. With two pairs, the
/// whole takes `seconds`, and on two processors each pair has half of them.
fn pairs(processors: u32, seconds: f64) -> recording::Tables {
    use recording::synthetic::{Sketch, ms};
    let pair = |run: &mut recording::synthetic::RunSketch<'_>, pairs: u64, length: f64| {
        let each = (length * 1000.0) as u64;
        // With more threads than processors, they take turns.
        let turns = (2 * pairs).div_ceil(u64::from(processors));
        for at in 0..pairs {
            for (name, wait) in [("work", false), ("look", true)] {
                let mut thread = run.thread(&format!("{name}-{at}"));
                for turn in 0..each / 10 {
                    thread = match (turn % turns, wait) {
                        (0, false) => thread.runs(ms(10), WORK),
                        (0, true) => thread.runs(ms(1), WORK).runs(ms(9), COUNT),
                        _ => thread.runnable(ms(10)),
                    };
                }
            }
        }
    };
    let busy = f64::from(processors).min(4.0) * seconds;
    let mut tables = Sketch::new(processors)
        .clean_cpu(1, &around(1.0), &around(2.0))
        .clean_cpu(2, &around(seconds), &around(busy))
        .traced(1, |run| pair(run, 1, 1.0))
        .traced(2, |run| pair(run, 2, seconds))
        .tables();
    tables.meta.capabilities = slower().meta.capabilities;
    spins(&mut tables);
    confirm(&mut tables, [(true, LINE), (true, LINE)]);
    tables
}

mod near_miss {
    use super::*;

    /// On four processors, two pairs do twice as much: nothing is lost to the loops.
    #[test]
    fn loops_that_cost_no_speed_are_no_spin_wait() {
        let answer = answer_for(&pairs(4, 0.5));
        assert!(found(&answer, CauseId::SPIN_WAIT).is_none(), "{:#?}", answer.verdict);
    }

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
