//! Functions that the user describes: the example of `docs/primitives.md` is read, and the answer follows it.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use recording::synthetic::{Sketch, ms};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The file in the page.
fn example() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/primitives.md");
    let text = std::fs::read_to_string(page).unwrap();
    text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

/// Two threads that wait in turn, each on its own futex: a lock that parks its threads, or work handed over.
fn recording(folder: &Path) {
    let around = |seconds: f64| [1.0, 1.01, 0.99, 1.005, 0.995].map(|d| d * seconds);
    let wait = "syscall@libc.so.6 < mylib::Pool<Connection>::get(int)@app pool.cpp:7 < serve@app app.cpp:40 < work@app app.cpp:9";
    let work = "serve@app app.cpp:41 < work@app app.cpp:9";
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(1.0), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), work);
        })
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100 {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(10), work),
                        false => thread.locks(0x100 * (1 + i as u64), ms(10), wait, other),
                    };
                }
            }
        })
        .tables()
        .write(folder)
        .unwrap();
}

fn report(folder: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.current_dir(folder).args(["report", "recording", "--format", "json"]).args(options).output().unwrap()
}

fn verdict(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["verdict"].clone()
}

#[test]
fn the_example_of_the_page_turns_an_unsure_cause_into_a_found_one() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("recording"));
    let without = verdict(&report(folder.path(), &[]));
    assert_eq!(without["causes"][0]["id"], "none", "{without:#}");
    assert!(without["unsure"].as_array().unwrap().iter().any(|unsure| unsure["id"] == "user-lock"), "{without:#}");
    std::fs::write(folder.path().join("mine.toml"), example()).unwrap();
    let with = verdict(&report(folder.path(), &["--primitives", "mine.toml"]));
    assert_eq!(with["causes"][0]["id"], "resource-pool", "{with:#}");
    assert_eq!(with["causes"][0]["culprit"]["callers"][0]["function"], "serve", "{with:#}");
}

#[test]
fn functions_in_a_recording_count_without_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recording");
    recording(&recorded);
    let meta = recorded.join("meta.json");
    let mut json: Value = serde_json::from_str(&std::fs::read_to_string(&meta).unwrap()).unwrap();
    json["functions"] = serde_json::json!([{ "function": "mylib::Pool::get", "kind": "pool" }]);
    std::fs::write(&meta, json.to_string()).unwrap();
    assert_eq!(verdict(&report(folder.path(), &[]))["causes"][0]["id"], "resource-pool");
}

#[test]
fn a_mistake_is_shown_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("recording"));
    std::fs::write(folder.path().join("mine.toml"), "[[lock]]\nfunction = \"a\"\n[[pol]]\nfunction = \"b\"\n").unwrap();
    let output = report(folder.path(), &["--primitives", "mine.toml"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("mine.toml:3:3") && errors.contains("unknown key `pol`"), "{errors}");
}
