//! What a function's name tells: whose code it is and which primitive. May import: `paths`.
//!
//! Names only sharpen an answer. On most machines the inner functions of the C library have none.

use crate::paths::paths;

/// What a synchronisation function does to the thread that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Takes or releases a lock.
    Lock,
    /// Waits for or signals a condition, a channel, or another thread's call to wake it.
    Condition,
    /// Waits until all have arrived.
    Barrier,
    /// Waits for a thread to end.
    Join,
}

/// C functions by the start of their names, without leading underscores. POSIX, glibc, musl, C11, OpenMP runtimes.
const C_PREFIXES: &[(&str, Role)] = &[
    ("pthread_mutex_cond_lock", Role::Lock),
    ("pthread_mutex_lock", Role::Lock),
    ("pthread_mutex_timedlock", Role::Lock),
    ("pthread_mutex_clocklock", Role::Lock),
    ("pthread_mutex_trylock", Role::Lock),
    ("pthread_mutex_unlock", Role::Lock),
    ("pthread_rwlock_", Role::Lock),
    ("pthread_spin_", Role::Lock),
    ("lll_lock", Role::Lock),
    ("lll_unlock", Role::Lock),
    ("lll_mutex", Role::Lock),
    ("lll_trylock", Role::Lock),
    ("mtx_lock", Role::Lock),
    ("mtx_timedlock", Role::Lock),
    ("mtx_unlock", Role::Lock),
    ("gthread_mutex_", Role::Lock),
    ("gomp_mutex_", Role::Lock),
    ("GOMP_critical_", Role::Lock),
    ("kmpc_critical", Role::Lock),
    ("take_gil", Role::Lock),
    ("pthread_cond_", Role::Condition),
    ("cnd_", Role::Condition),
    ("pthread_barrier_", Role::Barrier),
    ("gomp_barrier_wait", Role::Barrier),
    ("gomp_team_barrier_wait", Role::Barrier),
    ("GOMP_barrier", Role::Barrier),
    ("GOMP_parallel", Role::Barrier),
    ("GOMP_loop_end", Role::Barrier),
    ("GOMP_sections_end", Role::Barrier),
    ("GOMP_taskgroup_end", Role::Barrier),
    ("kmpc_fork_call", Role::Barrier),
    ("kmpc_barrier", Role::Barrier),
    ("pthread_join", Role::Join),
    ("pthread_clockjoin", Role::Join),
    ("pthread_timedjoin", Role::Join),
    ("pthread_tryjoin", Role::Join),
    ("thrd_join", Role::Join),
];

/// Paths of C++, Rust and Go functions by a part of them.
const PATH_PARTS: &[(&str, Role)] = &[
    ("lock_contended", Role::Lock),
    ("lock_common", Role::Lock),
    ("sync::mutex::", Role::Lock),
    ("sync::rwlock::", Role::Lock),
    ("sync::reentrant_lock::", Role::Lock),
    ("sync::poison::mutex::", Role::Lock),
    ("sync::poison::rwlock::", Role::Lock),
    ("locks::mutex::", Role::Lock),
    ("locks::rwlock::", Role::Lock),
    ("RawMutex", Role::Lock),
    ("RawRwLock", Role::Lock),
    ("std::mutex::", Role::Lock),
    ("std::timed_mutex::", Role::Lock),
    ("std::recursive_mutex::", Role::Lock),
    ("std::shared_mutex::", Role::Lock),
    ("std::shared_timed_mutex::", Role::Lock),
    ("std::unique_lock", Role::Lock),
    ("std::shared_lock", Role::Lock),
    ("std::lock_guard", Role::Lock),
    ("std::scoped_lock", Role::Lock),
    ("Mutex::LockSlow", Role::Lock),
    ("SpinLock::SlowLock", Role::Lock),
    ("runtime.lock", Role::Lock),
    ("runtime.unlock", Role::Lock),
    ("runtime.semacquire", Role::Lock),
    ("sync.(*Mutex).", Role::Lock),
    ("sync.(*RWMutex).", Role::Lock),
    ("internal/poll.(*fdMutex).", Role::Lock),
    ("runtime.chanrecv", Role::Condition),
    ("runtime.chansend", Role::Condition),
    ("runtime.selectgo", Role::Condition),
    ("sync.(*WaitGroup).", Role::Join),
    ("ObjectMonitor::enter", Role::Lock),
    ("ObjectMonitor::EnterI", Role::Lock),
    ("ObjectMonitor::ReenterI", Role::Lock),
    ("ObjectMonitor::wait", Role::Condition),
    ("ObjectSynchronizer::enter", Role::Lock),
    ("Parker::park", Role::Condition),
    ("Condvar", Role::Condition),
    ("condvar::", Role::Condition),
    ("condition_variable", Role::Condition),
    ("CondVar::", Role::Condition),
    ("std::thread::park", Role::Condition),
    ("thread::current::park", Role::Condition),
    ("runtime.notesleep", Role::Condition),
    ("runtime.notetsleep", Role::Condition),
    ("sync.(*Cond).", Role::Condition),
    ("sync::barrier::Barrier::wait", Role::Barrier),
    ("std::barrier", Role::Barrier),
    ("JoinHandle", Role::Join),
    ("JoinInner", Role::Join),
    ("thread::Thread::join", Role::Join),
    ("std::thread::join", Role::Join),
];

/// The same of Java's class library by a part of them (JDK 17). Its classes are built on each other: the outermost says
/// what a thread is at.
const JAVA_PARTS: &[(&str, Role)] = &[
    ("locks.ReentrantLock", Role::Lock),
    ("locks.ReentrantReadWriteLock", Role::Lock),
    ("locks.StampedLock", Role::Lock),
    ("locks.AbstractQueuedSynchronizer$ConditionObject", Role::Condition),
    ("locks.AbstractQueuedSynchronizer", Role::Lock),
    ("concurrent.ArrayBlockingQueue", Role::Condition),
    ("concurrent.LinkedBlockingQueue", Role::Condition),
    ("concurrent.LinkedBlockingDeque", Role::Condition),
    ("concurrent.PriorityBlockingQueue", Role::Condition),
    ("concurrent.DelayQueue", Role::Condition),
    ("concurrent.SynchronousQueue", Role::Condition),
    ("concurrent.LinkedTransferQueue", Role::Condition),
    ("concurrent.Exchanger", Role::Condition),
    ("concurrent.ThreadPoolExecutor", Role::Condition),
    ("concurrent.ForkJoinPool", Role::Condition),
    ("concurrent.CyclicBarrier", Role::Barrier),
    ("concurrent.Phaser", Role::Barrier),
    ("concurrent.CountDownLatch", Role::Join),
    ("concurrent.FutureTask", Role::Join),
    ("concurrent.CompletableFuture", Role::Join),
    ("concurrent.ForkJoinTask", Role::Join),
    ("lang.Thread.join", Role::Join),
    ("lang.Object.wait", Role::Condition),
];

/// Java's packages of it.
const JAVA_SYNCHRONISATION: [&str; 2] = ["java.util.concurrent.", "java.lang."];

/// What the HotSpot virtual machine calls code that it makes for no method.
const JAVA_STUBS: &[&str] =
    &["Interpreter", "StubRoutines", "call_stub", "I2C/C2I adapters", "MethodHandlesAdapterBlob"];

/// Where the code of a language's standard library and run-time lies, as the start of a path.
const RUNTIME_PATHS: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "__gnu_cxx::",
    "__cxxabiv1::",
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "absl::",
    "rayon_core::",
    "crossbeam_",
    "tokio::runtime::",
    "hashbrown::",
    "ObjectMonitor::",
    "ObjectSynchronizer::",
    "Parker::",
    "runtime.",
    "runtime/",
    "sync.",
    "internal/",
    "syscall.",
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
];

/// C functions that are the C library's even when it is part of the program (a static binary).
const C_LIBRARY: &[&str] = &[
    "random",
    "srandom",
    "random_r",
    "rand",
    "rand_r",
    "srand",
    "drand48",
    "lrand48",
    "mrand48",
    "malloc",
    "free",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "printf",
    "fprintf",
    "vfprintf",
    "fputs",
    "fputc",
    "puts",
    "putchar",
    "putc",
    "getc",
    "fgetc",
    "fgets",
    "fread",
    "fwrite",
    "fflush",
    "getenv",
    "setenv",
    "localtime",
    "localtime_r",
    "gmtime",
    "mktime",
    "strftime",
    "tzset",
    "dl_iterate_phdr",
    "qsort",
    "qsort_r",
    "memcpy",
    "memset",
    "memmove",
    "syscall",
    "clone",
    "clone3",
    "start_thread",
    "start",
    "read",
    "write",
    "mmap",
    "munmap",
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "exit",
    "abort",
    "sem_wait",
    "sem_post",
];

/// Functions in which every thread starts: never the owner of anything.
const THREAD_STARTS: &[&str] =
    &["start_thread", "clone", "clone3", "libc_start_main", "libc_start_call_main", "start", "main", "ThreadJavaMain"];

/// The same of the HotSpot virtual machine, up to their parameters (os_linux.cpp, thread.cpp).
const JAVA_THREAD_STARTS: &[&str] =
    &["thread_native_entry(", "Thread::call_run(", "JavaThread::run(", "JavaThread::thread_main_inner("];

/// A C name without its leading underscores, its version and what the compiler appended.
fn plain(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    let end = [".constprop", ".part", ".isra", ".cold", ".lto_priv", ".llvm"].iter().filter_map(|s| name.find(s)).min();
    name.get(..end.unwrap_or(name.len())).unwrap_or(name).trim_start_matches('_')
}

/// Which primitive a function is, by its name.
pub fn role(name: &str) -> Option<Role> {
    let c = plain(name);
    if !name.contains("::") && !name.contains('.') {
        return C_PREFIXES.iter().find(|(prefix, _)| c.starts_with(prefix)).map(|(_, role)| *role);
    }
    let by_prefix = || C_PREFIXES.iter().find(|(prefix, _)| c.starts_with(prefix)).map(|(_, role)| *role);
    // Only the path counts: a closure's or a parameter's type may carry any name.
    let paths = paths(name);
    let found = PATH_PARTS.iter().find(|(part, _)| paths.iter().any(|p| p.contains(part)));
    if paths.iter().any(|p| is_runtime_path(p)) { found.map(|(_, role)| *role).or_else(by_prefix) } else { by_prefix() }
}

/// Which primitive a method of Java's class library is, or is built on.
pub fn java_role(name: &str) -> Option<Role> {
    let paths = paths(name);
    let method = paths.iter().find(|p| JAVA_SYNCHRONISATION.iter().any(|package| p.starts_with(package)))?;
    JAVA_PARTS.iter().find(|(part, _)| method.contains(part)).map(|(_, role)| *role)
}

/// True for code of the HotSpot virtual machine that is no method's, by what the virtual machine calls it.
pub fn is_java_stub(name: &str) -> bool {
    name.ends_with(" (HotSpot)") || JAVA_STUBS.iter().any(|stub| name.starts_with(stub))
}

/// True for the functions in which threads of Java wait for all that the class library offers, and wake each other.
pub fn is_java_park(name: &str) -> bool {
    ["Parker::park(", "Parker::unpark(", "Unsafe_Park", "Unsafe_Unpark"].iter().any(|f| name.starts_with(f))
}

/// True for the loops in which threads of the HotSpot virtual machine wait to be called: for code to compile, operations, and
/// the clock. What they wait for is no work of the program, and more processors are nothing to them.
pub fn is_java_service(name: &str) -> bool {
    const LOOPS: &[&str] =
        &["CompileQueue::get(", "VMThread::loop(", "ServiceThread::", "MonitorDeflationThread::", "WatcherThread::"];
    LOOPS.iter().any(|f| name.starts_with(f))
}

/// True when a function belongs to a language's standard library or run-time, by its name.
pub fn is_runtime(name: &str) -> bool {
    match paths(name).as_slice() {
        [path] => is_runtime_path(path),
        // `<Type as Trait>`: the program's when either is; a type without a path is a parameter and says nothing.
        [of, by] => is_runtime_path(by) && (is_runtime_path(of) || !of.contains("::")),
        _ => false,
    }
}

/// True for names of the C library itself, for programs that carry it inside.
pub fn is_c_library(name: &str) -> bool {
    let reserved = name.starts_with("__") || name.starts_with("_IO_") || name.starts_with("_dl_");
    let c = plain(name);
    !name.contains("::") && (reserved || C_LIBRARY.contains(&c) || c.starts_with("pthread_"))
}

/// True for the outermost functions of a thread.
pub fn is_thread_start(name: &str) -> bool {
    THREAD_STARTS.contains(&plain(name)) || JAVA_THREAD_STARTS.iter().any(|start| name.starts_with(start))
}

/// True for the function that passes a system call through.
pub fn is_syscall_wrapper(name: &str) -> bool {
    plain(name) == "syscall"
}

/// True for the usual names of a program's own function around the futex call: who calls it is to blame, not it.
pub fn is_futex_wrapper(name: &str) -> bool {
    let c = plain(name);
    !c.contains("::") && ["futex", "sys_futex", "linux_futex"].iter().any(|start| c.starts_with(start))
}

/// True for the functions that wait for a semaphore: a lock where those who wait also post, a queue where others do.
pub fn is_semaphore(name: &str) -> bool {
    let c = plain(name);
    ["sem_wait", "sem_timedwait", "sem_clockwait", "new_sem_wait"].iter().any(|s| c.starts_with(s))
}

/// True for the functions of POSIX spin locks: who waits for one never sleeps.
pub fn is_spin_lock(name: &str) -> bool {
    plain(name).starts_with("pthread_spin_")
}

/// True for the functions in which the HotSpot virtual machine enters a Java monitor (`synchronized`): of its own C++ code
/// (ObjectMonitor, ObjectSynchronizer, SharedRuntime::complete_monitor_locking_C), not of its internal mutexes.
pub fn is_java_monitor(name: &str, module: &str) -> bool {
    module.starts_with("libjvm")
        && ["ObjectMonitor", "ObjectSynchronizer", "complete_monitor", "monitorenter"]
            .iter()
            .any(|part| name.contains(part))
}

/// The C function without decoration: `__random` and `random@@GLIBC_2.2.5` are `random`.
pub fn c_name(name: &str) -> &str {
    plain(name)
}

fn is_runtime_path(path: &str) -> bool {
    RUNTIME_PATHS.iter().any(|p| path.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_by_name() {
        for name in [
            "pthread_mutex_lock",
            "___pthread_mutex_lock",
            "__lll_lock_wait_private",
            "pthread_rwlock_wrlock",
            "pthread_mutex_lock@@GLIBC_2.2.5",
            "__pthread_mutex_lock.constprop.0",
            "std::mutex::lock()",
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
            "std::sync::poison::mutex::Mutex<T>::lock",
            "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock",
            "runtime.lock2",
            "absl::lts_2020::Mutex::LockSlowLoop(absl::SynchWaitParams*, int)",
            "sync.(*Mutex).Lock",
            "ObjectMonitor::enter(JavaThread*)",
        ] {
            assert_eq!(role(name), Some(Role::Lock), "{name}");
        }
        assert_eq!(role("pthread_cond_wait"), Some(Role::Condition));
        assert_eq!(role("std::sys::sync::condvar::futex::Condvar::wait"), Some(Role::Condition));
        assert_eq!(role("std::condition_variable::wait(std::unique_lock<std::mutex>&)"), Some(Role::Condition));
        assert_eq!(role("__pthread_clockjoin_ex"), Some(Role::Join));
        assert_eq!(role("pthread_barrier_wait"), Some(Role::Barrier));
        for name in ["random", "mine::Mutex::lock_contended", "lock_the_door", "main.worker", "sem_wait"] {
            assert_eq!(role(name), None, "{name}");
        }
    }

    #[test]
    fn methods_of_java_by_name() {
        let queued = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
        let acquire = format!("int {queued}.acquire({queued}$Node, int, boolean, boolean, boolean, long)");
        for (name, role) in [
            (acquire.as_str(), Some(Role::Lock)),
            ("void java.util.concurrent.locks.ReentrantLock.lock()", Some(Role::Lock)),
            (&format!("void {queued}$ConditionObject.await()"), Some(Role::Condition)),
            ("java.lang.Object java.util.concurrent.ArrayBlockingQueue.take()", Some(Role::Condition)),
            ("java.lang.Object java.util.concurrent.FutureTask.get()", Some(Role::Join)),
            ("void java.util.concurrent.locks.LockSupport.park(java.lang.Object)", None),
            ("void Shop.lock(java.util.concurrent.locks.ReentrantLock)", None),
        ] {
            assert_eq!(java_role(name), role, "{name}");
        }
        assert!(is_runtime("void jdk.internal.misc.Unsafe.park(boolean, long)") && !is_runtime("void Shop.sell(int)"));
        assert!(is_java_stub("StubRoutines (1)") && !is_java_stub("void Interpreters.run()"));
    }

    #[test]
    fn runtime_by_name() {
        for name in [
            "<alloc::boxed::Box<F> as core::ops::FnOnce>::call_once",
            "std::sys::backtrace::__rust_begin_short_backtrace<app::main::{{closure}}, ()>",
            "void std::__invoke_impl<void, void (*)(int), int>(std::__invoke_other, void (*&&)(int), int&&)",
            "<F as core::ops::function::FnOnce<()>>::call_once",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            "std::thread::_State_impl<std::tuple<void (*)()> >::_M_run()",
            "runtime.goexit",
        ] {
            assert!(is_runtime(name), "{name}");
        }
        for name in [
            "<T as mycrate::Trait>::f",
            "<alloc::vec::Vec<T> as mycrate::Trait>::f",
            "work",
            "main.worker",
            "<mycrate::Foo as core::fmt::Display>::fmt",
            "mycrate::run::{{closure}}",
            "standard::work",
            "int mine::apply<std::vector<int> >(std::vector<int>&)",
            "(anonymous namespace)::work(int)",
        ] {
            assert!(!is_runtime(name), "{name}");
        }
    }

    #[test]
    fn the_c_library_by_name() {
        assert!(is_c_library("__random") && is_c_library("pthread_mutex_lock") && is_c_library("malloc"));
        assert!(!is_c_library("simulate") && !is_c_library("mine::malloc"));
        assert_eq!(c_name("__random@@GLIBC_2.2.5"), "random");
    }

    #[test]
    fn odd_names_do_not_panic() {
        for name in ["", "<", "<<", ">", "<a as ", "operator<", "é<ü as ß>::ö", "(((", "a as b", "->", "<>::x"] {
            let _ = (role(name), is_runtime(name), is_c_library(name), is_thread_start(name));
        }
    }
}
