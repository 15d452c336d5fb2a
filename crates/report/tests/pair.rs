//! Two commands against each other, and one against itself, as people and as scripts read the result.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use analyze::answer::Knee;
use analyze::compare::{interleaved, noise};
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use report::pair::{FORMAT, Pair, Side};
use report::terminal::{Style, render_pair};
use serde_json::Value;
use std::path::Path;

/// Ten blocks of two counts; `scan` is the work that the second thread does in vain.
fn tables(seconds: f64, switches: u64, scan: u64, step: i32) -> Tables {
    let around = |seconds: f64| -> Vec<f64> {
        (0..10_i32).map(|i| seconds * (1.0 + 0.01 * f64::from((i * step) % 5 - 2))).collect()
    };
    let mut tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean(2, &around(seconds))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), "work@app app.c:5");
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(500), "work@app app.c:5").runs(ms(scan), "scan@app app.c:9");
            }
        })
        .tables();
    tables.runs.iter_mut().filter(|r| r.threads == 2).for_each(|r| r.voluntary_switches = switches);
    tables
}

fn side(name: &str, command: &[&str]) -> Side {
    Side {
        name: name.to_owned(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        recording: name.to_owned(),
    }
}

fn pair(same: bool, counts: bool) -> Pair {
    let (a, b) = (tables(0.9, 4000, 400, 7), tables(0.55, 12, 1, 3));
    let mut comparison = if same { noise(&a, &tables(0.9, 4000, 400, 3)) } else { interleaved(&a, &b) };
    comparison.warnings.push("1 timed block was disturbed \u{1b}[2J and made again".to_owned());
    Pair {
        knee: Knee { version: "0.1.0".to_owned(), format: FORMAT.to_owned() },
        machine: a.meta.machine.clone(),
        complete: !same,
        thread_counts_given: counts,
        cases: [side("A", &["./old", "--threads={threads}"]), side("B", &["./new\u{7}", "--threads={threads}"])],
        comparison,
    }
}

fn text(pair: &Pair, width: usize, unicode: bool) -> String {
    let mut out = Vec::new();
    let style = Style { colour: false, width, unicode, whole: false };
    render_pair(pair, Path::new("knee-compare-old-20260101-120000"), style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn as_shown() {
    insta::assert_snapshot!("compare", text(&pair(false, true), 80, true));
    insta::assert_snapshot!("compare_without_counts", text(&pair(false, false), 80, true));
    insta::assert_snapshot!("noise", text(&pair(true, true), 80, true));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (pair, width, unicode) in
        [(pair(false, true), 60, false), (pair(true, true), 70, true), (pair(false, true), 80, false)]
    {
        for line in text(&pair, width, unicode).lines() {
            let copied = line.contains("knee-compare-old") || line.contains("knee report");
            assert!(copied || report::text::width(line) <= width, "{width}: {line}");
            assert!(unicode || line.is_ascii(), "{line}");
        }
    }
}

#[test]
fn the_json_fits_its_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pair.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let described = |at: &str| schema.pointer(at).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let schema_of_all = jsonschema::draft202012::options().build(&schema).unwrap();
    for pair in [pair(false, true), pair(true, false)] {
        let mut out = Vec::new();
        report::json::render(&pair, &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        let problems: Vec<String> =
            schema_of_all.iter_errors(&value).map(|e| format!("{} {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        let has = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        // A field that the schema does not describe would be an undocumented interface.
        assert_eq!(sorted(has(&value)), sorted(described("/properties")));
        assert_eq!(sorted(has(&value["curve"][0])), sorted(described("/properties/curve/items/properties")));
        let mut broken = value.clone();
        broken["curve"][0]["judgement"] = "perhaps".into();
        assert!(!schema_of_all.is_valid(&broken));
    }
    let changes = pair(false, true).comparison.changes;
    assert!(changes.iter().any(|c| c.name.starts_with("scan")) && changes.iter().any(|c| c.name.contains("switches")));
}
