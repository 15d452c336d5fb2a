//! Opening events: `struct perf_event_attr`, and the three events of a run.

use crate::patience::again;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

// linux/perf_event.h: types and configurations of software events, sample fields, flags, ioctls.
const TYPE_SOFTWARE: u32 = 1;
const SW_CPU_CLOCK: u64 = 0;
const SW_PAGE_FAULTS: u64 = 2;
const SW_DUMMY: u64 = 9;
pub(super) const SAMPLE_IP: u64 = 1;
pub(super) const SAMPLE_TID: u64 = 1 << 1;
pub(super) const SAMPLE_TIME: u64 = 1 << 2;
pub(super) const SAMPLE_CPU: u64 = 1 << 7;
pub(super) const SAMPLE_REGS_USER: u64 = 1 << 12;
pub(super) const SAMPLE_STACK_USER: u64 = 1 << 13;
pub(super) const SAMPLE_IDENTIFIER: u64 = 1 << 16;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const COMM: u64 = 1 << 9;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCK_ID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
const PERF_FLAG_FD_CLOEXEC: u64 = 8;
/// `_IO('$', 5)` and `_IOR('$', 7, __u64 *)`, which are the same on x86-64 and AArch64.
const IOC_SET_OUTPUT: libc::Ioctl = 0x2405;
const IOC_ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;

/// Fields at the end of all records: thread, time, processor, event.
pub(super) const RECORD_FIELDS: u64 = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_IDENTIFIER;
/// Fields of a sample.
pub(super) const SAMPLE_FIELDS: u64 = RECORD_FIELDS | SAMPLE_IP | SAMPLE_REGS_USER | SAMPLE_STACK_USER;

/// Bytes of the stack that a sample carries. Stacks of young threads are 4 to 13 KiB deep, most below 8.
pub(super) const STACK_BYTES: u32 = 8192;

/// The general user registers, as bits of asm/perf_regs.h; the segment registers of x86 cannot be requested.
#[cfg(target_arch = "x86_64")]
pub(super) const REGISTERS: u64 = 0xff_0fff;
/// x0 to x30, the stack pointer and the code address.
#[cfg(target_arch = "aarch64")]
pub(super) const REGISTERS: u64 = 0x1_ffff_ffff;
/// On other architectures, no registers are requested and stacks are not unwound.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const REGISTERS: u64 = 0;

/// `struct perf_event_attr` up to its third extension (PERF_ATTR_SIZE_VER3, 96 bytes).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Attribute {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
}

const _: () = assert!(size_of::<Attribute>() == 96);

/// What an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Context switches, and threads that begin, end, or execute another program.
    Switches,
    /// A sample of the user code after each period of a thread's running time.
    Clock { period_ns: u64 },
    /// A sample at every `period`-th page fault in user space.
    Faults { period: u64 },
}

/// Which processes an event follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    /// A process that waits to execute the target, and all its descendants. Nothing is reported before it executes.
    Child(i32),
    /// The calling thread, to find out what is allowed. Nothing is reported.
    Myself,
}

/// Opens an event on one processor.
pub(super) fn open(kind: Kind, whom: Whom, processor: u32) -> io::Result<File> {
    let (config, period, sampled, flags) = match kind {
        Kind::Switches => (SW_DUMMY, 0, false, COMM | COMM_EXEC | TASK | CONTEXT_SWITCH),
        Kind::Clock { period_ns } => (SW_CPU_CLOCK, period_ns, true, 0),
        Kind::Faults { period } => (SW_PAGE_FAULTS, period, true, 0),
    };
    let (pid, start) = match whom {
        Whom::Child(pid) => (pid, INHERIT | ENABLE_ON_EXEC),
        Whom::Myself => (0, 0),
    };
    let attribute = Attribute {
        kind: TYPE_SOFTWARE,
        size: size_of::<Attribute>() as u32,
        config,
        sample_period: period,
        sample_type: if sampled { SAMPLE_FIELDS } else { RECORD_FIELDS },
        // Unprivileged users may not see the kernel's part (kernel.perf_event_paranoid 2).
        flags: DISABLED
            | EXCLUDE_KERNEL
            | EXCLUDE_HYPERVISOR
            | SAMPLE_ID_ALL
            | USE_CLOCK_ID
            | WATERMARK
            | start
            | flags,
        // Records wake nobody: they are fetched at regular intervals.
        wakeup_watermark: u32::MAX,
        sample_regs_user: if sampled { REGISTERS } else { 0 },
        sample_stack_user: if sampled { STACK_BYTES } else { 0 },
        clock_id: libc::CLOCK_MONOTONIC,
        ..Attribute::default()
    };
    again(|| {
        // SAFETY: the attribute is initialised, its size is stated, and the kernel only reads it.
        let fd = unsafe {
            let (attribute, processor) = (&raw const attribute, processor as libc::c_int);
            libc::syscall(libc::SYS_perf_event_open, attribute, pid, processor, -1, PERF_FLAG_FD_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a non-negative result is a descriptor that nobody else owns.
        Ok(unsafe { File::from_raw_fd(fd as i32) })
    })
}

/// Makes an event write into the ring of another event on the same processor.
pub(super) fn share_ring(event: &File, owner: &File) -> io::Result<()> {
    // SAFETY: both descriptors are open events; the call takes a number.
    match unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_OUTPUT, owner.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number by which records name their event.
pub(super) fn id(event: &File) -> io::Result<u64> {
    let mut id = 0_u64;
    // SAFETY: the descriptor is an open event, and `id` has room for the number that the call writes.
    match unsafe { libc::ioctl(event.as_raw_fd(), IOC_ID, &raw mut id) } {
        0 => Ok(id),
        _ => Err(io::Error::last_os_error()),
    }
}
