//! Checks the documentation: pages quote what knee prints, the chapter about causes says what the source says, every
//! page is in the book, and no link is dead.
//!
//! A page quotes knee between two markers; `as` is the command that the reader is shown, `until` cuts a long output
//! before the line that begins with this text:
//!
//!     <!-- quoted: knee report fixtures/birthday (as: sudo knee sweep -- ./birthday) (until: Evidence) -->
//!     <!-- end -->
//!
//! `KNEE_WRITE_DOCS=1 cargo test -p knee --test documentation` rewrites the quotations and the chapter.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use regex::{Captures, Regex};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What knee prints when called in the root of the sources.
fn knee(arguments: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(arguments)
        .current_dir(root())
        .envs([("NO_COLOR", "1"), ("LC_ALL", "C.UTF-8"), ("COLUMNS", "80")])
        .env_remove("KNEE_LAB")
        .output()
        .unwrap();
    assert!(output.status.success(), "knee {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// All pages: those at the root, and those of the book with its folders.
fn pages() -> Vec<PathBuf> {
    fn markdown(folder: &Path, deep: bool, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && deep {
                markdown(&path, deep, into);
            } else if path.extension().is_some_and(|e| e == "md") {
                into.push(path);
            }
        }
    }
    let mut found = Vec::new();
    markdown(&root(), false, &mut found);
    markdown(&root().join("docs"), true, &mut found);
    found.sort();
    found
}

/// Fails if the file does not contain the text; with KNEE_WRITE_DOCS the file is rewritten.
fn holds(path: &Path, text: &str) {
    if std::env::var_os("KNEE_WRITE_DOCS").is_some() {
        fs::write(path, text).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    let differing = kept.lines().zip(text.lines()).find(|(kept, wanted)| kept != wanted);
    assert!(
        kept == text,
        "{} is out of date, first at {differing:?}: run KNEE_WRITE_DOCS=1 cargo test -p knee --test documentation",
        path.display()
    );
}

const CAUSES: &str = "\
# The causes

What a verdict can name. A cause is *found* with its culprit, its evidence, what to try and what would disprove it; it is
*clear* when what was checked shows that it is not there; and it is *unsure* when evidence is missing, with what is missing.
`knee explain ID` prints a section of this page.

Causes are ordered by the processor time that they explain in the [account](account.md), so they never add up to more than
was lost. One that takes less than 5 % of the capacity, or less than the noise of the runs, is not called.

This page is written from the source, `crates/analyze/src/causes/`: one folder a cause.

";

#[test]
fn the_chapter_about_causes_says_what_the_source_says() {
    let table = knee(&strings(&["explain", "--format", "markdown"]));
    let sections = knee(&strings(&["explain", "--all", "--format", "markdown"]));
    let causes = table.matches("| [`").count();
    assert_eq!(sections.matches("\n*What would disprove it:*").count(), causes, "{sections}");
    holds(&root().join("docs/causes.md"), &format!("{CAUSES}{table}\n{sections}"));
}

#[test]
fn pages_quote_what_knee_prints() {
    let quotation = Regex::new(r"(?s)<!-- quoted: ([^\n]+?) -->\n.*?<!-- end -->").unwrap();
    let mut quoted = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let fresh = quotation.replace_all(&page, |found: &Captures| {
            quoted += 1;
            quote(&found[1])
        });
        holds(&path, &fresh);
    }
    assert!(quoted >= 8, "{quoted} quotations are left in the pages");
}

/// The quotation for a marker.
fn quote(asked: &str) -> String {
    let option = Regex::new(r" \((as|until): ([^)]+)\)").unwrap();
    let options: BTreeMap<String, String> =
        option.captures_iter(asked).map(|found| (found[1].to_owned(), found[2].to_owned())).collect();
    let command = option.replace_all(asked, "");
    let words = shlex::split(&command).unwrap();
    assert_eq!(words[0], "knee", "{asked}");
    let until = options.get("until");
    let lines: Vec<String> = knee(&words[1..]).lines().map(|line| line.trim_end().to_owned()).collect();
    let ends = |line: &String| until.is_some_and(|end| line.trim_start().starts_with(end.as_str()));
    let shown = lines.iter().position(ends).map_or(lines.as_slice(), |end| &lines[..end]).join("\n");
    assert!(until.is_none() || shown.lines().count() < lines.len(), "no line begins with {until:?} in {asked}");
    let command = options.get("as").map_or(&*command, String::as_str);
    format!("<!-- quoted: {asked} -->\n```console\n$ {command}\n{}\n```\n<!-- end -->", shown.trim_end())
}

/// A page without code and comments.
fn prose(page: &str) -> String {
    let code = Regex::new(r"(?s)\n *```.*?\n *```|<!--.*?-->|`[^`\n]*`").unwrap();
    code.replace_all(page, " ").into_owned()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let code = Regex::new(r"(?s)\n *```.*?\n *```").unwrap();
    let page = code.replace_all(page, "\n");
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    headings.map(|h| h.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn no_link_is_dead() {
    // Only the target is matched: the text of a link may be code, which has been removed.
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let docs = root().join("docs");
    let mut followed = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for found in link.captures_iter(&prose(&page)) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let to = to.canonicalize().unwrap_or_else(|_| panic!("{}: {target} does not exist", path.display()));
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&to).unwrap());
                assert!(anchors.contains(anchor), "{}: {target}, of {anchors:?}", path.display());
            }
            // mdBook turns links to .md into links to .html, but makes .html only of the book's own pages.
            let leaves = path.starts_with(&docs) && !to.starts_with(&docs);
            assert!(
                !leaves || to.extension().is_none_or(|e| e != "md"),
                "{}: {target} leaves the book",
                path.display()
            );
        }
    }
    assert!(followed > 40, "{followed} links followed");
}

#[test]
fn every_page_is_in_the_book() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let link = Regex::new(r"\]\(([^)]+)\)").unwrap();
    let listed: BTreeSet<PathBuf> = link.captures_iter(&summary).map(|found| docs.join(&found[1])).collect();
    let there = pages().into_iter().filter(|path| path.starts_with(&docs) && !path.ends_with("SUMMARY.md"));
    assert_eq!(there.collect::<BTreeSet<_>>(), listed);
}

#[test]
fn the_readme_sums_up_the_first_looks() {
    let table = fs::read_to_string(root().join("docs/strangers.md")).unwrap();
    let row = Regex::new(r"(?m)^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| [^|]+ \|$").unwrap();
    let mut sums = [0_u32; 4];
    for found in row.captures_iter(&table) {
        for (sum, number) in sums.iter_mut().zip(1..) {
            *sum += found[number].parse::<u32>().unwrap();
        }
    }
    let [programs, right, open, wrong] = sums;
    assert_eq!(right + open + wrong, programs, "each program has one answer");
    let share = |number: u32| (100.0 * f64::from(number) / f64::from(programs)).round();
    let readme = fs::read_to_string(root().join("README.md")).unwrap().replace('\n', " ");
    for part in [
        format!("[{programs} programs]"),
        format!("rightly none, in {} %", share(right)),
        format!("left the answer open in {} %", share(open)),
        format!("was wrong in {} %", share(wrong)),
    ] {
        assert!(readme.contains(&part), "README.md should say: {part}");
    }
}
