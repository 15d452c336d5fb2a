//! What more processors would bring, as the terminal, Markdown and JSON show it.

#![allow(clippy::unwrap_used, reason = "test code")]

use analyze::model::Model;
use analyze::prediction::{Ask, Prediction};
use analyze::{analyze, predict};
use recording::Recording;
use report::terminal::{Style, render_prediction};
use serde_json::Value;
use std::path::Path;

fn kept(name: &str, ask: &Ask) -> Prediction {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    let tables = Recording::open(folder).unwrap().tables().unwrap();
    let model = Model::new(&tables);
    predict(&analyze(&model), ask)
}

fn asked(processors: &[u32], from: Option<u32>) -> Ask {
    Ask { processors: processors.to_vec(), from, usl: from.is_none() }
}

fn text(prediction: &Prediction) -> String {
    let mut out = Vec::new();
    render_prediction(prediction, Style { colour: false, width: 80, unicode: true, whole: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_prediction_in_the_terminal() {
    insta::assert_snapshot!(text(&kept("birthday-repaired", &asked(&[4, 8, 16, 32], None))));
}

#[test]
fn a_lock_in_the_terminal() {
    insta::assert_snapshot!(text(&kept("birthday", &asked(&[4, 8], None))));
}

#[test]
fn one_count_beside_what_was_measured() {
    insta::assert_snapshot!(text(&kept("spawn", &asked(&[], Some(1)))));
}

#[test]
fn a_refusal_says_what_would_tell() {
    let mut refused = kept("birthday", &asked(&[4], None));
    let known = analyze::prediction::NotKnown { why: "a load asks".to_owned(), would_tell: "another sweep".to_owned() };
    refused.refused = Some(known);
    assert!(text(&refused).contains("not known, because a load asks. What would tell: another sweep."));
    let mut out = Vec::new();
    report::markdown::render_prediction(&refused, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("because a load asks"));
}

#[test]
fn a_prediction_for_a_pull_request() {
    let mut out = Vec::new();
    report::markdown::render_prediction(&kept("birthday-repaired", &asked(&[4, 32], None)), &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn a_prediction_fits_its_schema_and_the_schema_describes_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prediction.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let valid = jsonschema::draft202012::options().build(&schema).unwrap();
    let fields = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for (name, ask) in
        [("birthday", asked(&[4, 32], None)), ("spawn", asked(&[], Some(1))), ("list/list-pm", asked(&[], None))]
    {
        let value = serde_json::to_value(kept(name, &ask)).unwrap();
        let problems: Vec<String> = valid.iter_errors(&value).map(|e| format!("{} {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{name}: {problems:#?}");
        assert!(fields(&value).iter().all(|field| schema["properties"].get(field).is_some()), "{value:#?}");
        for point in value["points"].as_array().unwrap() {
            assert!(
                fields(point).iter().all(|f| schema["$defs"]["point"]["properties"].get(f).is_some()),
                "{point:#?}"
            );
        }
    }
}
