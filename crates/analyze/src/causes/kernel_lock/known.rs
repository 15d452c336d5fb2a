//! Locks of the kernel in the user's words, and what to try against them.

/// A lock, or a family of locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Parts of the names under which tracing shows it: the lock's own, or the functions that take it.
    names: &'static [&'static str],
    /// What it protects.
    pub meaning: &'static str,
    remedies: &'static [&'static str],
    /// What else to try where this system call, or [`FAULTS`], takes it.
    by_way: &'static [(&'static str, &'static str)],
}

/// Stands for page faults where a system call's name is expected.
pub(super) const FAULTS: &str = "page faults";

const REUSE_THREADS: &str = "create fewer threads: reuse them";

const KNOWN: &[Known] = &[
    Known {
        names: &["mmap_lock", "mmap_sem", "vm_mmap_pgoff", "__vm_munmap", "vm_lock"],
        meaning: "the process's memory-map lock",
        remedies: &[
            "map once at the start and keep the mapping, or let one thread map and hand pieces to the others",
            "map fewer, larger pieces; read with pread() into a buffer per thread instead of mapping",
        ],
        by_way: &[
            (FAULTS, "fault in advance: MAP_POPULATE, madvise(MADV_POPULATE_READ), or larger pages"),
            ("clone", REUSE_THREADS),
            ("clone3", REUSE_THREADS),
            ("mprotect", "change protections less often: of one large area instead of many small ones"),
        ],
    },
    Known {
        names: &["i_rwsem", "s_type->i_", "i_mutex", "inode_lock", "ext4_", "xfs_ilock", "btrfs_"],
        meaning: "the lock of one file",
        remedies: &[
            "let each thread write a file of its own, or one thread write for all",
            "write larger pieces; files opened with O_DIRECT can be written side by side on some file systems",
        ],
        by_way: &[],
    },
    Known {
        names: &["f_pos_lock", "fdget_pos"],
        meaning: "the position of one open file",
        remedies: &["use pread() and pwrite(), or open the file once for each thread"],
        by_way: &[],
    },
    Known {
        names: &["pipe_"],
        meaning: "the lock of one pipe",
        remedies: &["use a pipe for each pair of threads, or hand over more at a time"],
        by_way: &[],
    },
    Known {
        names: &["sk_lock", "lock_sock", "sock_lock", "unix_"],
        meaning: "the lock of one socket",
        remedies: &["use a socket for each thread (SO_REUSEPORT for listeners), or send larger pieces"],
        by_way: &[],
    },
    Known {
        names: &["ep->", "ep_poll", "epoll"],
        meaning: "the lock of one epoll instance",
        remedies: &["use an epoll instance for each thread, with EPOLLEXCLUSIVE for shared descriptors"],
        by_way: &[],
    },
    Known {
        names: &["files_lock", "file_lock", "fd_install", "alloc_fd", "__alloc_fd"],
        meaning: "the process's table of open files",
        remedies: &["open and close files less often; keep them open"],
        by_way: &[],
    },
    Known {
        names: &["zone", "rmqueue", "lruvec", "lru_add", "pcp", "free_pcppages", "folio_batch"],
        meaning: "the kernel's free pages",
        remedies: &[
            "fault in and free less memory: reuse buffers, keep memory in the allocator instead of giving it back",
            "use larger pages (madvise(MADV_HUGEPAGE))",
        ],
        by_way: &[],
    },
    Known {
        names: &["dentry", "d_lockref", "lockref", "rename_lock", "path_openat", "filename_"],
        meaning: "the kernel's cache of path names",
        remedies: &["open by directory descriptor (openat), keep files open, spread them over directories"],
        by_way: &[],
    },
    Known {
        names: &["tasklist_lock", "sighand", "siglock", "copy_process", "pidmap", "pid_"],
        meaning: "the kernel's list of threads",
        remedies: &["create and end fewer threads and processes: reuse them"],
        by_way: &[],
    },
];

/// Finds a lock by the name under which tracing shows it.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.names.iter().any(|n| name.contains(n)))
}

/// What to try. `ways`: the system calls that take the lock, or [`FAULTS`], the most important first.
pub(super) fn remedies(known: Option<&Known>, ways: &[String]) -> Vec<String> {
    let mut list: Vec<String> = known.map_or_else(
        || {
            vec![
                "make the system call less often, with more at a time".to_owned(),
                "give each thread an object of its own (file, pipe, socket, mapping)".to_owned(),
            ]
        },
        |k| k.remedies.iter().map(|r| (*r).to_owned()).collect(),
    );
    for (way, remedy) in known.map_or(&[][..], |k| k.by_way) {
        if ways.iter().any(|w| w == way) && !list.iter().any(|r| r == remedy) {
            list.push((*remedy).to_owned());
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_in_words() {
        assert_eq!(known("mmap_lock").map(|k| k.meaning), Some("the process's memory-map lock"));

        assert_eq!(known("i_rwsem").map(|k| k.meaning), Some("the lock of one file"));
        assert!(known("something_else").is_none());
        assert!(remedies(known("mmap_lock"), &[FAULTS.to_owned()]).iter().any(|r| r.contains("MAP_POPULATE")));
    }
}
