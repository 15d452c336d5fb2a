//! Programs that are asked for four threads on four processors.

use super::META;
use crate::common::{around, with_base};
use crate::verdict;
use analyze::answer::Verdict;
use recording::synthetic::{Sketch, ms};

const WORK: &str = "work@app app.c:5";

/// So many threads start, and each runs for so many milliseconds; the timed runs last as long as the longest.
fn started(each: &[u64]) -> Verdict {
    let (longest, cpu) = (each.iter().max().copied().unwrap_or(0), each.iter().sum::<u64>());
    let sketch =
        Sketch::new(4).clean(1, &around(1.0)).clean_cpu(4, &around(longest as f64 * 1e-3), &around(cpu as f64 * 1e-3));
    let sketch = with_base(sketch, WORK).traced(4, |run| {
        for (name, runs) in ["a", "b", "c", "d"].into_iter().zip(each) {
            run.thread(name).runs(ms(*runs), WORK);
        }
    });
    verdict(&sketch.tables())
}

mod positive {
    use super::*;

    #[test]
    fn two_threads_where_four_were_asked_for_leave_two_processors_idle() {
        let verdict = started(&[500, 500]);
        let cause = verdict.causes.iter().find(|cause| cause.id == META.id).expect("found");
        assert_eq!(cause.summary, "The program runs 2 threads where it was asked for 4.");
        assert_eq!(cause.evidence[0].value, 2.0);
        assert!((cause.lost_seconds - 1.0).abs() < 0.05, "two processors for half a second: {cause:?}");
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn threads_that_end_early_did_start() {
        let verdict = started(&[450, 450, 50, 50]);
        assert!(verdict.causes.iter().all(|cause| cause.id != META.id), "{verdict:#?}");
        assert!(!verdict.causes.is_empty() && verdict.clear.contains(&META.id), "{verdict:#?}");
    }
}

mod clean {
    use super::*;

    #[test]
    fn as_many_threads_as_asked_for_are_clear() {
        assert!(started(&[250, 250, 250, 250]).clear.contains(&META.id));
    }
}
