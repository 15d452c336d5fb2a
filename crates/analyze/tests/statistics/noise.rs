//! How often chance alone is called a difference, and whether a real difference is found: simulated, not timed.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::machine::{DRIFTS, Drift, Machine, Shape};
use analyze::answer::{Judgement, Kind, Setup};
use analyze::compare::{interleaved, noise};
use recording::synthetic::Sketch;

fn machine(seed: u64, drift: Drift) -> Machine {
    Machine::new(seed, Shape::Normal, drift)
}

/// The exact test is proved by enumeration elsewhere; this goes all the way through recordings, with drift.
#[test]
fn a_command_differs_from_itself_in_one_of_twenty_checks_at_most() {
    let (mut all_checks, mut all_claims) = (0, 0);
    for blocks in [6, 8, 10] {
        let (mut checks, mut claims) = (0, 0);
        for drift in DRIFTS {
            for seed in 0..200 {
                let [a, b] = machine(seed * 7919 + blocks as u64, drift).blocks(blocks, [1.0, 1.0]);
                let compared = noise(&a, &b);
                assert_eq!(compared.setup, Setup::Same);
                checks += 1;
                claims += u32::from(compared.curve[0].judgement != Judgement::Unclear);
            }
        }
        // The exact levels are 3.1, 3.9 and 4.9 %. Of 1000 checks at 5 %, 50 are expected; three standard deviations
        // are 21.
        assert!(claims <= 71, "{claims} of {checks} checks with {blocks} blocks");
        // A test that never claims a difference would pass too.
        assert!(claims > 0, "{blocks} blocks");
        (all_checks, all_claims) = (all_checks + checks, all_claims + claims);
    }
    assert!(all_claims * 20 <= all_checks, "{all_claims} of {all_checks} checks");
}

#[test]
fn a_tenth_is_found_in_noise_of_two_per_cent_whatever_drifts() {
    for drift in DRIFTS {
        // Bursts double some runs: the noise is then no longer 2 %.
        if matches!(drift, Drift::Bursts) {
            continue;
        }
        let found = (0..100).filter(|seed| {
            let [a, b] = machine(*seed, drift).blocks(10, [1.1, 1.0]);
            let compared = interleaved(&a, &b);
            let point = &compared.curve[0];
            if point.judgement == Judgement::Better {
                assert!(compared.summary.starts_with("B is faster than A: 1."), "{}", compared.summary);
            }
            assert_eq!(point.blocks, Some(10));
            point.judgement == Judgement::Better
        });
        assert!(found.count() >= 95, "{drift:?}");
    }
}

#[test]
fn the_interval_holds_the_truth() {
    let mut held = 0;
    for seed in 0..400 {
        let [a, b] = machine(seed, Drift::Walk(0.0)).blocks(10, [1.0, 1.25]);
        let interval = interleaved(&a, &b).curve[0].interval.unwrap();
        held += u32::from((interval.low..=interval.high).contains(&0.8));
    }
    assert!(held >= 380 - 13, "{held} of 400; three standard deviations of a share of 95 % are 13");
}

#[test]
fn too_few_blocks_say_so() {
    let [a, b] = machine(1, Drift::Waves).blocks(5, [2.0, 1.0]);
    let compared = interleaved(&a, &b);
    assert_eq!(compared.curve[0].judgement, Judgement::Unclear);
    assert_eq!(
        compared.summary,
        "It cannot be told whether B is faster or slower than A: 5 blocks, at least 6 are needed."
    );
    assert!(noise(&a, &b).summary.starts_with("The noise is not known: 5 blocks"), "{}", noise(&a, &b).summary);
    let none = Sketch::new(2).tables();
    assert!(interleaved(&none, &none).summary.contains("not both timed"));
    assert!(noise(&none, &none).curve.is_empty());
}

#[test]
fn several_counts_together_are_as_careful_as_one() {
    let of = |ideal: f64| {
        let times: Vec<f64> = (0..6).map(|i| ideal * (1.0 + 0.001 * f64::from(i % 3))).collect();
        Sketch::new(2).clean(1, &times).clean(2, &times).tables()
    };
    // Six blocks are enough for one count but too few for two.
    let compared = interleaved(&of(2.0), &of(1.0));
    assert_eq!(compared.curve.len(), 2);
    assert!(compared.curve.iter().all(|p| p.judgement == Judgement::Unclear && p.interval.is_none()));
    assert!(compared.summary.contains("With 2 threads: it cannot be told") && compared.summary.contains("at least 7"));
}

#[test]
fn counters_that_moved_are_told_and_others_are_not() {
    let of = |switches: u64, system: u64| {
        let mut tables = Sketch::new(2).clean(2, &[1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.0, 1.01, 0.99, 1.0]).tables();
        for (i, run) in tables.runs.iter_mut().enumerate() {
            run.voluntary_switches = switches + i as u64 % 3;
            run.system_ns = system + i as u64 % 2;
            run.minor_faults = 100 + (i as u64 * 7) % 5;
        }
        tables
    };
    let changes = interleaved(&of(40, 90_000_000), &of(90, 90_000_001)).changes;
    assert_eq!(changes.len(), 1, "{changes:#?}");
    assert_eq!((changes[0].kind, changes[0].name.as_str()), (Kind::Counter, "voluntary context switches"));
    assert!(changes[0].before < 43.0 && changes[0].after >= 90.0);
}

#[test]
fn what_is_counted_in_different_units_is_compared_by_whole_runs() {
    let timed = Sketch::new(2).clean(2, &[2.0; 8]).tables();
    let counted = Sketch::new(2).clean(2, &[1.0; 8]).throughput(2, &[500.0]).tables();
    let compared = interleaved(&timed, &counted);
    assert!((compared.curve[0].speed - 2.0).abs() < 1e-9, "{compared:#?}");
    assert!(compared.warnings.iter().any(|w| w.contains("whole runs are compared")));
}
