//! Tasks (goroutines) that wait for one of n things.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::parked::*;
use crate::common::*;

const GIVES: &str = "runtime.lock2@app < runtime.chansend@app < runtime.chansend1@app < main.release@app a.go:63 < \
                     main.upload@app a.go:73 < runtime.goexit@app";
const FEEDS: &str = "runtime.lock2@app < runtime.chansend@app < runtime.chansend1@app < main.produce@app a.go:80 < \
                     runtime.goexit@app";

mod positive {
    use super::*;

    #[test]
    fn tasks_that_wait_for_one_of_two_are_told_with_what_holders_do() {
        let answer = channel(100, |look| if look % 5 == 0 { (6, 1) } else { (5, 2) }, &[GIVES]);
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::RESOURCE_POOL).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("main.acquire"));
        assert!(cause.summary.contains("for one of 2 resources"), "{}", cause.summary);
        assert!(cause.summary.contains("asleep in time.Sleep, called from main.send (a.go:66)"), "{}", cause.summary);
        assert!(cause.remedies[0].contains("holders only wait"), "{:?}", cause.remedies);
    }

    /// A library gives its own back, and the program sends work elsewhere. Near misses: the library's own goroutine feeds
    /// them; and the program does what the library did.
    #[test]
    fn tasks_that_wait_inside_a_library_have_its_pool() {
        const OF: [&str; 3] =
            ["take@app /go/pkg/mod/zip/z.go:9", "give@app /go/pkg/mod/zip/z.go:12", "fill@app /go/pkg/mod/zip/z.go:15"];
        let called = |stack: &str, place: &str, function: usize| {
            stack.replace(place, &format!("x.org/zip.(*Coder).{} < {place}", OF[function]))
        };
        let inside = |stack: &str| called(stack, "main.acquire@app", 0);
        let gives = called(GIVES, "main.release@app", 1);
        let feeds = called(FEEDS, "main.produce@app", 2);
        let is_pool = |ran: &[&str]| {
            let answer = channel_at(&inside(TAKES), 100, |_| (5, 1), ran);
            found(&answer, CauseId::RESOURCE_POOL).is_some()
        };
        assert!(is_pool(&[&gives, FEEDS]));
        assert!(!is_pool(&[&gives, &feeds]));
        assert!(!is_pool(&[GIVES, FEEDS]));
    }
}

mod near_miss {
    use super::*;

    /// The near miss: the same tasks, and who sends is another one, which has too little work for them.
    #[test]
    fn tasks_that_are_fed_by_another_have_a_queue() {
        // Also where the tasks send something themselves: their results, say.
        for ran in [&[FEEDS][..], &[FEEDS, GIVES]] {
            let answer = channel(100, |_| (5, 2), ran);
            assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{ran:?}: {:#?}", answer.verdict);
        }
    }

    /// The near miss: tasks hand work to each other, and now many, now few of them have some.
    #[test]
    fn tasks_that_are_busy_in_changing_numbers_have_no_pool() {
        let answer = channel(100, |look| (7 - (look % 7) as u32, (look % 7) as u32), &[GIVES]);
        assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{:#?}", answer.verdict);
    }

    #[test]
    fn few_looks_tell_no_pool_of_tasks() {
        let answer = channel(9, |_| (5, 2), &[GIVES]);
        assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{:#?}", answer.verdict);
    }

    /// Two tasks may as well take turns.
    #[test]
    fn two_tasks_have_no_pool() {
        let answer = channel(100, |_| (1, 1), &[GIVES]);
        assert!(found(&answer, CauseId::RESOURCE_POOL).is_none(), "{:#?}", answer.verdict);
    }
}
