//! The words of a recording: columns with a few values, each stored as its name. May import: `cell`.

use crate::cell::words;

words! {
    /// Why a run was made.
    pub enum RunKind {
        /// Not timed: fills caches, finds the throughput's form, counts hardware events where there are any.
        WarmUp = "warm-up",
        /// Timed, nothing attached: the curve.
        Clean = "clean",
        /// Observed: the split of its time.
        Traced = "traced",
        /// Timed, and set aside because something else disturbed its block; another block took its place.
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
        /// Waiting; the row's `reason` and `wait` say for what.
        Blocked = "blocked",
        /// A state that this release does not know.
        Unknown = "unknown",
    }
    /// What a blocked thread waited for, as far as the kernel's entry point tells.
    pub enum Reason {
        /// It did not wait.
        None = "none",
        /// A futex: locks, conditions, barriers and joins of every thread library.
        Futex = "futex",
        /// A sleep with a time (nanosleep, clock_nanosleep).
        Sleep = "sleep",
        /// A file or a device.
        Io = "io",
        /// A pipe or a socket: data from, or room towards, another thread, program or machine.
        Pipe = "pipe",
        /// An event descriptor, or a poll over several descriptors.
        Poll = "poll",
        /// A child process (wait4, waitid).
        Child = "child",
        /// A page that had to be brought in, or another fault.
        Fault = "fault",
        /// A lock inside the kernel.
        KernelLock = "kernel-lock",
        /// Memory that the kernel had to take back from elsewhere first.
        Reclaim = "reclaim",
        /// Another thread's part in executing a program or ending the process.
        Exit = "exit",
        /// Any other system call.
        Other = "other",
    }
    /// Where a sampled thread was.
    pub enum Mode {
        /// In its own code.
        User = "user",
        /// In the kernel on its behalf.
        Kernel = "kernel",
        /// A mode that this release does not know.
        Unknown = "unknown",
    }
    /// How a thread waited for a lock inside the kernel.
    pub enum KernelWait {
        /// For a mutex.
        Mutex = "mutex",
        /// To share a lock of readers and writers.
        Read = "read",
        /// To have a lock of readers and writers alone.
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
        /// From registers as they were at the sample, or certainly were before it.
        Exact = "exact",
        /// By the way that execution most likely took, or with values that the stack held at the sample.
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
        /// It was not found in the memory map.
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
