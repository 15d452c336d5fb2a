//! The terminal report as readers see it.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;

use analyze::answer::{Answer, Beyond, CauseId, Unsure};
use analyze::model::Model;
use recording::{Recording, Tables};
use report::observed::Observed;
use report::show::view::Cell;
use report::show::{Pick, functions, locks, threads, waits};
use report::terminal::{Style, SweepFiles, render};
use report::text::place_in;
use std::path::Path;

const PLAIN: Style = Style { colour: false, width: 80, unicode: true, whole: false };

fn text(answer: &Answer, style: Style) -> String {
    let folder = Path::new("knee-birthday-20260101-120000");
    let files = SweepFiles { recording: folder, beside: &["verdict.json", "output/"] };
    let mut out = Vec::new();
    render(answer, &files, style, &mut out).unwrap();
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

/// Requests follow the account; where the whole does not fit the screen, those of the largest count.
#[test]
fn requests_are_told_with_the_services_that_they_wait_for() {
    let mut answer = common::user_lock();
    answer.requests = vec![common::requests(1), common::requests(2)];
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = words(text(&answer, Style { whole: true, width: 120, ..PLAIN }));
    let wanted = "8977 requests with 2 threads, 2971 a second; each took 5.2 ms until the answer began \
                  127.0.0.1:5432 (postgres): asked 1.0 times a request, each reply after 4.7 ms, 90 % of the requests' time \
                  10.0.0.7:6379: asked 2.5 times a request, each reply after 100 µs, 5 % of the requests' time";
    assert!(told.contains(wanted) && told.contains("requests with 1 thread,"), "{told}");
    let brief = words(text(&answer, Style { width: 120, ..PLAIN }));
    assert!(brief.contains(wanted) && !brief.contains("requests with 1 thread,"), "{brief}");
    answer.curve.clear();
    let alone = words(text(&answer, PLAIN));
    assert!(alone.contains("8977 requests, 2971 a second;") && !alone.contains("per run"), "{alone}");
}

/// When a larger count collapses for another reason, that cause is shown with its place and what to try; when it is the
/// same reason, it is not repeated.
#[test]
fn a_collapse_beyond_the_first_count_is_told() {
    let answer = |same| {
        let mut answer = common::user_lock();
        let mut cause = answer.verdict.causes[0].clone();
        cause.threads = 4;
        cause.remedies = vec!["fewer threads at the second lock".to_owned()];
        let summary = "with 4 threads it is 3.2 times slower than with 2".to_owned();
        answer.verdict.beyond = Some(Beyond { threads: 4, slower: 3.2, same, summary, causes: vec![cause] });
        answer
    };
    let told = text(&answer(false), PLAIN);
    assert!(told.contains("Beyond 2 threads: with 4 threads it is 3.2 times slower than with 2."), "{told}");
    assert!(told.contains("fewer threads at the second lock"), "{told}");
    let told = text(&answer(true), PLAIN);
    assert!(told.contains("Beyond 2 threads") && !told.contains("fewer threads at the second lock"), "{told}");
}

/// Terminals of three widths, and a file.
const SIZES: [(&str, Style); 4] = [
    ("80", PLAIN),
    ("120", Style { width: 120, ..PLAIN }),
    ("200", Style { width: 200, ..PLAIN }),
    ("file", Style { whole: true, ..PLAIN }),
];

#[test]
fn as_shown_by_other_widths() {
    for (size, style) in &SIZES[1..] {
        insta::assert_snapshot!(format!("crowded_{size}"), text(&common::crowded(), *style));
    }
}

/// The kept recordings.
fn kept() -> Vec<(String, Tables)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")];
    while let Some(folder) = folders.pop() {
        if folder.join("meta.json").exists() {
            found.push((folder.display().to_string(), Recording::open(&folder).and_then(|r| r.tables()).unwrap()));
            continue;
        }
        let inside = std::fs::read_dir(folder).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        folders.extend(inside.filter(|path| path.is_dir()));
    }
    assert!(found.len() >= 8, "{} kept recordings", found.len());
    found
}

/// Causes that are shown with all that is said about them, also where the whole does not fit the screen.
const ALWAYS_SHOWN: usize = 2;

#[test]
fn no_advice_culprit_place_or_label_is_cut() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = kept().into_iter().map(|(name, tables)| (name, analyze::answer_for(&tables)));
    let made = all().into_iter().filter(|(name, _)| *name != "hostile").map(|(name, answer)| (name.to_owned(), answer));
    for (name, answer) in kept.chain(made) {
        for (size, style) in SIZES {
            let text = text(&answer, style);
            assert!(!text.contains('…'), "{name} at {size}: {text}");
            let widest = text.lines().map(report::text::width).max().unwrap_or(0);
            assert!(widest <= style.table(), "{name} at {size}: {text}");
            let shown = words(&text);
            let has = |needed: &str| {
                assert!(shown.contains(&words(needed)), "{name} at {size}: {needed:?} is not in {text}");
            };
            has(&answer.verdict.summary);
            let causes = || answer.verdict.causes.iter().filter(|c| c.id != CauseId::NONE).take(ALWAYS_SHOWN);
            if let Some(first) = causes().next() {
                has(&first.disproved_by);
            }
            for cause in causes() {
                cause.remedies.iter().for_each(|remedy| has(remedy));
                if let Some(culprit) = &cause.culprit {
                    for site in std::iter::once(&culprit.site()).chain(culprit.callers.iter().take(1)) {
                        if let (Some(file), Some(line)) = (&site.file, site.line) {
                            has(&format!("{file}:{line}"));
                        }
                    }
                }
            }
        }
    }
}

/// Knee's own names of the account's lines fit beside three counts of a terminal of 80 columns: none is on two lines.
#[test]
fn own_labels_are_on_one_line() {
    let mut seen = 0;
    for (name, tables) in kept() {
        let answer = analyze::answer_for(&tables);
        for (size, style) in SIZES {
            let text = text(&answer, style);
            let section = text.lines().skip_while(|line| !line.starts_with("Where the time went")).skip(2);
            let labels: Vec<&str> = section.take_while(|line| !line.starts_with("= capacity")).collect();
            for line in answer.account.iter().flat_map(|account| &account.lines) {
                let first = line.what.split(' ').next().unwrap();
                let whole = labels.iter().filter(|label| label.starts_with(&line.what)).count();
                seen += whole;
                let begun = labels.iter().filter(|label| label.starts_with(&format!("{first} ")));
                let others = answer.account.iter().flat_map(|a| &a.lines).filter(|l| l.what.starts_with(first));
                let whole_of_any = |label: &&&str| others.clone().any(|other| label.starts_with(&other.what));
                assert_eq!(begun.clone().count(), begun.filter(whole_of_any).count(), "{name} at {size}: {text}");
            }
            assert!(labels.iter().all(|label| !label.starts_with("  ")), "{name} at {size}: {text}");
        }
    }
    assert!(seen > 100, "{seen} labels");
}

/// A signature loses its middle on a terminal, its place stays; in a file all of it is there.
#[test]
fn of_a_long_signature_the_place_stays() {
    let mut answer = common::user_lock();
    let signature = format!("{}insert", "some_namespace::".repeat(20));
    if let Some(culprit) = &mut answer.verdict.causes[0].culprit {
        culprit.callers[0].function = Some(signature.clone());
    }
    for (size, style) in SIZES {
        let text = text(&answer, style);
        assert!(text.contains("birthday.c:17"), "{size}: {text}");
        assert_eq!(text.contains(&signature), style.whole, "{size}: {text}");
    }
}

#[test]
fn tables_keep_every_place() {
    for (name, tables) in kept() {
        let model = Model::new(&tables);
        let analysis = analyze::analyze(&model);
        let Some(observed) = Observed::at(&analysis, None) else { continue };
        let pick = Pick::default();
        for view in [
            waits::waits(&observed, pick),
            locks::locks(&observed, pick),
            threads::wakers(&observed, pick),
            functions::lines(&observed, None, pick),
        ] {
            for (size, style) in SIZES {
                let mut out = Vec::new();
                view.text(style.table(), true, &mut out).unwrap();
                let shown = String::from_utf8(out).unwrap();
                for (column, cell) in view.rows.iter().flat_map(|row| view.columns.iter().zip(row)) {
                    let Cell::Text(text) = cell else { continue };
                    let place = if column.whole { text } else { place_in(text).trim_start() };
                    let fits = column.minor == 0 || style.whole;
                    assert!(!fits || shown.contains(place), "{name} at {size}: {place:?} is not in {shown}");
                }
                let widest = shown.lines().map(report::text::width).max().unwrap_or(0);
                assert!(widest <= style.table(), "{name} at {size}: {shown}");
            }
        }
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

/// Without a cause, what is missing to settle the first of the open ones is shown: the analysis puts that with most of the
/// loss first. With a cause, open ones may stay in the JSON.
#[test]
fn without_a_cause_the_reason_of_the_largest_loss_is_printed() {
    let open = |answer: &mut Answer, at: usize| {
        let missing = "symbols of the program, which would tell what its futexes are for".to_owned();
        answer.verdict.unsure.insert(at, Unsure { id: CauseId::USER_LOCK, missing });
    };
    let mut answer = common::user_lock();
    answer.verdict.causes.clear();
    open(&mut answer, 0);
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = one_line(text(&answer, PLAIN));
    assert!(shown.contains("user-lock: symbols of the program, which would tell what its futexes are for"), "{shown}");
    // With a cause it is the last of three, and only two are shown.
    let mut answer = common::user_lock();
    let last = answer.verdict.unsure.len();
    open(&mut answer, last);
    assert!(!one_line(text(&answer, PLAIN)).contains("symbols of the program"));
}

#[test]
fn one_screen_holds_the_verdict_and_its_cause() {
    for (name, answer) in [("crowded", common::crowded())].into_iter().chain(all().into_iter().take(3)) {
        let text = text(&answer, PLAIN);
        assert!(text.lines().count() <= 42, "{name}: {} lines", text.lines().count());
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
