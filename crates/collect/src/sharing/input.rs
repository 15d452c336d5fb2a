//! What the caller supplies: samples, and what is known of the code and data of a program image.

use super::snapshots::Snapshot;
use recording::StackId;

/// Bytes of a cache line: 64 on x86-64 and on most processors of AArch64.
pub(crate) const LINE: u64 = 64;

/// One CPU sample in user space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampled<'a> {
    /// The thread's handle.
    pub(crate) thread: u32,
    /// Its process.
    pub(crate) pid: u32,
    /// Its program image.
    pub(crate) image: u32,
    /// When.
    pub(crate) time_ns: u64,
    /// The user registers as the kernel saves them (`struct pt_regs`).
    pub(crate) registers: &'a [u64],
    /// The bytes at the stack pointer.
    pub(crate) stack: &'a [u8],
    /// The bytes below it that a function may use; empty when they were not copied.
    pub(crate) red_zone: &'a [u8],
    /// Return addresses, the nearest first.
    pub(crate) callers: &'a [u64],
    /// The stack's handle.
    pub(crate) user_stack: Option<StackId>,
}

/// What the caller knows about the code of a program image.
pub(crate) trait ImageCode {
    /// Whether the code at an address was made at run time: executable memory without a file.
    fn made_at_run_time(&self, address: u64) -> bool;
    /// Whether a memory mapping holds stacks beside other data, as Go's does for goroutines.
    fn stacks_in_heap(&self) -> bool;
    /// The start of the function around an address.
    fn function_start(&self, address: u64) -> Option<u64>;
    /// The variable at an address.
    fn variable(&self, address: u64) -> Option<NamedVariable>;
    /// The object at an address that a variable of the code points to, judging from samples at accesses to it.
    fn pointed(&self, snapshots: &[Snapshot], address: u64) -> Option<resolve::Placed>;
}

/// A variable of the program or of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedVariable {
    /// The path of the file that contains it.
    pub(crate) module: String,
    /// Its name, if a symbol covers the address.
    pub(crate) object: Option<resolve::Object>,
}
