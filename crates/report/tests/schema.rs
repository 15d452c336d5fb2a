//! The JSON is an interface: `docs/answer.schema.json` describes it, and these answers hold to it.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;

use analyze::answer::{Answer, CauseId};
use serde_json::Value;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/answer.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
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

/// A field that the answer has and the schema does not describe would be an undocumented interface.
#[test]
fn every_field_is_described() {
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
            Value::Array(items) => {
                items.iter().for_each(|item| walk(item, &schema["items"], root, &format!("{path}/0")))
            }
            _ => {}
        }
    }
    let schema = schema();
    for answer in [common::user_lock(), common::none(), common::curve_only()] {
        walk(&json(&answer), &schema, &schema, "");
    }
}

#[test]
fn every_cause_has_its_documented_name() {
    let schema = schema();
    let named = schema["$defs"]["cause_id"]["enum"].as_array().unwrap();
    for id in [CauseId::UserLock, CauseId::FailingSyscall, CauseId::CpuQuota, CauseId::ExtraWork, CauseId::None] {
        assert!(named.contains(&serde_json::to_value(id).unwrap()));
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
