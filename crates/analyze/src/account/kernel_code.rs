//! What a kernel stack shows: a page fault, or a thread that is taking a contended lock.

use crate::model::Model;
use crate::runtimes::kernel::{self, KernelFunction};
use recording::StackId;

/// A kernel lock's slow path calls few functions: a frame this far out, or farther, belongs to the lock's caller.
///
/// Decides: whether a kernel sample shows an attempt to get a lock: only this many innermost named frames are searched
/// for one of the kernel's lock functions.
/// From: chosen; no measurement.
/// Shown by: `every_kind_of_line_balances`, where the lock's function is the innermost.
/// Wrong if: the kernel was built with lock debugging, which adds calls inside the lock functions: their time is then
/// booked to the system call or to the page fault.
const LOCK_DEPTH: usize = 6;

/// What a kernel stack shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelCode {
    /// It tries to get a lock.
    Lock,
    /// It handles a page fault.
    Fault,
    /// Something else, or no stack.
    Other,
}

/// What a kernel stack shows.
pub(super) fn kernel_code(model: &Model<'_>, stack: Option<StackId>) -> KernelCode {
    let Some(stack) = stack else { return KernelCode::Other };
    let frames = model.stacks.frames(stack);
    let known = || frames.iter().filter_map(|c| c.name()).map(kernel::function);
    match () {
        () if known().take(LOCK_DEPTH).any(|f| f == Some(KernelFunction::Lock)) => KernelCode::Lock,
        () if known().any(|f| f == Some(KernelFunction::Fault)) => KernelCode::Fault,
        () => KernelCode::Other,
    }
}
