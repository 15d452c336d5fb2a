//! Other programs on the same processors.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::RunKind;

/// Two threads; the first is pushed off its processor for half of the time.
fn pushed(foreign_in_clean: u64) -> Tables {
    let mut tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(0.75), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(250), RANDOM.work).preempted(ms(250)).runs(ms(250), RANDOM.work);
            run.thread("b").runs(ms(500), RANDOM.work).preempted(ms(250));
        })
        .tables();
    tables.traces[1].foreign_ns = ms(510);
    for run in tables.runs.iter_mut().filter(|r| r.kind == RunKind::Clean) {
        run.foreign_ns = Some(foreign_in_clean);
    }
    tables
}

mod positive {
    use super::*;

    #[test]
    fn other_programs_are_blamed_when_they_were_there_in_the_timed_runs() {
        let mut tables = pushed(ms(480));
        for (pid, name, running_ns) in [(7, "backup", ms(400)), (8, "sshd", ms(110))] {
            let (run, name) = (tables.traces[1].run, name.to_owned());
            tables.foreign.push(recording::tables::Foreign { run, pid, name, running_ns });
        }
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(only_none(&answer), "nothing of it is the program's own: {:#?}", answer.verdict);
        let condition = condition(&answer, CauseId::CPU_PRESSURE).unwrap();
        assert!(condition.share > Some(0.2) && condition.threads == 2, "{condition:?}");
        assert_eq!(condition.by, ["backup", "sshd"]);
        assert!(
            answer.verdict.summary.contains("Other programs, most of all backup, took"),
            "{}",
            answer.verdict.summary
        );
        assert!(answer.warnings.iter().any(|w| w.contains("other programs")), "{:?}", answer.warnings);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn threads_of_the_kernel_are_no_other_programs() {
        let mut tables = pushed(ms(480));
        for (pid, name) in [(14, "ksoftirqd/0"), (903, "kworker/1:2")] {
            let (run, name) = (tables.traces[1].run, name.to_owned());
            tables.foreign.push(recording::tables::Foreign { run, pid, name, running_ns: ms(250) });
        }
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(condition(&answer, CauseId::CPU_PRESSURE).is_none(), "{:#?}", answer.verdict);
    }

    #[test]
    fn other_programs_in_the_traced_run_alone_prove_nothing() {
        let answer = answer_for(&pushed(0));
        assert!(only_none(&answer), "{:#?}", answer.verdict);
        assert!(condition(&answer, CauseId::CPU_PRESSURE).is_none());
        assert!(
            answer.warnings.iter().any(|w| w.contains("of the observed run with 2 threads, and not of the timed ones"))
        );
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_machine_without_other_programs_takes_nothing() {
        let mut tables = repaired();
        for run in &mut tables.runs {
            run.foreign_ns = Some(0);
        }
        let answer = answer_for(&tables);
        assert!(condition(&answer, CauseId::CPU_PRESSURE).is_none(), "{:#?}", answer.verdict);
    }
}
