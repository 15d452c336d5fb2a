//! Reading marks from files that no linker made: moved, truncated, inconsistent and random.
#![allow(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

use proptest::prelude::*;
use resolve::probes::{Argument, ArgumentLocation, Index, Probe, ProbesError, RegisterPart, probes};

const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// Addresses of the file's parts: the code is at 0x400 in the file and at 0x401400 in memory.
const CODE: u64 = 0x40_1400;
const CODE_OFFSET: u64 = 0x400;

/// A note of a mark.
#[derive(Clone)]
struct Note {
    address: u64,
    base: u64,
    semaphore: u64,
    strings: Vec<u8>,
    owner: &'static [u8],
    kind: u32,
}

fn note(name: &str, arguments: &str) -> Note {
    let strings = format!("knee\0{name}\0{arguments}\0").into_bytes();
    Note { address: CODE, base: 0, semaphore: 0, strings, owner: b"stapsdt\0", kind: 3 }
}

impl Note {
    fn bytes(&self) -> Vec<u8> {
        let mut contents = [self.address, self.base, self.semaphore].map(u64::to_le_bytes).concat();
        contents.extend(&self.strings);
        let mut bytes = Vec::new();
        for word in [self.owner.len() as u32, contents.len() as u32, self.kind] {
            bytes.extend(word.to_le_bytes());
        }
        for part in [self.owner, &contents[..]] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }
}

/// An ELF file with one executable segment, the notes, and `.stapsdt.base` at `base`.
fn file_for(machine: u16, code: &[u8], base: u64, notes: &[u8]) -> Vec<u8> {
    let names = b"\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0";
    let notes_at = 0x800;
    let names_at = notes_at + notes.len().next_multiple_of(8);
    let sections_at = (names_at + names.len()).next_multiple_of(8);

    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [3u16, machine] {
        file.extend(half.to_le_bytes()); // type, machine
    }
    file.extend(1u32.to_le_bytes());
    for word in [0u64, 64, sections_at as u64] {
        file.extend(word.to_le_bytes()); // entry, program headers, section headers
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 4, 3] {
        file.extend(half.to_le_bytes()); // sizes and counts of headers, the section of names
    }
    for word in [1u32, 5] {
        file.extend(word.to_le_bytes()); // loadable; readable and executable
    }
    for word in [0u64, CODE - CODE_OFFSET, 0, 0x800, 0x800, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    file.resize(CODE_OFFSET as usize, 0);
    file.extend(code);
    file.resize(notes_at, 0);
    file.extend(notes);
    file.resize(names_at, 0);
    file.extend(names);
    file.resize(sections_at, 0);
    let sections: [(u32, u32, u64, usize, usize); 4] =
        [(0, 0, 0, 0, 0), (1, 7, 0, notes_at, notes.len()), (15, 1, base, 0, 1), (29, 3, 0, names_at, names.len())];
    for (name, kind, address, offset, size) in sections {
        for word in [name, kind] {
            file.extend(word.to_le_bytes());
        }
        for word in [0, address, offset as u64, size as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0; 8]);
        for word in [4u64, 0] {
            file.extend(word.to_le_bytes());
        }
    }
    file
}

fn file(notes: &[Note]) -> Vec<u8> {
    file_for(X86_64, &[0x90; 16], 0, &notes.iter().flat_map(Note::bytes).collect::<Vec<u8>>())
}

fn only(file: &[u8]) -> Probe {
    let mut probes = probes(file).unwrap();
    assert_eq!(probes.len(), 1);
    probes.remove(0)
}

fn names(file: &[u8]) -> Vec<String> {
    probes(file).unwrap().into_iter().map(|probe| probe.name).collect()
}

#[test]
fn a_mark_is_placed_in_the_file() {
    let mut work = note("work", "8@%rdi");
    work.address += 3;
    let probe = only(&file(&[work]));
    assert_eq!((&*probe.name, probe.file_offset, probe.semaphore), ("work", CODE_OFFSET + 3, None));
    let place = ArgumentLocation::Register(RegisterPart { word: 14, shift: 0, size: 8 });
    assert_eq!(probe.arguments, [Ok(Argument { size: 8, signed: false, place })]);
}

#[test]
fn a_file_without_marks_is_no_error() {
    assert_eq!(probes(&file(&[])).unwrap(), []);
}

#[test]
fn notes_of_other_providers_are_left_alone() {
    let mut other_provider = note("work", "");
    other_provider.strings = b"libc\0setjmp\08@%rdi\0".to_vec();
    let mut other_owner = note("work", "");
    other_owner.owner = b"GNU\0";
    let mut other_type = note("work", "");
    other_type.kind = 4;
    // The contents of other owners' notes need not even be valid.
    let mut short = other_owner.clone();
    short.strings = Vec::new();
    let notes = [other_provider, other_owner, other_type, short, note("end", "")];
    assert_eq!(names(&file(&notes)), ["end"]);
}

#[test]
fn a_file_that_was_moved_after_linking_moves_its_marks() {
    let mut moved = note("begin", "");
    moved.address -= 0x7000;
    moved.base = 0x1000;
    moved.semaphore = moved.address + 8;
    let probe = only(&file_for(X86_64, &[0x90; 16], 0x8000, &moved.bytes()));
    assert_eq!((probe.file_offset, probe.semaphore), (CODE_OFFSET, Some(CODE_OFFSET + 8)));
    // A linker that drops the section which shows the move leaves a zero.
    moved.base = 0;
    moved.address += 0x7000;
    moved.semaphore = 0;
    assert_eq!(only(&file_for(X86_64, &[0x90; 16], 0x8000, &moved.bytes())).file_offset, CODE_OFFSET);
}

#[test]
fn only_a_no_op_in_code_becomes_a_breakpoint() {
    let good = note("begin", "");
    let at = |address| Note { address, ..note("end", "") };
    let nowhere = [at(0), at(CODE - 0x1000), at(CODE + 0x400), at(u64::MAX), at(CODE + 4)];
    let code = [0x90, 0x90, 0x90, 0x90, 0xc3];
    let with = |notes: &[Note]| file_for(X86_64, &code, 0, &notes.iter().flat_map(Note::bytes).collect::<Vec<u8>>());
    for wrong in &nowhere {
        assert_eq!(names(&with(&[wrong.clone(), good.clone()])), ["begin"], "the linker dropped one");
        let error = probes(&with(std::slice::from_ref(wrong))).unwrap_err();
        assert!(matches!(error, ProbesError::Displaced { count: 1 }), "{error}");
    }
    let semaphore = Note { semaphore: 1, ..good.clone() };
    assert!(matches!(probes(&with(&[semaphore])), Err(ProbesError::Displaced { .. })));
    let mut data = with(&[good]);
    data[68] = 4; // no longer executable
    assert!(matches!(probes(&data), Err(ProbesError::Displaced { .. })));
    let long = file_for(X86_64, b"\x0f\x1f\x44\0\0", 0, &note("begin", "").bytes());
    assert_eq!(only(&long).file_offset, CODE_OFFSET);
    let arm = file_for(AARCH64, b"\x1f\x20\x03\xd5", 0, &note("begin", "").bytes());
    assert_eq!(only(&arm).file_offset, CODE_OFFSET);
}

#[test]
fn other_files_and_processors_are_refused() {
    for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh\n", &[0; 64]] {
        assert!(matches!(probes(bytes), Err(ProbesError::NotElf)));
    }
    let mut narrow = file(&[]);
    narrow[4] = 1;
    assert!(matches!(probes(&narrow), Err(ProbesError::NotElf)));
    let riscv = file_for(243, &[], 0, &[]);
    assert!(matches!(probes(&riscv), Err(ProbesError::Machine { machine: 243 })));
}

#[test]
fn damaged_notes_are_refused() {
    let refused = |notes: &[u8]| match probes(&file_for(X86_64, &[0x90; 16], 0, notes)) {
        Err(error @ ProbesError::Malformed { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let whole = note("work", "8@%rdi").bytes();
    for length in [1, 11, 12, 19, 20, 30, 43, 44, 50, whole.len() - 4] {
        refused(&whole[..length]);
    }
    for strings in [&b""[..], b"knee", b"knee\0", b"knee\0work", b"knee\0work\0", b"knee\0work\x008@%rdi"] {
        refused(&Note { strings: strings.to_vec(), ..note("", "") }.bytes());
    }
    assert!(refused(&note("", "").bytes()).contains("0 bytes"));
    assert!(refused(&note(&"n".repeat(65), "").bytes()).contains("65 bytes"));
    for at in [0, 4] {
        let mut absurd = whole.clone();
        absurd[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        refused(&absurd);
    }
}

#[test]
fn absurd_sizes_are_refused() {
    let mut long = file(&[note("work", "")]);
    let sections = u64::from_le_bytes(*long[40..].first_chunk().unwrap()) as usize;
    let size = sections + 64 + 32;
    long[size..size + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert!(matches!(probes(&long), Err(ProbesError::TooLarge { what: "bytes of notes", .. })));
    long[size..size + 8].copy_from_slice(&(1u64 << 20).to_le_bytes());
    assert!(matches!(probes(&long), Err(ProbesError::Malformed { .. })));
    let many = vec![note("work", "8@%rdi"); 20_000];
    assert!(matches!(probes(&file(&many)), Err(ProbesError::TooLarge { what: "marks", .. })));
}

/// The arguments in a text for a processor; `None` for one that cannot be read.
fn arguments(machine: u16, text: &str) -> Vec<Option<Argument>> {
    let code: &[u8] = if machine == X86_64 { b"\x90" } else { b"\x1f\x20\x03\xd5" };
    let probe = only(&file_for(machine, code, 0, &note("work", text).bytes()));
    probe.arguments.into_iter().map(Result::ok).collect()
}

fn place(machine: u16, operand: &str) -> Option<ArgumentLocation> {
    let arguments = arguments(machine, &format!("8@{operand}"));
    assert_eq!(arguments.len(), 1, "{operand}");
    arguments[0].map(|argument| argument.place)
}

const fn whole(word: u8) -> RegisterPart {
    RegisterPart { word, shift: 0, size: 8 }
}

#[test]
fn registers_of_x86_64_have_the_kernels_order() {
    // From the beginning of `struct pt_regs`; the words between di and sp are left out.
    let order = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi";
    for (word, name) in order.split(' ').enumerate() {
        for name in [name.to_owned(), format!("%{name}")] {
            assert_eq!(place(X86_64, &name), Some(ArgumentLocation::Register(whole(word as u8))), "{name}");
        }
    }
    assert_eq!(place(X86_64, "%rsp"), Some(ArgumentLocation::Register(whole(19))));
    let parts = [
        ("eax", 10, 0, 4),
        ("ax", 10, 0, 2),
        ("al", 10, 0, 1),
        ("ah", 10, 8, 1),
        ("bh", 5, 8, 1),
        ("sil", 13, 0, 1),
        ("bp", 4, 0, 2),
        ("spl", 19, 0, 1),
        ("r8d", 9, 0, 4),
        ("r15w", 0, 0, 2),
        ("r9b", 8, 0, 1),
    ];
    for (name, word, shift, size) in parts {
        let expected = Some(ArgumentLocation::Register(RegisterPart { word, shift, size }));
        assert_eq!(place(X86_64, &format!("%{name}")), expected, "{name}");
    }
    for name in ["xmm0", "st", "rip", "r16", "r8x", "r", "cs", "%", "x0", "raxx", "sp1", "rah", ""] {
        assert_eq!(place(X86_64, &format!("%{name}")), None, "{name}");
    }
}

#[test]
fn operands_of_x86_64_are_read() {
    let memory = |base: Option<u8>, index: Option<(u8, u8)>, displacement| {
        let index = index.map(|(word, scale)| Index { register: whole(word), scale });
        Some(ArgumentLocation::Memory { base: base.map(whole), index, displacement })
    };
    assert_eq!(place(X86_64, "$-1"), Some(ArgumentLocation::Constant(-1)));
    assert_eq!(place(X86_64, "$0x10"), Some(ArgumentLocation::Constant(16)));
    assert_eq!(place(X86_64, "$18446744073709551615"), Some(ArgumentLocation::Constant(-1)));
    assert_eq!(place(X86_64, "$-9223372036854775808"), Some(ArgumentLocation::Constant(i64::MIN)));
    assert_eq!(place(X86_64, "12"), Some(ArgumentLocation::Constant(12)));
    assert_eq!(place(X86_64, "(%rax)"), memory(Some(10), None, 0));
    assert_eq!(place(X86_64, "-24(%rbp)"), memory(Some(4), None, -24));
    assert_eq!(place(X86_64, "0x8(%rsp,%rbx)"), memory(Some(19), Some((5, 1)), 8));
    assert_eq!(place(X86_64, "4(%rax,%rbx,8)"), memory(Some(10), Some((5, 8)), 4));
    assert_eq!(place(X86_64, "4(,%rbx,2)"), memory(None, Some((5, 2)), 4));
    let unreadable = "$ $x $- $18446744073709551616 $-9223372036854775809 $.LC0 total(%rip) 8(%rip) total+4(%rax) \
                      (%eax) (%rax,%ebx) (%rax,%rbx,3) (%rax,%rbx,4,5) () (,) (%rax [rax] %fs:8 %fs:(%rax) total 1+2";
    for operand in unreadable.split_ascii_whitespace() {
        assert_eq!(place(X86_64, operand), None, "{operand}");
    }
}

#[test]
fn operands_of_aarch64_are_read() {
    let memory = |base, index: Option<(u8, u8)>, displacement| {
        let index = index.map(|(word, scale)| Index { register: whole(word), scale });
        Some(ArgumentLocation::Memory { base: Some(whole(base)), index, displacement })
    };
    for word in 0..=30u8 {
        assert_eq!(place(AARCH64, &format!("x{word}")), Some(ArgumentLocation::Register(whole(word))));
        let half = RegisterPart { word, shift: 0, size: 4 };
        assert_eq!(place(AARCH64, &format!("w{word}")), Some(ArgumentLocation::Register(half)));
    }
    assert_eq!(place(AARCH64, "sp"), Some(ArgumentLocation::Register(whole(31))));
    assert_eq!(place(AARCH64, "xzr"), Some(ArgumentLocation::Constant(0)));
    assert_eq!(place(AARCH64, "-5"), Some(ArgumentLocation::Constant(-5)));
    assert_eq!(place(AARCH64, "#5"), Some(ArgumentLocation::Constant(5)));
    assert_eq!(place(AARCH64, "[x0]"), memory(0, None, 0));
    assert_eq!(place(AARCH64, "[sp, 16]"), memory(31, None, 16));
    assert_eq!(place(AARCH64, "[x29, #-8]"), memory(29, None, -8));
    assert_eq!(place(AARCH64, "[x0,x1]"), memory(0, Some((1, 1)), 0));
    assert_eq!(place(AARCH64, "[x0, x1, lsl 3]"), memory(0, Some((1, 8)), 0));
    assert_eq!(place(AARCH64, "[x0, x1, lsl #2]"), memory(0, Some((1, 4)), 0));
    for operand in ["x31", "w99", "x", "x+1", "x001", "d0", "%rax", "[]", "[x0", "[w0]", "[x0, w1]", "[x0, 8]!"] {
        assert_eq!(place(AARCH64, operand), None, "{operand}");
    }
    for operand in ["[x0, w1, sxtw]", "[x0, x1, lsl 4]", "[x0, :lo12:total]", "[x0, x1, lsl 1, 2]"] {
        assert_eq!(place(AARCH64, operand), None, "{operand}");
    }
}

#[test]
fn arguments_are_separated() {
    let sizes = |text| -> Vec<Option<(u8, bool)>> {
        arguments(AARCH64, text).into_iter().map(|one| one.map(|one| (one.size, one.signed))).collect()
    };
    assert_eq!(sizes(""), []);
    assert_eq!(sizes("8@[sp, 8] -4@w0"), [Some((8, false)), Some((4, true))]);
    assert_eq!(sizes(" 1@w0  -2@[x0, x1, lsl 1]\t8@1 "), [Some((1, false)), Some((2, true)), Some((8, false))]);
    assert_eq!(sizes("8@x0 16@x1 8f@x2 8@x3"), [Some((8, false)), None, None, Some((8, false))]);
    assert_eq!(sizes("x0"), [None]);
    assert_eq!(sizes("@x0"), [None]);
    assert_eq!(sizes(&"8@x0 ".repeat(100)).len(), 12);
    let mut probe = only(&file(&[note("work", &format!("8@%rdi 8@{}", "é".repeat(500)))]));
    let error = probe.arguments.remove(1).unwrap_err();
    assert_eq!(error.text.chars().count(), 80);
}

proptest! {
    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let _ = probes(&bytes);
        let _ = probes(&file_for(X86_64, &[0x90; 16], 0, &bytes));
    }

    #[test]
    fn damaged_files_do_no_harm(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = file(&[note("begin", ""), note("work", "8@-8(%rbp) -4@$1")]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for bytes in [&bytes[..], &bytes[..length.index(bytes.len())]] {
            for probe in probes(bytes).unwrap_or_default() {
                let at = usize::try_from(probe.file_offset).unwrap();
                prop_assert!(bytes[at] == 0x90 || bytes[at..].starts_with(b"\x0f\x1f\x44\0\0")
                    || bytes[at..].starts_with(b"\x1f\x20\x03\xd5"));
                prop_assert!(probe.arguments.len() <= 12);
            }
        }
    }

    #[test]
    fn random_operands_do_no_harm(text in "[-$%#()\\[\\], @a-z0-9+:]{0,60}") {
        let _ = arguments(X86_64, &format!("8@{text}"));
        let _ = arguments(AARCH64, &format!("8@{text}"));
    }
}
