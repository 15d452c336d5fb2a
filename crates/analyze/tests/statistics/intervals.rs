//! Whether the intervals of a sweep hold as often as they promise, and how often two recordings of the same program are
//! called different: simulated on machines that scatter and drift in known ways, not timed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code; the shares are worth reading")]

use crate::machine::{DRIFTS, Drift, Machine, SHAPES, Shape};
use analyze::account::{Balance, ledgers};
use analyze::answer::{Interval, Judgement};
use analyze::compare::compare;
use analyze::curve::Clean;
use analyze::knee::knee;
use analyze::model::Model;
use recording::synthetic::{Sketch, ms};

const COUNTS: [u32; 3] = [1, 2, 4];

fn with_none() -> impl Iterator<Item = Drift> {
    [Drift::None].into_iter().chain(DRIFTS)
}

/// Seeds are far apart, so that no two machines share random numbers.
fn machines(trials: u64, shape: Shape, drift: Drift) -> impl Iterator<Item = Machine> {
    (0..trials).map(move |seed| Machine::new(seed * 104_729 + 17, shape, drift))
}

/// A sweep on a machine of four processors. Processor time follows the drift and does not scatter.
fn sweep(machine: &mut Machine, runs: usize, seconds: [f64; 3]) -> Sketch {
    let times = machine.sweep(runs, &seconds);
    let cpu: Vec<f64> = machine.by_case[0].iter().map(|factor| seconds[0] * factor).collect();
    COUNTS
        .into_iter()
        .zip(&times)
        .fold(Sketch::new(4), |sketch, (threads, times)| sketch.clean_cpu(threads, times, &cpu))
}

/// The same with an observed run at each count, in which all threads work all the time.
fn observed(machine: &mut Machine, runs: usize, seconds: [f64; 3]) -> Vec<Balance> {
    let timed = sweep(machine, runs, seconds);
    let whole = COUNTS.into_iter().zip(seconds).fold(timed, |sketch, (threads, seconds)| {
        sketch.traced(threads, |run| {
            for name in ["a", "b", "c", "d"].into_iter().take(threads as usize) {
                run.thread(name).runs(ms((seconds * 1e3) as u64), "work@app app.c:5");
            }
        })
    });
    let tables = whole.tables();
    let (clean, model) = (Clean::new(&tables), Model::new(&tables));
    ledgers(&model, &clean).iter().map(|ledger| ledger.account.clone()).collect()
}

fn median(values: &[f64]) -> f64 {
    analyze::statistics::median(values).unwrap()
}

fn holds(interval: Interval, truth: f64) -> bool {
    // Times are rounded to nanoseconds.
    (interval.low * (1.0 - 1e-8)..=interval.high * (1.0 + 1e-8)).contains(&truth)
}

/// Counts wrong intervals: at most 5 % of all, and in each part no more than 5 % plus three standard deviations.
#[derive(Debug, Default)]
struct Tally {
    tried: u32,
    wrong: u32,
}

impl Tally {
    fn add(&mut self, wrong: bool) {
        self.tried += 1;
        self.wrong += u32::from(wrong);
    }

    fn share(&self) -> f64 {
        f64::from(self.wrong) / f64::from(self.tried)
    }

    fn check_part(&self, what: &str) {
        let allowed = 0.05 + 3.0 * (0.05 * 0.95 / f64::from(self.tried)).sqrt();
        assert!(self.share() <= allowed, "{what}: {} of {}", self.wrong, self.tried);
    }

    fn check(&self, what: &str) {
        println!("{what}: {} of {}, {:.1} %", self.wrong, self.tried, 100.0 * self.share());
        assert!(self.share() <= 0.05, "{what}: {} of {}", self.wrong, self.tried);
        assert!(self.wrong > 0, "{what}: an interval that never misses says nothing");
    }
}

#[test]
fn speed_ups_and_times_lie_in_their_intervals() {
    for runs in [3, 5, 10] {
        for shape in SHAPES {
            let (mut speed, mut time) = (Tally::default(), Tally::default());
            for drift in with_none() {
                let (mut speed_part, mut time_part) = (Tally::default(), Tally::default());
                for mut machine in machines(80, shape, drift) {
                    let seconds = [1.0, 0.6, 0.4];
                    let tables = sweep(&mut machine, runs, seconds).tables();
                    // What a run would take at a typical moment of this sweep.
                    let usual = machine.usual() * median(&machine.factors);
                    for (point, seconds) in Clean::new(&tables).points().iter().zip(seconds) {
                        let Interval { low, high } = Interval { low: point.seconds.low, high: point.seconds.high };
                        for tally in [&mut time, &mut time_part] {
                            tally.add(!holds(Interval { low, high }, seconds * usual));
                        }
                        if point.threads > 1 {
                            for tally in [&mut speed, &mut speed_part] {
                                tally.add(!holds(point.speedup_interval, 1.0 / seconds));
                            }
                        }
                    }
                }
                speed_part.check_part(&format!("speed-up, {runs} runs, {shape:?}, {drift:?}"));
                time_part.check_part(&format!("time, {runs} runs, {shape:?}, {drift:?}"));
            }
            speed.check(&format!("speed-up, {runs} runs, {shape:?}"));
            time.check(&format!("time, {runs} runs, {shape:?}"));
        }
    }
}

#[test]
fn a_program_that_loses_nothing_is_called_lossy_once_in_twenty_times_at_most() {
    for runs in [3, 5, 10] {
        let (mut claims, mut misses) = (Tally::default(), Tally::default());
        for shape in SHAPES {
            for drift in with_none() {
                let (mut claims_part, mut misses_part) = (Tally::default(), Tally::default());
                for mut machine in machines(10, shape, drift) {
                    let accounts = observed(&mut machine, runs, [1.0, 0.5, 0.25]);
                    let usual = median(&machine.factors);
                    assert_eq!(accounts.len(), 3);
                    for account in accounts.iter().skip(1) {
                        // The delay of a typical run by the noise itself counts as lost.
                        let truth = (machine.usual() - 1.0) * usual;
                        for tally in [&mut claims, &mut claims_part] {
                            tally.add(account.loss_interval.low > truth + 1e-7);
                        }
                        for tally in [&mut misses, &mut misses_part] {
                            let Interval { low, high } = account.loss_interval;
                            tally.add(!(low - 1e-7..=high + 1e-7).contains(&truth));
                        }
                    }
                }
                claims_part.check_part(&format!("claims of a loss, {runs} runs, {shape:?}, {drift:?}"));
                misses_part.check_part(&format!("losses, {runs} runs, {shape:?}, {drift:?}"));
            }
        }
        claims.check(&format!("claims of a loss, {runs} runs"));
        misses.check(&format!("losses, {runs} runs"));
    }
}

#[test]
fn a_loss_of_a_seventh_is_certain_in_noise_of_two_per_cent() {
    for drift in with_none() {
        // A block in which the speed jumps by a third or more cannot show a loss of a seventh, and with five blocks all
        // are needed.
        if matches!(drift, Drift::Bursts | Drift::Step(_)) {
            continue;
        }
        let certain = machines(100, Shape::Normal, drift).filter_map(|mut machine| {
            let accounts = observed(&mut machine, 5, [1.0, 0.5 * 7.0 / 6.0, 0.25]);
            (accounts[1].loss_interval.low > 0.0).then_some(())
        });
        let certain = certain.count();
        assert!(certain >= 90, "{certain} of 100, {drift:?}");
    }
}

/// Speed-up × efficiency (speed-up² / threads) is the same at every count: a bend would be noise.
#[test]
fn noise_bends_a_curve_once_in_twenty_times_at_most() {
    for runs in [3, 5, 10] {
        let mut bent = Tally::default();
        for shape in SHAPES {
            for drift in with_none() {
                let mut part = Tally::default();
                for mut machine in machines(80, shape, drift) {
                    let seconds = [1.0, 0.5_f64.sqrt(), 0.5];
                    let tables = sweep(&mut machine, runs, seconds).tables();
                    let bend = knee(&Clean::new(&tables));
                    for tally in [&mut bent, &mut part] {
                        tally.add(bend.is_some());
                    }
                }
                part.check_part(&format!("bends, {runs} runs, {shape:?}, {drift:?}"));
            }
        }
        bent.check(&format!("bends, {runs} runs"));
    }
}

/// `knee diff`: the recordings are made one after the other on a machine that keeps drifting as before.
#[test]
fn the_same_recorded_twice_got_neither_better_nor_worse() {
    for runs in [5, 10] {
        let mut claims = Tally::default();
        for shape in SHAPES {
            let mut of_shape = Tally::default();
            for drift in with_none() {
                let mut part = Tally::default();
                for (seed, mut machine) in machines(40, shape, drift).enumerate() {
                    if let Drift::Step(at) = &mut machine.drift {
                        // The step is anywhere in the two recordings. If less than a fifth of one has the other's
                        // speed, nothing tells the step from a change of the program.
                        *at = seed % (6 * runs);
                        if 5 * at.abs_diff(3 * runs) <= 3 * runs {
                            continue;
                        }
                    }
                    let [before, after] = [0, 1].map(|_| sweep(&mut machine, runs, [1.0, 0.6, 0.4]).tables());
                    let told = compare(&before, &after);
                    let claimed = told.curve.iter().any(|point| point.judgement != Judgement::Unclear);
                    for tally in [&mut claims, &mut of_shape, &mut part] {
                        tally.add(claimed);
                    }
                }
                part.check_part(&format!("changes, {runs} runs, {shape:?}, {drift:?}"));
            }
            of_shape.check_part(&format!("changes, {runs} runs, {shape:?}"));
        }
        claims.check(&format!("changes, {runs} runs"));
    }
}

#[test]
fn a_change_of_a_tenth_is_seen_in_noise_of_two_per_cent_on_a_steady_machine() {
    let (mut found, mut everywhere) = (0, 0);
    for mut machine in machines(100, Shape::Normal, Drift::None) {
        let before = sweep(&mut machine, 5, [1.1, 0.66, 0.44]).tables();
        let after = sweep(&mut machine, 5, [1.0, 0.6, 0.4]).tables();
        let told = compare(&before, &after);
        assert!(told.curve.iter().all(|point| point.judgement != Judgement::Worse), "{}", told.summary);
        let better = told.curve.iter().filter(|point| point.judgement == Judgement::Better).count();
        (found, everywhere) = (found + better, everywhere + u32::from(better == 3));
    }
    println!("changes of a tenth: {found} of 300, at all three counts {everywhere} of 100");
    assert!(found >= 270 && everywhere >= 75, "{found} of 300, {everywhere} of 100");
}

#[test]
fn too_few_runs_for_a_claim_say_so() {
    let of = |seconds: f64, runs: usize| Sketch::new(2).clean(2, &vec![seconds; runs]).tables();
    let told = compare(&of(2.0, 3), &of(1.0, 3));
    assert_eq!((told.curve[0].judgement, told.curve[0].interval), (Judgement::Unclear, None));
    assert_eq!(
        told.summary,
        "After the change: cannot be told, because at least 4 runs of each are needed, with 2 threads."
    );
    assert_eq!(compare(&of(2.0, 4), &of(1.0, 4)).summary, "After the change: faster with 2 threads.");
}

#[test]
fn a_machine_that_drifts_is_named_where_that_hides_a_difference() {
    let of = |from: i32| {
        let times: Vec<f64> = (0..5).map(|run| 1.02_f64.powi(from + run)).collect();
        Sketch::new(2).clean(2, &times).tables()
    };
    let told = compare(&of(0), &of(5));
    assert_eq!(told.curve[0].judgement, Judgement::Unclear);
    assert!(told.warnings.iter().any(|w| w.contains("drifted") && w.contains("10 %")), "{:?}", told.warnings);
}
