//! .NET: its class library and CoreCLR. Methods have names where the program writes a map file. Of CoreCLR's own functions,
//! released builds name only those that managed code calls; its modules always have names.

use crate::runtimes::function_name::FunctionName;
use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::RuntimeLock;
use crate::runtimes::types::{CallStack, Called, CollectorSettings, Primitive, Service, Theme};

/// .NET.
pub(crate) struct DotNet;

impl Runtime for DotNet {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn collects_garbage(&self, module: &str) -> bool {
        is_core(module)
    }

    fn is_stub(&self, name: &str) -> bool {
        STUBS.iter().any(|stub| name.contains(stub))
    }

    /// Threads wait in one function for locks, queues and everything else. The outermost method of the class library
    /// says what for. Where no function on the way has a name, this is unknown.
    fn primitive_behind(&self, stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        let before = stack.in_library();
        let mut inside = before.iter().filter(|c| is_core(c.module)).peekable();
        inside.peek()?;
        let method = |c: &Called<'_>| NAMES.primitive_by_class(&FunctionName::new(c.name));
        let method = before.iter().rev().find_map(method);
        match (method, inside.all(|c| c.name.is_empty())) {
            (None, false) => None,
            (told, _) => Some(told),
        }
    }

    /// A collection stops a thread in the virtual machine on its way back to managed code: at the end of a call, or in the
    /// handler of a signal that it sends to compiled code (threadsuspend.cpp of .NET 6 to 9). Calls that copy and compare
    /// wait for nothing else.
    ///
    /// Decides: whether a wait inside the stripped virtual machine is for its collector.
    /// From: the model: threads are stopped at the end of a call, or in the handler of a signal, and calls that copy and
    /// compare wait for nothing else. Both kinds occurred in a program of .NET 8 that forces collections.
    /// Shown by: `a_thread_that_a_collection_stopped_waits_for_the_collector`.
    /// Wrong if: a signal handler of the program's own waits inside the machine.
    fn stopped_by_collector(&self, stack: &CallStack<'_>) -> bool {
        let functions = stack.in_library();
        let Some(inside) = functions.iter().position(|c| is_core(c.module)) else { return false };
        let waits = inside.checked_sub(1).and_then(|at| functions.get(at)).is_some_and(|c| c.name == CONDITION);
        let mut outside = functions.iter().skip(inside).peekable();
        let mut last = None;
        while let Some(machine) = outside.next_if(|c| is_core(c.module)) {
            last = Some(machine);
        }
        let in_handler = outside.peek().is_some_and(|c| c.module.starts_with("libc.so"));
        let calls = || last.is_some_and(|c| NEVER_WAIT.iter().any(|class| c.name.starts_with(class)));
        waits && (in_handler || calls())
    }

    /// A monitor (`lock`), by the virtual machine's own functions.
    fn lock_entered(&self, called: Called<'_>) -> Option<&'static RuntimeLock> {
        let enters = |name: &str| MONITOR_FUNCTIONS.iter().any(|start| name.starts_with(start));
        (is_core(called.module) && enters(called.name)).then_some(&MONITOR)
    }
}

/// What the machine waits with.
const CONDITION: &str = "pthread_cond_wait";

/// Classes whose internal methods copy, compare and clone, and wait for no other thread (ecalllist.h).
const NEVER_WAIT: [&str; 5] =
    ["System.Buffer.", "System.String.", "System.Array.", "System.Object.", "System.SpanHelpers."];

/// True for the virtual machine's own library.
fn is_core(module: &str) -> bool {
    module.starts_with("libcoreclr.so")
}

static MONITOR: RuntimeLock = RuntimeLock {
    called: "a .NET monitor (lock)",
    taken_by_program: true,
    only_one: false,
    remedies: &[
        "do less inside the lock statement, or split the object that it locks",
        "use ConcurrentDictionary, Interlocked, or a copy for each thread that is merged at the end",
    ],
    beside_processes: &[],
    disproved_by: None,
};

/// Where monitors are entered and left (jithelpers.cpp, syncblk.cpp of .NET Core 3.1 to .NET 8; by the names of the
/// methods that they implement, ecalllist.h; qcallentrypoints.cpp of .NET 10).
const MONITOR_FUNCTIONS: [&str; 13] = [
    "CoreCLR::JIT_Mon",
    "System.Threading.Monitor.Enter",
    "System.Threading.Monitor.ReliableEnter",
    "System.Threading.Monitor.TryEnter",
    "System.Threading.Monitor.Exit",
    "CoreCLR::Monitor_Enter",
    "CoreCLR::Monitor_TryEnter",
    "CoreCLR::Monitor_Exit",
    "JIT_Mon",
    "AwareLock::",
    "ObjHeader::EnterObjMonitor",
    "ObjHeader::LeaveObjMonitor",
    "Object::TryEnterObjMonitor",
];

/// Code that the runtime generates for calls between parts of a program (perfmap.cpp).
const STUBS: [&str; 3] = ["stub<", "ILStubClass.", "dynamicClass.IL_STUB"];

pub(super) static NAMES: Names = Names {
    // The library's methods have no names where they were compiled ahead; the machine's functions do: GCInterface::Collect
    // before .NET 5, GCInterface_Collect since.
    collector_settings: Some(&CollectorSettings {
        log: "dotnet-counters",
        heap: None,
        asked_by: &[
            "System.GC.Collect",
            "System.GC._Collect",
            "System.GC.GetTotalMemory",
            "GCInterface::Collect",
            "GCInterface_Collect",
            "CoreCLR::GCInterface_Collect",
        ],
        ignores_calls: None,
    }),
    paths: &[
        "System.",
        "Microsoft.",
        "Internal.",
        "Interop.",
        "CoreCLR::",
        "AwareLock::",
        "ObjHeader::",
        "Object::TryEnterObjMonitor",
        "SyncBlock::",
        "ThreadNative::",
    ],
    c_primitives: &[("JIT_Mon", Primitive::Lock)],
    path_primitives: &[
        ("AwareLock::", Primitive::Lock),
        ("ObjHeader::EnterObjMonitor", Primitive::Lock),
        ("ObjHeader::LeaveObjMonitor", Primitive::Lock),
        ("Object::TryEnterObjMonitor", Primitive::Lock),
        ("SyncBlock::Wait", Primitive::Condition),
        ("ThreadNative::Join", Primitive::Join),
        ("ThreadNative::DoJoin", Primitive::Join),
        ("ThreadNative::Sleep", Primitive::Sleep),
        ("CoreCLR::JIT_Mon", Primitive::Lock),
        ("CoreCLR::Monitor_Wait", Primitive::Condition),
        ("CoreCLR::Monitor_Pulse", Primitive::Condition),
        ("CoreCLR::Monitor_", Primitive::Lock),
        ("CoreCLR::ThreadNative_Join", Primitive::Join),
        ("CoreCLR::ThreadNative_Sleep", Primitive::Sleep),
        ("CoreCLR::WaitHandle_", Primitive::Condition),
        // In which a worker of the thread pool waits for tasks, at first by yielding (synch.cpp of .NET Core 3.1).
        ("CLRLifoSemaphore::Wait", Primitive::Condition),
    ],
    class_packages: &["System.Threading.", "System.Collections.Concurrent."],
    class_primitives: &[
        ("Threading.Monitor.Wait", Primitive::Condition),
        ("Threading.Monitor.ObjWait", Primitive::Condition),
        ("Threading.Monitor.ObjPulse", Primitive::Condition),
        ("Threading.Monitor.Pulse", Primitive::Condition),
        ("Threading.Monitor.", Primitive::Lock),
        ("Threading.Lock.", Primitive::Lock),
        ("Threading.ReaderWriterLock", Primitive::Lock),
        ("Threading.Mutex.", Primitive::Lock),
        ("Threading.SpinLock.", Primitive::Lock),
        ("Threading.Barrier.", Primitive::Barrier),
        ("Threading.CountdownEvent.", Primitive::Join),
        ("Threading.Thread.Join", Primitive::Join),
        ("Threading.Thread.Sleep", Primitive::Sleep),
        ("Tasks.Task.", Primitive::Join),
        ("Tasks.Parallel.", Primitive::Join),
        ("Threading.SemaphoreSlim.", Primitive::Condition),
        ("Threading.LowLevelLifoSemaphore.", Primitive::Condition),
        ("Threading.ManualResetEventSlim.", Primitive::Condition),
        ("Threading.WaitHandle.", Primitive::Condition),
        ("Concurrent.BlockingCollection.", Primitive::Condition),
    ],
    // Allocating with helpers of the compiler, compiling, and collecting (gchelpers.cpp, gc.cpp).
    c_theme_prefixes: &[
        (Theme::Allocator, &["JIT_New", "FramedAllocateString"]),
        (Theme::Compiler, &["UnsafeJitFunction", "ThePreStub"]),
    ],
    path_themes: &[
        (
            Theme::Collector,
            &[
                "WKS::gc_heap::gc1",
                "SVR::gc_heap::gc1",
                "WKS::gc_heap::garbage_collect",
                "SVR::gc_heap::garbage_collect",
                "WKS::gc_heap::bgc_thread",
                "SVR::gc_heap::bgc_thread",
                "SVR::gc_heap::gc_thread",
                "WKS::GCHeap::GarbageCollect",
                "SVR::GCHeap::GarbageCollect",
                "ThreadSuspend::SuspendEE",
                "System.GC._Collect",
                "CoreCLR::GCInterface_Collect",
                "CoreCLR::GCInterface_GetTotalMemory",
            ],
        ),
        (
            Theme::Allocator,
            &[
                "WKS::GCHeap::Alloc",
                "SVR::GCHeap::Alloc",
                "WKS::GCHeap::WaitUntilGCComplete",
                "SVR::GCHeap::WaitUntilGCComplete",
                "WKS::gc_heap::wait_for_gc_done",
                "SVR::gc_heap::wait_for_gc_done",
                "Thread::RareDisablePreemptiveGC",
                "System.GC.AllocateNewArray",
                "CoreCLR::GCInterface_AllocateNewArray",
                "CoreCLR::JIT_New",
                "CoreCLR::FramedAllocateString",
            ],
        ),
        (Theme::Compiler, &["MethodDesc::DoPrestub", "TieredCompilationManager::", "TieredCompilation::"]),
        (
            Theme::Creation,
            &[
                "ThreadNative::Start",
                "CoreCLR::ThreadNative_Start",
                "Thread::CreateNewThread",
                "Thread::CreateNewOSThread",
            ],
        ),
    ],
    // CoreCLR's threads in .NET 6 to 9 (tieredcompilation.cpp, gcenv.ee.cpp, finalizerthread.cpp).
    service_threads: &[
        (".NET Tiered Com", Service::Compiler),
        (".NET Server GC", Service::Collector),
        (".NET BGC", Service::Collector),
        (".NET Finalizer", Service::Other),
        (".NET SigHandler", Service::Other),
        (".NET SynchManag", Service::Other),
        (".NET EventPipe", Service::Other),
        (".NET DebugPipe", Service::Other),
        (".NET Debugger", Service::Other),
        (".NET TP Gate", Service::Other),
        (".NET ThreadPool Gate", Service::Other),
        (".NET Timer", Service::Other),
    ],
    // The same for builds that have symbols but give their threads no names (.NET Core 3.1).
    service_starts: &[
        ("WKS::gc_heap::bgc_thread_stub", Service::Collector),
        ("SVR::gc_heap::bgc_thread_stub", Service::Collector),
        ("SVR::gc_heap::gc_thread_stub", Service::Collector),
        ("CorUnix::CPalSynchronizationManager::WorkerThread(", Service::Other),
        ("DbgTransportSession::TransportWorker", Service::Other),
        ("DebuggerRCThread::ThreadProc", Service::Other),
        ("DiagnosticsServerThread", Service::Other),
        ("FinalizerThread::FinalizerThreadStart", Service::Other),
        ("ThreadpoolMgr::TimerThreadStart", Service::Other),
        ("ThreadpoolMgr::GateThreadStart", Service::Other),
        ("ThreadpoolMgr::WaitThreadStart", Service::Other),
    ],
    idle_workers: &[
        "System.Threading.LowLevelLifoSemaphore.",
        "System.Threading.PortableThreadPool.",
        "CLRLifoSemaphore::WaitForSignal(",
    ],
    // Functions of CoreCLR may have no names. The compiler and, in some builds, the collector are separate libraries.
    own_modules: &[
        "dotnet",
        "libcoreclr.so",
        "libcoreclrtraceptprovider.so",
        "libhostfxr.so",
        "libhostpolicy.so",
        "libSystem.*",
        "System.*",
        "Microsoft.*",
        "mscorlib.dll",
        "netstandard.dll",
    ],
    module_themes: &[(Theme::Compiler, &["libclrjit.so"]), (Theme::Collector, &["libclrgc.so", "libclrgcexp.so"])],
    ..Names::NONE
};
