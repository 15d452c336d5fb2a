//! Programs of several processes, of which one is in its interpreter's way.

use crate::account::Ledger;
use crate::account::lines::Why;
use recording::ThreadId;
use std::collections::BTreeMap;

/// The other processes count when they run for at least this share of the program's processor time.
///
/// Decides: whether a program whose threads wait for an interpreter's lock already divides its work among processes.
/// From: chosen: helpers of the interpreter (resource trackers, shells that start it) take far less.
/// Shown by: `an_interpreter_s_lock_in_the_parent_of_processes_is_not_cured_by_processes`.
/// Wrong if: the processes have hardly any work, because the parent does nearly all of it: the advice to use processes
/// is then given to a program that has them.
const OTHERS: f64 = 0.1;

/// The waits for an interpreter's lock are in one process when it has at least this share of them.
///
/// Decides: the same.
/// From: chosen: more than nine in ten; the rest are waits at the start and the end of the others.
/// Shown by: `an_interpreter_s_lock_in_the_parent_of_processes_is_not_cured_by_processes`.
/// Wrong if: two of many processes have threads that wait: the answer then does not speak of one of them.
const NEARLY_ALL: f64 = 0.9;

/// The one process, of several that run, whose threads wait for their interpreter's lock: its id, and seconds that are
/// charged to these waits, processor-seconds per unit of work. `None` where the program is one process, or where several
/// have such waits.
pub(crate) fn waits_inside_one(ledger: &Ledger<'_, '_>) -> Option<(u32, f64)> {
    let traced = ledger.traced;
    let mut waits: BTreeMap<u32, f64> = BTreeMap::new();
    for futex in ledger.futexes.values() {
        let interpreter_s = futex.view.runtime_lock.is_some_and(|lock| !lock.taken_by_program);
        let lock = ledger.reasons.get(&futex.wait.wait) == Some(&Why::Lock);
        let Some(pid) = traced.pid(futex.wait.thread).filter(|_| interpreter_s && lock) else { continue };
        *waits.entry(pid).or_default() += ledger.split.by_wait.get(&futex.wait.wait).copied().unwrap_or(0.0);
    }
    let (pid, most) = waits.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(pid, seconds)| (*pid, *seconds))?;
    let ran = |fits: &dyn Fn(u32) -> bool| {
        traced.threads.values().filter(|t| fits(t.pid)).map(|t| t.running_ns as f64).sum::<f64>()
    };
    let several = ran(&|of| of != pid) >= OTHERS * ran(&|_| true);
    let one = most > 0.0 && most >= NEARLY_ALL * waits.values().sum::<f64>();
    (several && one).then_some((pid, most * ledger.scale))
}

/// True for threads of this process.
pub(crate) fn is_in(ledger: &Ledger<'_, '_>, pid: u32) -> impl Fn(ThreadId) -> bool {
    move |thread| ledger.traced.pid(thread) == Some(pid)
}

/// The process in words: the one that was started first has started the others.
pub(crate) fn called(ledger: &Ledger<'_, '_>, pid: u32) -> &'static str {
    match ledger.traced.main().is_some_and(|main| main.pid == pid) {
        true => "the parent process",
        false => "one of its processes",
    }
}
