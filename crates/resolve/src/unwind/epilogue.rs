//! How to leave a frame of a function that keeps no frame pointer, from the function's end further on.
//!
//! Compilers at run time may leave the frame pointer out and write no unwind information: Mono does. Between the
//! beginning and the end of such a function the stack pointer stays where it is, so what the end releases shows where the
//! return address is. Imports `leaving`. Only x86-64 code is understood; on other architectures nothing is found.

use super::leaving::Leaving;

/// How many bytes of code are searched for the end. Methods are mostly shorter; where no end is found, the frame pointer is
/// used.
pub(super) const AHEAD: usize = 2048;

/// The longest call instruction, in bytes: with a prefix, a base, an index and a distance of four bytes.
pub(super) const CALL: usize = 8;

/// How the function is left at the first end after an address inside it; none where the stack pointer changes before.
#[cfg(target_arch = "x86_64")]
pub(super) fn end_ahead(code: &[u8], address: u64) -> Option<Leaving> {
    use super::leaving::ending;
    use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut restored = None;
    while decoder.can_decode() {
        if let Some(Leaving::Return { skip, frame_pointer }) = ending(code.get(decoder.position()..)?) {
            // A function that calls has a frame: the stack pointer of a called function is not aligned otherwise.
            return (skip > 0).then_some(Leaving::Checked { skip, frame_pointer: frame_pointer.or(restored) });
        }
        let instruction = decoder.decode();
        let moves_stack = matches!(instruction.mnemonic(), Mnemonic::Leave | Mnemonic::Enter)
            || instruction.stack_pointer_increment() != 0 && instruction.flow_control() == FlowControl::Next
            || instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP;
        if instruction.is_invalid() || moves_stack {
            return None;
        }
        // The end restores the caller's frame pointer where the function used the register for something else.
        let restores = instruction.code() == Code::Mov_r64_rm64
            && instruction.op0_register() == Register::RBP
            && instruction.memory_base() == Register::RSP
            && instruction.memory_index() == Register::None;
        if restores {
            restored = Some(instruction.memory_displacement64());
        } else if instruction.flow_control() != FlowControl::Next {
            restored = None;
        }
    }
    None
}

/// How many bytes of code are searched for the end of a function that keeps a frame pointer. Functions of V8's library
/// (`KeyedHasIC_Megamorphic`) have 3.5 KB.
pub(super) const FAR_AHEAD: usize = 8192;

/// True when the function sets its stack pointer back by the frame pointer, further on: it keeps one.
#[cfg(target_arch = "x86_64")]
pub(super) fn keeps_frame_pointer(code: &[u8], address: u64) -> bool {
    use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let moved = match instruction.op0_kind() {
            OpKind::Register => instruction.op0_register(),
            _ => Register::None,
        };
        let by_pointer = match instruction.mnemonic() {
            Mnemonic::Leave => return true,
            Mnemonic::Mov => instruction.op1_kind() == OpKind::Register && instruction.op1_register() == Register::RBP,
            Mnemonic::Lea => instruction.memory_base() == Register::RBP,
            _ => false,
        };
        if moved == Register::RSP && by_pointer {
            return true;
        }
        // Here the next function begins.
        let begins = moved == Register::RBP
            && instruction.op1_kind() == OpKind::Register
            && instruction.op1_register() == Register::RSP;
        if begins || instruction.is_invalid() || instruction.flow_control() == FlowControl::Return {
            return false;
        }
    }
    false
}

/// On other architectures, code without unwind information is unwound by frame pointers.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn keeps_frame_pointer(_code: &[u8], _address: u64) -> bool {
    false
}

/// True when a call ends where these bytes of code end.
#[cfg(target_arch = "x86_64")]
pub(super) fn ends_with_call(code: &[u8]) -> bool {
    use iced_x86::{Decoder, DecoderOptions, FlowControl};
    (0..code.len()).filter_map(|from| code.get(from..)).any(|code| {
        let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
        let calls = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        calls && instruction.len() == code.len()
    })
}

/// On other architectures, code without unwind information is unwound by frame pointers.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn end_ahead(_code: &[u8], _address: u64) -> Option<Leaving> {
    None
}

/// As for `end_ahead`.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn ends_with_call(_code: &[u8]) -> bool {
    false
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// mov %rax, 8(%rsp); call; test; je; mov 0x18(%rsp), %rbx; then the given end.
    fn method(end: &[u8]) -> Vec<u8> {
        let body = [
            &[0x48, 0x89, 0x44, 0x24, 0x08][..],
            &[0xe8, 1, 2, 3, 4],
            &[0x85, 0xc0, 0x74, 0x05],
            &[0x48, 0x8b, 0x5c, 0x24, 0x18],
        ];
        [&body.concat(), end].concat()
    }

    #[test]
    fn the_end_shows_where_the_return_address_is() {
        let left = |end: &[u8]| end_ahead(&method(end), 0x1000);
        let small = Some(Leaving::Checked { skip: 0x28, frame_pointer: None });
        assert_eq!(left(&[0x48, 0x83, 0xc4, 0x28, 0xc3]), small);
        let large = Some(Leaving::Checked { skip: 0x128, frame_pointer: None });
        assert_eq!(left(&[0x48, 0x81, 0xc4, 0x28, 1, 0, 0, 0xc3]), large);
        // mov 0x20(%rsp), %rbp: the register held something else meanwhile.
        let saved = Some(Leaving::Checked { skip: 0x28, frame_pointer: Some(0x20) });
        assert_eq!(left(&[0x48, 0x8b, 0x6c, 0x24, 0x20, 0x48, 0x83, 0xc4, 0x28, 0xc3]), saved);
    }

    #[test]
    fn a_function_that_ends_by_its_frame_pointer_keeps_one() {
        let keeps = |end: &[u8]| keeps_frame_pointer(&method(end), 0x1000);
        // mov %rbp, %rsp; pop %rbp; ret, as V8 writes it, also before a jump to another function
        assert!(keeps(&[0x48, 0x8b, 0xe5, 0x5d, 0xc3]));
        assert!(keeps(&[0x50, 0x48, 0x8b, 0xe5, 0x5d, 0xff, 0xe1]));
        // leave; lea -8(%rbp), %rsp
        assert!(keeps(&[0xc9, 0xc3]));
        assert!(keeps(&[0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3]));
        // It returns without: add $0x28, %rsp; ret. What follows is another function.
        assert!(!keeps(&[0x48, 0x83, 0xc4, 0x28, 0xc3, 0xc9, 0xc3]));
        // It ends with a jump, and the next function begins: push %rbp; mov %rsp, %rbp; leave; ret
        assert!(!keeps(&[0xff, 0xe1, 0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3]));
        assert!(!keeps(&[]));
    }

    #[test]
    fn functions_that_move_the_stack_pointer_are_left_by_frame_pointers() {
        let left = |end: &[u8]| end_ahead(&method(end), 0x1000);
        // leave; ret
        assert_eq!(left(&[0xc9, 0xc3]), None);
        // lea -8(%rbp), %rsp; pop %rbx; pop %rbp; ret
        assert_eq!(left(&[0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3]), None);
        // push %rax; call; add $8, %rsp; nop; add $0x28, %rsp; ret
        assert_eq!(left(&[0x50, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0x90, 0x48, 0x83, 0xc4, 0x28, 0xc3]), None);
        // ret at once, no end, not code
        assert_eq!(left(&[0xc3]), None);
        assert_eq!(left(&[]), None);
        assert_eq!(left(&[0x06, 0xc3]), None);
    }

    #[test]
    fn calls_are_recognised_by_their_last_byte() {
        // call rel32; call *%rax; call *%r11; call *8(%rax); call *0x10(%rsp); call *rel32(%rip)
        let calls: [&[u8]; 6] = [
            &[0xe8, 1, 2, 3, 4],
            &[0xff, 0xd0],
            &[0x41, 0xff, 0xd3],
            &[0xff, 0x50, 8],
            &[0xff, 0x54, 0x24, 0x10],
            &[0xff, 0x15, 1, 2, 3, 4],
        ];
        for call in calls {
            assert!(ends_with_call(&[&[0x90, 0x90], call].concat()), "{call:x?}");
        }
        // jmp rel32; mov; a call before the end; nothing
        assert!(!ends_with_call(&[0xe9, 1, 2, 3, 4]));
        assert!(!ends_with_call(&[0x48, 0x89, 0x44, 0x24, 0x08]));
        assert!(!ends_with_call(&[0xe8, 1, 2, 3, 4, 0x90]));
        assert!(!ends_with_call(&[]));
    }

    proptest::proptest! {
        #[test]
        fn any_code_can_be_searched(code: Vec<u8>) {
            ends_with_call(&code);
            if let Some(Leaving::Checked { skip, .. }) = end_ahead(&code, 0x1000) {
                proptest::prop_assert!(skip > 0);
            }
        }
    }
}
