//! Memory that is allocated.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::no_faster::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms, us};
use recording::tables::Reason;

const MADVISE: u32 = 28;

/// All that an allocator does: its code, its locks, its system calls and their kernel locks.
fn allocating(function: &str) -> Tables {
    let stack = |inner: &str| format!("{inner}{function} < new_node@app app.c:25 < insert@app app.c:41");
    flat()
        .traced(2, |run| {
            for (name, other) in [("a", "b"), ("b", "a")] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread
                        .runs(ms(10), WORK)
                        .runs(ms(3), &stack(""))
                        .locks(0x7f00, ms(4), &stack("__lll_lock_wait_private@libc.so.6 < "), other)
                        .runs_in_kernel(ms(1), 202, &stack("__lll_lock_wait_private@libc.so.6 < "))
                        .runs_in_kernel(ms(1), MADVISE, &stack("madvise@libc.so.6 < ?@libc.so.6 < "))
                        .waits_for(
                            Reason::KernelLock,
                            "mmap_lock",
                            Some(MADVISE),
                            ms(1),
                            &stack("madvise@libc.so.6 < "),
                        );
                }
                run.call_site(name, (MADVISE, "madvise"), &stack("madvise@libc.so.6 < "), None, 5000, us(10));
            }
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn the_allocator_is_one_cause_with_the_program_s_call_sites() {
        let answer = answer_for(&allocating("malloc@libc.so.6"));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(cause.share > 0.95, "{cause:?}");
        assert!(cause.summary.contains("malloc, called from new_node (app.c:25)"), "{}", cause.summary);
        assert!(cause.remedies.iter().any(|r| r.contains("M_TRIM_THRESHOLD")), "{:?}", cause.remedies);
        insta::assert_snapshot!(text(&answer));
    }

    #[test]
    fn allocators_of_other_makes_are_known_too() {
        for function in [
            "operator new(unsigned long)@libstdc++.so.6",
            "je_malloc@app",
            "mi_malloc@libmimalloc.so.2",
            "runtime.mallocgc@app",
        ] {
            let answer = answer_for(&allocating(function));
            assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{function}: {:#?}", answer.verdict);
            assert_eq!(
                answer.verdict.causes[0].culprit.as_ref().unwrap().callers[0].function.as_deref(),
                Some("new_node")
            );
        }
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_function_that_merely_sounds_like_an_allocator_is_the_program_s_lock() {
        let answer = answer_for(&allocating("pool_malloc@app pool.c:9"));
        assert!(found(&answer, CauseId::ALLOCATOR).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn allocating_that_costs_nothing_is_clear() {
        let allocates = "malloc@libc.so.6 < new_node@app app.c:25 < work@app app.c:40";
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean(2, &around(0.5))
            .traced(1, |run| {
                run.thread("a").runs(ms(900), WORK).runs(ms(100), allocates);
            })
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(450), WORK).runs(ms(50), allocates);
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::ALLOCATOR), "{:#?}", answer.verdict);
    }
}
