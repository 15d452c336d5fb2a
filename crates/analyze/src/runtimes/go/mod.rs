//! Go: its standard library and its runtime, which schedules goroutines on threads. May import: `names`, `runtimes`.
//!
//! [`parked`] tells why a thread of the scheduler sleeps, [`world`] where the program stops all goroutines.

mod parked;
mod world;

use super::names::Names;
use super::runtime::Runtime;
use super::types::{CallStack, CollectorSettings, Exchange, Parked, Primitive, RuntimeLock, Scheduler, Theme};

/// Go.
pub(super) struct Go;

impl Runtime for Go {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn parked(&self, stack: &CallStack<'_>) -> Option<Parked> {
        parked::parked(stack, &NAMES)
    }

    fn lock_taken(&self, stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
        world::stopped(stack)
    }

    fn exchange(&self, function: &str) -> Option<Exchange> {
        Some(match function {
            "runtime.chansend" | "runtime.chansend1" => Exchange::Sends,
            "runtime.chanrecv" | "runtime.chanrecv1" | "runtime.chanrecv2" => Exchange::Receives,
            "sync.(*Cond).Wait" => Exchange::Waits,
            "sync.(*Cond).Signal" => Exchange::Wakes,
            _ => return None,
        })
    }
}

static NAMES: Names = Names {
    paths: &["runtime.", "runtime/", "sync.", "internal/", "syscall."],
    path_primitives: &[
        ("runtime.lock", Primitive::Lock),
        ("runtime.unlock", Primitive::Lock),
        ("runtime.semacquire", Primitive::Lock),
        ("sync.(*Mutex).", Primitive::Lock),
        ("sync.(*RWMutex).", Primitive::Lock),
        ("internal/poll.(*fdMutex).", Primitive::Lock),
        ("runtime.chanrecv", Primitive::Condition),
        ("runtime.chansend", Primitive::Condition),
        ("runtime.selectgo", Primitive::Condition),
        ("sync.(*WaitGroup).", Primitive::Join),
        ("runtime.notesleep", Primitive::Condition),
        ("runtime.notetsleep", Primitive::Condition),
        ("sync.(*Cond).", Primitive::Condition),
    ],
    path_themes: &[
        // The allocator is a part of the runtime.
        (
            Theme::Allocator,
            &[
                "runtime.mallocgc",
                "runtime.(*mheap)",
                "runtime.(*mcache)",
                "runtime.(*mcentral)",
                "runtime.(*pageAlloc)",
            ],
        ),
        (
            Theme::Collector,
            &[
                "runtime.gc",
                "runtime.bgsweep",
                "runtime.bgscavenge",
                "runtime.scanobject",
                "runtime.greyobject",
                "runtime.(*gc",
            ],
        ),
        (Theme::Creation, &["runtime.newm", "runtime.newosproc"]),
    ],
    collector_settings: Some(&CollectorSettings {
        log: "GODEBUG=gctrace=1",
        heap: Some("GOGC or GOMEMLIMIT"),
        asked_by: &["runtime.GC", "runtime/debug.FreeOSMemory", "runtime/debug.freeOSMemory"],
        ignores_calls: None,
    }),
    first_task: Some("main.main"),
    scheduler: Some(&Scheduler {
        start: "runtime.",
        called: "the Go runtime",
        task: "goroutine",
        tells: "Go's block and mutex profiles (runtime/pprof) tell",
        tells_locks: "Go's mutex profile (runtime/pprof) tells",
    }),
    sources: &["/usr/local/go/src/", "/usr/lib/go"],
    // A module's folder has the version in its name (`go help mod download`), also where `-trimpath` cuts the path
    // before it. Code that cgo generates is between a program and the C function that it calls.
    source_folders: &[
        "cgo-gcc-prolog",
        "_cgo_gotypes.go",
        "/pkg/mod/",
        "@v0.",
        "@v1.",
        "@v2.",
        "@v3.",
        "@v4.",
        "@v5.",
        "@v6.",
        "@v7.",
        "@v8.",
        "@v9.",
    ],
    thread_start_prefixes: &["runtime.goexit", "runtime.mstart", "runtime.mcall"],
    ..Names::NONE
};
