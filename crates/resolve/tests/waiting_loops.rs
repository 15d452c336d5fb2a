//! Which loops of compiled programs only wait: C, C++ and Rust by several compilers at several levels. Every function
//! whose name begins with `wait_` has such a loop, and none whose name begins with `work_`. Needs gcc, g++ and rustc;
//! clang is skipped with a message where it is missing.
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
        let sections = sections.map(|section| (section.address(), section.data().unwrap().to_vec())).collect();
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

/// The functions in which some instruction is found to be in a waiting loop, and all others.
fn waiting(program: &Path) -> (Vec<String>, Vec<String>) {
    let mut elf = Elf::read(program);
    let functions = elf.functions.clone();
    let mut code = CodeGraph::new(decoder("x86_64").unwrap());
    let (mut wait, mut work) = (Vec::new(), Vec::new());
    for (name, (start, size)) in functions {
        // Again and again, as with real samples, until everything within reach is known.
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
            // A frame pointer as in functions without optimisation.
            let mut registers = Registers { ip: *ip, ..Registers::default() };
            (registers.general[4], registers.general[5]) = (0x7ff0_0000, 0x7ff0_0040);
            (0..8).any(|_| spins.at(&code, &registers, &[]).is_some())
        });
        if found { wait.push(name) } else { work.push(name) }
    }
    (wait, work)
}

/// Not found: the result of a compare and exchange is made and taken apart through two jump tables, with more code than
/// is followed.
const MISSED: &[(&str, &str)] = &[("rustc opt-level=0 waits.rs", "wait_exchange")];

fn check(program: &Path, what: &str) -> (usize, usize) {
    let (wait, work) = waiting(program);
    let wrong: Vec<&String> = wait.iter().filter(|name| name.starts_with("work_")).collect();

    let missed: Vec<&String> =
        work.iter().filter(|name| name.starts_with("wait_") && !MISSED.contains(&(what, name.as_str()))).collect();
    assert!(
        wrong.is_empty() && missed.is_empty(),
        "{what}: taken for waiting loops: {wrong:?}; waiting loops not found: {missed:?}"
    );
    (wait.len(), work.iter().filter(|name| name.starts_with("work_")).count())
}

fn compile(compiler: &str, file: &str, level: &str, directory: &Path) -> Option<PathBuf> {
    let source = common::source(file);
    let output = directory.join(format!("{compiler}{level}-{}", file.replace('.', "-")));
    let mut command = Command::new(compiler);
    match compiler {
        "rustc" => command.args(["--edition=2024", "--crate-type=cdylib", "-Awarnings", "-C", level, "-o"]),
        _ => command.args(["-w", "-static", "-pthread", level, "-o"]),
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
    let directory = tempfile::tempdir().unwrap();
    for level in levels {
        let Some(program) = compile(compiler, file, level, directory.path()) else { return };
        let what = format!("{compiler} {level} {file}");
        let (wait, work) = check(&program, &what);
        assert!(wait > 2 && work > 2, "{what}: {wait} and {work} functions");
    }
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
