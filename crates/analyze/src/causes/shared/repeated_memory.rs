//! Memory that each thread allocates for work that it repeats: a garbage collector's time for it grows with the threads, as
//! that of the work itself does, and is not the allocator's fault.

use super::blame::{on_cpu, seconds_a_sample, waits};
use super::repeated::{self, Repeated};
use super::{line, slower_code};
use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::facts::Facts;
use crate::runtimes::Theme;
use recording::StackId;
use std::collections::HashMap;

/// Decides: whether a garbage collector's time belongs to repeated work: more than this share of what begins collections, or
/// waits for them, must be inside that work; and of the collector's growth, the repeated work must explain more than this
/// share.
/// From: the definition of a majority, once for the place and once for the time.
/// Shown by: `what_each_thread_builds_for_itself_is_collected_for_each`,
/// `a_collector_that_other_code_fills_is_no_repeated_work`.
/// Wrong if: the repeated work allocates little and lives long, while short-lived memory of the shared work fills the heap:
/// what waits for the collector then shows the shared work, and the collector stays the allocator's.
const MOSTLY: f64 = 0.5;

/// Decides: how many samples of the collector the smallest count needs, so that its time there is known.
/// From: statistics: ten samples have an error of a third, and the growth is compared by halves.
/// Wrong if: the collector works for less than that with the fewest threads: its time stays the allocator's.
const FEWEST: u64 = 10;

/// The collector's time for the repeated work, and threads' waiting for it: processor-seconds per unit of work beyond the
/// baseline, with their standard error. `None` where it is not for that work.
pub fn collected_for<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    repeated: &Repeated<'t>,
) -> Option<(f64, f64)> {
    let base = facts.ledgers.first()?;
    let samples = |l: &Ledger<'_, 't>| l.profile.counts.get(&Doing::Collector).copied().unwrap_or(0);
    if samples(base) < FEWEST {
        return None;
    }
    let collecting = |l: &Ledger<'_, 't>| on_cpu(l, |doing| doing == Doing::Collector) * l.code_scale;
    let more = f64::from(ledger.account.threads) / f64::from(base.account.threads.max(1)) - 1.0;
    let explained = more * collecting(base);
    let grown = collecting(ledger) - collecting(base);
    if grown <= 0.0 || explained <= MOSTLY * grown || inside(facts, ledger, repeated)? <= MOSTLY {
        return None;
    }
    let (ran, waited) = (line(ledger, LineId::Collector), line(ledger, LineId::blocked(Why::Allocator)));
    Some((ran.0 + waited.0, ran.1.hypot(waited.1)))
}

/// True where the collector works for what each thread builds for itself: what is repeated at one count is repeated at each.
pub fn collects_for_repeated<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> bool {
    let told = |at: &Ledger<'_, 't>| repeated::told(facts, at, &slower_code::at(facts, at)?);
    let repeated = facts.ledgers.iter().find_map(told);
    repeated.is_some_and(|repeated| collected_for(facts, ledger, &repeated).is_some())
}

/// The share of the repeated work in what begins collections, or waits for them, in code of the program; `None` where
/// nothing of it was seen.
fn inside<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, repeated: &Repeated<'t>) -> Option<f64> {
    let mut seconds: HashMap<StackId, f64> = HashMap::new();
    let each = seconds_a_sample(ledger);
    for stack in ledger.traced.samples.iter().filter_map(|sample| sample.user_stack) {
        *seconds.entry(stack).or_default() += each;
    }
    let allocates = |stack: StackId| {
        let view = facts.model.stacks.view(Some(stack), false);
        view.own.is_some() && matches!(view.theme, Some(Theme::Collector | Theme::Allocator))
    };
    seconds.retain(|stack, _| allocates(*stack));
    for (wait, charged) in waits(ledger, |why| why == Why::Allocator) {
        if let Some(stack) = wait.user_stack {
            *seconds.entry(stack).or_default() += charged;
        }
    }
    let all: f64 = seconds.values().sum();
    let there: f64 = seconds.iter().filter(|(stack, _)| repeated.frame(facts, **stack).is_some()).map(|(_, s)| s).sum();
    (all > 0.0).then(|| there / all)
}
