//! Functions with which a Go program stops all of its goroutines (runtime/proc.go, Go 1.26).
//!
//! `ReadMemStats`, `GOMAXPROCS`, `Stack` of all goroutines, profiles of goroutines and the settings of the collector stop
//! the world. They take turns at one semaphore, wait until each other thread has stopped, and let them go on. The collector
//! stops the world, too, but without these functions.

use crate::runtimes::types::{CallStack, RuntimeLock};

/// The functions that the program's calls come through. `runtime.stopTheWorldGC` also waits for the end of a collection.
const STOPS: [&str; 3] = ["runtime.stopTheWorld", "runtime.stopTheWorldGC", "runtime.startTheWorld"];

/// What is waited for while the world is stopped for the program.
static WORLD: RuntimeLock = RuntimeLock {
    called: "the stop of all goroutines",
    taken_by_program: true,
    only_one: true,
    remedies: REMEDIES,
    beside_processes: REMEDIES,
    disproved_by: Some(
        "Leave these calls out: if the time at this thread count does not fall, they are not the cause.",
    ),
};

const REMEDIES: &[&str] = &[
    "call it seldom: once a second, or once a batch, and not for each piece of work",
    "use what stops nobody: runtime/metrics instead of ReadMemStats, runtime.NumGoroutine instead of a profile",
];

/// The world, where the program stops it.
///
/// Decides: whether a wait in Go's runtime is for the stop of all goroutines, which is one lock wherever it is asked for.
/// From: the source of Go's runtime: only functions that programs call come through these. One program was in view.
/// Shown by: `calls_that_stop_all_goroutines_wait_for_one_thing`.
/// Wrong if: another release gives these functions other names: waits are then told at each call by themselves.
pub(super) fn stopped(stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
    let asked = stack.library < stack.functions.len();
    let stops = || stack.in_library().iter().any(|called| STOPS.contains(&called.name));
    (asked && stops()).then_some(&WORLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::types::Called;

    fn stops(stack: &str) -> bool {
        let functions: Vec<Called> = stack.split(" < ").map(|name| Called { name, module: "app" }).collect();
        let library = functions.iter().position(|f| f.name.starts_with("main.")).unwrap_or(functions.len());
        stopped(&CallStack { functions: &functions, library, at_lock_call: false }).is_some()
    }

    #[test]
    fn a_program_that_asks_for_figures_of_its_memory_stops_the_world() {
        let waits = "runtime.gopark < runtime.semacquire1 < runtime.semacquire < runtime.stopTheWorld";
        assert!(stops(&format!("{waits} < runtime.ReadMemStats < main.begin < main.worker")));
        let stops_others = "runtime.futex < runtime.notetsleep < runtime.stopTheWorldWithSema < runtime.systemstack";
        assert!(stops(&format!("{stops_others} < runtime.stopTheWorld < runtime.ReadMemStats < main.begin")));
    }

    #[test]
    fn a_collection_and_a_mutex_do_not() {
        let collects = "runtime.futex < runtime.stopTheWorldWithSema < runtime.gcStart < runtime.mallocgc < main.grow";
        assert!(!stops(collects));
        assert!(!stops("runtime.gopark < runtime.semacquire1 < sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.f"));
        assert!(!stops("runtime.gopark < runtime.semacquire < runtime.stopTheWorld"), "nobody asked");
        assert!(!stops("main.f < runtime.stopTheWorld < main.g"), "something else runs meanwhile");
    }
}
