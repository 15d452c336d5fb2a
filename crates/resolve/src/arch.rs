//! What unwinding needs to know of the processor's architecture: x86-64 and aarch64.
//!
//! May import `address`.

use std::sync::Arc;

use framehop::MustNotAllocateDuringUnwind;

use crate::address::UserRegisters;

/// Finds the rule for an address and applies it; allocates nothing, since that would cost more than the unwinding.
pub(crate) type Engine = framehop::UnwinderNative<Arc<[u8]>, MustNotAllocateDuringUnwind>;

/// The rules of the addresses that were met.
pub(crate) type Rules = framehop::CacheNative<MustNotAllocateDuringUnwind>;

/// The registers of the frame that is being unwound, as far as unwinding needs them.
pub(crate) type State = framehop::UnwindRegsNative;

/// The state at the innermost frame.
#[cfg(target_arch = "x86_64")]
pub(crate) fn start(registers: &UserRegisters, _highest: u64) -> State {
    State::new(registers.ip, registers.sp, registers.bp)
}

/// The frame pointer of the frame that is being unwound.
#[cfg(target_arch = "x86_64")]
pub(crate) fn frame_pointer(state: &State) -> u64 {
    state.bp()
}

/// The state at the innermost frame. Return addresses may carry a signature in the bits that no code address uses.
#[cfg(target_arch = "aarch64")]
pub(crate) fn start(registers: &UserRegisters, highest: u64) -> State {
    let mask = match highest {
        0 => framehop::aarch64::PtrAuthMask::new_no_strip(),
        _ => framehop::aarch64::PtrAuthMask::from_max_known_address(highest),
    };
    State::new_with_ptr_auth_mask(mask, registers.lr, registers.sp, registers.bp)
}

/// The frame pointer of the frame that is being unwound.
#[cfg(target_arch = "aarch64")]
pub(crate) fn frame_pointer(state: &State) -> u64 {
    state.fp()
}
