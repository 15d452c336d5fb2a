//! Waits of a task scheduler's idle threads that end because a task gives back what another task waited for. The waiting
//! task has no thread and so no wait of its own; the threads find nothing to run meanwhile.

use super::places::MOST;
use crate::model::code::Owner;
use crate::model::run::Traced;
use crate::model::stack_view::{View, called};
use crate::model::stacks::Stacks;
use crate::runtimes::{self, CallStack, Called, Primitive};
use recording::StackId;
use recording::tables::Wait;
use std::collections::BTreeMap;

/// What most of a wait's time was for, if tasks gave it back, and where: the place that gave back most of it.
pub(super) fn given_back<'t>(traced: &Traced<'t>, stacks: &Stacks<'t>, wait: &Wait) -> Option<(Primitive, View<'t>)> {
    // A task that blocks its thread has a wait of its own. The program's code may call the scheduler.
    if !stacks.view(wait.user_stack, true).idle_worker {
        return None;
    }
    let mut known = 0.0;
    let mut found: BTreeMap<(Primitive, StackId), f64> = BTreeMap::new();
    for wake in traced.wakes.get(&wait.wait).into_iter().flatten() {
        let Some(stack) = wake.waker_stack else { continue };
        known += wake.blocked_ns as f64;
        if let Some(primitive) = of_stack(stacks, stack) {
            *found.entry((primitive, stack)).or_default() += wake.blocked_ns as f64;
        }
    }
    let most = found.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(key, _)| *key)?;
    let of_kind: f64 = found.iter().filter(|((primitive, _), _)| *primitive == most.0).map(|(_, ns)| ns).sum();
    let view = View { primitive: Some(most.0), entry: None, ..stacks.view(Some(most.1), true) };
    (of_kind > MOST * known && view.own.is_some()).then_some((most.0, view))
}

fn of_stack(stacks: &Stacks<'_>, stack: StackId) -> Option<Primitive> {
    let frames = stacks.frames(stack);
    let library = frames.iter().take_while(|c| c.owner != Owner::Own).count();
    let functions: Vec<Called> = frames.iter().map(called).collect();
    runtimes::given_back(&CallStack { functions: &functions, library, at_lock_call: false })
}
