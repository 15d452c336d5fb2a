//! The memory of a process, as far as it can be read. It belongs to the target: it cannot be trusted and may change
//! meanwhile.
//!
//! Imports nothing of the crate.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The memory of a process.
#[derive(Debug)]
pub(crate) struct Memory(pub(crate) File);

impl Memory {
    /// None when the process has ended, or may not be read.
    pub(crate) fn of_process(pid: u32) -> Option<Memory> {
        File::open(format!("/proc/{pid}/mem")).ok().map(Memory)
    }

    /// Exactly `size` bytes; none when they cannot all be read.
    pub(crate) fn some(&self, address: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// At most `size` bytes, fewer if not all can be read.
    pub(crate) fn upto(&self, address: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size];
        let read = self.0.read_at(&mut bytes, address).ok()?;
        bytes.truncate(read);
        Some(bytes)
    }

    pub(crate) fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// Eight bytes as a number.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }

    /// Four bytes as a number.
    pub(crate) fn half(&self, address: u64) -> Option<u32> {
        self.bytes(address).map(u32::from_le_bytes)
    }
}
