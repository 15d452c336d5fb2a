//! Processors that the hypervisor gave to other virtual machines.

use crate::answer::CauseId;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::RunKind;

const WORK: &str = "work@app app.c:5";

/// Two threads that get nothing done together that one does not. Other virtual machines have the two processors for so
/// many milliseconds of each timed run with two threads, and of the observed one.
fn stolen(timed: u64, observed: u64) -> Tables {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(2.0));
    let mut tables = with_base(sketch, WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(1000), WORK);
            }
        })
        .tables();
    for run in &mut tables.runs {
        let of_two = if run.kind == RunKind::Clean { timed } else { observed };
        run.steal_ns = Some(if run.threads == 2 { ms(of_two) } else { 0 });
    }
    tables
}

mod positive {
    use super::*;

    #[test]
    fn other_virtual_machines_had_the_processors_in_the_timed_runs() {
        let answer = answer_for(&stolen(1000, 1000));
        let taken = condition(&answer, CauseId::STEAL).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(taken.summary.contains("gave 50 % of the processors to other virtual machines"), "{}", taken.summary);
        assert_eq!((taken.threads, taken.evidence[0].value), (2, 1.0));
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn what_they_had_of_the_observed_run_alone_slowed_no_timed_run() {
        assert!(condition(&answer_for(&stolen(0, 1000)), CauseId::STEAL).is_none());
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_machine_of_its_own_takes_nothing() {
        assert!(condition(&answer_for(&stolen(0, 0)), CauseId::STEAL).is_none());
    }
}
