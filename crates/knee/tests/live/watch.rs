//! `knee watch` of real programs. Watching with eBPF needs root: `./dev live` runs these tests. No result depends on
//! time: the watched programs always do the same.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const KNEE: &str = env!("CARGO_BIN_EXE_knee");

fn lab(program: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lab/build").join(program);
    assert!(path.exists(), "make -C lab builds {}", path.display());
    path.to_string_lossy().into_owned()
}

/// A program that runs until it is dropped.
struct Running(Child);

impl Running {
    fn new(program: &str, arguments: &[&str]) -> Running {
        let child = Command::new(lab(program)).args(arguments).stdout(Stdio::null()).spawn().unwrap();
        // Give it time to start its threads.
        std::thread::sleep(Duration::from_millis(500));
        Running(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Three threads that take turns with the lock inside the C library's random generator.
const CONTENDED: &[&str] = &["--threads=3", "--attempts=500M", "--rng=random"];

/// Joins lines that were wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_running_program_shows_its_threads_functions_waits_and_locks() {
    let mut target = Running::new("birthday", CONTENDED);
    let output = Command::new(KNEE).args(["watch", "-p", &target.pid(), "--plain", "--for", "6s"]).output().unwrap();
    let text = text(&output);
    let last = unwrapped(text.split("birthday (").last().unwrap());
    assert!(last.contains("by eBPF") && last.contains("4 threads"), "{text}");
    assert!(last.contains("waiting for a thread's end"), "{text}");
    assert!(last.contains("simulate") && last.contains("random"), "functions and the lock's place: {text}");
    assert!(target.0.try_wait().unwrap().is_none(), "the target still runs");
}

#[test]
#[ignore = "needs a program of the lab: run ./dev live"]
fn through_proc_threads_and_their_waits_are_seen() {
    let target = Running::new("birthday", CONTENDED);
    let arguments = ["watch", "-p", &target.pid(), "--plain", "--for", "4s", "--collector", "proc"];
    let text = text(&Command::new(KNEE).args(arguments).output().unwrap());
    let last = unwrapped(text.split("birthday (").last().unwrap());
    assert!(last.contains("by /proc alone") && last.contains("4 threads"), "{text}");
    assert!(last.contains("waiting for a thread's end") && last.contains("does not tell which code runs"), "{text}");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_started_program_ends_the_view_and_the_view_ends_it() {
    for collector in ["bpf", "proc"] {
        let short = [&lab("birthday"), "--threads=2", "--attempts=200K", "--rng=rand"].map(str::to_owned);
        let output = Command::new(KNEE).args(["watch", "--collector", collector, "--"]).args(short).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("the program has ended"), "{output:?}");
        assert!(text(&output).contains("birthday"), "one look at least");
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $$ > pid; exec sleep 600";
        let arguments = ["watch", "--for", "2s", "--collector", collector, "--", "sh", "-c", script];
        assert!(Command::new(KNEE).args(arguments).current_dir(folder.path()).output().unwrap().status.success());
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
        assert!(!PathBuf::from("/proc").join(pid.trim()).exists(), "{collector}: it ends with the view");
    }
}

/// A terminal made by script(1): keys go in, what was drawn comes out.
#[test]
#[ignore = "needs root: run ./dev live"]
fn on_a_terminal_it_draws_and_gives_the_terminal_back() {
    let target = Running::new("birthday", CONTENDED);
    let command = format!("stty cols 120 rows 40; {KNEE} watch -p {}; echo left $?; stty -a", target.pid());
    let mut script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = script.stdin.take().unwrap();
    let typing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(6));
        for key in ["\t", "s", "p", "p", "q"] {
            keys.write_all(key.as_bytes()).unwrap();
            keys.flush().unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
        // Keep the pipe open until script has ended: closing it would end the shell.
        std::thread::sleep(Duration::from_secs(1));
    });
    let drawn = String::from_utf8_lossy(&script.wait_with_output().unwrap().stdout).into_owned();
    typing.join().unwrap();
    assert!(drawn.contains("\u{1b}[?1049h") && drawn.contains("\u{1b}[?1049l"), "its own screen, and back: {drawn:?}");
    assert!(drawn.contains("threads") && drawn.contains("PAUSED"), "{drawn:?}");
    let after = drawn.split("left 0").nth(1).expect("q ends it well");
    assert!(after.contains(" icanon") && after.contains(" echo "), "lines are edited again: {after}");
}
