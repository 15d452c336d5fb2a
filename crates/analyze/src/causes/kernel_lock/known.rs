//! Locks of the kernel in the user's words, and what to try against them.

use crate::model::linux::SyscallNumbers;
use crate::runtimes::kernel::KernelObject;

/// How a thread comes to take a lock of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    /// By a page fault.
    Fault,
    /// By the system call with this number.
    Call(u32),
}

/// Ways against which there is something to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownWay {
    /// Page faults.
    Fault,
    /// The creation of threads.
    Clone,
    /// Changing the protection of memory.
    Protect,
}

impl Way {
    fn known(self, numbers: &SyscallNumbers) -> Option<KnownWay> {
        match self {
            Way::Fault => Some(KnownWay::Fault),
            Way::Call(number) if numbers.clone.contains(&number) => Some(KnownWay::Clone),
            Way::Call(number) if number == numbers.mprotect => Some(KnownWay::Protect),
            Way::Call(_) => None,
        }
    }
}

/// What a lock protects, as the end of "Threads wait for".
pub(super) fn meaning(object: KernelObject) -> &'static str {
    match object {
        KernelObject::MemoryMap => "the process's memory-map lock",
        KernelObject::File => "the lock of one file",
        KernelObject::FilePosition => "the position of one open file",
        KernelObject::Pipe => "the lock of one pipe",
        KernelObject::Socket => "the lock of one socket",
        KernelObject::Epoll => "the lock of one epoll instance",
        KernelObject::OpenFiles => "the process's table of open files",
        KernelObject::FreePages => "the kernel's free pages",
        KernelObject::PathNames => "the kernel's cache of path names",
        KernelObject::Threads => "the kernel's list of threads",
    }
}

/// What to try against any lock.
const UNKNOWN: &[&str] = &[
    "make the system call less often, with more at a time",
    "give each thread an object of its own (file, pipe, socket, mapping)",
];

fn always(object: KernelObject) -> &'static [&'static str] {
    match object {
        KernelObject::MemoryMap => &[
            "map once at the start and keep the mapping, or let one thread map and hand pieces to the others",
            "map fewer, larger pieces; read with pread() into a buffer per thread instead of mapping",
        ],
        KernelObject::File => &[
            "let each thread write a file of its own, or one thread write for all",
            "write larger pieces; files opened with O_DIRECT can be written side by side on some file systems",
        ],
        KernelObject::FilePosition => &["use pread() and pwrite(), or open the file once for each thread"],
        KernelObject::Pipe => &["use a pipe for each pair of threads, or hand over more at a time"],
        KernelObject::Socket => &["use a socket for each thread (SO_REUSEPORT for listeners), or send larger pieces"],
        KernelObject::Epoll => &["use an epoll instance for each thread, with EPOLLEXCLUSIVE for shared descriptors"],
        KernelObject::OpenFiles => &["open and close files less often; keep them open"],
        KernelObject::FreePages => &[
            "fault in and free less memory: reuse buffers, keep memory in the allocator instead of giving it back",
            "use larger pages (madvise(MADV_HUGEPAGE))",
        ],
        KernelObject::PathNames => {
            &["open by directory descriptor (openat), keep files open, spread them over directories"]
        }
        KernelObject::Threads => &["create and end fewer threads and processes: reuse them"],
    }
}

/// What else to try against the lock of the memory map, where it is taken in this way.
const BY_WAY: [(KnownWay, &str); 3] = [
    (KnownWay::Fault, "fault in advance: MAP_POPULATE, madvise(MADV_POPULATE_READ), or larger pages"),
    (KnownWay::Clone, "create fewer threads: reuse them"),
    (KnownWay::Protect, "change protections less often: of one large area instead of many small ones"),
];

/// What to try. `ways`: how the lock is taken, the most important first.
pub(super) fn remedies(object: Option<KernelObject>, ways: &[Way], numbers: &SyscallNumbers) -> Vec<String> {
    let list = object.map_or(UNKNOWN, always).iter();
    let taken = |known: KnownWay| ways.iter().any(|way| way.known(numbers) == Some(known));
    let more = BY_WAY.iter().filter(|(way, _)| object == Some(KernelObject::MemoryMap) && taken(*way));
    list.copied().chain(more.map(|(_, remedy)| *remedy)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_depends_on_how_the_lock_is_taken() {
        let numbers = SyscallNumbers::for_architecture("x86_64");
        let tried = |way: Way| remedies(Some(KernelObject::MemoryMap), &[way], &numbers);
        assert!(tried(Way::Fault).iter().any(|remedy| remedy.contains("MAP_POPULATE")));
        assert!(tried(Way::Call(56)).iter().any(|remedy| remedy.contains("reuse them")));
        assert_eq!(tried(Way::Call(1)).len(), 2);
    }
}
