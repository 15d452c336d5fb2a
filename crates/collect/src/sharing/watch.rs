//! Hardware breakpoints on data, through perf_event_open(2).

use crate::patience::again;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;

// linux/perf_event.h and linux/hw_breakpoint.h.
const TYPE_BREAKPOINT: u32 = 5;
const BREAKPOINT_WRITE: u32 = 2;
const BREAKPOINT_READ_WRITE: u32 = 3;
const SAMPLE_IP: u64 = 1;
const SAMPLE_TIME: u64 = 1 << 2;
const FLAG_DISABLED: u64 = 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_USE_CLOCKID: u64 = 1 << 25;
const PERF_FLAG_FD_CLOEXEC: u64 = 8;
const IOC_DISABLE: libc::Ioctl = 0x2401;
const IOC_REFRESH: libc::Ioctl = 0x2402;
const RECORD_SAMPLE: u32 = 9;
/// Offset of `data_head` in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;

/// `struct perf_event_attr` up to PERF_ATTR_SIZE_VER3 (96 bytes).
#[repr(C)]
#[derive(Default)]
struct BreakpointAttribute {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
    breakpoint_length: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

const _: () = assert!(size_of::<BreakpointAttribute>() == 96);

/// One hit of a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// When.
    pub(super) time_ns: u64,
    /// Where the thread stood: on x86-64 at the instruction after the one that touched the memory, on AArch64 at it.
    pub(super) ip: u64,
}

/// Time that the calling thread has spent on processors, nanoseconds.
pub(super) fn thread_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec; the clock exists since Linux 2.6.12.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A breakpoint of one thread, removed when dropped.
#[derive(Debug)]
pub(super) struct Watch {
    event: File,
    ring: NonNull<u8>,
    page: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and a watch is its only user.
unsafe impl Send for Watch {}

impl Watch {
    /// Watches `width` bytes (1, 2, 4 or 8, aligned) of a thread until `limit` hits.
    ///
    /// A new one is needed for each trial: on Linux 6.18, an event whose limit has been reached never traps again.
    pub(super) fn open(tid: u32, address: u64, width: u16, writes: bool, limit: u32) -> std::io::Result<Watch> {
        let attribute = BreakpointAttribute {
            kind: TYPE_BREAKPOINT,
            size: size_of::<BreakpointAttribute>() as u32,
            sample_period: 1,
            sample_type: SAMPLE_IP | SAMPLE_TIME,
            flags: FLAG_DISABLED | FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR | FLAG_USE_CLOCKID,
            breakpoint_type: if writes { BREAKPOINT_WRITE } else { BREAKPOINT_READ_WRITE },
            breakpoint_address: address,
            breakpoint_length: u64::from(width),
            clockid: libc::CLOCK_MONOTONIC,
            ..BreakpointAttribute::default()
        };
        let event = again(|| {
            // SAFETY: the attribute is initialised, its size is stated, and the kernel only reads it.
            let fd = unsafe {
                libc::syscall(libc::SYS_perf_event_open, &raw const attribute, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)
            };
            if fd < 0 {
                return Err(std::io::Error::last_os_error());
            }
            // SAFETY: a non-negative result is a descriptor that nobody else owns.
            Ok(unsafe { File::from_raw_fd(fd as i32) })
        })?;
        // SAFETY: sysconf takes a number and returns one.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of the event's ring at an address that the kernel chooses.
        let ring = unsafe { libc::mmap(std::ptr::null_mut(), 2 * page, protection, flags, event.as_raw_fd(), 0) };
        let failed = ring == libc::MAP_FAILED;
        let Some(ring) = NonNull::new(ring.cast::<u8>()).filter(|_| !failed) else {
            return Err(std::io::Error::last_os_error());
        };
        let watch = Watch { event, ring, page };
        // SAFETY: the descriptor is that of a perf event, and REFRESH takes a number.
        if unsafe { libc::ioctl(watch.event.as_raw_fd(), IOC_REFRESH, limit) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(watch)
    }

    /// Stops watching and returns what was seen.
    pub(super) fn hits(self) -> Vec<Hit> {
        // SAFETY: the descriptor is that of a perf event; DISABLE takes no argument. When it fails the event is gone.
        unsafe { libc::ioctl(self.event.as_raw_fd(), IOC_DISABLE, 0) };
        // SAFETY: the first page of the ring is mapped, and the kernel writes this aligned word as a whole.
        let head = unsafe { self.ring.as_ptr().add(DATA_HEAD).cast::<u64>().read_volatile() };
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        let filled = usize::try_from(head).unwrap_or(0).min(self.page);
        // SAFETY: the second page is mapped; the event is disabled, so that nothing writes to it any more.
        let bytes = unsafe { std::slice::from_raw_parts(self.ring.as_ptr().add(self.page), filled) };
        parse(bytes)
    }
}

/// The samples among the records of a ring that never wrapped.
fn parse(mut bytes: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let word = |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    while let (Some(header), Some(kind)) = (word(bytes, 0), bytes.first_chunk::<4>()) {
        // `struct perf_event_header`: type, misc, size.
        let size = usize::from((header.to_ne_bytes()[6] as u16) | (header.to_ne_bytes()[7] as u16) << 8);
        let Some((record, rest)) = bytes.split_at_checked(size).filter(|_| size >= 8) else { break };
        if u32::from_ne_bytes(*kind) == RECORD_SAMPLE
            && let (Some(ip), Some(time_ns)) = (word(record, 8), word(record, 16))
        {
            hits.push(Hit { time_ns, ip });
        }
        bytes = rest;
    }
    hits
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: `ring` is the mapping of two pages made by `open`, unmapped here only, and nothing borrows it.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), 2 * self.page) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, size: u16, words: &[u64]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(0_u16.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn samples_are_found_among_other_records() {
        let mut bytes = record(RECORD_SAMPLE, 24, &[0x40, 7]);
        bytes.extend(record(5, 16, &[9]));
        bytes.extend(record(RECORD_SAMPLE, 24, &[0x50, 8]));
        assert_eq!(parse(&bytes), [Hit { time_ns: 7, ip: 0x40 }, Hit { time_ns: 8, ip: 0x50 }]);
    }

    #[test]
    fn broken_records_end_the_reading() {
        assert_eq!(parse(&record(RECORD_SAMPLE, 0, &[1, 2])), []);
        assert_eq!(parse(&record(RECORD_SAMPLE, 200, &[1, 2])), []);
        assert_eq!(parse(&record(RECORD_SAMPLE, 16, &[1])), []);
        assert_eq!(parse(&[1, 2, 3]), []);
    }
}
