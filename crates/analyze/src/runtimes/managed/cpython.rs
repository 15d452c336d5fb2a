//! CPython: its global lock, its allocator and its collector.

use crate::runtimes::function_name::plain;
use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::RuntimeLock;
use crate::runtimes::types::{CallStack, Called, Primitive, Theme};

/// CPython.
pub(crate) struct CPython;

impl Runtime for CPython {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn is_interpreter(&self, module: &str) -> bool {
        is_module(module)
    }

    /// The global lock is taken with a timed wait at a condition (take_gil in Python/ceval_gil.c). Nothing else in
    /// CPython makes such a wait: its other locks are semaphores. Who releases it signals that condition (drop_gil), and may
    /// have to wait inside. Neither function has a symbol in most distributions.
    fn lock_taken(&self, stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
        let at_condition = |c: &Called<'_>| {
            let name = plain(c.name);
            CONDITION_CALLS.iter().any(|call| name.starts_with(call))
        };
        // Most stacks have none of its modules, and need not be searched for the call.
        let python = stack.functions.iter().any(|c| is_module(c.module));
        let at = python.then(|| stack.functions.iter().rposition(at_condition)).flatten();
        let caller = at.and_then(|at| stack.functions.get(at + 1));
        let named = |c: &Called<'_>| matches!(plain(c.name), "take_gil" | "drop_gil");
        let takes = caller.is_some_and(|c| is_module(c.module)) || stack.functions.iter().any(named);
        takes.then_some(&GLOBAL_LOCK).or_else(|| asks_again(stack).then_some(&POLLED_LOCK))
    }

    /// Everything in `threading` waits at one of the interpreter's locks, which are semaphores. The function of
    /// `threading` around it tells what for (Lib/threading.py). Names of functions include the class since Python 3.11.
    fn primitive_behind(&self, stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        let library = stack.functions.get(..stack.library)?;
        if !library.iter().any(|c| is_module(c.module)) {
            return None;
        }
        let within = |names: &[&str]| library.iter().any(|c| names.contains(&c.name));
        let found = WAITS.iter().find(|(names, _)| within(names));
        found.map(|(_, primitive)| Some(*primitive))
    }

    /// `Lock` and `RLock` (Modules/_threadmodule.c), and the locks inside of file objects.
    fn is_lock_object(&self, stack: &CallStack<'_>) -> bool {
        let waits = |c: &Called<'_>| is_module(c.module) && c.name == "PyThread_acquire_lock_timed";
        stack.functions.iter().any(waits)
            && !stack.functions.iter().any(|c| is_queue(c.module))
            && self.primitive_behind(stack).is_none()
    }
}

/// True for a library's lock that sleeps by the clock while somebody else has it, and then asks for it again: a lock on a
/// file (filelock, portalocker, fasteners), in a database (diskcache) or on another machine (redis-py).
///
/// Decides: whether a sleep by the clock is a wait for a lock.
/// From: the sources of these libraries: the method is called `acquire`, of a class with `Lock` in its name, and calls
/// `time.sleep`. Names have their class since Python 3.11. One program was in view, with filelock.
/// Shown by: `pauses_of_a_lock_that_is_asked_for_again_are_waits_for_it`.
/// Wrong if: a library's lock sleeps while nobody has it, as one that limits a rate may.
fn asks_again(stack: &CallStack<'_>) -> bool {
    let library = stack.in_library();
    let sleeps = library.iter().position(|c| matches!(plain(c.name), "time_sleep" | "pysleep"));
    let acquires = |c: &Called<'_>| c.name.strip_suffix(".acquire").is_some_and(|class| class.contains("Lock"));
    sleeps.and_then(|at| library.get(at..)).is_some_and(|outer| outer.iter().any(acquires))
}

/// The calls with which CPython takes and releases its global lock.
const CONDITION_CALLS: [&str; 3] = ["pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_cond_signal"];

/// The module of `queue.SimpleQueue`, which has a lock object for its empty queue.
fn is_queue(file: &str) -> bool {
    file.starts_with("_queue.")
}

/// What functions of `threading` and `queue` wait for, and functions that take a connection from a pool: SQLAlchemy,
/// psycopg, urllib3 (and so requests), redis-py, MySQL Connector, PyMongo. Conditions come last: a barrier, a join and
/// a pool wait at a condition inside.
const WAITS: [(&[&str], Primitive); 4] = [
    (
        &[
            "QueuePool._do_get",
            "ConnectionPool.getconn",
            "ThreadedConnectionPool.getconn",
            "HTTPConnectionPool._get_conn",
            "BlockingConnectionPool.get_connection",
            "MySQLConnectionPool.get_connection",
            "Pool.checkout",
        ],
        Primitive::Pool,
    ),
    (&["Barrier.wait"], Primitive::Barrier),
    (&["Thread.join", "Thread._wait_for_tstate_lock", "_wait_for_tstate_lock"], Primitive::Join),
    (&["Condition.wait", "Condition.wait_for", "_queue_SimpleQueue_get_impl"], Primitive::Condition),
];

fn is_module(file: &str) -> bool {
    file.starts_with("python3") || file.starts_with("libpython3")
}

static GLOBAL_LOCK: RuntimeLock = RuntimeLock {
    called: "the Python interpreter's global lock: only the one that holds it runs Python code",
    taken_by_program: false,
    only_one: false,
    remedies: &[
        "use processes instead of threads for what computes: multiprocessing, concurrent.futures.ProcessPoolExecutor",
        "move the hot part into code that releases the lock (numpy, a C extension, Cython's nogil)",
        "or use a free-threaded build of CPython (3.13 or later)",
    ],
    beside_processes: &[
        "do less in this process: reduce the results in the worker processes before they are sent, and send less",
        "let the workers write or keep what only one of them needs",
        "move what is left into code that releases the lock (numpy, a C extension, Cython's nogil)",
    ],
    disproved_by: Some(
        "Let each of as many processes do its part of the work: if that is no faster, the interpreter's lock is not the cause.",
    ),
};

static POLLED_LOCK: RuntimeLock = RuntimeLock {
    called: "a lock that they ask for again after each pause",
    taken_by_program: true,
    only_one: false,
    remedies: POLLED,
    beside_processes: POLLED,
    disproved_by: None,
};

const POLLED: &[&str] = &[
    "hold the lock for a shorter time: compute before it is taken, and write only what has changed",
    "let each worker write to a file of its own, and put these together at the end",
    "a shorter pause (poll_interval, sleep) lets the next one begin sooner after the lock is released",
];

static NAMES: Names = Names {
    c_primitives: &[("take_gil", Primitive::Lock)],
    c_themes: &[
        (
            Theme::Allocator,
            &["PyObject_Malloc", "PyObject_Free", "PyObject_Realloc", "PyMem_Malloc", "PyMem_Free", "PyMem_Realloc"],
        ),
        (Theme::Collector, &["PyGC_Collect", "gc_collect_main", "gc_collect_region", "deduce_unreachable"]),
    ],
    queue_takers: &["Queue.get", "_queue_SimpleQueue_get_impl"],
    // asyncio/base_events.py: one turn of the event loop. Names have the class since Python 3.11.
    task_runners: &["BaseEventLoop._run_once", "_run_once"],
    // threading.py, where each thread begins in.
    thread_starts: &["Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run"],
    // Code without a file has a name in angle brackets: frozen modules, and code that libraries generate (`<string>`,
    // `<template>`).
    sources: &["<"],
    source_folders: &["/lib/python3.", "/site-packages/", "/dist-packages/"],
    ..Names::NONE
};
