//! The words of a recording: columns with few values, each stored as its name. Also the kinds of losses and
//! capabilities: each release adds texts, and here each text that readers distinguish becomes a value.

use crate::cell::words;

words! {
    /// Why a run was made.
    pub enum RunKind {
        /// Not timed: fills caches, finds the throughput's form, counts hardware events if there are any.
        WarmUp = "warm-up",
        /// Timed, without any observation: the curve.
        Clean = "clean",
        /// Observed: shows how the run's time is divided.
        Traced = "traced",
        /// Timed, but set aside because something else disturbed its block; another block replaced it.
        Disturbed = "disturbed",
        /// A kind that this release does not know.
        Unknown = "unknown",
    }
    /// What a thread was doing for a stretch of time.
    pub enum State {
        /// On a processor.
        Running = "running",
        /// Woken, and waiting for a processor.
        Runnable = "runnable",
        /// Taken off the processor although it could have gone on.
        Preempted = "preempted",
        /// Waiting; the row's `wait` says for what.
        Blocked = "blocked",
        /// A state that this release does not know.
        Unknown = "unknown",
    }
    /// What a blocked thread waited for, as far as the kernel's entry point shows.
    pub enum Reason {
        /// It did not wait.
        None = "none",
        /// A futex: locks, conditions, barriers and joins of every thread library.
        Futex = "futex",
        /// A sleep with a time (nanosleep, clock_nanosleep).
        Sleep = "sleep",
        /// A file or a device.
        Io = "io",
        /// A pipe or a socket: for data from, or room for data to, another thread, program or machine.
        Pipe = "pipe",
        /// An event descriptor, or a poll over several descriptors.
        Poll = "poll",
        /// A child process (wait4, waitid).
        Child = "child",
        /// A page that had to be brought in, or another fault.
        Fault = "fault",
        /// A lock inside the kernel.
        KernelLock = "kernel-lock",
        /// Memory that the kernel first had to reclaim from elsewhere.
        Reclaim = "reclaim",
        /// Other threads, while executing a program or ending the process.
        Exit = "exit",
        /// Any other system call.
        Other = "other",
    }
    /// Where a sampled thread was.
    pub enum Mode {
        /// In its own code.
        User = "user",
        /// In the kernel, on the thread's behalf.
        Kernel = "kernel",
        /// A mode that this release does not know.
        Unknown = "unknown",
    }
    /// How a thread waited for a lock inside the kernel.
    pub enum KernelWait {
        /// For a mutex.
        Mutex = "mutex",
        /// For a readers-writer lock, to read.
        Read = "read",
        /// For a readers-writer lock, to write.
        Write = "write",
        /// Spinning on the processor, for a spin lock.
        Spin = "spin",
        /// For another kind of lock.
        Other = "other",
    }
    /// What a row of `durations` counts.
    pub enum Timed {
        /// Blocks of a wait.
        Wait = "wait",
        /// Calls of a call site.
        CallSite = "call-site",
        /// A kind that this release does not know.
        Unknown = "unknown",
    }
    /// What a mark of the program says.
    pub enum MarkKind {
        /// The measured part begins.
        Begin = "begin",
        /// The measured part ends.
        End = "end",
        /// A named task of the thread begins.
        TaskBegin = "task-begin",
        /// The thread's latest task ends.
        TaskEnd = "task-end",
        /// Units of work were done.
        Work = "work",
        /// A kind that this release does not know.
        Unknown = "unknown",
    }
    /// Who is at the other end of connections.
    pub enum PeerSide {
        /// Clients that connected to a port or path of the program.
        Clients = "clients",
        /// A service that the program connected to.
        Service = "service",
        /// A side that this release does not know.
        Unknown = "unknown",
    }
    /// What an instruction did with memory.
    pub enum AccessKind {
        /// It read.
        Load = "load",
        /// It wrote.
        Store = "store",
        /// It read and wrote back, not atomically.
        Update = "update",
        /// It read and may have written back, atomically.
        Atomic = "atomic",
        /// A kind that this release does not know.
        Unknown = "unknown",
    }
    /// How sure the address of an access is.
    pub enum AddressCertainty {
        /// From registers as they were at the sample, or as they certainly were before it.
        Exact = "exact",
        /// Assuming the most likely path of execution, or with values that the stack held at the sample.
        Likely = "likely",
        /// A kind that this release does not know.
        Unknown = "unknown",
    }
    /// What kind of memory an address lies in.
    pub enum Region {
        /// A variable of the program or a library.
        Global = "global",
        /// The stack of a thread.
        Stack = "stack",
        /// Memory without a file: the heap, large allocations, memory that the program mapped.
        Heap = "heap",
        /// A mapped file or device.
        File = "file",
        /// Not found in the memory map.
        Unknown = "unknown",
    }
    /// What kind of code a module holds.
    pub enum ModuleKind {
        /// The executable itself.
        Program = "program",
        /// A shared library.
        Library = "library",
        /// The kernel's pages in user space (vdso).
        Vdso = "vdso",
        /// The kernel.
        Kernel = "kernel",
        /// Code without a file: made at run time, or unknown.
        Anonymous = "anonymous",
    }
}

/// The capability of observation by BPF programs in the kernel.
pub const BPF: &str = "kernel observation (eBPF)";
/// The capability of sampled memory accesses.
pub const SHARED_MEMORY: &str = "memory that threads share";
/// The path of a module of code that a program made at run time; the program's name follows.
pub const RUN_TIME_CODE: &str = "run-time code of ";
/// What a wait on a pipe is for.
pub const PIPE: &str = "pipe";
/// A loss: stacks that could not be followed to the thread's start.
pub const CUT_STACKS: &str = "outermost frames of stacks";
/// A loss: calls left out of the timeline because there were too many; the sums include them.
pub const THINNED_CALLS: &str = "system calls on the timeline";
/// A loss: calls missing on the timeline because there was no room; the sums include them.
pub const DROPPED_CALLS: &str = "system calls on the timeline (no room)";
/// Connections of HTTP/2 whose frames could not be followed: from then on, requests at once on them count as one.
pub const UNFOLLOWED_STREAMS: &str = "connections of HTTP/2 whose frames could not be followed";
/// Connections whose first data could not be read: if they are HTTP/2, requests at once on them count as one.
pub const HIDDEN_PROTOCOLS: &str = "connections whose first data could not be read";

/// A capability that answers depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilityKind {
    /// Observation by BPF programs.
    Bpf,
    /// Sampled memory accesses.
    SharedMemory,
    /// Any other, known only by its text.
    Other,
}

/// Something that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// The outermost frames of stacks.
    CutStacks,
    /// Calls on the timeline, left out because there were too many.
    ThinnedCalls,
    /// Calls on the timeline for which there was no room.
    DroppedCalls,
    /// Connections of HTTP/2 whose requests at once count as one.
    UnfollowedStreams,
    /// Connections that may be HTTP/2; if so, their requests at once count as one.
    HiddenProtocols,
    /// Something else, known only by its text.
    Other,
}

impl CapabilityKind {
    /// The kind that this text names.
    pub fn named(words: &str) -> CapabilityKind {
        match words {
            // The first recordings used the short text.
            BPF | "eBPF" => CapabilityKind::Bpf,
            SHARED_MEMORY => CapabilityKind::SharedMemory,
            _ => CapabilityKind::Other,
        }
    }
}

impl LossKind {
    /// The kind that this text names.
    pub fn named(words: &str) -> LossKind {
        match words {
            CUT_STACKS => LossKind::CutStacks,
            THINNED_CALLS => LossKind::ThinnedCalls,
            DROPPED_CALLS => LossKind::DroppedCalls,
            UNFOLLOWED_STREAMS => LossKind::UnfollowedStreams,
            HIDDEN_PROTOCOLS => LossKind::HiddenProtocols,
            _ => LossKind::Other,
        }
    }
}
