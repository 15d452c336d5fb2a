//! Why a larger thread count than the one that the verdict is about collapses; told for the worst such count.

use crate::answer::{Beyond, Cause, Culprit, Point};
use crate::causes::{Meta, Outcome};
use crate::facts::{Facts, has_loss};
use crate::words::{percent, two_digits};

/// A larger count that is more than this many times slower than the one that the verdict is about gets its own causes.
///
/// Decides: whether `verdict.beyond` gives the causes of a count that is larger than the one that the verdict is about.
/// From: chosen: a reader sees in the curve, without being told, that a count takes half as long again.
/// Shown by: `tests/verdict/beyond.rs`.
/// Wrong if: a program is slower by less than that for a different reason: only the causes of the first count are then
/// reported.
const COLLAPSE: f64 = 1.5;

/// What the worst count beyond that of the verdict loses, and why; `None` where no larger count is much slower.
pub(crate) fn beyond(facts: &Facts<'_, '_>, causes: &[&Meta], first: Option<&Cause>) -> Option<Beyond> {
    let threads = first?.threads;
    let own = facts.points.iter().find(|p| p.threads == threads)?;
    // At the baseline nothing is known about what grew.
    let base = facts.points.first()?.threads;
    let worst = |p: &&Point| p.threads > threads.max(base) && p.speedup > 0.0 && slower(own, p);
    let point = facts.points.iter().filter(worst).min_by(|a, b| a.speedup.total_cmp(&b.speedup))?;
    facts.ledgers.iter().find(|l| l.account.threads == point.threads).filter(|l| has_loss(l))?;
    let at = facts.at(point.threads);
    let found = |meta: &&Meta| match (meta.judge)(&at, meta).said() {
        Outcome::Found(causes) => causes,
        _ => Vec::new(),
    };
    let mut found: Vec<Cause> = causes.iter().flat_map(found).filter(|c| c.threads == point.threads).collect();
    found.sort_by(|a, b| b.lost_seconds.total_cmp(&a.lost_seconds).then(a.id.cmp(&b.id)));
    let slower = own.speedup / point.speedup;
    let same = first.zip(found.first()).is_some_and(|(a, b)| a.id == b.id && place(a) == place(b));
    let with = facts.counted().many(point.threads);
    let speed = format!("with {with} it is {} times slower than with {threads}", two_digits(slower));
    let summary = match found.first() {
        Some(_) if same => format!("{speed}, for the same reason"),
        Some(cause) => {
            format!("{speed}: {} ({} of what is lost there)", cause.summary.trim_end_matches('.'), percent(cause.share))
        }
        None => format!("{speed}, and no cause is certain there"),
    };
    Some(Beyond { threads: point.threads, slower, same, summary, causes: found })
}

/// True when `other` is more than [`COLLAPSE`] times slower than `own`, and certainly slower.
fn slower(own: &Point, other: &Point) -> bool {
    own.speedup > COLLAPSE * other.speedup && own.speedup_interval.low > other.speedup_interval.high
}

/// Where a cause is: the place that its culprit names.
fn place(cause: &Cause) -> Option<(&Option<String>, &Option<String>, &Option<u32>)> {
    cause.culprit.as_ref().map(|Culprit { function, file, line, .. }| (function, file, line))
}
