//! What the processors did during a run, and what knee's own thread did.

use crate::events::RunSummary;
use crate::machine::usable_by;

/// A clock tick of /proc: USER_HZ is 100 on every architecture that knee knows.
const TICK_NS: u64 = 10_000_000;

/// Time of the processors that the target may use, since boot, in steps of 10 ms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::sources) struct ProcessorTime {
    usable: Vec<usize>,
    pub(in crate::sources) idle_ns: u64,
    pub(in crate::sources) busy_ns: u64,
}

impl ProcessorTime {
    /// The time of the processors that a process may run on.
    pub(in crate::sources) fn for_process(pid: u32) -> ProcessorTime {
        ProcessorTime { usable: usable_by(pid), ..ProcessorTime::default() }.now()
    }

    /// The time of the same processors, now.
    pub(in crate::sources) fn now(&self) -> ProcessorTime {
        parse_stat(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), &self.usable)
    }

    /// The run as a whole, from this time on. `ran_ns` and `observer_ns` say how long the target's threads and knee's
    /// own thread ran.
    pub(in crate::sources) fn summary(
        self,
        (begin_ns, end_ns): (u64, u64),
        sample_period_ns: u64,
        ran_ns: u64,
        observer_ns: u64,
    ) -> RunSummary {
        let now = self.now();
        let busy_ns = now.busy_ns.saturating_sub(self.busy_ns);
        RunSummary {
            begin_ns,
            end_ns,
            processors: self.usable.len().max(1) as u32,
            sample_period_ns,
            idle_ns: now.idle_ns.saturating_sub(self.idle_ns),
            foreign_ns: busy_ns.saturating_sub(ran_ns).saturating_sub(observer_ns),
            observer_ns,
        }
    }
}

/// proc_stat(5): the line of a processor holds user, nice, system, idle, iowait, irq, softirq, steal in clock ticks.
fn parse_stat(text: &str, usable: &[usize]) -> ProcessorTime {
    let mut sum = ProcessorTime { usable: usable.to_vec(), ..ProcessorTime::default() };
    for line in text.lines() {
        let mut fields = line.strip_prefix("cpu").unwrap_or_default().split_whitespace();
        let number = fields.next().filter(|_| line.starts_with("cpu") && !line.starts_with("cpu "));
        if !number.and_then(|number| number.parse().ok()).is_some_and(|number: usize| usable.contains(&number)) {
            continue;
        }
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        let of = |wanted: &[usize]| {
            let all = wanted.iter().filter_map(|index| ticks.get(*index));
            all.fold(0_u64, |sum, ticks| sum.saturating_add(ticks.saturating_mul(TICK_NS)))
        };
        sum.idle_ns = sum.idle_ns.saturating_add(of(&[3, 4]));
        sum.busy_ns = sum.busy_ns.saturating_add(of(&[0, 1, 2, 5, 6]));
    }
    sum
}

/// Processor time of the calling thread.
pub(in crate::sources) fn own_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_usable_processors_are_summed_up() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8\ncpu1 100 0 0 100 0 0 0 0\nintr 5\ncpu2\n";
        let sum = parse_stat(text, &[0, 2]);
        assert_eq!((sum.usable.len(), sum.idle_ns, sum.busy_ns), (2, 450_000_000, 190_000_000));
        assert_eq!(parse_stat("cpu0 18446744073709551615 x", &[0]).busy_ns, u64::MAX);
    }
}
