//! Helpers for the tests: programs compiled on the spot, and the registers and stacks of stopped threads, read from
//! `/proc` without `unsafe`.
#![allow(dead_code, reason = "each test uses only a part")]
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use resolve::{CodeAddress, Mapping, ModuleCache, StackEnd, Unwinder, UserRegisters, parse_maps};

/// Runs a tool that the tests need.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("these tests need `{tool}`: {error}"));
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The source of a test program.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// The number of the line that ends with the comment `/* mark */`.
pub(crate) fn line_of(name: &str, mark: &str) -> u32 {
    let text = fs::read_to_string(source(name)).unwrap();
    let mark = format!("/* {mark} */");
    1 + text.lines().position(|line| line.contains(&mark)).unwrap() as u32
}

/// Compiles a test program to `directory/program`.
pub(crate) fn compile(name: &str, directory: &Path, program: &str, arguments: &[&str]) -> PathBuf {
    let output = directory.join(program);
    let source = source(name);
    let mut all = vec!["-O2", "-g", "-fomit-frame-pointer", "-pthread", source.to_str().unwrap(), "-o"];
    all.push(output.to_str().unwrap());
    all.extend(arguments);
    run("cc", &all);
    output
}

/// A process that has stopped itself; killed when dropped.
pub(crate) struct Stopped(Child);

impl Stopped {
    /// Starts a program and waits until it has stopped.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
        let child = Command::new(program).args(arguments).stdin(Stdio::null()).spawn().unwrap();
        let process = Self(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !process.threads().iter().all(|&thread| process.state(thread) == 'T') {
            assert!(Instant::now() < deadline, "the program did not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        process
    }

    fn file(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{path}", self.0.id()))
    }

    fn state(&self, thread: u32) -> char {
        let stat = fs::read_to_string(self.file(&format!("task/{thread}/stat"))).unwrap();
        stat[stat.rfind(')').unwrap() + 2..].chars().next().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.file("root")
    }

    pub(crate) fn mappings(&self) -> Vec<Mapping> {
        parse_maps(fs::read(self.file("maps")).unwrap()).unwrap()
    }

    /// The thread ids, the main thread first.
    pub(crate) fn threads(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.file("task")).unwrap();
        let mut threads: Vec<u32> =
            entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
        threads.sort_unstable();
        threads
    }

    /// Where a stopped thread is, according to `/proc`; the frame pointer is not known.
    pub(crate) fn registers(&self, thread: u32) -> UserRegisters {
        let text = fs::read_to_string(self.file(&format!("task/{thread}/syscall"))).unwrap();
        let fields: Vec<&str> = text.split_whitespace().collect();
        let number = |field: &str| u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap();
        UserRegisters { ip: number(fields[fields.len() - 1]), sp: number(fields[fields.len() - 2]), bp: 0, lr: 0 }
    }

    /// The bytes of the stack from `sp` upwards, as many as there are up to `limit`.
    pub(crate) fn stack(&self, sp: u64, limit: usize) -> Vec<u8> {
        let mapping = self.mappings().into_iter().find(|mapping| (mapping.start..mapping.end).contains(&sp)).unwrap();
        let mut bytes = vec![0; limit.min((mapping.end - sp) as usize)];
        fs::File::open(self.file("mem")).unwrap().read_exact_at(&mut bytes, sp).unwrap();
        bytes
    }

    /// An unwinder that knows this process.
    pub(crate) fn unwinder(&self, modules: &ModuleCache) -> Unwinder {
        let mut unwinder = Unwinder::new(modules);
        assert!(unwinder.set_mappings(&self.mappings(), Some(&self.root())));
        assert!(unwinder.problems().is_empty(), "{:?}", unwinder.problems());
        unwinder
    }

    /// The stack of a thread.
    pub(crate) fn unwind(&self, unwinder: &mut Unwinder, thread: u32) -> (Vec<CodeAddress>, StackEnd) {
        let registers = self.registers(thread);
        let mut frames = Vec::new();
        let end = unwinder.unwind(&registers, &self.stack(registers.sp, 1 << 16), &mut frames);
        (frames, end)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The frames of a stack as text: `function` or `?`, inlined functions marked with `~`, innermost first.
pub(crate) fn names(unwinder: &Unwinder, symbolizer: &mut resolve::Symbolizer, frames: &[CodeAddress]) -> Vec<String> {
    let mut names = Vec::new();
    for frame in frames {
        for site in resolve_frame(unwinder, symbolizer, *frame).functions {
            let mark = if site.inlined { "~" } else { "" };
            names.push(format!("{mark}{}", site.function.as_deref().unwrap_or("?")));
        }
    }
    names
}

/// What is known of one frame.
pub(crate) fn resolve_frame(
    unwinder: &Unwinder,
    symbolizer: &mut resolve::Symbolizer,
    frame: CodeAddress,
) -> resolve::ResolvedFrame {
    let located = unwinder.locate(frame.lookup()).unwrap();
    symbolizer.user(located.module.unwrap(), &[located.file_offset]).remove(0)
}
