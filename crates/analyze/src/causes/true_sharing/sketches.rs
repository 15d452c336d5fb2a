//! Variables that all threads write.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::memory::*;
use crate::common::*;
use recording::FrameId;
use recording::synthetic::ms;
use recording::tables::*;

/// Accesses of 100 counters on a line each, of which one was tried. `of`: which counter a thread uses at a time, in
/// milliseconds.
fn many(kind: AccessKind, tried: bool, of: fn(u64, u64) -> u64) -> Answer {
    let mut tables = slower();
    accesses(&mut tables, [(kind, LINE), (kind, LINE)]);
    for row in &mut tables.accesses {
        row.address = LINE + 64 * of(u64::from(row.thread.0), row.time_ns / ms(1));
    }
    if tried {
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}

/// One thread is half a round behind the other.
fn in_turn(thread: u64, at_ms: u64) -> u64 {
    (at_ms + 50 * thread) % 100
}

mod positive {
    use super::*;

    /// As the reference counts of a tree's nodes.
    #[test]
    fn counters_like_one_that_was_proven_are_shared() {
        let answer = many(AccessKind::Atomic, true, in_turn);
        assert_eq!(ids(&answer), [CauseId::TRUE_SHARING], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(cause.share > 0.9 && cause.summary.contains(" across 100 cache lines all the time"), "{cause:#?}");
        let trials = cause.evidence.iter().filter(|row| row.what.contains("trials of 600 µs"));
        assert!(trials.clone().count() <= 1 && trials.into_iter().all(|row| row.value > 0.0), "{cause:#?}");
    }

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

    /// The compiler put the first try for a lock into `count`; the lock's slow path uses the word at `at`, too.
    fn beside_lock(at: u64) -> Answer {
        let mut tables = slower();
        let count = tables.frames.iter().find(|row| row.frame == frame_of(&tables, "count")).unwrap().clone();
        let slow = FrameId(tables.frames.iter().map(|row| row.frame.0).max().unwrap() + 1);
        let function = Some("std::sys::sync::mutex::futex::Mutex::lock_contended".to_owned());
        tables.frames.push(Frame { frame: slow, function, line: None, ..count });
        accesses(&mut tables, [(AccessKind::Atomic, LINE), (AccessKind::Atomic, LINE)]);
        confirm(&mut tables, [(true, LINE), (true, LINE)]);
        let by_lock = tables.accesses.iter().step_by(10).map(|row| Access { frame: slow, address: at, ..row.clone() });
        let by_lock: Vec<Access> = by_lock.collect();
        tables.accesses.extend(by_lock);
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        answer
    }

    /// Near miss of it: a variable in the same line as the lock.
    #[test]
    fn a_word_that_a_lock_s_functions_use_is_the_lock_s() {
        let answer = beside_lock(LINE);
        assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
        assert_eq!(
            answer.verdict.causes[0].culprit.as_ref().and_then(|who| who.line),
            Some(7),
            "{:#?}",
            answer.verdict
        );
        assert_eq!(ids(&beside_lock(LINE + 8)), [CauseId::TRUE_SHARING]);
    }

    /// Nothing was tried; plain updates, as of a thread's own data; and memory that the other thread gets once.
    #[test]
    fn counters_that_nothing_proves_are_not_shared() {
        let handed_on: fn(u64, u64) -> u64 = |thread, at_ms| at_ms % 50 + 50 * (thread ^ u64::from(at_ms > 600));
        let few = [
            many(AccessKind::Atomic, false, in_turn),
            many(AccessKind::Update, true, in_turn),
            many(AccessKind::Atomic, true, handed_on),
        ];
        for answer in few {
            assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        }
    }

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
