//! How to leave a frame without unwind information, from the instructions at its address.
//!
//! Imports nothing of the crate. Only x86-64 code is understood; on other architectures nothing is found.

/// How a frame is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It is the outermost one of its stack.
    Outermost,
    /// Its caller is on another stack.
    OtherStack,
    /// The return address is `skip` bytes above the stack pointer, and the caller's frame pointer `frame_pointer` bytes
    /// above it; without `frame_pointer`, the caller's is still in the register.
    Return { skip: u64, frame_pointer: Option<u64> },
    /// As `Return`, but only if a call comes before the address that is found there: the end that was found further on may be
    /// that of another function.
    Checked { skip: u64, frame_pointer: Option<u64> },
    /// The return address is above what the frame pointer points to, which is the caller's; but only if a call comes before
    /// the address that is found there.
    Framed,
    /// The function has moved its stack pointer to an aligned address. Where its frame begins is kept `kept_at` bytes from
    /// the frame pointer, which points to the caller's.
    Realigned { kept_at: i64 },
    /// It returns to the kernel after a signal: the registers of the interrupted code are above the stack pointer.
    Signal,
}

/// How many bytes of code are looked at.
pub(crate) const CODE: usize = 48;

/// Where the kernel saves the interrupted code's registers on the stack of a signal handler, in bytes above the stack
/// pointer at the handler's return: `struct ucontext` of x86-64, arch/x86/include/uapi/asm/sigcontext.h.
pub(crate) const SIGNAL_BP: u64 = 120;
pub(crate) const SIGNAL_SP: u64 = 160;
pub(crate) const SIGNAL_IP: u64 = 168;

/// Determines how a frame is left from the instructions at its address. `entry` is true for the innermost frame, which
/// may be at the beginning of its function.
#[cfg(target_arch = "x86_64")]
pub(crate) fn leaving(code: &[u8], entry: bool) -> Option<Leaving> {
    if is_signal_return(code) {
        return Some(Leaving::Signal);
    }
    // The first instructions of a function that keeps frame pointers: nothing has been pushed yet.
    const PUSH_FRAME_POINTER: [&[u8]; 2] = [&[0x55, 0x48, 0x89, 0xe5], &[0x55, 0x48, 0x8b, 0xec]];
    let code_without_mark = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code); // endbr64
    if entry && PUSH_FRAME_POINTER.iter().any(|start| code_without_mark.starts_with(start)) {
        return Some(Leaving::Return { skip: 0, frame_pointer: None });
    }
    let saved = || Leaving::Return { skip: 8, frame_pointer: Some(0) };
    if entry && PUSH_FRAME_POINTER.iter().any(|start| code.starts_with(&start[1..])) {
        return Some(saved());
    }
    ending(code)
}

/// On other architectures, code without unwind information is unwound by frame pointers.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn leaving(_code: &[u8], _entry: bool) -> Option<Leaving> {
    None
}

/// `mov $15, %rax` or `%eax`, then `syscall`: rt_sigreturn, to which signal handlers return.
#[cfg(target_arch = "x86_64")]
fn is_signal_return(code: &[u8]) -> bool {
    let call: [&[u8]; 2] = [&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05], &[0xb8, 15, 0, 0, 0, 0x0f, 0x05]];
    call.iter().any(|call| code.starts_with(call))
}

/// The end of a function: only instructions that release its stack, up to the return.
#[cfg(target_arch = "x86_64")]
pub(super) fn ending(mut code: &[u8]) -> Option<Leaving> {
    let (mut skip, mut frame_pointer) = (0u64, None);
    loop {
        code = match *code {
            // add $imm8, %rsp; add $imm32, %rsp
            [0x48, 0x83, 0xc4, size, ..] if size < 0x80 => {
                skip = skip.checked_add(size.into())?;
                &code[4..]
            }
            [0x48, 0x81, 0xc4, a, b, c, d, ..] if d < 0x80 => {
                skip = skip.checked_add(u32::from_le_bytes([a, b, c, d]).into())?;
                &code[7..]
            }
            // pop; a pop of the frame pointer shows where it was saved
            [0x5d, ..] => {
                frame_pointer = Some(skip);
                skip += 8;
                &code[1..]
            }
            [0x58..=0x5b | 0x5e | 0x5f, ..] => {
                skip += 8;
                &code[1..]
            }
            [0x41, 0x58..=0x5f, ..] => {
                skip += 8;
                &code[2..]
            }
            // vzeroupper
            [0xc5, 0xf8, 0x77, ..] => &code[3..],
            // ret, also with the prefix that old processors predict better
            [0xc3, ..] | [0xf3, 0xc3, ..] => return Some(Leaving::Return { skip, frame_pointer }),
            _ => return None,
        };
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_function_shows_where_the_return_address_is() {
        let left = |code: &[u8]| leaving(code, false);
        assert_eq!(left(&[0x48, 0x83, 0xc4, 8, 0xc3]), Some(Leaving::Return { skip: 8, frame_pointer: None }));
        let code = [0x48, 0x81, 0xc4, 0, 2, 0, 0, 0x5b, 0x41, 0x5c, 0x5d, 0xc5, 0xf8, 0x77, 0xc3];
        assert_eq!(left(&code), Some(Leaving::Return { skip: 536, frame_pointer: Some(528) }));
        assert_eq!(left(&[0xc3]), Some(Leaving::Return { skip: 0, frame_pointer: None }));
        // A pop into the stack pointer, an addition of a negative number, a jump, the end of the known bytes.
        assert_eq!(left(&[0x5c, 0xc3]), None);
        assert_eq!(left(&[0x48, 0x83, 0xc4, 0xf8, 0xc3]), None);
        assert_eq!(left(&[0x48, 0x83, 0xc4, 8, 0xeb, 3]), None);
        assert_eq!(left(&[0x5b]), None);
    }

    #[test]
    fn a_function_that_has_just_begun_has_no_frame_yet() {
        let just = Some(Leaving::Return { skip: 0, frame_pointer: None });
        assert_eq!(leaving(&[0x55, 0x48, 0x89, 0xe5, 0x90], true), just);
        assert_eq!(leaving(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x8b, 0xec], true), just);
        assert_eq!(leaving(&[0x48, 0x89, 0xe5], true), Some(Leaving::Return { skip: 8, frame_pointer: Some(0) }));
        assert_eq!(leaving(&[0x55, 0x48, 0x89, 0xe5, 0x90], false), None);
    }

    #[test]
    fn returns_from_signals_are_recognised() {
        assert_eq!(leaving(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05], false), Some(Leaving::Signal));
        assert_eq!(leaving(&[0xb8, 15, 0, 0, 0, 0x0f, 0x05], false), Some(Leaving::Signal));
        assert_eq!(leaving(&[0xb8, 14, 0, 0, 0, 0x0f, 0x05], false), None);
    }

    proptest::proptest! {
        #[test]
        fn any_code_can_be_read(code: Vec<u8>, entry: bool) {
            if let Some(Leaving::Return { skip, frame_pointer }) = leaving(&code, entry) {
                proptest::prop_assert!(frame_pointer.is_none_or(|at| at < skip));
            }
        }
    }
}
