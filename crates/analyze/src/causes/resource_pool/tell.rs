//! A limited resource in words: where it is acquired, how many there are, how long it is held and what for.

use crate::account::Ledger;
use crate::account::lines::Why;
use crate::answer::{Cause, Culprit, Evidence, Unit};
use crate::causes::shared::holders::{Act, Holders, holders, told};
use crate::causes::shared::{Meta, blame, evidence, found};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::resources::Pool;
use crate::model::stack_view::View;
use crate::model::task_pools::TaskPool;
use crate::runtimes::function_name::readable;
use crate::runtimes::{Parked, Primitive};
use recording::tables::Wait;
use std::collections::BTreeMap;

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
    let tasks = ledger
        .traced
        .task_pools
        .iter()
        .find(|pool| waits.iter().any(|wait| wait.user_stack.is_some_and(|stack| pool.waits.contains(&stack))));
    let size = pool.and_then(|pool| pool.size).or(tasks.map(|tasks| tasks.size));
    let task_holder = tasks.and_then(|tasks| task_holder(facts, tasks));
    let (count, blocked) =
        waits.iter().fold((0_u64, 0.0), |(n, s), w| (n.saturating_add(w.count), s + w.blocked_ns as f64 * 1e-9));
    let mut rows: Vec<Evidence> = Vec::new();
    if let Some(size) = size {
        let source = if tasks.is_some() { "looks at tasks" } else { "slices" };
        rows.push(evidence("held at once while others waited", size as f64, Unit::Of("resources"), source));
    }
    if let Some(pool) = pool {
        rows.push(evidence("threads that waited", pool.waiters.len() as f64, Unit::Of("threads"), "waits"));
    }
    rows.push(evidence("times a thread waited", count as f64, Unit::Of("waits"), "waits"));
    rows.push(evidence("time waited, all threads", blocked, Unit::Seconds, "waits"));
    rows.extend(held.iter().flat_map(Holders::rows));
    if let Some((_, at, share)) = &task_holder {
        rows.push(evidence(format!("tasks that hold one meanwhile, in {at}"), *share, Unit::Share, "looks at tasks"));
    }
    let held_for = match (&held, &task_holder) {
        (Some(held), _) => Some(held.words()),
        (None, Some((act, at, _))) => Some(format!("held by tasks that are mostly {}", told(*act, Some(at)))),
        (None, None) => None,
    };
    let mostly = match &task_holder {
        Some((act, at, _)) if held.is_none() => Some((*act, format!(" in {at}"))),
        _ => held.as_ref().and_then(|held| {
            let act = held.mostly()?;
            Some((act, held.place_of(act).map(|at| format!(" in {at}")).unwrap_or_default()))
        }),
    };
    Cause {
        summary: summary(through(&views, culprit.as_ref()), pool, size, held_for),
        remedies: remedies(mostly, size),
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

/// What tasks that hold one mostly do, where they wait meanwhile: what for, where, and in which share of such waits.
fn task_holder(facts: &Facts<'_, '_>, pool: &TaskPool) -> Option<(Act, String, f64)> {
    let stacks = &facts.model.stacks;
    let mut seen: BTreeMap<(Act, String), f64> = BTreeMap::new();
    for (stack, count) in &pool.holders {
        let view = stacks.view(Some(*stack), false);
        let (Some(act), Some(own)) = (view.parked.and_then(act), view.own) else { continue };
        let own = place(&own.site());
        let entry = view.entry.and_then(|code| code.name());
        let at = entry.map_or_else(|| own.clone(), |entry| format!("{entry}, called from {own}"));
        *seen.entry((act, at)).or_default() += *count as f64;
    }
    let all: f64 = pool.holders.values().map(|count| *count as f64).sum();
    let ((act, at), most) = blame::by_weight(seen).into_iter().next()?;
    Some((act, at, most / all.max(1.0)))
}

/// What a task that holds one waits for.
fn act(parked: Parked) -> Option<Act> {
    match parked {
        Parked::Sleeps => Some(Act::Sleeps),
        Parked::Polls => Some(Act::Answers),
        Parked::TaskWaits(Primitive::Lock) => Some(Act::Locks),
        Parked::TaskWaits(Primitive::Pool) => Some(Act::Pools),
        Parked::TaskWaits(_) => Some(Act::Others),
        _ => None,
    }
}

fn summary(at: Option<String>, pool: Option<&Pool<'_>>, size: Option<usize>, held: Option<String>) -> String {
    let at = at.or_else(|| pool.map(|pool| place(&pool.place.site())));
    let at = at.map(|at| format!(" in {at}")).unwrap_or_default();
    let held = held.map(|held| format!("; it is {held}")).unwrap_or_default();
    match size {
        Some(1) => format!("Threads wait{at} for a resource that only one of them can hold at a time{held}."),
        Some(size) => format!(
            "Threads wait{at} for one of {size} resources that others hold{}.",
            held.replace("it is", "each is")
        ),
        None => format!("Threads wait{at} for one of a few resources that others hold{held}."),
    }
}

/// What to try, by what the holders do.
fn remedies(mostly: Option<(Act, String)>, size: Option<usize>) -> Vec<String> {
    let more = match size {
        Some(1) => "more than one of them, as far as what they stand for allows it",
        _ => "more of them, as far as what they stand for allows it",
    };
    let (act, at) = mostly.map_or((None, String::new()), |(act, at)| (Some(act), at));
    match act {
        Some(Act::Sleeps | Act::Files | Act::Answers | Act::Else) => vec![
            format!("{more}: holders only wait{}, and more of them can wait at once", at),
            "hold one for a shorter time: get it as late and give it back as early as the work allows".to_owned(),
            "ask for several results at once, or ask and go on with other work until the answer is there".to_owned(),
        ],
        Some(Act::Runs) => vec![
            format!("do less while holding one: what runs meanwhile{} is the limit", at),
            format!("{more}, up to the number of processors: holders compute, and beyond that more do not help"),
        ],
        Some(Act::Locks | Act::Pools) => vec![
            format!(
                "look at what holders wait for first{}: it is the real limit, and more of these would wait for it too",
                at
            ),
            "get the one after the other is there, not before".to_owned(),
        ],
        Some(Act::Others) => vec![
            format!("holders wait for another thread{}: make its part faster, or give one back meanwhile", at),
            more.to_owned(),
        ],
        Some(Act::Ready) => {
            vec!["fewer threads, or more processors: who holds one waits for a processor most of the time".to_owned()]
        }
        None => vec![more.to_owned(), "hold one for a shorter time".to_owned()],
    }
}
