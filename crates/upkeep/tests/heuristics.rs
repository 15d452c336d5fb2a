//! Every number that decides something must document what it decides, where it comes from, which test checks it, and
//! what would make it wrong. The book's page of them is generated from the code (`KNEE_WRITE_DOCS=1` writes it).

use upkeep::register::{heuristics, page};
use upkeep::tree::{root, sources};

/// The rooms whose numbers decide something, by the beginnings of their files' paths.
const ROOMS: [&str; 7] = [
    "crates/analyze/src/",
    "crates/collect/src/sampling.rs",
    "crates/collect/src/sharing/confirm.rs",
    "crates/collect/src/sharing/lines.rs",
    "crates/collect/src/sharing/spins.rs",
    "crates/resolve/src/decode/loops.rs",
    "crates/resolve/src/decode/spin.rs",
];

#[test]
fn numbers_that_decide_say_why() {
    let sources = sources().expect("sources");
    let found = heuristics(&sources, &ROOMS);
    assert!(found.len() > 50, "{} constants found: where did the rooms go?", found.len());
    let lacking: Vec<_> = found.iter().filter(|each| !each.is_complete()).collect();
    let shown: String = lacking.iter().map(|each| format!("\n  {} in {}", each.name, each.path)).collect();
    assert!(
        shown.is_empty(),
        "Document these constants with paragraphs that begin with Decides:, From:, Wrong if: and, where there is one, Shown by:{shown}"
    );
}

#[test]
fn the_page_is_what_the_code_says() {
    let made = page(&heuristics(&sources().expect("sources"), &ROOMS));
    let path = root().join("docs/heuristics.md");
    if std::env::var_os("KNEE_WRITE_DOCS").is_some() {
        std::fs::write(&path, made).expect("the page can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/heuristics.md is out of date: KNEE_WRITE_DOCS=1 cargo test -p upkeep --test heuristics"
    );
}
