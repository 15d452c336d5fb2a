//! Sweeps over several cases: one over a parameter, one of variants, one in which every name is an attack.

use super::hostile::names;
use analyze::compare::blocks::ratios;
use analyze::curve::Clean;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use report::comparison::{Case, Comparison, FORMAT, Parameter, Picture, Skipped};

/// A program that does `rate` units of work per second with one thread, and `scale` times as many with 2, 4 and 8.
fn program(rate: f64, scale: [f64; 3], locked: bool) -> Tables {
    let around = |rate: f64| [rate * 0.98, rate, rate * 1.02];
    let mut sketch = Sketch::new(8);
    for (threads, factor) in [1_u32, 2, 4, 8].into_iter().zip([1.0].into_iter().chain(scale)) {
        sketch = sketch.clean(threads, &[1.0, 1.0, 1.0]);
        sketch = sketch.traced(threads, |run| {
            for t in 0..threads {
                let next = format!("worker {}", (t + 1) % threads);
                let thread = run.thread(&format!("worker {t}")).runs(ms(100), "work@app app.c:10 < run@app app.c:5");
                if locked && threads > 1 {
                    thread.locks(0x40, ms(900), "lock@app app.c:20 < run@app app.c:5", &next);
                } else {
                    thread.runs(ms(900), "work@app app.c:10 < run@app app.c:5");
                }
            }
        });
        sketch = sketch.throughput(threads, &around(rate * factor));
    }
    sketch.tables()
}

fn comparison(title: &str, picture: Picture, cases: Vec<(String, Vec<Parameter>, Vec<String>, Tables)>) -> Comparison {
    let clean: Vec<Clean<'_>> = cases.iter().map(|(.., tables)| Clean::new(tables)).collect();
    let against: Vec<_> =
        clean.iter().map(|of| clean.first().map_or_else(Vec::new, |first| ratios(of, first))).collect();
    let mut made: Vec<Case> = Vec::new();
    let (mut knee, mut machine) = (None, None);
    for (i, (variant, parameters, expect, tables)) in cases.iter().enumerate() {
        let answer = analyze::answer_for(tables);
        knee.get_or_insert_with(|| answer.knee.clone());
        machine.get_or_insert_with(|| answer.machine.clone());
        let folder = format!("{variant}-{i}");
        made.push(Case::new(variant.clone(), parameters.clone(), expect.clone(), folder, answer));
    }
    for (case, against) in made.iter_mut().zip(against).skip(1) {
        case.against_first = against;
    }
    let mut knee = knee.expect("there is a case");
    knee.format = FORMAT.to_owned();
    Comparison {
        knee,
        title: title.to_owned(),
        file: Some("sums.toml".to_owned()),
        complete: true,
        machine,
        unit: Some("Mops/s".to_owned()),
        picture,
        cases: made,
        skipped: vec![Skipped { variant: "third".to_owned(), why: "libthird.so.1 is missing".to_owned() }],
    }
}

/// Five variants over the thread count.
pub(crate) fn variants() -> Comparison {
    let scales = [[0.6, 0.5, 0.4], [1.1, 1.2, 1.0], [1.5, 2.0, 2.2], [1.9, 3.4, 5.5], [2.0, 3.9, 7.6]];
    let cases = scales.into_iter().enumerate().map(|(i, scale)| {
        let name = format!("list{}", ["", "-p", "-pm", "-pml", "-pmla"][i]);
        let expect = vec![if i == 4 { "none" } else { "user-lock" }.to_owned()];
        (name, Vec::new(), expect, program(8.0 + i as f64, scale, i < 2))
    });
    comparison("Five steps to a list that scales", Picture::default(), cases.collect())
}

/// Two variants over a parameter that begins at 0, on logarithmic axes.
pub(crate) fn families() -> Comparison {
    let mut cases = Vec::new();
    for (name, slow) in [("per-thread", 0.2), ("pipeline", 0.9)] {
        for (i, iterations) in ["0", "10", "100", "1000", "10K"].into_iter().enumerate() {
            let factor = (slow + i as f64 * 0.25).min(1.0);
            let scale = [2.0, 4.0, 8.0].map(|n: f64| n.powf(2.0 * factor - 1.0));
            let parameters = vec![Parameter { name: "iterations".to_owned(), value: iterations.to_owned() }];
            let rate = 1000.0 / 10_f64.powi(i as i32);
            cases.push((name.to_owned(), parameters, Vec::new(), program(rate, scale, false)));
        }
    }
    let picture = Picture { x: Some("iterations".to_owned()), log_x: true, log_y: true };
    comparison("A lock inside the kernel", picture, cases)
}

/// Every name is one of the attacks; more cases than there are letters.
pub(crate) fn hostile() -> Comparison {
    let names = names();
    let of = |i: usize| names[i % names.len()].clone();
    let case = |i: usize| {
        let parameters = vec![Parameter { name: of(1), value: of(i) }, Parameter { name: of(2), value: of(i + 1) }];
        (of(i), parameters, vec![of(i + 2)], program(1.0, [1.0, f64::NAN, -1.0], i.is_multiple_of(2)))
    };
    let mut made =
        comparison(&of(0), Picture { x: Some(of(1)), log_x: true, log_y: true }, (0..30).map(case).collect());
    made.file = Some(of(3));
    made.unit = Some(of(4));
    made.skipped = (0..4).map(|i| Skipped { variant: of(i), why: of(i + 5) }).collect();
    for (i, case) in made.cases.iter_mut().enumerate() {
        case.recording = of(i);
        case.command = names.clone();
        case.warnings = names.clone();
    }
    made
}
