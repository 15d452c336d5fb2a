//! What a kernel stack shows: a page fault, or a thread that is taking a contended lock.

use crate::model::Model;
use recording::StackId;

/// Kernel functions in which a page fault is handled.
const FAULT_FUNCTIONS: &[&str] =
    &["exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "do_page_fault", "do_mem_abort"];

/// The slow paths of the kernel's locks, by the start of their names (kernel/locking/): a thread is there only when
/// another has the lock. The fast paths are inlined into the callers.
const LOCK_FUNCTIONS: &[&str] = &[
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "rwsem_optimistic_spin",
    "rwsem_spin_on_owner",
    "rwsem_wake",
    "osq_lock",
    "mutex_spin_on_owner",
    "__mutex_lock",
    "__ww_mutex_lock",
    "percpu_rwsem_wait",
    "__rt_mutex_slowlock",
];

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
    let names = || frames.iter().filter_map(|c| c.name());
    match () {
        () if names().take(LOCK_DEPTH).any(|n| LOCK_FUNCTIONS.iter().any(|f| n.starts_with(f))) => KernelCode::Lock,
        () if names().any(|n| FAULT_FUNCTIONS.iter().any(|f| n.contains(f))) => KernelCode::Fault,
        () => KernelCode::Other,
    }
}
