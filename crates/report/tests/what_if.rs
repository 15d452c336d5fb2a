//! What is predicted without a cause, as the terminal and the page show it.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use analyze::answer::{Answer, Cause, CauseId, Foreseen, Interval, Removed};
use report::terminal::{Style, render_what_if};

/// Removes the causes at these places of the verdict.
fn removed(answer: &Answer, numbers: &[usize], at_most: bool) -> Removed {
    let interval = Interval { low: 1.2, high: 1.9 };
    Removed {
        causes: numbers.iter().map(|at| answer.verdict.causes[*at].id).collect(),
        numbers: numbers.to_vec(),
        part: 1.0,
        at_most,
        points: vec![Foreseen { threads: 2, times_as_fast: 1.5, interval, speedup: 1.7 }],
        summary: "Without it the program would be faster.".to_owned(),
    }
}

fn text(answer: &Answer) -> String {
    let mut out = Vec::new();
    render_what_if(answer, Style { colour: false, width: 80, unicode: true, whole: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn causes_have_the_numbers_of_the_answer() {
    let mut answer = common::user_lock();
    let lock = answer.verdict.causes[0].clone();
    answer.verdict.causes = vec![lock.clone(), lock.clone()];
    answer.what_if.removals = vec![removed(&answer, &[0, 1], false)];
    let told = text(&answer);
    assert!(told.contains("\n1 and 2 ") && told.contains("1.50 (1.20 to 1.90)"), "{told}");
    assert!(told.contains("90 % intervals") && !told.contains("up to"), "{told}");
    // A program that scales: `none` comes first and has no number.
    answer.verdict.causes = vec![Cause { id: CauseId::NONE, ..lock.clone() }, lock];
    answer.what_if.removals = vec![removed(&answer, &[1], true)];
    let told = text(&answer);
    assert!(told.contains("\n1  user-lock") && told.contains("\n1 ") && told.contains("up to 1.50"), "{told}");
    assert!(!told.contains("\n2 ") && !told.contains("90 % intervals"), "{told}");
}

#[test]
fn why_nothing_is_predicted_is_said() {
    let mut answer = common::user_lock();
    answer.what_if.removals = Vec::new();
    answer.what_if.refused = Some("other programs took 30 % of the processors".to_owned());
    assert!(text(&answer).contains("Not told   other programs took 30 % of the processors"), "{}", text(&answer));
}
