//! Waits for events that only the clock ends: those of an event loop whose program nothing outside reaches.

use crate::model::linux::SyscallNumbers;
use recording::tables::{Reason, Syscall, Wait, Wake};
use recording::{QuickMap, WaitId};
use std::collections::{BTreeMap, HashSet};

/// Decides: whether a wait for events is one for the clock: at least this share of its blocked time must be ended by none
/// of the program's threads, where no call of the program could bring anything from outside.
/// From: chosen; the rest is when threads of the program answer the loop.
/// Shown by: `an_event_loop_that_only_the_clock_wakes_sleeps`.
/// Wrong if: another program writes into a pipe that the loop polls: such a loop would be said to sleep.
const BY_CLOCK: f64 = 0.7;

/// The waits for events that only the clock ends. `by_own`: whether a wake-up comes from a thread of the program.
pub(in crate::model) fn clocked(
    waits: &BTreeMap<WaitId, &Wait>,
    wakes: &QuickMap<WaitId, Vec<&Wake>>,
    syscalls: &[&Syscall],
    numbers: &SyscallNumbers,
    by_own: impl Fn(&Wake) -> bool,
) -> HashSet<WaitId> {
    // Without any call, nothing is known of them.
    if syscalls.is_empty() || syscalls.iter().any(|call| numbers.outside.contains(&call.number)) {
        return HashSet::new();
    }
    let by_clock = |wait: &&&Wait| {
        let wakes = wakes.get(&wait.wait).map(Vec::as_slice).unwrap_or_default();
        let own: u128 = wakes.iter().filter(|wake| by_own(wake)).map(|wake| u128::from(wake.blocked_ns)).sum();
        (own as f64) <= (1.0 - BY_CLOCK) * wait.blocked_ns as f64
    };
    waits.values().filter(|wait| wait.reason == Reason::Poll).filter(by_clock).map(|wait| wait.wait).collect()
}
