//! The load's own time is not that of other programs.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::server::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};

/// Two threads that are never kept off their processors, on a machine with four.
fn halved_by_two() -> Tables {
    let sketch = Sketch::new(4).clean(1, &around(1.0)).clean(2, &around(0.5));
    with_base(sketch, WORK)
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(500), WORK);
            }
        })
        .tables()
}

mod positive {
    use super::*;

    /// Two threads that want both processors but each have one for half of the time: the load has the other half.
    #[test]
    fn what_the_load_takes_is_no_other_program_s() {
        let half = |run: &mut recording::synthetic::RunSketch<'_>, threads: u64| {
            for thread in 0..threads {
                let mut thread = run.thread(&format!("worker-{thread}"));
                for _ in 0..10 {
                    thread = thread.runs(ms(50), WORK).preempted(ms(50));
                }
            }
            run.row().throughput = Some(500.0 * threads as f64);
        };
        let sketch = Sketch::new(2)
            .clean_cpu(1, &around(1.0), &around(1.0))
            .clean_cpu(2, &around(1.0), &around(1.0))
            .throughput(1, &around(1000.0))
            .throughput(2, &around(1000.0));
        let mut tables = loaded(sketch.traced(1, |run| half(run, 1)).traced(2, |run| half(run, 2)).tables(), 1.0, 2);
        for trace in &mut tables.traces {
            (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(ms(1000)));
        }
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(condition(&answer, CauseId::CPU_PRESSURE).is_none(), "{:#?}", answer.verdict);
        let told = machine(&answer, CauseId::LOAD).unwrap();
        assert!(told.starts_with("the load, which ran on 1.0 processors, took 50 % of the processor time"), "{told}");
        assert!(answer.verdict.causes.iter().all(|cause| cause.id == CauseId::NONE), "{:#?}", answer.verdict);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_load_that_runs_while_nobody_wants_its_processor_takes_nothing() {
        let mut tables = loaded(halved_by_two(), 0.4, 1);
        for trace in &mut tables.traces {
            (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(ms(400)));
        }
        assert!(machine(&answer_for(&tables), CauseId::LOAD).is_none());
    }
}

mod clean {
    use super::*;

    #[test]
    fn without_a_load_none_takes_anything() {
        assert!(machine(&answer_for(&halved_by_two()), CauseId::LOAD).is_none());
    }
}

#[test]
fn a_lock_is_found_beside_the_load() {
    let mut tables = loaded(birthday(&RANDOM), 0.1, 1);
    for trace in &mut tables.traces {
        (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(0));
    }
    let answer = answer_for(&tables);
    assert_eq!(answer.verdict.causes[0].id, CauseId::USER_LOCK, "{:#?}", answer.verdict);
}
