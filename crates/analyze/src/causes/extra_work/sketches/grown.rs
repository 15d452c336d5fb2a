//! Work of which more is done with more threads, but not once in each of them.

#![allow(clippy::unwrap_used, reason = "test code")]

use super::code::repeats;
use crate::answer::{Answer, CauseId};
use crate::common::*;

const REST: &str = "work@app app.c:12";

/// Milliseconds of each of 1, 2 and 4 threads in `build`, beside 800 that all share. From the hundredth on they are in `last`.
fn builds(each: [u64; 3], last: Option<u64>) -> Answer {
    let part = |i: u64| last.filter(|_| i >= 100).unwrap_or(i % 5);
    let place = |i| format!("part_{}@app app.c:{} < build@app app.c:80 < work@app app.c:9", part(i), 100 + i % 60);
    answer_for(&repeats(each, place, [800; 3], REST))
}

#[test]
fn work_that_is_done_anew_for_each_part_is_told() {
    let answer = builds([150, 300, 225], None);
    assert_balanced(&answer);
    let cause = found(&answer, CauseId::EXTRA_WORK).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("build"));
    assert_eq!(
        cause.summary,
        "build (app.c:80), called from work (app.c:9) does more work with 2 threads: it takes 4.0 times as long for the same \
         result, and all other code as long as before."
    );
}

#[test]
fn a_function_that_is_slowed_down_at_one_place_does_no_more() {
    let answer = builds([100, 300, 250], Some(0));
    assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn what_no_longer_grows_beyond_the_processors_may_be_slower() {
    let answer = builds([150, 300, 150], None);
    assert!(found(&answer, CauseId::EXTRA_WORK).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn work_that_is_divided_does_not_grow() {
    let answer = builds([150, 75, 38], None);
    assert!(answer.verdict.causes.iter().all(|cause| cause.id == CauseId::NONE), "{:#?}", answer.verdict);
}
