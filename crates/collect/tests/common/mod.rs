//! What the live tests share: compiling a target, running it observed, reading what was recorded.
#![allow(dead_code, reason = "each test file uses only a part")]

use collect::{Collector, Command, Exit, Observer, OutputSink, RunOptions, Stop, Stream};
use recording::meta::Completion;
use recording::{Recording, RunId, Tables, Writer};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub(crate) struct KeptOutput(pub(crate) Vec<u8>);

impl OutputSink for KeptOutput {
    fn bytes(&mut self, _: Stream, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

pub(crate) fn compile(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets").join(format!("{name}.c"));
    let program = folder.join(name);
    let mut compiler = std::process::Command::new("cc");
    compiler.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include"));
    compiler.args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source);
    assert!(compiler.status().expect("the tests need a C compiler, `cc`").success());
    program
}

pub(crate) fn command(argv: &[&str]) -> Command {
    Command { argv: argv.iter().map(Into::into).collect(), env: Vec::new(), cwd: None, processors: Vec::new() }
}

/// Runs a command, observes it, and reads its recording.
pub(crate) fn trace(folder: &Path, argv: &[&str]) -> (Tables, Exit) {
    observe(Collector::Bpf, folder, argv)
}

/// The same with a given collector.
pub(crate) fn observe(collector: Collector, folder: &Path, argv: &[&str]) -> (Tables, Exit) {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("recording");
    let mut meta = recording::synthetic::meta(collect::machine::machine().usable_processors);
    meta.completion = Completion::Finished;
    let mut writer = Writer::create(&path, &meta).unwrap();
    let run = RunId(0);
    let finished = Observer::new(collector)
        .run(&command(argv), &RunOptions::default(), &mut KeptOutput::default(), &Stop::new(), &mut writer, run)
        .unwrap();
    (Recording::open(&path).unwrap().tables().unwrap(), finished.exit)
}

pub(crate) fn lost(tables: &Tables, what: &str) -> u64 {
    tables.losses.iter().filter(|loss| loss.what.starts_with(what)).map(|loss| loss.count).sum()
}

/// Asserts that every thread's four times sum to its life, and that its slices cover its life.
pub(crate) fn assert_whole(tables: &Tables) {
    let mut covered = std::collections::HashMap::new();
    for slice in &tables.slices {
        *covered.entry(slice.thread).or_insert(0) += slice.spent_ns;
    }
    for thread in &tables.threads {
        let life = thread.end_ns - thread.start_ns;
        let sum = thread.running_ns + thread.runnable_ns + thread.preempted_ns + thread.blocked_ns;
        assert_eq!(sum, life, "{thread:?}");
        assert_eq!(covered.get(&thread.thread).copied().unwrap_or(0), life, "{thread:?}");
    }
}
