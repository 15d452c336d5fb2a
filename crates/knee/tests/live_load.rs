//! Servers under load, observed with BPF: these tests need root, and `./dev live` runs them. A planted mutex must be
//! found, and a load that cannot fill its server must be reported. They check causes and names, never times.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Sweeps the server of `targets/served.c`. Other programs may hide what is there, so the sweep is repeated up to twice
/// until `expected` holds.
fn sweep(load: &str, server: &str, expected: impl Fn(&Value) -> bool) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/served.c");
    let built = Command::new("cc")
        .args(["-O1", "-g", "-pthread", "-o", "served"])
        .arg(source)
        .current_dir(folder.path())
        .status();
    assert!(built.unwrap().success());
    for attempt in 1.. {
        let output = Command::new(env!("CARGO_BIN_EXE_knee"))
            .args(["sweep", "-t", "1,2,4", "--runs", "5", "--no-wait", "-q", "--format", "json", "-o"])
            .arg(format!("out-{attempt}"))
            .args(["--load", load, "--"])
            .args(server.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        if expected(&answer) || attempt == 3 {
            return answer;
        }
    }
    unreachable!("the loop returns")
}

fn first(answer: &Value) -> &str {
    answer["verdict"]["causes"][0]["id"].as_str().unwrap()
}

fn machine(answer: &Value, id: &str) -> Option<String> {
    let conditions = answer["verdict"]["machine"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["id"] == id);
    found.map(|condition| condition["summary"].as_str().unwrap().to_owned())
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn the_lock_of_a_server_is_found() {
    let answer = sweep("./served ask socket 8 1000", "./served serve socket {threads} 200000 locked", |answer| {
        first(answer) == "user-lock"
    });
    let cause = &answer["verdict"]["causes"][0];
    assert_eq!(cause["id"], "user-lock", "{:#}", answer["verdict"]);
    assert!(cause["summary"].as_str().unwrap().contains("look_up (served.c:"), "{cause:#}");
    assert!(
        answer["account"].as_array().unwrap().iter().all(|account| account["lines"]
            .as_array()
            .unwrap()
            .iter()
            .all(|line| line["cause"] != "io-wait"))
    );
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_load_that_cannot_fill_its_server_is_told() {
    let answer = sweep("./served ask socket 1 1000", "./served serve socket {threads} 200000", |answer| {
        first(answer) == "none" && machine(answer, "load-limit").is_some()
    });
    assert_eq!(first(&answer), "none", "{:#}", answer["verdict"]);
    let told = machine(&answer, "load-limit").unwrap_or_else(|| panic!("{:#}", answer["verdict"]));
    assert!(told.contains("asked for no more"), "{told}");
}
