//! Ticks of one thread's sampling clock, and those that left no record.
//!
//! The clock ticks each time the thread has run for a period on a processor, and writes a sample if the tick falls into
//! user space. A tick without a record fell into the kernel, which is hidden without privileges, or its record was
//! lost. Without these ticks a thread's samples would seem to stand for all of its time.

/// The clock of a thread: one on each processor that it has run on.
#[derive(Debug)]
pub(super) struct Ticks {
    period_ns: u64,
    /// Time that the thread has run on a processor since the clock's last tick there.
    since: Vec<(u32, u64)>,
}

/// Times of ticks without a record, and their processors.
pub(super) type Silent = Vec<(u64, u32)>;

impl Ticks {
    pub(super) fn new(period_ns: u64) -> Ticks {
        Ticks { period_ns: period_ns.max(1), since: Vec::new() }
    }

    /// The thread has run on a processor up to now. A tick is taken for one without a record when the record is half a
    /// period late.
    pub(super) fn run(&mut self, processor: u32, ns: u64, now_ns: u64, silent: &mut Silent) {
        let (period, since) = (self.period_ns, self.at(processor));
        *since += ns;
        while *since > period + period / 2 {
            *since -= period;
            silent.push((now_ns.saturating_sub(*since), processor));
        }
    }

    /// A tick left a record; the thread has run up to it.
    pub(super) fn sample(&mut self, processor: u32) {
        *self.at(processor) = 0;
    }

    /// The thread will not run again, so no more ticks are expected.
    pub(super) fn end(&mut self, now_ns: u64, silent: &mut Silent) {
        for (processor, since) in &mut self.since {
            while *since >= self.period_ns {
                *since -= self.period_ns;
                silent.push((now_ns.saturating_sub(*since), *processor));
            }
        }
    }

    fn at(&mut self, processor: u32) -> &mut u64 {
        let position = self.since.iter().position(|(at, _)| *at == processor).unwrap_or_else(|| {
            self.since.push((processor, 0));
            self.since.len() - 1
        });
        &mut self.since[position].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_seen_at_each_tick_has_no_silent_ones() {
        let (mut ticks, mut silent) = (Ticks::new(1000), Vec::new());
        for tick in 1..=100_u64 {
            // Records come a little late or early.
            ticks.run(0, 1000 + (tick % 3) * 20 - 20, tick * 1000, &mut silent);
            ticks.sample(0);
        }
        ticks.end(100_000, &mut silent);
        assert_eq!(silent, []);
    }

    #[test]
    fn time_in_the_kernel_makes_one_silent_tick_a_period() {
        let (mut ticks, mut silent) = (Ticks::new(1000), Vec::new());
        for stretch in 1..=70_u64 {
            ticks.run(stretch as u32 % 2, 100, stretch * 150, &mut silent);
        }
        ticks.end(11_000, &mut silent);
        // 3500 ns on each of two processors.
        assert_eq!(silent.len(), 6);
        assert!(silent.iter().all(|(time, _)| *time <= 11_000));
    }
}
