//! The ring of memory that the kernel writes an event's records into (perf_event_open(2), "MMAP layout").

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offsets in `struct perf_event_mmap_page` (linux/perf_event.h): the head that the kernel writes, and our tail.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// A ring, mapped for as long as it lives.
#[derive(Debug)]
pub(super) struct Ring {
    base: NonNull<u8>,
    page: usize,
    size: usize,
}

// SAFETY: the mapping belongs to this value alone, and the kernel's side is reached by atomics only.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of an event with room for `size` bytes, a power of two of whole pages.
    pub(super) fn map(event: &File, size: usize) -> io::Result<Ring> {
        // SAFETY: sysconf takes a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        // SAFETY: a new mapping of an open event; the address is the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page + size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Ring { base, page, size }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page holds the header, whose words at these offsets are aligned and written as a whole by
        // the kernel; the mapping lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// Appends all that the kernel has written since the last call to `bytes`: whole records.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        let tail = self.word(DATA_TAIL).load(Ordering::Relaxed);
        let head = self.word(DATA_HEAD).load(Ordering::Acquire);
        // The kernel never overwrites what was not taken, so this is at most the ring's size.
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(self.size);
        let start = tail as usize % self.size;
        let first = length.min(self.size - start);
        // SAFETY: both pieces lie in the data area of `size` bytes behind the first page, and the kernel writes nothing
        // between tail and head until the tail is moved.
        unsafe {
            let data = self.base.as_ptr().add(self.page);
            bytes.extend_from_slice(std::slice::from_raw_parts(data.add(start), first));
            bytes.extend_from_slice(std::slice::from_raw_parts(data, length - first));
        }
        self.word(DATA_TAIL).store(head, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map` with this length and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page + self.size) };
    }
}
