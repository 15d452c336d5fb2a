//! Exports, read by the tools that they are made for, as far as a package registry has them.

#[path = "common/hostile.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod hostile;

use analyze::model::Model;
use recording::tables::{Module, ModuleKind};
use recording::{ModuleId, Tables};
use report::export::{firefox, folded, perfetto, pprof};
use report::observed::Observed;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

type Writer = dyn Fn(&Observed<'_, '_>, &mut dyn Write) -> io::Result<()>;

fn exported(tables: &Tables, write: &Writer) -> Vec<u8> {
    let model = Model::new(tables);
    let analysis = analyze::analyze(&model);
    let observed = Observed::at(&analysis, None).expect("the sketch has an observed run");
    let mut out = Vec::new();
    write(&observed, &mut out).expect("a Vec takes everything");
    out
}

fn samples(tables: &Tables) -> usize {
    let run = tables.traces.last().expect("the sketch has an observed run").run;
    tables.samples.iter().filter(|s| s.run == run).count()
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the target folder can be written");
    path
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the tool is there: ./dev live installs it");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn inferno_draws_the_folded_stacks() {
    for tables in [hostile::many(4, 40), hostile::hostile()] {
        let text = String::from_utf8(exported(&tables, &|o, out| folded::render(o, out))).expect("it is UTF-8");
        let counted: usize = text.lines().filter_map(|l| l.rsplit(' ').next()?.parse::<usize>().ok()).sum();
        assert_eq!(counted, samples(&tables), "every sample is in one line");
        assert!(counted > 0);
        let mut svg = Vec::new();
        let mut options = inferno::flamegraph::Options::default();
        inferno::flamegraph::from_lines(&mut options, text.lines(), &mut svg).expect("inferno reads it");
        assert!(String::from_utf8_lossy(&svg).contains(&format!("total_samples=\"{counted}\"")));
    }
}

#[test]
fn the_firefox_profile_is_whole() {
    for (tables, threads) in [(hostile::many(4, 40), 4), (hostile::hostile(), hostile::names().len())] {
        let bytes = exported(&tables, &|o, out| firefox::render(o, Duration::from_secs(1_700_000_000), out));
        let profile: Value = serde_json::from_slice(&bytes).expect("it is JSON");
        let found = profile["threads"].as_array().expect("threads are a list");
        assert_eq!(found.len(), threads);
        let length = |v: &Value| v["length"].as_u64().unwrap_or(0);
        assert_eq!(found.iter().map(|t| length(&t["samples"])).sum::<u64>(), samples(&tables) as u64);
        for thread in found {
            assert!(length(&thread["markers"]) > 0);
            let stacks = length(&thread["stackTable"]);
            let used = thread["samples"]["stack"].as_array().into_iter().flatten().filter_map(Value::as_u64);
            assert!(used.max().is_none_or(|most| most < stacks), "every stack is in the table");
        }
        assert!(bytes.len() < 20_000_000, "names of 100 kB are cut: {}", bytes.len());
    }
}

/// A number of variable length at the beginning of a protobuf message, and what follows it.
fn number(message: &[u8]) -> (u64, &[u8]) {
    let length = message.iter().take_while(|byte| **byte > 127).count() + 1;
    let (digits, rest) = message.split_at(length);
    (digits.iter().rev().fold(0, |value, byte| (value << 7) | u64::from(byte & 127)), rest)
}

/// The fields of a protobuf message: number, value, and the bytes of a text or a message inside.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let (key, rest) = number(message);
        let (value, rest) = number(rest);
        let (inside, rest) = rest.split_at(if key & 7 == 2 { value as usize } else { 0 });
        found.push((key >> 3, value, inside));
        message = rest;
    }
    found
}

/// Readers call the profile by its first mapping: `File: java`.
#[test]
fn the_first_mapping_of_a_pprof_profile_is_the_program() {
    let usual = hostile::many(4, 40);
    let mut starter = usual.clone();
    for module in &mut starter.modules {
        module.kind = ModuleKind::Library;
    }
    let started =
        Module { module: ModuleId(4711), kind: ModuleKind::Program, path: "/opt/java".into(), has_lines: false };
    starter.modules.push(started);
    let program =
        |tables: &Tables| tables.modules.iter().find(|m| m.kind == ModuleKind::Program).map(|m| m.path.clone());
    for tables in [usual, starter] {
        let packed = exported(&tables, &|o, out| pprof::render(o, out));
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).expect("it is gzip");
        let all = fields(&bytes);
        let texts: Vec<&[u8]> = all.iter().filter(|f| f.0 == 6).map(|f| f.2).collect();
        let mapping = all.iter().find(|f| f.0 == 3).map(|f| fields(f.2)).expect("there is a mapping");
        let name = mapping.iter().find(|f| f.0 == 5).map(|f| texts[f.1 as usize]).expect("it has a name");
        assert_eq!(Some(String::from_utf8_lossy(name).into_owned()), program(&tables));
    }
}

#[test]
#[ignore = "needs go"]
fn go_tool_pprof_reads_the_profile() {
    for (i, tables) in [hostile::many(4, 40), hostile::hostile()].iter().enumerate() {
        let path = file(&format!("pprof-{i}.pb.gz"), &exported(tables, &|o, out| pprof::render(o, out)));
        let raw = output(Command::new("go").args(["tool", "pprof", "-raw"]).arg(&path));
        assert!(raw.contains("samples/count cpu/nanoseconds[dflt] waits/count blocked/nanoseconds"), "{raw:.2000}");
        let top = output(Command::new("go").args(["tool", "pprof", "-top", "-sample_index=samples"]).arg(&path));
        assert!(top.contains(&format!("of {} total", samples(tables))), "{top:.2000}");
    }
    let path = file("pprof-0.pb.gz", &exported(&hostile::many(4, 40), &|o, out| pprof::render(o, out)));
    let top = output(Command::new("go").args(["tool", "pprof", "-top", "-sample_index=blocked"]).arg(&path));
    assert!(top.contains("[waits: one of a few resources]") && top.contains("[waits: a sleep's end]"), "{top}");
    let lines = output(Command::new("go").args(["tool", "pprof", "-top", "-lines", "-sample_index=cpu"]).arg(&path));
    assert!(lines.contains("app.c:10"), "{lines}");
}

#[test]
#[ignore = "needs Python with perfetto and protobuf (KNEE_PYTHON)"]
fn the_perfetto_trace_follows_the_schema() {
    let python = std::env::var_os("KNEE_PYTHON").expect("KNEE_PYTHON is set by ./dev live");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/consumers/read_perfetto.py");
    for (i, tables) in [hostile::many(4, 40), hostile::hostile()].iter().enumerate() {
        let path = file(&format!("trace-{i}.pftrace"), &exported(tables, &|o, out| perfetto::render(o, out)));
        let text = output(Command::new(&python).arg(&script).arg(&path));
        let found: Value = serde_json::from_str(&text).expect("the script prints JSON");
        let run = tables.traces.last().map(|t| t.run).unwrap_or_default();
        let threads = tables.threads.iter().filter(|t| t.run == run).count();
        assert_eq!(found["threads"].as_array().map(Vec::len), Some(threads));
        assert!(found["slices"].as_u64() > Some(100), "{text:.2000}");
        assert!(found["counters"].as_u64() > Some(0), "{text:.2000}");
        assert_eq!(found["arrows"], found["instants"], "every arrow ends");
        // In the hostile recording the threads wake themselves.
        if i == 0 {
            assert!(found["arrows"].as_u64() > Some(0), "{text:.2000}");
            assert!(found["names"]["task 1"].as_u64() == Some(4), "{text:.2000}");
        }
    }
}
