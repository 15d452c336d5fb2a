//! `allocator`: time goes to giving out and taking back memory, in the allocator's code, its locks, its system calls and
//! the page faults that these bring, and in a garbage collector.
//!
//! Evidence: all lines whose stacks pass through an allocator's functions between the innermost frame and the program's
//! code; they are one cause, however many locks and calls the allocator uses. May import: `blame`, `remedies`.

use super::blame::{Blamed, by_weight, culprit, on_cpu, sources, waits};
use super::{Description, by_lines, evidence, found, remedies};
use crate::account::Ledger;
use crate::account::pieces::Why;
use crate::account::profile::{Doing, Within};
use crate::answer::{Cause, CauseId, Culprit, Evidence};
use crate::code::place;
use crate::facts::Facts;
use crate::names::c_name;
use crate::themes::Theme;
use std::collections::BTreeMap;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::Allocator,
    title: "The memory allocator",
    what: "Time goes to allocating and freeing memory.",
    why: "Allocators share state between threads: locks, lists, and memory given back to the kernel and faulted in again.",
    example: "Every element of a list is allocated by itself.",
    disproved_by: "Preallocate, or preload another allocator (jemalloc, mimalloc, tcmalloc): if the time does not fall, \
                   the allocator is not the cause.",
    detect: |facts, description| by_lines(facts, description, explain),
};

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    description: &Description,
) -> Result<Vec<Cause>, String> {
    let views = sources(facts, ledger, |w| w == Why::Allocator, |d| matches!(d, Doing::Allocator(_)));
    let collector = on_cpu(ledger, |d| d == Doing::Collector);
    let all: f64 = views.iter().map(|v| v.1).sum::<f64>() + collector;
    let collects = collector > all / 2.0;
    let who = match collects {
        true => culprit(&sources(facts, ledger, |_| false, |d| d == Doing::Collector), Blamed::Responsible),
        false => culprit(&views, Blamed::Responsible),
    };
    let glibc = who.as_ref().is_some_and(|c| c.module.starts_with("libc.") || c.module.starts_with("libc-"));
    Ok(vec![Cause {
        summary: summary(who.as_ref(), collects),
        evidence: rows(facts, ledger),
        remedies: advice(facts, ledger, collects, glibc),
        culprit: who,
        ..found(ledger, description, lost)
    }])
}

fn summary(culprit: Option<&Culprit>, collects: bool) -> String {
    if collects {
        return "The garbage collector takes the processors: the program allocates more than it needs to keep."
            .to_owned();
    }
    let caller = culprit.and_then(|c| c.callers.first()).map(|s| format!(", called from {}", place(s)));
    match culprit.and_then(|c| c.function.as_deref()) {
        Some(function) => {
            format!("Time goes to the memory allocator: {}{}.", c_name(function), caller.unwrap_or_default())
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
    .map(|(what, seconds, source)| evidence(what, seconds, "seconds", source))
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
            .map(|(n, c)| evidence(format!("{n} calls by the allocator"), c, "calls", "call_sites")),
    );
    rows
}

fn advice<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, collects: bool, glibc: bool) -> Vec<String> {
    if collects {
        return vec![
            "allocate less: reuse buffers, keep values instead of pointers".to_owned(),
            "let the heap grow further between collections (Go: GOGC or GOMEMLIMIT; Java: -Xmx, a parallel collector)"
                .to_owned(),
        ];
    }
    let mut list = remedies::for_function("malloc").unwrap_or_default();
    if !glibc {
        list.retain(|r| !r.contains("arenas"));
    }
    let gives_back = ledger.traced.call_sites.iter().any(|s| {
        ["madvise", "munmap", "brk"].contains(&s.name.as_str())
            && facts.model.stacks.view(s.user_stack, true).theme == Some(Theme::Allocator)
    });
    if gives_back && glibc {
        list.push(
            "keep memory instead of giving it back: mallopt(M_TRIM_THRESHOLD, ...) and mallopt(M_MMAP_THRESHOLD, ...), \
             or GLIBC_TUNABLES=glibc.malloc.trim_threshold=..."
                .to_owned(),
        );
    }
    list
}
