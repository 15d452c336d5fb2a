//! How the work is divided among threads, and how it would be among more of them.

use super::work::RunWork;

/// How the largest share follows the number of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pattern {
    /// It is so many times the mean of the others; 1 where all are equal.
    Ratio(f64),
    /// It is this part of the work, however many threads there are.
    Fixed(f64),
}

/// The largest share of the work, and the number of threads that share it.
fn largest(work: &RunWork) -> Option<(f64, usize)> {
    let total = work.total();
    let share = work.threads.first()? / total;
    (total > 0.0 && share.is_finite()).then_some((share, work.threads.len()))
}

fn ratio(share: f64, threads: usize) -> f64 {
    if threads < 2 || share >= 1.0 {
        return 1.0;
    }
    (share * (threads - 1) as f64 / (1.0 - share)).max(1.0)
}

impl Pattern {
    /// The pattern of one or more runs, ascending by their number of threads: of the last, by the kind that tells it best
    /// from the first with several threads.
    pub(super) fn from_runs(runs: &[&RunWork]) -> Pattern {
        let seen: Vec<(f64, usize)> = runs.iter().filter_map(|run| largest(run)).filter(|(_, n)| *n > 1).collect();
        let Some((share, threads)) = seen.last().copied() else { return Pattern::Ratio(1.0) };
        let kept = Pattern::Ratio(ratio(share, threads));
        let Some((first, of)) = seen.first().copied().filter(|(_, of)| *of < threads) else { return kept };
        let off = |told: f64| (told / share).ln().abs();
        if off(first) < off(Pattern::Ratio(ratio(first, of)).share(threads as f64)) {
            Pattern::Fixed(share)
        } else {
            kept
        }
    }

    /// The largest share with so many threads.
    pub(super) fn share(self, threads: f64) -> f64 {
        match self {
            Pattern::Ratio(ratio) => ratio / (threads.max(1.0) - 1.0 + ratio),
            Pattern::Fixed(share) => share,
        }
    }
}

/// The part of the work that one thread has to do, at least, with `processors` of them. `recorded`: a run with as many
/// threads, where the recording has one; else the pattern tells, for `threads` of them.
pub(super) fn largest_part(recorded: Option<&RunWork>, pattern: Pattern, threads: f64, processors: f64) -> f64 {
    let share = recorded.and_then(largest).map_or_else(|| pattern.share(threads), |(share, _)| share);
    share.max(1.0 / processors.max(1.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(threads: &[f64]) -> RunWork {
        RunWork { threads: threads.to_vec(), ..RunWork::default() }
    }

    #[test]
    fn a_thread_with_twice_the_share_keeps_it() {
        let pattern = Pattern::from_runs(&[&run(&[0.8, 0.4]), &run(&[0.8, 0.4, 0.4, 0.4])]);
        assert!((pattern.share(16.0) - 2.0 / 17.0).abs() < 1e-9, "{pattern:?}");
    }

    #[test]
    fn a_stage_of_its_own_does_not_shrink() {
        let pattern = Pattern::from_runs(&[&run(&[0.4, 0.3, 0.3]), &run(&[0.4, 0.15, 0.15, 0.15, 0.15])]);
        assert!((pattern.share(32.0) - 0.4).abs() < 1e-9, "{pattern:?}");
    }

    #[test]
    fn equal_shares_stay_equal() {
        let pattern = Pattern::from_runs(&[&run(&[1.0]), &run(&[0.5, 0.5])]);
        assert!((largest_part(None, pattern, 8.0, 8.0) - 0.125).abs() < 1e-9);
        // Four threads on two processors: the processors limit.
        assert!((largest_part(Some(&run(&[0.25; 4])), pattern, 4.0, 2.0) - 0.5).abs() < 1e-9);
        assert_eq!(Pattern::from_runs(&[]), Pattern::Ratio(1.0));
    }
}
