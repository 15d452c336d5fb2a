//! `allocator`: time goes into allocating and freeing memory: the allocator's code, its locks, its system calls, the
//! page faults that it causes, and a garbage collector.
//!
//! Evidence: all lines whose stacks have an allocator's function between the innermost frame and the program's code.
//! They are one cause, however many locks and calls the allocator uses.
//!
//! May import: `account`, `answer`, `facts`, `model`, `runtimes`, `shared`, `statistics`, `recording`.

mod asked;
mod collector;

use self::collector::{
    COLLECTS, collected, collector_seen, collector_settings, for_collector, of_collector, waits_for_collector,
    who_allocates,
};
use crate::account::lines::Why;
use crate::account::lines::Within;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Culprit, Evidence, Unit};
use crate::causes::shared::blame::{Blamed, by_weight, culprit, on_cpu, sources, waits};
use crate::causes::shared::repeated_memory::collects_for_repeated;
use crate::causes::shared::{self, Meta, Outcome, by_lines, evidence, found, hidden, line};
use crate::facts::{Facts, in_proportion, significant};
use crate::model::code::place;
use crate::runtimes::Theme;
use crate::runtimes::advice;
use crate::runtimes::function_name::{plain, readable};
use crate::statistics::MIN_SHARE;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const ALLOCATOR: CauseId = CauseId::new("allocator");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::ALLOCATOR,
    colour: "#74b9e6",
    title: "The memory allocator",
    what: "Time goes to allocating and freeing memory.",
    why: "Allocators share state between threads: locks, lists, and memory given back to the kernel and faulted in again.",
    example: "Every element of a list is allocated by itself.",
    disproved_by: "Preallocate, or preload another allocator (jemalloc, mimalloc, tcmalloc): if the time does not fall, \
                   the allocator is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Allocator) => "waiting in the allocator",
            LineId::Allocator(Within::Code) => "the allocator's code",
            LineId::Allocator(Within::Lock) => "the allocator's locks",
            LineId::Allocator(Within::Call) => "the allocator's system calls",
            LineId::Allocator(Within::Fault) => "the allocator's page faults",
            LineId::Collector => "garbage collection",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS_AND_RUNS,
    may_be_in: &[],
    standing: shared::Standing::DefectUnless(mostly_collects),
    places: shared::NO_PLACES,
    removal: shared::Removal::Code(shared::removal::own_lines),
    samples_needed: shared::UNSEEN,
    judge,
};

/// What would show that a runtime's own allocator, which nothing can replace, is not the cause.
const REUSED: &str = "Reuse what is allocated there: if the time does not fall, the allocator is not the cause.";

/// True where most of the loss is to a garbage collector, which each program of its language has.
fn mostly_collects(ledger: &Ledger<'_, '_>, cause: &Cause) -> bool {
    ledger.sum(|id| id == LineId::Collector).0 > COLLECTS * cause.lost_seconds
}

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    match by_lines(facts, meta, explain) {
        Outcome::Clear(checked) => {
            let slower = facts.in_order().into_iter().find_map(slower_too);
            slower.map_or(Outcome::Clear(checked), Outcome::Unsure)
        }
        other => other,
    }
}

/// Why the allocator is not clear where all code takes longer, its own as well: how it places memory may be the reason.
///
/// Decides: whether the allocator is *unsure* and not clear, where its code has as large a share of the processor time as
/// a loss must have to count.
/// From: the model of `slower` in `account::growth`: what is booked to the program's code there may be due to the allocator.
/// Shown by: `an_allocator_that_is_as_much_slower_as_the_program_is_none`.
/// Wrong if: memory is placed badly by an allocator whose code takes less than that: it is called clear.
fn slower_too(ledger: &Ledger<'_, '_>) -> Option<String> {
    let slower = line(ledger, LineId::SameFunctions);
    let allocates = on_cpu(ledger, |doing| matches!(doing, Doing::Allocator(Within::Code)));
    (significant(ledger, slower) && allocates > MIN_SHARE * ledger.split.on_cpu).then(|| {
        format!(
            "{} goes to code that takes longer for no known reason, the allocator's as well: where it places memory may be \
             the reason",
            in_proportion(ledger, slower.0)
        )
    })
}

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let views = sources(facts, ledger, |w| w == Why::Allocator, |d| matches!(d, Doing::Allocator(_)));
    let collector = on_cpu(ledger, |d| d == Doing::Collector);
    let all: f64 = views.iter().map(|v| v.1).sum::<f64>() + collector;
    let collects = collector > COLLECTS * all;
    let waits_for_it = !collects && collector + waits_for_collector(facts, ledger) > COLLECTS * all;
    if let Some(asked) = (collects || waits_for_it).then(|| asked::asked(facts, ledger)).flatten() {
        return Ok(vec![Cause {
            summary: asked.summary(),
            evidence: rows(facts, ledger),
            remedies: asked.remedies(),
            disproved_by: asked.disproved_by(),
            culprit: asked.culprit,
            ..found(ledger, meta, lost)
        }]);
    }
    if (collects || waits_for_it) && collects_for_repeated(facts, ledger) {
        return Err(format!(
            "the garbage collector takes {}, mostly for what each thread builds for itself: doing that once would tell how much \
             is left",
            in_proportion(ledger, lost.0)
        ));
    }
    let who = match collects || waits_for_it {
        true => who_allocates(facts, ledger, &views),
        false => culprit(&views, Blamed::Responsible),
    };
    let named = collector_seen(facts, ledger);
    let settings = collector_settings(facts, ledger);
    let collected = who.as_ref().and_then(|who| collected(who, &views));
    let remedies = match collected {
        _ if collects || waits_for_it => {
            named.map(|(_, remedy)| remedy.to_owned()).into_iter().chain(advice::for_collector(settings)).collect()
        }
        Some(settings) => advice::for_collector(Some(settings)),
        None => advice::for_allocator(who.as_ref().map(|c| c.module.as_str()), gives_back(facts, ledger)),
    };
    let summary = match () {
        () if collects => of_collector(who.as_ref()),
        () if waits_for_it => for_collector(who.as_ref(), named.map(|(name, _)| name)),
        () => summary(who.as_ref()),
    };
    let disproved_by = match collected {
        _ if collects || waits_for_it => advice::collector_disproved(settings),
        Some(_) => REUSED.to_owned(),
        None => meta.disproved_by.to_owned(),
    };
    Ok(vec![Cause {
        summary,
        evidence: rows(facts, ledger),
        remedies,
        culprit: who,
        disproved_by,
        ..found(ledger, meta, lost)
    }])
}

fn summary(culprit: Option<&Culprit>) -> String {
    let caller = culprit.and_then(|c| c.callers.first()).map(|s| format!(", called from {}", place(s)));
    match culprit.and_then(|c| c.function.as_deref()) {
        Some(function) => {
            format!("Time goes to the memory allocator: {}{}.", readable(plain(function)), caller.unwrap_or_default())
        }
        None => format!("Time goes to the memory allocator{}.", caller.unwrap_or_default()),
    }
}

/// The allocator's time by what it did, and the system calls that it made.
fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Vec<Evidence> {
    let waited: f64 = waits(ledger, |w| w == Why::Allocator).map(|(w, _)| w.blocked_ns as f64 * 1e-9).sum();
    let within = |part: Within| on_cpu(ledger, |d| d == Doing::Allocator(part));
    let mut rows: Vec<Evidence> = [
        ("CPU time in the allocator's code", within(Within::Code), "samples"),
        ("CPU time in its locks", within(Within::Lock), "samples"),
        ("CPU time in its system calls", within(Within::Call), "samples"),
        ("CPU time in its page faults", within(Within::Fault), "samples"),
        ("CPU time in the garbage collector", on_cpu(ledger, |d| d == Doing::Collector), "samples"),
        ("time its callers were blocked", waited, "waits"),
    ]
    .into_iter()
    .filter(|(_, seconds, _)| *seconds > 0.0)
    .map(|(what, seconds, source)| evidence(what, seconds, Unit::Seconds, source))
    .collect();
    rows.sort_by(|a, b| b.value.total_cmp(&a.value));
    let mut calls: BTreeMap<&str, f64> = BTreeMap::new();
    for site in &ledger.traced.call_sites {
        if facts.model.stacks.view(site.user_stack, true).theme == Some(Theme::Allocator) {
            *calls.entry(site.name.as_str()).or_default() += site.calls;
        }
    }
    let calls = by_weight(calls);
    rows.extend(
        calls
            .into_iter()
            .take(3)
            .map(|(n, c)| evidence(format!("{n} calls by the allocator"), c, Unit::Of("calls"), "call_sites")),
    );
    rows
}

/// True when the allocator returned memory to the kernel.
fn gives_back<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> bool {
    ledger.traced.call_sites.iter().any(|s| {
        facts.model.numbers.give_back.contains(&s.number)
            && facts.model.stacks.view(s.user_stack, true).theme == Some(Theme::Allocator)
    })
}

#[cfg(test)]
mod sketches;
