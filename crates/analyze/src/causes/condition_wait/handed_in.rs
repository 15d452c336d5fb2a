//! Where the work of a stage comes from, if no code of the program is in the stage itself: the threads of a library's
//! pool, such as libuv's, run the library's functions alone.

use crate::account::Ledger;
use crate::account::criticality::SeenAt;
use crate::answer::Culprit;
use crate::causes::shared::blame::{Blamed, culprit};
use crate::facts::Facts;
use crate::model::stack_view::View;
use crate::runtimes::{self, WorkerPool};
use recording::ThreadId;
use std::collections::BTreeSet;

/// Decides: whether a stage runs code of the program: more than this share of its samples must have a frame of it.
/// Stacks that break off before such a frame say nothing.
/// From: the definition of a majority.
/// Shown by: `work_in_the_threads_of_a_library_comes_from_who_hands_it_in`.
/// Wrong if: the stage is a library's and calls the program back now and then, in stacks that do not break off.
const OWN: f64 = 0.5;

/// Where the program hands in what these threads do, by who wakes them. `None` for a stage that runs code of the
/// program.
pub(super) fn handed_in(
    facts: &Facts<'_, '_>,
    ledger: &Ledger<'_, '_>,
    threads: &BTreeSet<ThreadId>,
    seen: &[(SeenAt, f64)],
) -> Option<Culprit> {
    let stacks = &facts.model.stacks;
    if runs_own_code(facts, seen) {
        return None;
    }
    let waits = ledger.traced.waits.values().filter(|wait| threads.contains(&wait.thread));
    let wakes = waits.filter_map(|wait| ledger.traced.wakes.get(&wait.wait)).flatten();
    let others = wakes.filter(|wake| wake.waker.is_some_and(|waker| !threads.contains(&waker)));
    let views = others.map(|wake| (stacks.view(wake.waker_stack, true), wake.count as f64));
    let views: Vec<(View<'_>, f64)> = views.filter(|(view, _)| view.own.is_some()).collect();
    culprit(&views, Blamed::Own)
}

/// True for a stage that runs code of the program.
fn runs_own_code(facts: &Facts<'_, '_>, seen: &[(SeenAt, f64)]) -> bool {
    let stacks = &facts.model.stacks;
    let (mut own, mut told) = (0.0, 0.0);
    for (at, weight) in seen {
        let is_own = stacks.view(at.stack, false).own.is_some();
        own += if is_own { *weight } else { 0.0 };
        told += if is_own || !at.stack.is_some_and(|stack| stacks.is_cut(stack)) { *weight } else { 0.0 };
    }
    own > OWN * told
}

/// The library's pool that these threads are of; `None` for a stage that runs code of the program: an event loop calls it
/// when the pool has done its part. One stack tells: such threads do nothing else, and stacks of hand-written code often
/// break off before it.
pub(super) fn pool(facts: &Facts<'_, '_>, seen: &[(SeenAt, f64)]) -> Option<&'static WorkerPool> {
    let stacks = &facts.model.stacks;
    if runs_own_code(facts, seen) {
        return None;
    }
    let frames = seen.iter().filter_map(|(at, _)| at.stack).flat_map(|stack| stacks.frames(stack));
    frames.filter_map(|code| code.name()).find_map(runtimes::worker_pool)
}
