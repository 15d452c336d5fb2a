//! One lock that is taken at two places, and held longer at one of them than at the other.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{CauseId, Culprit};
use crate::common::*;
use recording::synthetic::{Sketch, ms};

const WORK: &str = "work@app app.c:5";

/// Two threads take turns of ten milliseconds. Who waits does so in `open` in two thirds of them, else in `draw`; `by_draw` of
/// a hundred releases that end the waits are in `draw`.
fn function_and_line(by_draw: usize, release: &str) -> (Option<String>, Option<u32>, usize) {
    let places = ["open@app app.c:20 < work@app app.c:9", "draw@app app.c:30 < work@app app.c:10"];
    let culprit = culprit(places, by_draw, ["open@app app.c:24 < work@app app.c:9", release]);
    (culprit.function, culprit.line, culprit.callers.len())
}

/// The same, with these places in `open` and in `draw` that take the lock and that release it.
fn culprit(places: [&str; 2], by_draw: usize, releases: [&str; 2]) -> Culprit {
    const TAKE: &str = "__lll_lock_wait@libc.so.6 < pthread_mutex_lock@libc.so.6 < ";
    const GIVE: &str = "__lll_lock_wake@libc.so.6 < pthread_mutex_unlock@libc.so.6 < ";
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    let tables = with_base(sketch, WORK)
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100_usize {
                    let take = places[usize::from(round % 3 == 2)];
                    let give = releases[usize::from((round * 7) % 100 < by_draw)];
                    thread = match round % 2 == i {
                        true => thread.runs(ms(10), WORK),
                        false => {
                            let waits = thread.locks(0x100, ms(10), &format!("{TAKE}{take}"), other);
                            waits.woken_at(&format!("{GIVE}{give}"))
                        }
                    };
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::USER_LOCK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    cause.culprit.clone().unwrap()
}

const DRAW: &str = "draw@app app.c:34 < work@app app.c:10";

#[test]
fn the_place_that_holds_a_lock_for_long_is_named() {
    let (function, line, callers) = function_and_line(90, DRAW);
    assert_eq!((function.as_deref(), line), (Some("draw"), Some(30)));
    assert_eq!(callers, 2, "the other place is told, too");
}

/// Near misses: each place holds it for half of the time; and what releases it takes it nowhere, so that both places are
/// functions that lock for their caller.
#[test]
fn places_that_hold_a_lock_alike_are_named_by_their_waits() {
    assert_eq!(function_and_line(55, DRAW).0.as_deref(), Some("open"));
    assert_eq!(function_and_line(90, "done@app app.c:50 < work@app app.c:11").0.as_deref(), Some("work"));
}

/// Both calls are in one function of the program: most of the waiting in one of them is for what the other one does. Near miss:
/// each holds the lock for half of the time.
#[test]
fn the_call_that_holds_a_library_s_lock_for_long_is_named() {
    const CALLS: [&str; 2] = ["fft_free@libfft.so < work@app app.c:9", "fft_plan@libfft.so < work@app app.c:10"];
    let called = |by_plan: usize| culprit(CALLS, by_plan, CALLS).function;
    assert_eq!(called(90).as_deref(), Some("fft_plan"));
    assert_eq!(called(55).as_deref(), Some("fft_free"));
}
