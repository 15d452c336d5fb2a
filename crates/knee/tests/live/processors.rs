//! What runtimes do in a sweep over processors: each is asked how many processors it finds, and how many threads it
//! starts for them. No privileges are needed, but the languages are: one that is not installed is skipped with a
//! message. `./dev live` runs these tests.
#![allow(clippy::print_stderr, reason = "skipped tests must be visible")]
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn works_here(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let made = output.as_ref().is_ok_and(|output| output.status.success());
    if !made {
        eprintln!("NOT TESTED: `{program} {}` does not run here: {output:?}", arguments.join(" "));
    }
    made
}

/// The first line that the command printed with one processor, and with two.
fn printed(folder: &Path, command: &[&str]) -> Option<[String; 2]> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("NOT TESTED: this machine has one processor");
        return None;
    }
    let beside = tempfile::tempdir().unwrap();
    let recording = beside.path().join("recording");
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["sweep", "--processors", "1,2", "--runs", "1", "--warm-up", "0", "--repeats", "0", "--no-wait", "-q"])
        .args(["--no-trace", "--format", "json", "-o"])
        .arg(&recording)
        .arg("--")
        .args(command)
        .current_dir(folder)
        .env_remove("OMP_NUM_THREADS")
        .env_remove("GOMAXPROCS")
        .env_remove("RAYON_NUM_THREADS")
        .env_remove("PYTHON_CPU_COUNT")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The order of the two runs is random, so the lines are sorted: each begins with its count.
    let mut lines: Vec<String> = (0..2)
        .map(|run| fs::read_to_string(recording.join(format!("output/run-{run:03}.out"))).unwrap())
        .map(|text| text.lines().next().unwrap_or_default().to_owned())
        .collect();
    lines.sort();
    lines.try_into().ok()
}

fn each(folder: &Path, command: &[&str], expected: [&str; 2]) {
    if let Some(printed) = printed(folder, command) {
        assert_eq!(printed, expected, "{command:?}");
    }
}

#[test]
#[ignore = "needs languages: run ./dev live"]
fn the_affinity_limits_nproc() {
    let folder = tempfile::tempdir().unwrap();
    each(folder.path(), &["nproc"], ["1", "2"]);
}

#[test]
#[ignore = "needs languages: run ./dev live"]
fn openmp_starts_a_thread_per_processor() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <omp.h>\n#include <stdio.h>\nint main(void) { int n = 0;\n#pragma omp parallel reduction(+:n)\n\
                  n += 1;\nprintf(\"%d of %d\\n\", n, omp_get_num_procs()); }\n";
    fs::write(folder.path().join("team.c"), source).unwrap();
    if works_here("gcc", &["-O1", "-fopenmp", "-o", "team", "team.c"], folder.path()) {
        each(folder.path(), &["./team"], ["1 of 1", "2 of 2"]);
    }
}

#[test]
#[ignore = "needs languages: run ./dev live"]
fn go_runs_a_thread_per_processor() {
    let folder = tempfile::tempdir().unwrap();
    let source = "package main\nimport (\"fmt\"; \"runtime\")\nfunc main() { fmt.Println(runtime.GOMAXPROCS(0), runtime.NumCPU()) }\n";
    fs::write(folder.path().join("procs.go"), source).unwrap();
    if works_here("go", &["build", "-o", "procs", "procs.go"], folder.path()) {
        each(folder.path(), &["./procs"], ["1 1", "2 2"]);
    }
}

/// Rayon and Tokio size their pools by this function, unless one of their variables is set.
#[test]
#[ignore = "needs languages: run ./dev live"]
fn rust_finds_the_allowed_processors() {
    let folder = tempfile::tempdir().unwrap();
    let source = "fn main() { println!(\"{}\", std::thread::available_parallelism().unwrap()); }\n";
    fs::write(folder.path().join("procs.rs"), source).unwrap();
    if works_here("rustc", &["-o", "procs", "procs.rs"], folder.path()) {
        each(folder.path(), &["./procs"], ["1", "2"]);
    }
}

const RAYON: &str = "fn main() {\n    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();\n    \
                     println!(\"{} {}\", rayon::current_num_threads(), runtime.metrics().num_workers());\n}\n";

/// The pools themselves, if cargo has both crates without a network.
#[test]
#[ignore = "needs languages: run ./dev live"]
fn rayon_and_tokio_start_a_worker_per_processor() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"pools\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nrayon = \"1\"\n\
                    tokio = { version = \"1\", features = [\"rt-multi-thread\"] }\n[workspace]\n";
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.path().join("src/main.rs"), RAYON).unwrap();
    if works_here("cargo", &["build", "--offline", "--target-dir", "built"], folder.path()) {
        each(folder.path(), &["built/debug/pools"], ["1 1", "2 2"]);
    }
}

#[test]
#[ignore = "needs languages: run ./dev live"]
fn java_finds_the_allowed_processors() {
    let folder = tempfile::tempdir().unwrap();
    let source = "class Procs { public static void main(String[] a) { System.out.println(Runtime.getRuntime().availableProcessors() \
                  + \" \" + (java.util.concurrent.ForkJoinPool.commonPool().getParallelism())); } }\n";
    fs::write(folder.path().join("Procs.java"), source).unwrap();
    if works_here("javac", &["Procs.java"], folder.path()) {
        each(folder.path(), &["java", "Procs"], ["1 1", "2 1"]);
    }
}

#[test]
#[ignore = "needs languages: run ./dev live"]
fn node_finds_the_allowed_processors() {
    let folder = tempfile::tempdir().unwrap();
    if works_here("node", &["-e", "require('os').availableParallelism()"], folder.path()) {
        each(folder.path(), &["node", "-p", "require('os').availableParallelism()"], ["1", "2"]);
    }
}

/// `os.cpu_count()` counts all processors of the machine; since Python 3.13 a variable overrides it.
#[test]
#[ignore = "needs languages: run ./dev live"]
fn python_finds_the_allowed_processors() {
    let folder = tempfile::tempdir().unwrap();
    let affinity = "import os; print(len(os.sched_getaffinity(0)))";
    if works_here("python3", &["-c", affinity], folder.path()) {
        each(folder.path(), &["python3", "-c", affinity], ["1", "2"]);
    }
    let counted = "import os; print(os.cpu_count(), os.process_cpu_count())";
    if works_here("python3.13", &["-c", counted], folder.path()) {
        each(folder.path(), &["python3.13", "-c", counted], ["1 1", "2 2"]);
    }
}
