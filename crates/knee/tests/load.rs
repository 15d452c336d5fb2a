//! Servers under load, without privileges: what is measured, how each failure is reported, and that no process is left.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const KNEE: &str = env!("CARGO_BIN_EXE_knee");

/// A folder with the program `served`, which is both server and load.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/served.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-pthread", "-o"]).arg(folder.path().join("served")).arg(source);
        assert!(compiler.status().unwrap().success());
        Place(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn knee(&self, load: &str, options: &[&str], server: &[&str]) -> Command {
        let mut command = Command::new(KNEE);
        command
            .args(["sweep", "-t", "1,2", "--runs", "1", "--warm-up", "0", "--repeats", "0", "--no-wait", "-q"])
            .args(["--collector", "proc", "--format", "json", "-o", "out", "--load", load])
            .args(options)
            .arg("--")
            .args(server)
            .current_dir(self.path());
        command
    }

    /// The result of a sweep; none of its processes may be left.
    fn sweep(&self, load: &str, options: &[&str], server: &[&str]) -> Output {
        let output = self.knee(load, options, server).output().unwrap();
        assert_eq!(self.left(), Vec::<String>::new(), "{}", errors(&output));
        output
    }

    /// Processes that run the program.
    fn left(&self) -> Vec<String> {
        let program = self.path().join("served");
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let runs = |path: &Path| fs::read_link(path.join("exe")).is_ok_and(|exe| exe == program);
        entries.map(|entry| entry.path()).filter(|path| runs(path)).map(|path| path.display().to_string()).collect()
    }
}

const ASK: &str = "./served ask socket 2 300";
const SERVE: &[&str] = &["./served", "serve", "socket", "{threads}", "2000"];

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{}", errors(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The sweep fails at every count, for this reason.
fn fails(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(3), "{}", errors(output));
    let errors = errors(output);
    assert!(errors.contains(why), "{errors}");
}

/// Its limit is lowered while it waits for the server, which then never seems to listen.
#[test]
fn a_lack_of_descriptors_ends_the_wait_for_a_server() {
    let place = Place::new();
    let mut command = place.knee(ASK, &["--ready-within", "20"], &["sh", "-c", "sleep 60", "{threads}"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    while child.try_wait().unwrap().is_none() && fs::read_to_string(&children).unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let limit = Command::new("prlimit").args(["--nofile=4", "--pid", &child.id().to_string()]).status().unwrap();
    assert!(limit.success());
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(errors(&output).contains("Too many open files"), "{}", errors(&output));
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_run_lasts_as_long_as_its_load() {
    let place = Place::new();
    let answer = answer(&place.sweep(ASK, &["--ready", "^serving$"], SERVE));
    assert_eq!(answer["throughput"]["unit"], "requests/s");
    assert_eq!(answer["load"]["command"][1], "ask");
    for point in answer["curve"].as_array().unwrap() {
        let seconds = point["seconds"]["median"].as_f64().unwrap();
        assert!((0.3..1.5).contains(&seconds), "{point}");
        let load = &point["load"];
        assert!(load["processors_used"].as_f64().unwrap() > 0.0, "{point}");
        let latency = load["latency_99"].as_f64().unwrap();
        assert!((latency - 0.0058).abs() < 1e-9 && load["errors"].as_f64() == Some(0.0), "{point}");
    }
    let printed = |name: &str| fs::read_to_string(place.path().join("out/output").join(name)).unwrap();
    assert_eq!(printed("run-000.out"), "serving\n");
    assert!(printed("run-000.load.out").contains("Requests/sec:"));
    // The same from the recording, and the command that repeats it contains the load.
    let again = Command::new(KNEE).args(["report", "out"]).current_dir(place.path()).output().unwrap();
    let text = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(text.contains("under the load ./served ask socket 2 300"), "{text}");
}

#[test]
fn a_server_that_never_listens_is_given_up() {
    let place = Place::new();
    let server = [SERVE, &["mute"]].concat();
    fails(
        &place.sweep(ASK, &["--ready-within", "300ms"], &server),
        "the server was not ready within 0.3 s: knee waited until it listens; --ready",
    );
}

#[test]
fn a_server_that_ends_is_reported_with_the_moment() {
    let place = Place::new();
    fails(
        &place.sweep(ASK, &[], &["sh", "-c", "exit 7", "{threads}"]),
        "the server ended before it was ready (exit status 7)",
    );
    let place = Place::new();
    let server = [SERVE, &["mortal"]].concat();
    fails(&place.sweep(ASK, &[], &server), "the server ended while the load ran (signal 6)");
}

#[test]
fn a_load_that_fails_or_prints_no_throughput_is_reported() {
    for (load, why) in [
        ("false", "the load: exit status 1"),
        ("true", "the load printed no throughput that knee knows; --throughput"),
        ("./served ask elsewhere 2 100", "nothing that the load asked for succeeded (2 failed)"),
    ] {
        fails(&Place::new().sweep(load, &["--no-trace"], SERVE), why);
    }
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_with_a_warning() {
    let place = Place::new();
    let server = [SERVE, &["deaf"]].concat();
    let answer = answer(&place.sweep(ASK, &["--stop-within", "100ms", "--no-trace"], &server));
    let warnings = answer["warnings"].as_array().unwrap();
    let killed = warnings.iter().filter(|warning| warning.as_str().unwrap().contains("was killed (SIGKILL)"));
    assert_eq!(killed.count(), 1, "{warnings:?}");
}

/// A shell that starts the server and waits for it, and a server in a session of its own.
#[test]
fn processes_that_a_server_starts_are_ended_with_it() {
    let place = Place::new();
    let script = "./served serve other 1 1 & setsid ./served serve socket $1 2000 & wait";
    answer(&place.sweep(ASK, &["--ready", "serving", "--no-trace"], &["sh", "-c", script, "sh", "{threads}"]));
}

#[test]
fn a_port_that_is_taken_is_refused() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("port:{}", other.local_addr().unwrap().port());
    fails(&Place::new().sweep(ASK, &["--ready", &port], SERVE), "listens at port");
}

#[test]
fn ctrl_c_ends_both_whatever_is_going_on() {
    // Once while the server is not ready, and once while the load runs.
    for (load, last) in [(ASK, "mute"), ("./served ask socket 2 60000", "clean")] {
        let place = Place::new();
        let server = [SERVE, &[last]].concat();
        let mut command = place.knee(load, &[], &server);
        let mut knee = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let wanted = if last == "mute" { 1 } else { 2 };
        while place.left().len() < wanted {
            assert!(knee.try_wait().unwrap().is_none(), "knee has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(Command::new("kill").args(["-INT", &knee.id().to_string()]).status().unwrap().success());
        assert_eq!(knee.wait().unwrap().code(), Some(130));
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_runs() {
    let place = Place::new();
    for (load, options, why) in [
        ("./nowhere", &[][..], "cannot start ./nowhere"),
        ("wrk 'x", &[], "a quote is not closed"),
        (ASK, &["--load-processors", "60000"], "a program may not use processor 60000"),
        (ASK, &["--ready", "https://x"], "only by http://"),
        (ASK, &["--param", "clients=1,2"], "used nowhere"),
    ] {
        let output = place.knee(load, options, SERVE).output().unwrap();
        assert!(!output.status.success() && errors(&output).contains(why), "{}", errors(&output));
        assert!(!place.path().join("out").exists());
    }
    let output =
        Command::new(KNEE).args(["sweep", "--ready", "port:1", "-t", "1", "--", "true", "{threads}"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
}

#[test]
fn the_load_can_be_swept_beside_the_threads() {
    let place = Place::new();
    let load = "./served ask socket {clients} 100";
    let output = place.sweep(load, &["--param", "clients=1,{threads}", "--plan"], SERVE);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["2 cases", "when it listens", "socket 1 100", "socket {threads} 100"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
