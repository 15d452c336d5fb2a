//! Node.js and V8.

use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::{CallStack, Called, Primitive, Service, Theme};

/// Node.js.
pub(crate) struct Node;

impl Runtime for Node {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    /// `Atomics.wait` waits at a condition of V8's, whatever the program makes of it: a lock most of all.
    fn primitive_behind(&self, stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        let waits = |c: &Called<'_>| c.name.starts_with("v8::internal::FutexEmulation::");
        stack.in_library().iter().any(waits).then_some(None)
    }

    fn is_stub(&self, name: &str) -> bool {
        STUBS.iter().any(|kind| name.starts_with(kind))
    }
}

/// What V8 calls code that it makes for no function of the program (`LogEventListener::CodeTag`, builtins of the library).
const STUBS: [&str; 6] = ["Builtin:", "BytecodeHandler:", "Handler:", "RegExp:", "Stub:", "Callback:"];

static NAMES: Names = Names {
    borders: &["Builtins_CEntry"],
    own_modules: &["node", "nodejs", "libnode.so*"],
    sources: &["node:"],
    source_folders: &["/node_modules/"],
    // Of Node.js 18 to 22 (node_platform.cc; V8's heap/ and compiler/). What the threads of the platform do beside collecting
    // shows in their functions.
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
