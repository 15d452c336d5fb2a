//! Workers that get no work at all, while others of the same kind are busy.

use super::pool_shares::{self, DISPROVED};
use crate::account::Ledger;
use crate::account::criticality::Idle;
use crate::account::lines::Shape;
use crate::account::timeline::others;
use crate::answer::{Cause, Unit};
use crate::causes::shared::blame::{by_weight, named, running};
use crate::causes::shared::{Meta, evidence, found};
use crate::facts::Facts;
use crate::model::code::place;
use std::collections::BTreeMap;

/// While a worker has no work, or who brings it waits for those that have all.
fn no_share(idle: Idle) -> bool {
    idle == Idle::Shape(Shape::NoShare) || pool_shares::no_task(idle)
}

/// The cause.
pub(super) fn explain<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, lost: (f64, f64), meta: &Meta) -> Cause {
    let traced = ledger.traced;
    let idle = &traced.without_share;
    let seen = ledger.split.criticality.during(no_share);
    let not_workers = others(traced);
    let busy = traced.threads.keys().filter(|thread| !not_workers.contains(thread)).count();
    let ran = running(facts, &seen, |_| None);
    let mut places: BTreeMap<String, f64> = BTreeMap::new();
    for wait in traced.waits.values().filter(|wait| idle.contains(&wait.thread)) {
        let own = facts.model.stacks.view(wait.user_stack, wait.syscall.is_some()).own;
        own.into_iter().for_each(|code| *places.entry(place(&code.site())).or_default() += wait.blocked_ns as f64);
    }
    let work = ran.as_ref().map(|ran| named(&ran.culprit)).unwrap_or_default();
    // Where the work is in the line that takes it, one place is said once.
    let waits = by_weight(places).into_iter().next().filter(|(place, _)| !work.starts_with(place.as_str()));
    let waits = waits.map(|(place, _)| format!(" in {place}")).unwrap_or_default();
    let work = if work.is_empty() { work } else { format!(": {work}") };
    let (all, rest) = (idle.len() + busy, idle.len());
    let (who, wait) = match (busy, rest) {
        (1, 1) => (format!("One of {all} workers has all of the work"), "the other one waits"),
        (1, _) => (format!("One of {all} workers has all of the work"), "the others wait"),
        (_, 1) => (format!("One of {all} workers gets no work"), "it waits"),
        _ => (format!("{rest} of {all} workers get no work"), "they wait"),
    };
    let rows = vec![
        evidence("workers that get no work", rest as f64, Unit::Of("threads"), "waits"),
        evidence("workers that have it", busy as f64, Unit::Of("threads"), "threads"),
    ];
    Cause {
        summary: format!("{who}, and {wait} for it{waits}{work}."),
        culprit: ran.map(|ran| ran.culprit),
        evidence: rows,
        remedies: vec![
            "look at how the work is given out: if by a key or a hash, most keys may go to one worker; mix the key's bits, \
             or count which keys there are"
                .to_owned(),
            "let a worker that is idle take the next part itself, from one queue for all".to_owned(),
            "if the next part is given out only when the last one has come back, give out several at once".to_owned(),
        ],
        disproved_by: DISPROVED.to_owned(),
        ..found(ledger, meta, lost)
    }
}
