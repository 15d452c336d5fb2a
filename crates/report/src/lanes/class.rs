//! The colours of lanes.

use analyze::account::lines::Why;

/// What a thread did; each class has one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// On a processor, in its own code as far as we know.
    User = 1,
    /// On a processor, in the kernel: in a system call, a page fault, an interrupt.
    System = 2,
    /// Woken, waiting for a processor.
    Runnable = 3,
    /// Taken off the processor.
    Preempted = 4,
    /// Waiting for a lock.
    Lock = 5,
    /// Waiting for a condition, a barrier, another thread, or a futex of unknown purpose.
    Wait = 6,
    /// Waiting for a file, a pipe, a socket, a child.
    Io = 7,
    /// Waiting for the clock.
    Sleep = 8,
    /// Waiting for a page or a lock inside the kernel.
    Kernel = 9,
    /// The recording does not say.
    Unknown = 10,
    /// On a processor, taking or releasing a lock, or in a futex call.
    Sync = 11,
    /// On a processor, in a loop that waits for another thread.
    Spin = 12,
    /// On a processor, in the memory allocator.
    Allocator = 13,
    /// On a processor, in a collector, a compiler, or making threads.
    Runtime = 14,
    /// On a processor; no sample near tells what it ran.
    Unsampled = 15,
}

impl Class {
    /// All of them, in the order of legends.
    pub const ALL: [Class; 15] = [
        Class::User,
        Class::Sync,
        Class::Spin,
        Class::System,
        Class::Allocator,
        Class::Runtime,
        Class::Unsampled,
        Class::Lock,
        Class::Wait,
        Class::Kernel,
        Class::Io,
        Class::Sleep,
        Class::Runnable,
        Class::Preempted,
        Class::Unknown,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Class::User => "running, own code",
            Class::Sync => "running, lock and futex code",
            Class::Spin => "running, spinning",
            Class::System => "running, in the kernel",
            Class::Allocator => "running, memory allocator",
            Class::Runtime => "running, work of the runtime",
            Class::Unsampled => "running, not sampled",
            Class::Runnable => "woken, waiting for a processor",
            Class::Preempted => "preempted",
            Class::Lock => "waiting for a lock",
            Class::Wait => "waiting for other threads",
            Class::Io => "waiting for input or output",
            Class::Sleep => "sleeping",
            Class::Kernel => "waiting for a kernel lock or a page",
            Class::Unknown => "not recorded",
        }
    }

    /// The name in style sheets.
    pub fn key(self) -> &'static str {
        match self {
            Class::User => "user",
            Class::Sync => "sync",
            Class::Spin => "spin",
            Class::System => "system",
            Class::Allocator => "allocator",
            Class::Runtime => "runtime",
            Class::Unsampled => "unsampled",
            Class::Runnable => "runnable",
            Class::Preempted => "preempted",
            Class::Lock => "lock",
            Class::Wait => "wait",
            Class::Io => "io",
            Class::Sleep => "sleep",
            Class::Kernel => "kernel",
            Class::Unknown => "unknown",
        }
    }

    /// True while a thread is on a processor.
    pub fn runs(self) -> bool {
        match self {
            Class::User | Class::System | Class::Sync | Class::Spin => true,
            Class::Allocator | Class::Runtime | Class::Unsampled => true,
            Class::Lock | Class::Wait | Class::Io | Class::Sleep | Class::Kernel => false,
            Class::Runnable | Class::Preempted | Class::Unknown => false,
        }
    }

    /// True for what runs without getting on: drawn with a line through its bar.
    pub fn is_struck(self) -> bool {
        matches!(self, Class::Sync | Class::Spin)
    }

    /// The class of a wait.
    pub fn of_wait(why: Why) -> Class {
        match why {
            Why::Lock | Why::Pool | Why::Allocator => Class::Lock,
            Why::Condition | Why::Barrier | Why::Join | Why::Futex | Why::Ended | Why::Task => Class::Wait,
            Why::Helper | Why::Creation => Class::Wait,
            Why::Io | Why::Poll | Why::Request | Why::Reply | Why::Child | Why::Call => Class::Io,
            Why::Sleep | Why::Clock | Why::Pause => Class::Sleep,
            Why::Fault | Why::KernelLock => Class::Kernel,
            Why::Unknown => Class::Unknown,
        }
    }
}
