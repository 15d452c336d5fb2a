//! Decides when system calls are timed: always while they are rare, in windows of time when they are not.
//!
//! Timing a call costs some 300 ns and counting it some 100 ns, both measured in a loop of the cheapest calls. So above
//! a rate, calls are timed for one poll in ten only; counts stay exact. May import: nothing.

/// Calls a second and processor above which timing all of them would cost more than one per cent of the processor:
/// 0.01 s / 300 ns.
const MOST_TIMED: u64 = 33_000;
/// Once in windows, the rate has to be this much lower before everything is timed again, so that a program near the
/// limit does not flip back and forth.
const HYSTERESIS: u64 = 2;
/// One poll in so many is a window.
const CYCLE: u32 = 10;

/// What the consumer does about timing.
#[derive(Debug)]
pub(super) struct Timing {
    windowed: bool,
    /// Whether calls have ever gone untimed.
    complete: bool,
    poll: u32,
    last: Option<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    now_ns: u64,
    calls: u64,
}

impl Timing {
    pub(super) fn new() -> Timing {
        Timing { windowed: false, complete: true, poll: 0, last: None }
    }

    /// Whether every call was timed so far.
    pub(super) fn complete(&self) -> bool {
        self.complete
    }

    /// Whether calls are to be timed until the next poll. `calls` is how many were made until now.
    pub(super) fn poll(&mut self, now_ns: u64, calls: u64, processors: u64) -> bool {
        self.poll = (self.poll + 1) % CYCLE;
        let last = *self.last.get_or_insert(Reading { now_ns, calls });
        let limit = MOST_TIMED * processors.max(1);
        let (passed, made) = (now_ns.saturating_sub(last.now_ns), calls.saturating_sub(last.calls));
        let over = |limit: u64| u128::from(made) * 1_000_000_000 > u128::from(limit) * u128::from(passed);
        if !self.windowed {
            // Too many are too many at once: a poll is enough to know.
            self.windowed = passed > 0 && over(limit);
            self.last = Some(Reading { now_ns, calls });
        } else if self.poll == 0 {
            // Back only after a whole cycle below.
            self.windowed = over(limit / HYSTERESIS);
            self.last = Some(Reading { now_ns, calls });
        }
        self.complete &= !self.windowed;
        !self.windowed || self.poll == 0
    }
}

/// The number of all calls of a site, from those that were timed: the estimate and its 95 % interval.
///
/// `all` calls of this number were made by the thread, `timed` of them were timed, `here` of these at the site; they
/// fell into `windows`, and `squares` is the sum of the squared counts of these windows. A cluster estimator with
/// windows as clusters (Cochran, Sampling Techniques, 1977, chapter 9), cut to what is certain.
pub(super) fn estimate(all: u64, timed: u64, here: u64, windows: u32, squares: f64) -> (f64, f64, f64) {
    let (n, t, x) = (all.max(timed) as f64, timed as f64, here as f64);
    if timed == 0 || here == timed {
        // The only place where the thread makes this call.
        let calls = if timed == 0 { x } else { n };
        return (calls, calls, calls);
    }
    let calls = x * n / t;
    let (least, most) = (x, n - (t - x));
    if windows < 2 {
        return (calls, least, most);
    }
    let w = f64::from(windows);
    let mean = x / w;
    let variance = ((squares / w - mean * mean) * w / (w - 1.0)).max(0.0);
    // 1.96: the normal distribution's; with the few windows of a short run the ends of certainty do the rest.
    let error = 1.96 * (n / t) * (w * variance * (1.0 - t / n)).sqrt();
    (calls, (calls - error).max(least), (calls + error).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn few_calls_are_all_timed() {
        let mut timing = Timing::new();
        for poll in 1..100 {
            assert!(timing.poll(poll * 10 * MS, poll * 600, 2));
        }
        assert!(timing.complete());
    }

    #[test]
    fn a_storm_is_timed_in_one_poll_of_ten_and_its_end_ends_that() {
        let mut timing = Timing::new();
        timing.poll(0, 0, 2);
        let timed = (1..=100).filter(|poll| timing.poll(poll * 10 * MS, poll * 10_000, 2)).count();
        assert_eq!(timed, 10);
        assert!(!timing.complete());
        let timed = (101..=140).filter(|poll| timing.poll(poll * 10 * MS, 1_000_000, 2)).count();
        assert!(timed >= 20, "{timed}");
        assert!(!timing.complete(), "what went untimed stays so");
    }

    #[test]
    fn the_only_site_of_a_call_has_all_of_them() {
        assert_eq!(estimate(1000, 90, 90, 5, 2000.0), (1000.0, 1000.0, 1000.0));
    }

    #[test]
    fn an_estimate_lies_in_its_interval_and_in_what_is_certain() {
        // Two sites, 30 and 70 of 100 timed, in ten windows of 3 and 7 each with some spread.
        let (calls, low, high) = estimate(1000, 100, 30, 10, 100.0);
        assert_eq!(calls, 300.0);
        assert!(low < calls && calls < high, "{low} {high}");
        assert!(low >= 30.0 && high <= 930.0);
        // One window says nothing about the spread.
        assert_eq!(estimate(1000, 100, 30, 1, 900.0), (300.0, 30.0, 930.0));
    }
}
