//! Sketched programs, and answers as text. Each test binary uses a part of it.
#![allow(dead_code, clippy::unwrap_used, reason = "test code")]

pub(crate) mod handing;
pub(crate) mod memory;
pub(crate) mod no_faster;
pub(crate) mod parked;
pub(crate) mod rewording;
pub(crate) mod rounds;
pub(crate) mod server;
pub(crate) mod slower;
pub(crate) mod waiting;

use analyze::answer::{Account, Answer, Cause, CauseId, Condition};
use recording::Tables;
use recording::synthetic::{FUTEX, RunSketch, Sketch, ms};
use recording::tables::Reason;

/// The answer for a sketch; fails if it would be another one in other words.
pub(crate) fn answer_for(tables: &Tables) -> Answer {
    rewording::answer_for(tables)
}

/// Five timed runs around a time, up to 1 % off.
pub(crate) fn around(seconds: f64) -> Vec<f64> {
    [0.0, 0.01, -0.01, 0.005, -0.005].iter().map(|d| seconds * (1.0 + d)).collect()
}

/// The main thread of most sketches: it joins the others.
pub(crate) fn main_joins(run: &mut RunSketch<'_>, ns: u64) {
    let stack = "?@libc.so.6 < __pthread_clockjoin_ex@libc.so.6 < main@app app.c:90";
    run.thread("main").runs(ms(1), "main@app app.c:80").blocks(Reason::Futex, ns, stack);
}

/// The stacks of a program that takes a lock: where it waits, and where it works with the lock and without.
pub(crate) struct Stacks {
    /// Blocked, or in futex(2).
    pub(crate) wait: &'static str,
    /// On a processor in the code that owns the lock.
    pub(crate) owner: &'static str,
    /// On a processor elsewhere.
    pub(crate) work: &'static str,
}

/// A lock inside libc; its inner functions have no names.
pub(crate) const RANDOM: Stacks = Stacks {
    wait: "?@libc.so.6 < ?@libc.so.6 < random@libc.so.6 < simulate@birthday lab/birthday.c:41 < \
           run@birthday lab/birthday.c:60 < ?@libc.so.6 < ?@libc.so.6",
    owner: "random@libc.so.6 < simulate@birthday lab/birthday.c:41 < run@birthday lab/birthday.c:60 < ?@libc.so.6",
    work: "simulate@birthday lab/birthday.c:45 < run@birthday lab/birthday.c:60 < ?@libc.so.6",
};

/// The same program without symbols.
pub(crate) const STRIPPED: Stacks = Stacks {
    wait: "?@libc.so.6 < ?@libc.so.6 < random@libc.so.6 < ?@birthday < ?@libc.so.6",
    owner: "random@libc.so.6 < ?@birthday < ?@libc.so.6",
    work: "?@birthday < ?@libc.so.6",
};

/// A Rust program around one mutex, whose `lock` is inlined.
pub(crate) const RUST: Stacks = Stacks {
    wait: "syscall@libc.so.6 < std::sys::sync::mutex::futex::Mutex::lock_contended@tally /rustc/1/futex.rs:9 < \
           std::sync::poison::mutex::Mutex<T>::lock@tally /rustc/1/mutex.rs:3 < tally::count@tally src/main.rs:12 < \
           std::sys::backtrace::__rust_begin_short_backtrace@tally /rustc/1/b.rs:1",
    owner: "tally::count@tally src/main.rs:13",
    work: "tally::count@tally src/main.rs:15",
};

/// Workers that take turns: 2 ms in the lock's code, 1 ms elsewhere, 1 ms in futex(2), then blocked until the others
/// are done.
fn contended(run: &mut RunSketch<'_>, workers: u64, rounds: u64, stacks: &Stacks) {
    let turn = 4;
    main_joins(run, ms(turn * workers * rounds));
    for worker in 0..workers {
        let name = format!("worker-{worker}");
        let waker = format!("worker-{}", (worker + workers - 1) % workers);
        let mut thread = run.thread(&name);
        for round in 0..rounds {
            let idle = if round == 0 { worker } else { workers - 1 };
            if idle > 0 {
                thread = thread.locks(0x7f00, ms(turn * idle), stacks.wait, &waker);
            }
            thread =
                thread.runs(ms(2), stacks.owner).runs(ms(1), stacks.work).runs_in_kernel(ms(1), FUTEX, stacks.wait);
        }
        run.syscalls(&name, FUTEX, "futex", 300_000);
    }
}

/// Slower with two threads, of which only one runs at a time.
pub(crate) fn birthday(stacks: &Stacks) -> Tables {
    Sketch::new(2)
        .clean_cpu(1, &around(1.2), &around(1.2))
        .clean_cpu(2, &around(2.0), &around(2.0))
        .clean_cpu(4, &around(2.1), &around(2.1))
        .traced(1, |run| {
            main_joins(run, ms(1200));
            run.thread("worker-0").runs(ms(400), stacks.owner).runs(ms(800), stacks.work);
        })
        .traced(2, |run| contended(run, 2, 250, stacks))
        .traced(4, |run| contended(run, 4, 130, stacks))
        .tables()
}

/// Nothing shared: twice as fast with two threads, no slower with four on two processors.
pub(crate) fn repaired() -> Tables {
    let work = RANDOM.work;
    let mut sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.2), &around(1.2))
        .clean_cpu(2, &around(0.602), &around(1.204))
        .clean_cpu(4, &around(0.605), &around(1.21));
    sketch = sketch.traced(1, |run| {
        main_joins(run, ms(1199));
        run.thread("worker-0").runs(ms(1200), work);
    });
    sketch = sketch.traced(2, |run| {
        main_joins(run, ms(600));
        run.thread("a").runs(ms(600), work);
        run.thread("b").runs(ms(601), work);
    });
    sketch
        .traced(4, |run| {
            main_joins(run, ms(602));
            for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for _ in 0..30 {
                    thread = match i % 2 {
                        0 => thread.runs(ms(10), work).preempted(ms(10)),
                        _ => thread.preempted(ms(10)).runs(ms(10), work),
                    };
                }
            }
        })
        .tables()
}

/// The cause of that name, when it was found.
pub(crate) fn found(answer: &Answer, id: CauseId) -> Option<&Cause> {
    answer.verdict.causes.iter().find(|c| c.id == id)
}

/// What the machine took, by the name of the cause.
pub(crate) fn condition(answer: &Answer, id: CauseId) -> Option<&Condition> {
    answer.verdict.machine.iter().find(|c| c.id == id)
}

/// Why a cause stayed unsure.
pub(crate) fn missing(answer: &Answer, id: CauseId) -> &str {
    let unsure = answer.verdict.unsure.iter().find(|u| u.id == id);
    unsure.map(|u| u.missing.as_str()).unwrap_or_else(|| panic!("{id:?} is not unsure: {:#?}", answer.verdict))
}

/// The causes that were found.
pub(crate) fn ids(answer: &Answer) -> Vec<CauseId> {
    answer.verdict.causes.iter().map(|c| c.id).collect()
}

/// Whether nothing of the program's own was found.
pub(crate) fn only_none(answer: &Answer) -> bool {
    ids(answer) == [CauseId::NONE]
}

/// Half as long with two threads: nothing is lost.
pub(crate) fn halved() -> Sketch {
    Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(0.5))
}

/// Adds a traced run of one thread for a second, as the base of a sweep.
pub(crate) fn with_base(sketch: Sketch, work: &str) -> Sketch {
    sketch.traced(1, |run| {
        run.thread("main").runs(ms(1000), work);
    })
}

/// An answer as JSON with numbers rounded to four digits, so that snapshots show what matters.
pub(crate) fn text(answer: &Answer) -> String {
    let mut json = serde_json::to_value(answer).unwrap();
    round(&mut json);
    json["knee"]["version"] = "VERSION".into();
    serde_json::to_string_pretty(&json).unwrap()
}

fn round(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Number(n) if n.is_f64() => {
            let rounded: f64 = format!("{:.3e}", n.as_f64().unwrap()).parse().unwrap();
            *json = if rounded.abs() < 1e-9 { 0.0.into() } else { rounded.into() };
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(round),
        serde_json::Value::Object(map) => map.values_mut().for_each(round),
        _ => {}
    }
}

/// Lines + useful + unexplained = capacity, at every count; of open causes those with most booked come first.
pub(crate) fn assert_balanced(answer: &Answer) {
    let booked = |id: CauseId, account: &Account| -> f64 {
        account.lines.iter().filter(|line| line.cause == id).map(|line| line.seconds).sum()
    };
    let most = |id| answer.account.iter().map(|account| booked(id, account)).fold(0.0, f64::max);
    let open: Vec<(CauseId, f64)> = answer.verdict.unsure.iter().map(|open| (open.id, most(open.id))).collect();
    assert!(open.is_sorted_by(|a, b| a.1 >= b.1 - 1e-9), "{open:?}");
    for account in &answer.account {
        let lines: f64 = account.lines.iter().map(|l| l.seconds).sum();
        let sum = lines + account.useful + account.unexplained;
        let off = (sum - account.capacity).abs();
        assert!(off <= 1e-9 * account.capacity.max(1.0), "{sum} is not {}: {account:?}", account.capacity);
    }
}

/// A producer that two consumers wait for, at a condition whose functions have no names.
pub(crate) fn queue() -> Tables {
    let wait = "?@libc.so.6 < ?@libc.so.6 < take@app app.c:30 < consume@app app.c:50";
    Sketch::new(4)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(3, &around(0.8), &around(1.05))
        .traced(1, |run| {
            run.thread("main").runs(ms(990), "make@app app.c:10").runs(ms(10), "use@app app.c:20");
        })
        .traced(3, |run| {
            main_joins(run, ms(799));
            run.thread("producer").runs(ms(800), "make@app app.c:10");
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..40 {
                    thread = thread.locks(0x500, ms(17), wait, "producer").runs(ms(3), "use@app app.c:20");
                }
            }
        })
        .tables()
}

/// Four workers of which one has most of the work.
pub(crate) fn uneven() -> Tables {
    let work = "work@app app.c:5";
    Sketch::new(4)
        .clean(1, &around(1.0))
        .clean_cpu(4, &around(0.7), &around(1.0))
        .traced(1, |run| {
            run.thread("main").runs(ms(1000), work);
        })
        .traced(4, |run| {
            main_joins(run, ms(699));
            for (name, share) in [("a", 700), ("b", 100), ("c", 100), ("d", 100)] {
                run.thread(name).runs(ms(share), work);
            }
        })
        .tables()
}

/// Four threads on two processors that get less done than two.
pub(crate) fn crowded() -> Tables {
    let work = "work@app app.c:5";
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean(2, &around(0.5))
        .clean_cpu(4, &around(0.8), &around(1.0))
        .traced(1, |run| {
            run.thread("main").runs(ms(1000), work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(500), work);
            run.thread("b").runs(ms(500), work);
        })
        .traced(4, |run| {
            for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for slot in 0..32 {
                    // In 8 of the 32 slots two threads run, in the others one.
                    let runs = slot % 4 == i || (slot % 4 == (i + 1) % 4 && slot % 16 < 4);
                    thread = if runs { thread.runs(ms(25), work) } else { thread.preempted(ms(25)) };
                }
            }
        })
        .tables()
}
