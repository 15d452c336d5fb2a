//! Servers under load, observed with BPF: these tests need root, and `./dev live` runs them. A planted mutex must be
//! found, and a load that cannot keep its server busy must be reported. They check causes and names, never times.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test whose setup fails must fail; it says what it leaves out"
)]

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
fn a_load_that_cannot_keep_its_server_busy_is_reported() {
    let answer = sweep("./served ask socket 1 1000", "./served serve socket {threads} 200000", |answer| {
        first(answer) == "none" && machine(answer, "load-limit").is_some()
    });
    assert_eq!(first(&answer), "none", "{:#}", answer["verdict"]);
    let summary = machine(&answer, "load-limit").unwrap_or_else(|| panic!("{:#}", answer["verdict"]));
    assert!(summary.contains("asked for no more"), "{summary}");
}

/// A port at which nothing listens.
pub(crate) fn free_port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// Ends a process when the test does.
pub(crate) struct Ended(pub(crate) std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// True where the answer has requests. Only older kernels, which do not report sent and received data, may leave them out.
pub(crate) fn counts_requests(answer: &Value) -> bool {
    if !answer["requests"][0].is_null() {
        return true;
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    println!("NOT TESTED: Linux {} does not report sent and received data (6.3 does)", release.trim());
    let number = |part: usize| release.split('.').nth(part).and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
    assert!((number(0), number(1)) < (6, 3), "{answer:#}");
    false
}

/// Sweeps the server of `targets/asked.c`, whose every request asks its service. `None` where requests are not counted.
fn asks_a_service(folder: &Path, at: &str, service: &str) -> Option<Value> {
    let _service = Ended(Command::new(folder.join("asked")).args(["service", service]).spawn().unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["sweep", "--processors", "1,2", "--quick", "--no-wait", "-q", "--format", "json", "-o", "out"])
        .args(["--load", &format!("./asked client {at} 200"), "--throughput", r"(\d+) requests"])
        .args(["--", "./asked", "server", at, service])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let requests = &answer["requests"][0];
    if !counts_requests(&answer) {
        return None;
    }
    assert_eq!(requests["count"], 800, "{requests:#}");
    let replies = &requests["services"][0];
    assert_eq!((&replies["program"], &replies["replies_per_request"]), (&"asked".into(), &1.0.into()), "{requests:#}");
    let share = replies["share"].as_f64().unwrap();
    assert!(share > 0.0 && share <= 1.0, "each reply is a part of its request: {requests:#}");
    let summary = machine(&answer, "service-wait").unwrap_or_else(|| panic!("{:#}", answer["verdict"]));
    assert!(summary.contains("serve (asked.c:"), "{summary}");
    Some(requests["services"].clone())
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn requests_and_the_replies_that_they_wait_for_are_counted() {
    let folder = asked();
    let service = free_port();
    if let Some(services) = asks_a_service(folder.path(), &free_port(), &service) {
        assert_eq!(services[0]["address"], format!("127.0.0.1:{service}"), "{services:#}");
    }
}

/// Over a stream to the server, and from there by packets to a name outside of the file system; the server's threads
/// also use socketpair(2), which must not count as requests.
#[test]
#[ignore = "needs root: run ./dev live"]
fn requests_over_sockets_in_the_file_system_are_counted() {
    let folder = asked();
    let front = folder.path().join("front");
    let service = format!("@{}/service", folder.path().display());
    if let Some(services) = asks_a_service(folder.path(), front.to_str().unwrap(), &service) {
        assert_eq!(services.as_array().unwrap().len(), 1, "{services:#}");
        assert_eq!(services[0]["address"], service, "{services:#}");
    }
}

/// The program of `targets/asked.c` in a folder of its own.
fn asked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/asked.c");
    let program = folder.path().join("asked");
    let built = Command::new("cc").args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source).status();
    assert!(built.unwrap().success());
    folder
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn one_run_of_a_server_lasts_as_long_as_its_load() {
    let folder = asked();
    let (port, service) = (free_port(), free_port());
    let program = folder.path().join("asked");
    let _service = Ended(Command::new(&program).args(["service", &service]).spawn().unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["record", "--format", "json", "-o", "out", "--throughput", r"(\d+) requests"])
        .args(["--load", &format!("./asked client {port} 200"), "--", "./asked", "server", &port, &service])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["account"].as_array().unwrap().len(), 1, "{answer:#}");
    if counts_requests(&answer) {
        assert_eq!(answer["requests"][0]["count"], 800, "{answer:#}");
        assert!(machine(&answer, "service-wait").is_some(), "{:#}", answer["verdict"]);
    }
    // The server was asked to end, and is gone.
    assert!(std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err());
    let printed = std::fs::read_to_string(folder.path().join("out/output/run-000.load.out")).unwrap();
    assert!(printed.contains("requests"), "{printed}");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_server_that_does_not_get_ready_leaves_no_recording() {
    let folder = asked();
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["record", "-o", "out", "--load", "true", "--ready-within", "300ms", "--", "sleep", "60"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("was not ready within 0.3 s") && errors.contains("--ready-within"), "{errors}");
    assert!(!folder.path().join("out").exists());
}

/// The server was asked for nothing, so there is no answer about it.
#[test]
#[ignore = "needs root: run ./dev live"]
fn a_load_that_fails_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let load = "sh -c 'echo no answer; exit 3'";
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["record", "-o", "out", "--ready", "ready", "--load", load, "--", "sh", "-c", "echo ready; sleep 60"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    for part in ["the load failed: exit status 3", "no answer", "--ready"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert!(!folder.path().join("out").exists());
}
