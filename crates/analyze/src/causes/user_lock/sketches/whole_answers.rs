//! Whole answers about sketched programs: what is found, and what must not be found.

use crate::answer::CauseId;
use crate::common::*;

mod positive {
    use super::*;

    #[test]
    fn birthday_names_the_lock_inside_random() {
        let answer = answer_for(&birthday(&RANDOM));
        assert_balanced(&answer);
        let first = &answer.verdict.causes[0];
        assert_eq!((first.id, first.threads), (CauseId::USER_LOCK, 2));
        let culprit = first.culprit.as_ref().unwrap();
        assert_eq!((culprit.function.as_deref(), culprit.module.as_str()), (Some("random"), "libc.so.6"));
        assert_eq!((culprit.file.as_deref(), culprit.line, culprit.object.as_deref()), (None, None, Some("0x7f00")));
        let caller = &culprit.callers[0];
        assert_eq!(
            (caller.function.as_deref(), caller.file.as_deref(), caller.line),
            (Some("simulate"), Some("birthday.c"), Some(41))
        );
        assert!(first.remedies[0].contains("random_r"));
        assert_eq!(answer.knee_at, Some(1));
        assert!(answer.account[1].unexplained.abs() < 0.1 * answer.account[1].capacity, "{:?}", answer.account[1]);
        insta::assert_snapshot!(text(&answer));
    }

    #[test]
    fn birthday_without_symbols_names_the_same_lock() {
        let answer = answer_for(&birthday(&STRIPPED));
        let culprit = found(&answer, CauseId::USER_LOCK).unwrap().culprit.as_ref().unwrap();
        assert_eq!(culprit.function.as_deref(), Some("random"));
        assert_eq!((culprit.callers[0].function.as_deref(), culprit.callers[0].module.as_str()), (None, "birthday"));
    }

    #[test]
    fn a_rust_mutex_is_named_by_the_line_that_locks_it() {
        let answer = answer_for(&birthday(&RUST));
        assert_balanced(&answer);
        let culprit = found(&answer, CauseId::USER_LOCK).unwrap().culprit.as_ref().unwrap();
        assert_eq!(culprit.function.as_deref(), Some("tally::count"));
        assert_eq!((culprit.file.as_deref(), culprit.line), (Some("main.rs"), Some(12)));
        insta::assert_snapshot!(text(&answer));
    }
}

mod clean {
    use super::*;

    #[test]
    fn the_repaired_birthday_has_no_cause() {
        let answer = answer_for(&repaired());
        assert_balanced(&answer);
        let ids: Vec<CauseId> = answer.verdict.causes.iter().map(|c| c.id).collect();
        assert_eq!(ids, [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::USER_LOCK));
        assert!(answer.verdict.clear.contains(&CauseId::OVERSUBSCRIPTION));
        assert_eq!(answer.knee_at, Some(2));
        insta::assert_snapshot!(text(&answer));
    }
}
