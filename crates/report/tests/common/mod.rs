//! Answers as the analysis gives them, for the tests of everything that shows an answer.

#![allow(dead_code, reason = "each test file uses its part")]

use analyze::answer::*;
use recording::meta::{Counted, Machine, Throughput};
use std::collections::{BTreeMap, BTreeSet};

fn machine() -> Machine {
    Machine {
        model: "AMD EPYC 7B13".to_owned(),
        hypervisor: Some("KVM".to_owned()),
        ..recording::synthetic::meta(2).machine
    }
}

fn spread(median: f64, half: f64) -> Spread {
    Spread { median, min: median - 1.2 * half, max: median + 1.4 * half, low: median - half, high: median + half }
}

fn around(middle: f64, half: f64) -> Interval {
    Interval { low: middle - half, high: middle + half }
}

fn point(threads: u32, seconds: Spread, base: f64, used: f64, switches: f64, system: f64) -> Point {
    let speedup = base / seconds.median;
    let half = if threads == 1 { 0.0 } else { speedup * (seconds.high - seconds.low) / seconds.median };
    let n = f64::from(threads);
    let cpu = used * seconds.median;
    Point {
        threads,
        processors: None,
        runs: 5,
        seconds,
        throughput: None,
        speedup,
        speedup_interval: around(speedup, half),
        efficiency: speedup / n,
        efficiency_interval: around(speedup / n, half / n),
        processors_used: used,
        load: None,
        counters: BTreeMap::from([
            (CounterId::UserSeconds, cpu * (1.0 - system)),
            (CounterId::SystemSeconds, cpu * system),
            (CounterId::VoluntarySwitches, switches),
            (CounterId::InvoluntarySwitches, 12.0),
        ]),
    }
}

fn line(cause: CauseId, what: &str, seconds: f64, sampling_error: f64) -> Line {
    Line { cause, what: what.to_owned(), seconds, sampling_error }
}

fn account(threads: u32, capacity: f64, useful: f64, lines: Vec<Line>) -> Account {
    let explained: f64 = lines.iter().map(|l| l.seconds).sum();
    Account {
        threads,
        working_threads: None,
        capacity,
        useful,
        unexplained: capacity - useful - explained,
        traced_over_clean: 1.08,
        loss_interval: around(capacity - useful, 0.05),
        lines,
    }
}

fn evidence(what: &str, value: f64, unit: Unit, source: &'static str) -> Evidence {
    Evidence { what: what.to_owned(), value, unit, source }
}

fn answer(curve: Vec<Point>, verdict: Verdict) -> Answer {
    Answer {
        knee: Knee { version: "0.1.0".to_owned(), format: "1.0".to_owned() },
        command: ["./lab/build/birthday", "--threads={threads}", "--attempts=2M", "--rng=random"]
            .map(str::to_owned)
            .to_vec(),
        environment: Vec::new(),
        load: None,
        machine: machine(),
        counted: Counted::Threads,
        throughput: None,
        curve,
        knee_at: None,
        account: Vec::new(),
        growth: vec![Growth {
            kind: Kind::Function,
            name: "simulate (birthday)".to_owned(),
            growth: 0.4,
            sampling_error: 0.1,
            at: vec![At { threads: 1, per_unit: 0.5 }, At { threads: 2, per_unit: 0.9 }],
        }],
        queues: Vec::new(),
        requests: Vec::new(),
        what_if: WhatIf::default(),
        tried: Vec::new(),
        verdict,
        limitations: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What a server answered with so many threads; it asks a database and a cache.
pub(crate) fn requests(threads: u32) -> Requests {
    let service = |address: &str, program: Option<&str>, replies_per_request, seconds, share| ServiceReplies {
        address: address.to_owned(),
        program: program.map(str::to_owned),
        replies_per_request,
        seconds,
        share,
    };
    let database = service("127.0.0.1:5432", Some("postgres"), 1.0, 0.0047, 0.904);
    let cache = service("10.0.0.7:6379", None, 2.5, 0.0001, 0.048);
    Requests { threads, count: 8977, per_second: 2971.2, seconds: 0.0052, services: vec![database, cache] }
}

/// A lock that is 83 % utilised, in a run of so many threads.
pub(crate) fn busy_lock(threads: u32, site: Site) -> Queue {
    Queue {
        threads,
        kind: QueueKind::Lock,
        size: 1,
        object: Some("0x7f2c4a3f1860".to_owned()),
        object_name: Some("table_lock".to_owned()),
        waits: BTreeSet::new(),
        site: Some(site),
        utilisation: 0.83,
        utilisation_interval: around(0.83, 0.02),
        observed_seconds: 2.0,
        arrivals_per_second: 830.0,
        hold_seconds: 0.001,
        hold_interval: around(0.001, 0.00003),
        hold_variation: 0.9,
        holds: 900,
        waiters: 8,
        waits_per_second: 650.0,
        wait_seconds: 0.004,
        waiting: 2.6,
        waiting_at_twice: None,
        limit_at: 1.0 / 0.83,
        summary: None,
    }
}

/// Case 1: threads wait for the lock inside libc's random.
pub(crate) fn user_lock() -> Answer {
    let curve = vec![
        point(1, spread(1.934, 0.021), 1.934, 1.0, 41.0, 0.01),
        point(2, spread(4.612, 0.11), 1.934, 1.76, 2_994_225.0, 0.58),
        point(4, spread(4.87, 0.16), 1.934, 1.81, 3_120_000.0, 0.6),
    ];
    let lines = |scale: f64| {
        vec![
            line(CauseId::USER_LOCK, "lock and futex code", 5.13 * scale, 0.04),
            line(CauseId::USER_LOCK, "waiting for locks", 1.71 * scale, 0.0),
            line(CauseId::CPU_PRESSURE, "preempted by other programs", 0.08 * scale, 0.0),
            line(CauseId::EXTRA_WORK, "same code, more time", 0.06 * scale, 0.01),
        ]
    };
    let verdict = Verdict {
        summary: "With 2 threads the program is 2.4 times slower than with 1. Threads wait for the lock inside random \
                  (libc.so.6), called from simulate at birthday.c:17: 96 % of the lost processor time."
            .to_owned(),
        causes: vec![Cause {
            id: CauseId::USER_LOCK,
            share: 0.957,
            lost_seconds: 6.84,
            interval: around(6.84, 0.2),
            threads: 2,
            summary: "Threads wait for the lock inside random (libc.so.6), called from simulate at birthday.c:17."
                .to_owned(),
            culprit: Some(Culprit {
                function: Some("random".to_owned()),
                module: "libc.so.6".to_owned(),
                file: None,
                path: None,
                relative: None,
                line: None,
                object: Some("0x7f2c4a3f1860".to_owned()),
                object_name: None,
                callers: vec![Site {
                    function: Some("simulate".to_owned()),
                    module: "birthday".to_owned(),
                    file: Some("birthday.c".to_owned()),
                    path: Some("/home/me/birthday.c".to_owned()),
                    relative: Some("src/birthday.c".to_owned()),
                    line: Some(17),
                    address: "0x1234".to_owned(),
                }],
            }),
            evidence: vec![
                evidence("futex calls", 2_994_237.0, Unit::Of("calls"), "syscalls"),
                evidence("waited", 3.42, Unit::Seconds, "waits"),
                evidence("in lock and futex code", 5.13, Unit::Seconds, "samples"),
                evidence("woken by its holder", 0.99, Unit::Share, "wakes"),
            ],
            remedies: vec![
                "a generator with its own state in each thread (random_r)".to_owned(),
                "another generator, such as xoshiro".to_owned(),
            ],
            disproved_by: "the program is as slow with random_r, or without the call at birthday.c:17".to_owned(),
        }],
        clear: vec![CauseId::OVERSUBSCRIPTION, CauseId::PAGE_FAULT, CauseId::IO_WAIT],
        unsure: vec![
            Unsure { id: CauseId::FALSE_SHARING, missing: "hardware memory samples".to_owned() },
            Unsure { id: CauseId::TRUE_SHARING, missing: "hardware memory samples".to_owned() },
            Unsure { id: CauseId::MEMORY_BOUND, missing: "hardware counters".to_owned() },
        ],
        ..Verdict::default()
    };
    let mut answer = answer(curve, verdict);
    answer.knee_at = Some(1);
    answer.account =
        vec![account(1, 1.93, 1.93, vec![]), account(2, 9.22, 1.93, lines(1.0)), account(4, 9.74, 1.93, lines(1.07))];
    answer.warnings = vec!["tracing made the runs with 2 thread(s) 1.4 times as long".to_owned()];
    answer.limitations = vec![Limitation {
        what: LimitationKind::Capability("hardware counters".to_owned()),
        why: "this virtual machine has none (memory-bound slowdown cannot be told from other extra time)".to_owned(),
        unlock: None,
    }];
    answer
}

/// Scales up to the processors that it has; the program prints its throughput.
pub(crate) fn none() -> Answer {
    let mut curve = vec![
        point(1, spread(2.01, 0.02), 2.01, 1.0, 12.0, 0.0),
        point(2, spread(1.02, 0.012), 2.01, 1.98, 40.0, 0.002),
    ];
    for point in &mut curve {
        point.throughput = Some(spread(20e6 / point.seconds.median, 0.1e6));
    }
    let verdict = Verdict {
        summary: "With 2 threads the program is 2.0 times as fast as with 1. It scales to the processors that it has."
            .to_owned(),
        causes: vec![Cause {
            id: CauseId::NONE,
            share: 0.0,
            lost_seconds: 0.02,
            interval: around(0.02, 0.03),
            threads: 2,
            summary: "It scales to the processors that it has.".to_owned(),
            culprit: None,
            evidence: vec![evidence("efficiency", 0.985, Unit::Share, "runs")],
            remedies: vec!["a machine with more processors".to_owned()],
            disproved_by: "a machine with more processors does not make it faster".to_owned(),
        }],
        clear: vec![CauseId::USER_LOCK, CauseId::OVERSUBSCRIPTION],
        unsure: Vec::new(),
        ..Verdict::default()
    };
    let mut answer = answer(curve, verdict);
    answer.throughput = Some(Throughput {
        pattern: "([0-9.]+) ops/s".to_owned(),
        unit: "ops/s".to_owned(),
        given: false,
        times: false,
    });
    answer.account = vec![
        account(1, 1.0e-7, 1.0e-7, vec![]),
        account(2, 1.02e-7, 1.0e-7, vec![line(CauseId::EXTRA_WORK, "same code, more time", 0.015e-7, 0.004e-7)]),
    ];
    answer
}

/// Measured without permission to trace.
pub(crate) fn curve_only() -> Answer {
    let mut answer = user_lock();
    answer.account.clear();
    answer.warnings.clear();
    let missing = "a traced run: the account of each thread's time".to_owned();
    answer.verdict = Verdict {
        summary: "With 2 threads the program is 2.4 times slower than with 1. What stops it was not recorded."
            .to_owned(),
        causes: Vec::new(),
        clear: Vec::new(),
        unsure: [
            CauseId::USER_LOCK,
            CauseId::CONDITION_WAIT,
            CauseId::IMBALANCE,
            CauseId::KERNEL_LOCK,
            CauseId::SPIN_WAIT,
        ]
        .map(|id| Unsure { id, missing: missing.clone() })
        .to_vec(),
        ..Verdict::default()
    };
    answer.limitations = vec![Limitation {
        what: LimitationKind::Capability("eBPF".to_owned()),
        why: "needs root or CAP_BPF and CAP_PERFMON (without it there is a curve, but no account and no cause)"
            .to_owned(),
        unlock: Some("sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep /usr/local/bin/knee".to_owned()),
    }];
    answer
}

/// An answer so long that the least important lines must be left out.
pub(crate) fn crowded() -> Answer {
    let mut answer = user_lock();
    for account in &mut answer.account {
        let small = |i: i32| line(CauseId::EXTRA_WORK, &format!("a small part, number {i}"), 0.001 * f64::from(i), 0.0);
        account.lines.extend((1..8).map(small));
    }
    answer.verdict.causes[0].disproved_by += "; or anything else that takes several lines to say, as verdicts do when \
                                              they have to be exact about what would show them wrong";
    answer.verdict.clear.extend([
        CauseId::ALLOCATOR,
        CauseId::KERNEL_LOCK,
        CauseId::CONDITION_WAIT,
        CauseId::PAGE_FAULT,
    ]);
    answer.verdict.unsure.push(Unsure { id: CauseId::EXTRA_WORK, missing: "the calls".to_owned() });
    answer
}

/// Every name that a target can choose is an attack.
pub(crate) fn hostile() -> Answer {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}<b>\u{202e}gnp.exe\r\n\u{9b}31m\u{200b}";
    let long = format!("std::map<{}>::insert", "std::pair<std::string, std::vector<int>>, ".repeat(60));
    let mut answer = user_lock();
    answer.command = vec![format!("./{evil}"), "x".repeat(300), "--threads={threads}".to_owned()];
    answer.machine.model = format!("CPU {evil}");
    answer.verdict.summary =
        format!("Threads wait for the lock inside {long}, called from {evil}: {}", "x".repeat(500));
    let mut second = answer.verdict.causes[0].clone();
    if let Some(culprit) = &mut answer.verdict.causes[0].culprit {
        culprit.function = Some(long.clone());
        culprit.module = format!("{evil}{evil}.so");
        culprit.callers[0].function = Some(evil.to_owned());
        culprit.callers[0].file = Some("y".repeat(4096));
        culprit.callers.push(culprit.callers[0].clone());
        culprit.callers.push(Site { function: None, file: None, line: None, ..culprit.callers[0].clone() });
    }
    answer.verdict.causes[0].evidence[0].what = evil.to_owned();
    second.lost_seconds = f64::NAN;
    second.culprit = Some(Culprit {
        function: None,
        module: "日本語".repeat(30),
        file: None,
        path: None,
        relative: None,
        line: None,
        object: None,
        object_name: None,
        callers: vec![],
    });
    second.summary = long.clone();
    answer.verdict.causes.extend([second.clone(), second.clone(), second]);
    answer.account[1].lines[0].what = format!("{evil}{}", "z".repeat(200));
    answer.curve[1].seconds.median = f64::INFINITY;
    answer.warnings = (0..20).map(|i| format!("{evil} {i}")).collect();
    answer.verdict.unsure = (0..9).map(|i| Unsure { id: CauseId::SPIN_WAIT, missing: format!("{i} {long}") }).collect();
    answer.limitations = (0..9)
        .map(|_| Limitation {
            what: LimitationKind::Capability(evil.to_owned()),
            why: long.clone(),
            unlock: Some(evil.to_owned()),
        })
        .collect();
    answer
}

/// No run finished.
pub(crate) fn nothing() -> Answer {
    let verdict = Verdict::default();
    answer(Vec::new(), verdict)
}

/// Sixteen counts, large numbers.
pub(crate) fn wide() -> Answer {
    let mut answer = user_lock();
    answer.curve =
        (0..16).map(|i| point(1 << i, spread(12_345.6, 0.004), 12_345.6, f64::from(1 << i), 9.9e12, 0.999)).collect();
    answer.account =
        (0..16).map(|i| account(1 << i, 12.3e6 * f64::from(1 << i), 1.0, answer.account[1].lines.clone())).collect();
    answer.knee_at = Some(1 << 15);
    answer
}
