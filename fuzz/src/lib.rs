//! The fuzz targets: one function for each kind of hostile bytes. Each may refuse its input; none may panic, hang or exhaust
//! memory. The same functions run under libFuzzer (`fuzz_targets/`) and over the kept inputs (`tests/replay.rs`).

// The binary has no library, so its modules that read sweep files are compiled in here, under the names that they use for
// each other.
#[allow(dead_code)]
#[path = "../../crates/knee/src/failure.rs"]
mod failure;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/knee/src/file/mod.rs"]
mod file;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/knee/src/plan/mod.rs"]
mod plan;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/knee/src/throughput/mod.rs"]
mod throughput;

use plan::cases;
use recording::reader::TABLES;
use recording::{Recording, synthetic};
use resolve::jit::fuzzing;
use resolve::{Assemblies, MappedFile, Mapping, ModuleCache, Objects, Symbolizer, Unwinder, UserRegisters};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The functions here by name; the folders under `corpus/` have the same names.
pub const TARGETS: [(&str, fn(&[u8])); 9] = [
    ("recording", recording),
    ("meta", meta),
    ("maps", maps),
    ("module", module),
    ("unwind", unwind),
    ("perf_map", perf_map),
    ("jitdump", jitdump),
    ("sweep_file", sweep_file),
    ("perf_script", perf_script),
];

/// This process's folder for inputs: in memory, if the machine has a file system there.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = parent.join(format!("knee-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the inputs");
        folder
    })
}

fn opened(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile_in(folder()).expect("a file for the input");
    file.write_all(bytes).expect("room for the input");
    file
}

/// One part of a table, chosen by the first byte, in a recording that is otherwise empty.
pub fn recording(bytes: &[u8]) {
    let Some((table, part)) = bytes.split_first() else { return };
    let (table, _) = TABLES[usize::from(*table) % TABLES.len()];
    let recording = folder().join("recording");
    let _ = fs::remove_dir_all(&recording);
    let place = recording.join(table);
    fs::create_dir_all(&place).expect("a folder for the part");
    let meta = serde_json::to_vec(&synthetic::meta(2)).expect("a meta is JSON");
    fs::write(recording.join("meta.json"), meta).expect("room for meta.json");
    fs::write(place.join("part-00000.parquet"), part).expect("room for the part");
    if let Ok(tables) = Recording::open(&recording).and_then(|recording| recording.tables()) {
        analyze::answer_for(&tables);
    }
}

/// The description of a recording.
pub fn meta(bytes: &[u8]) {
    let recording = folder().join("meta");
    fs::create_dir_all(&recording).expect("a folder for the recording");
    fs::write(recording.join("meta.json"), bytes).expect("room for meta.json");
    if let Ok(tables) = Recording::open(&recording).and_then(|recording| recording.tables()) {
        let answer = analyze::answer_for(&tables);
        let mut out = Vec::new();
        report::json::render(&answer, &mut out).expect("a vector takes everything");
    }
}

/// The memory map of a process.
pub fn maps(bytes: &[u8]) {
    if let Ok(mappings) = resolve::parse_maps(bytes) {
        resolve::executable_spans(&mappings);
        let spans = resolve::merge_spans(&resolve::code_spans(&mappings), 16);
        assert!(spans.len() <= 16 && spans.iter().all(|(start, end)| start < end));
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(mappings.iter().all(|mapping| mapping.start < mapping.end));
    }
}

/// Writes a module to its file, which the next one replaces. It has the name of .NET's virtual machine, whose own tables
/// are read, too.
fn module_file(bytes: &[u8]) -> PathBuf {
    let path = folder().join("libcoreclr.so");
    fs::write(&path, bytes).expect("room for the module");
    path
}

/// A program's file: its tables, symbols, lines, variables and marks; or an assembly of .NET.
pub fn module(bytes: &[u8]) {
    let _ = resolve::probes(bytes);
    let path = module_file(bytes);
    let mut assemblies = Assemblies::default();
    assemblies.see(&path, fs::metadata(&path).expect("the module that was written").ino());
    assemblies.frames(&path, &[0, bytes.len() as u64 / 2, u64::MAX]);
    let Ok(module) = ModuleCache::new().open(&path) else { return };
    let offsets: Vec<u64> = (0..bytes.len() as u64).step_by(64).take(64).chain([u64::MAX]).collect();
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    symbolizer.user(&module, &offsets);
    let objects = Objects::read(&module);
    for offset in offsets {
        module.function_start(offset);
        if let (Ok(objects), Some(address)) = (&objects, module.stated_address(offset)) {
            objects.find(address);
        }
    }
}

/// Registers and a stack (the first 2 KiB) in a program's file (the rest).
pub fn unwind(bytes: &[u8]) {
    const REGISTERS: usize = 4 * 8;
    const STACK: usize = 2048 - REGISTERS;
    let Some((registers, rest)) = bytes.split_at_checked(REGISTERS) else { return };
    let (stack, file) = rest.split_at(rest.len().min(STACK));
    let number = |at: usize| u64::from_le_bytes(registers[at * 8..at * 8 + 8].try_into().expect("eight bytes"));
    const AT: u64 = 0x40_0000;
    let mapping = Mapping {
        start: AT,
        end: AT + (1 << 20),
        file_offset: 0,
        device: (0, 0),
        inode: 0,
        executable: true,
        reserved: false,
        deleted: false,
        path: MappedFile::File(module_file(file)),
    };
    let mut unwinder = Unwinder::new(&ModuleCache::new());
    unwinder.set_mappings(&[mapping], None);
    // Half the time inside the file, otherwise anywhere.
    let ip = if number(0) % 2 == 0 { AT + number(0) % (1 << 20) } else { number(0) };
    let registers = UserRegisters { ip, sp: number(1), bp: number(2), lr: number(3) };
    let mut frames = Vec::new();
    unwinder.unwind(&registers, stack, &mut frames);
    assert!(frames.len() <= resolve::DEPTH_LIMIT);
    for frame in frames {
        unwinder.locate(frame.lookup());
        unwinder.function_start(frame.lookup());
    }
}

/// Names of run-time code, as text.
pub fn perf_map(bytes: &[u8]) {
    fuzzing::perf_map(&opened(bytes));
}

/// Names of run-time code, as records.
pub fn jitdump(bytes: &[u8]) {
    fuzzing::dump(opened(bytes));
}

/// A sweep file, and all the cases that it stands for.
pub fn sweep_file(bytes: &[u8]) {
    let path = folder().join("sweep.toml");
    fs::write(&path, bytes).expect("room for the sweep file");
    match file::load(&path) {
        Ok(sweep) => {
            let variants: Vec<cases::Variant> = sweep.variants.into_iter().map(|described| described.variant).collect();
            let _ = cases::expand(&variants, &sweep.parameters, recording::meta::Counted::Threads);
        }
        Err(failure) => assert!(!failure.to_string().is_empty()),
    }
}

/// The output of `perf script`: imported as a recording, then analysed and rendered.
pub fn perf_script(bytes: &[u8]) {
    let source = import::Source { name: "input".to_owned(), threads: 0, text: Box::new(bytes) };
    match import::import(vec![source], "0.0.0", 0) {
        Ok(tables) => {
            let answer = analyze::answer_for(&tables);
            assert!(answer.verdict.clear.is_empty() && answer.account.is_empty());
            let mut out = Vec::new();
            report::json::render(&answer, &mut out).expect("a vector takes everything");
            let model = analyze::model::Model::new(&tables);
            let analysis = analyze::analyze(&model);
            if let Some(observed) = report::observed::Observed::at(&analysis, None) {
                report::show::functions::functions(&observed, None, report::show::Pick::default());
                report::export::folded::render(&observed, &mut out).expect("a vector takes everything");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
