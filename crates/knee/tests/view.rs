//! `knee view` as a browser and as an attacker see it, over its socket.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A recording of two threads, one of which sleeps, in a folder.
fn record(folder: &Path) {
    let tables = Sketch::new(2)
        .clean(1, &[0.1, 0.1, 0.1])
        .clean(2, &[0.1, 0.1, 0.1])
        .traced(1, |run| {
            run.thread("single").runs(ms(50), "work@app");
        })
        .traced(2, |run| {
            run.thread("first").runs(ms(40), "work@app").blocks(Reason::Sleep, ms(10), "nap@app");
            run.thread("second").runs(ms(20), "work@app").runs(ms(30), "other@app");
        })
        .tables();
    tables.write(folder).unwrap();
}

struct Viewed {
    knee: Child,
    address: String,
    host: String,
    folder: tempfile::TempDir,
}

/// A folder as left by a sweep over several cases.
fn record_cases(folder: &Path, question: &str) {
    std::fs::create_dir(folder).unwrap();
    let cases: Vec<serde_json::Value> = ["A", "B <b>"]
        .into_iter()
        .zip(["a", "b"])
        .map(|(variant, recording)| {
            record(&folder.join(recording));
            serde_json::json!({"variant": variant, "parameters": [], "recording": recording, "expect": []})
        })
        .collect();
    let index = serde_json::json!({
        "format": "1.1", "knee": "0.1.0", "title": "two <i>", "question": question, "file": null, "complete": true,
        "picture": {"x": null, "log_x": false, "log_y": false}, "cases": cases, "skipped": [],
    });
    std::fs::write(folder.join("sweep.json"), index.to_string()).unwrap();
}

impl Viewed {
    fn new() -> Viewed {
        Viewed::of(record)
    }

    fn of(record: impl Fn(&Path)) -> Viewed {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        record(&recording);
        let mut knee = Command::new(env!("CARGO_BIN_EXE_knee"))
            .arg("view")
            .arg(&recording)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(knee.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let host = address.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        Viewed { knee, address, host, folder }
    }

    /// The path of the page.
    fn page(&self) -> String {
        format!("/{}", self.address.splitn(4, '/').nth(3).unwrap())
    }

    /// Status, header lines and body of a request's answer.
    fn ask(&self, line: &str, host: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, answer[end + 4..].to_vec())
    }

    fn get(&self, path: &str) -> (u16, String, Vec<u8>) {
        self.ask(&format!("GET {}{path}", self.page()), &self.host)
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.knee.kill();
        let _ = self.knee.wait();
    }
}

#[test]
fn the_whole_address_gets_the_page() {
    let viewed = Viewed::new();
    let (status, head, body) = viewed.get("");
    assert_eq!(status, 200, "{head}");
    let page = String::from_utf8(body).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("connect-src 'self'"), "{}", page.len());
    let head = head.to_ascii_lowercase();
    for line in ["cache-control: no-store", "x-content-type-options: nosniff", "frame-ancestors 'none'"] {
        assert!(head.contains(line), "{line}: {head}");
    }
}

#[test]
fn requests_without_the_token_or_for_another_host_are_refused() {
    let viewed = Viewed::new();
    for path in ["/", "/lanes?run=0&from=0&to=9&columns=9", "/0123456789abcdef0123456789abcdef/"] {
        let (status, _, body) = viewed.ask(&format!("GET {path}"), &viewed.host);
        assert_eq!((status, String::from_utf8(body).unwrap().contains("secret")), (403, true), "{path}");
    }
    let port = viewed.host.rsplit(':').next().unwrap();
    for host in ["evil.example".to_owned(), format!("evil.example:{port}"), format!("127.0.0.1.evil.example:{port}")] {
        let (status, _, body) = viewed.ask(&format!("GET {}", viewed.page()), &host);
        assert_eq!((status, body.len() < 200), (403, true), "{host}");
    }
    assert_eq!(viewed.ask(&format!("GET {}", viewed.page()), &format!("localhost:{port}")).0, 200);
    assert_eq!(viewed.ask(&format!("POST {}", viewed.page()), &viewed.host).0, 405);
}

#[test]
fn no_path_leads_to_a_file() {
    let viewed = Viewed::new();
    for path in [
        "../",
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "....//etc/passwd",
        "/etc/passwd",
        "meta.json",
        "lanes/../meta.json",
        "..\\meta.json",
        "lanes%00",
        "index.html",
    ] {
        let (status, _, body) = viewed.get(path);
        assert_eq!(status, 404, "{path}");
        assert!(body.len() < 100 && !body.windows(5).any(|w| w == b"root:"), "{path}");
    }
}

#[test]
fn a_time_range_is_answered_with_what_was_recorded_in_it() {
    let viewed = Viewed::new();
    // From 5 ms before the sleep to 5 ms into it.
    let (status, _, body) = viewed.get("sums?run=1&from=35000000&to=45000000");
    assert_eq!(status, 200);
    let sums: serde_json::Value = serde_json::from_slice(&body).unwrap();
    // Class 1 is own code, class 8 is sleep. One thread runs for 10 ms, the other for 5.
    assert_eq!(sums["classes"], serde_json::json!([[1, 15e6], [8, 5e6]]), "{sums}");
    assert_eq!(sums["waits"][0][1], 5e6);
    assert_eq!(sums["threads"], serde_json::json!([[1, 10e6, 0.0], [0, 5e6, 5e6]]));
    let (status, head, body) = viewed.get("lanes?run=1&from=35000000&to=45000000&columns=100");
    assert_eq!((status, body[0]), (200, 1), "few spans come as they were recorded: {head}");
    let (_, _, found) = viewed.get("find?run=1&at=0&forward=1&text=A+SLEEP");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&found).unwrap(),
        serde_json::json!({"lane": 0, "at": 45_000_000})
    );
    let (_, _, found) = viewed.get("find?run=1&at=45000000&forward=1&text=sleeping");
    assert_eq!(found, b"null");
}

#[test]
fn queries_that_make_no_sense_are_refused() {
    let viewed = Viewed::new();
    for query in [
        "lanes",
        "lanes?run=2&from=0&to=9&columns=9",
        "lanes?run=0&from=9&to=9&columns=9",
        "lanes?run=0&from=9&to=0&columns=9",
        "lanes?run=-1&from=0&to=9&columns=9",
        "lanes?run=0&from=0&to=1e9&columns=9",
        "lanes?run=0&from=99999999999&to=999999999999&columns=9",
        "lanes?run=0&from=0&to=9&columns=99999999999999999999999",
        "sums?run=0&from=a&to=b",
        "find?run=0&at=0&forward=2222&text=x",
        "find?run=7&at=0&forward=1&text=x",
    ] {
        assert_eq!(viewed.get(query).0, 400, "{query}");
    }
    // Whatever the width, the answer stays small, and the server stays alive.
    let (status, _, body) = viewed.get("lanes?run=0&from=0&to=18446744073709551615&columns=18446744073709551615");
    assert_eq!((status, body.len() < 100_000), (200, true));
}

#[test]
fn the_page_of_several_cases_links_to_the_page_of_each() {
    for question in ["cases", "compare"] {
        let viewed = Viewed::of(|folder| record_cases(folder, question));
        let (status, _, body) = viewed.get("");
        let page = String::from_utf8(body).unwrap();
        assert_eq!(status, 200);
        assert!(page.contains("<a href=\"./0/\">A</a>") && page.contains("<a href=\"./1/\">B &lt;b&gt;</a>"), "{page}");
        // Which of two is faster is decided by their blocks, if there are enough: six are needed.
        assert_eq!(page.contains("class=\"verdict\""), question == "compare");
        for case in ["0/", "1/", "0/"] {
            let (status, _, body) = viewed.get(case);
            assert_eq!(status, 200, "{case}");
            assert!(String::from_utf8(body).unwrap().contains("connect-src 'self'"));
        }
        assert_eq!(viewed.get("1/lanes?run=1&from=35000000&to=45000000&columns=100").0, 200);
        for nothing in ["2/", "0", "-1/", "+0/", "a/", "sums", "lanes", "0/0/", "0/../", "18446744073709551616/"] {
            assert_eq!(viewed.get(nothing).0, 404, "{nothing}");
        }
    }
}

#[test]
fn an_unreadable_case_is_reported_when_it_is_requested() {
    let viewed = Viewed::of(|folder| record_cases(folder, "cases"));
    std::fs::write(viewed.folder.path().join("recording/b/meta.json"), "{").unwrap();
    let (status, _, body) = viewed.get("1/");
    assert_eq!((status, String::from_utf8(body).unwrap().contains("meta.json")), (500, true));
    assert_eq!(viewed.get("0/").0, 200);
}

#[test]
fn ctrl_c_ends_it() {
    let mut viewed = Viewed::new();
    let killed = Command::new("kill").args(["-INT", &viewed.knee.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(viewed.knee.wait().unwrap().code(), Some(0));
    assert!(TcpStream::connect(&viewed.host).is_err());
}

fn knee(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knee")).args(arguments).output().unwrap()
}

#[test]
fn a_missing_recording_and_a_taken_port_are_reported() {
    assert_eq!(knee(&["view", "missing"]).status.code(), Some(5));
    let viewed = Viewed::new();
    let port = viewed.host.rsplit(':').next().unwrap();
    let folder = viewed.folder.path().join("recording");
    let taken = knee(&["view", folder.to_str().unwrap(), "--port", port]);
    let errors = String::from_utf8(taken.stderr).unwrap();
    assert_eq!((taken.status.code(), errors.contains("without --port")), (Some(2), true), "{errors}");
}
