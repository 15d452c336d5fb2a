//! What a place's first hit told, and names for what was waited for: files behind descriptors, locks in the kernel.
//!
//! May import: /proc, `recording`.

use recording::StackId;
use recording::tables::{KernelWait, Reason};
use std::cell::OnceCell;
use std::path::Path;

/// What a place's first hit told.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Whose place it is.
    pub(super) thread: u32,
    pub(super) operation: u64,
    pub(super) expected: u32,
    pub(super) timed: bool,
    /// The number of the call path.
    pub(super) path: u32,
    /// The file behind the descriptor that the call was given.
    pub(super) file: Option<FileKind>,
}

/// The stacks of a call path.
#[derive(Debug, Default)]
pub(super) struct PathStacks {
    pub(super) user: Option<StackId>,
    pub(super) kernel: Option<StackId>,
    /// Code addresses of the kernel's stack, innermost first.
    pub(super) kernel_code: Vec<u64>,
    /// What follows from them, when somebody has asked.
    pub(super) kernel_side: OnceCell<KernelSide>,
}

/// What the kernel's functions on a call path tell.
#[derive(Debug)]
pub(super) struct KernelSide {
    pub(super) reason: Option<Reason>,
    pub(super) lock_taker: Option<String>,
}

/// What a descriptor stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKind {
    Pipe,
    Socket,
    /// A file, folder or device, by path where that could be read in time.
    Named(Option<String>),
    /// eventfd, epoll, timerfd and the like, by the kernel's name.
    Anonymous(String),
}

impl FileKind {
    /// From the mode of the inode that the kernel saw, and the link in /proc, which may be of a later moment.
    pub(crate) fn of(mode: u32, link: Option<&Path>) -> Option<FileKind> {
        let text = link.map(|link| link.to_string_lossy().into_owned());
        match mode & libc::S_IFMT {
            libc::S_IFIFO => Some(FileKind::Pipe),
            libc::S_IFSOCK => Some(FileKind::Socket),
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK | libc::S_IFCHR => {
                // The descriptor may have been closed and used again: then the link names something else.
                Some(FileKind::Named(text.filter(|text| text.starts_with('/'))))
            }
            // Inodes without a type are those of anon_inode.
            0 if mode != 0 => {
                let name = text.as_deref().and_then(|text| text.strip_prefix("anon_inode:"));
                Some(FileKind::Anonymous(name.unwrap_or("anonymous file").trim_matches(['[', ']']).to_owned()))
            }
            _ => None,
        }
    }

    /// In words.
    pub(crate) fn name(&self) -> String {
        match self {
            FileKind::Pipe => "pipe".to_owned(),
            FileKind::Socket => "socket".to_owned(),
            FileKind::Named(path) => path.clone().unwrap_or_else(|| "file".to_owned()),
            FileKind::Anonymous(name) => name.clone(),
        }
    }

    /// What a thread waits for that blocks in reading or writing such a file.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            FileKind::Pipe | FileKind::Socket => Reason::Pipe,
            FileKind::Named(_) => Reason::Io,
            FileKind::Anonymous(_) => Reason::Poll,
        }
    }
}

/// What a thread in these kernel functions, innermost first, waits for, where they tell more than the system call.
pub(super) fn reason_in_kernel(functions: &[String]) -> Option<Reason> {
    let any = |names: &[&str]| functions.iter().any(|f| names.iter().any(|name| f.starts_with(name)));
    // mm/vmscan.c, mm/compaction.c, mm/page-writeback.c: memory has to be freed, or written, first.
    if any(&["try_to_free_pages", "shrink_", "do_try_to_free", "try_to_compact", "balance_dirty_pages"]) {
        return Some(Reason::Reclaim);
    }
    // mm/filemap.c: the fault or call waits for a page that is being read or written.
    if any(&["folio_wait_", "io_schedule", "wait_on_page", "__lock_page", "__folio_lock", "filemap_"]) {
        return Some(Reason::Io);
    }
    // kernel/exit.c, fs/exec.c: the last of a process waits for the others.
    if any(&["de_thread", "do_exit", "do_group_exit", "coredump_wait"]) {
        return Some(Reason::Exit);
    }
    None
}

/// Kernel functions that are the lock itself, or knee's looking at it.
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

/// The kernel function that takes the lock, of a stack with the innermost first.
pub(super) fn lock_taker(functions: &[String]) -> Option<&str> {
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
pub(super) fn how(flags: u32) -> KernelWait {
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
    fn descriptors_are_named_by_what_the_kernel_saw() {
        let link = Path::new("/data/file");
        assert_eq!(FileKind::of(0o100644, Some(link)).unwrap().name(), "/data/file");
        // Closed and used again before the link was read.
        assert_eq!(FileKind::of(0o100644, Some(Path::new("socket:[7]"))).unwrap().name(), "file");
        assert_eq!(FileKind::of(0o010600, Some(link)), Some(FileKind::Pipe));
        assert_eq!(FileKind::of(0o140777, None).unwrap().reason(), Reason::Pipe);
        assert_eq!(FileKind::of(0o600, Some(Path::new("anon_inode:[eventfd]"))).unwrap().name(), "eventfd");
        assert_eq!(FileKind::of(0, Some(link)), None);
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
        assert_eq!(
            reason_in_kernel(&names(&["io_schedule", "folio_wait_bit_common", "filemap_fault"])),
            Some(Reason::Io)
        );
        assert_eq!(
            reason_in_kernel(&names(&["schedule", "try_to_free_pages", "do_anonymous_page"])),
            Some(Reason::Reclaim)
        );
        assert_eq!(reason_in_kernel(&names(&["schedule", "futex_wait_queue"])), None);
    }
}
