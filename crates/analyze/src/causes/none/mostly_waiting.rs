//! A program that gets faster with every thread because its threads mostly wait: what they wait for.

use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::Point;
use crate::causes::shared::blame::{Blamed, culprit, named};
use crate::facts::Facts;
use crate::model::Traced;
use crate::model::stack_view::View;
use crate::scaling::{ROOM, mostly_waits};
use recording::tables::Wait;
use std::collections::BTreeMap;

/// The place is told when one reason has at least this share of the waiting.
///
/// Decides: whether a program that mostly waits is told what it waits for.
/// From: the definition of a majority.
/// Shown by: `who_sleeps_most_of_the_time_is_not_limited_by_processors`.
/// Wrong if: threads wait for several things alike: that they wait is told, and not what for.
const MOST: f64 = 0.5;

/// The sentence for this count; none where its threads keep the processors busy.
pub(super) fn sentence(facts: &Facts<'_, '_>, threads: u32) -> Option<String> {
    let ledger = facts.ledgers.iter().find(|l| l.account.threads == threads);
    // What other programs took from the timed runs may be what the threads wanted: the observed run knows.
    let observed = ledger.is_some_and(|ledger| waited_when_observed(ledger.traced));
    let idle = |p: &Point| p.processors_used < ROOM * f64::from(facts.processors.min(p.threads));
    let of = |p: &&Point| p.threads == threads;
    let point = facts.points.iter().find(of).filter(|p| mostly_waits(p, facts.processors) || (observed && idle(p)))?;
    let with = facts.counted().many(threads);
    let used = format!("with {with}, {:.2} of {} processors are busy", point.processors_used, facts.processors);
    let reason = ledger.and_then(|ledger| reason(facts, ledger));
    Some(format!("Its threads mostly wait: {used}, so more processors would not help.{}", reason.unwrap_or_default()))
}

/// The same in the observed run, which knows how long threads were ready to run while other programs ran.
fn waited_when_observed(traced: &Traced<'_>) -> bool {
    let wanted = traced.threads.values().map(|t| t.running_ns as f64 + t.runnable_ns as f64 + t.preempted_ns as f64);
    let processors = traced.processors().min(traced.run.threads.max(1));
    wanted.sum::<f64>()
        < ROOM * f64::from(processors) * traced.trace.end_ns.saturating_sub(traced.trace.begin_ns) as f64
}

/// What threads wait for most of the time, and where, as a sentence of its own.
fn reason(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<String> {
    let helpers = ledger.traced.helpers();
    let mut reasons: BTreeMap<Why, Vec<&Wait>> = BTreeMap::new();
    for wait in ledger.traced.waits.values().filter(|wait| !helpers.contains(&wait.thread)) {
        let Some(why) = ledger.reasons.get(&wait.wait) else { continue };
        if !matches!(why, Why::Join | Why::Child | Why::Helper | Why::Clock) {
            reasons.entry(*why).or_default().push(wait);
        }
    }
    let blocked = |waits: &[&Wait]| waits.iter().map(|wait| wait.blocked_ns as f64).sum::<f64>();
    let all: f64 = reasons.values().map(|waits| blocked(waits)).sum();
    let (why, waits) = reasons.into_iter().max_by(|a, b| blocked(&a.1).total_cmp(&blocked(&b.1)))?;
    if blocked(&waits) < MOST * all || why == Why::Unknown {
        return None;
    }
    let view = |wait: &&Wait| (facts.model.stacks.view(wait.user_stack, false), wait.blocked_ns as f64);
    let views: Vec<(View<'_>, f64)> = waits.iter().map(view).collect();
    let place = culprit(&views, Blamed::Own).map(|c| format!(", in {}", named(&c))).unwrap_or_default();
    Some(format!(" Most of that is {}{place}.", (facts.named)(facts.model, LineId::Blocked(why))))
}
