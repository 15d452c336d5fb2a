//! Small readings of /proc that several rooms need. May import: libc.

use std::fs;

/// Processor time of the whole machine, nanoseconds, since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MachineTime {
    /// All time not idle, without what the hypervisor took.
    pub(crate) busy_ns: u64,
    /// Time that the hypervisor gave to others.
    pub(crate) steal_ns: u64,
}

impl MachineTime {
    pub(crate) fn now() -> Option<MachineTime> {
        parse_stat(&fs::read_to_string("/proc/stat").ok()?)
    }
}

/// proc_stat(5): the first line holds user, nice, system, idle, iowait, irq, softirq, steal in clock ticks of 10 ms.
fn parse_stat(text: &str) -> Option<MachineTime> {
    const TICK_NS: u64 = 10_000_000;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied();
    let busy = [at(0)?, at(1)?, at(2)?, at(5).unwrap_or(0), at(6).unwrap_or(0)];
    let busy = busy.iter().try_fold(0_u64, |sum, ticks| sum.checked_add(*ticks))?;
    Some(MachineTime { busy_ns: busy.checked_mul(TICK_NS)?, steal_ns: at(7).unwrap_or(0).checked_mul(TICK_NS)? })
}

/// CLOCK_MONOTONIC, the clock of all kernel records, nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of the Unix epoch.
pub(crate) fn unix_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_everything_but_idle_waiting_and_steal() {
        let time = parse_stat("cpu  10 1 5 900 7 2 3 4 0 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!(time, MachineTime { busy_ns: 210_000_000, steal_ns: 40_000_000 });
    }

    #[test]
    fn a_stat_file_of_another_form_is_no_reading() {
        for text in ["", "cpu", "cpu  1", "intr 5", "cpu  18446744073709551615 1 1 1 1 1 1 1"] {
            assert_eq!(parse_stat(text), None, "{text:?}");
        }
    }
}
