//! A cause can be added from outside, as `docs/extending.md` says.

#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;
mod missing_workers;

use analyze::account::LineId;
use analyze::answer::Verdict;
use analyze::causes::{ALL, Meta, serial_phase};
use analyze::model::Model;
use common::rewording::same_in_other_words;
use recording::Tables;

/// The cause that had the line which the added one claims, without it.
const WITHOUT: Meta = Meta {
    lines: |id| match (missing_workers::META.lines)(id) {
        Some(_) => None,
        None => (serial_phase::META.lines)(id),
    },
    ..serial_phase::META
};

/// All causes with the added one.
fn causes() -> Vec<&'static Meta> {
    let others = ALL.iter().map(|meta| if meta.id == WITHOUT.id { &WITHOUT } else { *meta });
    others.chain([&missing_workers::META]).collect()
}

/// What is concluded with the added cause.
fn verdict(tables: &Tables) -> Verdict {
    let model = Model::new(tables);
    same_in_other_words(|| analyze::analyze_for(&model, &causes()).answer).verdict
}

#[test]
fn the_added_cause_claims_a_line_that_no_other_has() {
    let claiming = |id| causes().iter().filter(|meta| meta.claims(id)).map(|meta| meta.id).collect::<Vec<_>>();
    assert!(LineId::all().all(|id| claiming(id).len() <= 1));
    let own: Vec<LineId> = LineId::all().filter(|id| claiming(*id) == [missing_workers::META.id]).collect();
    assert_eq!(own.len(), 1, "{own:?}");
}

#[test]
fn who_does_not_add_the_cause_does_not_have_it() {
    let verdict = common::answer_for(&common::repaired()).verdict;
    assert!(!verdict.clear.contains(&missing_workers::META.id), "{verdict:#?}");
}

/// `KNEE_WRITE_DOCS=1 cargo test -p analyze --test extending` copies the files into the page.
#[test]
fn the_page_shows_the_cause_that_is_added() {
    let files = [
        ("mod.rs", include_str!("missing_workers/mod.rs")),
        ("sketches.rs", include_str!("missing_workers/sketches.rs")),
    ];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/extending.md");
    let page = std::fs::read_to_string(path).unwrap();
    let told = files.iter().fold(page.clone(), |page, (name, source)| {
        let mark = format!("<!-- file: crates/analyze/tests/extending/missing_workers/{name} -->\n");
        let begin = page.find(&mark).unwrap() + mark.len();
        let end = begin + page[begin..].find("<!-- end -->").unwrap();
        format!("{}```rust\n{source}```\n{}", &page[..begin], &page[end..])
    });
    if std::env::var_os("KNEE_WRITE_DOCS").is_some() {
        std::fs::write(path, told).unwrap();
        return;
    }
    assert!(page == told, "KNEE_WRITE_DOCS=1 cargo test -p analyze --test extending");
}
