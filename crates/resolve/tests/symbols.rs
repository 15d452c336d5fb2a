//! Names of functions in stripped files, with separate debug files, and in other languages.
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Stopped, compile, line_of, names, resolve_frame, run};
use resolve::{MappedFile, ModuleCache, ModuleRef, StackEnd, Symbolizer, Unwinder, parse_maps};

/// The C library of the tests themselves, stripped of everything that is not needed to run.
fn stripped_libc(directory: &Path) -> PathBuf {
    let maps = parse_maps(std::fs::read("/proc/self/maps").unwrap()).unwrap();
    let libc = maps
        .iter()
        .find_map(|mapping| match &mapping.path {
            MappedFile::File(path) if path.to_string_lossy().contains("libc") => Some(path.clone()),
            _ => None,
        })
        .unwrap();
    let copy = directory.join("libc.so.6");
    run("strip", &["--strip-all", "-o", copy.to_str().unwrap(), libc.to_str().unwrap()]);
    copy
}

/// Start, size and name of the functions that `nm` sees.
fn functions(path: &Path) -> Vec<(u64, u64, String)> {
    run("nm", &["-D", "-S", "--defined-only", path.to_str().unwrap()])
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [start, size, "T" | "W" | "t" | "w" | "i", name] = fields[..] else { return None };
            let number = |digits| u64::from_str_radix(digits, 16).unwrap();
            Some((number(start), number(size), name.split('@').next().unwrap().to_owned()))
        })
        .collect()
}

/// Libraries that are unpacked before each run have another path each time.
#[test]
fn copies_of_a_file_have_one_fingerprint() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let libc = stripped_libc(directory.path());
    let without_id = at("a.so");
    run("objcopy", &["--remove-section=.note.gnu.build-id", libc.to_str().unwrap(), without_id.to_str().unwrap()]);
    let cache = ModuleCache::new();
    let fingerprint = |path: &Path| cache.open(path).unwrap().fingerprint().unwrap();
    for original in [&libc, &without_id] {
        let copy = at("unpacked-1234.so");
        std::fs::copy(original, &copy).unwrap();
        assert_eq!(fingerprint(original), fingerprint(&copy));
        std::fs::remove_file(copy).unwrap();
    }
    let other = std::env::current_exe().unwrap();
    assert_ne!(fingerprint(&libc), fingerprint(&other));
    assert_ne!(fingerprint(&without_id), fingerprint(&other));
}

fn name_at(symbolizer: &mut Symbolizer, module: &ModuleRef, address: u64) -> Option<String> {
    let offset = module.file_offset(address).unwrap();
    symbolizer.user(module, &[offset]).remove(0).functions.pop().unwrap().function
}

#[test]
fn addresses_between_exported_functions_stay_unnamed() {
    let directory = tempfile::tempdir().unwrap();
    let libc = stripped_libc(directory.path());
    let module = ModuleCache::new().open(&libc).unwrap();
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let functions = functions(&libc);
    assert!(functions.len() > 1000);

    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for (start, size, _) in &functions {
        let end = ends.entry(*start).or_default();
        *end = (*end).max(start + size);
    }
    let starts: Vec<(u64, u64)> = ends.into_iter().collect();
    let mut gaps = 0;
    let mut reach = 0;
    for pair in starts.windows(2) {
        reach = reach.max(pair[0].1);
        if pair[1].0 > reach + 64 {
            gaps += 1;
            let between = (reach + pair[1].0) / 2;
            assert_eq!(name_at(&mut symbolizer, &module, between), None, "{between:#x}");
        }
    }
    assert!(gaps > 100, "{gaps}");

    for (start, size, _) in functions.iter().filter(|(_, size, _)| *size > 0) {
        let name = name_at(&mut symbolizer, &module, start + size - 1).unwrap();
        let known = functions.iter().any(|(_, _, known)| *known == name);
        assert!(known, "{name} at {start:#x}");
    }
    assert!(!symbolizer.has_lines(&module));
}

#[test]
fn the_plain_public_name_is_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let libc = stripped_libc(directory.path());
    let module = ModuleCache::new().open(&libc).unwrap();
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    for wanted in ["random", "malloc", "free", "pthread_mutex_lock", "pthread_create", "write", "puts", "fork"] {
        let (start, _, _) = functions(&libc).into_iter().find(|(_, _, name)| name == wanted).unwrap();
        assert_eq!(name_at(&mut symbolizer, &module, start).as_deref(), Some(wanted));
    }
}

#[test]
fn a_wait_in_a_local_function_gets_no_wrong_name() {
    let directory = tempfile::tempdir().unwrap();
    let libc = ModuleCache::new().open(&stripped_libc(directory.path())).unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &["with waiter"]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let mut stacks = Vec::new();
    for thread in process.threads() {
        let (frames, end) = process.unwind(&mut unwinder, thread);
        assert_eq!(end, StackEnd::Complete);
        stacks.push(names(&unwinder, &mut symbolizer, &frames));
        if !stacks.concat().contains(&"wait_for_mutex".to_owned()) {
            continue;
        }
        // The innermost frame is `__lll_lock_wait`, which the library does not export; its caller is a public function.
        let innermost = unwinder.locate(frames[0].lookup()).unwrap().file_offset;
        let caller = unwinder.locate(frames[1].lookup()).unwrap().file_offset;
        let found = symbolizer.user(&libc, &[innermost, caller]);
        assert_eq!(found[0].functions[0].function, None, "{found:?}");
        let start = found[0].function_start.unwrap();
        assert!(start <= innermost && innermost - start < 4096, "{start:#x} {innermost:#x}");
        assert_eq!(found[1].functions[0].function.as_deref(), Some("pthread_mutex_lock"));
        return;
    }
    panic!("no thread waits for the mutex: {stacks:?}");
}

/// Splits a program into one without debug information and a file with it, as distributions do.
fn split(program: &Path, debug: &Path) {
    let (program, debug) = (program.to_str().unwrap(), debug.to_str().unwrap());
    run("objcopy", &["--only-keep-debug", program, debug]);
    run("strip", &["--strip-all", program]);
}

/// The line of a call of a stopped program, found with debug files in `directories`.
fn line_of_outer(process: &Stopped, directories: Vec<PathBuf>) -> Option<u32> {
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let mut symbolizer = Symbolizer::with_debug_directories(directories);
    let (frames, _) = process.unwind(&mut unwinder, process.threads()[1]);
    let sites = frames.iter().flat_map(|&frame| resolve_frame(&unwinder, &mut symbolizer, frame).functions);
    sites.filter(|site| site.function.as_deref() == Some("outer")).find_map(|site| site.line)
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("nested.c", directory.path(), "nested", &["-Wl,--build-id"]);
    let id = ModuleCache::new().open(&program).unwrap().build_id().unwrap().to_string();
    assert!(run("readelf", &["-n", program.to_str().unwrap()]).contains(&id));
    let home = directory.path().join("debug/.build-id").join(&id[..2]);
    std::fs::create_dir_all(&home).unwrap();
    let debug = home.join(format!("{}.debug", &id[2..]));
    split(&program, &debug);
    run("objcopy", &["--compress-debug-sections=zlib", debug.to_str().unwrap()]);
    let process = Stopped::start(&program, &[]);
    let line = Some(line_of("nested.c", "calls middle"));
    assert_eq!(line_of_outer(&process, Vec::new()), None);
    assert_eq!(line_of_outer(&process, vec![directory.path().join("debug")]), line);
}

#[test]
fn a_linked_debug_file_is_used_only_when_it_belongs_to_the_build() {
    let directory = tempfile::tempdir().unwrap();
    let line = Some(line_of("nested.c", "calls middle"));
    for (index, build_id) in ["-Wl,--build-id", "-Wl,--build-id=none"].into_iter().enumerate() {
        let program = compile("nested.c", directory.path(), &format!("linked{index}"), &[build_id]);
        let debug = program.with_extension("debug");
        split(&program, &debug);
        run("objcopy", &["--add-gnu-debuglink", debug.to_str().unwrap(), program.to_str().unwrap()]);
        let process = Stopped::start(&program, &[]);
        assert_eq!(line_of_outer(&process, Vec::new()), line, "{build_id}");

        let other = compile("nested.c", directory.path(), "other", &[build_id, "-O1"]);
        std::fs::copy(&other, &debug).unwrap();
        assert_eq!(line_of_outer(&process, Vec::new()), None, "{build_id}");
    }
}

#[test]
fn inlined_functions_are_found_in_the_units_beside_a_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("nested.c", directory.path(), "apart", &["-gdwarf-5", "-gsplit-dwarf"]);
    let process = Stopped::start(&program, &[]);
    // The program itself keeps lines; inlined functions are only in the split unit.
    let inlined = || {
        let mut unwinder = process.unwinder(&ModuleCache::new());
        let (frames, _) = process.unwind(&mut unwinder, process.threads()[1]);
        let found = names(&unwinder, &mut Symbolizer::with_debug_directories(Vec::new()), &frames);
        found.contains(&"~stop_here".to_owned())
    };
    assert!(inlined());

    let mut beside = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let unit = beside.find(|path| path.extension().is_some_and(|e| e == "dwo")).expect("a .dwo file");
    let other = tempfile::tempdir().unwrap();
    compile("nested.c", other.path(), "apart", &["-gdwarf-5", "-gsplit-dwarf", "-O1"]);
    std::fs::copy(other.path().join(unit.file_name().unwrap()), &unit).unwrap();
    assert!(!inlined(), "a unit of another build is not used");
}

#[inline(never)]
fn known_function(value: u64) -> u64 {
    std::hint::black_box(value) + 1
}

#[test]
fn names_of_rust_are_readable() {
    assert_eq!(known_function(1), 2);
    let address = known_function as fn(u64) -> u64 as usize as u64;
    let mut unwinder = Unwinder::new(&ModuleCache::new());
    unwinder.set_mappings(&parse_maps(std::fs::read("/proc/self/maps").unwrap()).unwrap(), None);
    let mut symbolizer = Symbolizer::new();
    let frame = resolve_frame(&unwinder, &mut symbolizer, resolve::CodeAddress::InstructionPointer(address));
    let site = frame.functions.last().unwrap();
    assert_eq!(site.function.as_deref(), Some("symbols::known_function"));
    assert!(site.file.as_ref().unwrap().ends_with("tests/symbols.rs"), "{site:?}");
    let line = 1 + include_str!("symbols.rs").lines().position(|line| line.starts_with("fn known_function")).unwrap();
    assert!(site.line.unwrap().abs_diff(line as u32) <= 1, "{site:?}");
    let offset = unwinder.locate(address).unwrap().file_offset;
    assert_eq!(frame.function_start, Some(offset));
}

#[test]
fn broken_files_are_reported_and_survived() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("nested.c", directory.path(), "nested", &[]);
    let whole = std::fs::read(&program).unwrap();
    let broken = directory.path().join("broken");
    let modules = ModuleCache::new();
    let offsets: Vec<u64> = (0x1000..0x1400).step_by(7).collect();
    let mut refused = 0;
    let mut random = 1u64;
    for round in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..20 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Half of the damage goes to the headers, where it has the worst effect.
            let range = if random & 1 == 0 { 64..1024 } else { 0..bytes.len() };
            let at = range.start + (random >> 33) as usize % range.len();
            bytes[at] = (random >> 20) as u8;
        }
        let tables = whole.len() - 64 * 20..whole.len();
        bytes[tables.start + (random >> 40) as usize % tables.len()] ^= 0x80;
        if round % 5 == 0 {
            bytes.truncate((random >> 30) as usize % whole.len());
        }
        std::fs::write(&broken, bytes).unwrap();
        match modules.open(&broken) {
            Err(error) => {
                assert!(error.to_string().contains("broken"), "{error}");
                refused += 1;
            }
            Ok(module) => {
                let frames = Symbolizer::new().user(&module, &offsets);
                assert_eq!(frames.len(), offsets.len());
                assert!(frames.iter().all(|frame| frame.functions.last().is_some_and(|site| !site.inlined)));
            }
        }
    }
    assert!(refused > 50 && refused < 400, "{refused}");
}

#[test]
fn kernel_functions_have_names_or_a_reason() {
    let mut symbolizer = Symbolizer::new();
    let frame = symbolizer.kernel(0xffff_ffff_ffff_0000);
    assert_eq!(frame.functions.len(), 1);
    symbolizer.kernel(1);
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let known = text.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let address = u64::from_str_radix(fields.next()?, 16).ok().filter(|&address| address != 0)?;
        (fields.next()? == "T" && fields.next()? == "do_exit").then_some(address)
    });
    match known {
        Some(address) => {
            let frame = symbolizer.kernel(address + 4);
            assert_eq!(frame.functions[0].function.as_deref(), Some("do_exit"));
            assert_eq!(frame.function_start, Some(address));
            assert!(symbolizer.problems().is_empty());
        }
        None => assert_eq!(symbolizer.problems().len(), 1),
    }
}

#[test]
fn unwinders_and_symbolizers_can_be_moved_to_another_thread() {
    fn movable<T: Send>() {}
    movable::<Unwinder>();
    movable::<Symbolizer>();
    movable::<ModuleCache>();
}
