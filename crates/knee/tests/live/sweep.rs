//! The main job on real programs, as a user runs it. These tests load BPF programs: they need root and the lab
//! (`make -C lab`), and `./dev live` runs them. They check counts, names and sums, never times.
#![allow(clippy::print_stdout, reason = "says why a test takes longer")]
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn lab(program: &str) -> String {
    let path = root().join("lab/build").join(program);
    assert!(path.exists(), "{} is missing: run make -C lab", path.display());
    path.to_str().unwrap().to_owned()
}

/// Sweeps and returns the answer and the recording's folder. Another program that takes a tenth of the processors, or
/// runs that scatter by as much as the loss, rightly hide what the tests look for: then the sweep is repeated, at most
/// twice.
fn sweep(folder: &Path, counts: &str, runs: &str, argv: &[&str]) -> (Value, PathBuf) {
    for attempt in 1.. {
        let recording = folder.join(format!("recording-{attempt}"));
        let output = knee()
            .args(["sweep", "-t", counts, "--runs", runs, "--format", "json", "-o"])
            .arg(&recording)
            .arg("--")
            .args(argv)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let taken = taken_by_others(&answer);
        let summary = answer["verdict"]["summary"].as_str().unwrap();
        let scatters =
            ["Too noisy to tell", "within the noise of these runs"].iter().any(|words| summary.contains(words));
        if (taken < 0.1 && !scatters) || attempt == 3 {
            return (answer, recording);
        }
        println!(
            "other programs had {:.0} % of the processors, or the runs scattered ({scatters}): the sweep is made again",
            100.0 * taken
        );
    }
    unreachable!("the last attempt returns")
}

/// The largest share of a run's capacity that other programs took.
fn taken_by_others(answer: &Value) -> f64 {
    let share = |account: &Value| {
        let lines = account["lines"].as_array().unwrap().iter();
        let taken: f64 =
            lines.filter(|line| line["cause"] == "cpu-pressure").map(|line| number(&line["seconds"])).sum();
        taken / number(&account["capacity"])
    };
    answer["account"].as_array().unwrap().iter().map(share).fold(0.0, f64::max)
}

fn knee() -> Command {
    Command::new(env!("CARGO_BIN_EXE_knee"))
}

fn cause<'a>(answer: &'a Value, id: &str) -> Option<&'a Value> {
    answer["verdict"]["causes"].as_array().unwrap().iter().find(|cause| cause["id"] == id)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The line of a source file that its author marked as the culprit.
fn guilty_line(source: &Path, code: &str) -> u64 {
    let text = std::fs::read_to_string(source).unwrap();
    let line = text.lines().position(|line| line.contains("GUILTY") && line.contains(code));
    line.unwrap_or_else(|| panic!("no guilty line with `{code}` in {}", source.display())) as u64 + 1
}

fn assert_balanced(answer: &Value) {
    for account in answer["account"].as_array().unwrap() {
        let lines: f64 = account["lines"].as_array().unwrap().iter().map(|line| number(&line["seconds"])).sum();
        let sum = number(&account["useful"]) + lines + number(&account["unexplained"]);
        let capacity = number(&account["capacity"]);
        assert!((sum - capacity).abs() <= 0.01 * capacity, "{account}");
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn birthday_waits_for_the_lock_in_random() {
    let folder = tempfile::tempdir().unwrap();
    // Four threads on any number of processors: the lock is contended, however fast the machine is.
    let program = lab("birthday");
    let argv = [&program, "--threads={threads}", "--attempts=2M", "--rng=random"];
    let (answer, _) = sweep(folder.path(), "1,2,4", "5", &argv);
    let cause = cause(&answer, "user-lock").unwrap_or_else(|| panic!("{answer:#}"));
    assert_eq!(cause["culprit"]["function"], "random", "{cause:#}");
    assert!(cause["culprit"]["module"].as_str().unwrap().starts_with("libc"), "{cause:#}");
    let caller = &cause["culprit"]["callers"][0];
    let line = guilty_line(&root().join("lab/birthday.c"), ")random(");
    assert_eq!(
        (&caller["function"], &caller["file"], &caller["line"]),
        (&"simulate".into(), &"birthday.c".into(), &line.into()),
        "{cause:#}"
    );
    assert!(cause["try"].as_array().unwrap().iter().any(|t| t.as_str().unwrap().contains("random_r")), "{cause:#}");
    assert_balanced(&answer);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn birthday_with_a_generator_per_thread_has_no_cause_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = lab("birthday");
    let argv = [&program, "--threads={threads}", "--attempts=2M", "--rng=random_r"];
    let (answer, _) = sweep(folder.path(), "1,2,4", "5", &argv);
    for cause in answer["verdict"]["causes"].as_array().unwrap() {
        let id = cause["id"].as_str().unwrap();
        // Other load on the test machine does not make the verdict wrong.
        assert!(["none", "oversubscription", "cpu-pressure"].contains(&id), "{cause:#}");
    }
    assert_balanced(&answer);
}

/// Seconds of the account's line `what`, at the larger count.
fn waits_for(answer: &Value, what: &str) -> f64 {
    let lines = answer["account"][1]["lines"].as_array().unwrap().iter();
    lines.filter(|line| line["what"] == what).map(|line| number(&line["seconds"])).sum()
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn the_purpose_of_a_bare_futex_is_found_from_who_waits_and_who_wakes() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("own_futexes");
    let source = root().join("crates/knee/tests/targets/own_futexes.c");
    let compiled = Command::new("cc").args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(&source).status();
    assert!(compiled.expect("the tests need a C compiler").success());
    let of = |kind: &str, counts: &str| {
        let made = folder.path().join(kind);
        std::fs::create_dir(&made).unwrap();
        sweep(&made, counts, "3", &[program.to_str().unwrap(), kind, "{threads}"])
    };
    let (locks, conditions, barriers) = ("waiting for locks", "waiting for work", "waiting at a barrier");

    let (answer, recording) = of("lock", "1,2");
    assert!(waits_for(&answer, locks) > 0.0, "{answer:#}");
    let shown = knee().args(["show", "locks", "--format", "csv"]).arg(&recording).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("enter (own_futexes.c"), "{shown}");
    assert_eq!(waits_for(&answer, conditions) + waits_for(&answer, barriers), 0.0, "{answer:#}");

    let (answer, _) = of("rows", "1,2");
    assert!(waits_for(&answer, conditions) > 0.0, "{answer:#}");
    assert_eq!(waits_for(&answer, locks), 0.0, "{answer:#}");

    let (answer, _) = of("barrier", "1,3");
    assert!(waits_for(&answer, barriers) > 0.0, "{answer:#}");
    assert_eq!(waits_for(&answer, locks), 0.0, "{answer:#}");
}

fn rust_mutex(flags: &[&str], named: bool) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/rust_mutex.rs");
    let program = folder.path().join("rust_mutex");
    let mut compiler = Command::new("rustc");
    compiler.args(["--edition", "2024", "-O", "-g", "-o"]).arg(&program).args(flags).arg(&source);
    assert!(compiler.status().expect("the tests need rustc").success());
    let (answer, _) = sweep(folder.path(), "1,4", "3", &[program.to_str().unwrap(), "{threads}"]);
    let cause = cause(&answer, "user-lock").unwrap_or_else(|| panic!("{answer:#}"));
    let culprit = &cause["culprit"];
    assert_eq!(culprit["module"], "rust_mutex", "{cause:#}");
    let site = std::iter::once(culprit).chain(culprit["callers"].as_array().unwrap());
    if named {
        let line = guilty_line(&source, "TABLE.lock()");
        let found = site.into_iter().any(|site| {
            site["function"].as_str().is_some_and(|name| name.ends_with("record_visit"))
                && site["file"] == "rust_mutex.rs"
                && site["line"] == line
        });
        assert!(found, "{cause:#}");
    } else {
        let found =
            site.into_iter().any(|site| site["address"].as_str().is_some_and(|address| address.starts_with("0x")));
        assert!(found, "{cause:#}");
    }
    assert_balanced(&answer);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_rust_mutex_is_found() {
    rust_mutex(&[], true);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_rust_mutex_in_a_static_program_is_found() {
    rust_mutex(&["-C", "target-feature=+crt-static"], true);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_rust_mutex_in_a_stripped_program_is_found_by_address() {
    rust_mutex(&["-C", "strip=symbols"], false);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_rust_mutex_in_a_static_stripped_program_is_found_by_address() {
    rust_mutex(&["-C", "target-feature=+crt-static", "-C", "strip=symbols"], false);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn duckdb_reads_every_table() {
    let python = std::env::var("KNEE_PYTHON").expect("KNEE_PYTHON names a Python with duckdb: run ./dev live");
    let folder = tempfile::tempdir().unwrap();
    let program = lab("birthday");
    let (_, recording) = sweep(folder.path(), "1,2", "1", &[&program, "--threads={threads}", "--attempts=200K"]);
    let script = r#"
import duckdb, sys
for table in "runs traces threads slices waits samples syscalls stacks frames modules".split():
    rows = duckdb.sql(f"select * from '{sys.argv[1]}/{table}/*.parquet'").fetchall()
    assert rows, table
traced = f"(select run, threads from '{sys.argv[1]}/runs/*.parquet' where kind = 'traced')"
life = duckdb.sql(f"""
    select r.threads, count(*), sum(end_ns - start_ns) = sum(running_ns + runnable_ns + preempted_ns + blocked_ns)
    from '{sys.argv[1]}/threads/*.parquet' t join {traced} r using (run) group by r.threads order by r.threads""").fetchall()
assert life[0][1] >= 2 and life[-1][1] >= 3 and all(row[2] for row in life), life
"#;
    let output: Output = Command::new(python).args(["-c", script]).arg(&recording).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Two cases with the same code: each recording must contain all stacks and names that it refers to.
#[test]
#[ignore = "needs root: run ./dev live"]
fn each_case_of_a_sweep_has_all_stacks_and_names_that_it_refers_to() {
    let python = std::env::var("KNEE_PYTHON").expect("KNEE_PYTHON names a Python with duckdb: run ./dev live");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let program = lab("birthday");
    let output = knee()
        .args(["sweep", "-q", "-t", "2", "--runs", "1", "--param", "rng=random,rand", "-o"])
        .arg(&recording)
        .args(["--", &program, "--threads={threads}", "--attempts=200K", "--rng={rng}"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let script = r#"
import duckdb, pathlib, sys
cases = [path.parent for path in pathlib.Path(sys.argv[1]).rglob("waits")]
assert len(cases) == 2, cases
for case in cases:
    table = lambda name: f"'{case}/{name}/*.parquet'"
    def missing(column, name, key, where):
        query = f"select count(*) from {table(name)} where {column} is not null and {column} not in (select {key} from {table(where)})"
        return duckdb.sql(query).fetchall()[0][0]
    assert duckdb.sql(f"select count(user_stack) from {table('waits')}").fetchall()[0][0] > 0, case
    for column, name, key, where in [
        ("user_stack", "waits", "stack", "stacks"), ("user_stack", "samples", "stack", "stacks"),
        ("parent", "stacks", "stack", "stacks"), ("frame", "stacks", "frame", "frames"), ("module", "frames", "module", "modules"),
    ]:
        assert missing(column, name, key, where) == 0, (case, column, name)
"#;
    let output: Output = Command::new(python).args(["-c", script]).arg(&recording).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn under_sudo_the_target_and_the_files_belong_to_the_caller() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let recording = folder.path().join("recording");
    let output = knee()
        .args(["sweep", "-t", "1", "--runs", "1", "--show-output", "-o"])
        .arg(&recording)
        .args(["--", "/bin/sh", "-c", "echo uid=$(id -u) sudo=$SUDO_UID threads={threads}"])
        .envs([("SUDO_UID", "65534"), ("SUDO_GID", "65534"), ("SUDO_USER", "nobody")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("uid=65534 sudo= threads=1"), "{text}");
    assert_eq!(recording.join("meta.json").metadata().unwrap().uid(), 65534);
}

/// Whether a process has BPF programs open. None is pinned, so they live as long as the process.
fn observes(pid: u32) -> bool {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.into_iter().any(|link| link.to_string_lossy().contains("bpf"))
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_killed_knee_leaves_a_readable_recording_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let mut child = knee()
        .args(["sweep", "-t", "1", "--runs", "1", "--warm-up", "0", "-q", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", "echo $$ > pid-{threads}; sleep 3"])
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    // The observed run comes last.
    let pid = child.id();
    let observed = || recording.join("runs/part-00000.parquet").exists() && observes(pid);
    for _ in 0..2000 {
        if observed() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(observed(), "no run was made, or none was observed");
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!observes(pid));
    let pid = std::fs::read_to_string(folder.path().join("pid-1")).unwrap();
    // Its new parent may take a while to collect it: a zombie runs no more.
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.contains("(sh)") && !stat.contains("(sh) Z")
    };
    for _ in 0..100 {
        if !lives() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!lives(), "the target was left behind");
    let report = knee().args(["report", "--format", "json"]).arg(&recording).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let answer: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(answer["curve"].as_array().unwrap().len(), 1);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_recorded_program_has_the_terminal_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let mut child = knee()
        .args(["record", "--format", "json", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", "read line; echo \"got $line\" >&2; sleep 0.05"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"a line\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("got a line"));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["account"].as_array().unwrap().len(), 1);
    assert_balanced(&answer);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn record_reports_a_process_that_is_gone() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = knee().args(["record", "-p", &child.id().to_string()]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains(&format!("no process {}", child.id())) && errors.contains("pgrep"), "{errors}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn names_are_found_inside_a_pid_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_knee"), "record", "-o", "r", "--"])
        .args([&lab("birthday"), "--threads=2", "--attempts=200K", "--rng=random_r"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tables = recording::Recording::open(folder.path().join("r")).unwrap().tables().unwrap();
    let main = tables.threads.iter().find(|thread| thread.parent.is_none()).unwrap();
    assert!(main.pid < 100, "numbers are those of the namespace: {main:?}");
    assert!(tables.frames.iter().any(|frame| frame.function.as_deref() == Some("simulate")), "names are found");
    // A process in another namespace is observed from outside in the same way.
    let mut child = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "sleep", "60"]).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let inner = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let pid = std::fs::read_to_string(&children).ok()?.trim().to_owned();
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        (comm.trim() == "sleep").then_some(pid)
    });
    let inner = inner.expect("sleep is running");
    let observed =
        knee().args(["record", "--for", "200ms", "-o", "s", "-p", &inner]).current_dir(folder.path()).output().unwrap();
    // unshare waits for this process and ends with it. A namespace's first process ignores all signals but SIGKILL.
    Command::new("kill").args(["-KILL", &inner]).status().unwrap();
    child.wait().unwrap();
    assert!(observed.status.success(), "{}", String::from_utf8_lossy(&observed.stderr));
    let tables = recording::Recording::open(folder.path().join("s")).unwrap().tables().unwrap();
    let wait = tables.waits.first().expect("it sleeps");
    assert!(wait.user_stack.is_some() && wait.reason == recording::tables::Reason::Sleep, "{wait:?}");
    assert!(tables.modules.iter().any(|module| module.path.contains("libc")), "{:?}", tables.modules);
}

/// A folder where everybody may write, with a copy of knee that everybody may execute.
fn for_nobody() -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("knee");
    std::fs::copy(env!("CARGO_BIN_EXE_knee"), &copy).unwrap();
    std::fs::copy(lab("birthday"), folder.path().join("birthday")).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    (folder, copy)
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn without_privileges_no_verdict_is_wrong() {
    for (asked, used) in [(None, "perf events"), (Some("perf"), "perf events"), (Some("proc"), "/proc alone")] {
        let (folder, copy) = for_nobody();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&copy);
        command.args(["sweep", "-t", "1,2", "--runs", "3", "--quiet", "--format", "json", "-o", "r"]);
        command.args(asked.map(|name| format!("--collector={name}")));
        command.args(["--", "./birthday", "--threads={threads}", "--attempts=1M", "--rng=random"]);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_balanced(&answer);
        let verdict = &answer["verdict"];
        // The machine may really be busy with other programs; the lock may be found or stay open. The lock is not fair:
        // one thread can finish before the other, which shows without privileges too.
        let named: Vec<&str> = verdict["causes"].as_array().unwrap().iter().filter_map(|c| c["id"].as_str()).collect();
        assert!(named.iter().all(|id| ["user-lock", "none", "cpu-pressure", "imbalance"].contains(id)), "{named:?}");
        let mut limits = answer["limitations"].as_array().unwrap().iter().filter_map(|l| l["why"].as_str());
        assert!(limits.any(|why| why.contains(&format!("observed with {used}"))), "{}", answer["limitations"]);
    }
}
