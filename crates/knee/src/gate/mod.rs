//! The conditions under which knee fails, for scripts: B is slower than A, or a curve is not good enough.
//!
//! Knee fails only when it is certain: the whole 95 % interval must be on the wrong side. "Cannot be told" has its own
//! exit status, used only on request. Rooms: [`condition`] the conditions of `--fail-if`.
//!
//! May import: `analyze`.

pub(crate) mod condition;

use analyze::answer::{Answer, Comparison, Interval};
use condition::Condition;

/// The result of a gate. The texts are for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Certainly no condition for failing holds.
    Free,
    /// Certainly one of them holds.
    Barred(String),
    /// It cannot be told whether one holds.
    Open(String),
}

/// The question that a script asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Gate {
    /// Nothing.
    Open,
    /// Whether B is slower than A by this share.
    Slower(f64),
    /// Whether one of these holds.
    FailIf(Vec<Condition>),
}

/// The worst of several.
fn worst(all: impl Iterator<Item = Passage>) -> Passage {
    let rank = |passage: &Passage| match passage {
        Passage::Free => 0,
        Passage::Open(_) => 1,
        Passage::Barred(_) => 2,
    };
    // Among equally bad results, the first.
    all.fold(Passage::Free, |worst, next| if rank(&next) > rank(&worst) { next } else { worst })
}

/// Whether B is slower than A by a share of at least `by`, at any count.
pub(crate) fn slower(comparison: &Comparison, by: f64) -> Passage {
    let percent = 100.0 * by;
    worst(comparison.curve.iter().map(|point| {
        // A single count may be the program's own choice, so it is not named.
        let with = match comparison.curve.len() {
            1 => String::new(),
            _ => format!(", with {}", comparison.counted.many(point.threads)),
        };
        match point.interval {
            Some(Interval { high, .. }) if high <= 1.0 - by => {
                Passage::Barred(format!("B is slower than A by at least {percent} %{with}"))
            }
            Some(Interval { low, .. }) if low > 1.0 - by => Passage::Free,
            Some(_) => Passage::Open(format!("it cannot be told whether B is slower than A by {percent} %{with}")),
            None => Passage::Open(format!("B cannot be compared with A{with}: too few blocks")),
        }
    }))
}

/// Whether one of the conditions holds.
pub(crate) fn fails(answer: &Answer, conditions: &[Condition]) -> Passage {
    worst(conditions.iter().map(|condition| match condition.holds(answer) {
        Some(true) => Passage::Barred(format!("{condition} is true")),
        Some(false) => Passage::Free,
        None => Passage::Open(format!("it cannot be told whether {condition}")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::answer::{CurveChange, Judgement, Setup};
    use recording::meta::Counted;

    fn comparison(intervals: &[Option<(f64, f64)>]) -> Comparison {
        let point = |(at, interval): (usize, &Option<(f64, f64)>)| CurveChange {
            threads: 1 << at,
            before: 1.0,
            after: 1.0,
            speed: 1.0,
            interval: interval.map(|(low, high)| Interval { low, high }),
            judgement: Judgement::Unclear,
            blocks: None,
            resolution: None,
        };
        Comparison {
            setup: Setup::Interleaved,
            counted: Counted::Threads,
            summary: String::new(),
            curve: intervals.iter().enumerate().map(point).collect(),
            changes: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn only_what_is_certainly_slower_is_barred() {
        let of = |intervals: &[Option<(f64, f64)>]| slower(&comparison(intervals), 0.05);
        assert_eq!(of(&[Some((0.97, 1.01))]), Passage::Free);
        assert_eq!(of(&[]), Passage::Free);
        assert_eq!(
            of(&[Some((0.98, 1.0)), Some((0.80, 0.95))]),
            Passage::Barred("B is slower than A by at least 5 %, with 2 threads".to_owned())
        );
        // Certainly slower, but by how much is uncertain.
        assert!(matches!(of(&[Some((0.90, 0.98))]), Passage::Open(_)));
        assert!(matches!(of(&[None]), Passage::Open(why) if why.contains("too few blocks")));
        assert!(matches!(of(&[None, Some((0.5, 0.6))]), Passage::Barred(_)));
    }
}
