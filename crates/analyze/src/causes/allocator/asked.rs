//! Collections that the program itself asks for, as with `System.gc()`, instead of leaving them to the collector.

use super::collector::COLLECTS;
use crate::account::Ledger;
use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::answer::Culprit;
use crate::causes::shared::blame::{Blamed, culprit, on_cpu, seconds_a_sample, waits};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::stack_view::View;
use crate::runtimes::advice::CollectorSettings;
use crate::runtimes::{self, Theme};
use recording::StackId;
use recording::tables::Wait;
use std::collections::BTreeMap;

/// Where the program asks for collections.
pub(super) struct Asked {
    /// The function that asks; `None` where no own code is known.
    pub culprit: Option<Culprit>,
    /// What its runtime offers against it.
    settings: &'static CollectorSettings,
}

impl Asked {
    /// The answer's sentence.
    pub(super) fn summary(&self) -> String {
        let at = self.culprit.as_ref().map(|who| format!(", most in {}", place(&who.site()))).unwrap_or_default();
        format!("Threads wait for garbage collections that the program itself asks for{at}.")
    }

    /// What to try against it.
    pub(super) fn remedies(&self) -> Vec<String> {
        let ignored = self.settings.ignores_calls.map(|option| format!(", or have the calls ignored ({option})"));
        vec![
            format!(
                "leave the collector to itself: take the call out{}; it collects when there is need",
                ignored.unwrap_or_default()
            ),
            "where the call only measures memory, do that once at the end, or ask for the figure without a collection"
                .to_owned(),
        ]
    }

    /// What would show that it is not the cause.
    pub(super) fn disproved_by(&self) -> String {
        let ignored = self.settings.ignores_calls.map(|option| format!(" (or add {option})")).unwrap_or_default();
        format!("Take the call out{ignored}: if the time does not fall, it is not the cause.")
    }
}

/// Where the program asks for most of its collections; `None` where most begin because memory is needed. A thread that
/// begins one does most of the work itself, which samples show, or waits for the collector's threads.
pub(super) fn asked<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Option<Asked> {
    let stacks = &facts.model.stacks;
    let collects = |stack: StackId| {
        let view = stacks.view(Some(stack), false);
        view.theme == Some(Theme::Collector) && view.own.is_some()
    };
    let asks = |stack: StackId| {
        stacks.frames(stack).into_iter().filter_map(|code| code.name()).find_map(runtimes::asks_for_collection)
    };
    let mut begun: BTreeMap<StackId, f64> = BTreeMap::new();
    for stack in ledger.traced.samples.iter().filter_map(|sample| sample.user_stack) {
        *begun.entry(stack).or_default() += seconds_a_sample(ledger);
    }
    begun.retain(|stack, _| collects(*stack));
    let by_themselves = begun.values().sum::<f64>();
    if by_themselves <= COLLECTS * on_cpu(ledger, |doing| doing == Doing::Collector) {
        // A scheduler's thread that looks for another task has left the one that asks.
        let for_memory = |wait: &Wait| ledger.reasons.get(&wait.wait) == Some(&Why::Allocator);
        let allocates = |wait: &Wait, stack| for_memory(wait) && stacks.view(Some(stack), false).own.is_some();
        for (wait, _) in waits(ledger, |_| true) {
            if let Some(stack) = wait.user_stack.filter(|stack| allocates(wait, *stack) || asks(*stack).is_some()) {
                *begun.entry(stack).or_default() += wait.blocked_ns as f64 * 1e-9;
            }
        }
    }
    let all: f64 = begun.values().sum();
    let asking: Vec<(StackId, f64, _)> =
        begun.into_iter().filter_map(|(stack, weight)| Some((stack, weight, asks(stack)?))).collect();
    let (_, _, settings) = *asking.first()?;
    if asking.iter().map(|(_, weight, _)| weight).sum::<f64>() <= COLLECTS * all {
        return None;
    }
    let views: Vec<(View<'t>, f64)> =
        asking.into_iter().map(|(stack, weight, _)| (stacks.view(Some(stack), false), weight)).collect();
    Some(Asked { culprit: culprit(&views, Blamed::Own), settings })
}
