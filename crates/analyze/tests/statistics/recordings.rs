//! Growth between thread counts, and two recordings compared.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Judgement, Kind};
use analyze::compare::compare;
use recording::Tables;
use recording::synthetic::{Sketch, ms};

const WORK: &str = "work@app app.c:5";
const SCAN: &str = "scan@app app.c:9";

/// A sweep with one and two threads. With two, a run takes `seconds`, and each thread scans for `scan` milliseconds.
fn program(seconds: f64, scan: u64) -> Tables {
    Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(seconds), &around(2.0 * seconds))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), WORK);
            run.syscalls("a", 1, "write", 100);
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(500), WORK).runs(ms(scan), SCAN);
                run.syscalls(name, 1, "write", 10 * scan + 50);
            }
        })
        .tables()
}

#[test]
fn what_grows_with_the_threads_comes_first_and_what_does_not_is_left_out() {
    let answer = answer_for(&program(0.9, 400));
    let of = |kind| answer.growth.iter().filter(move |g| g.kind == kind).collect::<Vec<_>>();
    let functions = of(Kind::Function);
    assert_eq!(functions.len(), 1, "{functions:#?}");
    assert!(functions[0].name.starts_with("scan"));
    assert!((functions[0].growth - 0.8).abs() < 0.05, "{functions:#?}");
    assert_eq!(functions[0].at.iter().map(|a| a.threads).collect::<Vec<_>>(), [1, 2]);
    let calls = of(Kind::SystemCall);
    assert_eq!((calls[0].name.as_str(), calls[0].growth), ("write", 8000.0));
    assert!(answer_for(&program(0.5, 1)).growth.iter().all(|g| g.kind != Kind::Function));
}

#[test]
fn a_change_is_better_worse_or_not_told_from_noise() {
    let (slow, fast) = (program(0.9, 400), program(0.5, 1));
    let judged = |a: &Tables, b: &Tables| compare(a, b).curve.iter().map(|c| c.judgement).collect::<Vec<_>>();
    assert_eq!(judged(&slow, &fast), [Judgement::Unclear, Judgement::Better]);
    assert_eq!(judged(&fast, &slow), [Judgement::Unclear, Judgement::Worse]);
    let comparison = compare(&slow, &fast);
    let scan = comparison.changes.iter().find(|c| c.kind == Kind::Function).unwrap();
    assert!(scan.name.starts_with("scan") && scan.threads == 2 && scan.after < scan.before, "{scan:?}");
    assert!(comparison.changes.iter().any(|c| c.kind == Kind::SystemCall && c.name == "write"));
    assert!(comparison.summary.contains("faster with 2 threads"), "{}", comparison.summary);
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let comparison = compare(&program(0.9, 400), &program(0.9, 400));
    assert!(comparison.changes.is_empty() && comparison.warnings.is_empty(), "{comparison:#?}");
    assert!(comparison.curve.iter().all(|c| c.judgement == Judgement::Unclear));
}

#[test]
fn one_run_each_tells_nothing_from_noise_and_nothing_in_common_is_said() {
    let once = |seconds| Sketch::new(2).clean(1, &[seconds]).tables();
    let comparison = compare(&once(1.0), &once(0.1));
    assert_eq!(comparison.curve[0].judgement, Judgement::Unclear);
    assert!(comparison.curve[0].interval.is_none());
    let other =
        compare(&Sketch::new(2).clean(1, &around(1.0)).tables(), &Sketch::new(2).clean(4, &around(1.0)).tables());
    assert!(other.curve.is_empty() && other.warnings.len() == 2, "{other:#?}");
    let empty = compare(&Sketch::new(2).tables(), &Sketch::new(2).tables());
    assert!(empty.curve.is_empty() && empty.changes.is_empty());
}

/// The same program, with other programs that took this share of two processors in each timed run.
fn beside(seconds: f64, share: f64) -> Tables {
    let mut tables = program(seconds, 400);
    for run in &mut tables.runs {
        run.foreign_ns = Some((run.wall_ns as f64 * 2.0 * share) as u64);
        run.steal_ns = Some(0);
    }
    tables
}

#[test]
fn what_another_load_can_do_is_no_change_of_the_program() {
    let judged = |a: &Tables, b: &Tables| compare(a, b).curve.iter().map(|c| c.judgement).collect::<Vec<_>>();
    // Half of both processors is taken: 1.25 s instead of 0.9 s.
    let comparison = compare(&beside(0.9, 0.0), &beside(1.25, 0.5));
    assert_eq!(comparison.curve[1].judgement, Judgement::Unclear, "{comparison:#?}");
    assert!(comparison.warnings.iter().any(|w| w.contains("0 % of the processors before the change and 50 %")));
    assert_eq!(judged(&beside(1.25, 0.5), &beside(0.9, 0.0)), [Judgement::Unclear; 2]);
    // Equal load in both: nothing to allow for. Ten times as long is more than that load can explain.
    assert_eq!(judged(&beside(0.9, 0.5), &beside(1.25, 0.5)), [Judgement::Unclear, Judgement::Worse]);
    assert_eq!(judged(&beside(0.9, 0.0), &beside(9.0, 0.5))[1], Judgement::Worse);
    // A load that slows the first recording cannot explain that the second is slower.
    assert_eq!(judged(&beside(0.9, 0.5), &beside(1.25, 0.0))[1], Judgement::Worse);
}
