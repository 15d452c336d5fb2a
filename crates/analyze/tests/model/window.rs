//! The measured part of programs that mark none: what the printed rate covers.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::rewording::same_in_other_words;
use crate::common::*;
use analyze::answer::{Answer, CauseId};
use analyze::{analyze, model::Model, model::window::Part};
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::{Reason, RunKind};

const LOAD: &str = "load@app app.c:7 < main@app app.c:80";
const MERGE: &str = "merge@app app.c:9 < main@app app.c:99";
const WORK: &str = "work@app app.c:5";
const JOIN: &str = "__pthread_clockjoin_ex@libc.so.6 < main@app app.c:90";
const LOCK: &str = "__lll_lock_wait@libc.so.6 < pthread_mutex_lock@libc.so.6 < put@app app.c:30 < work@app app.c:5";

/// How long a run's parts take, milliseconds.
#[derive(Clone, Copy)]
struct Shape {
    load: u64,
    work: u64,
    merge: u64,
}

impl Shape {
    fn whole(self) -> f64 {
        (self.load + self.work + self.merge) as f64 * 1e-3
    }
}

/// What the workers do.
#[derive(Clone, Copy, PartialEq)]
enum Workers {
    Busy,
    /// One at a time.
    Locked,
    /// The first works all the time, the others for an eighth of it.
    Uneven,
}

/// The main thread loads, joins the workers, and merges.
fn phases(run: &mut RunSketch<'_>, shape: Shape, workers: u64, what: Workers) {
    run.thread("main")
        .runs(ms(shape.load), LOAD)
        .blocks(Reason::Futex, ms(shape.work), JOIN)
        .runs(ms(shape.merge), MERGE);
    for worker in 0..workers {
        let mut thread = run.thread_at(&format!("w{worker}"), ms(shape.load));
        match what {
            Workers::Busy => drop(thread.runs(ms(shape.work), WORK)),
            Workers::Uneven if worker > 0 => drop(thread.runs(ms(shape.work / 8), WORK)),
            Workers::Uneven => drop(thread.runs(ms(shape.work), WORK)),
            Workers::Locked => {
                let turn = 4;
                for round in 0..shape.work / turn {
                    let waker = format!("w{}", (worker + 1) % workers);
                    thread = match round % workers == worker {
                        true => thread.runs(ms(turn), "put@app app.c:31 < work@app app.c:5"),
                        false => thread.locks(0x700, ms(turn), LOCK, &waker),
                    };
                }
            }
        }
    }
}

/// How much longer than usual each timed run takes, as shares: its loading, and its work.
const NOISE: [(f64, f64); 5] = [(0.0, 0.0), (0.2, -0.04), (-0.15, 0.05), (0.1, 0.08), (-0.05, -0.06)];

/// What the rate covers.
#[derive(Clone, Copy, PartialEq)]
enum Rate {
    Workers,
    Whole,
}

/// Adds one count: its timed runs with noise, and its traced run. `work`: units of work; `used`: processors used while
/// working.
fn count(
    sketch: Sketch,
    threads: u32,
    shape: Shape,
    (work, used): (f64, f64),
    what: Workers,
    rate: Rate,
    noisy: bool,
) -> Sketch {
    let noise = |i: usize| if noisy { NOISE[i] } else { (0.001 * i as f64, 0.001 * i as f64) };
    let timed: Vec<(f64, f64)> = (0..5)
        .map(|i| {
            (
                (shape.load + shape.merge) as f64 * 1e-3 * (1.0 + noise(i).0),
                shape.work as f64 * 1e-3 * (1.0 + noise(i).1),
            )
        })
        .collect();
    let walls: Vec<f64> = timed.iter().map(|(rest, inside)| rest + inside).collect();
    let cpu: Vec<f64> = timed.iter().map(|(rest, inside)| rest + used * inside).collect();
    let of = |(rest, inside): &(f64, f64)| if rate == Rate::Workers { *inside } else { rest + inside };
    let rates: Vec<f64> = timed.iter().map(|t| work / of(t)).collect();
    let traced = if rate == Rate::Workers { shape.work as f64 * 1e-3 } else { shape.whole() };
    sketch.clean_cpu(threads, &walls, &cpu).throughput(threads, &rates).traced(threads, |run| {
        phases(run, shape, threads.into(), what);
        run.row().throughput = Some(work / traced);
    })
}

fn two(shapes: [Shape; 2], used: f64, what: Workers, rate: Rate, noisy: bool) -> Tables {
    let one = count(Sketch::new(2), 1, shapes[0], (1000.0, 1.0), Workers::Busy, rate, noisy);
    count(one, 2, shapes[1], (1000.0, used), what, rate, noisy).tables()
}

fn part(tables: &Tables) -> Part {
    Model::new(tables).part.clone()
}

fn remark(answer: &Answer) -> Option<&String> {
    answer.warnings.iter().find(|w| w.contains("outside the measured part"))
}

const LONG: Shape = Shape { load: 600, work: 1000, merge: 100 };

#[test]
fn a_rate_of_the_workers_that_scales_leaves_nothing_but_a_remark() {
    for noisy in [false, true] {
        let tables = two([LONG, Shape { work: 500, ..LONG }], 2.0, Workers::Busy, Rate::Workers, noisy);
        assert_eq!(part(&tables), Part::Workers { certain: true });
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::SERIAL_PHASE), "{:#?}", answer.verdict);
        let remark = remark(&answer).unwrap();
        assert!(remark.starts_with("0.60 s before the workers start and 0.10 s after they have ended"), "{remark}");
        let account = &answer.account[1];
        assert!((account.useful / account.capacity - 1.0).abs() < 0.05, "{account:#?}");
    }
}

#[test]
fn a_rate_of_the_whole_run_keeps_its_serial_phase() {
    for noisy in [false, true] {
        let tables = two([LONG, Shape { work: 500, ..LONG }], 2.0, Workers::Busy, Rate::Whole, noisy);
        assert_eq!(part(&tables), Part::Whole);
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert_eq!(answer.verdict.causes[0].id, CauseId::SERIAL_PHASE, "{:#?}", answer.verdict);
        assert_eq!(remark(&answer), None);
    }
}

#[test]
fn without_a_rate_the_start_is_a_serial_phase() {
    let mut tables = two([LONG, Shape { work: 500, ..LONG }], 2.0, Workers::Busy, Rate::Workers, true);
    tables.runs.iter_mut().for_each(|r| r.throughput = None);
    tables.meta.throughput = None;
    let answer = answer_for(&tables);
    assert_eq!(answer.verdict.causes[0].id, CauseId::SERIAL_PHASE, "{:#?}", answer.verdict);
}

#[test]
fn what_holds_the_workers_back_comes_first_with_its_share_of_their_time() {
    for (what, id) in [(Workers::Locked, CauseId::USER_LOCK), (Workers::Uneven, CauseId::IMBALANCE)] {
        let shape = if what == Workers::Locked { LONG } else { Shape { work: 888, ..LONG } };
        let used = if what == Workers::Locked { 1.0 } else { 1.125 };
        let tables = two([LONG, shape], used, what, Rate::Workers, true);
        assert_eq!(part(&tables), Part::Workers { certain: true });
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert_eq!(ids(&answer)[0], id, "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::SERIAL_PHASE).is_none(), "{:#?}", answer.verdict);
        // A share of the workers' time, not of the run's.
        let of_capacity = answer.verdict.causes[0].lost_seconds / answer.account[1].capacity;
        assert!((0.42..0.51).contains(&of_capacity), "{of_capacity} {:#?}", answer.verdict);
    }
}

/// Nothing scales and no run differs from another: the rate may cover the whole run or the workers.
#[test]
fn where_both_readings_fit_the_rest_is_unsure() {
    let tables = two([LONG, LONG], 1.0, Workers::Locked, Rate::Workers, false);
    assert_eq!(part(&tables), Part::Workers { certain: false });
    let answer = answer_for(&tables);
    assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::SERIAL_PHASE).contains("cannot be told"));
    assert!(remark(&answer).unwrap().contains("cannot be told"));
}

#[test]
fn work_and_rest_that_fit_nothing_are_left_and_said_so() {
    let mut tables = two([LONG, Shape { work: 500, ..LONG }], 2.0, Workers::Busy, Rate::Workers, true);
    // The rate with two threads covers something else.
    tables.runs.iter_mut().filter(|r| r.threads == 2).for_each(|r| r.throughput = r.throughput.map(|t| t * 1.5));
    assert_eq!(part(&tables), Part::Open);
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(answer.warnings.iter().any(|w| w.contains("fits neither")), "{:?}", answer.warnings);
}

#[test]
fn each_thread_may_have_its_own_work_and_each_count_the_same_time() {
    // Twice the work with two threads: it takes as long.
    let sketch = count(Sketch::new(2), 1, LONG, (1000.0, 1.0), Workers::Busy, Rate::Workers, true);
    let tables = count(sketch, 2, LONG, (2000.0, 2.0), Workers::Busy, Rate::Workers, true).tables();
    assert_eq!(part(&tables), Part::Workers { certain: true });
    assert_eq!(ids(&answer_for(&tables)), [CauseId::NONE]);
    // One second of work at each count, in which two threads get 30 % more done.
    let sketch = count(Sketch::new(2), 1, LONG, (1000.0, 1.0), Workers::Busy, Rate::Workers, true);
    let tables = count(sketch, 2, LONG, (1000.0, 1.0), Workers::Locked, Rate::Workers, true).tables();
    assert_eq!(ids(&answer_for(&tables)), [CauseId::USER_LOCK]);
}

/// With one thread the main thread does the work itself.
#[test]
fn without_a_worker_at_one_thread_its_part_is_as_long_as_its_rate_says() {
    let tables = |off: u64, merge: u64| {
        let (long, shape) = (Shape { merge, ..LONG }, Shape { work: 500, merge, ..LONG });
        let mut tables = two([long, shape], 2.0, Workers::Busy, Rate::Workers, true);
        let own = Sketch::new(2)
            .traced(1, |run| {
                run.thread("main").runs(ms(600 + off), LOAD).runs(ms(1000), WORK).runs(ms(merge), MERGE);
            })
            .tables();
        let run = tables.traces[0].run;
        tables.threads.retain(|t| t.run != run);
        tables.threads.extend(own.threads.iter().cloned().map(|t| recording::tables::Thread { run, ..t }));
        tables.slices.retain(|s| s.run != run);
        tables.slices.extend(own.slices.iter().map(|s| recording::tables::Slice { run, ..s }));
        tables.traces[0].end_ns = own.traces[0].end_ns;
        tables
    };
    let model_of = tables(0, 40);
    let model = Model::new(&model_of);
    assert_eq!(model.part, Part::Workers { certain: true });
    let (begin, end) = model.traced[0].measured;
    assert!(begin.abs_diff(ms(600)) < ms(10) && end.abs_diff(ms(1600)) < ms(10), "{begin} {end}");
    assert_eq!(ids(&same_in_other_words(|| analyze(&model).answer)), [CauseId::NONE]);
    // Near miss: the rest has another length than with two threads.
    assert_eq!(part(&tables(900, 40)), Part::Open);
    // Another: in a long tail the main thread may have gone on with the work, and a single stretch cannot tell.
    assert_eq!(part(&tables(0, 100)), Part::Open);
}

/// The main thread works too, and longer than the worker: the worker's life says nothing about the rate.
#[test]
fn the_life_of_a_worker_that_ends_early_is_no_measured_part() {
    let run = |workers: u64| {
        move |run: &mut RunSketch<'_>| {
            let main = if workers == 0 { 1000 } else { 800 };
            run.thread("main").runs(ms(600), LOAD).runs(ms(main), WORK);
            for worker in 0..workers {
                run.thread_at(&format!("w{worker}"), ms(600)).runs(ms(200), WORK);
            }
            run.row().throughput = Some(1e6 / main as f64);
        }
    };
    let tables = Sketch::new(2)
        .clean_cpu(1, &[1.6, 1.75, 1.5], &[1.6, 1.75, 1.5])
        .throughput(1, &[1000.0, 960.0, 1040.0])
        .clean_cpu(2, &[1.4, 1.55, 1.3], &[1.6, 1.75, 1.5])
        .throughput(2, &[1250.0, 1210.0, 1290.0])
        .traced(1, run(0))
        .traced(2, run(1))
        .tables();
    assert_eq!(part(&tables), Part::Open);
}

/// A pool that exists from the beginning waits for the loading to end.
#[test]
fn workers_that_wait_from_the_beginning_work_when_they_do() {
    let pool = |workers: u64| {
        move |run: &mut RunSketch<'_>| {
            let each = ms(1000 / workers);
            run.thread("main").runs(ms(600), LOAD).blocks(Reason::Futex, each, JOIN);
            for worker in 0..workers {
                let wait = "pthread_cond_wait@libc.so.6 < take@app app.c:3";
                run.thread(&format!("w{worker}")).blocks(Reason::Futex, ms(600), wait).runs(each, WORK);
            }
            run.row().throughput = Some(1000.0 * workers as f64);
        }
    };
    let tables = Sketch::new(2)
        .clean_cpu(1, &[1.6, 1.7, 1.52], &[1.6, 1.7, 1.52])
        .throughput(1, &[1000.0, 980.0, 1030.0])
        .clean_cpu(2, &[1.1, 1.15, 1.05], &[1.6, 1.65, 1.55])
        .throughput(2, &[2000.0, 2010.0, 1990.0])
        .traced(1, pool(1))
        .traced(2, pool(2))
        .tables();
    assert_eq!(part(&tables), Part::Workers { certain: true });
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
}

/// A group of workers warms up; the rate covers the second group, or both.
#[test]
fn of_two_groups_of_workers_the_rate_may_be_of_the_last() {
    let groups = |last_only: bool, outlives: u64| {
        let run = move |workers: u64| {
            move |run: &mut RunSketch<'_>| {
                let each = 1000 / workers;
                run.thread("main").runs(ms(300), LOAD).blocks(Reason::Futex, ms(400), JOIN).runs(ms(300), LOAD).blocks(
                    Reason::Futex,
                    ms(each),
                    JOIN,
                );
                for worker in 0..workers {
                    // Warming up takes the same time, however many workers there are.
                    let idle = ms(300 * outlives) + ms(outlives);
                    let thread = run.thread_at(&format!("w{worker}"), ms(300)).runs(ms(400), WORK);
                    let _ = if idle > 0 { thread.blocks(Reason::Futex, idle, JOIN) } else { thread };
                }
                for worker in 0..workers {
                    run.thread_at(&format!("v{worker}"), ms(1000)).runs(ms(each), WORK);
                }
                let of = if last_only { each } else { 700 + each };
                run.row().throughput = Some(1e6 / of as f64);
            }
        };
        let rate = |workers: f64, stretch: f64| {
            let of = 1.0 / workers * stretch;
            1e3 / if last_only { of } else { of + 0.7 * stretch }
        };
        Sketch::new(2)
            .clean_cpu(1, &[2.0, 2.2, 1.9], &[2.0, 2.2, 1.9])
            .throughput(1, &[rate(1.0, 1.0), rate(1.0, 1.12), rate(1.0, 0.96)])
            .clean_cpu(2, &[1.5, 1.6, 1.45], &[2.4, 2.5, 2.35])
            .throughput(2, &[rate(2.0, 1.0), rate(2.0, 1.15), rate(2.0, 0.95)])
            .traced(1, run(1))
            .traced(2, run(2))
            .tables()
    };
    // The second pool may start a moment before the threads of the first have ended.
    for outlives in [0, 1] {
        let tables = groups(true, outlives);
        let model = Model::new(&tables);
        assert_eq!(model.part, Part::Workers { certain: true });
        assert_eq!(model.traced[1].measured, (ms(1000), ms(1500)));
    }
    let tables = groups(false, 0);
    let model = Model::new(&tables);
    assert_eq!(model.part, Part::Workers { certain: true });
    assert_eq!(model.traced[1].measured, (ms(300), ms(1500)));
}

/// Other programs slow a whole run down, its start and its work alike. The lengths of the runs then show too much work.
#[test]
fn workers_stay_the_part_where_whole_runs_were_slower() {
    let shape = |work: u64| Shape { work, ..LONG };
    let one = count(Sketch::new(4), 1, shape(1000), (1000.0, 1.0), Workers::Busy, Rate::Workers, false);
    let two = count(one, 2, shape(500), (1000.0, 2.0), Workers::Busy, Rate::Workers, false);
    let mut tables = count(two, 4, shape(250), (1000.0, 4.0), Workers::Busy, Rate::Workers, false).tables();
    for (i, run) in tables.runs.iter_mut().filter(|r| r.kind == RunKind::Clean).enumerate() {
        // They do so more with one thread than with four.
        let slow = 1.0 + 0.3 / f64::from(run.threads) + 0.02 * (i % 3) as f64;
        run.wall_ns = (run.wall_ns as f64 * slow) as u64;
        run.throughput = run.throughput.map(|rate| rate / slow);
    }
    let model = Model::new(&tables);
    assert_eq!(model.part, Part::Workers { certain: true });
    assert_eq!(model.traced[2].measured, (ms(600), ms(850)));
}

#[test]
fn a_short_rest_changes_nothing() {
    let short = Shape { load: 10, work: 1000, merge: 5 };
    let tables = two([short, Shape { work: 500, ..short }], 2.0, Workers::Busy, Rate::Workers, true);
    assert_eq!(part(&tables), Part::Whole);
    assert_eq!(remark(&answer_for(&tables)), None);
}
