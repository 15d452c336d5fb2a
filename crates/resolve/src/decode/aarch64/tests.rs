//! Words as Debian's assembler makes them (binutils 2.40), decoded as the manual defines them.

use super::AArch64;
use crate::decode::instruction::{AccessKind, Atomic, Decode, Flow, Instruction, Operand, Value};

const AT: u64 = 0x1_0000;

fn decoded(word: u32) -> Instruction {
    AArch64.decode(AT, &word.to_le_bytes()).unwrap_or_else(|| panic!("{word:08x}"))
}

/// Memory accesses as text: what is done, bytes, and where.
fn accesses(word: u32) -> String {
    let operand = |operand: &Operand| {
        let base = operand.base.map_or(String::new(), |base| format!("x{base}"));
        let half = operand.half.map_or("", |signed| if signed { "s" } else { "u" });
        let index = operand.index.map_or(String::new(), |(index, scale)| format!("+{half}x{index}*{scale}"));
        format!("{base}{index}{:+}", operand.displacement as i64)
    };
    let instruction = decoded(word);
    let found: Vec<String> = instruction
        .accesses()
        .map(|access| format!("{:?} {} {}", access.kind, access.width, operand(&access.operand)))
        .collect();
    found.join("; ")
}

/// Registers that are read and written; those from 32 on are vector registers.
fn registers(word: u32) -> (Vec<u8>, Vec<u8>) {
    let instruction = decoded(word);
    (instruction.reads.iter().collect(), instruction.writes.iter().collect())
}

#[test]
fn loads_and_stores_have_their_addresses() {
    let table = [
        (0xf940_0801, "ldr x1, [x0, #16]", "Load 8 x0+16"),
        (0x78df_e001, "ldursh w1, [x0, #-2]", "Load 2 x0-2"),
        (0x3824_6862, "strb w2, [x3, x4]", "Store 1 x3+x4*1+0"),
        (0xb824_d862, "str w2, [x3, w4, sxtw #2]", "Store 4 x3+sx4*4+0"),
        (0xf864_5862, "ldr x2, [x3, w4, uxtw #3]", "Load 8 x3+ux4*8+0"),
        (0xa8c2_7bfd, "ldp x29, x30, [sp], #32", "Load 16 x31+0"),
        (0xa9bd_7bfd, "stp x29, x30, [sp, #-48]!", "Store 16 x31-48"),
        (0x3dc0_0820, "ldr q0, [x1, #32]", "Load 16 x1+32"),
        (0xad00_0440, "stp q0, q1, [x2]", "Store 32 x2+0"),
        (0xf840_84c5, "ldr x5, [x6], #8", "Load 8 x6+0"),
        (0xf800_8cc5, "str x5, [x6, #8]!", "Store 8 x6+8"),
        (0xf980_0000, "prfm pldl1keep, [x0]", ""),
        (0x5800_0209, "ldr x9, .+64", "Load 8 +65600"),
        (0x4cdf_a020, "ld1 {v0.16b, v1.16b}, [x1], #32", "Load 32 x1+0"),
        (0x0d20_9083, "st2 {v3.s, v4.s}[1], [x4]", "Store 8 x4+0"),
        (0xd50b_7423, "dc zva, x3", "Store 64 x3+0"),
        (0xc85f_7c01, "ldxr x1, [x0]", "Load 8 x0+0"),
        (0xc802_fc01, "stlxr w2, x1, [x0]", "Atomic 8 x0+0"),
        (0xc822_0c01, "stxp w2, x1, x3, [x0]", "Atomic 16 x0+0"),
        (0x88df_fc01, "ldar w1, [x0]", "Load 4 x0+0"),
        (0x889f_fc01, "stlr w1, [x0]", "Store 4 x0+0"),
        (0xb8bf_c001, "ldapr w1, [x0]", "Load 4 x0+0"),
        (0xb8e0_0041, "ldaddal w0, w1, [x2]", "Atomic 4 x2+0"),
        (0xc8e0_fc41, "casal x0, x1, [x2]", "Atomic 8 x2+0"),
        (0x4864_fc46, "caspal x4, x5, x6, x7, [x2]", "Atomic 16 x2+0"),
        (0x8b03_0c41, "add x1, x2, x3, lsl #3", ""),
    ];
    for (word, text, expected) in table {
        assert_eq!(accesses(word), expected, "{text}");
    }
}

#[test]
fn registers_are_those_of_the_manual() {
    let table: [(u32, &str, &[u8], &[u8]); 22] = [
        (0xf840_84c5, "ldr x5, [x6], #8", &[6], &[5, 6]),
        (0xc802_fc01, "stlxr w2, x1, [x0]", &[0, 1], &[2]),
        (0xc87f_8c01, "ldaxp x1, x3, [x0]", &[0], &[1, 3]),
        (0xf820_005f, "stadd x0, [x2]", &[0, 2], &[]),
        (0xc8e0_fc41, "casal x0, x1, [x2]", &[0, 1, 2], &[0]),
        (0x4864_fc46, "caspal x4, x5, x6, x7, [x2]", &[2, 4, 5, 6, 7], &[4, 5]),
        (0xf100_103f, "cmp x1, #4", &[1], &[]),
        (0x9100_43e1, "add x1, sp, #16", &[31], &[1]),
        (0xf2a0_0081, "movk x1, #4, lsl #16", &[1], &[1]),
        (0x9a83_0041, "csel x1, x2, x3, eq", &[2, 3], &[1]),
        (0x1a9f_07e0, "cset w0, ne", &[], &[0]),
        (0x9b02_0c20, "madd x0, x1, x2, x3", &[1, 2, 3], &[0]),
        (0x9400_0400, "bl .+4096", &[], &[30]),
        (0xd63f_0100, "blr x8", &[8], &[30]),
        (0xd503_233f, "paciasp", &[30], &[30]),
        (0xd53b_d040, "mrs x0, tpidr_el0", &[], &[0]),
        (0x9e66_0020, "fmov x0, d1", &[33], &[0]),
        (0x9e67_0001, "fmov d1, x0", &[0], &[33]),
        (0x1f42_0c20, "fmadd d0, d1, d2, d3", &[32, 33, 34, 35], &[32]),
        (0x0e0c_3c20, "mov w0, v1.s[1]", &[33], &[0]),
        (0x9e62_0020, "scvtf d0, x1", &[1], &[32]),
        (0x9e78_0020, "fcvtzs x0, d1", &[33], &[0]),
    ];
    for (word, text, reads, writes) in table {
        assert_eq!(registers(word), (reads.to_vec(), writes.to_vec()), "{text}");
    }
}

#[test]
fn computable_results_are_found() {
    let linear = |base, index, displacement: i64, bits| {
        Some(Value::Linear { base, index, displacement: displacement as u64, bits })
    };
    let table = [
        (0x9100_43e1, "add x1, sp, #16", linear(Some(31), None, 16, 64)),
        (0xd140_0420, "sub x0, x1, #1, lsl #12", linear(Some(1), None, -4096, 64)),
        (0x8b03_0c41, "add x1, x2, x3, lsl #3", linear(Some(2), Some((3, 8)), 0, 64)),
        (0x2b03_0041, "adds w1, w2, w3", linear(Some(2), Some((3, 1)), 0, 32)),
        (0xcb03_0041, "sub x1, x2, x3", linear(Some(2), Some((3, -1)), 0, 64)),
        (0x8b23_c841, "add x1, x2, w3, sxtw #2", None),
        (0xaa02_03e1, "mov x1, x2", linear(Some(2), None, 0, 64)),
        (0x1280_0001, "mov w1, #-1", linear(None, None, -1, 32)),
        (0xd280_0f88, "mov x8, #124", linear(None, None, 124, 64)),
        (0x9000_0000, "adrp x0, .", linear(None, None, AT as i64, 64)),
        (0x1000_0040, "adr x0, .+8", linear(None, None, AT as i64 + 8, 64)),
        (0xd37d_f041, "lsl x1, x2, #3", linear(None, Some((2, 8)), 0, 64)),
        (0xd343_fc41, "lsr x1, x2, #3", None),
        (0x5300_1c41, "uxtb w1, w2", Some(Value::Extended { of: 2, from: 8, signed: false, bits: 32 })),
        (0x9340_7c41, "sxtw x1, w2", Some(Value::Extended { of: 2, from: 32, signed: true, bits: 64 })),
        (0xb980_0401, "ldrsw x1, [x0, #4]", Some(Value::Loaded { signed: true, bits: 64 })),
        (0xf840_84c5, "ldr x5, [x6], #8", linear(Some(6), None, 8, 64)),
    ];
    for (word, text, expected) in table {
        assert_eq!(decoded(word).effect.map(|(_, value)| value), expected, "{text}");
    }
    assert_eq!(decoded(0xa9bd_7bfd).stack, -48, "stp x29, x30, [sp, #-48]!");
    assert_eq!(decoded(0xa9bd_7bfd).effect, None, "the stack pointer moves once");
}

#[test]
fn branches_have_their_targets() {
    let to = |distance: i64, conditional| Flow::Branch { target: AT.wrapping_add_signed(distance), conditional };
    let table = [
        (0xb400_0082, "cbz x2, .+16", to(16, true)),
        (0x3727_ffc3, "tbnz w3, #4, .-8", to(-8, true)),
        (0x54ff_ffa1, "b.ne .-12", to(-12, true)),
        (0x1400_0001, "b .+4", to(4, false)),
        (0x9400_0400, "bl .+4096", Flow::Call(Some(AT + 4096))),
        (0xd63f_0100, "blr x8", Flow::Call(None)),
        (0xd61f_0220, "br x17", Flow::IndirectBranch),
        (0xd71f_0822, "braa x1, x2", Flow::IndirectBranch),
        (0xd65f_03c0, "ret", Flow::Return),
        (0xd65f_0bff, "retaa", Flow::Return),
        (0xd400_0001, "svc #0", Flow::SystemCall),
        (0xd420_0020, "brk #1", Flow::Stop),
        (0xd503_203f, "yield", Flow::Next),
    ];
    for (word, text, expected) in table {
        assert_eq!(decoded(word).flow, expected, "{text}");
    }
}

#[test]
fn atomic_changes_differ_from_those_that_can_be_repeated() {
    let table = [
        (0xb8e0_0041, "ldaddal w0, w1, [x2]", Some(Atomic::Changes), false),
        (0xf820_1041, "ldclr x0, x1, [x2]", Some(Atomic::Sets(Some(0))), false),
        (0xb8a0_8041, "swpa w0, w1, [x2]", Some(Atomic::Sets(Some(0))), false),
        (0xc8e0_fc41, "casal x0, x1, [x2]", Some(Atomic::Sets(Some(1))), false),
        (0xc802_fc01, "stlxr w2, x1, [x0]", Some(Atomic::Sets(Some(1))), true),
        (0xc85f_7c01, "ldxr x1, [x0]", None, false),
        (0x889f_fc01, "stlr w1, [x0]", None, false),
    ];
    for (word, text, atomic, exclusive) in table {
        let found = decoded(word);
        assert_eq!((found.atomic, found.exclusive), (atomic, exclusive), "{text}");
        assert_eq!(found.accesses().any(|access| access.kind == AccessKind::Atomic), atomic.is_some(), "{text}");
    }
}

#[test]
fn pauses_and_fences_are_recognised() {
    for (word, text) in [(0xd503_203f, "yield"), (0xd503_205f, "wfe"), (0xd503_3fdf, "isb")] {
        assert!(decoded(word).pause && !decoded(word).fence, "{text}");
    }
    for (word, text) in [(0xd503_3bbf, "dmb ish"), (0xd503_39bf, "dmb ishld")] {
        assert!(decoded(word).fence && !decoded(word).pause, "{text}");
    }
    assert!(!decoded(0xd503_233f).pause && !decoded(0xd503_233f).fence, "paciasp");
}

#[test]
fn flags_are_followed() {
    for (word, text, reads, writes) in [
        (0x7200_1c7f, "tst w3, #0xff", false, true),
        (0xf100_103f, "cmp x1, #4", false, true),
        (0xfa44_1820, "ccmp x1, #4, #0, ne", true, true),
        (0x9a83_0041, "csel x1, x2, x3, eq", true, false),
        (0x54ff_ffa1, "b.ne .-12", true, false),
        (0x1e61_2000, "fcmp d0, d1", false, true),
        (0xd53b_4201, "mrs x1, nzcv", true, false),
        (0xd51b_4201, "msr nzcv, x1", false, true),
        (0x9a02_0020, "adc x0, x1, x2", true, false),
        (0x8b03_0c41, "add x1, x2, x3, lsl #3", false, false),
    ] {
        let found = decoded(word);
        assert_eq!((found.reads_flags, found.writes_flags), (reads, writes), "{text}");
    }
}

#[test]
fn undefined_words_end_the_code() {
    // An undefined word, an instruction of SVE (ld1b), and too few bytes.
    for word in [0x0000_0000, 0xa400_a000] {
        assert_eq!(AArch64.decode(AT, &u32::to_le_bytes(word)), None, "{word:08x}");
    }
    assert_eq!(AArch64.decode(AT, &[0xc0, 0x03, 0x5f]), None);
}
