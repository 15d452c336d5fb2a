//! How much looking at threads may cost in time.

/// Looking at sleeping threads costs at most this share of one processor.
///
/// Decides: how often sleeping threads are looked at without eBPF.
/// From: chosen: what a user does not notice.
/// Wrong if: a look costs more than the ones before it: the run is then slowed down by more.
const SHARE: f64 = 0.01;

/// Unspent time is kept up to this many nanoseconds, for the case that all threads of a program stop at once: some 300
/// looks of 15 µs.
const MOST_NS: f64 = 5_000_000.0;

/// Time that may be spent on looking: it grows with the clock and shrinks with each look.
#[derive(Debug)]
pub(in crate::sources) struct Budget {
    credit_ns: f64,
    grown_ns: u64,
}

impl Budget {
    pub(in crate::sources) fn new(now_ns: u64) -> Budget {
        Budget { credit_ns: MOST_NS, grown_ns: now_ns }
    }

    /// Adds the time that has passed.
    pub(in crate::sources) fn grow(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.grown_ns);
        self.grown_ns = self.grown_ns.max(now_ns);
        self.credit_ns = (self.credit_ns + passed as f64 * SHARE).min(MOST_NS);
    }

    /// Whether another look may begin.
    pub(in crate::sources) fn allows(&self) -> bool {
        self.credit_ns > 0.0
    }

    /// Subtracts what a look cost. If that overdraws the budget, the next look has to wait.
    pub(in crate::sources) fn spend(&mut self, ns: u64) {
        self.credit_ns -= ns as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_costs_a_hundredth_in_the_long_run() {
        let mut budget = Budget::new(0);
        let (mut spent, mut now) = (0_u64, 0_u64);
        for _ in 0..6000 {
            now += 10_000_000;
            budget.grow(now);
            while budget.allows() {
                budget.spend(15_000);
                spent += 15_000;
            }
        }
        let share = spent as f64 / now as f64;
        assert!((0.0095..0.0105).contains(&share), "{share}");
    }

    #[test]
    fn what_was_saved_up_has_an_end() {
        let mut budget = Budget::new(0);
        budget.grow(3_600_000_000_000);
        let looks = std::iter::from_fn(|| budget.allows().then(|| budget.spend(15_000))).count();
        assert_eq!(looks, 334);
    }
}
