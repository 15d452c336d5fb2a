//! User-space code that takes more time with more threads: what can be said, and what stays open.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::slower::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::RunKind;

/// Each of 1, 2 and 4 threads runs at `place` for its number of milliseconds in `each`; what runs at `at` takes the
/// milliseconds in `shared` in sum. Two processors.
pub(super) fn repeats(each: [u64; 3], place: impl Fn(u64) -> String, shared: [u64; 3], at: &str) -> Tables {
    repeats_beside_compiler(0, each, place, shared, at)
}

/// The same, while a compiler works for `compiling` milliseconds.
fn repeats_beside_compiler(
    compiling: u64,
    each: [u64; 3],
    place: impl Fn(u64) -> String,
    shared: [u64; 3],
    at: &str,
) -> Tables {
    let traced = |threads: u64, each: u64, shared: u64| {
        let place = &place;
        move |run: &mut RunSketch<'_>| {
            for name in ["a", "b", "c", "d"].into_iter().take(threads as usize) {
                let mut thread = run.thread(name);
                for i in 0..each {
                    thread = thread.runs(ms(1), &place(i));
                    if threads > 2 {
                        thread = thread.runnable(ms(1));
                    }
                }
                thread.runs(ms(shared / threads), at);
            }
            if compiling > 0 {
                run.thread("C2 CompilerThre").runs(ms(compiling), "C2Compiler::compile_method()@libjvm.so");
            }
        }
    };
    let cpu = |nth: usize| (compiling + shared[nth] + (1 << nth) * each[nth]) as f64 / 1000.0;
    Sketch::new(2)
        .clean(1, &around(cpu(0)))
        .clean_cpu(2, &around(cpu(1) / 2.0), &around(cpu(1)))
        .clean_cpu(4, &around(cpu(2) / 2.0), &around(cpu(2)))
        .traced(1, traced(1, each[0], shared[0]))
        .traced(2, traced(2, each[1], shared[1]))
        .traced(4, traced(4, each[2], shared[2]))
        .tables()
}

/// A single thread runs `build` for half a second, each of two threads for `two` milliseconds, each of four for `four`;
/// the rest is shared.
fn each_builds(two: u64, four: u64) -> Tables {
    repeats([500, two, four], |i| format!("build@app app.c:{} < work@app app.c:9", 100 + i % 60), [400; 3], WORK)
}

fn each_builds_beside_compiler(compiling: u64) -> Tables {
    let place = |i| format!("build@app app.c:{} < work@app app.c:9", 100 + i % 60);
    repeats_beside_compiler(compiling, [500; 3], place, [400; 3], WORK)
}

/// A single thread loads for `load` milliseconds, each of two for `two`, each of four for `four`. Each counts a part of
/// what it loads, `count` milliseconds in sum with one thread and 400 with more.
fn each_loads(load: u64, count: u64, [two, four]: [u64; 2]) -> Tables {
    let parse = |i| format!("parse@app app.c:{} < load@app app.c:9", 100 + i % 60);
    repeats([load, two, four], parse, [count, 400, 400], "count@app app.c:80 < load@app app.c:12")
}

/// The same, with the time of `build` spent in the functions that it calls.
fn in_callees(tables: &Tables) -> Tables {
    let mut tables = tables.clone();
    let build = tables.frames.iter().find(|f| f.function.as_deref() == Some("build")).unwrap().clone();
    let outer = recording::FrameId(9000);
    let called: Vec<_> =
        tables.frames.iter().filter(|f| f.function.as_deref() == Some("build")).map(|f| f.frame).collect();
    for frame in tables.frames.iter_mut().filter(|f| called.contains(&f.frame)) {
        frame.function = Some(format!("part_{}", frame.line.unwrap_or(0) % 7));
    }
    tables.frames.push(recording::tables::Frame { frame: outer, ..build });
    // `work` calls `build`, which calls the parts.
    let parts: Vec<_> =
        tables.stacks.iter().filter(|s| called.contains(&s.frame)).map(|s| (s.stack, s.parent)).collect();
    for (nth, (stack, parent)) in parts.into_iter().enumerate() {
        let between = recording::StackId(9000 + nth as u32);
        tables.stacks.push(recording::tables::Stack { stack: between, parent, frame: outer, truncated: false });
        tables.stacks.iter_mut().find(|s| s.stack == stack).unwrap().parent = Some(between);
    }
    tables
}

/// Moves the samples of each run to one of its threads.
fn on_the_first_thread(tables: &mut Tables) {
    let runs: Vec<_> = tables.traces.iter().map(|t| t.run).collect();
    for run in runs {
        let Some(first) = tables.samples.iter().find(|s| s.run == run).map(|s| s.thread) else { continue };
        tables.samples.iter_mut().filter(|s| s.run == run).for_each(|s| s.thread = first);
    }
}

mod positive {
    use super::*;

    #[test]
    fn a_large_function_that_one_thread_does_not_run_is_extra_work() {
        let answer = answer_for(&slower("merge", 120, true));
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap();
        assert!(cause.summary.starts_with("merge (app.c:"), "{}", cause.summary);
        assert!((cause.lost_seconds - 1.0).abs() < 0.05, "{cause:?}");
    }

    #[test]
    fn more_instructions_in_a_large_function_are_extra_work() {
        let answer = answer_for(&counted(slower("scan", 120, false), [1_000_000, 1_900_000], [1000, 5000]));
        assert_eq!(ids(&answer), [CauseId::EXTRA_WORK], "{:#?}", answer.verdict);
        // In a loop that may just wait, more instructions prove nothing.
        let answer = answer_for(&counted(slower("spin", 3, false), [1_000_000, 1_900_000], [1000, 5000]));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
    }

    #[test]
    fn repeated_work_is_told_by_the_function_that_holds_it_all() {
        let answer = answer_for(&in_callees(&each_builds(500, 500)));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does all of build"), "{}", cause.summary);
        let answer = answer_for(&in_callees(&each_builds(500, 250)));
        assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
    }

    /// Twice as long with two processors, and as long with more threads on them.
    #[test]
    fn repeated_work_that_memory_slows_down_too_is_repeated() {
        let build = |i| format!("build@app app.c:{} < work@app app.c:9", 100 + i % 60);
        let answer = answer_for(&repeats([300, 600, 600], build, [800; 3], WORK));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        let told =
            "for itself: it takes 2.0 times as long in each of them as in one alone, with more threads than processors";
        assert!(cause.summary.contains(told), "{}", cause.summary);
    }

    /// The run of a single thread was 1.5 times as slow as the others.
    #[test]
    fn runs_at_another_pace_are_compared_by_the_work_that_threads_share() {
        let answer = answer_for(&each_loads(750, 600, [500, 500]));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does all of parse"), "{}", cause.summary);
        // Both `parse` and other code of `load` are repeated, but what `count` does is shared.
        let mut tables = each_loads(750, 600, [500, 500]);
        for frame in tables.frames.iter_mut().filter(|f| f.function.as_deref() == Some("parse")) {
            frame.function = Some(format!("part_{}", frame.line.unwrap_or(0) % 7));
        }
        let answer = answer_for(&tables);
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does most of load (app.c:9)"), "{}", cause.summary);
    }

    /// The run of a single thread was 1.4 times as slow as the others, and the repeated work is called by the shared work.
    /// The near miss: it is shared, too.
    #[test]
    fn runs_at_another_pace_are_compared_by_all_other_work() {
        let told = |two: u64, four: u64| {
            let parse = |i| format!("parse@app app.c:{} < count@app app.c:80 < load@app app.c:12", 100 + i % 60);
            let tables = repeats([700, two, four], parse, [560, 400, 400], "count@app app.c:81 < load@app app.c:12");
            found(&answer_for(&tables), CauseId::EXTRA_WORK).map(|cause| cause.summary.clone())
        };
        let repeated = told(500, 500);
        assert!(
            repeated.as_ref().is_some_and(|told| told.starts_with("Each thread does all of parse")),
            "{repeated:?}"
        );
        assert_eq!(told(250, 125), None);
    }

    #[test]
    fn work_that_each_thread_repeats_is_told_without_counters() {
        let answer = answer_for(&each_builds(500, 500));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does all of build"), "{}", cause.summary);
    }

    /// The observed run with two threads grew twice as much as the timed ones: the account halves its growth, but a function's
    /// time is still the time that it takes.
    #[test]
    fn repeated_work_is_told_where_the_observed_run_grew_more_than_the_timed_ones() {
        let mut tables = each_builds(500, 500);
        for run in tables.runs.iter_mut().filter(|run| run.kind == RunKind::Clean && run.threads == 2) {
            (run.wall_ns, run.user_ns) = (run.wall_ns / 140 * 115, run.user_ns / 140 * 115);
        }
        let answer = answer_for(&tables);
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does all of build"), "{}", cause.summary);
    }

    /// A compiler that works for less than half as long as the growth does not explain it.
    #[test]
    fn repeated_work_is_told_beside_a_compiler_too() {
        let answer = answer_for(&each_builds_beside_compiler(100));
        assert!(found(&answer, CauseId::EXTRA_WORK).is_some(), "{:#?}", answer.verdict);
    }

    /// With two threads, the compiler's time on two processors would explain the growth; with four, it does not.
    #[test]
    fn work_that_is_repeated_at_one_count_is_repeated_at_each() {
        let place = |i| format!("build@app app.c:{} < work@app app.c:9", 100 + i % 60);
        let answer = answer_for(&repeats_beside_compiler(100, [150; 3], place, [900; 3], WORK));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert_eq!(cause.threads, 2, "{cause:#?}");
    }

    /// Nearly all work is repeated, and the run with four threads was faster than the others.
    #[test]
    fn a_faster_run_with_more_threads_than_processors_repeats_nearly_all_work_too() {
        let all = |count| {
            repeats([1000, 950, 760], |i| format!("build@app app.c:{} < work@app app.c:9", 100 + i % 60), count, WORK)
        };
        let answer = answer_for(&all([40; 3]));
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does most of build"), "{}", cause.summary);
        // Where more of the work is shared, it shows that the pace was the same.
        let answer = answer_for(&all([400; 3]));
        assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
    }

    #[test]
    fn tasks_that_move_between_threads_repeat_it_too() {
        let mut tables = each_builds(500, 500);
        for sample in &mut tables.samples {
            sample.goroutine = Some(0xc000_0000 + u64::from(sample.thread.0));
        }
        on_the_first_thread(&mut tables);
        let answer = answer_for(&tables);
        let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.starts_with("Each thread does all of build"), "{}", cause.summary);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn a_small_loop_that_one_thread_does_not_run_may_only_wait() {
        let answer = answer_for(&slower("until_ready", 3, true));
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        for id in [
            CauseId::EXTRA_WORK,
            CauseId::SPIN_WAIT,
            CauseId::FALSE_SHARING,
            CauseId::TRUE_SHARING,
            CauseId::MEMORY_BOUND,
        ] {
            assert!(missing(&answer, id).contains("most in until_ready"), "{}", missing(&answer, id));
        }
    }

    /// All code of a library without symbols has the same lack of a name.
    #[test]
    fn code_without_a_name_is_no_function_that_is_repeated() {
        let mut tables = each_builds(500, 500);
        for frame in tables.frames.iter_mut().filter(|f| f.function.as_deref() == Some("build")) {
            frame.function = None;
        }
        let answer = answer_for(&tables);
        assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
    }

    /// While a virtual machine compiles the program, each thread runs code that is not compiled yet, and that is slower.
    #[test]
    fn code_that_a_compiler_has_not_reached_yet_may_only_be_slower() {
        let place = |i| format!("build@app app.c:{} < work@app app.c:9", 100 + i % 60);
        let answer = answer_for(&repeats_beside_compiler(300, [150; 3], place, [900; 3], WORK));
        assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
        let reason = missing(&answer, CauseId::EXTRA_WORK);
        assert!(reason.contains("the runtime's compiler works meanwhile"), "{reason}");
    }

    #[test]
    fn what_one_thread_has_nearly_all_of_is_not_repeated() {
        let mut tables = each_builds(500, 500);
        on_the_first_thread(&mut tables);
        let answer = answer_for(&tables);
        assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
        assert!(answer.verdict.unsure.iter().any(|u| u.id == CauseId::EXTRA_WORK), "{:#?}", answer.verdict);
    }

    /// `count` shows the pace, and `parse` is slower with two processors, but not with more threads on them.
    #[test]
    fn what_grows_with_the_processors_only_is_not_repeated_at_any_pace() {
        for load in [500, 750] {
            let answer = answer_for(&each_loads(load, load * 4 / 5, [500, 250]));
            assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
        }
    }

    #[test]
    fn what_grows_with_the_processors_only_may_be_memory_and_is_not_called_repeated() {
        // First, each of four threads takes half as long as each of two. Second, two are so much slower that each of four
        // takes nearly as long as a single thread.
        for (two, four) in [(500, 250), (750, 420)] {
            let answer = answer_for(&each_builds(two, four));
            assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
        }
        let answer = answer_for(&each_builds(500, 250));
        assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
        assert!(answer.verdict.unsure.iter().any(|u| u.id == CauseId::EXTRA_WORK), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn code_that_takes_no_more_time_clears_them_all() {
        let answer = answer_for(
            &with_base(halved(), WORK)
                .traced(2, |run| {
                    run.thread("a").runs(ms(500), WORK);
                    run.thread("b").runs(ms(500), WORK);
                })
                .tables(),
        );
        for id in [
            CauseId::EXTRA_WORK,
            CauseId::SPIN_WAIT,
            CauseId::FALSE_SHARING,
            CauseId::TRUE_SHARING,
            CauseId::MEMORY_BOUND,
        ] {
            assert!(answer.verdict.clear.contains(&id), "{id:?}: {:#?}", answer.verdict);
        }
    }
}

#[test]
fn where_instructions_are_counted_and_do_not_grow_nothing_is_repeated() {
    let mut tables = each_builds(500, 500);
    for run in &mut tables.runs {
        run.instructions = Some(1_000_000);
    }
    let answer = answer_for(&tables);
    assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
}
