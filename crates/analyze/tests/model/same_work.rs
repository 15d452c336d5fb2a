//! The measured part of programs whose pool of threads works before it, too: by the lengths of the timed runs.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::CauseId;
use analyze::{model::Model, model::window::Part};
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::{Reason, RunKind};

const LOAD: &str = "load@app app.c:7 < main@app app.c:80";
const CALL: &str = "call@app app.c:9 < main@app app.c:90";
const CHECK: &str = "check@app app.c:11 < main@app app.c:99";
const POOL: &str = "parallel@pool pool.c:5";
const WAIT: &str = "pthread_cond_wait@libc.so.6 < take@pool pool.c:3";

/// How often the measured part comes to a parallel part, and how long that takes one thread, milliseconds.
const ROUNDS: u64 = 4;
const PARALLEL: u64 = 200;

/// A program that loads, with some help of its pool, and then comes to its measured part.
#[derive(Clone, Copy)]
struct Program {
    /// Loading, milliseconds.
    load: u64,
    /// What the main thread does alone in each round.
    alone: u64,
    /// What it does after the last one.
    check: u64,
    /// A thread of the pool helps with all of the loading.
    helped: bool,
}

const PLAIN: Program = Program { load: 600, alone: 150, check: 0, helped: false };

impl Program {
    /// The length of the measured part, milliseconds.
    fn measured(self, threads: u64) -> u64 {
        ROUNDS * (self.alone + PARALLEL / threads)
    }

    fn traced(self, threads: u64) -> impl Fn(&mut RunSketch<'_>) {
        move |run: &mut RunSketch<'_>| {
            let each = PARALLEL / threads;
            let main = run.thread("main").runs(ms(self.load), LOAD);
            let main =
                (0..ROUNDS).fold(main, |main, _| main.runs(ms(self.alone), CALL).blocks(Reason::Futex, ms(each), WAIT));
            if self.check > 0 {
                main.runs(ms(self.check), CHECK);
            }
            for worker in 0..threads {
                let thread = run.thread_at(&format!("pool-{worker}"), ms(100)).runs(ms(100), POOL);
                let thread = match self.helped && worker == 0 {
                    true => thread.runs(ms(self.load - 200), POOL),
                    false => thread.blocks(Reason::Futex, ms(self.load - 200), WAIT),
                };
                (0..ROUNDS)
                    .fold(thread, |thread, _| thread.blocks(Reason::Futex, ms(self.alone), WAIT).runs(ms(each), POOL));
            }
            run.row().throughput = Some(1e6 / self.measured(threads) as f64);
        }
    }
}

/// How much longer than usual each timed run takes, as shares: its loading, and its measured part.
const NOISE: [(f64, f64); 5] = [(0.0, 0.0), (0.05, -0.02), (-0.04, 0.03), (0.02, 0.04), (-0.01, -0.03)];

fn sweep(programs: &[(u64, Program)]) -> Tables {
    let counts = programs.iter().fold(Sketch::new(4), |sketch, (threads, program)| {
        let measured = program.measured(*threads) as f64 * 1e-3;
        let rest = (program.load + program.check) as f64 * 1e-3;
        let walls: Vec<f64> = NOISE.iter().map(|(load, work)| rest * (1.0 + load) + measured * (1.0 + work)).collect();
        let rates: Vec<f64> = NOISE.iter().map(|(_, work)| 1000.0 / (measured * (1.0 + work))).collect();
        let threads32 = *threads as u32;
        let used = (program.load + program.check + ROUNDS * (program.alone + PARALLEL)) as f64 * 1e-3;
        let cpu: Vec<f64> = NOISE.iter().map(|_| used).collect();
        sketch
            .clean_cpu(threads32, &walls, &cpu)
            .throughput(threads32, &rates)
            .traced(threads32, program.traced(*threads))
    });
    counts.tables()
}

fn same_program(program: Program) -> Tables {
    sweep(&[(1, program), (2, program), (4, program)])
}

#[test]
fn the_lengths_of_the_runs_tell_the_measured_part() {
    let tables = same_program(PLAIN);
    let model = Model::new(&tables);
    assert_eq!(model.part, Part::AsLong);
    for (run, threads) in model.traced.iter().zip([1, 2, 4]) {
        let (begin, end) = run.measured;
        let long = ms(PLAIN.measured(threads));
        assert!(begin >= ms(570) && end == run.trace.end_ns && end - begin > long / 10 * 8, "{begin} {end} {long}");
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    // What the main thread does in each round is in the measured part, and what it loads is not.
    let cause = found(&answer, CauseId::SERIAL_PHASE).unwrap();
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("call"), "{:#?}", answer.verdict);
    let told = |w: &&String| w.contains("outside the measured part: the timed runs take about that much longer");
    assert_eq!(answer.warnings.iter().filter(told).count(), 1, "{:#?}", answer.warnings);
}

/// The start of the measured part may be cut off, so nothing that runs alone there is acquitted.
#[test]
fn a_serial_phase_is_not_ruled_out_by_a_length() {
    let parallel = same_program(Program { alone: 3, helped: true, ..PLAIN });
    assert_eq!(Model::new(&parallel).part, Part::AsLong);
    let answer = answer_for(&parallel);
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::SERIAL_PHASE).contains("may be outside"));
}

/// So many that only a part is compared, in the order in which a sweep makes them: each count in turn.
#[test]
fn very_many_runs_tell_the_same() {
    let mut tables = same_program(PLAIN);
    let of = |count: u32| tables.runs.iter().filter(move |r| r.kind == RunKind::Clean && r.threads == count);
    let turns = of(1).zip(of(2)).zip(of(4)).flat_map(|((one, two), four)| [one, two, four]).cloned();
    let many: Vec<_> = turns.collect::<Vec<_>>().into_iter().cycle().take(1200).collect();
    tables.runs.retain(|run| run.kind != RunKind::Clean);
    tables.runs.extend(many);
    assert_eq!(Model::new(&tables).part, Part::AsLong);
}

#[test]
fn what_comes_after_the_measured_part_is_outside_too() {
    let tables = same_program(Program { check: 400, ..PLAIN });
    let model = Model::new(&tables);
    assert_eq!(model.part, Part::AsLong);
    for run in &model.traced {
        let after = run.trace.end_ns - run.measured.1;
        assert!(after > ms(250), "{after}");
    }
}

#[test]
fn two_counts_show_nothing() {
    assert_eq!(Model::new(&sweep(&[(1, PLAIN), (2, PLAIN)])).part, Part::Open);
}

#[test]
fn counts_that_do_not_do_the_same_work_show_nothing() {
    let longer = Program { load: 1000, ..PLAIN };
    assert_eq!(Model::new(&sweep(&[(1, PLAIN), (2, longer), (4, PLAIN)])).part, Part::Open);
}

/// With two counts, whether the rate counts the loading cannot be told.
#[test]
fn what_runs_alone_before_the_work_may_not_be_counted() {
    let slow = Program { load: 2000, alone: 150, check: 0, helped: false };
    let tables = sweep(&[(1, slow), (2, slow)]);
    assert_eq!(Model::new(&tables).part, Part::Open);
    let answer = answer_for(&tables);
    assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::SERIAL_PHASE).contains("marks would tell"));
    // Near miss: what runs alone in each round is counted.
    let rounds = Program { load: 600, alone: 400, check: 0, helped: false };
    let answer = answer_for(&sweep(&[(1, rounds), (2, rounds)]));
    let cause = found(&answer, CauseId::SERIAL_PHASE).unwrap();
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("call"), "{:#?}", answer.verdict);
}
