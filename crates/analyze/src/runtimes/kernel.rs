//! The Linux kernel, as far as its functions, locks and threads tell by their names what they do.

/// What a function of the kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFunction {
    /// It takes a lock that another thread has.
    Lock,
    /// It handles a page fault.
    Fault,
}

/// What a lock of the kernel protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelObject {
    /// The process's map of its memory.
    MemoryMap,
    /// One file.
    File,
    /// The position of one open file.
    FilePosition,
    /// One pipe.
    Pipe,
    /// One socket.
    Socket,
    /// One epoll instance.
    Epoll,
    /// The process's table of open files.
    OpenFiles,
    /// The kernel's free pages.
    FreePages,
    /// The kernel's cache of path names.
    PathNames,
    /// The kernel's list of threads.
    Threads,
}

/// Parts of the names of functions in which a page fault is handled.
const FAULTS: &[&str] = &["exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "do_page_fault", "do_mem_abort"];

/// The slow paths of the kernel's locks, by the start of their names (kernel/locking/): a thread is there only when
/// another has the lock. The fast paths are inlined into the callers.
const LOCKS: &[&str] = &[
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

/// Parts of the names under which tracing shows a lock: the lock's own, or those of the functions that take it.
const OBJECTS: &[(KernelObject, &[&str])] = &[
    (KernelObject::MemoryMap, &["mmap_lock", "mmap_sem", "vm_mmap_pgoff", "__vm_munmap", "vm_lock"]),
    (KernelObject::File, &["i_rwsem", "s_type->i_", "i_mutex", "inode_lock", "ext4_", "xfs_ilock", "btrfs_"]),
    (KernelObject::FilePosition, &["f_pos_lock", "fdget_pos"]),
    (KernelObject::Pipe, &["pipe_"]),
    (KernelObject::Socket, &["sk_lock", "lock_sock", "sock_lock", "unix_"]),
    (KernelObject::Epoll, &["ep->", "ep_poll", "epoll"]),
    (KernelObject::OpenFiles, &["files_lock", "file_lock", "fd_install", "alloc_fd", "__alloc_fd"]),
    (KernelObject::FreePages, &["zone", "rmqueue", "lruvec", "lru_add", "pcp", "free_pcppages", "folio_batch"]),
    (KernelObject::PathNames, &["dentry", "d_lockref", "lockref", "rename_lock", "path_openat", "filename_"]),
    (KernelObject::Threads, &["tasklist_lock", "sighand", "siglock", "copy_process", "pidmap", "pid_"]),
];

/// Starts of the names of kernel threads, as in Linux 2.6 to 6.18: deferred interrupt work, work queues, RCU, memory
/// reclaim, compaction, page merging, access monitoring, journals.
const THREADS: [&str; 20] = [
    "ksoftirqd/",
    "kworker/",
    "rcu_",
    "rcuo",
    "rcub",
    "rcuc",
    "migration/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "jbd2/",
    "irq/",
    "kdamond",
    "ksmd",
    "kthreadd",
    "kblockd",
    "oom_reaper",
    "cpuhp/",
    "writeback",
    "xfs",
];

/// What a function of the kernel does; `None` for most of them.
pub fn function(name: &str) -> Option<KernelFunction> {
    match () {
        () if LOCKS.iter().any(|start| name.starts_with(start)) => Some(KernelFunction::Lock),
        () if FAULTS.iter().any(|part| name.contains(part)) => Some(KernelFunction::Fault),
        () => None,
    }
}

/// What a lock protects, by the name under which tracing shows it.
pub fn object(lock: &str) -> Option<KernelObject> {
    let known = OBJECTS.iter().find(|(_, names)| names.iter().any(|name| lock.contains(name)));
    known.map(|(object, _)| *object)
}

/// True for the name of a kernel thread.
pub fn is_thread(name: &str) -> bool {
    THREADS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_tell_what_they_protect() {
        assert_eq!(object("mmap_lock"), Some(KernelObject::MemoryMap));
        assert_eq!(object("i_rwsem"), Some(KernelObject::File));
        assert_eq!(object("something_else"), None);
    }

    #[test]
    fn functions_tell_what_they_do() {
        assert_eq!(function("native_queued_spin_lock_slowpath.part.0"), Some(KernelFunction::Lock));
        assert_eq!(function("asm_exc_page_fault"), Some(KernelFunction::Fault));
        assert_eq!(function("vfs_read"), None);
    }
}
