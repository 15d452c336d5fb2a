//! Members of types and of variables, from the debug information of C, C++ and Rust compilers. The samples are
//! simulated: at the entry of a function its parameters are in known registers, or, without optimisation, everywhere on
//! the stack.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![allow(clippy::print_stderr, reason = "says what is not tested")]

mod common;

use std::path::{Path, PathBuf};

use common::{run, source};
use resolve::decode::Registers;
use resolve::decode::replay::StackBytes;
use resolve::{DataTypes, ModuleCache, ModuleRef, Moment};

/// The addresses of the objects that the first, second and third parameter point to.
const OBJECTS: [u64; 3] = [0x10_0000, 0x20_0000, 0x30_0000];
const STACK: u64 = 0x7fff_0000;

struct Compiled {
    path: PathBuf,
    module: ModuleRef,
    types: DataTypes,
}

impl Compiled {
    fn make(compiler: &str, level: &str, name: &str, directory: &Path) -> Self {
        let path = directory.join(format!("{name}-{compiler}{level}"));
        let (input, output) = (source(name), path.to_str().unwrap().to_owned());
        let input = input.to_str().unwrap();
        match compiler {
            "rustc" => {
                let level = format!("opt-level={}", level.trim_start_matches("-O"));
                run(compiler, &["-g", "-C", &level, "--edition=2021", "-o", &output, input])
            }
            _ => run(compiler, &["-g", level, "-o", &output, input]),
        };
        let module = ModuleCache::new().open(&path).unwrap();
        let types = DataTypes::read(&module).unwrap().unwrap();
        Self { path, module, types }
    }

    /// The stated address of a symbol.
    fn symbol(&self, name: &str) -> u64 {
        let symbols = run("nm", &["-C", self.path.to_str().unwrap()]);
        let line = symbols.lines().find(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ") == name);
        u64::from_str_radix(line.unwrap_or_else(|| panic!("no {name}")).split(' ').next().unwrap(), 16).unwrap()
    }

    /// The name for an address, at the entry of a function. `on_stack`: the value that fills the stack.
    fn pointed(&self, function: &str, general: [u64; 16], on_stack: u64, address: u64) -> Option<(String, u64, u64)> {
        let stack: Vec<u8> = on_stack.to_le_bytes().iter().copied().cycle().take(1024).collect();
        let registers = Registers::x86_64(general, self.symbol(function));
        let moment = Moment {
            registers: &registers,
            stack: StackBytes { start: STACK - 512, bytes: &stack },
            stated: registers.ip,
            access_stated: registers.ip,
            array: None,
        };
        let placed = self.types.pointed(&self.module, &moment, address)?;
        Some((format!("{}{}", placed.type_name, placed.member), placed.offset, placed.size))
    }

    /// With the parameters in registers.
    fn named(&self, function: &str, address: u64) -> Option<String> {
        let mut general = [0; 16];
        // rsp, and the first three parameters: rdi, rsi, rdx.
        (general[4], general[7], general[6], general[2]) = (STACK, OBJECTS[0], OBJECTS[1], OBJECTS[2]);
        self.pointed(function, general, 0, address).map(|(name, ..)| name)
    }
}

/// The compilers of the list that are installed.
fn present<'c>(compilers: &[&'c str]) -> Vec<&'c str> {
    let is_here = |compiler: &&&str| {
        let found = std::process::Command::new(compiler).arg("--version").output().is_ok();
        if !found {
            eprintln!("NOT TESTED: `{compiler}` is not installed");
        }
        found
    };
    compilers.iter().filter(is_here).copied().collect()
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn members_of_c_objects_have_names() {
    let directory = tempfile::tempdir().unwrap();
    let [own, numbers, counter] = OBJECTS;
    for compiler in present(&["gcc", "clang"]) {
        let compiled = Compiled::make(compiler, "-O2", "members.c", directory.path());
        assert_eq!(compiled.named("work", own), some("statistics.hits"), "{compiler}");
        assert_eq!(compiled.named("work", own + 8), some("statistics.misses"));
        assert_eq!(compiled.named("work", own + 16 + 32 + 24), some("statistics.parts[1].values[2]"));
        assert_eq!(compiled.named("work", own + 16 + 4), some("statistics.parts[0]"), "padding has no name");
        assert_eq!(
            compiled.named("work", own + 16 + 64),
            some("statistics.either"),
            "which of the two is used is not known"
        );
        assert_eq!(compiled.named("work", counter), some("struct counter.count"));
        assert_eq!(compiled.named("work", numbers), some("*numbers"));
        assert_eq!(compiled.named("work", numbers + 8), None, "how many there are is not known");
        assert_eq!(compiled.named("work", own - 8), None);
        assert_eq!(compiled.named("work", own + 4096), None);
        // Here the variables are on the stack, which is filled with pointers to one object.
        let plain = Compiled::make(compiler, "-O0", "members.c", directory.path());
        let mut general = [0; 16];
        (general[4], general[5]) = (STACK, STACK);
        let found = plain.pointed("work", general, own, own + 8);
        assert_eq!(found, Some(("statistics.misses".to_owned(), 8, 96)), "{compiler} -O0");
    }
}

#[test]
fn an_instruction_that_adds_an_index_shows_an_array() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Compiled::make("gcc", "-O2", "members.c", directory.path());
    let mut general = [0; 16];
    (general[4], general[7], general[6]) = (STACK, OBJECTS[0], OBJECTS[1]);
    let registers = Registers::x86_64(general, compiled.symbol("work"));
    let at = |address: u64, array: u64| {
        let moment = Moment {
            registers: &registers,
            stack: StackBytes { start: STACK, bytes: &[] },
            stated: registers.ip,
            access_stated: registers.ip,
            array: Some(array),
        };
        let placed = compiled.types.pointed(&compiled.module, &moment, address);
        placed.map(|placed| format!("{}{}", placed.type_name, placed.member))
    };
    assert_eq!(at(OBJECTS[1] + 24, OBJECTS[1]), some("numbers[3]"));
    assert_eq!(at(OBJECTS[0] + 2 * 96 + 8, OBJECTS[0]), some("statistics.misses"));
    assert_eq!(at(OBJECTS[1] + 24, 0x5000), None, "another array");
}

#[test]
fn members_of_static_variables_have_names() {
    let directory = tempfile::tempdir().unwrap();
    for compiler in present(&["gcc", "clang"]) {
        let c = Compiled::make(compiler, "-O2", "members.c", directory.path());
        let (table, plain) = (c.symbol("table"), c.symbol("plain"));
        assert_eq!(c.types.member_of_static(table + 2 * 96 + 8).as_deref(), Some("[2].misses"), "{compiler}");
        assert_eq!(c.types.member_of_static(plain), None);
    }
    for compiler in present(&["g++", "clang++"]) {
        let cpp = Compiled::make(compiler, "-O2", "members.cpp", directory.path());
        let tills = cpp.symbol("tills");
        assert_eq!(cpp.types.member_of_static(tills + 24).as_deref(), Some("[1].id"), "{compiler}");
        assert_eq!(cpp.types.member_of_static(tills + 40).as_deref(), Some("[1].returned"));
    }
    let rust = Compiled::make("rustc", "-O2", "members.rs", directory.path());
    assert_eq!(rust.types.member_of_static(rust.symbol("SLOTS") + 8).as_deref(), Some("[1]"));
}

#[test]
fn members_of_the_programs_classes_have_names_and_the_librarys_have_none() {
    let directory = tempfile::tempdir().unwrap();
    let own = OBJECTS[0];
    for compiler in present(&["g++", "clang++"]) {
        let compiled = Compiled::make(compiler, "-O2", "members.cpp", directory.path());
        assert_eq!(compiled.named("work", own), some("class shop::till.id"), "{compiler}");
        assert_eq!(compiled.named("work", own + 8), some("class shop::till.sold"));
        let sell = "shop::till::sell()";
        assert_eq!(compiled.named(sell, own + 16), some("class shop::till.returned"), "by `this`");
    }
}

#[test]
fn members_of_rust_objects_have_names() {
    let directory = tempfile::tempdir().unwrap();
    for level in ["-O0", "-O2"] {
        let compiled = Compiled::make("rustc", level, "members.rs", directory.path());
        let own = OBJECTS[0];
        let named = |address| match level {
            "-O0" => {
                let mut general = [0; 16];
                (general[4], general[5]) = (STACK, STACK);
                compiled.pointed("work", general, own, address).map(|(name, ..)| name)
            }
            _ => compiled.named("work", address),
        };
        assert_eq!(named(own), some("struct members::Counts.hits"), "{level}");
        assert_eq!(named(own + 8), some("struct members::Counts.misses"));
        assert_eq!(named(own + 24), some("struct members::Counts.both.1"));
        assert_eq!(named(own + 32), None);
    }
    // A slice has its length: pointer in rdi, length in rsi.
    let compiled = Compiled::make("rustc", "-O2", "members.rs", directory.path());
    let mut general = [0; 16];
    (general[4], general[7], general[6]) = (STACK, OBJECTS[0], 3);
    let at = |address| compiled.pointed("sum", general, 0, address).map(|(name, offset, _)| (name, offset));
    assert_eq!(at(OBJECTS[0] + 2 * 32 + 8), Some(("struct members::Counts.misses".to_owned(), 8)));
    assert_eq!(at(OBJECTS[0] + 3 * 32 + 8), None);
}

#[test]
fn a_module_without_debug_information_names_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Compiled::make("gcc", "-O2", "members.c", directory.path());
    let stripped = directory.path().join("stripped");
    run("strip", &["-o", stripped.to_str().unwrap(), compiled.path.to_str().unwrap()]);
    let module = ModuleCache::new().open(&stripped).unwrap();
    assert!(DataTypes::read(&module).unwrap().is_none());
}
