//! Programs in containers, made by hand from what container engines use: PID and mount namespaces, a root of their own,
//! control groups with a quota. These tests load BPF programs: they need root and the lab (`make -C lab`), and `./dev
//! live` runs them, `./dev containers` them alone. They check names, lines and numbers of processes, never times.
#![allow(clippy::print_stdout, reason = "says which control groups were tried")]
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use recording::Tables;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const KNEE: &str = env!("CARGO_BIN_EXE_knee");

/// Two threads that contend for the lock in `random`, until they are ended.
const FOREVER: &str = "--threads=2 --attempts=1000G --rng=random";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The line of `birthday.c` that takes the lock.
fn guilty_line() -> u32 {
    let text = fs::read_to_string(root().join("lab/birthday.c")).unwrap();
    text.lines().position(|line| line.contains("GUILTY") && line.contains(")random(")).unwrap() as u32 + 1
}

/// A program that is the first process of its own PID namespace, and whose file exists only in its own mount namespace.
struct Container {
    outer: Child,
    /// The program's process id outside.
    pid: String,
}

impl Container {
    /// `script` ends by executing the program as `app`. The folder /mnt is empty, and the container's own.
    fn start(script: &str) -> Container {
        let script = format!("mount -t tmpfs none /mnt && {script}");
        let outer = Command::new("unshare")
            .args(["--pid", "--fork", "--mount", "--mount-proc"])
            .args(["sh", "-ec", &script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", outer.id());
        let running = || {
            std::thread::sleep(Duration::from_millis(10));
            let pid = fs::read_to_string(&children).ok()?.trim().to_owned();
            let comm = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.count();
            (comm.trim() == "app" && threads > 1).then_some(pid)
        };
        let pid = (0..500).find_map(|_| running()).expect("the program in the container runs");
        Container { outer, pid }
    }

    /// `birthday`, linked as usual, on a file system of the container's.
    fn birthday() -> Container {
        let program = root().join("lab/build/birthday");
        assert!(program.exists(), "{} is missing: run make -C lab", program.display());
        Container::start(&format!("cp {} /mnt/app; exec /mnt/app {FOREVER}", program.display()))
    }

    /// `knee record` of the program by this process id, in the namespaces that `enter` names.
    fn record(&self, enter: &[&str], pid: &str, recording: &Path) -> Output {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid]).args(enter).args([KNEE, "record", "--for", "1s", "--format", "json", "-o"]);
        command.arg(recording).args(["-p", pid]).output().unwrap()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // A namespace's first process ignores all signals but SIGKILL; `unshare` waits for it and ends with it.
        let _ = Command::new("kill").args(["-KILL", &self.pid]).status();
        let _ = self.outer.wait();
    }
}

fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The recording names the line that takes the lock, in waits and in samples, and its process by this number.
fn assert_named(recording: &Path, file: &str, pid: u32) {
    let tables: Tables = recording::Recording::open(recording).unwrap().tables().unwrap();
    let module = tables.modules.iter().find(|module| module.path == file);
    let module = module.unwrap_or_else(|| panic!("no {file} in {:?}", tables.modules));
    let line = guilty_line();
    let called: Vec<_> = tables
        .frames
        .iter()
        .filter(|frame| frame.module == module.module)
        .filter(|frame| frame.function.as_deref() == Some("simulate") && frame.line == Some(line))
        .map(|frame| frame.frame)
        .collect();
    assert!(!called.is_empty(), "no simulate at line {line}: {:?}", tables.frames);
    // A row has one frame of a stack, and its caller's row.
    let has_it = |stack: recording::StackId| {
        let row = |stack| tables.stacks.iter().find(|row| row.stack == stack);
        std::iter::successors(row(stack), |found| row(found.parent?)).any(|row| called.contains(&row.frame))
    };
    assert!(tables.waits.iter().filter_map(|wait| wait.user_stack).any(has_it), "no wait is named");
    assert!(tables.samples.iter().filter_map(|sample| sample.user_stack).any(has_it), "no sample is named");
    assert!(tables.threads.iter().all(|thread| thread.pid == pid), "{:?}", tables.threads);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn from_the_host_a_program_in_a_container_is_named_by_function_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let container = Container::birthday();
    assert!(!Path::new("/mnt/app").exists(), "the program is visible only in the container");
    let recording = folder.path().join("r");
    answer(&container.record(&[], &container.pid, &recording));
    assert_named(&recording, "/mnt/app", container.pid.parse().unwrap());
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn from_within_a_container_its_program_is_named_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let container = Container::birthday();
    let recording = folder.path().join("r");
    answer(&container.record(&["--pid", "--mount"], "1", &recording));
    assert_named(&recording, "/mnt/app", 1);
}

/// As in Kubernetes with `shareProcessNamespace`: process ids are shared, files are not.
#[test]
#[ignore = "needs root: run ./dev live"]
fn a_container_beside_it_reads_the_program_through_its_root() {
    let folder = tempfile::tempdir().unwrap();
    let container = Container::birthday();
    let recording = folder.path().join("r");
    answer(&container.record(&["--pid", "unshare", "--mount", "--mount-proc"], "1", &recording));
    assert_named(&recording, "/mnt/app", 1);
}

/// The program is the only file in its root, as in an image made from scratch.
#[test]
#[ignore = "needs root: run ./dev live"]
fn a_static_program_in_a_root_of_its_own_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (build, lab) = (folder.path().join("lab"), root().join("lab"));
    let program = build.join("birthday");
    let mut make = Command::new("make");
    make.args(["-s", "CC=cc -static", &format!("BUILD={}", build.display()), "-C"]).arg(lab).arg(&program);
    assert!(make.status().unwrap().success());
    // The shell has the new root as well.
    let script =
        format!("cp {} /mnt/app; cd /mnt; mkdir old; pivot_root . old; exec /app {FOREVER}", program.display());
    let container = Container::start(&script);
    let recording = folder.path().join("r");
    answer(&container.record(&[], &container.pid, &recording));
    assert_named(&recording, "/app", container.pid.parse().unwrap());
}

/// Files of an image are stacked, and the process's own view shows another inode than its memory map.
#[test]
#[ignore = "needs root: run ./dev live"]
fn a_program_on_stacked_file_systems_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = root().join("lab/build/birthday");
    let script = format!(
        "cd /mnt; mkdir low up work all; cp {} low/app; mount -t overlay -o lowerdir=low,upperdir=up,workdir=work none all; \
         exec all/app {FOREVER}",
        program.display()
    );
    let container = Container::start(&script);
    let recording = folder.path().join("r");
    answer(&container.record(&[], &container.pid, &recording));
    assert_named(&recording, "/mnt/all/app", container.pid.parse().unwrap());
}

/// The capabilities that `docs/examples/kubernetes.yaml` asks for are enough.
#[test]
#[ignore = "needs root: run ./dev live"]
fn the_rights_in_the_manifest_are_enough() {
    let manifest = fs::read_to_string(root().join("docs/examples/kubernetes.yaml")).unwrap();
    let added = manifest.lines().find_map(|line| line.trim().strip_prefix("add: [")).expect("the list of capabilities");
    let rights = added.trim_end_matches(']').replace(' ', "").to_lowercase();
    let rights = format!("-all,+{}", rights.replace(',', ",+"));
    let folder = tempfile::tempdir().unwrap();
    let container = Container::birthday();
    let recording = folder.path().join("r");
    let beside = ["--pid", "unshare", "--mount", "--mount-proc", "setpriv", "--bounding-set", &rights];
    answer(&container.record(&[&beside[..], &["--inh-caps", "-all"]].concat(), "1", &recording));
    assert_named(&recording, "/mnt/app", 1);
}

/// A control group with a quota of a fifth of a processor: so little that it is used up even beside other programs.
struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// None where this process may make no group with a quota.
    fn fifth() -> Option<Quota> {
        let name = format!("knee-test-{}", std::process::id());
        // Version 2, then version 1, wherever they are mounted.
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let of = |kind: &str, option: &str| {
            let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            let fits = |line: &Vec<&str>| line[2] == kind && line[3].split(',').any(|word| word == option);
            lines.find(fits).map(|line| PathBuf::from(line[1]))
        };
        if let Some(top) = of("cgroup2", "rw") {
            let _ = fs::write(top.join("cgroup.subtree_control"), "+cpu");
            let quota = Quota { folder: top.join(&name) };
            if fs::create_dir(&quota.folder).is_ok() && fs::write(quota.folder.join("cpu.max"), "20000 100000").is_ok()
            {
                println!("tried with control groups version 2 (cpu.max)");
                return Some(quota);
            }
        }
        let quota = Quota { folder: of("cgroup", "cpu")?.join(&name) };
        fs::create_dir(&quota.folder).ok()?;
        fs::write(quota.folder.join("cpu.cfs_quota_us"), "20000").ok()?;
        println!("tried with control groups version 1 (cpu.cfs_quota_us)");
        Some(quota)
    }

    fn hold(&self, pid: &str) {
        fs::write(self.folder.join("cgroup.procs"), pid).unwrap();
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The group becomes empty a moment after its last process has ended.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn assert_quota_found(answer: &Value, recording: &Path) {
    let machine = answer["verdict"]["machine"].as_array().unwrap();
    assert!(machine.iter().any(|condition| condition["id"] == "cpu-quota"), "{:#}", answer["verdict"]);
    let meta: Value = serde_json::from_slice(&fs::read(recording.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["machine"]["quota_milliprocessors"], 200, "{:#}", meta["machine"]);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn the_quota_of_a_container_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(quota) = Quota::fifth() else {
        println!("NOT RUN: no control group with a quota can be made here");
        return;
    };
    let container = Container::birthday();
    quota.hold(&container.pid);
    // knee itself is in no such group.
    let recording = folder.path().join("host");
    assert_quota_found(&answer(&container.record(&[], &container.pid, &recording)), &recording);
    let recording = folder.path().join("within");
    assert_quota_found(&answer(&container.record(&["--pid", "--mount"], "1", &recording)), &recording);
    // knee is in a control-group namespace of its own: only the program's mount shows the program's group.
    let recording = folder.path().join("beside");
    let beside = ["--pid", "unshare", "--cgroup", "--mount", "--mount-proc"];
    assert_quota_found(&answer(&container.record(&beside, "1", &recording)), &recording);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn a_quota_that_also_limits_knee_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(quota) = Quota::fifth() else {
        println!("NOT RUN: no control group with a quota can be made here");
        return;
    };
    let recording = folder.path().join("r");
    let script = format!(
        "echo $$ >{}/cgroup.procs; exec {KNEE} sweep -q --quick -t 1,2 --format json -o {} -- {} --threads={{threads}} \
         --attempts=200K --rng=random_r",
        quota.folder.display(),
        recording.display(),
        root().join("lab/build/birthday").display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_quota_found(&answer(&output), &recording);
}
