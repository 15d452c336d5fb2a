//! Tests of the loop without processes or a clock: a fake executor simulates the target.

use super::*;
use crate::executor::Outputs;
use crate::plan::template::Template;
use crate::plan::{Amounts, more, plan};
use collect::Stream;
use recording::meta::Counted;
use recording::tables::Run;
use recording::{RunId, Tables, Writer};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

type Simulated<'p> = dyn FnMut(&RunRequest) -> Result<(Finished, String), Error> + 'p;

/// Simulates each run with a closure and remembers which runs were requested.
struct Fake<'p> {
    simulate: Box<Simulated<'p>>,
    requested: Vec<(RunKind, u32)>,
}

impl Executor for Fake<'_> {
    fn run(&mut self, request: &RunRequest, to: Outputs<'_>, _: &mut Writer) -> Result<Finished, Error> {
        self.requested.push((request.kind, request.threads));
        let (finished, output) = (self.simulate)(request)?;
        match request.load {
            None => to.program.bytes(Stream::Out, output.as_bytes()),
            Some(_) => to.load.bytes(Stream::Out, output.as_bytes()),
        }
        Ok(finished)
    }
}

fn finished(exit: Exit) -> Finished {
    Finished {
        started_unix_ns: 1,
        wall_ns: 1_000_000_000,
        user_ns: 900_000_000,
        system_ns: 0,
        voluntary_switches: 1,
        involuntary_switches: 2,
        minor_faults: 3,
        major_faults: 4,
        max_rss_bytes: 5,
        exit,
        counters: Default::default(),
        foreign_ns: None,
        steal_ns: None,
        throttled_ns: None,
        throttled_periods: None,
        thermal_throttles: None,
        clock_khz: None,
        load: None,
    }
}

fn fine(output: &str) -> Result<(Finished, String), Error> {
    Ok((finished(Exit::Status(0)), output.to_owned()))
}

/// The only case's outcome.
#[derive(Debug)]
struct One {
    timed: u32,
    broken: std::collections::BTreeMap<u32, Broken>,
    interrupted: bool,
}

/// What a sweep over 1, 2 and 4 threads leaves behind.
struct Left {
    outcome: anyhow::Result<One>,
    requested: Vec<(RunKind, u32)>,
    tables: Tables,
    progress: String,
    files: Vec<String>,
}

fn sweep(
    amounts: Amounts,
    forms: &Forms,
    stop: &Stop,
    simulate: impl FnMut(&RunRequest) -> Result<(Finished, String), Error>,
) -> Left {
    sweep_that_tells(amounts, forms, (stop, None), simulate)
}

fn sweep_that_tells(
    amounts: Amounts,
    forms: &Forms,
    (stop, first_answer): (&Stop, Option<&FirstAnswer<'_>>),
    simulate: impl FnMut(&RunRequest) -> Result<(Finished, String), Error>,
) -> Left {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("recording");
    let mut meta = recording::synthetic::meta(2);
    let mut writer = Writer::create(&folder, &meta).unwrap();
    let output = folder.join("output");
    std::fs::create_dir(&output).unwrap();
    let template = Template { argv: vec!["app".into(), "{threads}".into()], env: Vec::new(), folder: None, load: None };
    let plan = plan(1, &[1, 2, 4], amounts, 7);
    let more = more(1, &[1, 2, 4], amounts, 7);
    let sweep = SweepRuns {
        plan: &plan,
        more: &more,
        forms,
        stop,
        show_output: false,
        repeats: 1,
        processors: 2,
        counted: Counted::Threads,
        first_answer,
    };
    let case = Case { template: &template, writer: &mut writer, meta: &mut meta, output: output.clone() };
    let mut executor = Fake { simulate: Box::new(simulate), requested: Vec::new() };
    let mut shown = Vec::new();
    let mut progress = Progress::new(&mut shown, ProgressMode::Quiet, Vec::new(), Counted::Threads);
    let outcome = sweep.run(vec![case], &mut executor, &mut progress).map(|mut outcomes| {
        let case = outcomes.cases.remove(0);
        One { timed: case.timed, broken: case.broken, interrupted: outcomes.interrupted }
    });
    writer.set_meta(&meta).unwrap();
    let tables = recording::Recording::open(&folder).unwrap().tables().unwrap();
    let mut files: Vec<String> =
        std::fs::read_dir(output).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    Left { outcome, requested: executor.requested, tables, progress: String::from_utf8(shown).unwrap(), files }
}

const AMOUNTS: Amounts = Amounts { warm_up: 1, timed: 2, more: 0, traced: true };

fn common() -> Forms {
    Forms::common().unwrap()
}

#[test]
fn every_planned_run_is_made_and_recorded() {
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |_| fine(""));
    let outcome = left.outcome.unwrap();
    assert_eq!((outcome.timed, outcome.broken.len(), outcome.interrupted), (6, 0, false));
    let planned: Vec<_> = plan(1, &[1, 2, 4], AMOUNTS, 7).iter().map(|p| (p.kind, p.threads)).collect();
    assert_eq!(left.requested, planned);
    let rows: Vec<_> = left.tables.runs.iter().map(|r| (r.kind, r.threads)).collect();
    assert_eq!(rows, planned);
    assert!(left.tables.runs.iter().enumerate().all(|(i, r)| r.run == RunId(i as u32) && r.wall_ns == 1_000_000_000));
    assert_eq!(left.tables.meta.throughput, None);
    assert!(left.files.is_empty() && left.progress.is_empty());
}

#[test]
fn an_observed_run_unlike_the_timed_ones_is_repeated_at_most_twice() {
    let speeds = RefCell::new([9_u64, 1, 1].into_iter());
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| {
        let mut finished = finished(Exit::Status(0));
        match (request.kind, request.threads) {
            // With two threads only the first observed run has the other speed, with four threads all have it.
            (RunKind::Traced, 2) => finished.wall_ns *= speeds.borrow_mut().next().unwrap(),
            (RunKind::Traced, 4) => finished.wall_ns *= 9,
            _ => {}
        }
        Ok((finished, String::new()))
    });
    let observed =
        |threads| left.requested.iter().filter(|requested| **requested == (RunKind::Traced, threads)).count();
    assert_eq!((observed(1), observed(2), observed(4)), (1, 2, 3));
    assert_eq!(left.tables.runs.len(), 12 + 3);
    let mut runs: Vec<u32> = left.tables.runs.iter().map(|run| run.run.0).collect();
    runs.dedup();
    assert_eq!(runs, (0..15).collect::<Vec<_>>(), "every run has a handle of its own");
}

#[test]
fn the_placeholder_reaches_the_target() {
    let seen = RefCell::new(Vec::new());
    sweep(AMOUNTS, &common(), &Stop::new(), |request| {
        seen.borrow_mut().push((request.threads, request.argv[1].clone()));
        fine("")
    });
    assert!(seen.into_inner().iter().all(|(threads, argument)| *argument == *threads.to_string()));
}

#[test]
fn a_common_form_is_recognised_for_all_runs() {
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| fine(&format!("tput(Mops)={}\n", request.threads)));
    assert!(left.tables.runs.iter().all(|run| run.throughput == Some(f64::from(run.threads))));
    let throughput = left.tables.meta.throughput.unwrap();
    assert_eq!((throughput.unit.as_str(), throughput.given), ("Mops/s", false));
    assert_eq!(left.files.len(), 12);
    assert_eq!(left.files[0], "run-000.out");
}

#[test]
fn without_warm_up_the_first_block_decides() {
    let amounts = Amounts { warm_up: 0, timed: 2, more: 0, traced: false };
    let left = sweep(amounts, &common(), &Stop::new(), |_| fine("5 ops/s"));
    assert!(left.tables.runs.iter().all(|run| run.throughput == Some(5.0)));
}

#[test]
fn a_count_that_fails_is_left_out_and_the_others_go_on() {
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| match request.threads {
        4 => Ok((finished(Exit::Signal(11)), "allocating\nout of memory\n".to_owned())),
        _ => fine("5 ops/s"),
    });
    let outcome = left.outcome.unwrap();
    assert_eq!(outcome.timed, 4);
    assert_eq!(outcome.broken[&4].output, ["allocating", "out of memory"]);
    assert_eq!(left.requested.iter().filter(|(_, threads)| *threads == 4).count(), 1);
    assert!(left.progress.contains("4 threads, warm-up failed: signal 11, SIGSEGV"));
    assert!(left.progress.contains("  | out of memory"));
    assert!(left.tables.meta.notes[0].contains("with 4 threads a run failed (signal 11"));
    assert_eq!(left.tables.runs.iter().filter(|r| r.throughput == Some(5.0)).count(), 8);
}

#[test]
fn a_run_that_takes_too_long_breaks_its_count() {
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| match request.threads {
        2 => Err(Error::Timeout { seconds: 3.0 }),
        _ => fine(""),
    });
    assert_eq!(left.outcome.unwrap().broken[&2].why, "the run took longer than 3 s");
    assert!(left.tables.runs.iter().all(|r| r.threads != 2));
}

#[test]
fn a_pattern_that_matches_nothing_breaks_the_count() {
    let forms = Forms::given("rate=([0-9.]+)").unwrap();
    let left = sweep(AMOUNTS, &forms, &Stop::new(), |request| {
        fine(if request.threads == 1 { "speed=1\n" } else { "rate=7\n" })
    });
    let outcome = left.outcome.unwrap();
    assert!(outcome.broken[&1].why.contains("matched no number"));
    assert_eq!(outcome.broken[&1].output, ["speed=1"]);
    assert!(left.tables.runs.iter().all(|r| r.throughput == Some(7.0)));
}

#[test]
fn ctrl_c_between_two_runs() {
    let stop = Stop::new();
    let mut made = 0;
    let left = sweep(AMOUNTS, &common(), &stop, |_| {
        made += 1;
        if made == 5 {
            stop.request();
        }
        fine("")
    });
    let outcome = left.outcome.unwrap();
    assert!(outcome.interrupted);
    assert_eq!((outcome.timed, left.tables.runs.len()), (2, 5));
}

#[test]
fn ctrl_c_within_a_run() {
    for died in [true, false] {
        let stop = Stop::new();
        let mut made = 0;
        let left = sweep(AMOUNTS, &common(), &stop, |_| {
            made += 1;
            if made < 5 {
                return fine("");
            }
            stop.request();
            if died { Ok((finished(Exit::Signal(2)), String::new())) } else { Err(Error::Interrupted) }
        });
        let outcome = left.outcome.unwrap();
        assert!(outcome.interrupted && outcome.broken.is_empty());
        assert_eq!((outcome.timed, left.tables.runs.len(), left.requested.len()), (1, 4, 5));
    }
}

#[test]
fn when_observing_fails_the_curve_remains() {
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| match request.kind {
        RunKind::Traced => Err(Error::Bpf { action: "load the BPF programs".into(), source: "no BTF".into() }),
        _ => fine(""),
    });
    assert_eq!(left.outcome.unwrap().timed, 6);
    assert_eq!(left.requested.iter().filter(|(kind, _)| *kind == RunKind::Traced).count(), 1);
    assert!(left.tables.meta.notes[0].contains("cannot load the BPF programs: no BTF"));
}

#[test]
fn runs_before_a_failure_of_knee_are_kept() {
    let mut made = 0;
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |_| {
        made += 1;
        if made < 3 { fine("") } else { Err(Error::EmptyCommand) }
    });
    assert!(left.outcome.is_err());
    assert_eq!(left.tables.runs.len(), 2);
}

/// What is left of a sweep of two cases with one thread and two.
struct TwoCases {
    folders: [PathBuf; 2],
    outcomes: Outcomes,
    shown: String,
}

impl TwoCases {
    /// The runs of a case, read back.
    fn runs(&self, case: usize) -> Vec<Run> {
        recording::Recording::open(&self.folders[case]).unwrap().tables().unwrap().runs
    }
}

/// Sweeps two cases, with `parent` as the folder of their commands.
fn two_cases(
    parent: &Path,
    names: [&str; 2],
    amounts: Amounts,
    simulate: impl FnMut(&RunRequest) -> Result<(Finished, String), Error>,
) -> TwoCases {
    let templates = names.map(|name| Template {
        argv: vec![name.into(), "{threads}".into()],
        env: Vec::new(),
        folder: Some(parent.to_owned()),
        load: None,
    });
    let mut metas = [recording::synthetic::meta(2), recording::synthetic::meta(2)];
    let folders = names.map(|name| parent.join(name));
    let mut writers: Vec<Writer> =
        folders.iter().zip(&metas).map(|(folder, meta)| Writer::create(folder, meta).unwrap()).collect();
    let (plan, more) = (plan(2, &[1, 2], amounts, SEED), more(2, &[1, 2], amounts, SEED));
    let mut executor = Fake { simulate: Box::new(simulate), requested: Vec::new() };
    let (stop, forms) = (Stop::new(), common());
    let sweep = SweepRuns {
        plan: &plan,
        more: &more,
        forms: &forms,
        stop: &stop,
        show_output: false,
        repeats: 1,
        processors: 2,
        counted: Counted::Threads,
        first_answer: None,
    };
    let cases = templates.iter().zip(&mut writers).zip(&mut metas).zip(&folders);
    let cases =
        cases.map(|(((template, writer), meta), folder)| Case { template, writer, meta, output: folder.clone() });
    let mut shown = Vec::new();
    let names = names.map(str::to_owned).to_vec();
    let mut progress = Progress::new(&mut shown, ProgressMode::Quiet, names, Counted::Threads);
    let outcomes = sweep.run(cases.collect(), &mut executor, &mut progress).unwrap();
    TwoCases { folders, outcomes, shown: String::from_utf8(shown).unwrap() }
}

/// Of the order of their runs.
const SEED: u64 = 7;

#[test]
fn cases_are_interleaved_and_each_has_its_own_recording() {
    let parent = tempfile::tempdir().unwrap();
    let order = RefCell::new(Vec::new());
    let left = two_cases(parent.path(), ["slow", "fast"], AMOUNTS, |request| {
        assert_eq!(request.folder.as_deref(), Some(parent.path()));
        let fast = request.argv[0] == "fast";
        order.borrow_mut().push((usize::from(fast), request.threads));
        if fast && request.threads == 2 {
            return Ok((finished(Exit::Status(1)), String::new()));
        }
        fine(if fast { "9 ops/s" } else { "3 ops/s" })
    });
    // The failing count is left out for its own case only; all other runs are made in the planned order.
    let mut planned: Vec<(usize, u32)> = plan(2, &[1, 2], AMOUNTS, SEED).iter().map(|p| (p.case, p.threads)).collect();
    let broken = planned.iter().position(|of| *of == (1, 2)).unwrap();
    let mut kept = 0..;
    planned.retain(|of| kept.next() == Some(broken) || *of != (1, 2));
    assert_eq!(order.into_inner(), planned);
    assert_eq!(left.outcomes.cases.iter().map(|case| case.timed).collect::<Vec<_>>(), [4, 2]);
    assert_eq!(left.outcomes.cases[1].broken.len(), 1);
    assert!(left.shown.contains("fast, 2 threads, warm-up failed: exit status 1"), "{}", left.shown);
    for (case, speed) in [3.0, 9.0].into_iter().enumerate() {
        let runs = left.runs(case);
        let good: Vec<_> = runs.iter().filter(|run| run.exit_status == Some(0)).collect();
        assert!(good.iter().all(|run| run.throughput == Some(speed)));
        assert!(runs.iter().enumerate().all(|(i, run)| run.run == RunId(i as u32)));
    }
}

/// Near the limit, one of two cases could be judged by its time and the other by its runs.
#[test]
fn cases_are_compared_by_printed_times_only_if_all_print_one() {
    let throughputs = |printed: &dyn Fn(bool, u32) -> String| -> [Vec<Option<f64>>; 2] {
        let parent = tempfile::tempdir().unwrap();
        let simulate = |request: &RunRequest| fine(&printed(request.argv[0] == "before", request.threads));
        let left = two_cases(parent.path(), ["before", "after"], AMOUNTS, simulate);
        [0, 1].map(|case| left.runs(case).iter().map(|run| run.throughput).collect())
    };
    let time = |threads: u32| format!("time={:.3} s", 0.8 / f64::from(threads));
    let both = throughputs(&|_, threads| time(threads));
    assert!(both.iter().flatten().all(Option::is_some), "{both:?}");
    let whole = |threads: u32| format!("time={:.3} s", 1.0 - 0.01 * f64::from(threads));
    let one = throughputs(&|before, threads| if before { time(threads) } else { whole(threads) });
    assert!(one.iter().flatten().all(Option::is_none), "{one:?}");
}

#[test]
fn only_undecided_cases_get_more_runs() {
    let parent = tempfile::tempdir().unwrap();
    let amounts = Amounts { timed: 5, more: 5, ..AMOUNTS };
    let made = RefCell::new(0);
    let left = two_cases(parent.path(), ["lossy", "open"], amounts, |request| {
        let mut run = finished(Exit::Status(0));
        let gains = request.argv[0] == "open" && request.kind == RunKind::Clean && request.threads == 2;
        if gains && made.replace_with(|made| *made + 1) == 0 {
            run.wall_ns = 400_000_000;
        }
        Ok((run, String::new()))
    });
    assert_eq!(left.outcomes.cases.iter().map(|case| case.timed).collect::<Vec<_>>(), [10, 20]);
}

/// A run of two seconds on two processors, of which other programs took this share.
fn disturbed_by(share: f64) -> Result<(Finished, String), Error> {
    let foreign_ns = Some((share * 2.0 * 2e9) as u64);
    let run = Finished { wall_ns: 2_000_000_000, foreign_ns, ..finished(Exit::Status(0)) };
    Ok((run, "5 ops/s\n".to_owned()))
}

#[test]
fn a_disturbed_block_is_set_aside_and_repeated_within_the_limit() {
    for disturbed in [1, 2] {
        let made = RefCell::new(0);
        // The first timed run of the first blocks is disturbed; the limit is one block.
        let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| {
            if request.kind != RunKind::Clean {
                return disturbed_by(0.0);
            }
            let number: usize = made.replace_with(|made| *made + 1);
            disturbed_by(if number.is_multiple_of(3) && number / 3 < disturbed { 0.3 } else { 0.0 })
        });
        assert_eq!(left.outcome.unwrap().timed, 6);
        let of =
            |kind| left.tables.runs.iter().filter(move |run| run.kind == kind).map(|run| run.block).collect::<Vec<_>>();
        assert_eq!(of(RunKind::Disturbed), [0; 3]);
        assert_eq!(of(RunKind::Clean), [2, 2, 2, 1, 1, 1]);
        assert!(left.tables.runs.iter().all(|run| run.throughput == Some(5.0)));
        assert!(left.tables.runs.iter().enumerate().all(|(i, run)| run.run == RunId(i as u32)));
        let warnings = analyze::words::runs::disturbed(&left.tables);
        assert_eq!(warnings.len(), disturbed, "{warnings:?}");
        assert!(warnings[0].starts_with("1 timed block was disturbed and made again (other programs took 30 %"));
    }
}

#[test]
fn an_undecided_loss_doubles_the_runs() {
    for (gains, blocks) in [(0, 5), (1, 10)] {
        let made = RefCell::new(0);
        let left = sweep(Amounts { timed: 5, more: 5, ..AMOUNTS }, &common(), &Stop::new(), |request| {
            let mut run = finished(Exit::Status(0));
            if (request.kind, request.threads) == (RunKind::Clean, 2) && made.replace_with(|made| *made + 1) < gains {
                run.wall_ns = 400_000_000;
            }
            Ok((run, String::new()))
        });
        assert_eq!(left.outcome.unwrap().timed, 3 * blocks);
        let timed = left.tables.runs.iter().filter(|run| run.kind == RunKind::Clean && run.threads == 2);
        let numbers: std::collections::BTreeSet<u32> = timed.map(|run| run.block).collect();
        assert_eq!(numbers.len(), blocks as usize, "each block has a number of its own: {numbers:?}");
        let last: Vec<RunKind> = left.requested.iter().rev().take(3).map(|requested| requested.0).collect();
        assert_eq!(last, [RunKind::Traced; 3], "what is observed comes last");
    }
}

/// A sweep that takes long observes early, and tells what it has found; near miss: a shorter one.
#[test]
fn a_long_sweep_answers_after_its_first_block() {
    for (seconds, early) in [(6, true), (3, false)] {
        let told = RefCell::new(0);
        let answer = |folder: &Path| {
            let runs = recording::Recording::open(folder).unwrap().tables().unwrap().runs;
            assert_eq!(runs.iter().filter(|run| run.kind == RunKind::Traced).count(), 3);
            told.replace_with(|told| *told + 1);
            None
        };
        let left = sweep_that_tells(AMOUNTS, &common(), (&Stop::new(), Some(&answer)), |_| {
            let mut run = finished(Exit::Status(0));
            run.wall_ns = seconds * 1_000_000_000;
            Ok((run, String::new()))
        });
        assert_eq!(left.outcome.unwrap().timed, 6);
        let kinds: Vec<RunKind> = left.requested.chunks(3).map(|runs| runs[0].0).collect();
        let (timed, observed) = (RunKind::Clean, RunKind::Traced);
        let order = if early { [timed, observed, timed] } else { [timed, timed, observed] };
        assert_eq!((&kinds[1..], *told.borrow()), (&order[..], i32::from(early)));
    }
}

#[test]
fn a_disturbed_observed_run_is_repeated_and_no_timed_block_is() {
    let left = sweep(AMOUNTS, &common(), &Stop::new(), |request| {
        disturbed_by(if request.kind == RunKind::Clean { 0.0 } else { 0.9 })
    });
    assert!(left.tables.runs.iter().all(|run| run.kind != RunKind::Disturbed));
    let observed = left.tables.runs.iter().filter(|run| run.kind == RunKind::Traced);
    // Three counts, three tries each.
    assert_eq!(observed.count(), 9);
}

#[test]
fn ctrl_c_while_a_block_is_repeated_keeps_its_runs() {
    let stop = Stop::new();
    let made = RefCell::new(0);
    let left = sweep(Amounts { warm_up: 0, ..AMOUNTS }, &common(), &stop, |_| {
        let number = made.replace_with(|made| *made + 1);
        if number == 3 {
            stop.request();
        }
        disturbed_by(0.5)
    });
    let outcome = left.outcome.unwrap();
    assert!(outcome.interrupted);
    assert_eq!((outcome.timed, left.tables.runs.len()), (1, 4));
}
