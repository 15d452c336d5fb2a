//! `--fail-if 'efficiency(4) < 0.6'`: a value of the curve, at a count, against a number.

use analyze::answer::{Answer, Point};
use std::fmt;
use std::str::FromStr;

/// A value of one count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Speedup,
    Efficiency,
    Seconds,
    Throughput,
}

const VALUES: [(&str, Measure); 4] = [
    ("speedup", Measure::Speedup),
    ("efficiency", Measure::Efficiency),
    ("seconds", Measure::Seconds),
    ("throughput", Measure::Throughput),
];

/// A condition under which a sweep fails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    value: Measure,
    /// The thread or processor count.
    at: u32,
    /// True for `<`, false for `>`.
    below: bool,
    limit: f64,
    /// As the user wrote it.
    text: String,
}

impl Condition {
    /// True or false if that is certain; none if it is not, or the count was not run.
    pub(super) fn holds(&self, answer: &Answer) -> Option<bool> {
        let point = answer.curve.iter().find(|point| point.threads == self.at)?;
        let (low, high) = self.interval(point)?;
        let (holds, does_not_hold) = match self.below {
            true => (high < self.limit, low >= self.limit),
            false => (low > self.limit, high <= self.limit),
        };
        match (holds, does_not_hold) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The 95 % interval; a single run has none.
    fn interval(&self, point: &Point) -> Option<(f64, f64)> {
        let spread = |spread: analyze::answer::Spread| (spread.low, spread.high);
        let interval = match self.value {
            Measure::Speedup => Some((point.speedup_interval.low, point.speedup_interval.high)),
            Measure::Efficiency => Some((point.efficiency_interval.low, point.efficiency_interval.high)),
            Measure::Seconds => Some(spread(point.seconds)),
            Measure::Throughput => point.throughput.map(spread),
        };
        interval.filter(|_| point.runs > 1)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let wrong = || {
            format!(
                "`{text}` is not a condition; write 'efficiency(4) < 0.6', with speedup, efficiency, seconds or throughput"
            )
        };
        let (left, below, limit) = match (text.split_once('<'), text.split_once('>')) {
            (Some((left, limit)), None) => (left, true, limit),
            (None, Some((left, limit))) => (left, false, limit),
            _ => return Err(wrong()),
        };
        let (name, rest) = left.trim().split_once('(').ok_or_else(wrong)?;
        let count = rest.strip_suffix(')').ok_or_else(wrong)?.trim();
        let value = VALUES.iter().find(|(known, _)| *known == name.trim()).ok_or_else(wrong)?.1;
        let at = count
            .parse::<u32>()
            .ok()
            .filter(|at| *at > 0)
            .ok_or_else(|| format!("`{count}` is not a count, in `{text}`"))?;
        let limit = limit.trim();
        let number = limit.parse::<f64>().ok().filter(|number| number.is_finite());
        let limit = number.ok_or_else(|| format!("`{limit}` is not a number, in `{text}`"))?;
        Ok(Condition { value, at, below, limit, text: text.trim().to_owned() })
    }
}

impl Condition {
    /// The count that the condition is about.
    pub(crate) fn at(&self) -> u32 {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::answer_for;
    use recording::synthetic::Sketch;

    fn holds(condition: &str) -> Option<bool> {
        let times = |middle: f64| [0.99, 1.0, 1.01, 0.995, 1.005, 1.0].map(|t| t * middle);
        let tables = Sketch::new(4).clean(1, &times(1.0)).clean(2, &times(0.8)).clean(4, &[0.7]).tables();
        condition.parse::<Condition>().unwrap().holds(&answer_for(&tables))
    }

    #[test]
    fn values_are_judged_by_their_intervals() {
        assert_eq!(holds("efficiency(2) < 0.7"), Some(true));
        assert_eq!(holds("efficiency(2)<0.5"), Some(false));
        assert_eq!(holds("speedup( 2 ) > 1.1"), Some(true));
        assert_eq!(holds("seconds(2) > 0.9"), Some(false));
        assert_eq!(holds("seconds(2) > 0.8"), None, "the limit lies inside the interval");
        assert_eq!(holds("efficiency(4) < 0.9"), None, "one run");
        assert_eq!(holds("efficiency(8) < 0.9"), None, "not run");
        assert_eq!(holds("throughput(2) < 5"), None, "none is printed");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("efficiency(4)", "write 'efficiency(4) < 0.6'"),
            ("efficiency 4 < 1", "is not a condition"),
            ("fast(4) < 1", "is not a condition"),
            ("efficiency(0) < 1", "`0` is not a count"),
            ("efficiency(x) < 1", "`x` is not a count"),
            ("efficiency(4) < much", "`much` is not a number"),
            ("efficiency(4) <> 1", "is not a condition"),
        ] {
            assert!(text.parse::<Condition>().unwrap_err().contains(part), "{text}");
        }
    }
}
