//! What the task that holds a lock waits for, where tasks were looked at: a task that waits elsewhere, inside the
//! function that takes the lock.

use super::groups::Group;
use crate::account::Ledger;
use crate::account::lines::Why;
use crate::causes::shared::blame::by_weight;
use crate::facts::Facts;
use crate::model::code::{Owner, place};
use crate::runtimes::{Parked, Primitive};
use recording::StackId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// More than half of the looks at the tasks in which some wait for the lock.
///
/// Decides: whether a task that waits inside the function that takes the lock is reported as its holder.
/// From: the definition of a majority.
/// Shown by: `a_task_that_sleeps_with_the_lock_is_said`.
/// Wrong if: the function waits that often before it takes the lock, or after it has released it.
const MOST: f64 = 0.5;

/// What the holder waits for, and where.
#[derive(Debug)]
pub(super) struct TaskHolder {
    pub(super) why: Why,
    /// `time.Sleep, called from main.reserve (main.go:18)`.
    pub(super) at: String,
    /// In how many of the looks with waiting tasks, a share.
    pub(super) share: f64,
}

/// True for a lock that tasks were seen to wait for.
pub(super) fn is_of_tasks(group: &Group<'_, '_>) -> bool {
    group.views.iter().any(|(view, _)| matches!(view.parked, Some(Parked::TaskWaits(_))))
}

/// What the task that holds the lock waits for. None where it runs, or nobody knows.
pub(super) fn holder(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, group: &Group<'_, '_>) -> Option<TaskHolder> {
    let stacks = &facts.model.stacks;
    let waiting: BTreeSet<StackId> = group.waits.iter().filter_map(|wait| wait.wait.user_stack).collect();
    let takes: BTreeSet<_> =
        group.views.iter().filter_map(|(view, _)| view.own).map(|code| (code.module, code.name())).collect();
    let mut known: HashMap<StackId, Option<(Why, String)>> = HashMap::new();
    let mut holds = |stack: StackId| {
        let found = known.entry(stack).or_insert_with(|| {
            let view = stacks.view(Some(stack), false);
            let why = view.parked.and_then(why).filter(|_| !waiting.contains(&stack))?;
            let inside =
                stacks.frames(stack).iter().any(|c| c.owner == Owner::Own && takes.contains(&(c.module, c.name())));
            let own = place(&view.own.filter(|_| inside)?.site());
            let entry = view.entry.and_then(|c| c.name());
            Some((why, entry.map_or_else(|| own.clone(), |entry| format!("{entry}, called from {own}"))))
        });
        found.clone()
    };
    let (run, (begin, end)) = (ledger.traced.run.run, ledger.traced.measured);
    let mut looks: BTreeMap<u64, (bool, BTreeSet<(Why, String)>)> = BTreeMap::new();
    for row in facts.model.tables.parked_tasks.iter().filter(|row| row.run == run) {
        let Some(stack) = row.user_stack.filter(|_| (begin..=end).contains(&row.time_ns)) else { continue };
        let look = looks.entry(row.time_ns).or_default();
        look.0 |= waiting.contains(&stack);
        look.1.extend(holds(stack));
    }
    let with_waiters: Vec<_> = looks.into_values().filter(|(waited, _)| *waited).map(|(_, holders)| holders).collect();
    let mut seen: BTreeMap<(Why, String), f64> = BTreeMap::new();
    with_waiters.iter().flatten().for_each(|holder| *seen.entry(holder.clone()).or_default() += 1.0);
    let ((why, at), looks) = by_weight(seen).into_iter().next()?;
    let share = looks / with_waiters.len().max(1) as f64;
    (share > MOST).then_some(TaskHolder { why, at, share })
}

/// What a task waits for that may hold a lock meanwhile.
fn why(parked: Parked) -> Option<Why> {
    match parked {
        Parked::Sleeps => Some(Why::Sleep),
        Parked::Polls => Some(Why::Poll),
        Parked::TaskWaits(Primitive::Lock) => Some(Why::Lock),
        Parked::TaskWaits(Primitive::Pool) => Some(Why::Pool),
        Parked::TaskWaits(Primitive::Condition) => Some(Why::Condition),
        _ => None,
    }
}
