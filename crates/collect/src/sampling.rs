//! How often processors are sampled.

use std::fs;

/// CPU samples a second on each processor. A prime number, so that sampling does not beat with timers of round periods.
///
/// Decides: how often each processor is sampled.
/// From: chosen: at some 20 µs a sample, they take 2 % of the time; a prime.
/// Shown by: `bench/cost`.
/// Wrong if: what matters takes less than a few milliseconds of a run.
const SAMPLE_HZ: u64 = 997;
/// Slower rates, used where that is too often. Primes, for the same reason.
const SLOWER: [u64; 6] = [499, 251, 127, 61, 31, 17];
/// CPU samples a second on all processors together. A sample with its stack costs some 20 µs here, so this is a third
/// of one processor on the largest machines; up to 16 processors are sampled at the full rate.
///
/// Decides: from how many processors on each is sampled less often.
/// From: measured: 20 µs a sample.
/// Shown by: `bench/cost`.
/// Wrong if: a sample costs much more than 20 µs.
const SAMPLES_IN_ALL: u64 = 16_000;

/// Samples a second on each processor of this machine, with this many usable processors.
///
/// The kernel lowers its limit where it finds that sampling takes too long, and refuses events above the limit
/// (kernel/events/core.c, `perf_event_open`). A slow machine should be sampled less often rather than not at all.
pub(crate) fn sample_hz(processors: usize) -> u64 {
    let limit = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    rate(processors, limit.ok().and_then(|text| text.trim().parse().ok()))
}

fn rate(processors: usize, limit: Option<u64>) -> u64 {
    let limit = limit.unwrap_or(u64::MAX).max(1);
    let most = (SAMPLES_IN_ALL / processors.max(1) as u64).min(limit);
    let slowest = SLOWER[SLOWER.len() - 1].min(limit);
    std::iter::once(SAMPLE_HZ).chain(SLOWER).find(|hz| *hz <= most).unwrap_or(slowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_processors_are_sampled_less_often() {
        let rates: Vec<u64> = [1, 2, 16, 17, 64, 256, 4096].into_iter().map(|n| rate(n, Some(100_000))).collect();
        assert_eq!(rates, [997, 997, 997, 499, 127, 61, 17]);
    }

    #[test]
    fn the_kernels_limit_is_kept() {
        let rates: Vec<u64> = [997, 996, 100, 16, 1, 0].into_iter().map(|limit| rate(2, Some(limit))).collect();
        assert_eq!(rates, [997, 499, 61, 16, 1, 1]);
        assert_eq!(rate(4096, Some(5)), 5);
        assert_eq!(rate(2, None), 997);
    }
}
