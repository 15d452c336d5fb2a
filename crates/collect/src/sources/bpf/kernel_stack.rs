//! What the kernel functions on a call path show about a wait: its reason, and which function takes the lock.

use recording::tables::{KernelWait, Reason};

/// What the kernel functions on a call path show.
#[derive(Debug)]
pub(super) struct KernelSide {
    pub(super) reason: Option<Reason>,
    pub(super) lock_taker: Option<String>,
}

/// Evaluates these functions, innermost first.
pub(super) fn kernel_side(functions: &[String]) -> KernelSide {
    KernelSide { reason: reason(functions), lock_taker: lock_taker(functions).map(str::to_owned) }
}

/// What a thread in these kernel functions waits for, if they say more than the system call does.
fn reason(functions: &[String]) -> Option<Reason> {
    let any = |names: &[&str]| functions.iter().any(|f| names.iter().any(|name| f.starts_with(name)));
    // mm/vmscan.c, mm/compaction.c, mm/page-writeback.c: memory must be freed or written first.
    if any(&["try_to_free_pages", "shrink_", "do_try_to_free", "try_to_compact", "balance_dirty_pages"]) {
        return Some(Reason::Reclaim);
    }
    // mm/filemap.c: the fault or call waits for a page that is being read or written.
    if any(&["folio_wait_", "io_schedule", "wait_on_page", "__lock_page", "__folio_lock", "filemap_"]) {
        return Some(Reason::Io);
    }
    // kernel/exit.c, fs/exec.c: the last thread of a process waits for the others.
    if any(&["de_thread", "do_exit", "do_group_exit", "coredump_wait"]) {
        return Some(Reason::Exit);
    }
    None
}

/// Kernel functions that implement locks, or belong to knee's own observing.
const LOCKING: [&str; 22] = [
    "mutex_",
    "__mutex_",
    "ww_mutex",
    "rt_mutex",
    "down_",
    "__down",
    "up_",
    "__up",
    "rwsem_",
    "_raw_",
    "__raw_",
    "native_queued",
    "queued_",
    "__pv_queued",
    "pv_queued",
    "osq_",
    "percpu_",
    "__percpu_",
    "bpf_",
    "trace_",
    "__traceiter",
    "__bpf",
];

/// The kernel function that takes the lock, from a stack with the innermost function first.
fn lock_taker(functions: &[String]) -> Option<&str> {
    let locks = |f: &&String| {
        LOCKING.iter().any(|prefix| f.starts_with(prefix))
            || f.contains("_slowpath")
            || f.starts_with("schedule")
            || f.starts_with("__schedule")
            || f.starts_with("do_raw_spin")
    };
    functions.iter().find(|f| !locks(f) && !f.is_empty()).map(String::as_str)
}

/// The flags of contention_begin in words (include/trace/events/lock.h).
pub(super) fn lock_kind(flags: u32) -> KernelWait {
    const SPIN: u32 = 1;
    const READ: u32 = 2;
    const WRITE: u32 = 4;
    const MUTEX: u32 = 32;
    match flags {
        f if f & MUTEX != 0 => KernelWait::Mutex,
        f if f & READ != 0 => KernelWait::Read,
        f if f & WRITE != 0 => KernelWait::Write,
        f if f & SPIN != 0 => KernelWait::Spin,
        _ => KernelWait::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_taker_is_the_first_function_that_is_not_the_lock() {
        let stack = names(&["rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff", "do_syscall_64"]);
        assert_eq!(lock_taker(&stack), Some("vm_mmap_pgoff"));
        let stack = names(&["__pv_queued_spin_lock_slowpath", "_raw_spin_lock", "futex_wait_setup"]);
        assert_eq!(lock_taker(&stack), Some("futex_wait_setup"));
        assert_eq!(lock_taker(&names(&["_raw_spin_lock"])), None);
    }

    #[test]
    fn a_fault_that_reads_a_page_waits_for_input() {
        assert_eq!(reason(&names(&["io_schedule", "folio_wait_bit_common", "filemap_fault"])), Some(Reason::Io));
        assert_eq!(reason(&names(&["schedule", "try_to_free_pages", "do_anonymous_page"])), Some(Reason::Reclaim));
        assert_eq!(reason(&names(&["schedule", "futex_wait_queue"])), None);
    }
}
