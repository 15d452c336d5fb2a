//! Counting events of a whole process tree with perf_event_open(2), where the machine counts them.
//!
//! Only warm-up runs are counted: a counter that follows every thread costs time at every switch, and timed runs must
//! not be disturbed.

use crate::patience::again;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// What was counted; absent when the machine or the rights do not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Moves of threads between processors.
    pub migrations: Option<u64>,
    /// Processor cycles.
    pub cycles: Option<u64>,
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// Last-level cache misses.
    pub cache_misses: Option<u64>,
}

impl Counters {
    /// What was counted since `before`.
    pub(crate) fn since(&self, before: &Counters) -> Counters {
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Counters {
            migrations: since(self.migrations, before.migrations),
            cycles: since(self.cycles, before.cycles),
            instructions: since(self.instructions, before.instructions),
            cache_misses: since(self.cache_misses, before.cache_misses),
        }
    }
}

/// Counters that start when a process executes its program.
#[derive(Debug)]
pub(crate) struct Counting {
    migrations: Option<File>,
    cycles: Option<File>,
    instructions: Option<File>,
    cache_misses: Option<File>,
}

// linux/perf_event.h: attr.type and attr.config, the attribute's first published size, its flag bits, read_format.
const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const HW_CYCLES: u64 = 0;
const HW_INSTRUCTIONS: u64 = 1;
const HW_CACHE_MISSES: u64 = 3;
const HW_STALLED_BACKEND: u64 = 8;
const SW_CPU_CLOCK: u64 = 0;
const SW_CPU_MIGRATIONS: u64 = 4;
const FLAG_DISABLED: u64 = 1;
const FLAG_INHERIT: u64 = 1 << 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_ENABLE_ON_EXEC: u64 = 1 << 12;
const FORMAT_TOTAL_TIMES: u64 = 3;
const PERF_FLAG_FD_CLOEXEC: u64 = 8;

/// `struct perf_event_attr` up to its first published size (PERF_ATTR_SIZE_VER0, 64 bytes).
#[repr(C)]
#[derive(Default)]
struct CounterAttribute {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

fn open(pid: i32, kind: u32, config: u64) -> io::Result<File> {
    let opened = |exclude| {
        let attribute = CounterAttribute {
            kind,
            size: size_of::<CounterAttribute>() as u32,
            config,
            read_format: FORMAT_TOTAL_TIMES,
            flags: FLAG_DISABLED | FLAG_INHERIT | FLAG_ENABLE_ON_EXEC | FLAG_EXCLUDE_HYPERVISOR | exclude,
            ..CounterAttribute::default()
        };
        open_event(&attribute, pid, -1)
    };
    match opened(0) {
        // Unprivileged users may count user space only (perf_event_paranoid 2). Migrations happen in the kernel; without
        // the kernel the count would be a wrong 0.
        Err(_) if kind != TYPE_SOFTWARE => opened(FLAG_EXCLUDE_KERNEL),
        done => done,
    }
}

/// Opens an event of a process and its descendants on every processor (-1), or of one processor and whoever runs there.
fn open_event(attribute: &CounterAttribute, pid: i32, processor: i32) -> io::Result<File> {
    again(|| {
        // SAFETY: the attribute is initialised, its size is stated, and the kernel only reads it.
        let fd = unsafe {
            let attribute = std::ptr::from_ref(attribute);
            libc::syscall(libc::SYS_perf_event_open, attribute, pid, processor, -1, PERF_FLAG_FD_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a non-negative result is a descriptor that nobody else owns.
        Ok(unsafe { File::from_raw_fd(fd as i32) })
    })
}

impl Counting {
    /// Opens what the machine allows for a process that has not yet executed the target.
    pub(crate) fn open(pid: i32) -> Counting {
        Counting {
            migrations: open(pid, TYPE_SOFTWARE, SW_CPU_MIGRATIONS).ok(),
            cycles: open(pid, TYPE_HARDWARE, HW_CYCLES).ok(),
            instructions: open(pid, TYPE_HARDWARE, HW_INSTRUCTIONS).ok(),
            cache_misses: open(pid, TYPE_HARDWARE, HW_CACHE_MISSES).ok(),
        }
    }

    /// The counts so far; final when the process has ended.
    pub(crate) fn read(&self) -> Counters {
        let one = |file: &Option<File>| file.as_ref().and_then(read_one);
        Counters {
            migrations: one(&self.migrations),
            cycles: one(&self.cycles),
            instructions: one(&self.instructions),
            cache_misses: one(&self.cache_misses),
        }
    }
}

/// Reads value, time enabled and time running, and scales the value up when the counter had to share hardware.
fn read_one(mut file: &File) -> Option<u64> {
    let mut bytes = [0; 24];
    file.read_exact(&mut bytes).ok()?;
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    scaled(word(0), word(8), word(16))
}

/// value × enabled / running; `None` when it was enabled but never ran.
fn scaled(value: u64, enabled: u64, running: u64) -> Option<u64> {
    if running == 0 {
        return (enabled == 0).then_some(value);
    }
    u64::try_from(u128::from(value) * u128::from(enabled) / u128::from(running)).ok()
}

/// An event that one processor counts, whoever runs on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterKind {
    Cycles,
    Instructions,
    CacheMisses,
    /// Cycles in which the back end waits, mostly for memory.
    StalledCycles,
    /// Nanoseconds, in place of a hardware event in tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "stands in for hardware in tests"))]
    Clock,
}

/// Opens an event on a processor, for all that runs there.
pub(crate) fn open_on(processor: u32, kind: CounterKind) -> Option<File> {
    let (kind, config) = match kind {
        CounterKind::Cycles => (TYPE_HARDWARE, HW_CYCLES),
        CounterKind::Instructions => (TYPE_HARDWARE, HW_INSTRUCTIONS),
        CounterKind::CacheMisses => (TYPE_HARDWARE, HW_CACHE_MISSES),
        CounterKind::StalledCycles => (TYPE_HARDWARE, HW_STALLED_BACKEND),
        CounterKind::Clock => (TYPE_SOFTWARE, SW_CPU_CLOCK),
    };
    let attribute = CounterAttribute {
        kind,
        size: size_of::<CounterAttribute>() as u32,
        config,
        read_format: FORMAT_TOTAL_TIMES,
        ..CounterAttribute::default()
    };
    open_event(&attribute, -1, processor as i32).ok()
}

/// Whether the machine counts cycles for user-space programs.
pub(crate) fn hardware_available() -> io::Result<()> {
    open(0, TYPE_HARDWARE, HW_CYCLES).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_counters_are_scaled_to_the_time_enabled() {
        assert_eq!(scaled(100, 4, 4), Some(100));
        assert_eq!(scaled(100, 8, 2), Some(400));
        assert_eq!(scaled(0, 0, 0), Some(0));
        assert_eq!(scaled(0, 5, 0), None);
        assert_eq!(scaled(u64::MAX, 8, 1), None);
    }
}
