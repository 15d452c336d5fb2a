//! What the analysis knows of Linux: numbers of system calls, and names of the kernel's own threads.

/// System-call numbers that the analysis looks at, by architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyscallNumbers {
    /// futex(2).
    pub futex: u32,
    /// exit(2) and exit_group(2).
    pub exit: [u32; 2],
    /// sched_yield(2).
    pub sched_yield: u32,
    /// nanosleep(2) and clock_nanosleep(2).
    pub sleeps: [u32; 2],
    /// clone(2) and clone3(2).
    pub clone: [u32; 2],
    /// Calls that hand something over to whoever waits at the other end of a pipe, socket or eventfd: write(2),
    /// writev(2), sendfile(2), splice(2), tee(2), vmsplice(2), sendto(2), sendmsg(2), sendmmsg(2); and read(2),
    /// readv(2), recvfrom(2), recvmsg(2), which make room.
    pub hand_over: [u32; 13],
}

impl SyscallNumbers {
    /// Those of a machine, by its `uname -m` name. Unknown architectures share the generic table of the kernel's
    /// `asm-generic/unistd.h`, which aarch64 and riscv64 use.
    pub fn of(architecture: &str) -> SyscallNumbers {
        match architecture {
            "x86_64" => SyscallNumbers {
                futex: 202,
                exit: [60, 231],
                sched_yield: 24,
                sleeps: [35, 230],
                clone: [56, 435],
                hand_over: [1, 20, 40, 275, 276, 278, 44, 46, 307, 0, 19, 45, 47],
            },
            _ => SyscallNumbers {
                futex: 98,
                exit: [93, 94],
                sched_yield: 124,
                sleeps: [101, 115],
                clone: [220, 435],
                hand_over: [64, 66, 71, 76, 77, 75, 206, 211, 269, 63, 65, 207, 212],
            },
        }
    }
}

/// True for the name of a kernel thread, as in Linux 2.6 to 6.18: deferred interrupt work, work queues, RCU, memory
/// reclaim, compaction, page merging, access monitoring, journals.
pub fn is_kernel_thread(name: &str) -> bool {
    const NAMES: [&str; 20] = [
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
    NAMES.iter().any(|start| name.starts_with(start))
}
