//! A garbage collector: which one worked, who allocates for it, and how much time goes to it and to waiting for it.

use crate::account::Ledger;
use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::answer::Culprit;
use crate::causes::shared::blame::{Blamed, by_weight, culprit, sources, waits};
use crate::facts::Facts;
use crate::model::code::{Code, place};
use crate::model::stack_view::View;
use crate::runtimes::advice::CollectorSettings;
use crate::runtimes::function_name::FunctionName;
use crate::runtimes::{self, Called, Theme};
use recording::tables::{ModuleKind, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// Decides: whether a garbage collector is told instead of the allocator, and whether a small loss is a remark on a program
/// that scales: more than this share must be the collector's, or waiting for it; also whether the program's own calls are
/// told as the reason for collections: more than this share of what begins them must be inside such a call.
/// From: reasoned: advice for the larger part saves more. Of the sketches, half of it changes the answer of one, and twice as
/// much (never) those of three.
/// Shown by: `tests/small_loss.rs`, `tests/dotnet.rs`, `collections_that_the_program_asks_for_are_told_where_it_does`,
/// `a_call_for_one_collection_of_many_is_not_the_reason`.
/// Wrong if: the program allocates needlessly, and the collector's time is only what that costs.
pub(super) const COLLECTS: f64 = 0.5;

/// Processor-seconds of a virtual machine with a garbage collector: charged to threads that waited inside it for memory,
/// and of its functions that allocate, which may collect themselves.
pub(super) fn waits_for_collector<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> f64 {
    let inside = |wait: &Wait| {
        let frames = wait.user_stack.map(|stack| facts.model.stacks.frames(stack)).unwrap_or_default();
        frames.iter().any(|code| runtimes::collects_garbage(code.module_file))
    };
    let waited: f64 =
        waits(ledger, |w| w == Why::Allocator).filter(|(wait, _)| inside(wait)).map(|(_, seconds)| seconds).sum();
    let ran = sources(facts, ledger, |_| false, |d| matches!(d, Doing::Allocator(_)));
    let in_machine = |code: &Code<'t>| runtimes::collects_garbage(code.module_file);
    // A virtual machine's map of names may take its own functions for code that it made.
    let allocates = |code: &Code<'t>| {
        let theme = || code.name().and_then(|name| runtimes::theme(&FunctionName::new(name)));
        code.kind == ModuleKind::Anonymous && theme() == Some(Theme::Allocator)
    };
    let machine =
        |view: &View<'t>| view.leaf.as_ref().is_some_and(in_machine) || view.entry.as_ref().is_some_and(allocates);
    waited + ran.iter().filter(|(view, _)| machine(view)).map(|(_, seconds)| seconds).sum::<f64>()
}

/// The settings of the collector that takes back what is allocated there; `None` where memory is freed by hand.
pub(super) fn collected<'t>(allocator: &Culprit, views: &[(View<'t>, f64)]) -> Option<&'static CollectorSettings> {
    let inside =
        views.iter().filter_map(|(view, _)| view.leaf.as_ref()).filter(|code| code.module_file == allocator.module);
    inside.filter_map(called).find_map(runtimes::collects_from)
}

fn called<'t>(code: &Code<'t>) -> Option<Called<'t>> {
    Some(Called { name: code.name()?, module: code.module_file })
}

/// The collector that was seen at work most.
pub(super) fn collector_seen<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
) -> Option<(&'static str, &'static str)> {
    let mut seen: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for (view, weight) in sources(facts, ledger, |_| false, |d| d == Doing::Collector) {
        if let Some(found) = view.leaf.and_then(|code| code.name()).and_then(runtimes::collector) {
            *seen.entry(found).or_default() += weight;
        }
    }
    by_weight(seen).into_iter().next().map(|(found, _)| found)
}

/// The settings of the collector that ran, or that threads waited for.
pub(super) fn collector_settings<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
) -> Option<&'static CollectorSettings> {
    let called = |code: Code<'t>| (code.name().unwrap_or_default(), code.module_file);
    let ran = sources(facts, ledger, |_| false, |d| d == Doing::Collector);
    let waited = waits(ledger, |w| w == Why::Allocator).filter_map(|(wait, _)| wait.user_stack);
    let waited = waited.flat_map(|stack| facts.model.stacks.frames(stack));
    let seen = ran.into_iter().filter_map(|(view, _)| view.leaf).chain(waited).map(called).collect::<BTreeSet<_>>();
    runtimes::collector_settings(seen.into_iter().map(|(name, module)| Called { name, module }))
}

/// The program's own place from which most of the collector's work was called or waited for; `None` where only the
/// runtime's own threads were seen. The collector's functions are not named: users cannot change them.
pub(super) fn who_allocates<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    asks: &[(View<'t>, f64)],
) -> Option<Culprit> {
    let mut views = sources(facts, ledger, |_| false, |d| d == Doing::Collector);
    views.extend(asks);
    views.retain(|(view, _)| view.own.is_some());
    culprit(&views, Blamed::Own)
}

/// The sentence for threads that allocate and wait until the collector has made room.
pub(super) fn for_collector(culprit: Option<&Culprit>, name: Option<&str>) -> String {
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    let caller = culprit.and_then(|c| c.callers.first()).map(|s| format!(", most in {}", place(s))).unwrap_or_default();
    format!("Threads wait for the garbage collector{name} where they allocate{caller}.")
}

pub(super) fn of_collector(culprit: Option<&Culprit>) -> String {
    let most =
        culprit.and_then(|c| c.callers.first()).map(|site| format!(", most in {}", place(site))).unwrap_or_default();
    format!("The garbage collector takes the processors: the program allocates more than it needs to keep{most}.")
}
