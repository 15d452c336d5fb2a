//! A limited resource in words: where it is acquired, how many there are, how long it is held and what for.

use crate::account::Ledger;
use crate::account::lines::Why;
use crate::answer::{Cause, Culprit, Evidence, Unit};
use crate::causes::shared::holders::{Act, Holders, holders};
use crate::causes::shared::{Meta, blame, evidence, found};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::resources::Pool;
use crate::model::stack_view::View;
use crate::runtimes::function_name::readable;
use recording::tables::Wait;

/// The cause for a pool; without one, for waits that belong to a pool by name alone.
pub(super) fn tell<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    pool: Option<&Pool<'t>>,
    lost: (f64, f64),
    meta: &Meta,
) -> Cause {
    let waits: Vec<&Wait> = blame::waits(ledger, |w| w == Why::Pool)
        .map(|(wait, _)| wait)
        .filter(|w| pool.is_none_or(|pool| pool.waits.contains(&w.wait)))
        .collect();
    let stacks = &facts.model.stacks;
    let view = |w: &&Wait| (stacks.view(w.user_stack, w.syscall.is_some()), w.blocked_ns as f64);
    let views: Vec<_> = waits.iter().map(view).collect();
    let culprit = blame::culprit(&views, blame::Blamed::Own);
    let held = pool.and_then(|pool| holders(facts, ledger, &pool.holds));
    let size = pool.and_then(|pool| pool.size);
    let (count, blocked) =
        waits.iter().fold((0_u64, 0.0), |(n, s), w| (n.saturating_add(w.count), s + w.blocked_ns as f64 * 1e-9));
    let mut rows: Vec<Evidence> = Vec::new();
    if let Some(size) = size {
        rows.push(evidence("held at once while others waited", size as f64, Unit::Of("resources"), "slices"));
    }
    if let Some(pool) = pool {
        rows.push(evidence("threads that waited", pool.waiters.len() as f64, Unit::Of("threads"), "waits"));
    }
    rows.push(evidence("times a thread waited", count as f64, Unit::Of("waits"), "waits"));
    rows.push(evidence("time waited, all threads", blocked, Unit::Seconds, "waits"));
    rows.extend(held.iter().flat_map(Holders::rows));
    Cause {
        summary: summary(through(&views, culprit.as_ref()), pool, size, held.as_ref()),
        remedies: remedies(held.as_ref(), size),
        evidence: rows,
        culprit,
        ..found(ledger, meta, lost)
    }
}

/// Where the program acquires one: its own place, and the library function that it calls there.
fn through(views: &[(View<'_>, f64)], culprit: Option<&Culprit>) -> Option<String> {
    let own = culprit?;
    let library = blame::heaviest(views, blame::Blamed::Responsible).filter(|(library, _)| *library);
    match library.and_then(|(_, site)| site.function).filter(|function| own.function.as_ref() != Some(function)) {
        Some(function) => Some(format!("{}, called from {},", readable(&function), place(&own.site()))),
        None => Some(blame::named(own)),
    }
}

fn summary(at: Option<String>, pool: Option<&Pool<'_>>, size: Option<usize>, held: Option<&Holders>) -> String {
    let at = at.or_else(|| pool.map(|pool| place(&pool.place.site())));
    let at = at.map(|at| format!(" in {at}")).unwrap_or_default();
    let held = held.map(|h| format!("; it is {}", h.words())).unwrap_or_default();
    match size {
        Some(1) => format!("Threads wait{at} for a resource that only one of them can hold at a time{held}."),
        Some(size) => format!("Threads wait{at} for one of {size} resources that others hold{}.", held.replace("it is", "each is")),
        None => format!("Threads wait{at} for one of a few resources that others hold{held}."),
    }
}

/// What to try, by what the holders do.
fn remedies(held: Option<&Holders>, size: Option<usize>) -> Vec<String> {
    let more = match size {
        Some(1) => "more than one of them, as far as what they stand for allows it",
        _ => "more of them, as far as what they stand for allows it",
    };
    let act = held.and_then(Holders::mostly);
    let at = |act: Act| held.and_then(|h| h.place_of(act)).map(|at| format!(" in {at}")).unwrap_or_default();
    match act {
        Some(act @ (Act::Sleeps | Act::Files | Act::Answers | Act::Else)) => vec![
            format!("{more}: holders only wait{}, and more of them can wait at once", at(act)),
            "hold one for a shorter time: get it as late and give it back as early as the work allows".to_owned(),
            "ask for several results at once, or ask and go on with other work until the answer is there".to_owned(),
        ],
        Some(Act::Runs) => vec![
            format!("do less while holding one: what runs meanwhile{} is the limit", at(Act::Runs)),
            format!("{more}, up to the number of processors: holders compute, and beyond that more do not help"),
        ],
        Some(act @ (Act::Locks | Act::Pools)) => vec![
            format!("look at what holders wait for first{}: it is the real limit, and more of these would wait for it too", at(act)),
            "get the one after the other is there, not before".to_owned(),
        ],
        Some(Act::Others) => vec![
            format!("holders wait for another thread{}: make its part faster, or give one back meanwhile", at(Act::Others)),
            more.to_owned(),
        ],
        Some(Act::Ready) => vec![
            "fewer threads, or more processors: who holds one waits for a processor most of the time".to_owned(),
        ],
        None => vec![more.to_owned(), "hold one for a shorter time".to_owned()],
    }
}
