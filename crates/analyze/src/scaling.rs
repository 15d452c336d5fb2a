//! Programs whose threads mostly wait.

use crate::answer::{CounterId, Point};

/// Decides: whether a program mostly waits: at the baseline, its threads use less than this share of the
/// processors that they could use.
/// From: twice as many threads still find a processor then.
/// Shown by: the tests below; programs whose threads wait for answers use a tenth.
/// Wrong if: all threads run at the same moments: they then compete for the processors sooner.
pub(crate) const ROOM: f64 = 0.5;

/// True for a program that mostly waits even with the fewest threads: waiting does not keep further threads from
/// waiting at the same time.
pub(crate) fn more_could_wait(points: &[Point], processors: u32) -> bool {
    let [base, _, ..] = points else { return false };
    mostly_waits(base, processors)
}

/// True where threads mostly wait at this count.
pub(crate) fn mostly_waits(point: &Point, processors: u32) -> bool {
    // Threads whose processors other programs or machines had did not wait for anything else.
    let taken: f64 =
        [CounterId::ForeignSeconds, CounterId::StealSeconds].iter().filter_map(|id| point.counters.get(id)).sum();
    let used = point.processors_used + taken / point.seconds.median.max(f64::MIN_POSITIVE);
    used < ROOM * f64::from(processors.min(point.threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Clean;
    use recording::synthetic::Sketch;

    /// Runs with 1, 2 and 4 threads on two processors: their speeds, and the share of the processors that they use.
    fn points(speeds: [f64; 3], used: f64) -> Vec<Point> {
        let runs = [1, 2, 4].into_iter().zip(speeds).fold(Sketch::new(2), |sketch, (threads, speed)| {
            let seconds: Vec<f64> = [1.0, 1.01, 0.99].iter().map(|s| s / speed).collect();
            let cpu: Vec<f64> = seconds.iter().map(|s| s * used * f64::from(threads.min(2))).collect();
            sketch.clean_cpu(threads, &seconds, &cpu)
        });
        Clean::new(&runs.tables()).points()
    }

    #[test]
    fn who_waits_with_one_thread_could_wait_with_two() {
        assert!(more_could_wait(&points([1.0, 1.0, 1.0], 0.1), 2));
        assert!(!more_could_wait(&points([1.0, 1.0, 1.0], 0.9), 2));
    }

    #[test]
    fn who_has_lost_the_processors_to_others_does_not_wait() {
        let mut points = points([1.0, 1.0, 1.0], 0.1);
        assert!(mostly_waits(&points[1], 2));
        let seconds = points[1].seconds.median;
        points[1].counters.insert(CounterId::ForeignSeconds, 1.5 * seconds);
        assert!(!mostly_waits(&points[1], 2));
    }
}
