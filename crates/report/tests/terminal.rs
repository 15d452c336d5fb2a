//! The terminal report as the reader sees it.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;

use analyze::answer::{Answer, CauseId, Unsure};
use report::terminal::{Places, Style, render};
use std::path::Path;

const PLAIN: Style = Style { colour: false, width: 80, unicode: true };

fn text(answer: &Answer, style: Style) -> String {
    let folder = Path::new("knee-birthday-20260101-120000");
    let places = Places { recording: folder, beside: &["verdict.json", "output/"] };
    let mut out = Vec::new();
    render(answer, &places, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn all() -> Vec<(&'static str, Answer)> {
    vec![
        ("user_lock", common::user_lock()),
        ("none", common::none()),
        ("curve_only", common::curve_only()),
        ("hostile", common::hostile()),
        ("crowded", common::crowded()),
        ("nothing", common::nothing()),
        ("wide", common::wide()),
    ]
}

#[test]
fn as_shown() {
    for (name, answer) in all() {
        insta::assert_snapshot!(name, text(&answer, PLAIN));
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (name, answer) in all() {
        for width in [40, 60, 80, 132] {
            for unicode in [true, false] {
                for line in text(&answer, Style { width, unicode, ..PLAIN }).lines() {
                    assert!(report::text::width(line) <= width, "{name} at {width}: {line}");
                    assert!(!line.ends_with(' '), "{name} at {width}: {line:?}");
                }
            }
        }
    }
}

/// Without a cause, what is missing to name the largest loss is the next step; with one, what is open stays in the JSON.
#[test]
fn without_a_cause_the_reason_of_the_largest_loss_is_printed() {
    let open = |answer: &mut Answer| {
        let missing = "symbols of the program, which would tell what its futexes are for".to_owned();
        answer.verdict.unsure.push(Unsure { id: CauseId::UserLock, missing });
    };
    let mut answer = common::user_lock();
    answer.verdict.causes.clear();
    open(&mut answer);
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = one_line(text(&answer, PLAIN));
    assert!(shown.contains("user-lock: symbols of the program, which would tell what its futexes are for"), "{shown}");
    // With a cause it is the last of three, and two are shown.
    let mut answer = common::user_lock();
    open(&mut answer);
    assert!(!one_line(text(&answer, PLAIN)).contains("symbols of the program"));
}

#[test]
fn one_screen_holds_the_verdict_and_its_cause() {
    for (name, answer) in [("crowded", common::crowded())].into_iter().chain(all().into_iter().take(3)) {
        let text = text(&answer, PLAIN);
        assert!(text.lines().count() <= 40, "{name}: {} lines", text.lines().count());
    }
    let text = text(&common::user_lock(), PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[..3].join(" ").contains("the lock inside random"));
    assert!(text.contains("random in libc.so.6, called from simulate at birthday.c:17"));
}

#[test]
fn nothing_from_the_target_reaches_the_terminal_raw() {
    let text = text(&common::hostile(), PLAIN);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(!text.contains(['\u{202e}', '\u{200b}']));
}

#[test]
fn ascii_terminals_get_ascii() {
    for (_, answer) in all() {
        assert!(text(&answer, Style { unicode: false, ..PLAIN }).is_ascii());
    }
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    for (name, answer) in all() {
        let mut bare = String::new();
        let coloured = text(&answer, Style { colour: true, ..PLAIN });
        let mut parts = coloured.split('\u{1b}');
        bare.push_str(parts.next().unwrap());
        for part in parts {
            let (code, rest) = part.split_once('m').unwrap();
            assert!(code.starts_with('[') && code[1..].bytes().all(|b| b.is_ascii_digit() || b == b';'), "{name}");
            bare.push_str(rest);
        }
        assert_eq!(bare, text(&answer, PLAIN), "{name}");
    }
}

#[test]
fn the_columns_of_the_account_add_up() {
    let text = text(&common::user_lock(), Style { unicode: false, ..PLAIN });
    let section: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("Where the time went")).skip(1).collect();
    let edge = section[0].find("2 threads").unwrap() + "2 threads".len();
    // A cell reads `4.61 s  21 %`, so the number is its fourth word from the right.
    let number = |line: &&str| line[..edge].split_whitespace().rev().nth(3).unwrap().trim_matches('~').parse::<f64>();
    let end = section.iter().position(|l| l.starts_with("= capacity")).unwrap();
    let sum: f64 = section[1..end].iter().map(|l| number(l).unwrap()).sum();
    let capacity = number(&section[end]).unwrap();
    assert!((sum - capacity).abs() < 0.03, "{sum} {capacity}");
}

#[test]
fn capabilities_as_shown() {
    let capability =
        |what: &str, available, why: &str, costs: &str, unlock: Option<&str>| recording::meta::Capability {
            what: what.to_owned(),
            available,
            why: why.to_owned(),
            costs: costs.to_owned(),
            unlock: unlock.map(str::to_owned),
        };
    let list = [
        capability("eBPF", true, "kernel 6.1.0 with BTF", "", None),
        capability(
            "hardware counters",
            false,
            "the hypervisor gives none",
            "a memory-bound slowdown cannot be told from other extra time",
            None,
        ),
        capability(
            "stacks of the kernel",
            false,
            "kernel.kptr_restrict is 2",
            "names of kernel locks",
            Some("sudo sysctl kernel.kptr_restrict=0"),
        ),
    ];
    let mut out = Vec::new();
    report::terminal::render_capabilities(&list, PLAIN, &mut out).unwrap();
    insta::assert_snapshot!("capabilities", String::from_utf8(out).unwrap());
}
