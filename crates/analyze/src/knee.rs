//! The knee of the curve: the last thread count worth using.
//!
//! Eager, Zahorjan & Lazowska (1989, "Speedup versus efficiency in parallel systems", IEEE Transactions on Computers
//! 38(3)): the knee maximises efficiency over execution time, which is speed-up × efficiency.

use crate::curve::{Clean, median_of};
use crate::statistics::intervals::ratio;
use crate::statistics::paired::ERROR;

/// The last thread count whose speed-up × efficiency is not clearly below the best.
///
/// Absent when that is the largest measured count: the curve has not bent, or not by more than the noise. *Clearly
/// below* means that the interval of the ratio to the best count lies entirely below 1, with 95 % certainty for all
/// counts above it together.
pub fn knee(clean: &Clean<'_>) -> Option<u32> {
    let base = clean.base()?;
    let base_speed = median_of(&clean.speed(base))?;
    let worth = |threads: u32, speed: f64, base_speed: f64| {
        let speedup = speed / base_speed;
        speedup * speedup * f64::from(base) / f64::from(threads)
    };
    let counts: Vec<(u32, f64)> = clean
        .counts()
        .filter_map(|n| Some((n, worth(n, median_of(&clean.speed(n))?, base_speed))))
        .filter(|(_, w)| w.is_finite())
        .collect();
    let best = counts.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let best_speed = clean.speed(best.0);
    let above = counts.iter().filter(|(n, _)| *n > best.0).count();
    let error = ERROR / above.max(1) as f64;
    let not_clearly_below = |n: u32| {
        let faster = ratio(&best_speed, &clean.speed(n), error).map(|i| i.high);
        faster.is_some_and(|faster| faster * faster * f64::from(best.0) / f64::from(n) >= 1.0)
    };
    let last = counts.iter().map(|(n, _)| *n).rfind(|n| *n > best.0 && not_clearly_below(*n)).unwrap_or(best.0);
    (Some(last) != counts.last().map(|(n, _)| *n)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::Sketch;

    /// The knee of five runs around each time, off by up to twice `noise`.
    fn knee_of(processors: u32, curve: &[(u32, f64)], noise: f64) -> Option<u32> {
        let mut sketch = Sketch::new(processors);
        for (i, (threads, time)) in curve.iter().enumerate() {
            let runs: Vec<f64> =
                (0..5).map(|r| time * (1.0 + noise * (f64::from((r * 7 + i as i32) % 5) - 2.0))).collect();
            sketch = sketch.clean(*threads, &runs);
        }
        knee(&Clean::new(&sketch.tables()))
    }

    #[test]
    fn ideal_scaling_has_no_knee() {
        assert_eq!(knee_of(8, &[(1, 8.0), (2, 4.0), (4, 2.0), (8, 1.0)], 0.01), None);
    }

    #[test]
    fn a_collapse_is_a_knee_at_one() {
        assert_eq!(knee_of(4, &[(1, 2.0), (2, 4.0), (4, 5.0)], 0.02), Some(1));
    }

    #[test]
    fn saturation_at_the_processors() {
        assert_eq!(knee_of(2, &[(1, 2.0), (2, 1.0), (4, 1.0)], 0.02), Some(2));
    }

    #[test]
    fn amdahl_bends_where_the_serial_part_equals_the_parallel_one() {
        // Serial share s: speed-up × efficiency is largest at n = (1 - s) / s, here 9.
        let time = |n: u32| 0.1 + 0.9 / f64::from(n);
        let curve: Vec<(u32, f64)> = [1, 2, 4, 9, 32, 64].map(|n| (n, time(n))).to_vec();
        assert_eq!(knee_of(64, &curve, 0.0), Some(9));
    }

    #[test]
    fn noise_alone_is_no_knee() {
        // Speed-up × efficiency falls by 2 % from 2 to 4 threads, while the runs differ by 10 %.
        assert_eq!(knee_of(4, &[(1, 1.0), (2, 0.70), (4, 0.70 / 1.40)], 0.05), None);
    }

    #[test]
    fn nothing_measured() {
        assert_eq!(knee(&Clean::new(&Sketch::new(2).tables())), None);
        assert_eq!(knee_of(2, &[(1, 1.0)], 0.0), None);
    }
}
