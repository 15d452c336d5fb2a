//! Laws of scaling: that of Amdahl with a serial share that may exceed 1, and the universal scalability law.
//!
//! Amdahl (1967): with a serial share σ, n processors take 1 + σ (n − 1) times the time that n ideal ones would. A share
//! above 1 is no serial part but what threads do to each other: the program is then slower with more processors, down to
//! 1/σ of its speed. The universal scalability law (Gunther 1993) adds κ n (n − 1) for the coherence of data.

/// How many halvings of an interval a minimum is searched with.
///
/// Decides: how precisely the serial share is fitted.
/// From: arithmetic: each step leaves 0.618 of the interval, so that 90 leave less than the last digit.
/// Shown by: `the_law_is_found_again`.
/// Wrong if: never; further steps change nothing.
const STEPS: usize = 90;

/// A count over the smallest, and how many times the ideal time it takes.
pub(super) type Excess = (f64, f64);

/// The serial share that fits best: least squares of the logarithms. Never negative, and 0 without counts.
pub(super) fn serial_share(counts: &[Excess]) -> f64 {
    let each = || counts.iter().filter(|(n, _)| *n > 1.0).map(|(n, excess)| ((excess - 1.0) / (n - 1.0)).max(0.0));
    let (mut low, mut high) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
    if !low.is_finite() {
        return 0.0;
    }
    let off = |share: f64| -> f64 {
        counts.iter().map(|(n, excess)| (excess.max(f64::MIN_POSITIVE) / excess_with(share, *n)).ln().powi(2)).sum()
    };
    for _ in 0..STEPS {
        let third = (high - low) / 2.618;
        if off(low + third) < off(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    f64::midpoint(low, high)
}

/// The time that `n` times as many processors take, over the ideal time.
pub(super) fn excess_with(share: f64, n: f64) -> f64 {
    1.0 + share * (n - 1.0).max(0.0)
}

/// The universal scalability law through the counts: σ and κ by least squares, neither negative. `None` with fewer than
/// two counts beside the baseline: two parameters cannot be fitted to them.
pub(super) fn universal(counts: &[Excess]) -> Option<(f64, f64)> {
    let more: Vec<&Excess> = counts.iter().filter(|(n, _)| *n > 1.0).collect();
    if more.len() < 2 {
        return None;
    }
    // excess − 1 = σ a + κ b, with a = n − 1 and b = n (n − 1).
    let sum = |of: fn(f64, f64, f64) -> f64| -> f64 {
        more.iter().map(|(n, excess)| of(n - 1.0, n * (n - 1.0), excess - 1.0)).sum()
    };
    let (aa, ab, bb) = (sum(|a, _, _| a * a), sum(|a, b, _| a * b), sum(|_, b, _| b * b));
    let (ay, by) = (sum(|a, _, y| a * y), sum(|_, b, y| b * y));
    let determinant = aa * bb - ab * ab;
    let (sigma, kappa) = ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant);
    Some(match (sigma < 0.0, kappa < 0.0) {
        _ if !determinant.is_normal() => (ay / aa, 0.0),
        (true, _) => (0.0, (by / bb).max(0.0)),
        (_, true) => ((ay / aa).max(0.0), 0.0),
        _ => (sigma, kappa),
    })
}

/// The speed by the universal scalability law.
pub(super) fn universal_speed((sigma, kappa): (f64, f64), n: f64) -> f64 {
    n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_is_found_again() {
        for share in [0.0, 0.05, 0.4, 1.7] {
            let counts: Vec<Excess> = [1.0, 2.0, 4.0, 8.0].iter().map(|n| (*n, excess_with(share, *n))).collect();
            assert!((serial_share(&counts) - share).abs() < 1e-6, "{share}");
        }
        assert_eq!((serial_share(&[]), serial_share(&[(1.0, 1.0)])), (0.0, 0.0));
        assert_eq!(serial_share(&[(2.0, 0.9)]), 0.0, "more than linear is no negative share");
    }

    #[test]
    fn the_universal_law_is_found_again() {
        let at = |n: f64| (n, 1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0));
        let (sigma, kappa) = universal(&[at(1.0), at(2.0), at(4.0), at(8.0)]).unwrap_or_default();
        assert!((sigma - 0.1).abs() < 1e-9 && (kappa - 0.01).abs() < 1e-9, "{sigma} {kappa}");
        assert!((universal_speed((0.0, 0.0), 8.0) - 8.0).abs() < 1e-12);
        assert_eq!(universal(&[at(1.0), at(2.0)]), None);
        let never_negative = universal(&[(1.0, 1.0), (2.0, 1.5), (4.0, 1.6)]).unwrap_or_default();
        assert!(never_negative.0 >= 0.0 && never_negative.1 >= 0.0, "{never_negative:?}");
    }
}
