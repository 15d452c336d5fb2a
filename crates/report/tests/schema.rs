//! The JSON is an interface: `docs/answer.schema.json` describes it, and these answers must conform to it.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;

use analyze::answer::{Answer, Bounded, Queue, QueueKind};
use analyze::causes::with_none;
use serde_json::Value;
use std::{env, fs};

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/answer.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn json(answer: &Answer) -> Value {
    let mut out = Vec::new();
    report::json::render(answer, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn every_answer_fits_the_schema() {
    let schema = jsonschema::draft202012::options().build(&schema()).unwrap();
    for answer in [common::user_lock(), common::none(), common::curve_only(), common::nothing(), common::wide()] {
        let problems: Vec<String> =
            schema.iter_errors(&json(&answer)).map(|e| format!("{} {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

#[test]
fn queues_and_requests_fit_the_schema() {
    let schema = jsonschema::draft202012::options().build(&schema()).unwrap();
    let mut answer = common::user_lock();
    let site = answer.verdict.causes[0].culprit.as_ref().unwrap().callers[0].clone();
    let without_end = common::busy_lock(4, site);
    let bounded = |high| Some(Bounded { mean: 2.0, low: 1.0, high });
    answer.queues = vec![
        Queue { summary: Some("x".to_owned()), ..without_end.clone() },
        Queue { waiting_at_twice: bounded(None), ..without_end.clone() },
        Queue { waiting_at_twice: bounded(Some(3.0)), kind: QueueKind::Pool, object: None, site: None, ..without_end },
    ];
    answer.requests = vec![common::requests(2)];
    let value = json(&answer);
    let problems: Vec<String> = schema.iter_errors(&value).map(|e| format!("{} {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    walk(&value, &self::schema(), &self::schema(), "");
}

#[test]
fn the_schema_refuses_what_is_no_answer() {
    let schema = jsonschema::draft202012::options().build(&schema()).unwrap();
    let good = json(&common::user_lock());
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        !schema.is_valid(&value)
    };
    assert!(broken(&|v| v["curve"][0]["threads"] = 0.into()));
    assert!(broken(&|v| v["verdict"]["causes"][0]["id"] = "ghosts".into()));
    assert!(broken(&|v| v["knee"]["format"] = 1.0.into()));
    assert!(broken(&|v| drop(v.as_object_mut().unwrap().remove("account"))));
}

fn walk(value: &Value, schema: &Value, root: &Value, path: &str) {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        if !value.is_null() {
            walk(value, &options[0], root, path);
        }
        return;
    }
    match value {
        Value::Object(fields) if schema.get("additionalProperties").is_none() => {
            for (name, field) in fields {
                let known = schema["properties"].get(name);
                let known = known.unwrap_or_else(|| panic!("{path}/{name} is not described"));
                walk(field, known, root, &format!("{path}/{name}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, &schema["items"], root, &format!("{path}/0"))),
        _ => {}
    }
}

/// A field that the answer has and the schema does not describe would be an undocumented interface.
#[test]
fn every_field_is_described() {
    let schema = schema();
    for answer in [common::user_lock(), common::none(), common::curve_only()] {
        walk(&json(&answer), &schema, &schema, "");
    }
}

/// The list of causes comes from the source: `KNEE_WRITE_DOCS=1 cargo test -p report --test schema` writes their names.
#[test]
fn the_schemas_name_every_cause() {
    let names: Vec<&str> = with_none().map(|meta| meta.id.name()).collect();
    for page in ["answer", "comparison", "prediction"] {
        let path = format!("{}/../../docs/{page}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&path).unwrap();
        let begin = text.find("\"cause_id\"").unwrap();
        let begin = begin + text[begin..].find("[\n").unwrap() + 2;
        let end = begin + text[begin..].find("      ]").unwrap();
        let list = names.iter().map(|name| format!("        \"{name}\"")).collect::<Vec<_>>().join(",\n") + "\n";
        if text[begin..end] != list && env::var_os("KNEE_WRITE_DOCS").is_some() {
            fs::write(&path, format!("{}{list}{}", &text[..begin], &text[end..])).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let documented: Vec<_> = schema["$defs"]["cause_id"]["enum"].as_array().unwrap().iter().collect();
        assert_eq!(documented, names, "write them: KNEE_WRITE_DOCS=1 cargo test -p report --test schema");
    }
}

#[test]
fn nothing_in_it_controls_a_terminal() {
    let answer = common::hostile();
    let mut out = Vec::new();
    report::json::render(&answer, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.chars().all(|c| c == '\n' || (!c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}'))));
    let back: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(back["command"][0].as_str(), Some(answer.command[0].as_str()));
}

fn comparison() -> report::comparison::Comparison {
    use report::comparison::{Case, Comparison, Parameter, Picture, Skipped};
    let answer = common::user_lock();
    let (machine, knee) = (Some(answer.machine.clone()), answer.knee.clone());
    let case = |variant: &str, answer: Answer| {
        let parameters = vec![Parameter { name: "size".to_owned(), value: "1K".to_owned() }];
        Case::new(variant.to_owned(), parameters, vec!["user-lock".to_owned()], variant.to_owned(), answer)
    };
    let mut second = case("second", common::none());
    second.against_first = vec![analyze::compare::blocks::Ratio {
        threads: 2,
        ratio: 1.9,
        interval: analyze::answer::Interval { low: 1.8, high: 2.0 },
    }];
    Comparison {
        knee,
        title: "Sums".to_owned(),
        file: Some("sums.toml".to_owned()),
        complete: true,
        machine,
        unit: None,
        picture: Picture { x: Some("size".to_owned()), log_x: true, log_y: false },
        cases: vec![case("first", answer), second, case("broken", common::nothing())],
        skipped: vec![Skipped { variant: "third".to_owned(), why: "libthird.so.1 is missing".to_owned() }],
    }
}

#[test]
fn a_comparison_fits_its_schema_and_the_schema_describes_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/comparison.schema.json");
    let text: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let schema = jsonschema::draft202012::options().build(&text).unwrap();
    let mut out = Vec::new();
    report::json::render(&comparison(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    let problems: Vec<String> = schema.iter_errors(&value).map(|e| format!("{} {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    walk(&value, &text, &text, "");
    let mut broken = value.clone();
    broken["cases"][1]["against_first"][0]["ratio"] = "fast".into();
    assert!(!schema.is_valid(&broken));
}
