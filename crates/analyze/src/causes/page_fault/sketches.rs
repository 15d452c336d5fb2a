//! Pages that are touched for the first time.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::no_faster::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, ms};

const FAULT: &str = "clear_page@kernel < handle_mm_fault@kernel < exc_page_fault@kernel";

/// Threads that spend half of their time in faults that one thread does not have.
fn faulting(user: &str) -> Tables {
    flat()
        .traced(2, |run| {
            halves(run, |thread, _| {
                thread.runs(ms(500), WORK).runs_in_kernel_at(ms(500), None, user, FAULT);
            });
            run.fault_site("a", user, 100_000);
            run.row().minor_faults = 200_000;
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn page_faults_are_named_by_the_line_that_touches() {
        let answer = answer_for(&faulting("fill@app app.c:25 < work@app app.c:41"));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::PAGE_FAULT], "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(cause.summary.contains("fill (app.c:25)"), "{}", cause.summary);
        let one = cause.evidence.iter().find(|e| e.what.contains("one fault")).unwrap();
        assert!((one.value - 5.0).abs() < 0.5, "{one:?}");
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn page_faults_inside_the_allocator_are_the_allocator_s() {
        let answer =
            answer_for(&faulting("?@libc.so.6 < malloc@libc.so.6 < new_node@app app.c:25 < work@app app.c:41"));
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn faults_that_the_base_has_too_are_clear() {
        let user = "fill@app app.c:25";
        let fault = |run: &mut RunSketch<'_>, names: &[&str], each: u64| {
            for name in names {
                run.thread(name).runs(ms(each), WORK).runs_in_kernel_at(ms(each), None, user, FAULT);
            }
        };
        let answer = answer_for(
            &halved().traced(1, |r| fault(r, &["a"], 500)).traced(2, |r| fault(r, &["a", "b"], 250)).tables(),
        );
        assert!(answer.verdict.clear.contains(&CauseId::PAGE_FAULT));
    }
}
