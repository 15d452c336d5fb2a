//! For whom a library's own threads work: the program's function that gave them the work and waits until it is done.
//!
//! A pool's worker runs what it was given, and its stack does not show who gave it. Whoever waits for the pool's work waits
//! inside of the same package, in functions that the workers run, too.

use crate::account::Ledger;
use crate::answer::{Culprit, Site};
use crate::causes::shared::blame::by_weight;
use crate::facts::Facts;
use crate::model::code::{Code, Owner};
use crate::runtimes::is_package_source;
use recording::StackId;
use std::collections::{BTreeMap, BTreeSet};

/// Decides: whether a place of the program is told as the one that a library's own threads work for: of the time in which
/// threads wait in functions that those run, more than this share must be there.
/// From: the definition of a majority.
/// Shown by: `a_lock_of_a_pool_is_told_with_the_place_that_waits_for_the_pool`.
/// Wrong if: two places give work to one pool, of which one waits longer: the other one is not told.
const MOST: f64 = 0.5;

/// The program's place for which a library's function runs in threads of its library; `None` where no place waits for it.
pub fn for_whom<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, culprit: &Culprit) -> Option<Site> {
    let stacks = &facts.model.stacks;
    let of_package = |c: &Code<'t>| c.frame.file.as_deref().is_some_and(is_package_source);
    let is_it = |c: &Code<'t>| c.name() == culprit.function.as_deref() && c.module_file == culprit.module;
    let waited = || ledger.traced.waits.values().filter_map(|wait| Some((wait.user_stack?, wait.blocked_ns)));
    let ran = ledger.traced.samples.iter().filter_map(|sample| sample.user_stack);
    let all: BTreeSet<StackId> = ran.chain(waited().map(|(stack, _)| stack)).collect();
    let mut around: BTreeSet<(&str, Option<&str>)> = BTreeSet::new();
    for stack in all {
        let frames = stacks.frames(stack);
        let inside = frames.iter().any(is_it) && !frames.iter().any(|c| c.owner == Owner::Own);
        around.extend(frames.iter().filter(|c| inside && of_package(c)).map(|c| (c.module, c.name())));
    }
    let mut places: BTreeMap<Site, f64> = BTreeMap::new();
    for (stack, blocked_ns) in waited() {
        let frames = stacks.frames(stack);
        if frames.iter().any(|c| around.contains(&(c.module, c.name())))
            && let Some(own) = frames.iter().find(|c| c.owner == Owner::Own)
        {
            *places.entry(own.site()).or_default() += blocked_ns as f64;
        }
    }
    let all: f64 = places.values().sum();
    by_weight(places).into_iter().next().filter(|(_, blocked)| *blocked > MOST * all).map(|(place, _)| place)
}
