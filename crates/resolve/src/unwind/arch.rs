//! What unwinding needs to know about the architecture: x86-64 and aarch64.

use std::sync::Arc;

use framehop::{Error, MustNotAllocateDuringUnwind};

use crate::address::UserRegisters;

/// Finds the rule for an address and applies it, without allocating, which would cost more than the unwinding.
pub(crate) type Engine = framehop::UnwinderNative<Arc<[u8]>, MustNotAllocateDuringUnwind>;

/// The cached rules of addresses.
pub(crate) type Rules = framehop::CacheNative<MustNotAllocateDuringUnwind>;

/// The registers of the frame that is being unwound, as far as unwinding needs them.
pub(crate) type FrameRegisters = framehop::UnwindRegsNative;

/// The state at the innermost frame.
#[cfg(target_arch = "x86_64")]
pub(crate) fn start(registers: &UserRegisters, _highest: u64) -> FrameRegisters {
    FrameRegisters::new(registers.ip, registers.sp, registers.bp)
}

/// The frame pointer of the frame that is being unwound.
#[cfg(target_arch = "x86_64")]
pub(crate) fn frame_pointer(state: &FrameRegisters) -> u64 {
    state.bp()
}

/// The stack pointer of the frame that is being unwound.
pub(crate) fn stack_pointer(state: &FrameRegisters) -> u64 {
    state.sp()
}

/// Moves the stack pointer of the frame that is being unwound.
pub(crate) fn set_stack_pointer(state: &mut FrameRegisters, sp: u64) {
    state.set_sp(sp);
}

/// The state at the innermost frame. Return addresses may carry a signature in the bits that no code address uses.
#[cfg(target_arch = "aarch64")]
pub(crate) fn start(registers: &UserRegisters, highest: u64) -> FrameRegisters {
    let mask = match highest {
        0 => framehop::aarch64::PtrAuthMask::new_no_strip(),
        _ => framehop::aarch64::PtrAuthMask::from_max_known_address(highest),
    };
    FrameRegisters::new_with_ptr_auth_mask(mask, registers.lr, registers.sp, registers.bp)
}

/// The frame pointer of the frame that is being unwound.
#[cfg(target_arch = "aarch64")]
pub(crate) fn frame_pointer(state: &FrameRegisters) -> u64 {
    state.fp()
}

/// Leaves a frame whose return address is `skip` bytes above the stack pointer. `frame_pointer`: where the caller's
/// frame pointer is, if it was saved, in bytes above the stack pointer. None at a return address of zero, which ends a
/// stack.
#[cfg(target_arch = "x86_64")]
pub(crate) fn leave(
    state: &mut FrameRegisters,
    skip: u64,
    frame_pointer: Option<u64>,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Result<Option<u64>, Error> {
    let sp = state.sp();
    let mut word = |distance: u64| {
        let at = sp.checked_add(distance).ok_or(Error::IntegerOverflow)?;
        read(at).map_err(|()| Error::CouldNotReadStack(at))
    };
    let (ip, bp) = (word(skip)?, frame_pointer.map(&mut word).transpose()?);
    if ip == 0 {
        return Ok(None);
    }
    state.set_ip(ip);
    state.set_bp(bp.unwrap_or(state.bp()));
    state.set_sp(sp.checked_add(skip).and_then(|sp| sp.checked_add(8)).ok_or(Error::IntegerOverflow)?);
    Ok(Some(ip))
}

/// Leaves a frame of a function that has moved its stack pointer to an aligned address: see
/// [`Leaving::Realigned`](super::leaving::Leaving::Realigned).
#[cfg(target_arch = "x86_64")]
pub(crate) fn leave_realigned(
    state: &mut FrameRegisters,
    kept_at: i64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Result<Option<u64>, Error> {
    let mut word = |at: Option<u64>| {
        let at = at.ok_or(Error::IntegerOverflow)?;
        read(at).map_err(|()| Error::CouldNotReadStack(at))
    };
    let fp = state.bp();
    let (frame, caller_fp) = (word(fp.checked_add_signed(kept_at))?, word(Some(fp))?);
    let ip = word(frame.checked_sub(8))?;
    if frame <= state.sp() {
        return Err(Error::FramepointerUnwindingMovedBackwards);
    }
    if ip == 0 {
        return Ok(None);
    }
    state.set_ip(ip);
    state.set_bp(caller_fp);
    state.set_sp(frame);
    Ok(Some(ip))
}

/// Leaves the kernel's call of a signal handler; returns the address of the interrupted instruction.
#[cfg(target_arch = "x86_64")]
pub(crate) fn interrupted(
    state: &mut FrameRegisters,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Result<u64, Error> {
    use crate::unwind::leaving::{SIGNAL_BP, SIGNAL_IP, SIGNAL_SP};
    let sp = state.sp();
    let mut word = |distance: u64| {
        let at = sp.checked_add(distance).ok_or(Error::IntegerOverflow)?;
        read(at).map_err(|()| Error::CouldNotReadStack(at))
    };
    let (ip, sp, bp) = (word(SIGNAL_IP)?, word(SIGNAL_SP)?, word(SIGNAL_BP)?);
    *state = FrameRegisters::new(ip, sp, bp);
    Ok(ip)
}

/// On this architecture, frames are not left by looking at their instructions.
#[cfg(target_arch = "aarch64")]
pub(crate) fn leave(
    _state: &mut FrameRegisters,
    _skip: u64,
    _frame_pointer: Option<u64>,
    _read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Result<Option<u64>, Error> {
    Err(Error::DidNotAdvance)
}

/// As for `leave`.
#[cfg(target_arch = "aarch64")]
pub(crate) fn interrupted(
    _state: &mut FrameRegisters,
    _read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Result<u64, Error> {
    Err(Error::DidNotAdvance)
}

/// As for `leave`.
#[cfg(target_arch = "aarch64")]
pub(crate) fn leave_realigned(
    _state: &mut FrameRegisters,
    _kept_at: i64,
    _read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Result<Option<u64>, Error> {
    Err(Error::DidNotAdvance)
}
