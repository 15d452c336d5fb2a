//! The rows of a run on their way into the recording, and what the machine did meanwhile. May import: `recording`,
//! files of /proc, libc.

use crate::error::Error;
use crate::machine::usable_processors;
use recording::tables::{FaultSite, Loss, Sample, Slice, Thread, Trace, Wait};
use recording::{RunId, Writer};

/// Rows kept in memory before a part is written: some 60 MB of slices.
const BUFFERED_ROWS: usize = 1 << 20;

/// A clock tick of /proc: USER_HZ is 100 on every architecture that knee knows.
const TICK_NS: u64 = 10_000_000;

/// Rows of a run.
#[derive(Debug, Default)]
pub(super) struct Books {
    pub(super) threads: Vec<Thread>,
    pub(super) slices: Vec<Slice>,
    pub(super) samples: Vec<Sample>,
    pub(super) waits: Vec<Wait>,
    pub(super) faults: Vec<FaultSite>,
    pub(super) losses: Vec<Loss>,
    failed: Option<recording::Error>,
}

impl Books {
    /// Writes tables that have grown large. The first failure is told at the end: the target goes on.
    pub(super) fn flush(&mut self, writer: &mut Writer) {
        if self.slices.len() > BUFFERED_ROWS {
            let rows = std::mem::take(&mut self.slices);
            self.keep(writer.append(&rows));
        }
        if self.samples.len() > BUFFERED_ROWS {
            let rows = std::mem::take(&mut self.samples);
            self.keep(writer.append(&rows));
        }
    }

    fn keep(&mut self, result: Result<(), recording::Error>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    /// Something that was not seen; nothing for none.
    pub(super) fn lose(&mut self, run: RunId, what: &str, count: u64, of: Option<u64>) {
        if count > 0 {
            self.losses.push(Loss { run, what: what.to_owned(), count, of });
        }
    }

    /// Writes everything.
    pub(super) fn close(self, trace: Trace, writer: &mut Writer) -> Result<(), Error> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        writer.append(&[trace])?;
        writer.append(&self.threads)?;
        writer.append(&self.slices)?;
        writer.append(&self.waits)?;
        writer.append(&self.faults)?;
        writer.append(&self.samples)?;
        Ok(writer.append(&self.losses)?)
    }
}

/// Time of the processors that the target may use, since boot, in steps of 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Processors {
    pub(super) count: u32,
    pub(super) idle_ns: u64,
    pub(super) busy_ns: u64,
}

impl Processors {
    pub(super) fn now() -> Processors {
        let usable = usable_processors();
        parse_stat(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), &usable)
    }
}

/// proc_stat(5): a line a processor holds user, nice, system, idle, iowait, irq, softirq, steal in clock ticks.
fn parse_stat(text: &str, usable: &[usize]) -> Processors {
    let mut sum = Processors { count: usable.len() as u32, ..Processors::default() };
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

/// The row of a run as a whole. `begin` was taken when it began; `ran_ns` and `observed_ns` are the times that its
/// threads and knee's own ran.
pub(super) fn trace(
    run: RunId,
    (begin_ns, end_ns): (u64, u64),
    sample_period_ns: u64,
    begin: Processors,
    ran_ns: u64,
    observer_ns: u64,
) -> Trace {
    let now = Processors::now();
    let busy = now.busy_ns.saturating_sub(begin.busy_ns);
    Trace {
        run,
        begin_ns,
        end_ns,
        processors: begin.count.max(1),
        sample_period_ns,
        idle_ns: now.idle_ns.saturating_sub(begin.idle_ns),
        foreign_ns: busy.saturating_sub(ran_ns).saturating_sub(observer_ns),
        observer_ns,
    }
}

/// Processor time of the calling thread.
pub(super) fn own_time_ns() -> u64 {
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
        assert_eq!((sum.count, sum.idle_ns, sum.busy_ns), (2, 450_000_000, 190_000_000));
        assert_eq!(parse_stat("cpu0 18446744073709551615 x", &[0]).busy_ns, u64::MAX);
    }
}
