//! What a second of the traced run stands for in the clean runs.
//!
//! The clean runs tell two parts of their loss exactly: idle processors (capacity − processor time), and excess
//! processor time (processor time − useful work). The traced run says what each part consists of. It may be slower or
//! faster than the clean runs, because it is observed, because others disturbed it, or because the program has two
//! speeds; so each part is scaled separately.

/// A part of the observed run's loss is scaled to the timed runs when that makes it at most this many times larger.
/// Making it smaller has no limit: an observed run that lost more still shows how the loss splits.
///
/// Decides: whether the part of a loss that the observed run shows stands for all of it in the timed runs.
/// From: chosen: an observed run that shows so little of a part says nothing about the rest of it.
/// Shown by: `idle_time_needs_only_to_be_seen`, `an_observed_run_that_hardly_waited_tells_nothing_about_the_rest`.
/// Wrong if: a program has two speeds and waits five times as long in one of them, for the same reasons: that loss
/// stays unexplained.
const LARGEST_RATIO: f64 = 4.0;

/// A difference of CPU times must exceed this share of the capacity before it is scaled as a difference.
///
/// Decides: whether a loss on processors is scaled from the observed run to the timed runs by the ratio of the losses,
/// or by the ratio of the times.
/// From: chosen: below this, it is a small difference of large numbers.
/// Shown by: `a_loss_is_scaled_by_itself_where_it_is_solid_and_by_the_time_where_it_is_not`,
/// `small_growth_is_a_difference_of_scaled_times`.
/// Wrong if: observing makes code more expensive whose growth is below this share: part of the cost of observing is
/// then taken from useful work.
const SOLID: f64 = 0.1;

/// One quantity in the traced run and in the clean runs, in processor-seconds per unit of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Both {
    pub(super) traced: f64,
    pub(super) clean: f64,
}

impl Both {
    /// Clean seconds for one traced second, where the traced run shows enough of them.
    fn ratio(self) -> Option<f64> {
        let ratio = self.clean.max(0.0) / self.traced;
        (self.traced > 0.0 && ratio <= LARGEST_RATIO).then_some(ratio)
    }
}

/// How processor time beyond the useful is scaled from traced to clean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TimeScale {
    /// Scale the differences to the baseline, by this factor.
    Differences(f64),
    /// Scale the processor times themselves, at both counts, before their differences are taken.
    Times,
}

/// What one second stands for when only the whole loss of the clean runs is known: the ratio of the losses where the
/// traced loss is solid, else the ratio of the times.
///
/// A traced run that lost something where the clean runs lost nothing was disturbed: the factor is then 0.
pub(super) fn whole(loss: Both, capacity: Both) -> f64 {
    let solid = loss.traced > SOLID * capacity.traced;
    loss.ratio().filter(|_| solid).unwrap_or_else(|| times(capacity))
}

/// The factor for idle processors. They were measured, not obtained by subtraction, so the part need not be solid. With
/// nearly nothing in the traced run it is the ratio of the times.
pub(super) fn idle(idle: Both, capacity: Both) -> f64 {
    idle.ratio().unwrap_or_else(|| times(capacity))
}

/// How growth is scaled. Observing costs most where threads interact, so solid growth is scaled as a difference:
/// scaling the times would take the cost of observing from useful work. Small growth would drown in other differences
/// of the runs.
pub(super) fn growth(growth: Both, capacity: Both) -> TimeScale {
    let solid = growth.traced > SOLID * capacity.traced;
    growth.ratio().filter(|_| solid).map_or(TimeScale::Times, TimeScale::Differences)
}

/// Clean seconds for one traced second of time.
pub(super) fn times(capacity: Both) -> f64 {
    let times = capacity.clean / capacity.traced;
    if times.is_finite() { times } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: Both = Both { traced: 2.0, clean: 1.0 };

    fn both(traced: f64, clean: f64) -> Both {
        Both { traced, clean }
    }

    #[test]
    fn a_loss_is_scaled_by_itself_where_it_is_solid_and_by_the_time_where_it_is_not() {
        assert_eq!(whole(both(0.5, 0.375), CAPACITY), 0.75);
        assert_eq!(whole(both(0.1, 0.3), CAPACITY), 0.5);
        assert_eq!(whole(both(0.3, 1.3), CAPACITY), 0.5);
        assert_eq!(whole(both(0.3, -1.0), CAPACITY), 0.0);
    }

    #[test]
    fn idle_time_needs_only_to_be_seen() {
        assert_eq!(idle(both(0.25, 1.0), CAPACITY), 4.0);
        assert_eq!(idle(both(0.01, 0.05), CAPACITY), 0.5);
        assert_eq!(idle(both(0.0, 0.05), CAPACITY), 0.5);
        assert_eq!(idle(both(0.5, 0.0), CAPACITY), 0.0);
    }

    #[test]
    fn small_growth_is_a_difference_of_scaled_times() {
        assert_eq!(growth(both(0.5, 0.25), CAPACITY), TimeScale::Differences(0.5));
        assert_eq!(growth(both(0.1, 0.2), CAPACITY), TimeScale::Times);
        assert_eq!(growth(both(-0.4, 0.2), CAPACITY), TimeScale::Times);
        assert_eq!(growth(both(0.4, 2.0), CAPACITY), TimeScale::Times);
        assert_eq!(growth(both(0.4, -0.2), CAPACITY), TimeScale::Differences(0.0));
    }
}
