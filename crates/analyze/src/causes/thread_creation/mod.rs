//! `thread-creation`: time goes into creating and ending threads.
//!
//! Evidence: CPU time and waiting in the creation of threads and in what the C library does at their end, and idle
//! capacity while one thread creates or ends the others.
//!
//! May import: `account`, `answer`, `facts`, `model`, `recording`, `runtimes`, `shared`, `statistics`.

use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Evidence, Unit};
use crate::causes::shared::blame::{Blamed, culprit, on_cpu, sources};
use crate::causes::shared::{self, Meta, by_lines, evidence, found, hidden};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::stack_view::View;
use crate::runtimes::Theme;
use crate::statistics::median;
use recording::StackId;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const THREAD_CREATION: CauseId = CauseId::new("thread-creation");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::THREAD_CREATION,
    colour: "#8f9bd8",
    title: "Creating threads",
    what: "Time goes to creating and ending threads.",
    why: "A thread needs a stack, kernel memory, and locks of the whole process.",
    example: "A new thread for each small task.",
    disproved_by: "Reuse threads: if the time does not fall, their creation is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Creation) => "waiting to create threads",
            LineId::Creation => "creating and ending threads",
            LineId::Creating => "while threads are created",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS_AND_RUNS,
    may_be_in: &[],
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::Code(shared::removal::own_lines),
    samples_needed: shared::UNSEEN,
    judge: |facts, meta| by_lines(facts, meta, explain),
};

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let traced = ledger.traced;
    let mut created: BTreeMap<StackId, f64> = BTreeMap::new();
    for stack in traced.threads.values().filter_map(|t| t.created_stack) {
        *created.entry(stack).or_default() += 1.0;
    }
    let created: Vec<(View, f64)> =
        created.into_iter().map(|(stack, count)| (facts.model.stacks.view(Some(stack), true), count)).collect();
    let views = match created.iter().any(|(view, _)| view.own.is_some()) {
        true => created,
        false => sources(facts, ledger, |w| w == Why::Creation, |d| d == Doing::Creation),
    };
    let who = culprit(&views, Blamed::Own);
    let count = traced.threads.len().saturating_sub(1);
    let at = who.as_ref().and_then(|c| c.callers.first()).map(|s| format!(" in {}", place(s))).unwrap_or_default();
    Ok(vec![Cause {
        summary: format!(
            "Time goes to creating and ending {count} {}{at}.",
            if count == 1 { "thread" } else { "threads" }
        ),
        culprit: who,
        evidence: rows(facts, ledger, count),
        remedies: vec![
            "keep threads and give them tasks: a pool with as many threads as processors".to_owned(),
            "give each thread more to do: larger tasks".to_owned(),
            "make stacks smaller, or let the C library keep them (it reuses up to 40 MiB of stacks by default)"
                .to_owned(),
        ],
        ..found(ledger, meta, lost)
    }])
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, count: usize) -> Vec<Evidence> {
    let traced = ledger.traced;
    let lives: Vec<f64> =
        traced.threads.values().skip(1).map(|t| t.end_ns.saturating_sub(t.start_ns) as f64 * 1e-3).collect();
    let mut rows = vec![
        evidence("threads created", count as f64, Unit::Of("threads"), "threads"),
        evidence(
            "CPU time creating and ending threads",
            on_cpu(ledger, |d| d == Doing::Creation),
            Unit::Seconds,
            "samples",
        ),
    ];
    if let Some(life) = median(&lives) {
        rows.push(evidence("median life of a thread", life, Unit::Microseconds, "threads"));
    }
    let clone = |n: u32| facts.model.numbers.clone.contains(&n);
    let sites = || traced.call_sites.iter().filter(|s| clone(s.number) && s.error.is_none());
    let (timed, total) = sites().fold((0_u64, 0.0), |(n, t), s| (n.saturating_add(s.timed), t + s.total_ns as f64));
    if timed > 0 {
        rows.push(evidence("time of one clone call", total * 1e-3 / timed as f64, Unit::Microseconds, "call_sites"));
    }
    let within = traced.call_sites.iter().filter(|s| {
        facts.model.numbers.stacks.contains(&s.number)
            && facts.model.stacks.view(s.user_stack, true).theme == Some(Theme::Creation)
    });
    let mapped: f64 = within.map(|s| s.calls).sum();
    if mapped > 0.0 {
        rows.push(evidence("mappings made and removed for stacks", mapped, Unit::Of("calls"), "call_sites"));
    }
    rows
}

#[cfg(test)]
mod sketches;
