//! Processors that slowed themselves down.

use crate::answer::CauseId;
use crate::common::*;
use recording::Tables;
use recording::tables::RunKind;

/// A program that scales; of its five timed runs with two threads so many met throttled processors.
fn throttled(hot: usize) -> Tables {
    let mut tables = repaired();
    for run in &mut tables.runs {
        run.thermal_throttles = Some(0);
    }
    let of_two = |run: &&mut recording::tables::Run| run.threads == 2 && run.kind == RunKind::Clean;
    for run in tables.runs.iter_mut().filter(of_two).take(hot) {
        run.thermal_throttles = Some(7);
    }
    tables
}

mod positive {
    use super::*;

    #[test]
    fn most_timed_runs_met_throttled_processors() {
        let answer = answer_for(&throttled(4));
        let hot = condition(&answer, CauseId::HEAT).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(hot.summary.ends_with("because of heat or power in 4 of 5 timed runs"), "{}", hot.summary);
        assert_eq!((hot.threads, hot.evidence[0].value), (2, 4.0));
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn in_fewer_than_half_of_the_runs_the_median_is_a_cool_one() {
        assert!(condition(&answer_for(&throttled(2)), CauseId::HEAT).is_none());
    }
}

mod clean {
    use super::*;

    #[test]
    fn processors_that_never_throttled_are_not_told() {
        assert!(condition(&answer_for(&throttled(0)), CauseId::HEAT).is_none());
    }
}
