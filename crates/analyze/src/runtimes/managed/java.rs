//! Java: its class library (JDK 17) and the HotSpot virtual machine.

use crate::runtimes::function_name::FunctionName;
use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::RuntimeLock;
use crate::runtimes::types::{CallStack, Called, CollectorSettings, Primitive, Service, Theme};

/// Java.
pub(crate) struct Java;

impl Runtime for Java {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn collects_garbage(&self, module: &str) -> bool {
        is_machine(module)
    }

    fn has_packages(&self, module: &str) -> bool {
        is_machine(module)
    }

    fn is_stub(&self, name: &str) -> bool {
        name.ends_with(" (HotSpot)") || name.contains(LAMBDA) || STUBS.iter().any(|stub| name.starts_with(stub))
    }

    /// Threads wait in one function for locks, queues and everything else. Only names of methods tell which: the
    /// outermost class says what the inner ones are used for.
    fn primitive_behind(&self, stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        let before = stack.in_library();
        let parks = |c: &Called<'_>| PARK.iter().any(|f| c.name.starts_with(f));
        let method = |c: &Called<'_>| NAMES.primitive_by_class(&FunctionName::new(c.name));
        before.iter().any(parks).then(|| before.iter().rev().find_map(method))
    }

    /// A monitor (`synchronized`), by the virtual machine's C++ functions (ObjectMonitor, ObjectSynchronizer,
    /// SharedRuntime::complete_monitor_locking_C); its internal mutexes do not count.
    fn lock_entered(&self, called: Called<'_>) -> Option<&'static RuntimeLock> {
        let parts = ["ObjectMonitor", "ObjectSynchronizer", "complete_monitor", "monitorenter"];
        let enters = is_machine(called.module) && parts.iter().any(|part| called.name.contains(part));
        enters.then_some(&MONITOR)
    }
}

/// True for the virtual machine's module (file name).
fn is_machine(module: &str) -> bool {
    module.starts_with("libjvm")
}

static MONITOR: RuntimeLock = RuntimeLock {
    called: "a Java monitor (synchronized)",
    taken_by_program: true,
    only_one: false,
    remedies: &[
        "do less inside the synchronized block, or split the object that it locks",
        "use java.util.concurrent: ConcurrentHashMap, LongAdder, a lock for each part",
    ],
    beside_processes: &[],
    disproved_by: None,
};

/// The virtual machine's names for generated code that belongs to no method.
const STUBS: [&str; 5] = ["Interpreter", "StubRoutines", "call_stub", "I2C/C2I adapters", "MethodHandlesAdapterBlob"];

/// Part of the names of classes that the virtual machine makes for lambda expressions (`InnerClassLambdaMetafactory`): their
/// methods only call what the program has written.
const LAMBDA: &str = "$$Lambda";

/// Where threads wait for everything in the class library, and wake each other.
const PARK: [&str; 4] = ["Parker::park(", "Parker::unpark(", "Unsafe_Park", "Unsafe_Unpark"];

static NAMES: Names = Names {
    semaphores: &["java.util.concurrent.Semaphore."],
    // The folders below HotSpot's gc/ in JDK 11 to 25.
    collector_settings: Some(&CollectorSettings {
        log: "-Xlog:gc",
        heap: Some("-Xmx, or a parallel collector"),
        asked_by: &["java.lang.System.gc", "java.lang.Runtime.gc", "JVM_GC"],
        ignores_calls: Some("-XX:+DisableExplicitGC"),
    }),
    collectors: &[
        (
            "DefNew",
            "the serial collector",
            "-XX:+UseParallelGC: the serial collector stops all threads and works with one",
        ),
        (
            "SerialFull",
            "the serial collector",
            "-XX:+UseParallelGC: the serial collector stops all threads and works with one",
        ),
        ("PSScavenge", "the parallel collector", "-XX:+UseG1GC or -XX:+UseZGC, if pauses matter more than the rate"),
        (
            "PSPromotionManager",
            "the parallel collector",
            "-XX:+UseG1GC or -XX:+UseZGC, if pauses matter more than the rate",
        ),
        ("G1", "G1", "-XX:+UseParallelGC, if the rate matters more than pauses"),
        ("ZMark", "ZGC", "-XX:+UseParallelGC, if the rate matters more than pauses"),
        ("Shenandoah", "Shenandoah", "-XX:+UseParallelGC, if the rate matters more than pauses"),
    ],
    paths: &["java.", "javax.", "jdk.", "sun.", "com.sun.", "ObjectMonitor::", "ObjectSynchronizer::", "Parker::"],
    path_primitives: &[
        ("ObjectMonitor::enter", Primitive::Lock),
        ("ObjectMonitor::EnterI", Primitive::Lock),
        ("ObjectMonitor::ReenterI", Primitive::Lock),
        ("ObjectMonitor::wait", Primitive::Condition),
        ("ObjectSynchronizer::enter", Primitive::Lock),
        ("Parker::park", Primitive::Condition),
    ],
    own_modules: &[
        "java",
        "libjvm.so",
        "libjava.so",
        "libjli.so",
        "libjimage.so",
        "libnet.so",
        "libnio.so",
        "libzip.so",
        "libverify.so",
    ],
    c_primitives: &[("JVM_Sleep", Primitive::Sleep)],
    class_packages: &[
        "java.util.concurrent.",
        "java.lang.",
        "com.zaxxer.hikari.pool.",
        "org.apache.commons.pool2.impl.",
        "org.apache.commons.pool.impl.",
        "org.apache.tomcat.jdbc.pool.",
        "io.agroal.pool.",
        "com.mchange.v2.resourcepool.",
    ],
    class_primitives: &[
        // Pools of connections and other objects: a thread that waits in these functions waits for one that another thread holds.
        ("pool.HikariPool.getConnection", Primitive::Pool),
        ("ObjectPool.borrowObject", Primitive::Pool),
        ("pool.ConnectionPool.borrowConnection", Primitive::Pool),
        ("pool.ConnectionPool.getConnection", Primitive::Pool),
        ("resourcepool.BasicResourcePool.prelimCheckoutResource", Primitive::Pool),
        ("locks.ReentrantLock", Primitive::Lock),
        ("locks.ReentrantReadWriteLock", Primitive::Lock),
        ("locks.StampedLock", Primitive::Lock),
        ("locks.AbstractQueuedSynchronizer$ConditionObject", Primitive::Condition),
        ("locks.AbstractQueuedSynchronizer", Primitive::Lock),
        ("concurrent.ArrayBlockingQueue", Primitive::Condition),
        ("concurrent.LinkedBlockingQueue", Primitive::Condition),
        ("concurrent.LinkedBlockingDeque", Primitive::Condition),
        ("concurrent.PriorityBlockingQueue", Primitive::Condition),
        ("concurrent.DelayQueue", Primitive::Condition),
        ("concurrent.SynchronousQueue", Primitive::Condition),
        ("concurrent.LinkedTransferQueue", Primitive::Condition),
        ("concurrent.Exchanger", Primitive::Condition),
        // Who waits for an executor's end waits for its threads.
        ("concurrent.ThreadPoolExecutor.awaitTermination", Primitive::Join),
        ("concurrent.ForkJoinPool.awaitTermination", Primitive::Join),
        ("concurrent.ForkJoinPool.awaitQuiescence", Primitive::Join),
        ("concurrent.ThreadPoolExecutor", Primitive::Condition),
        ("concurrent.ForkJoinPool", Primitive::Condition),
        ("concurrent.CyclicBarrier", Primitive::Barrier),
        ("concurrent.Phaser", Primitive::Barrier),
        ("concurrent.CountDownLatch", Primitive::Join),
        ("concurrent.FutureTask", Primitive::Join),
        ("concurrent.CompletableFuture", Primitive::Join),
        ("concurrent.ForkJoinTask", Primitive::Join),
        ("lang.Thread.join", Primitive::Join),
        ("lang.Thread.sleep", Primitive::Sleep),
        ("lang.Object.wait", Primitive::Condition),
    ],
    path_themes: &[
        // A thread that finds the heap full waits for the collector inside the allocating call.
        (
            Theme::Allocator,
            &[
                "MemAllocator::allocate",
                "GenCollectedHeap::mem_allocate",
                "ParallelScavengeHeap::mem_allocate",
                "G1CollectedHeap::mem_allocate",
                // Asking for a collection.
                "java.lang.System.gc",
                "java.lang.Runtime.gc",
                // Stopped by the virtual machine: since JDK 15 for hardly anything but a collection (safepoint.cpp).
                "SafepointSynchronize::block",
            ],
        ),
        // Handing methods to the compiler's threads (compileBroker.cpp, compilationPolicy.cpp).
        (Theme::Compiler, &["CompileBroker::compile_method", "CompilationPolicy::"]),
        // Starting and ending threads, and the list of all threads (thread.cpp, threadSMR.cpp, jvm.cpp).
        (
            Theme::Creation,
            &[
                "JVM_StartThread",
                "JavaThread::prepare",
                "JavaThread::exit",
                "JavaThread::post_run",
                "Threads::add",
                "Threads::remove",
                "ThreadsSMRSupport::",
                "os::create_thread",
                "java.lang.Thread.start0",
            ],
        ),
    ],
    class_themes: &[(
        Theme::Collector,
        &[
            "G1",
            "PSParallelCompact",
            "PSScavenge",
            "GCTaskThread",
            "GangWorker",
            "ZMark",
            "VM_GenCollect",
            "VM_ParallelGC",
            "VM_ParallelCollect",
            "VM_SerialCollect",
        ],
    )],
    thread_starts: &["ThreadJavaMain", "java.lang.Thread.run", "java.util.concurrent.ThreadPoolExecutor$Worker.run"],
    // Names up to their parameters (os_linux.cpp, thread.cpp).
    thread_start_prefixes: &[
        "thread_native_entry(",
        "Thread::call_run(",
        "JavaThread::run(",
        "JavaThread::thread_main_inner(",
    ],
    service_loops: &[
        "CompileQueue::get(",
        "VMThread::loop(",
        "ServiceThread::",
        "MonitorDeflationThread::",
        "WatcherThread::",
    ],
    // HotSpot's threads in JDK 11 to 21 (compileBroker.cpp, workerThread.cpp, vmThread.cpp, g1*, z*, shenandoah*).
    service_threads: &[
        ("C1 CompilerThre", Service::Compiler),
        ("C2 CompilerThre", Service::Compiler),
        ("JVMCI CompilerT", Service::Compiler),
        ("GC Thread#", Service::Collector),
        ("G1 ", Service::Collector),
        ("ZDriver", Service::Collector),
        ("ZWorker", Service::Collector),
        ("ZDirector", Service::Collector),
        ("Shenandoah", Service::Collector),
        ("VM Thread", Service::Other),
        ("VM Periodic Tas", Service::Other),
        ("Sweeper thread", Service::Other),
        ("Monitor Deflati", Service::Other),
        ("Service Thread", Service::Other),
        ("Signal Dispatch", Service::Other),
        ("Reference Handl", Service::Other),
        ("Common-Cleaner", Service::Other),
        ("Notification Th", Service::Other),
    ],
    timed_parks: &["locks.LockSupport.parkNanos", "locks.LockSupport.parkUntil"],
    queue_takers: &[
        "BlockingQueue.take",
        "BlockingQueue.poll",
        "BlockingDeque.take",
        "BlockingDeque.takeFirst",
        "BlockingDeque.takeLast",
        "BlockingDeque.pollFirst",
    ],
    // `ForkJoinPool.managedBlock` is left out: any wait for a condition goes through it.
    idle_workers: &[
        "java.util.concurrent.ForkJoinPool.awaitWork",
        "java.util.concurrent.ForkJoinPool.runWorker",
        "java.util.concurrent.ThreadPoolExecutor.getTask",
    ],
    ..Names::NONE
};
