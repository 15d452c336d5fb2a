//! `oversubscription`: there are more threads than processors, which makes the work take longer.
//!
//! Evidence: at a count above the processors, a unit of work takes clearly longer than at the best count within them,
//! and the loss is charged to threads that were ready to run. More threads than processors are harmless in themselves.
//!
//! May import: `account`, `answer`, `curve`, `facts`, `shared`, `statistics`, `words`, `recording`.

use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Interval, Unit};
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::curve::median_of;
use crate::facts::{Facts, in_proportion, interval, large, share, significant};
use crate::statistics::intervals::{holding, ratio};
use crate::statistics::paired::ERROR;
use crate::statistics::point;
use crate::words::count;
use recording::meta::Counted;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const OVERSUBSCRIPTION: CauseId = CauseId::new("oversubscription");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::OVERSUBSCRIPTION,
    colour: "#b5b562",
    title: "More threads than processors",
    what: "More threads are ready to run than there are processors, and together they get less done.",
    why: "Threads are taken off the processor in the middle of their work, often while others wait for them.",
    example: "Sixteen workers on four processors, each with its own large working set.",
    disproved_by: "Run as many threads as there are processors: if a unit of work takes as long as before, the number of \
                   threads is not the cause.",
    lines: |id| match id {
        LineId::Crowded => Some("more threads than processors"),
        _ => None,
    },
    hides_in: &[],
    may_be_in: &[],
    standing: shared::Standing::Neither,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    if facts.counted() == Counted::Processors {
        return unchanged(facts);
    }
    let beyond: Vec<u32> = facts.points.iter().map(|p| p.threads).filter(|n| *n > facts.processors).collect();
    let within = facts.points.iter().filter(|p| p.threads <= facts.processors);
    let best = within.max_by(|a, b| a.speedup.total_cmp(&b.speedup)).map(|p| p.threads);
    let Some(best) = best.filter(|_| !beyond.is_empty()) else {
        return Outcome::Clear("no count within the processors can be compared with one beyond them".to_owned());
    };
    let slower: Vec<(u32, Interval)> =
        beyond.iter().map(|n| (*n, slowdown(facts, best, *n))).filter(|(_, i)| i.low > 1.0).collect();
    let ledger_of = |n: u32| facts.ledgers.iter().find(|l| l.account.threads == n);
    for (threads, slowdown) in &slower {
        let Some(ledger) = ledger_of(*threads) else {
            return Outcome::Unsure(format!("{threads} threads are slower than {best}, but that count was not traced"));
        };
        let lost = meta.charged(ledger);
        if significant(ledger, lost) {
            return Outcome::Found(vec![cause(facts, ledger, lost, best, slowdown, meta)]);
        }
    }
    let open = |l: &Ledger| shared::line(l, LineId::SameFunctions).0.max(0.0) + l.account.unexplained.max(0.0);
    match slower.iter().filter_map(|(n, _)| ledger_of(*n)).find(|l| large(l, open(l))) {
        Some(ledger) => Outcome::Unsure(format!(
            "{} threads are slower than {best}, and {} is not explained by waiting: whether switching between threads \
             costs it needs hardware counters",
            ledger.account.threads,
            in_proportion(ledger, open(ledger))
        )),
        None if slower.is_empty() => Outcome::Clear(format!(
            "no count above {} processors is slower than {}",
            facts.processors,
            count(best, "thread")
        )),
        None => Outcome::Clear("what is lost above the processors has other causes".to_owned()),
    }
}

/// For a sweep that changes the processors but not the threads: it cannot show what too many threads cost.
fn unchanged(facts: &Facts<'_, '_>) -> Outcome {
    match facts.ledgers.iter().any(|l| l.traced.asked() > l.traced.processors()) {
        true => Outcome::Unsure(
            "the program ran more threads than processors, and the sweep changed the processors: whether fewer threads get \
             more done shows only in a sweep of thread counts (-t)"
                .to_owned(),
        ),
        false => Outcome::Clear("it never ran more threads than it had processors".to_owned()),
    }
}

/// Time per unit of work at a count over that at another, with its interval.
fn slowdown(facts: &Facts<'_, '_>, from: u32, to: u32) -> Interval {
    let (from, to) = (facts.clean.seconds_per_unit(from), facts.clean.seconds_per_unit(to));
    let medians = median_of(&from).zip(median_of(&to)).map(|(a, b)| b / a).unwrap_or(1.0);
    holding(ratio(&from, &to, ERROR).unwrap_or(point(medians)), medians)
}

fn cause(
    facts: &Facts<'_, '_>,
    ledger: &Ledger<'_, '_>,
    lost: (f64, f64),
    best: u32,
    slowdown: &Interval,
    meta: &Meta,
) -> Cause {
    let threads = ledger.account.threads;
    let involuntary: u64 = ledger.traced.threads.values().fold(0, |n, t| n.saturating_add(t.involuntary_switches));
    Cause {
        id: CauseId::OVERSUBSCRIPTION,
        share: share(ledger, lost.0),
        lost_seconds: lost.0,
        interval: interval(ledger, lost),
        threads,
        summary: format!(
            "{threads} threads share {} and wait for each other's turn.",
            count(facts.processors, "processor")
        ),
        culprit: None,
        evidence: vec![
            evidence("processors", f64::from(facts.processors), Unit::Of("processors"), "traces"),
            evidence(
                format!("time over that with {}, at least", count(best, "thread")),
                slowdown.low,
                Unit::Ratio,
                "runs",
            ),
            evidence("times a thread was taken off the processor", involuntary as f64, Unit::Of("switches"), "threads"),
        ],
        remedies: vec![
            format!("use {} here, or as many as the machine has processors", count(best, "thread")),
            "let waiting threads sleep instead of spinning, and keep critical sections free of preemption".to_owned(),
        ],
        disproved_by: meta.disproved_by.to_owned(),
    }
}

#[cfg(test)]
mod sketches;
