//! Trials of real programs after a real sweep, as a user makes them. Root and the lab (`make -C lab`) are needed; `./dev live` runs
//! them.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// One command finds the lock inside `random`, makes its trials, and reports it as confirmed. Other programs can hide an
/// effect, so the command is run at most three times.
#[test]
#[ignore = "needs root: run ./dev live"]
fn a_sweep_confirms_its_own_cause() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/build/birthday").canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for attempt in 0..3 {
        let output = Command::new(env!("CARGO_BIN_EXE_knee"))
            .current_dir(folder.path())
            .args([
                "sweep",
                "-t",
                "1,2",
                "--quick",
                "--confirm",
                "--format",
                "json",
                "-o",
                &format!("swept-{attempt}"),
                "--",
            ])
            .args([program.to_str().unwrap(), "--threads={threads}", "--attempts=600K"])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let tried = answer["tried"].as_array().unwrap();
        let random = tried.iter().find(|tried| tried["trial"] == "random-per-thread");
        if let Some(random) = random.filter(|random| random["shows"] == "confirms") {
            assert_eq!((&random["cause"], &random["function"]), (&"user-lock".into(), &"random".into()), "{answer:#}");
            assert!(errors.contains("the trials are in"), "{errors}");
            return;
        }
        seen.push(format!("{}: {}", answer["verdict"]["summary"], answer["tried"]));
    }
    panic!("{seen:#?}");
}
