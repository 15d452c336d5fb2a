//! The answer for a pull request (Markdown), for code scanning (SARIF), and as one picture (SVG).

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;

use analyze::answer::{Answer, CauseId};
use report::html::card;
use report::{markdown, sarif};
use serde_json::Value;
use std::path::Path;

fn comment(answer: &Answer) -> String {
    let mut out = Vec::new();
    markdown::render(answer, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn log(answer: &Answer, root: &Path) -> Value {
    let mut out = Vec::new();
    sarif::render(answer, root, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_comment_as_shown() {
    for (name, answer) in [("user_lock", common::user_lock()), ("none", common::none()), ("nothing", common::nothing())]
    {
        insta::assert_snapshot!(format!("markdown_{name}"), comment(&answer));
    }
}

fn picture(answer: &Answer) -> String {
    let mut out = Vec::new();
    card::render(answer, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_picture_as_drawn() {
    for (name, answer) in [("user_lock", common::user_lock()), ("none", common::none()), ("nothing", common::nothing())]
    {
        insta::assert_snapshot!(format!("card_{name}"), picture(&answer));
    }
}

/// All words of headline, place and gain are in it, and those of the target are text.
#[test]
fn a_picture_says_it_whole_and_runs_nothing() {
    let answer = common::user_lock();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shown: Vec<String> = picture(&answer)
        .split("<text ")
        .skip(1)
        .flat_map(|text| words(text.split_once('>').unwrap().1.split("</text>").next().unwrap()))
        .collect();
    for word in words(&answer.verdict.summary.replace('\'', "&#39;")) {
        assert!(shown.contains(&word), "{word} of the headline");
    }
    let hostile = picture(&common::hostile());
    for tag in hostile.split('<').skip(1).map(|rest| rest.split([' ', '>', '/']).find(|s| !s.is_empty()).unwrap_or(""))
    {
        let own = ["svg", "title", "style", "rect", "text", "line", "polyline", "circle"];
        assert!(own.contains(&tag), "<{tag}");
    }
    for c in ['\u{202e}', '\u{1b}', '\u{0}', '\u{7}'] {
        assert!(!hostile.contains(c), "{:x}", c as u32);
    }
    assert!(hostile.len() < 200_000, "{}", hostile.len());
}

#[test]
fn nothing_of_a_hostile_recording_is_markup() {
    let text = comment(&common::hostile());
    // The command is a code span, in which nothing is markup.
    let text: String = text.lines().filter(|line| !line.starts_with('`')).collect();
    // Only knee's own tags.
    let tags: Vec<&str> =
        text.match_indices('<').map(|(at, _)| text[at..].split_inclusive('>').next().unwrap()).collect();
    let own = ["<details>", "</details>", "<summary>", "</summary>"];
    for tag in tags {
        assert!(own.contains(&tag), "{tag}");
    }
    assert!(!text.contains("http://") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn code_scanning_gets_a_result_for_each_cause_at_its_line() {
    // A repository that contains the caller's file, but not the library's.
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repository");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/birthday.c"), "int main(void) { return 0; }\n").unwrap();
    let mut answer = common::user_lock();
    let culprit = answer.verdict.causes[0].culprit.as_mut().unwrap();
    culprit.path = Some("/usr/src/glibc/stdlib/random.c".to_owned());
    culprit.callers[0].path = Some(root.join("src/birthday.c").to_str().unwrap().to_owned());
    let line = culprit.callers[0].line.unwrap();
    let log = log(&answer, &root);
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), answer.verdict.causes.iter().filter(|cause| cause.id != CauseId::NONE).count());
    let first = &results[0];
    assert_eq!((&first["ruleId"], &first["level"]), (&Value::from("user-lock"), &Value::from("warning")));
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/birthday.c");
    assert_eq!(place["artifactLocation"]["uriBaseId"], "SRCROOT");
    assert_eq!(place["region"]["startLine"], line);
    let library = &first["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(library, "file:///usr/src/glibc/stdlib/random.c");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
    }
}

#[test]
fn a_program_without_a_cause_has_no_result() {
    let log = log(&common::none(), Path::new("/nowhere"));
    assert_eq!(log["runs"][0]["results"], Value::Array(Vec::new()));
}

#[test]
fn small_losses_of_a_program_that_scales_are_called_so() {
    let mut answer = common::user_lock();
    assert!(!comment(&answer).contains("Small losses"));
    answer.verdict.causes.insert(0, common::none().verdict.causes.remove(0));
    assert!(
        comment(&answer).contains("Small losses:\n\n1. **Waiting for a lock (user-lock)**"),
        "{}",
        comment(&answer)
    );
    let log = log(&answer, Path::new("/"));
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["level"] == "note") && !results.is_empty(), "{results:?}");
}
