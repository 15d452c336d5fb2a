//! The marks of programs that real compilers made from `knee.h`: they are found, passing them costs little, and their
//! arguments are where the notes say.
//!
//! The last is tested without privileges: in a copy of the program each mark is replaced by a breakpoint instruction,
//! and a preloaded library writes down the registers and the memory of the thread that hits it.
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{run, source};
use object::{Object, ObjectSection};
use resolve::probes::{Argument, ArgumentLocation, Probe, probes, probes_in_file};

const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

/// A compiler and its option for the language.
struct Compiler {
    tool: &'static str,
    language: &'static [&'static str],
}

const STRICT: [&str; 6] = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"];
const C: &[&str] = &["-xc", "-std=c99"];
const CPP: &[&str] = &["-xc++", "-std=c++11", "-Wold-style-cast"];

/// The compilers that this machine has: at least `cc`.
fn compilers() -> Vec<Compiler> {
    let all = [("cc", C), ("gcc", C), ("g++", CPP), ("clang", C), ("clang++", CPP)];
    let compilers = all.map(|(tool, language)| Compiler { tool, language });
    compilers.into_iter().filter(|compiler| compiler.tool == "cc" || has(compiler.tool)).collect()
}

/// Prints what is not tested, bypassing the test runner, which hides the output of passing tests.
fn not_tested(what: &str) {
    let mut stderr = std::io::stderr();
    writeln!(stderr, "NOT TESTED {what}").unwrap();
}

/// Whether the machine has a tool.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        not_tested(&format!("with {tool}: this machine does not have it"));
    }
    found
}

impl Compiler {
    fn compile(&self, program: &str, output: &Path, arguments: &[&str]) {
        let mut all = vec!["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/../../include")];
        all.extend(STRICT);
        all.extend(self.language);
        all.extend(arguments);
        let source = source(program);
        all.extend([source.to_str().unwrap(), "-o", output.to_str().unwrap()]);
        run(self.tool, &all);
    }
}

fn probes_of(path: &Path) -> Vec<Probe> {
    let found = probes(&fs::read(path).unwrap()).unwrap();
    assert_eq!(probes_in_file(&fs::File::open(path).unwrap()).unwrap(), found, "read in parts");
    found
}

fn sorted_names(probes: &[Probe]) -> Vec<&str> {
    let mut names: Vec<&str> = probes.iter().map(|probe| &*probe.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn arguments(probe: &Probe) -> Vec<Argument> {
    probe.arguments.iter().map(|argument| argument.clone().unwrap()).collect()
}

/// Asserts that marks have only constants and whole registers as arguments, and no semaphore.
fn assert_plain(probes: &[Probe]) {
    for probe in probes {
        assert_eq!(probe.semaphore, None);
        let expected = usize::from(!matches!(&*probe.name, "begin" | "end"));
        let arguments = arguments(probe);
        assert_eq!(arguments.len(), expected, "{probe:?}");
        for argument in arguments {
            assert!(argument.size == 8 && !argument.signed, "{probe:?}");
            match argument.place {
                ArgumentLocation::Constant(_) => {}
                ArgumentLocation::Register(register) => assert_eq!((register.size, register.shift), (8, 0)),
                ArgumentLocation::Memory { .. } => panic!("{probe:?}"),
            }
        }
    }
}

#[test]
fn marks_are_found_in_every_kind_of_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    for compiler in compilers() {
        let kinds: [&[&str]; 7] = [
            &["-fPIE", "-pie"],
            &["-fno-pie", "-no-pie"],
            &["-static"],
            &["-masm=intel"],
            &["-flto", "-g"],
            &["-s"],
            &["-ffunction-sections", "-Wl,--gc-sections"],
        ];
        for kind in kinds {
            if kind == ["-flto", "-g"] && compiler.tool.starts_with("clang") {
                continue; // needs a linker plug-in that distributions ship in a separate package
            }
            compiler.compile("marked.c", &program, &[&["-O2"], kind].concat());
            let found = probes_of(&program);
            assert_eq!(sorted_names(&found), ["begin", "end", "task_begin", "task_end", "work"], "{kind:?}");
            assert_plain(&found);
            assert_eq!(run(program.to_str().unwrap(), &[]), "done\n");
        }
        compiler.compile("free.c", &program, &["-O2", "-fPIC", "-shared"]);
        assert_eq!(probes_of(&program).len(), 6, "a library");
    }
}

#[test]
fn an_inline_function_of_two_units_has_its_mark_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("shared.h"), "#include \"knee.h\"\ninline int count(int n) { KNEE_WORK(n); return n; }\n").unwrap();
    fs::write(path("one.cc"), "#include \"shared.h\"\nint one() { return count(1); }\n").unwrap();
    let two = "#include \"shared.h\"\nint one();\nint main() { return one() + count(2) - 3; }\n";
    fs::write(path("two.cc"), two).unwrap();
    for compiler in compilers().iter().filter(|compiler| compiler.language == CPP) {
        let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");
        let program = path("program");
        run(compiler.tool, &["-O0", "-I", include, &path("one.cc"), &path("two.cc"), "-o", &program]);
        assert_eq!(probes_of(Path::new(&program)).len(), 1, "{}", compiler.tool);
        run(&program, &[]);
    }
}

/// The code of each function of an object file.
fn code(path: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let sections = file.sections().filter_map(|section| {
        let function = section.name().unwrap().strip_prefix(".text.")?.to_owned();
        Some((function, section.data().unwrap().to_vec()))
    });
    sections.collect()
}

#[test]
fn a_mark_is_one_no_op() {
    let directory = tempfile::tempdir().unwrap();
    let (with, without) = (directory.path().join("with.o"), directory.path().join("without.o"));
    let aarch64 = &b"\x1f\x20\x03\xd5"[..];
    let mut cases = vec![("cc", "-fcf-protection=none", &b"\x90"[..])];
    if cfg!(target_arch = "aarch64") {
        cases = vec![("cc", "-mbranch-protection=none", aarch64)];
    }
    if has("clang") {
        cases.push(("clang", "--target=x86_64-linux-gnu", b"\x90"));
        cases.push(("clang", "--target=aarch64-linux-gnu", aarch64));
    }
    for (tool, option, no_op) in cases {
        let compiler = Compiler { tool, language: C };
        // Each function should be alone in a section, without the padding before the next one.
        let arguments = ["-O2", "-c", "-ffreestanding", "-ffunction-sections", option];
        compiler.compile("free.c", &with, &arguments);
        compiler.compile("free.c", &without, &[&arguments[..], &["-DKNEE_DISABLE"]].concat());
        let (with, without) = (code(&with), code(&without));
        assert_eq!(with.len(), 6);
        for ((function, with), (same, without)) in with.iter().zip(&without) {
            assert_eq!(function, same);
            // An empty function is just a return; with a mark in it, the no-op and the return.
            assert_eq!(*with, [no_op, without].concat(), "{tool} {option} {function}");
        }
    }
}

#[test]
fn disabled_marks_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    for compiler in compilers() {
        for level in LEVELS {
            compiler.compile("marked.c", &program, &[level, "-DKNEE_DISABLE"]);
            assert_eq!(probes_of(&program), [], "{} {level}", compiler.tool);
            assert_eq!(run(program.to_str().unwrap(), &[]), "done\n");
        }
    }
    if has("clang") {
        let clang = Compiler { tool: "clang", language: C };
        for target in ["i686-linux-gnu", "x86_64-linux-gnux32", "x86_64-apple-darwin", "aarch64_be-linux-gnu"] {
            let object = directory.path().join("object.o");
            clang.compile("free.c", &object, &["-c", "-ffreestanding", &format!("--target={target}")]);
            let bytes = fs::read(&object).unwrap();
            assert!(!bytes.windows(7).any(|window| window == b"stapsdt"), "{target}");
        }
    }
}

/// Links objects for AArch64 with the linker that comes with Rust, just enough to give everything an address.
fn link_for_aarch64(object: &Path, output: &Path) -> bool {
    let sysroot = PathBuf::from(run("rustc", &["--print", "sysroot"]).trim());
    let linkers = fs::read_dir(sysroot.join("lib/rustlib")).unwrap().flatten();
    let Some(linker) = linkers.map(|entry| entry.path().join("bin/rust-lld")).find(|path| path.exists()) else {
        not_tested("for AArch64: this Rust toolchain has no rust-lld");
        return false;
    };
    let (object, output) = (object.to_str().unwrap(), output.to_str().unwrap());
    run(linker.to_str().unwrap(), &["-flavor", "gnu", "-e", "0", object, "-o", output]);
    true
}

#[test]
fn marks_are_found_in_programs_for_aarch64() {
    if !has("clang") {
        return;
    }
    let clang = Compiler { tool: "clang", language: C };
    let directory = tempfile::tempdir().unwrap();
    let (object, program) = (directory.path().join("object.o"), directory.path().join("program"));
    for level in LEVELS {
        clang.compile("free.c", &object, &[level, "-c", "--target=aarch64-linux-gnu"]);
        if !link_for_aarch64(&object, &program) {
            return;
        }
        let found = probes_of(&program);
        assert_eq!(found.len(), 6, "{level}");
        assert_plain(&found);

        clang.compile("typed.c", &object, &[level, "-c", "--target=aarch64-linux-gnu"]);
        assert!(link_for_aarch64(&object, &program));
        let found = probes_of(&program);
        assert_eq!(sorted_names(&found), ["constant", "in_memory", "typed"]);
        for probe in &found {
            let sizes: Vec<(u8, bool)> = arguments(probe).iter().map(|one| (one.size, one.signed)).collect();
            match &*probe.name {
                "typed" => {
                    let all = [1, 2, 4, 8].map(|size| [(size, true), (size, false)]).concat();
                    assert_eq!(sizes, all, "{level}");
                }
                "in_memory" => {
                    assert_eq!(sizes, [(8, true), (4, true)]);
                    let in_memory =
                        |one: &Argument| matches!(one.place, ArgumentLocation::Memory { base: Some(_), .. });
                    assert!(arguments(probe).iter().all(in_memory), "{level} {probe:?}");
                }
                _ => {
                    let places: Vec<ArgumentLocation> = arguments(probe).iter().map(|one| one.place).collect();
                    assert_eq!(places, [ArgumentLocation::Constant(-5), ArgumentLocation::Constant(1 << 40)]);
                }
            }
        }
    }
}

/// Runs programs through their marks. For x86-64, where a breakpoint instruction is as long as a no-op.
#[cfg(target_arch = "x86_64")]
mod passed {
    use std::collections::HashMap;

    use super::*;
    use resolve::probes::RegisterPart;

    /// The state of a thread when it passed a mark.
    struct Moment {
        place: u64,
        registers: HashMap<u8, (u64, Vec<u8>)>,
    }

    impl Moment {
        fn parse(line: &str) -> Self {
            let mut fields = line.split(' ');
            let place = u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
            let registers = fields.map(|field| {
                let (word, rest) = field.split_once('=').unwrap();
                let (value, memory) = rest.split_once(':').unwrap();
                let digits = memory.as_bytes().chunks(2);
                let byte = |pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
                let value = u64::from_str_radix(value, 16).unwrap();
                (word.parse().unwrap(), (value, digits.map(byte).collect()))
            });
            Self { place, registers: registers.collect() }
        }

        fn register(&self, register: RegisterPart) -> u64 {
            self.registers[&register.word].0 >> register.shift
        }

        /// The value of an argument, extended to 64 bits.
        fn value(&self, argument: Argument) -> u64 {
            let raw = match argument.place {
                ArgumentLocation::Constant(value) => value.cast_unsigned(),
                ArgumentLocation::Register(register) => self.register(register),
                ArgumentLocation::Memory { base: Some(base), index: None, displacement } => {
                    let at = usize::try_from(256 + displacement).unwrap();
                    let bytes = &self.registers[&base.word].1[at..at + usize::from(argument.size)];
                    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
                }
                ArgumentLocation::Memory { .. } => panic!("{argument:?}"),
            };
            let unused = 64 - 8 * u32::from(argument.size);
            if argument.signed {
                (raw << unused).cast_signed().wrapping_shr(unused).cast_unsigned()
            } else {
                raw << unused >> unused
            }
        }

        /// The string that an argument in a register points to.
        fn string(&self, argument: Argument) -> String {
            let ArgumentLocation::Register(register) = argument.place else { panic!("{argument:?}") };
            let text = &self.registers[&register.word].1[256..];
            let end = text.iter().position(|&byte| byte == 0).unwrap();
            String::from_utf8(text[..end].to_vec()).unwrap()
        }
    }

    /// Runs a copy of the program with breakpoints, and returns which marks it passed and what their arguments were.
    fn passed(program: &Path, library: &Path) -> Vec<String> {
        let found = probes_of(program);
        let mut bytes = fs::read(program).unwrap();
        for probe in &found {
            let at = usize::try_from(probe.file_offset).unwrap();
            assert_eq!(bytes[at], 0x90, "a no-op");
            bytes[at] = 0xcc;
        }
        let copy = program.with_extension("copy");
        let output = program.with_extension("passed");
        let patched = program.with_extension("patched");
        fs::write(&patched, bytes).unwrap();
        // Copied by a separate process: a file that this process had open for writing may, for a moment, still be open
        // in children of other tests, and cannot be executed for that long.
        run("install", &["-m", "755", patched.to_str().unwrap(), copy.to_str().unwrap()]);
        let status = Command::new(&copy).env("LD_PRELOAD", library).env("BREAKPOINTS", &output).output().unwrap();
        assert!(status.status.success(), "{status:?}");
        let text = fs::read_to_string(&output).unwrap();
        let moments = text.lines().map(Moment::parse).map(|moment| {
            let probe = found.iter().find(|probe| probe.file_offset == moment.place).unwrap();
            let values = arguments(probe).into_iter().map(|argument| {
                let name = probe.name.starts_with("task_");
                if name { moment.string(argument) } else { format!("{:#x}", moment.value(argument)) }
            });
            std::iter::once(probe.name.clone()).chain(values).collect::<Vec<_>>().join(" ")
        });
        moments.collect()
    }

    fn breakpoints(directory: &Path) -> PathBuf {
        let library = directory.join("breakpoints.so");
        let source = source("breakpoints.c");
        let arguments = ["-O1", "-fPIC", "-shared", source.to_str().unwrap(), "-o", library.to_str().unwrap()];
        run("cc", &arguments);
        library
    }

    #[test]
    fn arguments_are_where_the_notes_say() {
        let directory = tempfile::tempdir().unwrap();
        let library = breakpoints(directory.path());
        let program = directory.path().join("program");
        for compiler in compilers() {
            for level in LEVELS {
                for dialect in ["-masm=att", "-masm=intel"] {
                    compiler.compile("marked.c", &program, &[level, dialect]);
                    let expected = [
                        "begin",
                        "task_begin parse",
                        "work 0x7",
                        "task_end parse",
                        "task_begin row 1",
                        "work 0x29",
                        "work 0xfedcba9876543210",
                        "work 0x1",
                        "work 0x2",
                        "work 0x3",
                        "task_end row 1",
                        "end",
                    ];
                    assert_eq!(passed(&program, &library), expected, "{} {level} {dialect}", compiler.tool);
                }
            }
        }
    }

    #[test]
    fn arguments_of_all_sizes_are_read_from_registers_and_memory() {
        let directory = tempfile::tempdir().unwrap();
        let library = breakpoints(directory.path());
        let program = directory.path().join("program");
        for compiler in compilers() {
            for level in LEVELS {
                for frame in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
                    compiler.compile("typed.c", &program, &[level, frame, "-DMAIN"]);
                    let expected = [
                        "typed 0xffffffffffffffff 0xff 0xfffffffffffffffe 0xffff 0xfffffffffffffffd 0xffffffff \
                         0xfffffffffffffffc 0xffffffffffffffff",
                        "in_memory 0xfffffffffffffffc 0xfffffffffffffffd",
                        "constant 0xfffffffffffffffb 0x10000000000",
                    ];
                    assert_eq!(passed(&program, &library), expected, "{} {level} {frame}", compiler.tool);
                }
            }
        }
    }
}
