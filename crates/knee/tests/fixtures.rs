//! Every recording kept in `fixtures/` is read and gives the answer that it was kept for.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders in `fixtures/`, the causes that their answers name, in order, and the culprit of the first.
const ANSWERS: &[(&str, &[&str], &str)] = &[
    ("birthday", &["user-lock"], "rand"),
    ("birthday-repaired", &["none"], ""),
    ("drift/busy", &["none"], ""),
    ("drift/quiet", &["none"], ""),
    ("goroutines", &["resource-pool"], "main.(*appliance).login"),
    ("list/list", &["user-lock", "allocator"], "insert_locked"),
    ("list/list-p", &["allocator"], "malloc"),
    ("list/list-pm", &["imbalance", "false-sharing"], "lab_burn"),
    ("list/list-pml", &["false-sharing"], "insert"),
    ("list/list-pmla", &["none"], ""),
    ("pagesum", &["kernel-lock"], "unmap_chunk"),
    ("pagesum-pipeline", &["condition-wait", "serial-phase"], "map_for_workers"),
    ("profiles", &["none"], ""),
    ("spawn", &["thread-creation", "kernel-lock", "condition-wait"], "stack_create_thread"),
    ("wavefront", &["spin-wait"], "wait_spin"),
    ("wavefront-repaired/A", &["none"], ""),
    ("wavefront-repaired/B", &["none"], ""),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").canonicalize().unwrap()
}

/// The recordings in a folder, including those of a sweep over several cases.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("meta.json").exists() {
            found.push(path);
        } else if path.is_dir() {
            found.extend(recordings(&path));
        }
    }
    found
}

fn name(recording: &Path) -> String {
    recording.strip_prefix(fixtures()).unwrap().to_string_lossy().into_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_knee")).args(arguments).current_dir(fixtures()).output().unwrap();
    assert!(output.status.success(), "knee {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The causes that an answer names, and the culprit of the first; empty if it has none.
fn named(answer: &Value) -> (Vec<String>, String) {
    let causes = answer["verdict"]["causes"].as_array().unwrap();
    let ids = causes.iter().map(|cause| cause["id"].as_str().unwrap().to_owned()).collect();
    let culprit = causes.first().and_then(|cause| cause["culprit"]["function"].as_str()).unwrap_or_default();
    (ids, culprit.to_owned())
}

#[test]
fn every_kept_recording_gives_its_answer() {
    let kept: BTreeMap<String, PathBuf> = recordings(&fixtures()).into_iter().map(|r| (name(&r), r)).collect();
    let expected: BTreeSet<String> = ANSWERS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(kept.keys().cloned().collect::<BTreeSet<_>>(), expected, "recordings and ANSWERS");
    for (folder, causes, culprit) in ANSWERS {
        let answer = json(&["report", folder, "--format", "json"]);
        let (found, of) = named(&answer);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!((found.as_slice(), of.as_str()), (*causes, *culprit), "{folder}");
        let whole = answer["account"].as_array().unwrap().iter().all(|a| a["unexplained"].is_number());
        assert!(whole, "{folder}");
    }
}

#[test]
fn the_five_steps_of_the_list_are_compared() {
    let comparison = json(&["report", "list", "--format", "json"]);
    let cases = comparison["cases"].as_array().unwrap();
    let variants: Vec<&str> = cases.iter().map(|case| case["variant"].as_str().unwrap()).collect();
    assert_eq!(variants, ["list", "list-p", "list-pm", "list-pml", "list-pmla"]);
    assert!(cases.iter().all(|case| case["curve"].as_array().unwrap().len() == 3));
}

/// One program, swept on a quiet machine and beside another program that computes: only the machine differs.
#[test]
fn another_load_on_the_machine_is_not_taken_for_a_change_of_the_program() {
    for (before, after) in [("drift/quiet", "drift/busy"), ("drift/busy", "drift/quiet")] {
        let comparison = json(&["diff", before, after, "--format", "json"]);
        let judgements: Vec<&Value> =
            comparison["curve"].as_array().unwrap().iter().map(|point| &point["judgement"]).collect();
        assert_eq!(judgements, ["unclear", "unclear"], "{before} {after}");
        let warnings = comparison["warnings"].to_string();
        assert!(warnings.contains("of the processors before the change"), "{warnings}");
    }
}

#[test]
fn the_readme_states_the_format_of_each_recording() {
    let readme = fs::read_to_string(fixtures().join("README.md")).unwrap();
    for recording in recordings(&fixtures()) {
        let meta: Value = serde_json::from_slice(&fs::read(recording.join("meta.json")).unwrap()).unwrap();
        let format = format!("{}.{}", meta["format"]["major"], meta["format"]["minor"]);
        let name = name(&recording);
        let folder = name.split('/').next().unwrap();
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{folder}`")));
        assert!(row.is_some_and(|row| row.contains(&format!("| {format} |"))), "{name} has format {format}: {row:?}");
    }
}
