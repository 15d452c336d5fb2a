//! What more processors would bring: sketches whose speed a formula gives, and what cannot be told.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use crate::common::rewording::same_but_for_words;
use crate::common::{RANDOM, around, birthday, main_joins};
use analyze::answer::CauseId;
use analyze::model::Model;
use analyze::prediction::{Ask, NotKnown, Predicted, Prediction};
use analyze::{analyze, predict};
use recording::meta::Load;
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;
use recording::{Recording, Tables};
use std::path::Path;

const WORK: &str = "work@app app.c:7 < main@app app.c:90";

fn told(tables: &Tables, processors: &[u32]) -> Prediction {
    ask(tables, &Ask { processors: processors.to_vec(), ..Ask::default() })
}

fn ask(tables: &Tables, ask: &Ask) -> Prediction {
    let model = Model::new(tables);
    let predicted = || predict(&analyze(&model), ask);
    same_but_for_words(predicted, figures)
}

/// A prediction without its words.
fn figures(prediction: &Prediction) -> String {
    let wordless = |point: &Predicted| Predicted {
        not_known: point.not_known.as_ref().map(|_| NotKnown { why: String::new(), would_tell: String::new() }),
        ..point.clone()
    };
    let points: Vec<Predicted> = prediction.points.iter().map(wordless).collect();
    let (refused, notes) = (prediction.refused.is_some(), prediction.notes.len());
    format!("{:?} {:?} {refused} {notes} notes {points:#?}", prediction.based_on, prediction.fixed_threads)
}

fn at(prediction: &Prediction, processors: u32) -> &Predicted {
    prediction.points.iter().find(|p| p.processors == processors).unwrap_or_else(|| panic!("{prediction:#?}"))
}

fn speed(prediction: &Prediction, processors: u32) -> f64 {
    at(prediction, processors).times_as_fast.unwrap_or_else(|| panic!("{prediction:#?}"))
}

/// Equal shares, and one thread with twice the share of each other.
fn equal(threads: u32) -> Vec<f64> {
    vec![1.0 / f64::from(threads); threads as usize]
}

fn twice(threads: u32) -> Vec<f64> {
    let part = 1.0 / f64::from(threads + 1);
    (0..threads).map(|thread| if thread == 0 { 2.0 * part } else { part }).collect()
}

/// Two seconds of work, of which the main thread does a share alone before it starts the others.
fn program(processors: u32, counts: &[u32], serial: f64, parts: fn(u32) -> Vec<f64>) -> Sketch {
    let (alone, rest) = (2.0 * serial, 2.0 * (1.0 - serial));
    counts.iter().fold(Sketch::new(processors), |sketch, threads| {
        let parts = parts(*threads);
        // Each part goes to the processor that is free first.
        let mut until = vec![0.0_f64; processors as usize];
        for part in &parts {
            let first = (0..until.len()).min_by(|a, b| until[*a].total_cmp(&until[*b])).unwrap();
            until[first] += rest * part;
        }
        let wall = alone + until.into_iter().fold(0.0, f64::max);
        sketch.clean_cpu(*threads, &around(wall), &around(2.0)).traced(*threads, |run| {
            let start = (alone * 1e9) as u64;
            run.thread("main").runs(start, "prepare@app app.c:3 < main@app app.c:90").blocks(
                Reason::Futex,
                ((wall - alone) * 1e9) as u64,
                "?@libc.so.6 < __pthread_clockjoin_ex@libc.so.6 < main@app app.c:90",
            );
            let mut free = vec![0_u64; processors as usize];
            for (number, part) in parts.iter().enumerate() {
                let place = (0..free.len()).min_by_key(|p| free[*p]).unwrap();
                let (waits, runs) = (free[place], (rest * part * 1e9) as u64);
                let thread = run.thread_at(&format!("worker-{number}"), start);
                let thread = if waits > 0 { thread.preempted(waits) } else { thread };
                thread.runs(runs, WORK);
                free[place] += runs;
            }
        })
    })
}

fn is_within_a_tenth(prediction: &Prediction, processors: u32, truth: f64) {
    let told = speed(prediction, processors);
    assert!((told / truth - 1.0).abs() < 0.1, "{told} at {processors} instead of {truth}: {prediction:#?}");
    let range = at(prediction, processors).range.unwrap();
    assert!(range.low <= truth && truth <= 1.001 * range.high, "{truth} at {processors}: {prediction:#?}");
}

#[test]
fn a_serial_phase_is_found_at_once() {
    for serial in [0.05, 0.1, 0.3] {
        let truth = |n: u32| 1.0 / (serial + (1.0 - serial) / f64::from(n));
        let two = told(&program(2, &[1, 2, 4], serial, equal).tables(), &[4, 8]);
        let four = told(&program(4, &[1, 2, 4], serial, equal).tables(), &[8, 16]);
        for (prediction, n) in [(&two, 4), (&two, 8), (&four, 8), (&four, 16)] {
            is_within_a_tenth(prediction, n, truth(n));
        }
        assert_eq!(two.beyond_processors, [4]);
        let limit = at(&four, 16).limit.unwrap();
        assert_eq!(limit.cause, Some(CauseId::SERIAL_PHASE), "{four:#?}");
        let idle = 15.0 * serial / (16.0 * (serial + (1.0 - serial) / 16.0));
        assert!((limit.share - idle).abs() < 0.05, "{} instead of {idle}", limit.share);
    }
}

#[test]
fn what_has_no_limit_is_linear_within_its_band() {
    let prediction = told(&program(2, &[1, 2], 0.0, equal).tables(), &[4, 8]);
    is_within_a_tenth(&prediction, 4, 4.0);
    is_within_a_tenth(&prediction, 8, 8.0);
    assert!(at(&prediction, 8).limit.is_none(), "{prediction:#?}");
    assert!(prediction.points.iter().all(|p| p.range.unwrap().high <= f64::from(p.processors) * 1.001));
}

#[test]
fn one_thread_with_twice_the_share_is_the_limit() {
    let truth = |n: u32| f64::from(n + 1) / 2.0;
    let two = told(&program(2, &[1, 2, 4], 0.0, twice).tables(), &[4, 8]);
    let four = told(&program(4, &[1, 2, 4], 0.0, twice).tables(), &[8, 16]);
    for (prediction, n) in [(&two, 4), (&two, 8), (&four, 8), (&four, 16)] {
        is_within_a_tenth(prediction, n, truth(n));
    }
    assert_eq!(at(&four, 16).limit.unwrap().cause, Some(CauseId::IMBALANCE), "{four:#?}");
    // The law of Amdahl alone takes this for a serial share.
    assert!(at(&two, 8).amdahl.unwrap() < 0.7 * truth(8), "{two:#?}");
}

#[test]
fn a_saturated_lock_is_never_told_to_rise() {
    let prediction = told(&birthday(&RANDOM), &[4, 8, 16]);
    for point in &prediction.points {
        let range = point.range.unwrap();
        // 0.6 of the speed of one thread with two.
        assert!(point.times_as_fast.is_none() && range.high < 0.65 && range.low < 0.5, "{point:#?}");
        assert!(point.not_known.as_ref().unwrap().why.contains("lock"), "{point:#?}");
        assert_eq!(point.limit.unwrap().cause, Some(CauseId::USER_LOCK));
    }
    assert!(prediction.points.windows(2).all(|p| p[1].range.unwrap().low < p[0].range.unwrap().low));
}

#[test]
fn far_targets_have_only_a_range() {
    let prediction = told(&program(2, &[1, 2], 0.1, equal).tables(), &[8, 9, 16, 17]);
    let known: Vec<(bool, bool)> =
        prediction.points.iter().map(|p| (p.times_as_fast.is_some(), p.range.is_some())).collect();
    assert_eq!(known, [(true, true), (false, true), (false, true), (false, false)]);
    let far = at(&prediction, 17).not_known.as_ref().unwrap();
    assert!(far.why.contains("8.5 times") && far.would_tell.contains("5 processors or more"), "{far:?}");
}

#[test]
fn the_range_grows_with_the_target() {
    // The runs scatter: there is noise in the sweep as well.
    let noisy = |seconds: f64| vec![seconds, 1.02 * seconds, 0.98 * seconds, 1.01 * seconds, 1.04 * seconds];
    let other = |seconds: f64| vec![1.04 * seconds, 0.98 * seconds, seconds, 1.02 * seconds, 1.01 * seconds];
    let tables = Sketch::new(2).clean(1, &noisy(1.0)).clean(2, &other(0.65)).tables();
    let prediction = told(&tables, &[2, 3, 4, 6, 8, 12, 16]);
    let widths: Vec<f64> =
        prediction.points.iter().map(|p| p.range.map(|range| range.high / range.low).unwrap()).collect();
    assert!(widths.windows(2).all(|pair| pair[0] < pair[1]), "{widths:?}");
    assert!(prediction.notes.iter().any(|note| note.contains("no run was observed")), "{prediction:#?}");
    let quiet = told(&Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(0.65)).tables(), &[8]);
    let (wide, narrow) = (at(&prediction, 8).range.unwrap(), at(&quiet, 8).range.unwrap());
    assert!(wide.high / wide.low > 1.01 * narrow.high / narrow.low, "{wide:?} {narrow:?}");
}

#[test]
fn more_than_linear_is_said() {
    let tables = Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(0.45)).tables();
    let prediction = told(&tables, &[4]);
    let point = at(&prediction, 4);
    assert!(point.range.unwrap().high <= 4.0 * 1.0 / 0.9 * 1.001, "{prediction:#?}");
    assert!(prediction.notes.iter().any(|note| note.contains("1.1 times as fast")), "{prediction:#?}");
}

#[test]
fn from_one_count_the_speed_is_an_upper_bound_and_compared() {
    let tables = program(2, &[1, 2, 4], 0.1, equal).tables();
    let prediction = ask(&tables, &Ask { from: Some(1), ..Ask::default() });
    assert_eq!((prediction.based_on.as_slice(), prediction.points.len()), (&[1][..], 1));
    let point = at(&prediction, 2);
    assert!(point.at_most && point.amdahl.is_none() && prediction.beyond_processors.is_empty());
    let (range, measured) = (point.range.unwrap(), point.measured.unwrap());
    assert!((range.low - 0.5).abs() < 1e-9 && (measured.times_as_fast - 1.0 / 0.55).abs() < 0.02, "{point:#?}");
    assert!(measured.error.unwrap().abs() < 0.02 && measured.in_range == Some(true), "{point:#?}");
    assert!(prediction.notes[0].contains("from 1 thread alone"), "{prediction:#?}");
}

#[test]
fn the_universal_law_is_shown_for_those_who_ask() {
    let tables = program(4, &[1, 2, 4], 0.1, equal).tables();
    let prediction = ask(&tables, &Ask { usl: true, processors: vec![8], ..Ask::default() });
    let usl = at(&prediction, 8).usl.unwrap();
    assert!((usl - 1.0 / (0.1 + 0.9 / 8.0)).abs() < 0.1, "{usl}");
    assert!(prediction.notes.iter().any(|note| note.contains("35 %")), "{prediction:#?}");
    assert!(at(&told(&tables, &[8]), 8).usl.is_none());
    let two = program(2, &[1, 2], 0.1, equal).tables();
    let few = ask(&two, &Ask { usl: true, ..Ask::default() });
    assert!(few.points.iter().all(|p| p.usl.is_none()) && few.notes.iter().any(|note| note.contains("two parameters")));
}

fn refused(tables: &Tables) -> String {
    let prediction = told(tables, &[4]);
    assert!(prediction.points.is_empty(), "{prediction:#?}");
    let refused = prediction.refused.unwrap();
    assert!(!refused.would_tell.is_empty());
    refused.why
}

#[test]
fn nothing_is_predicted_from_one_count() {
    assert!(refused(&program(2, &[1], 0.1, equal).tables()).contains("fewer than two counts"));
    // Those above the processors do not count.
    assert!(refused(&program(2, &[2, 4], 0.1, equal).tables()).contains("fewer than two counts"));
    assert!(refused(&Sketch::new(2).tables()).contains("fewer than two counts"));
}

#[test]
fn nothing_is_predicted_from_disturbed_runs() {
    let disturbed = |stolen: u64| {
        let mut tables = program(2, &[1, 2], 0.1, equal).tables();
        tables.runs.iter_mut().filter(|run| run.threads == 2).for_each(|run| run.steal_ns = Some(ms(stolen)));
        tables
    };
    assert!(told(&disturbed(100), &[4]).refused.is_none());
    assert!(refused(&disturbed(500)).contains("other programs or virtual machines took"));
}

#[test]
fn a_load_s_rate_is_no_limit_of_the_program() {
    let mut tables = program(2, &[1, 2], 0.1, equal).tables();
    tables.meta.load = Some(Load { command: vec!["wrk".to_owned()], processors: Vec::new(), ready: None });
    assert!(refused(&tables).contains("a load asks"));
}

#[test]
fn what_no_processor_brings_is_not_predicted() {
    let waits = "read@libc.so.6 < fetch@app app.c:8 < main@app app.c:90";
    let reads = |threads: u64, sketch: Sketch| {
        let wall = 1.0 / threads as f64;
        sketch.clean_cpu(threads as u32, &around(1.3 * wall), &around(1.0)).traced(threads as u32, |run| {
            main_joins(run, ms(1300 / threads));
            for worker in 0..threads {
                run.thread(&format!("worker-{worker}")).runs(ms(1000 / threads), WORK).blocks(
                    Reason::Io,
                    ms(300 / threads),
                    waits,
                );
            }
        })
    };
    let tables = reads(2, reads(1, Sketch::new(2))).tables();
    assert!(refused(&tables).contains("no processor makes faster"));
    let idle =
        Sketch::new(2).clean_cpu(1, &around(1.0), &around(0.1)).clean_cpu(2, &around(0.5), &around(0.1)).tables();
    assert!(refused(&idle).contains("mostly wait"));
}

#[test]
fn work_that_grows_with_the_threads_is_not_predicted() {
    let each = |threads: u32, sketch: Sketch| {
        sketch.clean_cpu(threads, &around(1.0), &around(f64::from(threads))).traced(threads, |run| {
            main_joins(run, ms(1000));
            for worker in 0..threads {
                run.thread(&format!("worker-{worker}")).runs(ms(1000), WORK);
            }
        })
    };
    let sketch = each(2, each(1, Sketch::new(2)));
    let with_rate = sketch.throughput(1, &[100.0]).throughput(2, &[200.0]).tables();
    let prediction = told(&with_rate, &[4]);
    assert!((speed(&prediction, 4) - 4.0).abs() < 0.1, "{prediction:#?}");
    let without = each(2, each(1, Sketch::new(2))).tables();
    assert!(refused(&without).contains("prints no throughput"));
}

/// Four threads in a sweep of processors.
#[test]
fn more_processors_than_threads_bring_nothing() {
    let turns = |processors: u32, sketch: Sketch| {
        let wall = 1.2 / f64::from(processors);
        sketch.clean_cpu(processors, &around(wall), &around(1.2)).traced(processors, move |run| {
            main_joins(run, (wall * 1e9) as u64);
            let groups = 4 / u64::from(processors);
            for worker in 0..4_u64 {
                let mut thread = run.thread(&format!("worker-{worker}"));
                for _ in 0..30 {
                    let before = worker / u64::from(processors);
                    thread = if before > 0 { thread.preempted(ms(10 * before)) } else { thread };
                    thread = thread.runs(ms(10), WORK);
                    let after = groups - before - 1;
                    thread = if after > 0 { thread.preempted(ms(10 * after)) } else { thread };
                }
            }
        })
    };
    let tables = turns(2, turns(1, Sketch::new(2).counting_processors())).tables();
    let prediction = told(&tables, &[4, 8]);
    assert_eq!(prediction.fixed_threads, Some(4));
    assert!((speed(&prediction, 4) - 4.0).abs() < 0.2, "{prediction:#?}");
    assert!(at(&prediction, 8).range.unwrap().high <= 4.001, "{prediction:#?}");
    assert!(prediction.notes.iter().any(|note| note.contains("4 threads whatever")), "{prediction:#?}");
    // From one processor, its four threads tell what two bring.
    let from = ask(&tables, &Ask { from: Some(1), ..Ask::default() });
    assert!((speed(&from, 2) - 2.0).abs() < 0.1 && at(&from, 2).measured.is_some(), "{from:#?}");
}

/// In every kept recording: no speed below 0, none above what the processors allow, and each range holds its point.
#[test]
fn kept_recordings_are_predicted_within_bounds() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut seen = 0;
    for name in ["birthday", "birthday-repaired", "spawn", "wavefront", "pagesum", "list/list-pm", "list/list-pml"] {
        let tables = Recording::open(fixtures.join(name)).unwrap().tables().unwrap();
        for from in [None, Some(1)] {
            let prediction = ask(&tables, &Ask { from, processors: vec![2, 4, 8, 16, 32], usl: true });
            for point in &prediction.points {
                seen += 1;
                let Some(range) = point.range else {
                    assert!(point.times_as_fast.is_none() && point.not_known.is_some(), "{name}: {point:#?}");
                    continue;
                };
                assert!(range.low > 0.0 && range.high.is_finite() && range.low <= range.high, "{name}: {point:#?}");
                let faster = prediction.notes.iter().any(|note| note.contains("times as fast"));
                assert!(faster || range.high <= 1.021 * f64::from(point.processors), "{name}: {point:#?}");
                let holds = point.times_as_fast.is_none_or(|speed| range.low <= speed && speed <= range.high);
                assert!(holds, "{name}: {point:#?}");
                assert!(point.limit.is_none_or(|limit| limit.share > 0.0 && limit.share <= 1.0), "{name}: {point:#?}");
            }
        }
    }
    assert!(seen >= 40, "{seen}");
}
