//! BPF arrays mapped into memory: read and written without a system call while the programs use them.

use super::abi::Plain;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A mapped array of `length` values.
#[derive(Debug)]
pub(crate) struct MappedArray<T: Plain> {
    address: *mut T,
    length: usize,
    bytes: usize,
}

// SAFETY: the mapping belongs to the value alone and is accessed by volatile copies only.
unsafe impl<T: Plain> Send for MappedArray<T> {}

impl<T: Plain> MappedArray<T> {
    /// Maps an array that was created with BPF_F_MMAPABLE and has at least `length` values of type T.
    pub(crate) fn map(fd: BorrowedFd<'_>, length: usize) -> io::Result<MappedArray<T>> {
        // SAFETY: sysconf takes a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let bytes = (size_of::<T>() * length).next_multiple_of(page);
        // SAFETY: a new mapping at an address of the kernel's choice; the kernel checks length and rights.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(MappedArray { address: address.cast(), length, bytes })
    }

    /// A copy of one value. The programs may be writing it, so its fields may be from different moments.
    pub(crate) fn read(&self, index: usize) -> Option<T> {
        // SAFETY: the index is inside the mapping, and any bytes are a T.
        (index < self.length).then(|| unsafe { self.address.add(index).read_volatile() })
    }

    /// A copy of one word of a value, `offset` bytes into it.
    pub(crate) fn peek(&self, index: usize, offset: usize) -> Option<u32> {
        let inside = index < self.length && offset.is_multiple_of(4) && offset + 4 <= size_of::<T>();
        // SAFETY: the word is inside the mapping and aligned, because the mapping and every T are.
        inside.then(|| unsafe { self.address.add(index).byte_add(offset).cast::<u32>().read_volatile() })
    }

    /// Replaces one word of a value, `offset` bytes into it, and leaves the rest to the programs.
    pub(crate) fn poke(&mut self, index: usize, offset: usize, word: u32) {
        if index < self.length && offset.is_multiple_of(4) && offset + 4 <= size_of::<T>() {
            // SAFETY: as in `peek`.
            unsafe { self.address.add(index).byte_add(offset).cast::<u32>().write_volatile(word) };
        }
    }

    /// Replaces one value.
    pub(crate) fn write(&mut self, index: usize, value: T) {
        if index < self.length {
            // SAFETY: the index is inside the mapping.
            unsafe { self.address.add(index).write_volatile(value) };
        }
    }
}

impl<T: Plain> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`.
        unsafe { libc::munmap(self.address.cast(), self.bytes) };
    }
}
