//! Requests over HTTP/2, each a stream of its connection. The program of `targets/streams.c` writes its frames itself; each
//! request and each answer has trailers, and of four requests that are made at once the client takes one back. Counts
//! are exact; times are slept, so that other programs can only make them longer.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use crate::load::{Ended, counts_requests, free_port};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const KNEE: &str = env!("CARGO_BIN_EXE_knee");

/// Rounds of three requests that the client makes.
const ROUNDS: u64 = 40;

/// The program of `targets/streams.c`.
struct Streams(tempfile::TempDir);

impl Streams {
    fn new() -> Streams {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/streams.c");
        let program = folder.path().join("streams");
        let built = Command::new("cc").args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source).status();
        assert!(built.unwrap().success());
        Streams(folder)
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("streams")
    }

    /// The answer about a server that its client speaks to `how`; it asks the service at this port.
    fn record(&self, how: &str, service: &str) -> Value {
        let port = free_port();
        let output = Command::new(KNEE)
            .args(["record", "--format", "json", "--throughput", r"(\d+) requests"])
            .args(["-o", &format!("out-{how}")])
            .args(["--load", &format!("./streams client {port} {how} {ROUNDS}")])
            .args(["--", "./streams", "server", &port, how])
            .args(Some(service).filter(|service| !service.is_empty()))
            .current_dir(self.0.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Checks that every stream counts, and for as long as it waited: of each three the nth waits for n sleeps of 2 ms.
fn check_streams(answer: &Value) {
    let requests = &answer["requests"][0];
    assert_eq!(requests["count"], 3 * ROUNDS, "{requests:#}");
    let (seconds, per_second) = (requests["seconds"].as_f64().unwrap(), requests["per_second"].as_f64().unwrap());
    assert!(seconds >= 0.004, "{requests:#}");
    assert!(seconds * per_second <= 3.0, "more are never under way: {requests:#}");
    assert!(!told(answer, "HTTP/2"), "{:#}", answer["warnings"]);
}

/// True if a warning has these words.
fn told(answer: &Value, words: &str) -> bool {
    answer["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains(words))
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn each_stream_is_a_request() {
    let streams = Streams::new();
    // Also where frames are read and written in pieces that end inside of headers.
    for how in ["whole", "split", "vectors", "message"] {
        let answer = streams.record(how, "");
        if counts_requests(&answer) {
            check_streams(&answer);
        }
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn each_stream_to_a_service_is_a_reply() {
    let (streams, service) = (Streams::new(), free_port());
    let _service = Ended(Command::new(streams.program()).args(["server", &service, "split"]).spawn().unwrap());
    let answer = streams.record("message", &service);
    if !counts_requests(&answer) {
        return;
    }
    check_streams(&answer);
    let services = &answer["requests"][0]["services"];
    assert_eq!(services.as_array().unwrap().len(), 1, "{services:#}");
    assert_eq!(services[0]["address"], format!("127.0.0.1:{service}"));
    assert_eq!(services[0]["replies_per_request"], 1.0, "{services:#}");
    assert!(services[0]["seconds"].as_f64().unwrap() >= 0.004, "{services:#}");
    assert!(services[0]["share"].as_f64().unwrap() <= 1.0, "each reply is a part of its request: {services:#}");
}

/// Its bodies are the preface of HTTP/2, and what the server reads begins with them.
#[test]
#[ignore = "needs root: run ./dev live"]
fn http1_with_the_preface_in_a_body_is_http1() {
    let answer = Streams::new().record("http1", "");
    if counts_requests(&answer) {
        assert_eq!(answer["requests"][0]["count"], 3 * ROUNDS, "{answer:#}");
        assert!(!told(&answer, "HTTP/2"), "{:#}", answer["warnings"]);
    }
}

/// Then three requests at once count as one, and the answer says so.
#[test]
#[ignore = "needs root: run ./dev live"]
fn frames_that_cannot_be_followed_are_told() {
    let streams = Streams::new();
    for (how, expected, words) in [
        ("hidden", ROUNDS, "connections whose first data could not be read"),
        ("late", 3 + ROUNDS - 1, "connections of HTTP/2 whose frames could not be followed"),
    ] {
        let answer = streams.record(how, "");
        if counts_requests(&answer) {
            assert_eq!(answer["requests"][0]["count"], expected, "{how}: {answer:#}");
            assert!(told(&answer, words), "{how}: {:#}", answer["warnings"]);
        }
    }
}

/// Nobody saw the preface of a connection that is older than the recording: its frames are recognised, in reads and writes
/// of at least the nine bytes of a header.
#[test]
#[ignore = "needs root: run ./dev live"]
fn streams_of_a_connection_that_was_there_before_count() {
    // Until there are enough frames, both ways, the requests of the first round count as one.
    let enough = |count: &u64| (3 * ROUNDS - 3..=3 * ROUNDS).contains(count);
    // On a busy machine knee may begin to look after the client has been let go.
    let mut found = Vec::new();
    for seconds in [2, 8, 20] {
        let Some(answer) = attach(&Streams::new(), Duration::from_secs(seconds)) else { continue };
        if !counts_requests(&answer) {
            return;
        }
        assert!(!told(&answer, "HTTP/2"), "{:#}", answer["warnings"]);
        found.push(answer["requests"][0]["count"].as_u64().unwrap());
        if found.last().is_some_and(enough) {
            return;
        }
    }
    panic!("{found:?}");
}

/// The answer about a server that has spoken with its client already, which goes on so long after knee was started; none
/// where the server had ended before knee looked at it.
fn attach(streams: &Streams, begins_after: Duration) -> Option<Value> {
    let port = free_port();
    let program = || Command::new(streams.program());
    let server = Ended(program().args(["server", &port, "whole"]).spawn().unwrap());
    while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {}
    let arguments = ["client", &port, "whole", &ROUNDS.to_string(), "held"];
    let mut client = Ended(program().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut says = BufReader::new(client.0.stdout.take().unwrap());
    let mut line = String::new();
    says.read_line(&mut line).unwrap();
    assert_eq!(line, "held\n");

    let knee = Command::new(KNEE)
        .args(["record", "-p", &server.0.id().to_string(), "--format", "json", "-o", "out"])
        .current_dir(streams.0.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(begins_after);
    client.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    says.read_to_string(&mut line).unwrap();
    assert!(line.contains("120 requests"), "{line}");
    // The recording ends with the server.
    drop(server);
    let output = knee.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("there is no process") {
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
