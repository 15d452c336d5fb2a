//! Which loops of compiled programs only wait: C, C++ and Rust for x86-64 and AArch64, Go for x86-64, by several compilers at
//! several levels. Every function whose name begins with `wait_` has such a loop, none whose name begins with `work_`. Needs
//! gcc, g++ and rustc; clang, go and what compiles for AArch64 are skipped with a message where they are missing.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "says which compilers were not tested")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use resolve::decode::{CodeGraph, CodeReader, Registers, Spins, decoder};

/// The code of an ELF file, by stated address.
struct Elf {
    sections: Vec<(u64, Vec<u8>)>,
    /// Size of each symbol by its address.
    extents: BTreeMap<u64, u64>,
    functions: BTreeMap<String, (u64, u64)>,
}

impl Elf {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let loaded = |kind| matches!(kind, SectionKind::Text | SectionKind::ReadOnlyData | SectionKind::ReadOnlyString);
        let sections = file.sections().filter(|section| loaded(section.kind()));
        let mut sections: Vec<_> =
            sections.map(|section| (section.address(), section.data().unwrap().to_vec())).collect();
        // Variables are zero at first: the flag then stands for a processor without atomic instructions.
        let zeros = file.sections().filter(|section| section.kind() == SectionKind::UninitializedData);
        sections.extend(zeros.map(|section| (section.address(), vec![0; section.size() as usize])));
        let function = |symbol: object::Symbol<'_, '_>| {
            let name = symbol.name().unwrap();
            let ours = name.starts_with("wait_") || name.starts_with("work_");
            (ours && symbol.size() > 0).then(|| (name.to_owned(), (symbol.address(), symbol.size())))
        };
        let sized = file.symbols().filter(|symbol| symbol.size() > 0);
        let extents = sized.map(|symbol| (symbol.address(), symbol.size())).collect();
        Self { sections, extents, functions: file.symbols().filter_map(function).collect() }
    }
}

impl CodeReader for Elf {
    fn code(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        let found = self
            .sections
            .iter()
            .find_map(|(start, bytes)| bytes.get(usize::try_from(address.checked_sub(*start)?).ok()?..));
        let bytes = found.unwrap_or_default();
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        length
    }

    fn function_start(&mut self, address: u64) -> Option<u64> {
        let (start, size) = self.extents.range(..=address).next_back()?;
        (address - start < *size).then_some(*start)
    }

    fn pointer(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.code(address, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
    }
}

/// Registers at an instruction, with a frame pointer as in functions without optimisation.
fn registers(architecture: &str, ip: u64) -> Registers {
    let (stack, frame) = (0x7ff0_0000, 0x7ff0_0040);
    match architecture {
        "aarch64" => {
            let mut general = [0; 32];
            (general[31], general[29]) = (stack, frame);
            Registers::aarch64(general, ip)
        }
        _ => {
            let mut general = [0; 16];
            (general[4], general[5]) = (stack, frame);
            Registers::x86_64(general, ip)
        }
    }
}

/// The functions in which some instruction is found to be in a waiting loop, and all others.
fn waiting(program: &Path, architecture: &str) -> (Vec<String>, Vec<String>) {
    let mut elf = Elf::read(program);
    let functions = elf.functions.clone();
    let mut code = CodeGraph::new(decoder(architecture).unwrap());
    let (mut wait, mut work) = (Vec::new(), Vec::new());
    for (name, (start, size)) in functions {
        // Repeated, as with real samples, until everything within reach has been decoded.
        for _ in 0..16 {
            code.explore(start, &[], &mut elf);
        }
        let within = |start: u64, end: u64| (start..end).filter(|address| code.at(*address).is_some());
        let mut reached: Vec<u64> = within(start, start + size).collect();
        // Functions that it calls or jumps to, where samples would also fall.
        let leaves =
            |address: &u64| code.at(*address).map_or(&[][..], |instruction| code.targets(instruction)).to_vec();
        let outside = |target: &u64| !(start..start + size).contains(target);
        let mut called: Vec<u64> = reached.iter().flat_map(leaves).filter(outside).collect();
        called.dedup();
        reached.extend(called.iter().flat_map(|entry| within(*entry, entry + 128)));
        let mut spins = Spins::new();
        let found = reached.iter().any(|ip| {
            let registers = registers(architecture, *ip);
            (0..8).any(|_| spins.at(&code, &registers, &[]).is_some())
        });
        if found { wait.push(name) } else { work.push(name) }
    }
    (wait, work)
}

/// Waiting loops that are not found, by the end of the compiler's name and level. Reasons: the result of a compare and
/// exchange goes through more code than is followed; a part of the loop's code lies outside the range from its first
/// address to its branch back; in a pair of exclusive accesses, a count seems to depend on whether the store succeeded.
const MISSED: &[(&str, &str)] = &[
    ("opt-level=0 waits.rs", "wait_exchange"),
    ("aarch64-linux-gnu-gcc -Os waits.c", "wait_backoff_load"),
    ("aarch64-linux-gnu-gcc -O0 -mno-outline-atomics waits.c", "wait_compare_and_swap"),
    ("clang --target=aarch64-linux-gnu -O0 -mno-outline-atomics waits.c", "wait_backoff"),
];

/// The message about what is wrong; none when all loops are judged right.
fn check(program: &Path, what: &str, architecture: &str) -> Option<String> {
    let (wait, work) = waiting(program, architecture);
    let wrong: Vec<&String> = wait.iter().filter(|name| name.starts_with("work_")).collect();
    let known = |name: &str| MISSED.iter().any(|(end, missed)| what.ends_with(end) && *missed == name);
    let missed: Vec<&String> = work.iter().filter(|name| name.starts_with("wait_") && !known(name)).collect();
    let few = wait.len() <= 2 || work.len() - missed.len() <= 2;
    (few || !wrong.is_empty() || !missed.is_empty()).then(|| {
        format!("{what}: {} wait; taken for waiting loops: {wrong:?}; waiting loops not found: {missed:?}", wait.len())
    })
}

fn compile(compiler: &str, file: &str, level: &str, directory: &Path) -> Option<PathBuf> {
    let source = common::source(file);
    let output = directory.join("program");
    let mut words = compiler.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    match compiler.starts_with("rustc") {
        true => command.args(["--edition=2024", "--crate-type=cdylib", "-Awarnings", "-C", level, "-o"]),
        false => command.args(["-w", "-static", "-pthread"]).args(level.split(' ')).arg("-o"),
    };
    let result = command.arg(&output).arg(&source).output();
    match result {
        Ok(result) => {
            assert!(result.status.success(), "{compiler} {level}: {}", String::from_utf8_lossy(&result.stderr));
            Some(output)
        }
        Err(error) => {
            eprintln!("NOT TESTED with {compiler}: {error}");
            None
        }
    }
}

fn levels(compiler: &str, file: &str, levels: &[&str]) {
    levels_of(compiler, file, levels, std::env::consts::ARCH);
}

fn levels_of(compiler: &str, file: &str, levels: &[&str], architecture: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for level in levels {
        let Some(program) = compile(compiler, file, level, directory.path()) else { return };
        wrong.extend(check(&program, &format!("{compiler} {level} {file}"), architecture));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const LEVELS: &[&str] = &["-O0", "-O1", "-O2", "-O3", "-Os"];

#[test]
fn c_by_gcc() {
    levels("gcc", "waits.c", LEVELS);
}

#[test]
fn c_by_clang() {
    levels("clang", "waits.c", LEVELS);
}

#[test]
fn cpp_by_gcc() {
    levels("g++", "waits.cpp", LEVELS);
}

#[test]
fn cpp_by_clang() {
    levels("clang++", "waits.cpp", LEVELS);
}

#[test]
fn rust() {
    levels("rustc", "waits.rs", &["opt-level=0", "opt-level=1", "opt-level=2", "opt-level=3"]);
}

/// With atomics as calls of the compiler's library (the default), as pairs of exclusive accesses, and as one
/// instruction each.
const AARCH64_LEVELS: &[&str] = &[
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-O0 -mno-outline-atomics",
    "-O2 -mno-outline-atomics",
    "-O2 -march=armv8.1-a",
];

/// Whether clang can link for AArch64: it takes the C library of the other compiler.
fn links_for_aarch64() -> bool {
    let there = Command::new("aarch64-linux-gnu-gcc").arg("--version").output().is_ok();
    if !there {
        eprintln!("NOT TESTED for AArch64: there is no aarch64-linux-gnu-gcc");
    }
    there
}

#[test]
fn c_for_aarch64_by_gcc() {
    levels_of("aarch64-linux-gnu-gcc", "waits.c", AARCH64_LEVELS, "aarch64");
}

#[test]
fn c_for_aarch64_by_clang() {
    if links_for_aarch64() {
        levels_of("clang --target=aarch64-linux-gnu", "waits.c", AARCH64_LEVELS, "aarch64");
    }
}

#[test]
fn cpp_for_aarch64_by_gcc() {
    levels_of("aarch64-linux-gnu-g++", "waits.cpp", AARCH64_LEVELS, "aarch64");
}

#[test]
fn rust_for_aarch64() {
    const TARGET: &str = "aarch64-unknown-linux-musl";
    let library = common::run("rustc", &["--print", "target-libdir", "--target", TARGET]);
    if !Path::new(library.trim()).exists() {
        eprintln!("NOT TESTED for AArch64: rustup target add {TARGET}");
    } else if links_for_aarch64() {
        let compiler = format!(
            "rustc --target {TARGET} -C target-feature=-crt-static -C linker=aarch64-linux-gnu-gcc -C link-self-contained=no"
        );
        let optimised = ["opt-level=0", "opt-level=1", "opt-level=2", "opt-level=3"];
        levels_of(&compiler, "waits.rs", &optimised, "aarch64");
    }
}
