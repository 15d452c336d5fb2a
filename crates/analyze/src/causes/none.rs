//! `none`: no cause was found. Says how far the program scales, and what would limit it next.

use super::{Description, Outcome, evidence};
use crate::answer::{Cause, CauseId, Interval};
use crate::facts::{Facts, large};
use crate::words::count_threads;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::None,
    title: "Nothing found",
    what: "No cause was found: the program uses the processors that it has, or what it loses is not explained.",
    why: "Where nothing is lost, only more processors or less work make it faster.",
    example: "Threads that share nothing, as many as there are processors.",
    disproved_by: "A change of the program, at the same thread count and on the same machine, that makes it clearly \
                   faster without doing less work.",
    detect: |facts, _| Outcome::Found(vec![conclude(facts)]),
};

/// The cause that stands for the absence of causes.
pub fn conclude(facts: &Facts<'_, '_>) -> Cause {
    let within = facts.points.iter().rfind(|p| p.threads <= facts.processors);
    let point = within.or(facts.points.first());
    let threads = point.map_or(facts.ledgers.first().map_or(1, |l| l.account.threads), |p| p.threads);
    let mut rows = vec![evidence("processors", f64::from(facts.processors), "processors", "meta")];
    if let Some(point) = point {
        rows.push(evidence(format!("speed-up with {}", count_threads(threads)), point.speedup, "ratio", "runs"));
        rows.push(evidence(format!("efficiency with {}", count_threads(threads)), point.efficiency, "ratio", "runs"));
    }
    Cause {
        id: CauseId::None,
        share: 0.0,
        lost_seconds: 0.0,
        interval: Interval { low: 0.0, high: 0.0 },
        threads,
        summary: summary(facts, threads),
        culprit: None,
        evidence: rows,
        remedies: Vec::new(),
        disproved_by: DESCRIPTION.disproved_by.to_owned(),
    }
}

/// A loss that would be a cause's if it were certain, within the processors.
fn uncertain(facts: &Facts<'_, '_>) -> Option<String> {
    let more = facts.ledgers.iter().skip(1).filter(|l| l.account.threads <= facts.processors);
    let ledger = more.rev().find(|l| large(l, l.loss))?;
    let percent = |seconds: f64| 100.0 * seconds / ledger.account.capacity;
    Some(format!(
        "{:.0} % of the processor time with {} may be lost, at most {:.0} %, perhaps none: the runs scatter too much to \
         tell, more of them would.",
        percent(ledger.loss),
        count_threads(ledger.account.threads),
        percent(ledger.account.loss_interval.high)
    ))
}

fn summary(facts: &Facts<'_, '_>, threads: u32) -> String {
    if facts.ledgers.is_empty() {
        return "No run was traced, so what limits it is not known.".to_owned();
    }
    let alone = facts.ledgers.iter().any(|l| l.traced.alone);
    let Some(ledger) = facts.focus() else {
        if alone {
            return "The program keeps its processors busy; whether more would help shows only in a sweep.".to_owned();
        }
        if let Some(open) = uncertain(facts) {
            return open;
        }
        return match threads < facts.processors {
            true => format!(
                "Up to {threads} threads nothing limits it; more of the {} processors could be tried.",
                facts.processors
            ),
            false => format!("Nothing but the number of processors ({}) limits it.", facts.processors),
        };
    };
    let largest = ledger.account.lines.iter().find(|l| l.seconds > ledger.account.unexplained.max(0.0));
    let mostly = largest.map_or("not explained", |l| l.what.as_str());
    let of = if alone { String::new() } else { format!(" with {}", count_threads(ledger.account.threads)) };
    format!(
        "{:.0} % of the processor time{of} is lost, and no cause is proven; the largest part: {mostly}.",
        100.0 * ledger.loss / ledger.account.capacity
    )
}
