use super::function_name::{FunctionName, plain};
use super::*;

fn role(name: &str) -> Option<Primitive> {
    primitive(&FunctionName::new(name))
}

fn is_runtime(name: &str) -> bool {
    super::is_runtime(&FunctionName::new(name))
}

fn is_c_library(name: &str) -> bool {
    super::is_c_library(&FunctionName::new(name))
}

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
        "lock_api::mutex::Mutex<R,T>::lock",
        "boost::detail::spinlock::lock()",
        "tbb::detail::d1::spin_mutex::lock()",
        "absl::lts_2020::Mutex::LockSlowLoop(absl::SynchWaitParams*, int)",
        "sync.(*Mutex).Lock",
        "ObjectMonitor::enter(JavaThread*)",
    ] {
        assert_eq!(role(name), Some(Primitive::Lock), "{name}");
    }
    assert_eq!(role("pthread_cond_wait"), Some(Primitive::Condition));
    assert_eq!(role("std::sys::sync::condvar::futex::Condvar::wait"), Some(Primitive::Condition));
    assert_eq!(role("std::condition_variable::wait(std::unique_lock<std::mutex>&)"), Some(Primitive::Condition));
    assert_eq!(role("__pthread_clockjoin_ex"), Some(Primitive::Join));
    for name in [
        "pthread_barrier_wait",
        "std::barrier<std::__empty_completion>::arrive_and_wait()",
        "std::__tree_barrier<std::__empty_completion>::_M_arrive(std::__barrier_phase_t, unsigned long)",
        "std::__atomic_wait_address<std::__barrier_phase_t, std::__tree_barrier<std::__empty_completion>::wait()::{lambda()#1}>(std::__barrier_phase_t const*)",
        "std::__1::barrier<std::__1::__empty_completion>::wait(unsigned char&&) const",
    ] {
        assert_eq!(role(name), Some(Primitive::Barrier), "{name}");
    }
    for name in [
        // It may wait for anything.
        "std::__atomic_wait_address<int, Feed::until_full()::{lambda(std::__barrier_phase_t)#1}>(int const*)",
        "Feed::arrive(std::barrier<std::__empty_completion>&)",
        "random",
        "mine::Mutex::lock_contended",
        "lock_the_door",
        "main.worker",
        "sem_wait",
    ] {
        assert_eq!(role(name), None, "{name}");
    }
}

#[test]
fn libraries_that_are_compiled_into_programs_are_no_code_of_their_own() {
    assert!(is_runtime("boost::asio::detail::scheduler::run(boost::system::error_code&)"));
    assert!(!is_runtime("Switchboard::boost(int)"));
    assert!(is_worker_without_task("boost::asio::detail::scheduler::do_run_one(boost::asio::detail::mutex&)"));
    assert!(!is_worker_without_task("boost::asio::detail::strand_service::do_post(int)"));
}

#[test]
fn threads_that_runtimes_start_for_themselves() {
    for (name, service) in [
        ("C2 CompilerThre", Service::Compiler),
        (".NET Tiered Com", Service::Compiler),
        ("GC Thread#1", Service::Collector),
        ("G1 Conc#0", Service::Collector),
        ("VM Thread", Service::Other),
    ] {
        assert_eq!(service_thread(name), Some(service), "{name}");
    }
    for name in ["pool-1-thread-1", "Compiler", "GC", "G1", "java", "node", ".NET TP Worker", ".NET Long Runni"] {
        assert_eq!(service_thread(name), None, "{name}");
    }
    for launcher in ["bash", "sh", "timeout", "readlink"] {
        assert_eq!(service_thread(launcher), Some(Service::Other), "{launcher}");
        assert!(is_runtime_module(launcher), "{launcher}");
    }
    for program in ["shop", "sheet", "shard-worker", "environment"] {
        assert!(service_thread(program).is_none() && !is_runtime_module(program), "{program}");
    }
    let platform = "node::(anonymous namespace)::PlatformWorkerThread(void*)";
    assert_eq!(service_start(platform), Some(Service::Collector));
    assert_eq!(service_start("node::worker::Worker::StartThread(void*)"), None);
}

#[test]
fn methods_of_java_by_name() {
    let queued = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
    let acquire = format!("int {queued}.acquire({queued}$Node, int, boolean, boolean, boolean, long)");
    for (name, expected) in [
        (acquire.as_str(), Some(Primitive::Lock)),
        ("void java.util.concurrent.locks.ReentrantLock.lock()", Some(Primitive::Lock)),
        (&format!("void {queued}$ConditionObject.await()"), Some(Primitive::Condition)),
        ("java.lang.Object java.util.concurrent.ArrayBlockingQueue.take()", Some(Primitive::Condition)),
        ("java.lang.Object java.util.concurrent.FutureTask.get()", Some(Primitive::Join)),
        (
            "boolean java.util.concurrent.ThreadPoolExecutor.awaitTermination(long, java.util.concurrent.TimeUnit)",
            Some(Primitive::Join),
        ),
        (
            "boolean java.util.concurrent.ForkJoinPool.awaitQuiescence(long, java.util.concurrent.TimeUnit)",
            Some(Primitive::Join),
        ),
        ("java.lang.Runnable java.util.concurrent.ThreadPoolExecutor.getTask()", Some(Primitive::Condition)),
        (
            "void java.util.concurrent.ForkJoinPool.awaitWork(java.util.concurrent.ForkJoinPool$WorkQueue)",
            Some(Primitive::Condition),
        ),
        ("void java.util.concurrent.locks.LockSupport.park(java.lang.Object)", None),
        ("void Shop.lock(java.util.concurrent.locks.ReentrantLock)", None),
    ] {
        assert_eq!(role(name), expected, "{name}");
    }
    assert!(is_runtime("void jdk.internal.misc.Unsafe.park(boolean, long)") && !is_runtime("void Shop.sell(int)"));
    assert!(is_stub("StubRoutines (1)") && !is_stub("void Interpreters.run()"));
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
    assert_eq!(plain("__random@@GLIBC_2.2.5"), "random");
}

#[test]
fn odd_names_do_not_panic() {
    for name in ["", "<", "<<", ">", "<a as ", "operator<", "é<ü as ß>::ö", "(((", "a as b", "->", "<>::x"] {
        let _ = (role(name), is_runtime(name), is_c_library(name), is_thread_start(name));
    }
}

#[test]
fn known_pools_of_java() {
    for name in [
        "java.sql.Connection com.zaxxer.hikari.pool.HikariPool.getConnection(long)",
        "java.lang.Object org.apache.commons.pool2.impl.GenericObjectPool.borrowObject(java.time.Duration)",
        "java.lang.Object com.mchange.v2.resourcepool.BasicResourcePool.prelimCheckoutResource(long)",
    ] {
        assert_eq!(role(name), Some(Primitive::Pool), "{name}");
    }
    for name in ["void com.zaxxer.hikari.pool.HikariPool.fillPool(boolean)", "Shop$ObjectPool.borrowObject()"] {
        assert_eq!(role(name), None, "{name}");
    }
}

#[test]
fn who_keeps_other_tasks_waiting() {
    let keeps = |stack: &str| keeps_tasks_waiting(stack.split(" < "));
    let worker = "tokio::runtime::scheduler::multi_thread::worker::Context::run_task";
    for stack in [
        worker,
        "tokio::runtime::scheduler::current_thread::Context::run_task",
        "Handle._run < BaseEventLoop._run_once < BaseEventLoop.run_forever",
        "_run < _run_once < run_forever",
    ] {
        assert!(keeps(&format!("load_profile < {stack} < main")), "{stack}");
    }
    // Near misses: what may block, a worker inside of a task that may, and a thread without tasks.
    for stack in [
        "tokio::runtime::blocking::pool::Inner::run".to_owned(),
        format!("tokio::task::blocking::block_in_place < {worker}"),
        "_WorkItem.run < _worker < Thread.run".to_owned(),
    ] {
        assert!(!keeps(&format!("load_profile < {stack} < main")), "{stack}");
    }
}

/// CPython's lock and the condition inside it have no names of their own in most distributions.
#[test]
fn the_interpreters_lock_is_taken_and_released_by_a_condition() {
    let locked = |names: &[(&str, &str)]| {
        let functions: Vec<Called> = names.iter().map(|(name, module)| Called { name, module }).collect();
        lock_taken(&CallStack { functions: &functions, library: functions.len(), at_lock_call: false }).is_some()
    };
    let wait = ("pthread_cond_timedwait", "libc.so.6");
    let signal = ("pthread_cond_signal", "libc.so.6");
    assert!(locked(&[wait, ("", "python3.11"), ("PyEval_RestoreThread", "python3.11")]));
    assert!(locked(&[signal, ("", "python3.11"), ("PyEval_SaveThread", "python3.11")]));
    assert!(locked(&[("futex_wait", "libc.so.6"), ("drop_gil", "libpython3.11.so.1.0")]));
    // Near misses: an extension's own condition, and a lock object of the interpreter.
    assert!(!locked(&[signal, ("queue_put", "_native.so"), ("PyObject_Call", "python3.11")]));
    assert!(!locked(&[("sem_wait", "libc.so.6"), ("PyThread_acquire_lock_timed", "python3.11")]));
}

/// A lock that sleeps between its attempts is a lock; a program that sleeps in its own code sleeps.
#[test]
fn a_sleep_inside_a_lock_is_waiting_for_the_lock() {
    let of = |primitives: &[Primitive]| {
        let stack = CallStack { functions: &[], library: 0, at_lock_call: false };
        primitive_of_stack(&stack, primitives.iter().copied())
    };
    assert_eq!(of(&[Primitive::Sleep, Primitive::Lock]), Some(Primitive::Lock));
    assert_eq!(of(&[Primitive::Condition, Primitive::Sleep, Primitive::Barrier]), Some(Primitive::Barrier));
    assert_eq!(of(&[Primitive::Condition, Primitive::Sleep]), Some(Primitive::Sleep));
    assert_eq!(of(&[Primitive::Condition]), Some(Primitive::Condition));
    assert_eq!(of(&[Primitive::Lock, Primitive::Sleep]), Some(Primitive::Lock));
}
