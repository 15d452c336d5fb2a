//! Why a thread of Go's runtime sleeps, by what it did before (runtime/proc.go, Go 1.26).
//!
//! A goroutine that waits leaves its thread to the scheduler with `mcall`, which switches to another stack. In a
//! recording the goroutine's functions follow those of the scheduler.

use crate::runtimes::function_name::{FunctionName, readable};
use crate::runtimes::names::Names;
use crate::runtimes::types::{CallStack, Parked, Primitive};

/// Functions in which a goroutine waits for one of a few things, by the ends of their names: connections of
/// `database/sql`, go-redis, pgx (puddle), redigo and the MongoDB driver, weighted semaphores, and the workers of ants.
/// Inside, each waits at a channel, a condition or a semaphore.
const POOLS: [&str; 10] = [
    "database/sql.(*DB).conn",
    "/internal/pool.(*ConnPool).waitTurn",
    "/puddle.(*Pool).acquire",
    "/puddle/v2.(*Pool).acquire",
    "/redigo/redis.(*Pool).get",
    "/redigo/redis.(*Pool).waitVacantConn",
    "/topology.(*pool).checkOut",
    "golang.org/x/sync/semaphore.(*Weighted).Acquire",
    "/ants/v2.(*poolCommon).retrieveWorker",
    "/ants/v2.(*Pool).retrieveWorker",
];

/// Why a thread of Go's runtime sleeps, from the names in its stack; `None` for any other thread.
pub(super) fn parked(stack: &CallStack<'_>, names: &Names) -> Option<Parked> {
    let functions = stack.functions;
    let at = |name: &str| functions.iter().position(|f| f.name == name);
    if at("runtime.sysmon").is_some() {
        return Some(Parked::Spare);
    }
    // Where goroutines were looked at, a stack is a goroutine's own.
    let itself = at("runtime.gopark") == Some(0);
    let switch = at("runtime.mcall").or(itself.then_some(0));
    // A goroutine can also be preempted where it would grow its stack, which does not go through mcall.
    let inside = |names: &[&str]| {
        let inner = functions.get(..switch.unwrap_or(functions.len())).unwrap_or_default();
        inner.iter().any(|f| names.contains(&f.name))
    };
    let gave_way = inside(&["runtime.goschedImpl", "runtime.gopreempt_m", "runtime.gosched_m", "runtime.goyield_m"]);
    if switch.is_none() && !gave_way && !inside(&["runtime.findRunnable", "runtime.schedule"]) {
        return None;
    }
    // A thread stopped by any caller but findRunnable has handed over its right to run goroutines.
    let stopped = at("runtime.stopm").map(|stop| functions.get(stop + 1).map(|f| f.name));
    if stopped.is_some_and(|by| by != Some("runtime.findRunnable")) {
        return Some(Parked::Spare);
    }
    if gave_way {
        return Some(Parked::Preempted);
    }
    if inside(&["runtime.goexit0", "runtime.gdestroy"]) {
        return Some(Parked::Ended);
    }
    let Some(switch) = switch else { return Some(Parked::Unknown) };
    if switch + 1 == functions.len() {
        return Some(Parked::Moved);
    }
    let waiting = functions.get(switch + 1..stack.library).unwrap_or_default();
    // The outermost function says what the inner ones are used for: a WaitGroup waits at a semaphore.
    let primitive = waiting.iter().rev().find_map(|f| names.primitive_by_path(&FunctionName::new(f.name)));
    let in_pool = || waiting.iter().any(|f| POOLS.iter().any(|pool| readable(f.name).ends_with(pool)));
    let begins = |start: &str| waiting.iter().any(|f| f.name.starts_with(start));
    Some(match primitive {
        _ if begins("time.Sleep") => Parked::Sleeps,
        _ if begins("internal/poll.(*pollDesc)") || begins("internal/poll.runtime_poll") => Parked::Polls,
        Some(Primitive::Lock | Primitive::Condition) if in_pool() => Parked::Waits(Primitive::Pool),
        Some(primitive) => Parked::Waits(primitive),
        None => Parked::Unknown,
    })
    .map(|parked| match parked {
        Parked::Waits(primitive) if itself => Parked::TaskWaits(primitive),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::types::{Called, Primitive};

    const SLEEP: &str = "runtime.futex < runtime.notesleep < runtime.stopm < runtime.findRunnable < runtime.schedule";

    fn check(stack: &str) -> Option<Parked> {
        let functions: Vec<Called> = stack.split(" < ").map(|name| Called { name, module: "app" }).collect();
        let library = functions.iter().position(|f| f.name.starts_with("main.")).unwrap_or(functions.len());
        parked(&CallStack { functions: &functions, library, at_lock_call: false }, &crate::runtimes::go::NAMES)
    }

    fn after(rest: &str) -> Option<Parked> {
        check(&format!("{SLEEP} < {rest}"))
    }

    #[test]
    fn a_goroutine_waits_for_what_its_functions_say() {
        let gone = "runtime.park_m < runtime.mcall < runtime.gopark";
        let waits = |rest: &str| after(&format!("{gone} < {rest} < runtime.goexit"));
        let semaphore = "runtime.goparkunlock < runtime.semacquire1";
        for (rest, expected) in [
            (
                format!("{semaphore} < sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.f"),
                Parked::Waits(Primitive::Lock),
            ),
            (
                format!("{semaphore} < sync.(*WaitGroup).Wait < main.main < runtime.main"),
                Parked::Waits(Primitive::Join),
            ),
            ("runtime.chansend < runtime.chansend1 < main.f".to_owned(), Parked::Waits(Primitive::Condition)),
            ("runtime.selectgo < main.f".to_owned(), Parked::Waits(Primitive::Condition)),
            (
                "runtime.selectgo < database/sql.(*DB).conn < database/sql.(*Stmt).connStmt < main.f".to_owned(),
                Parked::Waits(Primitive::Pool),
            ),
            (
                "sync.runtime_notifyListWait < sync.(*Cond).Wait < github.com/panjf2000/ants/v2.(*poolCommon).retrieveWorker < \
                 github.com/panjf2000/ants/v2.(*Pool).Submit < main.f"
                    .to_owned(),
                Parked::Waits(Primitive::Pool),
            ),
            // Near miss: a pool's own goroutine waits for a message.
            ("runtime.selectgo < database/sql.(*DB).connectionOpener".to_owned(), Parked::Waits(Primitive::Condition)),
            ("time.Sleep < main.f".to_owned(), Parked::Sleeps),
            ("internal/poll.runtime_pollWait < internal/poll.(*FD).Read < main.f".to_owned(), Parked::Polls),
            // The lock belongs to an outer function; the goroutine waits for a message.
            ("runtime.chanrecv < main.f < sync.(*Mutex).Lock < main.g".to_owned(), Parked::Waits(Primitive::Condition)),
            ("runtime.bgsweep".to_owned(), Parked::Unknown),
        ] {
            assert_eq!(waits(&rest), Some(expected), "{rest}");
        }
    }

    #[test]
    fn a_stack_that_begins_where_goroutines_park_is_the_goroutine_s_own() {
        let lock = "runtime.gopark < runtime.semacquire1 < sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.f";
        assert_eq!(check(lock), Some(Parked::TaskWaits(Primitive::Lock)));
        assert_eq!(
            check("runtime.gopark < runtime.selectgo < database/sql.(*DB).conn < main.f"),
            Some(Parked::TaskWaits(Primitive::Pool))
        );
        assert_eq!(check("runtime.gopark < time.Sleep < main.f"), Some(Parked::Sleeps));
        assert_eq!(check("runtime.gopark < runtime.bgsweep < runtime.goexit"), Some(Parked::Unknown));
    }

    #[test]
    fn a_thread_without_a_goroutine_that_waits() {
        assert_eq!(after("runtime.goexit0 < runtime.mcall < runtime.goexit1"), Some(Parked::Ended));
        let preempted =
            "runtime.goschedImpl < runtime.gopreempt_m < runtime.asyncPreempt2.func1 < runtime.mcall < main.f";
        assert_eq!(after(preempted), Some(Parked::Preempted));
        let wakes_another = "runtime.futex < runtime.notewakeup < runtime.wakep < runtime.goschedImpl < runtime.gopreempt_m < \
                             runtime.asyncPreempt2.func1 < runtime.mcall < runtime.asyncPreempt2 < main.f";
        assert_eq!(check(wakes_another), Some(Parked::Preempted));
        let grows = "runtime.goschedImpl < runtime.gopreempt_m < runtime.newstack < runtime.morestack";
        assert_eq!((after(grows), check(grows)), (Some(Parked::Preempted), Some(Parked::Preempted)));
        assert_eq!(after("runtime.park_m < runtime.mcall"), Some(Parked::Moved));
        assert_eq!(after("runtime.mstart1 < runtime.mstart"), Some(Parked::Unknown));
        let handed_over = "runtime.futex < runtime.notesleep < runtime.stopm < runtime.startlockedm < runtime.schedule < \
                           runtime.park_m < runtime.mcall < runtime.gopark < runtime.chanrecv < main.f";
        assert_eq!(check(handed_over), Some(Parked::Spare));
        assert_eq!(check("runtime.usleep < runtime.sysmon < runtime.mstart1"), Some(Parked::Spare));
        // A goroutine that wakes others, one that runs, and other languages.
        let wakes =
            "runtime.futex < runtime.notewakeup < runtime.ready < runtime.systemstack < runtime.chansend < main.f";
        assert_eq!(check(wakes), None);
        assert_eq!(check("main.f < runtime.goexit"), None);
        assert_eq!(check("pthread_cond_wait < work < main"), None);
    }
}
