//! Locks as queues: what is worked out from waits and holds is what really happened, and nothing where too little was
//! seen.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::answer_for;
use analyze::answer::{Queue, QueueKind};
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch};

const LOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < update@app app.c:40 < work@app app.c:5";
const HOLD: &str = "update@app app.c:41 < work@app app.c:5";
const THINK: &str = "work@app app.c:6";
/// Mean hold, nanoseconds.
const MEAN: f64 = 1e6;

/// What really happened.
struct Real {
    utilisation: f64,
    arrivals: f64,
    hold: f64,
}

/// So many threads that stay away for `away` mean holds, take the lock in the order of coming, and hold it; both times
/// are exponential. In a run of so many holds.
fn threads(run: &mut RunSketch<'_>, count: usize, away: f64, holds: usize) -> Real {
    // The same numbers on every machine: a multiplier and modulus of L'Ecuyer (1999).
    let mut state = 12345_u64;
    let mut exponential = move |mean: f64| {
        state = state * 1_583_458_089 % 2_147_483_647;
        (-mean * (state as f64 / 2_147_483_647.0).ln()).max(1000.0) as u64
    };
    // Of each thread: its steps (away, waits, for whom, holds), and when it comes next.
    let mut steps: Vec<Vec<(u64, u64, usize, u64)>> = vec![Vec::new(); count];
    let mut pause: Vec<u64> = (0..count).map(|_| exponential(away * MEAN)).collect();
    let mut comes = pause.clone();
    let (mut free, mut last, mut held) = (0_u64, 0, 0_u64);
    for _ in 0..holds {
        let next = (0..count).min_by_key(|thread| comes[*thread]).unwrap();
        let (came, hold) = (comes[next], exponential(MEAN));
        let got = came.max(free);
        steps[next].push((pause[next], got - came, last, hold));
        (free, last, held) = (got + hold, next, held + hold);
        pause[next] = exponential(away * MEAN);
        comes[next] = free + pause[next];
    }
    for (thread, steps) in steps.iter().enumerate() {
        let mut sketch = run.thread(&format!("t{thread}"));
        for (pause, wait, by, hold) in steps {
            sketch = sketch.runs(*pause, THINK);
            if *wait > 0 {
                sketch = sketch.locks(0x100, *wait, LOCK, &format!("t{by}"));
            }
            sketch = sketch.runs(*hold, HOLD);
        }
    }
    let seconds = free as f64 * 1e-9;
    Real {
        utilisation: held as f64 / free as f64,
        arrivals: holds as f64 / seconds,
        hold: held as f64 * 1e-9 / holds as f64,
    }
}

fn alone(count: usize, away: f64, holds: usize) -> (Tables, Real) {
    let mut real = None;
    let sketch = Sketch::new(16).traced(count as u32, |run| real = Some(threads(run, count, away, holds)));
    (sketch.tables(), real.unwrap())
}

fn only(tables: &Tables) -> Queue {
    let queues = answer_for(tables).queues;
    assert_eq!(queues.len(), 1, "{queues:#?}");
    queues.into_iter().next().unwrap()
}

fn near(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() < share * expected
}

#[test]
fn how_busy_a_lock_is_follows_from_its_waits_and_holds() {
    for (count, away) in [(3, 6.0), (4, 3.0), (8, 20.0), (8, 7.0), (16, 15.0)] {
        let (tables, real) = alone(count, away, 4000);
        let queue = only(&tables);
        let told = format!("{count} threads, away {away}: {} for {}: {queue:#?}", queue.utilisation, real.utilisation);
        assert!((queue.utilisation - real.utilisation).abs() < 0.05, "{told}");
        assert!(
            near(queue.arrivals_per_second, real.arrivals, 0.1) && near(queue.hold_seconds, real.hold, 0.1),
            "{told}"
        );
        assert!((queue.hold_variation - 1.0).abs() < 0.25, "{told}");
        assert_eq!((queue.kind, queue.size, queue.object.as_deref()), (QueueKind::Lock, 1, Some("0x100")));
        assert_eq!(queue.site.as_ref().and_then(|site| site.function.as_deref()), Some("update"));
        assert!(near(queue.limit_at, 1.0 / real.utilisation, 0.1), "{told}");
    }
}

/// Of a lock that is 0.3 utilised, twice as many would make 0.6² / 0.4 = 0.9 wait.
#[test]
fn what_would_wait_at_twice_the_load_is_the_simple_queue_s() {
    let (tables, real) = alone(16, 51.0, 6000);
    let queue = only(&tables);
    assert!((0.25..0.35).contains(&real.utilisation), "{}", real.utilisation);
    let (busy, twice) = (2.0 * real.utilisation, queue.waiting_at_twice.unwrap());
    assert!(near(twice.mean, busy * busy / (1.0 - busy), 0.4), "{queue:#?}");
    assert!(twice.low < twice.mean && twice.high.is_some_and(|high| high > twice.mean), "{queue:#?}");
    assert_eq!(queue.summary, None, "the load can grow by half, and more");
}

#[test]
fn a_busy_lock_is_told_before_it_is_the_limit() {
    let (tables, real) = alone(8, 7.0, 4000);
    let queue = only(&tables);
    assert!((0.7..0.9).contains(&real.utilisation), "{}", real.utilisation);
    assert_eq!(queue.waiting_at_twice, None, "twice as many would be more than it can serve");
    let summary = queue.summary.unwrap();
    assert!(summary.starts_with("the lock that update (app.c:40) takes is "), "{summary}");
    assert!(summary.contains("times the load it is the limit"), "{summary}");
    // In a sweep without a load threads always want more: there is no load that could grow.
    let swept = Sketch::new(16)
        .clean(8, &[1.0, 1.1])
        .traced(8, |run| {
            threads(run, 8, 7.0, 4000);
        })
        .tables();
    let queue = only(&swept);
    assert!(queue.summary.is_none() && queue.utilisation > 0.7, "{queue:#?}");
}

#[test]
fn a_lock_that_is_always_held_is_the_limit() {
    let (tables, real) = alone(8, 1.0, 2000);
    let queue = only(&tables);
    assert!(real.utilisation > 0.99 && queue.utilisation > 0.97, "{} {queue:#?}", real.utilisation);
    assert!(queue.summary.unwrap().ends_with("is held all the time: it is the limit"));
}

/// Of two threads neither holds it while a third one waits: no hold is seen from start to end.
#[test]
fn what_was_seen_too_little_of_is_no_queue() {
    assert_eq!(answer_for(&alone(2, 2.0, 4000).0).queues, []);
    assert_eq!(answer_for(&alone(8, 7.0, 45).0).queues, [], "too few holds");
    // Near miss: who ended the waits is not known.
    let (mut tables, _) = alone(8, 7.0, 4000);
    tables.wakes.clear();
    assert_eq!(answer_for(&tables).queues, []);
}
