//! Names and stacks of programs that make code at run time or have a runtime of their own. These tests load BPF
//! programs: they need root and are run by `./dev live`. A language that is not installed is skipped with a message.
#![allow(clippy::print_stderr, reason = "says what is not tested")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod common;

use collect::{Command, RunOptions, Stop, Tracer};
use common::{KeptOutput, command};
use recording::tables::{Reason, Wait};
use recording::{Recording, RunId, StackId, Tables, Writer, synthetic};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn target(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/runtimes").join(name)
}

fn trace(folder: &Path, argv: &[&str], env: &[(&str, &str)]) -> (Tables, Vec<String>) {
    let mut command = command(argv);
    command.env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    trace_command(&folder.join("recording"), &command)
}

/// Runs a command and observes it; returns what was recorded and what the user should know about it.
fn trace_command(path: &Path, command: &Command) -> (Tables, Vec<String>) {
    let meta = synthetic::meta(collect::machine::machine().usable_processors);
    let mut writer = Writer::create(path, &meta).unwrap();
    let mut tracer = Tracer::new();
    tracer
        .run(command, &RunOptions::default(), &mut KeptOutput::default(), &Stop::new(), &mut writer, RunId(0))
        .unwrap();
    drop(writer);
    (Recording::open(path).unwrap().tables().unwrap(), tracer.notes())
}

/// The functions of a stack, innermost first, and whether it is complete.
fn stack(tables: &Tables, stack: Option<StackId>) -> (Vec<String>, bool) {
    let (mut functions, mut complete, mut next) = (Vec::new(), true, stack);
    while let Some(id) = next {
        let row = tables.stacks.iter().find(|row| row.stack == id).unwrap();
        let mut frames: Vec<_> = tables.frames.iter().filter(|f| f.frame == row.frame).collect();
        frames.sort_by_key(|frame| frame.depth);
        functions.extend(frames.iter().map(|f| {
            let module = tables.modules.iter().find(|m| m.module == f.module).unwrap();
            f.function.clone().unwrap_or_else(|| format!("{}+{:x}", module.path, f.address))
        }));
        complete &= !row.truncated;
        next = row.parent;
    }
    (functions, complete)
}

/// The functions of a stack, innermost first, with file and line.
fn sites(tables: &Tables, stack: Option<StackId>) -> Vec<(String, String)> {
    let (mut sites, mut next) = (Vec::new(), stack);
    while let Some(id) = next {
        let row = tables.stacks.iter().find(|row| row.stack == id).unwrap();
        let mut frames: Vec<_> = tables.frames.iter().filter(|f| f.frame == row.frame).collect();
        frames.sort_by_key(|frame| frame.depth);
        sites.extend(frames.iter().map(|f| {
            let place = format!("{}:{}", f.file.as_deref().unwrap_or("?"), f.line.unwrap_or(0));
            (f.function.clone().unwrap_or_default(), place)
        }));
        next = row.parent;
    }
    sites
}

/// Of the samples of the program's own code: the share that has a function on its stack, and of these the share whose
/// stacks reach the thread's start.
fn shares(tables: &Tables, function: &str) -> (f64, f64) {
    shares_of(tables, |name| name.contains(function))
}

fn shares_of(tables: &Tables, fits: impl Fn(&str) -> bool) -> (f64, f64) {
    let (mut with, mut complete) = (0.0, 0.0);
    for sample in &tables.samples {
        let (functions, whole) = stack(tables, sample.user_stack);
        if functions.iter().any(|name| fits(name)) {
            with += 1.0;
            complete += f64::from(u8::from(whole));
        }
    }
    (with / tables.samples.len() as f64, complete / with)
}

/// How often a thread waited for a reason with all of these functions on its stack.
fn waits_below(tables: &Tables, reason: Reason, functions: &[&str]) -> u64 {
    let below = |wait: &&Wait| {
        let names = stack(tables, wait.user_stack).0;
        functions.iter().all(|function| names.iter().any(|name| name.contains(function)))
    };
    tables.waits.iter().filter(|wait| wait.reason == reason).filter(below).map(|wait| wait.count).sum()
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let output = std::process::Command::new(program).args(arguments).output();
    let runs = output.is_ok_and(|output| output.status.success());
    if !runs {
        eprintln!("NOT TESTED: `{program} {}` does not run here", arguments.join(" "));
    }
    runs
}

const JAVA: &str = "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer";

fn java(folder: &Path, options: &str) -> Option<(Tables, Vec<String>)> {
    let (class, source) = (folder.to_str().unwrap(), target("Contended.java"));
    if !runs("javac", &["-d", class, source.to_str().unwrap()]) || !runs("java", &["-version"]) {
        return None;
    }
    let argv = ["java", "-cp", class, "Contended", "3", "20000"];
    Some(trace(folder, &argv, &[("JAVA_TOOL_OPTIONS", options)]))
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn java_functions_and_the_waits_for_their_monitors_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let Some((tables, notes)) = java(folder.path(), JAVA) else { return };
    let (share, complete) = shares(&tables, "Contended.addSlowly");
    assert!(share > 0.3 && complete > 0.9, "{share} {complete}");
    assert!(waits_below(&tables, Reason::Futex, &["Contended."]) > 0);
    assert!(!notes.iter().any(|note| note.contains("no names")), "{notes:?}");
}

/// Names of compiled methods and the sizes of their frames come from the virtual machine's memory.
#[test]
#[ignore = "needs root: run ./dev live"]
fn java_methods_have_names_without_any_option() {
    let folder = tempfile::tempdir().unwrap();
    let Some((tables, notes)) = java(folder.path(), "-Xshare:auto") else { return };
    let (share, complete) = shares(&tables, "Contended.");
    assert!(share > 0.3 && complete > 0.9, "{share} {complete} {notes:?}");
    // Compiled code enters a taken monitor through a stub of the virtual machine, whose frame belongs to no method.
    let entering = waits_below(&tables, Reason::Futex, &["ObjectMonitor::enter"]);
    let told = waits_below(&tables, Reason::Futex, &["ObjectMonitor::enter", "Contended."]);
    assert!(entering > 10 && told * 10 > entering * 9, "{told} of {entering}");
}

/// Compiled methods were inlined into each other; all have their own lines, also where the interpreter runs them.
#[test]
#[ignore = "needs root: run ./dev live"]
fn java_methods_have_lines_compiled_and_interpreted() {
    let folder = tempfile::tempdir().unwrap();
    let (class, source) = (folder.path().to_str().unwrap(), target("Shop.java"));
    if !runs("javac", &["-g", "-d", class, source.to_str().unwrap()]) || !runs("java", &["-version"]) {
        return;
    }
    if cfg!(not(target_arch = "x86_64")) {
        eprintln!("NOT TESTED: stacks of Java need x86-64");
        return;
    }
    for (mode, sales) in [("-Xmixed", "300000"), ("-Xint", "10000")] {
        let argv = ["java", mode, "-XX:-BackgroundCompilation", "-cp", class, "Shop", "3", sales];
        let (tables, notes) = trace(tempfile::tempdir().unwrap().path(), &argv, &[]);
        // The lock that the threads wait for is taken at a line of `sell`, which is called at a line of `serve`.
        let (mut sells, mut others) = (0, Vec::new());
        for wait in tables.waits.iter().filter(|wait| wait.reason == Reason::Futex) {
            let sites = sites(&tables, wait.user_stack);
            let Some(at) = sites.iter().position(|site| site.0 == "Shop.sell") else { continue };
            let place =
                |ahead: usize| sites.get(at + ahead).map_or(String::new(), |(name, place)| format!("{name} {place}"));
            if place(0) == "Shop.sell Shop.java:12" && place(1) == "Shop.serve Shop.java:16" {
                sells += wait.count;
            } else {
                others.push(place(0) + ", " + &place(1));
            }
        }
        assert!(sells > 10 && others.len() * 10 <= sells as usize, "{mode} {sells} {others:?} {notes:?}");
        let inlined = tables.frames.iter().any(|f| f.depth > 0 && f.function.as_deref() == Some("Shop.serve"));
        assert_eq!(inlined, mode == "-Xmixed", "{mode}");
    }
}

/// A compiled method calls an interpreted one: the arguments were copied in between, so their frames do not touch.
#[test]
#[ignore = "needs root: run ./dev live"]
fn java_stacks_lead_from_the_interpreter_into_compiled_code() {
    let folder = tempfile::tempdir().unwrap();
    let (class, source) = (folder.path().to_str().unwrap(), target("Shop.java"));
    if !runs("javac", &["-g", "-d", class, source.to_str().unwrap()]) || !runs("java", &["-version"]) {
        return;
    }
    let commands = ["quiet", "exclude,Shop.sell", "dontinline,Shop.serve"].map(|c| format!("-XX:CompileCommand={c}"));
    let [quiet, exclude, apart] = commands.each_ref().map(String::as_str);
    let argv = ["java", quiet, exclude, apart, "-XX:-BackgroundCompilation", "-cp", class, "Shop", "3", "300000"];
    let (tables, notes) = trace(folder.path(), &argv, &[]);
    let (share, complete) = shares(&tables, "Shop.sell");
    assert!(share > 0.3 && complete > 0.9, "{share} {complete} {notes:?}");
    assert!(waits_below(&tables, Reason::Futex, &["Shop.sell", "Shop.serve", "Thread.run"]) > 10);
}

/// The installed Pythons of these minor versions that have a global lock, by their programs.
fn pythons(minors: std::ops::Range<u32>) -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let managed = std::fs::read_dir(format!("{home}/.pyenv/versions")).into_iter().flatten().flatten();
    let managed = managed.map(|version| version.path().join("bin/python3").to_string_lossy().into_owned());
    let std::ops::Range { start, end } = minors;
    let check = format!(
        "import sys; locked = getattr(sys, '_is_gil_enabled', lambda: True)(); \
         sys.exit(not locked or not (3, {start}) <= sys.version_info < (3, {end}))"
    );
    let fits = |python: &String| {
        let output = std::process::Command::new(python).args(["-c", &check]).output();
        output.is_ok_and(|output| output.status.success())
    };
    managed.chain(["/usr/bin/python3".to_owned()]).filter(fits).collect()
}

/// The lines of `compute_slowly` in targets/runtimes/contended.py.
const COMPUTES: std::ops::RangeInclusive<u32> = 6..=10;

/// Runs the same work in three threads.
fn python(python: &str) -> (Tables, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    trace(folder.path(), &[python, target("contended.py").to_str().unwrap(), "3", "2000000"], &[])
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn python_functions_have_names_and_lines_without_any_option() {
    let pythons = pythons(8..14);
    if pythons.is_empty() || cfg!(not(target_arch = "x86_64")) {
        eprintln!("NOT TESTED: no Python 3.8 to 3.13 here, or another processor than x86-64");
        return;
    }
    for program in pythons {
        let (tables, notes) = python(&program);
        let (share, complete) = shares(&tables, "compute_slowly");
        assert!(share > 0.3 && complete > 0.9, "{program} {share} {complete}");
        // Each is called by the next one, with or without functions of the interpreter in between.
        for chain in [["compute_slowly", "worker"], ["worker", "run"]] {
            assert!(waits_below(&tables, Reason::Futex, &chain) > 0, "{program} {chain:?}");
        }
        let lines = tables.frames.iter().filter(|f| f.function.as_deref() == Some("compute_slowly"));
        let lines: BTreeSet<u32> = lines.filter_map(|f| f.line).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| COMPUTES.contains(line)), "{program} {lines:?}");
        assert!(!notes.iter().any(|note| note.contains("no names")), "{program} {notes:?}");
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn an_unknown_python_shows_its_interpreter() {
    let pythons = pythons(4..8);
    let Some(program) = pythons.last() else {
        eprintln!("NOT TESTED: no Python older than 3.8 here");
        return;
    };
    let (tables, notes) = python(program);
    let (share, complete) = shares(&tables, "_PyEval_EvalFrameDefault");
    assert!(share > 0.3 && complete > 0.9, "{share} {complete}");
    assert!(waits_below(&tables, Reason::Futex, &["_PyEval_EvalFrameDefault"]) > 0);
    assert!(notes.iter().any(|note| note.contains("PYTHONPERFSUPPORT")), "{notes:?}");
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn javascript_functions_have_names_from_the_map_and_from_the_dump() {
    if !runs("node", &["--version"]) {
        return;
    }
    for option in ["--perf-basic-prof", "--perf-prof"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording");
        let argv = [
            "node",
            option,
            "--interpreted-frames-native-stack",
            target("contended.js").to_str().unwrap(),
            "3",
            "4000",
        ]
        .map(str::to_owned);
        // The dump is written to the folder where the program runs.
        let mut command = command(&argv.iter().map(String::as_str).collect::<Vec<_>>());
        command.cwd = Some(folder.path().to_owned());
        let (tables, notes) = trace_command(&path, &command);
        let (share, _) = shares(&tables, "computeSlowly");
        let (whole, _) = shares_of(&tables, |name| name == "worker");
        assert!(share > 0.05 && whole > 0.3, "{option} {share} {whole}");
        assert!(!notes.iter().any(|note| note.contains("no names")), "{notes:?}");
    }
}

/// The stack of a thread that finds nothing to run shows what its last goroutine waits for, and that of one that wakes
/// another shows for which goroutine.
#[cfg(target_arch = "x86_64")]
fn goroutines_are_on_the_stacks_of_their_threads(tables: &Tables, kind: &str) {
    let has = |id: Option<StackId>, names: &[&str]| {
        let (functions, complete) = stack(tables, id);
        complete && names.iter().all(|name| functions.iter().any(|f| f == name))
    };
    let asleep = ["runtime.findRunnable", "runtime.mcall", "sync.(*Mutex).Lock", "main.addSlowly", "runtime.goexit"];
    let sleeps = tables.waits.iter().filter(|wait| has(wait.user_stack, &asleep)).count();
    assert!(sleeps > 0, "{kind}: no thread sleeps because a goroutine waits for the lock");
    let woken = ["runtime.wakep", "runtime.systemstack", "sync.(*Mutex).Unlock", "main.addSlowly", "runtime.goexit"];
    let wakes = tables.wakes.iter().filter(|wake| has(wake.waker_stack, &woken)).count();
    assert!(wakes > 0, "{kind}: no release of the lock wakes a thread");
}

/// Nearly all samples of the workers have a goroutine, and there are three of these. While a goroutine wakes another one, it
/// runs on the scheduler's stack, whose samples have none; how long that takes depends on the machine.
#[cfg(target_arch = "x86_64")]
fn samples_tell_goroutines(tables: &Tables, kind: &str) {
    let of_worker = |sample: &&recording::tables::Sample| {
        let (functions, complete) = stack(tables, sample.user_stack);
        let inside = |name: &str| functions.iter().any(|function| function == name);
        complete && inside("main.worker") && !inside("runtime.systemstack")
    };
    let samples: Vec<_> = tables.samples.iter().filter(of_worker).collect();
    let told: Vec<u64> = samples.iter().filter_map(|sample| sample.goroutine).collect();
    assert!(told.len() * 10 > samples.len() * 9, "{kind}: {} of {}", told.len(), samples.len());
    assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), 3, "{kind}");
}

/// Goroutines that wait for the lock are met by looks at all goroutines. Their list is found by its symbol, which stripped
/// programs lack.
#[cfg(target_arch = "x86_64")]
fn goroutines_that_wait_are_looked_at(tables: &Tables, kind: &str) {
    let names = ["runtime.gopark", "sync.(*Mutex).Lock", "main.addSlowly", "runtime.goexit"];
    let seen = tables.parked_tasks.iter().any(|row| {
        let (functions, complete) = stack(tables, row.user_stack);
        complete && row.count > 0 && names.iter().all(|name| functions.iter().any(|f| f == name))
    });
    assert_eq!(seen, kind == "plain", "{kind}: {} rows", tables.parked_tasks.len());
    if kind == "plain" {
        // Since Go 1.23 a channel names its timer.
        let timer = |function: &str| {
            let rows = tables.parked_tasks.iter().filter(|row| row.count > 0);
            let here = rows.filter(|row| stack(tables, row.user_stack).0.iter().any(|name| name == function));
            here.map(|row| row.timer).collect::<BTreeSet<_>>()
        };
        assert!(timer("main.ticks").contains(&Some(true)), "{:?}", timer("main.ticks"));
        assert_eq!(timer("main.takesInTime"), BTreeSet::from([Some(false)]), "work with a time limit");
    }
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn go_functions_have_names_also_in_stripped_programs() {
    if !runs("go", &["version"]) {
        return;
    }
    for (kind, arguments) in
        [("plain", &[][..]), ("stripped", &["-ldflags=-s -w"]), ("movable", &["-buildmode=pie", "-ldflags=-s -w"])]
    {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(kind).to_str().unwrap().to_owned();
        let source = target("contended.go");
        let build = [&["build", "-o", &program], arguments, &[source.to_str().unwrap()]].concat();
        assert!(runs("go", &build), "{kind}");
        let (tables, _) = trace(folder.path(), &[&program, "3", "20000"], &[]);
        let (share, complete) = shares(&tables, "main.addSlowly");
        assert!(share > 0.3 && complete > 0.9, "{kind} {share} {complete}");
        assert!(waits_below(&tables, Reason::Pipe, &["main.readSlowly"]) > 0, "{kind}");
        assert!(waits_below(&tables, Reason::Futex, &["runtime.futexsleep"]) > 0, "{kind}");
        #[cfg(target_arch = "x86_64")]
        {
            goroutines_are_on_the_stacks_of_their_threads(&tables, kind);
            samples_tell_goroutines(&tables, kind);
            goroutines_that_wait_are_looked_at(&tables, kind);
        }
        let line = tables.frames.iter().find(|frame| frame.function.as_deref() == Some("main.readSlowly")).unwrap();
        assert!(line.file.as_ref().unwrap().ends_with("contended.go"), "{kind} {line:?}");
        assert_eq!(line.line, Some(33), "{kind} {line:?}");
    }
}

/// Threads that allocate help the collector on the stack of their thread. The goroutine's stack goes on below.
#[test]
#[cfg(target_arch = "x86_64")]
#[ignore = "needs root: run ./dev live"]
fn the_stacks_of_go_s_collector_lead_to_who_allocates() {
    if !runs("go", &["version"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("collected").to_str().unwrap().to_owned();
    assert!(runs("go", &["build", "-o", &program, target("collected.go").to_str().unwrap()]));
    let (tables, _) = trace(folder.path(), &[&program, "3", "200"], &[]);
    let stacks: Vec<_> = tables.samples.iter().map(|sample| stack(&tables, sample.user_stack).0).collect();
    let switched = stacks.iter().filter(|names| names.iter().any(|name| name == "runtime.systemstack"));
    let (led, cut): (Vec<_>, Vec<_>) =
        switched.partition(|names| names.last().is_some_and(|name| name == "runtime.goexit"));
    assert!(
        led.len() > 20 && cut.len() * 10 < led.len(),
        "{} lead on, {} end: {:?}",
        led.len(),
        cut.len(),
        cut.first()
    );
    let helps = |names: &&&Vec<String>| names.iter().any(|name| name.starts_with("runtime.gcAssistAlloc"));
    let helping: Vec<_> = led.iter().filter(helps).collect();
    let grows = helping.iter().filter(|names| names.iter().any(|name| name == "main.grow")).count();
    assert!(grows > 0 && grows == helping.len(), "{grows} of {}", helping.len());
}
