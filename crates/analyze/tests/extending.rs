//! A cause can be added from outside, as `docs/extending.md` says.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;
mod missing_workers;

use analyze::answer::Verdict;
use analyze::causes::{ALL, Meta};
use analyze::model::Model;
use common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};

const WORK: &str = "work@app app.c:5";

/// A program that was asked for two threads and starts `threads`.
fn started(threads: usize, seconds: f64) -> Tables {
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(seconds), &around(1.0)), WORK)
        .traced(2, |run| {
            for name in ["a", "b"].into_iter().take(threads) {
                run.thread(name).runs(ms(500), WORK);
            }
        })
        .tables()
}

fn verdict(tables: &Tables) -> Verdict {
    let causes: Vec<&Meta> = ALL.iter().copied().chain([&missing_workers::META]).collect();
    analyze::analyze_for(&Model::new(tables), &causes).answer.verdict
}

#[test]
fn an_added_cause_is_found_told_and_excluded() {
    let id = missing_workers::META.id;
    let missing = verdict(&started(1, 1.0));
    let cause = missing.causes.iter().find(|cause| cause.id == id).unwrap();
    assert_eq!(cause.summary, "The program runs 1 threads where it was asked for 2.");
    assert!(cause.lost_seconds > 0.0);
    assert!(verdict(&started(2, 0.5)).clear.contains(&id));
    assert!(!analyze::answer_for(&started(1, 1.0)).verdict.clear.contains(&id), "who does not add it does not have it");
}

/// `KNEE_WRITE_DOCS=1 cargo test -p analyze --test extending` copies the file into the page.
#[test]
fn the_page_shows_the_cause_that_is_added() {
    let source = include_str!("missing_workers/mod.rs");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/extending.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mark = "<!-- file: crates/analyze/tests/missing_workers/mod.rs -->\n";
    let begin = page.find(mark).unwrap() + mark.len();
    let end = begin + page[begin..].find("<!-- end -->").unwrap();
    let shown = format!("```rust\n{source}```\n");
    if std::env::var_os("KNEE_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{}{shown}{}", &page[..begin], &page[end..])).unwrap();
        return;
    }
    assert_eq!(&page[begin..end], shown, "KNEE_WRITE_DOCS=1 cargo test -p analyze --test extending");
}
