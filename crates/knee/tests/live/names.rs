//! Programs that run in interpreters and virtual machines must be shown with their own functions. These tests load BPF
//! programs: they need root, and `./dev live` runs them. A language that is not installed is skipped with a message.
#![allow(clippy::print_stderr, reason = "skipped tests must be visible")]
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn runs(program: &str) -> bool {
    let runs = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        eprintln!("NOT TESTED: `{program}` does not run here");
    }
    runs
}

/// The answer of one observed run of a script, which runs in its own folder.
fn recorded(program: &str, script: &str, beside: &Path) -> Value {
    let knee = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
        command.args(arguments).current_dir(beside.join("here"));
        command
    };
    std::fs::create_dir(beside.join("here")).unwrap();
    std::fs::write(beside.join("script"), script).unwrap();
    let output = knee(&["record", "-o", "../recording", "--", program, "../script"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = knee(&["report", "--format", "json", "../recording"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

const NODE: &str = "
const { Worker, isMainThread } = require('worker_threads');
function renderMail(n) { let s = ''; for (let i = 0; i < n; i++) s = (s + i).slice(-40); return s; }
if (isMainThread) { new Worker(__filename); new Worker(__filename); } else { for (let i = 0; i < 3000; i++) renderMail(400); }
";

/// Some of the options that make Node.js name its functions also make it write logs into the program's folder.
#[test]
#[ignore = "needs root: run ./dev live"]
fn observing_node_leaves_nothing_in_its_folder() {
    if !runs("node") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    recorded("node", NODE, folder.path());
    let left: Vec<_> =
        std::fs::read_dir(folder.path().join("here")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

const PYTHON: &str = "
import threading


def weigh(words):
    total = 0
    for word in words:
        total += len(word) * 7 % 5
    return total


def clerk():
    for _ in range(60):
        weigh(['ounce', 'pound'] * 4000)


threads = [threading.Thread(target=clerk) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
";

/// The interpreter's lock is shown at the program's function that computes, whatever Python version this machine has.
#[test]
#[ignore = "needs root: run ./dev live"]
fn the_interpreters_lock_is_shown_at_a_line_of_the_program() {
    if !runs("python3") || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let answer = recorded("python3", PYTHON, folder.path());
    let causes = answer["verdict"]["causes"].as_array().unwrap();
    let lock =
        causes.iter().find(|cause| cause["id"] == "user-lock").unwrap_or_else(|| panic!("{}", answer["verdict"]));
    assert!(lock["summary"].as_str().unwrap().contains("Python interpreter's global lock"), "{lock}");
    assert_eq!((&lock["culprit"]["function"], &lock["culprit"]["file"]), (&"weigh".into(), &"script".into()), "{lock}");
    let line = lock["culprit"]["line"].as_u64().unwrap();
    assert!((5..=9).contains(&line), "{lock}");
}

const FORKED: &str = "
import os
child = os.fork()
if child:
    os.waitpid(child, 0)
else:
    import threading
    import types
    module = types.ModuleType('goods')
    exec(compile('''
def weigh_goods(words):
    total = 0
    for word in words:
        total += len(word) * 7 % 5
    return total
''', 'goods.py', 'exec'), module.__dict__)
    words = ['word%d' % n for n in range(1000)]
    def work():
        for _ in range(1500):
            module.weigh_goods(words)
    threads = [threading.Thread(target=work) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    os._exit(0)
";

/// As a server's worker loads the application after the fork: the parent process does not have that code.
#[test]
#[ignore = "needs root: run ./dev live"]
fn code_that_a_forked_process_loads_is_named() {
    if !runs("python3") || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let answer = recorded("python3", FORKED, folder.path());
    let causes = answer["verdict"]["causes"].as_array().unwrap();
    let lock = causes.iter().find(|cause| cause["id"] == "user-lock");
    let lock = lock.unwrap_or_else(|| panic!("{:#}", answer["verdict"]));
    assert_eq!(lock["culprit"]["function"], "weigh_goods", "{lock:#}");
}
