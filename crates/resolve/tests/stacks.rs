//! Unwinding of real stacks through code without frame pointers, with function names.
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

mod common;

use common::{Stopped, compile, line_of, names, resolve_frame};
use resolve::{CodeAddress, ModuleCache, StackEnd, Symbolizer, Truncation, Unwinder, UserRegisters};

fn position(names: &[String], name: &str) -> usize {
    names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name} not in {names:?}"))
}

#[test]
fn stacks_are_complete_down_to_the_threads_start() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let mut symbolizer = Symbolizer::new();
    let threads = process.threads();
    assert_eq!(threads.len(), 2);

    let (frames, end) = process.unwind(&mut unwinder, threads[1]);
    let worker = names(&unwinder, &mut symbolizer, &frames);
    assert_eq!(end, StackEnd::Complete, "{worker:?}");
    let inlined = position(&worker, "~stop_here");
    assert!(inlined > 0, "{worker:?}");
    assert_eq!(worker[inlined + 1..inlined + 4], ["middle", "outer", "worker"], "{worker:?}");
    assert!(worker.last().unwrap().contains("clone"), "{worker:?}");

    let (frames, end) = process.unwind(&mut unwinder, threads[0]);
    let main = names(&unwinder, &mut symbolizer, &frames);
    assert_eq!(end, StackEnd::Complete, "{main:?}");
    assert!(position(&main, "main") > 0);
    assert_eq!(main.last().unwrap(), "_start");
    assert!(symbolizer.problems().is_empty(), "{:?}", symbolizer.problems());
}

/// GCC writes where the frame of such a function begins as an expression that reads memory.
#[test]
fn a_function_that_aligns_its_stack_has_callers() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("realigned.c", directory.path(), "realigned", &[]);
    if cfg!(target_arch = "x86_64") {
        let frames = common::run("readelf", &["--debug-dump=frames", program.to_str().unwrap()]);
        assert!(frames.contains("DW_CFA_def_cfa_expression (DW_OP_breg6 (rbp)"), "{frames}");
    }
    let process = Stopped::start(&program, &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let (frames, end) = process.unwind(&mut unwinder, process.threads()[0]);
    let names = names(&unwinder, &mut Symbolizer::new(), &frames);
    assert_eq!(end, StackEnd::Complete, "{names:?}");
    let keeps = position(&names, "keeps");
    assert_eq!(names[keeps..keeps + 4], ["keeps", "realigned", "outer", "main"], "{names:?}");
    assert_eq!(names.last().unwrap(), "_start");
}

/// V8's library and much assembler: the file has unwind information, but not for these functions.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_innermost_function_may_have_no_unwind_information() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("bare.c", directory.path(), "bare", &[]);
    for (arguments, innermost) in [(&[][..], "framed"), (&["x"][..], "frameless")] {
        let process = Stopped::start(&program, arguments);
        let mut unwinder = process.unwinder(&ModuleCache::new());
        let thread = process.threads()[0];
        let mut registers = process.registers(thread);
        let stack = process.stack(registers.sp, 1 << 16);
        registers.bp = u64::from_le_bytes(*stack.first_chunk().unwrap());
        let mut frames = Vec::new();
        let end = unwinder.unwind(&registers, &stack, &mut frames);
        let names = names(&unwinder, &mut Symbolizer::new(), &frames);
        assert_eq!(end, StackEnd::Complete, "{names:?}");
        assert_eq!(names[..3], [innermost, "calls", "main"], "{names:?}");
    }
}

#[test]
fn frames_have_the_lines_of_the_calls() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let mut symbolizer = Symbolizer::new();
    let (frames, _) = process.unwind(&mut unwinder, process.threads()[1]);
    let sites: Vec<_> =
        frames.iter().flat_map(|&frame| resolve_frame(&unwinder, &mut symbolizer, frame).functions).collect();
    for (function, mark, inlined) in
        [("stop_here", "stops", true), ("middle", "inlines", false), ("outer", "calls middle", false)]
    {
        let site = sites.iter().find(|site| site.function.as_deref() == Some(function)).unwrap();
        assert_eq!(site.line, Some(line_of("nested.c", mark)), "{function}");
        assert!(site.file.as_ref().unwrap().ends_with("tests/programs/nested.c"));
        assert_eq!(site.inlined, inlined);
    }
}

#[test]
fn a_static_program_is_unwound_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "static", &["-static"]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    for (thread, expected, last) in [(0, "main", "_start"), (1, "worker", "clone")] {
        let (frames, end) = process.unwind(&mut unwinder, process.threads()[thread]);
        let names = names(&unwinder, &mut symbolizer, &frames);
        assert_eq!(end, StackEnd::Complete, "{names:?}");
        position(&names, expected);
        assert!(names.last().unwrap().contains(last), "{names:?}");
    }
}

#[test]
fn a_program_at_a_fixed_address_is_unwound() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "fixed", &["-no-pie"]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let (frames, end) = process.unwind(&mut unwinder, process.threads()[1]);
    let names = names(&unwinder, &mut Symbolizer::new(), &frames);
    assert_eq!(end, StackEnd::Complete, "{names:?}");
    position(&names, "worker");
}

#[test]
fn unwinding_works_without_symbols_and_without_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["-s", "-Wl,--no-eh-frame-hdr"];
    let process = Stopped::start(&compile("nested.c", directory.path(), "stripped", &arguments), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let mut symbolizer = Symbolizer::with_debug_directories(Vec::new());
    let (frames, end) = process.unwind(&mut unwinder, process.threads()[1]);
    assert_eq!(end, StackEnd::Complete);
    let program: Vec<_> = frames
        .iter()
        .filter(|frame| unwinder.locate(frame.lookup()).unwrap().module.unwrap().path().ends_with("stripped"))
        .map(|&frame| resolve_frame(&unwinder, &mut symbolizer, frame))
        .collect();
    assert_eq!(program.len(), 3, "middle, outer and worker: {program:?}");
    for frame in program {
        assert_eq!(frame.functions[0].function, None);
        assert!(frame.function_start.is_some());
    }
}

/// As in code that Mono compiles.
#[test]
#[cfg(target_arch = "x86_64")]
fn code_made_at_run_time_without_frame_pointers_is_unwound() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("made.c", directory.path(), "made", &[]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let (frames, end) = process.unwind(&mut unwinder, process.threads()[0]);
    assert_eq!(end, StackEnd::Complete);
    let (made, known): (Vec<CodeAddress>, Vec<CodeAddress>) =
        frames.iter().copied().partition(|frame| unwinder.locate(frame.lookup()).unwrap().module.is_none());
    assert_eq!(made.len(), 1);
    let names = names(&unwinder, &mut Symbolizer::new(), &known);
    let inner = position(&names, "inner");
    assert_eq!(names[inner..inner + 3], ["inner", "outer", "main"], "{names:?}");

    // Where the memory cannot be read any more, nothing is guessed.
    let mut blind = Unwinder::new(&ModuleCache::new());
    blind.set_mappings(&process.mappings(), None);
    let (frames, end) = process.unwind(&mut blind, process.threads()[0]);
    assert_eq!(end, StackEnd::Truncated { why: Truncation::NoModule });
    assert_eq!(frames.last(), made.first());
}

#[test]
fn an_incomplete_stack_has_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &[]);
    let modules = ModuleCache::new();
    let mut unwinder = process.unwinder(&modules);
    let thread = process.threads()[1];
    let registers = process.registers(thread);
    let (complete, _) = process.unwind(&mut unwinder, thread);

    let stack = process.stack(registers.sp, 256);
    let mut frames = Vec::new();
    let end = unwinder.unwind(&registers, &stack, &mut frames);
    assert_eq!(end, StackEnd::Truncated { why: Truncation::OutOfBytes });
    assert!(!frames.is_empty() && frames.len() < complete.len() && complete.starts_with(&frames));

    let end = unwinder.unwind(&registers, &vec![0xff; 65536], &mut frames);
    assert_eq!(end, StackEnd::Truncated { why: Truncation::BadFrame });
    assert_eq!(frames, [CodeAddress::InstructionPointer(registers.ip)]);

    let end = unwinder.unwind(&UserRegisters { ip: 0x1234, ..registers }, &stack, &mut frames);
    assert_eq!(end, StackEnd::Truncated { why: Truncation::NoModule });

    let mut knows_nothing = Unwinder::new(&modules);
    let end = knows_nothing.unwind(&registers, &stack, &mut frames);
    assert_eq!(end, StackEnd::Truncated { why: Truncation::NoModule });
    assert_eq!(frames.len(), 1);
}

#[test]
fn the_rest_of_a_stack_is_read_while_it_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let thread = process.threads()[1];
    let registers = process.registers(thread);
    let whole = process.unwind(&mut unwinder, thread);
    assert_eq!(whole.1, StackEnd::Complete);
    let short = StackEnd::Truncated { why: Truncation::OutOfBytes };
    let mut stack = process.stack(registers.sp, 1024);
    let mut frames = Vec::new();
    assert_eq!(unwinder.unwind(&registers, &stack, &mut frames), short);

    unwinder.set_process(process.id());
    let end = unwinder.unwind(&registers, &stack, &mut frames);
    assert_eq!((frames.clone(), end), whole);
    // Less than what is compared: nobody can tell whether the thread has moved on.
    assert_eq!(unwinder.unwind(&registers, &stack[..1016], &mut frames), short);
    // The thread has moved on: other bytes are there now. These are not read by the frames below.
    *stack.last_mut().unwrap() ^= 1;
    assert_eq!(unwinder.unwind(&registers, &stack, &mut frames), short);
    assert!(whole.0.starts_with(&frames) && frames.len() < whole.0.len());
}

#[test]
fn any_stack_bytes_are_survived() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &[]);
    let mut unwinder = process.unwinder(&ModuleCache::new());
    let code: Vec<u64> = resolve::executable_spans(&process.mappings()).iter().map(|span| span.0).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut frames = Vec::new();
    let mut deepest = 0;
    for _ in 0..3000 {
        let word = |bits: u64| code[bits as usize % code.len()] + (bits >> 40) % 0x4_0000;
        let stack: Vec<u8> = (0..512).flat_map(|_| word(next()).to_le_bytes()).collect();
        let sp = next() | 7;
        let registers = UserRegisters { ip: word(next()), sp, bp: sp.wrapping_add(next() % 512), lr: next() };
        unwinder.unwind(&registers, &stack, &mut frames);
        deepest = deepest.max(frames.len());
    }
    assert!(deepest > 3 && deepest <= resolve::DEPTH_LIMIT);
}

#[test]
fn only_what_changes_in_the_memory_map_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let process = Stopped::start(&compile("nested.c", directory.path(), "nested", &[]), &[]);
    let modules = ModuleCache::new();
    let mut unwinder = process.unwinder(&modules);
    let mut mappings = process.mappings();
    let root = process.root();
    assert!(!unwinder.set_mappings(&mappings, Some(&root)), "nothing is new");

    let thread = process.threads()[1];
    let (_, end) = process.unwind(&mut unwinder, thread);
    assert_eq!(end, StackEnd::Complete);

    // Without the program's mapping, the stack ends in the library.
    let program: Vec<_> = mappings
        .extract_if(.., |mapping| matches!(&mapping.path, resolve::MappedFile::File(path) if path.ends_with("nested")))
        .collect();
    assert!(unwinder.set_mappings(&mappings, Some(&root)));
    let (_, end) = process.unwind(&mut unwinder, thread);
    assert_ne!(end, StackEnd::Complete);

    mappings.extend(program);
    assert!(unwinder.set_mappings(&mappings, Some(&root)));
    let (_, end) = process.unwind(&mut unwinder, thread);
    assert_eq!(end, StackEnd::Complete);
    assert!(unwinder.set_mappings(&[], Some(&root)));
    assert!(unwinder.locate(process.registers(thread).ip).is_none());
}

#[test]
fn a_missing_file_is_reported_and_the_rest_is_unwound() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("nested.c", directory.path(), "nested", &[]);
    let process = Stopped::start(&program, &[]);
    let before = process.mappings();
    std::fs::remove_file(&program).unwrap();

    // Without the process's root, only the path is available.
    let mut unwinder = Unwinder::new(&ModuleCache::new());
    unwinder.set_mappings(&before, None);
    assert_eq!(unwinder.problems().len(), 1);
    assert!(unwinder.problems()[0].error.to_string().contains("nested"), "{:?}", unwinder.problems());
    let (frames, end) = process.unwind(&mut unwinder, process.threads()[1]);
    assert!(frames.len() > 1, "the library was still unwound");
    assert_ne!(end, StackEnd::Complete);

    // A different file at the same path is not mistaken for it.
    std::fs::write(&program, "something else").unwrap();
    let mut unwinder = Unwinder::new(&ModuleCache::new());
    unwinder.set_mappings(&process.mappings(), None);
    let error = unwinder.problems()[0].error.to_string();
    assert!(error.contains("is not the file that was mapped"), "{error}");
}

#[test]
fn a_removed_program_is_found_where_the_kernel_allows_it_and_named_after_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("nested.c", directory.path(), "nested", &[]);
    let process = Stopped::start(&program, &[]);
    std::fs::remove_file(&program).unwrap();
    let mappings = process.mappings();
    let code = mappings.iter().find(|mapping| mapping.executable && mapping.deleted).unwrap();
    let link = process.root().with_file_name(format!("map_files/{:x}-{:x}", code.start, code.end));
    let allowed = std::fs::File::open(link).is_ok();

    let mut unwinder = Unwinder::new(&ModuleCache::new());
    unwinder.set_mappings(&mappings, Some(&process.root()));
    let (frames, end) = process.unwind(&mut unwinder, process.threads()[1]);
    assert_eq!(end == StackEnd::Complete, allowed, "{:?}", unwinder.problems());
    assert_eq!(unwinder.problems().is_empty(), allowed);
    drop(process);
    if allowed {
        position(&names(&unwinder, &mut Symbolizer::new(), &frames), "outer");
    }
}

#[test]
fn the_vdso_has_symbols() {
    let modules = ModuleCache::new();
    let vdso = modules.vdso().unwrap();
    let found = (0..0x2000).step_by(16).any(|offset| {
        let frame = Symbolizer::new().user(&vdso, &[offset]).remove(0);
        frame.functions[0].function.as_deref().is_some_and(|name| name.contains("gettime"))
    });
    assert!(found);
}
