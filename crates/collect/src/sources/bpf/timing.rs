//! Decides when system calls are timed: always while they are rare, otherwise in windows of time.
//!
//! Timing a call costs some 300 ns and counting it some 100 ns, both measured in a loop of the cheapest calls. So above
//! a certain rate, calls are timed in only one of ten polls, drawn at random for each ten, so that no rhythm of the
//! program can stay in step with it; counts stay exact.

/// System calls a second on each processor above which timing all of them would cost more than 1 % of the processor:
/// 0.01 s / 300 ns.
///
/// Decides: whether all system calls are timed, or only those in windows.
/// From: measured: timing a call takes some 300 ns, which is one per cent of a processor at this rate.
/// Shown by: `bench/cost`.
/// Wrong if: the machine is much slower: timing then costs more than one per cent.
const MOST_TIMED: u64 = 33_000;
/// Once only windows are timed, the rate must be lower than the limit by this factor before everything is timed again,
/// so that a program near the limit does not flip back and forth.
///
/// Decides: when all calls are timed again.
/// From: chosen; it only has to be above 1.
/// Wrong if: the rate swings by more than this: timing then flips back and forth.
const HYSTERESIS: u64 = 2;
/// One poll in so many is a window.
const CYCLE: u32 = 10;

/// Which poll of a cycle is its window: a hash of the cycle's number, by the finaliser of SplitMix64 (Steele, Lea &
/// Flood 2014, "Fast splittable pseudorandom number generators").
fn window_of(cycle: u64) -> u32 {
    let mut word = cycle.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ (word >> 31)) % u64::from(CYCLE)) as u32
}

/// What the consumer does about timing.
#[derive(Debug)]
pub(super) struct CallClock {
    windowed: bool,
    /// Whether every call was timed so far.
    complete: bool,
    poll: u32,
    cycle: u64,
    last: Option<CallCount>,
}

#[derive(Debug, Clone, Copy)]
struct CallCount {
    now_ns: u64,
    calls: u64,
}

impl CallClock {
    pub(super) fn new() -> CallClock {
        CallClock { windowed: false, complete: true, poll: 0, cycle: 0, last: None }
    }

    /// Whether every call was timed so far.
    pub(super) fn complete(&self) -> bool {
        self.complete
    }

    /// Whether calls should be timed until the next poll. `calls` is how many were made so far.
    pub(super) fn poll(&mut self, now_ns: u64, calls: u64, processors: u64) -> bool {
        self.poll = (self.poll + 1) % CYCLE;
        self.cycle += u64::from(self.poll == 0);
        let last = *self.last.get_or_insert(CallCount { now_ns, calls });
        let limit = MOST_TIMED * processors.max(1);
        let (passed, made) = (now_ns.saturating_sub(last.now_ns), calls.saturating_sub(last.calls));
        let over = |limit: u64| u128::from(made) * 1_000_000_000 > u128::from(limit) * u128::from(passed);
        if !self.windowed {
            // Switched to windows after a single poll above the limit.
            self.windowed = passed > 0 && over(limit);
            self.last = Some(CallCount { now_ns, calls });
        } else if self.poll == 0 {
            // Switched back only after a whole cycle below the lower limit.
            self.windowed = over(limit / HYSTERESIS);
            self.last = Some(CallCount { now_ns, calls });
        }
        self.complete &= !self.windowed;
        !self.windowed || self.poll == window_of(self.cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn few_calls_are_all_timed() {
        let mut timing = CallClock::new();
        for poll in 1..100 {
            assert!(timing.poll(poll * 10 * MS, poll * 600, 2));
        }
        assert!(timing.complete());
    }

    #[test]
    fn a_storm_is_timed_in_one_poll_of_ten_and_its_end_ends_that() {
        let mut timing = CallClock::new();
        timing.poll(0, 0, 2);
        let timed = (1..=100).filter(|poll| timing.poll(poll * 10 * MS, poll * 10_000, 2)).count();
        // Ten whole cycles, and one that has just begun.
        assert!((10..=11).contains(&timed), "{timed}");
        assert!(!timing.complete());
        let timed = (101..=140).filter(|poll| timing.poll(poll * 10 * MS, 1_000_000, 2)).count();
        assert!(timed >= 20, "{timed}");
        assert!(!timing.complete(), "what went untimed stays so");
    }
}
