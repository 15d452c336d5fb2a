//! What the analysis knows of Linux: numbers of system calls. What names in the kernel tell is in
//! [`crate::runtimes::kernel`].

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
    /// mprotect(2).
    pub mprotect: u32,
    /// Calls with which a thread's stack is mapped and removed: mmap(2), munmap(2), mprotect(2).
    pub stacks: [u32; 3],
    /// Calls with which an allocator gives memory back to the kernel: madvise(2), munmap(2), brk(2).
    pub give_back: [u32; 3],
    /// Calls with which a thread ends, made by the C library without any of the program's code on the stack: freeing the
    /// stack's pages, unmapping another thread's stack, exiting: exit(2), madvise(2), munmap(2), rseq(2),
    /// set_robust_list(2), rt_sigprocmask(2), mprotect(2). `mmap`, which the C library calls at the program's start, is
    /// not among them.
    pub ending: [u32; 7],
    /// Calls that hand something over to whoever waits at the other end of a pipe, socket or eventfd: write(2),
    /// writev(2), sendfile(2), splice(2), tee(2), vmsplice(2), sendto(2), sendmsg(2), sendmmsg(2); and read(2),
    /// readv(2), recvfrom(2), recvmsg(2), which make room.
    pub hand_over: [u32; 13],
    /// Calls through which something from outside the program comes: connect(2), accept(2), accept4(2), recvfrom(2),
    /// recvmsg(2), recvmmsg(2), io_submit(2), io_uring_enter(2), inotify_add_watch(2).
    pub outside: [u32; 9],
}

impl SyscallNumbers {
    /// Those of a machine, by its `uname -m` name. Unknown architectures share the generic table of the kernel's
    /// `asm-generic/unistd.h`, which aarch64 and riscv64 use.
    pub fn for_architecture(architecture: &str) -> SyscallNumbers {
        match architecture {
            "x86_64" => SyscallNumbers {
                futex: 202,
                exit: [60, 231],
                sched_yield: 24,
                sleeps: [35, 230],
                clone: [56, 435],
                mprotect: 10,
                stacks: [9, 11, 10],
                give_back: [28, 11, 12],
                ending: [60, 28, 11, 334, 273, 14, 10],
                hand_over: [1, 20, 40, 275, 276, 278, 44, 46, 307, 0, 19, 45, 47],
                outside: [42, 43, 288, 45, 47, 299, 209, 426, 254],
            },
            _ => SyscallNumbers {
                futex: 98,
                exit: [93, 94],
                sched_yield: 124,
                sleeps: [101, 115],
                clone: [220, 435],
                mprotect: 226,
                stacks: [222, 215, 226],
                give_back: [233, 215, 214],
                ending: [93, 233, 215, 293, 99, 135, 226],
                hand_over: [64, 66, 71, 76, 77, 75, 206, 211, 269, 63, 65, 207, 212],
                outside: [203, 202, 242, 207, 212, 243, 2, 426, 27],
            },
        }
    }
}
