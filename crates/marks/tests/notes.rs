//! The marks of Rust programs: they are found, and passing them costs little.
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSection};
use resolve::probes::{ArgumentLocation, Probe, probes};

fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).output().unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn assert_all_marks(program: &Path, how: &str) {
    let probes = probes(&fs::read(program).unwrap()).unwrap();
    let mut names: Vec<&str> = probes.iter().map(|probe| &*probe.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["begin", "end", "task_begin", "task_end", "work"], "{how}");
    probes.iter().for_each(assert_in_register);
}

/// Asserts that the argument of a mark, if there is one, is in a full register.
fn assert_in_register(probe: &Probe) {
    let expected = usize::from(!matches!(&*probe.name, "begin" | "end"));
    assert_eq!(probe.arguments.len(), expected, "{probe:?}");
    for argument in &probe.arguments {
        let argument = argument.as_ref().unwrap();
        assert!(argument.size == 8 && !argument.signed, "{probe:?}");
        assert!(matches!(argument.place, ArgumentLocation::Register(register) if register.size == 8), "{probe:?}");
    }
}

fn source(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn marks_are_found_at_every_level() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for level in 0..=3 {
        let level = format!("opt-level={level}");
        let library = path("libknee_marks.rlib");
        let crate_source = source("src/lib.rs");
        let common = ["--edition=2024", "-C", &level];
        let kind = ["--crate-type=rlib", "--crate-name=knee_marks", "-o", &library, &crate_source];
        run(&rustc, &[&common[..], &kind].concat());
        for more in [&[][..], &["-Clto"], &["-Cstrip=symbols"], &["-Crelocation-model=static"]] {
            let (program, example) = (path("marked"), source("examples/marked.rs"));
            let uses = format!("knee_marks={library}");
            run(&rustc, &[&common[..], &["--extern", &uses, "-o", &program, &example], more].concat());
            assert_eq!(run(&program, &[]), "sum=199990000 work=20000\n");
            assert_all_marks(Path::new(&program), &format!("{level} {more:?}"));
        }
    }
}

/// Passes each mark once, so that the test program contains them.
fn pass_all(units: u64) {
    knee_marks::measured_begin();
    {
        let _outer = knee_marks::task!("outer");
        let inner = knee_marks::Task::begin(c"inner");
        knee_marks::work(units);
        drop(inner);
    }
    knee_marks::measured_end();
}

#[test]
fn marks_are_found_as_cargo_builds_them() {
    pass_all(7);
    assert_all_marks(&std::env::current_exe().unwrap(), "this test");
}

#[test]
fn a_mark_is_one_no_op() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let functions = "#[path = \"LIB\"] pub mod marks;
        #[unsafe(no_mangle)] pub fn nothing() {}
        #[unsafe(no_mangle)] pub fn begin() { marks::measured_begin() }
        #[unsafe(no_mangle)] pub fn work(units: u64) { marks::work(units) }";
    fs::write(path("functions.rs"), functions.replace("LIB", &source("src/lib.rs"))).unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let kind = ["--edition=2024", "--crate-type=lib", "--emit=obj", "-Copt-level=2", "-Ccodegen-units=1"];
    let files = ["-Aunused-attributes", "-o", &path("object.o"), &path("functions.rs")];
    run(&rustc, &[&kind[..], &files].concat());

    let bytes = fs::read(path("object.o")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let code = |function: &str| {
        let section = file.section_by_name(&format!(".text.{function}")).unwrap();
        section.data().unwrap().to_vec()
    };
    let no_op = if cfg!(target_arch = "x86_64") { &b"\x90"[..] } else { b"\x1f\x20\x03\xd5" };
    // An empty function is just a return; with a mark in it, the no-op and the return.
    for function in ["begin", "work"] {
        assert_eq!(code(function), [no_op, &code("nothing")].concat(), "{function}");
    }
}
