//! Tasks that keep their thread while they sleep: no other task runs on it meanwhile.

use super::code::{Code, Owner};
use super::run::Traced;
use super::stacks::Stacks;
use crate::runtimes::keeps_tasks_waiting;
use recording::WaitId;

/// Decides: whether sleeping is what keeps the tasks of a server waiting: for more than this share of the time slept, a
/// task kept its thread.
/// From: the definition of a majority.
/// Shown by: `a_sleep_inside_a_task_keeps_the_others_waiting`.
/// Wrong if: the smaller part is what limits the server.
const MOST: f64 = 0.5;

/// True in a server whose tasks keep their threads while they sleep. `sleeps`: which waits are for the clock.
pub fn sleeps_hold_up_tasks(traced: &Traced<'_>, stacks: &Stacks<'_>, sleeps: impl Fn(WaitId) -> bool) -> bool {
    if !traced.serves() {
        return false;
    }
    let (mut inside, mut all) = (0.0, 0.0);
    for wait in traced.waits.values().filter(|wait| sleeps(wait.wait)) {
        let frames = wait.user_stack.map(|stack| stacks.frames(stack)).unwrap_or_default();
        let own = frames.iter().position(|code| code.owner == Owner::Own).unwrap_or(frames.len());
        let outside = frames.get(own..).unwrap_or_default();
        all += wait.blocked_ns as f64;
        if keeps_tasks_waiting(outside.iter().filter_map(Code::name)) {
            inside += wait.blocked_ns as f64;
        }
    }
    inside > MOST * all
}
