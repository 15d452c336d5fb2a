//! Node.js and V8.

use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::{CallStack, Called, Primitive, Service, Theme, WorkerPool};

/// Node.js.
pub(crate) struct Node;

impl Runtime for Node {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    /// `Atomics.wait` waits at a condition inside V8, whatever the program builds on it: mostly a lock, if the name of
    /// the function that waits says so.
    fn primitive_behind(&self, stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        let waits = |c: &Called<'_>| c.name.starts_with("v8::internal::FutexEmulation::");
        let inside = stack.in_library().iter().rposition(waits)?;
        let method = |c: &Called<'_>| c.name.rsplit('.').next().is_some_and(|name| LOCKS.contains(&name));
        // The first function that is no builtin: the program's own or a package's.
        let mut outside = stack.functions.iter().skip(inside);
        let script = outside.find(|c| !c.name.contains("::") && !c.name.starts_with("Builtin"));
        Some(script.is_some_and(method).then_some(Primitive::Lock))
    }

    fn is_stub(&self, name: &str) -> bool {
        STUBS.iter().any(|kind| name.starts_with(kind))
    }
}

/// Usual names of functions that take a lock in JavaScript, which has no locks of its own.
const LOCKS: [&str; 5] = ["lock", "lockSync", "acquireLock", "takeLock", "lockMutex"];

/// V8's names for generated code that is no function of the program (`LogEventListener::CodeTag`, builtins of the
/// library), and for the builtins through which it enters functions.
const STUBS: [&str; 8] = [
    "Builtin:",
    "Builtins_Interpreter",
    "Builtins_JSEntry",
    "BytecodeHandler:",
    "Handler:",
    "RegExp:",
    "Stub:",
    "Callback:",
];

/// Files, names of hosts, compression and cryptography (docs.libuv.org, "Thread pool work scheduling").
static LIBUV_POOL: WorkerPool = WorkerPool {
    called: "libuv's pool (UV_THREADPOOL_SIZE, 4 if not set)",
    remedies: &[
        "raise UV_THREADPOOL_SIZE in the environment, before the process starts, to at least the number of processors",
        "call the synchronous function inside worker threads: then each does its own work",
        "make fewer calls, or cheaper ones: compression, hashing and files go through this pool",
    ],
};

static NAMES: Names = Names {
    // What node and libuv run in it (threadpoolwork-inl.h, unix/fs.c, getaddrinfo.c).
    worker_pools: &[(
        &[
            "node::ThreadPoolWork::ScheduleWork",
            "uv__queue_work",
            "uv__fs_work",
            "uv__getaddrinfo_work",
            "uv__getnameinfo_work",
        ],
        &LIBUV_POOL,
    )],
    borders: &["Builtins_CEntry"],
    own_modules: &["node", "nodejs", "libnode.so*"],
    sources: &["node:"],
    source_folders: &["/node_modules/"],
    // Node.js 18 to 22 (node_platform.cc; V8's heap/ and compiler/). Work of the platform's threads other than
    // collecting is told by their functions.
    service_starts: &[
        ("node::(anonymous namespace)::PlatformWorkerThread(", Service::Collector),
        ("node::WorkerThreadsTaskRunner::DelayedTaskScheduler::", Service::Other),
        ("node::inspector::(anonymous namespace)::StartIoThreadMain(", Service::Other),
    ],
    service_threads: &[("V8Worker", Service::Collector), ("DelayedTaskSche", Service::Other)],
    service_loops: &["node::(anonymous namespace)::PlatformWorkerThread(", "node::WorkerThreadsTaskRunner::"],
    path_themes: &[
        (
            Theme::Compiler,
            &[
                "v8::internal::compiler::",
                "v8::internal::maglev::",
                "v8::internal::OptimizingCompileDispatcher",
                "v8::internal::OptimizedCompilationJob",
                "v8::internal::baseline::",
            ],
        ),
        (
            Theme::Collector,
            &[
                "v8::internal::ConcurrentMarking",
                "v8::internal::MarkCompactCollector",
                "v8::internal::Scavenger",
                "v8::internal::ScavengerCollector",
                "v8::internal::Sweeper",
                "v8::internal::Heap::CollectGarbage",
            ],
        ),
    ],
    ..Names::NONE
};

#[cfg(test)]
mod tests {
    use super::*;

    fn primitive(stack: &str) -> Option<Option<Primitive>> {
        let functions: Vec<Called> = stack.split(" < ").map(|name| Called { name, module: "node" }).collect();
        // The first five functions of these stacks are libraries'.
        let library = functions.len().min(5);
        Node.primitive_behind(&CallStack { functions: &functions, library, at_lock_call: false })
    }

    #[test]
    fn what_waits_at_an_atomic_is_told_by_the_function_around_it() {
        let wait = "pthread_cond_wait < v8::base::ConditionVariable::Wait < v8::internal::FutexEmulation::WaitSync < \
                    v8::internal::Builtin_AtomicsWait < Builtins_CEntry_Return1";
        assert_eq!(primitive(&format!("{wait} < lock < book")), Some(Some(Primitive::Lock)));
        assert_eq!(primitive(&format!("{wait} < Mutex.acquireLock < book")), Some(Some(Primitive::Lock)));
        // Near misses: a function that takes from a queue, and a lock further out.
        assert_eq!(primitive(&format!("{wait} < take < lock")), Some(None));
        assert_eq!(primitive(&format!("{wait} < unlock < book")), Some(None));
        assert_eq!(primitive("pthread_cond_wait < uv_cond_wait < worker < lock"), None);
    }

    #[test]
    fn what_enters_a_function_is_none_of_the_program() {
        assert!(Node.is_stub("Builtins_InterpreterEntryTrampoline") && Node.is_stub("Builtins_JSEntryTrampoline"));
        // Near miss: what the program calls.
        assert!(!Node.is_stub("Builtins_ArrayPrototypeSort"));
    }
}
