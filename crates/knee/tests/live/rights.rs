//! What knee does with privileges that its user lacks: a copy of it with file capabilities, used by `nobody`. These
//! tests need root, to give the capabilities, and setcap and setpriv; `./dev live` runs them.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const NOBODY: u32 = 65534;

/// More than knee needs: everything that a careless administrator may give.
const TOO_MUCH: &str = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_dac_override,cap_setuid,cap_kill+ep";
const LEAST: &str = "cap_bpf,cap_perfmon+ep";

/// A folder owned by nobody, with a copy of knee that has capabilities.
struct Lent {
    folder: tempfile::TempDir,
}

impl Lent {
    fn new(capabilities: &str) -> Lent {
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let lent = Lent { folder };
        std::fs::copy(env!("CARGO_BIN_EXE_knee"), lent.path("knee")).unwrap();
        let given = Command::new("setcap").arg(capabilities).arg(lent.path("knee")).status().unwrap();
        assert!(given.success(), "setcap {capabilities} failed");
        lent
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Knee, started by nobody.
    fn knee(&self, arguments: &[&str]) -> Output {
        let mut knee = Command::new(self.path("knee"));
        knee.args(arguments).uid(NOBODY).gid(NOBODY).current_dir(self.folder.path()).env("HOME", self.folder.path());
        knee.stdin(Stdio::null()).output().unwrap()
    }

    /// Records a command and returns the recording's folder.
    fn record(&self, command: &[&str]) -> PathBuf {
        let output = self.knee(&[&["record", "-o", "recording", "--"], command].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        self.path("recording")
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Running {
    fn sleep(command: &mut Command) -> Running {
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], files(&path)].concat() } else { vec![path] })
        .collect()
}

#[test]
#[ignore = "needs root, to give file capabilities"]
fn two_capabilities_are_enough_to_observe_own_programs() {
    let lent = Lent::new(LEAST);
    let recording = lent.record(&["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do true | cat; done"]);
    let meta: Value = serde_json::from_slice(&std::fs::read(recording.join("meta.json")).unwrap()).unwrap();
    let bpf = meta["capabilities"].as_array().unwrap().iter().find(|c| c["what"] == "kernel observation (eBPF)");
    assert_eq!(bpf.unwrap()["available"], true, "{meta:#}");
    for table in ["threads", "waits", "syscalls", "slices"] {
        assert!(recording.join(table).join("part-00000.parquet").exists(), "{table} is missing");
    }
}

#[test]
#[ignore = "needs root, to give file capabilities"]
fn only_its_user_can_read_a_recording() {
    let lent = Lent::new(LEAST);
    let recording = lent.record(&["true"]);
    for path in files(&recording).into_iter().chain([recording.clone()]) {
        let meta = path.metadata().unwrap();
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!((meta.mode() & 0o777, meta.uid()), (wanted, NOBODY), "{}", path.display());
    }
}

#[test]
#[ignore = "needs root, to give file capabilities"]
fn a_started_program_has_and_gains_none_of_knees_rights() {
    let lent = Lent::new(TOO_MUCH);
    let status = |name: &str| {
        let shown = lent.path("status");
        let shown = shown.to_str().unwrap();
        let _ = std::fs::remove_dir_all(lent.path("recording"));
        lent.record(&["cp", "/proc/self/status", shown]);
        let status = std::fs::read_to_string(shown).unwrap();
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    };
    assert_eq!(status("CapPrm:"), "0000000000000000");
    assert_eq!(status("CapEff:"), "0000000000000000");
    assert_eq!(status("NoNewPrivs:"), "1");
}

#[test]
#[ignore = "needs root, to give file capabilities"]
fn processes_of_others_are_refused() {
    let lent = Lent::new(TOO_MUCH);
    let roots = Running::sleep(Command::new("sleep").arg("60"));
    let output = lent.knee(&["record", "-p", &roots.pid(), "--for", "1s"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot observe process"), "{}", text(&output.stderr));

    // A process of the same user, which could still execute a set-user-id program.
    let own = Running::sleep(Command::new("sleep").arg("60").uid(NOBODY).gid(NOBODY));
    let output = lent.knee(&["record", "-p", &own.pid(), "--for", "1s"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no_new_privs"), "{}", text(&output.stderr));

    let harmless = Running::sleep(Command::new("setpriv").args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
        "sleep",
        "60",
    ]));
    // Until setpriv has executed sleep, the process is root's.
    let proc = format!("/proc/{}/exe", harmless.pid());
    while !std::fs::read_link(&proc).is_ok_and(|program| program.ends_with("sleep") || program.ends_with("coreutils")) {
        std::thread::yield_now();
    }
    let output = lent.knee(&["record", "-p", &harmless.pid(), "--for", "1s"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs root, to give file capabilities"]
fn files_of_others_are_neither_read_nor_written() {
    let lent = Lent::new(TOO_MUCH);
    let recording = lent.record(&["true"]);
    // Root's recording, in root's folder.
    let roots = tempfile::tempdir().unwrap();
    std::fs::set_permissions(roots.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let copied = Command::new("cp").arg("-r").arg(&recording).arg(roots.path().join("kept")).status().unwrap();
    assert!(copied.success());
    for command in ["report", "show"] {
        let kept = roots.path().join("kept");
        let kept = kept.to_str().unwrap();
        let arguments = if command == "show" { vec!["show", "threads", kept] } else { vec!["report", kept] };
        let output = lent.knee(&arguments);
        assert_eq!(output.status.code(), Some(4), "{command}: {}{}", text(&output.stdout), text(&output.stderr));
    }
    let output = lent.knee(&["record", "-o", "/etc/knee-was-here", "--", "true"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs root, to give file capabilities"]
fn no_shell_reads_the_command() {
    let lent = Lent::new(LEAST);
    let made = lent.path("made-by-a-shell");
    let trick = format!("$(touch {0}); touch {0}; `touch {0}` | touch {0} && touch {0}", made.display());
    let recording = lent.record(&["echo", &trick, "*", "~"]);
    assert!(!made.exists());
    let meta: Value = serde_json::from_slice(&std::fs::read(recording.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["command"], serde_json::json!(["echo", trick, "*", "~"]));
}

/// Root in a container has no privileges outside of it, and observes its own program like any user.
#[test]
#[ignore = "needs root, to become another user"]
fn root_in_a_container_observes_its_own_programs() {
    let lent = Lent::new(LEAST);
    // Without file capabilities: a container's files have none that count.
    std::fs::copy(env!("CARGO_BIN_EXE_knee"), lent.path("plain")).unwrap();
    let container = ["--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "--user", "--map-root-user"];
    let mut knee = Command::new("setpriv");
    knee.args(container).arg(lent.path("plain")).args(["record", "--format", "json", "-o", "recording", "--"]);
    knee.args(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
    let output = knee.current_dir(lent.folder.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let account = &answer["account"][0];
    let run = std::fs::read(lent.path("recording/meta.json")).unwrap();
    let meta: Value = serde_json::from_slice(&run).unwrap();
    assert_eq!(meta["completion"], "finished", "{meta:#}");
    // The shell's loop takes a tenth of a second; if its perf events ended at exec, only microseconds would be counted.
    assert!(account["capacity"].as_f64().unwrap() > 0.01, "{account:#}");
}

/// Root drops privileges that observing does not need. Marks need the most of them, so they are checked.
#[test]
#[ignore = "needs root, to load BPF programs"]
fn root_still_receives_marks() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/build/clean");
    assert!(program.exists(), "{} is missing: run make -C lab", program.display());
    let folder = tempfile::tempdir().unwrap();
    let mut knee = Command::new(env!("CARGO_BIN_EXE_knee"));
    knee.args(["record", "-o", "recording", "--"]).arg(program).arg("--threads=2");
    let output = knee.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(folder.path().join("recording/marks/part-00000.parquet").exists());
}
