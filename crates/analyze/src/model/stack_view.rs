//! What one call stack says: the library's part, the program's, and the primitive between them.

use super::code::{Code, Owner};
use crate::runtimes::advice::RuntimeLock;
use crate::runtimes::{self, CallStack, Called, Parked, Primitive, Theme};
use recording::FrameId;
use recording::tables::ModuleKind;
use std::collections::HashSet;

/// In a static program without symbols, the frames between the system call and the program's own code: the lock's slow
/// path, and the function around it (`pthread_mutex_lock`, `random`; in Rust `syscall` and `lock_contended`).
///
/// Decides: which frame without a name is reported as the place that takes a lock.
/// From: what the C library's `pthread_mutex_lock` and `random`, and Rust's `syscall` and `lock_contended`, call.
/// Shown by: `without_symbols_the_lock_s_own_frames_are_skipped`,
/// `a_static_program_without_symbols_is_named_by_the_address_of_the_call`.
/// Wrong if: another kind of lock has only one frame: the caller of the place that takes it is reported.
const STATIC_WRAPPERS: usize = 2;

/// The number of such frames in a program without symbols that calls the C library's `syscall` itself: the slow path of
/// Rust's locks.
///
/// Decides: which frame without a name is reported as the place that takes a lock, where the C library's `syscall` is
/// called.
/// From: the frame of Rust's locks.
/// Shown by: `without_symbols_the_lock_s_own_frames_are_skipped`.
/// Wrong if: the slow path of a lock is inlined into the program: the caller of the place that takes the lock is
/// reported.
const SYSCALL_WRAPPERS: usize = 1;

/// What a stack says about the waiting or the work there.
#[derive(Debug, Clone, Copy, Default)]
pub struct View<'t> {
    /// The innermost function.
    pub leaf: Option<Code<'t>>,
    /// The primitive that the stack is in, by the names between the innermost frame and the first own one.
    pub primitive: Option<Primitive>,
    /// The runtime's own lock that is being taken, such as an interpreter's.
    pub runtime_lock: Option<&'static RuntimeLock>,
    /// True at a lock object of a language whose programs build other primitives of such objects, too.
    pub lock_object: bool,
    /// Why a task scheduler's thread is parked; absent for any other code.
    pub parked: Option<Parked>,
    /// What the library is busy with, by the same names; this says more than the primitive that it uses.
    pub theme: Option<Theme>,
    /// The library's function that the program called: the outermost frame before the first own one.
    pub entry: Option<Code<'t>>,
    /// The first frame of the program's own code.
    pub own: Option<Code<'t>>,
    /// True inside a virtual machine's own loop that waits to be called.
    pub service: bool,
    /// Where nameless code made at run time called the library.
    pub nameless: Option<Code<'t>>,
    /// True when the program itself waits at a semaphore.
    pub calls_semaphore: bool,
    /// True when the wait is at a semaphore, the program's or one inside of a library.
    pub semaphore: bool,
    /// The class of the innermost method of a library that a runtime compiled.
    pub library_class: Option<&'t str>,
    /// True where a runtime takes a lock that it provides for programs, such as a virtual machine's monitor.
    pub enters_lock: bool,
    /// True when the library wakes other threads.
    pub wakes: bool,
    /// True when the library's part holds an executor's worker that has no task.
    pub without_task: bool,
    /// True when the tasks of such an executor keep their thread until they end.
    pub without_job: bool,
    /// True when no code of the program is called by such a worker.
    pub idle_worker: bool,
    /// True when the entry is responsible for what happens here.
    pub(super) entry_owns: bool,
}

impl<'t> View<'t> {
    /// True for a task of a runtime's garbage collector: no code of the program called it.
    pub fn is_collector(&self) -> bool {
        self.theme == Some(Theme::Collector) && self.own.is_none()
    }

    /// The library function that is responsible for what happens here; absent when the entry is a primitive or has no
    /// name, because then the program's own code is responsible.
    pub fn library(&self) -> Option<Code<'t>> {
        self.entry.filter(|_| self.entry_owns)
    }

    /// The responsible library function, else the program's own.
    pub fn responsible(&self) -> Option<Code<'t>> {
        self.library().or(self.own)
    }
}

/// A function in the form that `runtimes` expects.
pub(super) fn called<'t>(code: &Code<'t>) -> Called<'t> {
    Called { name: code.name().unwrap_or_default(), module: code.module_file }
}

/// What a stack says. `in_call`: the innermost frame made a system call. `lock_calls`: frames that take or release a
/// lock whose slow path is jumped to, and so has the same return address.
pub(super) fn summed_up<'t>(frames: &[Code<'t>], in_call: bool, lock_calls: &HashSet<FrameId>) -> View<'t> {
    // Past a stub, which may run for any method, the program's method behind it tells more than the stub.
    let stub = |c: &Code<'_>| is_made_at_run_time(c) && c.name().is_some();
    let border = frames.iter().position(|c| c.owner == Owner::Own || is_made_at_run_time(c));
    let method = |from: usize| {
        let rest = frames.iter().skip(from).take_while(|c| !is_made_at_run_time(c) || stub(c));
        rest.enumerate().find(|(_, c)| c.owner == Owner::Own && c.kind == ModuleKind::Anonymous).map(|(i, _)| from + i)
    };
    // An interpreter's functions stand for its program's functions where those have no names.
    let interpreter = |c: &Code<'_>| c.interpreter;
    let first = match border {
        Some(at) if frames.get(at).is_some_and(|c| stub(c) || interpreter(c)) => method(at).or(border),
        border => border,
    };
    let own = match first {
        Some(at) if in_call => Some(at + wrappers(frames, at)),
        other => other,
    };
    let before = frames.get(..own.unwrap_or(frames.len())).unwrap_or(frames);
    let own = own.filter(|at| frames.get(*at).is_some_and(|c| c.owner == Owner::Own));
    let called_in = match first {
        Some(_) => before.iter().rev().find(|c| !stub(c) && !c.stub && !interpreter(c)),
        // No own frame: the innermost function of a package that the program was built with, as of the pool whose
        // worker this is; else the outermost named frame that is not a thread's start function. What a virtual machine
        // runs says more than the machine's own loop around it.
        None => {
            let of_package = |c: &&Code<'_>| c.frame.file.as_deref().is_some_and(runtimes::is_package_source);
            let package = |c: &&Code<'_>| c.name().is_some() && c.primitive.is_none() && of_package(c);
            let named = |c: &&Code<'_>| c.name().is_some_and(|n| !runtimes::is_thread_start(n));
            let method = |c: &&Code<'_>| named(c) && c.kind == ModuleKind::Anonymous && !c.stub;
            let outermost = || before.iter().rev().find(method).or_else(|| before.iter().rev().find(named));
            before.iter().find(package).or_else(outermost)
        }
    };
    let entry = called_in.filter(|c| c.owner != Owner::System);
    let is_semaphore = |c: &Code<'_>| c.name().is_some_and(runtimes::is_semaphore);
    let worker = frames.iter().rposition(|c| c.role.without_task);
    let library = || frames.iter().take_while(|c| c.owner != Owner::Own);
    let caller = own.and_then(|at| frames.get(at)).map(|c| c.frame.frame);
    let functions: Vec<Called> = frames.iter().map(called).collect();
    let stack = CallStack {
        functions: &functions,
        library: before.len(),
        at_lock_call: caller.is_some_and(|caller| lock_calls.contains(&caller)),
    };
    let parked = runtimes::parked(&stack);
    let runtime_lock = runtimes::lock_taken(&stack);
    View {
        leaf: frames.first().copied(),
        primitive: match parked {
            Some(Parked::Waits(primitive) | Parked::TaskWaits(primitive)) => Some(primitive),
            _ if runtime_lock.is_some() => Some(Primitive::Lock),
            _ => runtimes::primitive_of_stack(&stack, before.iter().filter_map(|c| c.primitive)),
        },
        runtime_lock,
        lock_object: runtimes::is_lock_object(&stack),
        parked,
        theme: before.iter().find_map(|c| c.theme).or_else(|| {
            let stopped = own.is_some() && runtimes::stopped_by_collector(&stack);
            stopped.then_some(Theme::Collector)
        }),
        entry: entry.copied(),
        service: frames.iter().any(|c| c.role.service_loop),
        nameless: first.and_then(|at| frames.get(at)).filter(|c| is_made_at_run_time(c)).copied(),
        own: own.and_then(|at| frames.get(at)).copied(),
        calls_semaphore: entry.is_some_and(is_semaphore),
        semaphore: before.iter().any(is_semaphore),
        library_class: before.iter().find_map(class),
        enters_lock: before.iter().any(|c| runtimes::lock_entered(called(c)).is_some()),
        wakes: library().any(|c| c.role.wakes),
        without_task: library().any(|c| c.role.without_task),
        without_job: library().any(|c| c.role.without_job),
        idle_worker: worker.is_some_and(|at| frames.iter().take(at).all(|c| c.owner != Owner::Own)),
        entry_owns: entry.is_some_and(|e| !is_semaphore(e) && owns(e)),
    }
}

/// The class of a library's method, by its name: `org.acme.Cursor` for `org.acme.Cursor.next`.
fn class<'t>(code: &Code<'t>) -> Option<&'t str> {
    let method = code.kind == ModuleKind::Anonymous && code.owner == Owner::Library && !code.stub;
    code.name().filter(|_| method).and_then(|name| name.rsplit_once('.')).map(|(class, _)| class)
}

/// True when a library's function, called by the program, is responsible for what happens inside it.
fn owns(entry: &Code<'_>) -> bool {
    let wraps = |name: &str| {
        runtimes::is_syscall_wrapper(name) || runtimes::is_futex_wrapper(name) || runtimes::is_border(name)
    };
    entry.primitive.is_none() && entry.name().is_some_and(|name| !runtimes::is_thread_start(name) && !wraps(name))
}

/// Code made at run time without a function's name. The frames around it are mostly a virtual machine's own, so they do
/// not say whose code it is.
fn is_made_at_run_time(code: &Code<'_>) -> bool {
    code.kind == ModuleKind::Anonymous && (code.name().is_none() || code.stub) && !code.module.is_empty()
}

/// True when a frame is the program's own wrapper of the futex call, and its caller is the program's, too.
fn named_wrapper(frames: &[Code<'_>], at: usize) -> bool {
    let own = |at: usize| frames.get(at).filter(|c| c.owner == Owner::Own);
    own(at).and_then(Code::name).is_some_and(runtimes::is_futex_wrapper) && own(at + 1).is_some()
}

/// How many of the program's innermost frames wrap the futex call or belong to a thread library linked into it.
fn wrappers(frames: &[Code<'_>], at: usize) -> usize {
    let nameless = |i: usize| {
        let code = frames.get(i);
        code.is_some_and(|c| c.kind == ModuleKind::Program && c.owner == Owner::Own && c.name().is_none())
    };
    let caller = at.checked_sub(1).and_then(|i| frames.get(i)).and_then(Code::name);
    let most = match caller {
        None if at == 0 => STATIC_WRAPPERS,
        Some(name) if runtimes::is_syscall_wrapper(name) && named_wrapper(frames, at) => return 1,
        Some(name) if runtimes::is_syscall_wrapper(name) => SYSCALL_WRAPPERS,
        _ => 0,
    };
    (0..most).take_while(|n| nameless(at + n) && nameless(at + n + 1)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::stacks::Stacks;
    use recording::StackId;
    use recording::synthetic::{Sketch, ms};

    /// The view of the only wait of a sketch.
    fn check(stack: &str, test: impl FnOnce(View<'_>, &Stacks<'_>)) {
        let tables = Sketch::new(2)
            .traced(2, |run| {
                run.thread("a").runs(ms(1), "?@libc.so.6").locks(1, ms(1), stack, "a");
            })
            .tables();
        let stacks = Stacks::new(&tables);
        test(stacks.view(tables.waits[0].user_stack, true), &stacks);
    }

    #[test]
    fn a_library_lock_belongs_to_the_function_that_was_called() {
        let stack = "?@libc.so.6 < ?@libc.so.6 < random@libc.so.6 < simulate@birthday birthday.c:41 < run@birthday b.c:9 \
                     < ?@libc.so.6 < ?@libc.so.6";
        check(stack, |view, _| {
            assert_eq!(view.library().and_then(|c| c.name()), Some("random"));
            assert_eq!(view.own.and_then(|c| c.name()), Some("simulate"));
            assert_eq!(view.primitive, None);
        });
    }

    #[test]
    fn what_enters_a_function_is_not_what_was_called() {
        let stack = "?@libc.so.6 < finish@libapp.so < Builtins_InterpreterEntryTrampoline@node < open@app app.js:3";
        check(stack, |view, _| assert_eq!(view.entry.and_then(|c| c.name()), Some("finish")));
    }

    #[test]
    fn a_mutex_belongs_to_the_own_code() {
        check("?@libc.so.6 < pthread_mutex_lock@libc.so.6 < insert@list list.c:40", |view, _| {
            assert!(view.library().is_none());
            assert_eq!(view.responsible().and_then(|c| c.name()), Some("insert"));
            assert_eq!(view.primitive, Some(Primitive::Lock));
        });
    }

    #[test]
    fn code_made_at_run_time_is_where_a_library_was_called_from() {
        let stack = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < ObjectMonitor::enter(JavaThread*)@libjvm.so < \
                     Runtime1::monitorenter(JavaThread*, oopDesc*)@libjvm.so < ?@anonymous < JavaCalls::call@libjvm.so < \
                     thread_native_entry(Thread*)@libjvm.so < start_thread@libc.so.6 < main@launcher";
        check(stack, |view, _| {
            let entry = view.entry.and_then(|c| c.name()).unwrap();
            assert!(entry.starts_with("Runtime1::monitorenter"), "{entry}");
            assert!(view.own.is_none(), "{:?}", view.own);
        });
        let internal = "?@libc.so.6 < GangWorker::loop()@libjvm.so < Thread::call_run()@libjvm.so < \
                        thread_native_entry(Thread*)@libjvm.so < start_thread@libc.so.6";
        check(internal, |view, _| assert_eq!(view.entry.and_then(|c| c.name()), Some("GangWorker::loop()")));
    }

    /// A worker of a package, which has no frame of the program's own; its stack breaks off in the machine's loop.
    #[test]
    fn a_package_s_function_comes_before_the_virtual_machine_s_loop() {
        let wait = "pthread_cond_wait@libc.so.6 < v8::internal::Builtin_AtomicsWait(int)@node < ";
        let entry = |rest: &str| {
            let mut found = None;
            check(&format!("{wait}{rest}"), |view, _| {
                found = view.responsible().and_then(|c| c.name()).map(ToOwned::to_owned);
            });
            found
        };
        let package = "waitForTask@anonymous /app/node_modules/pool/worker.js:105";
        assert_eq!(entry(&format!("{package} < uv__io_poll@node")).as_deref(), Some("waitForTask"));
        assert_eq!(entry("uv__io_poll@node").as_deref(), Some("uv__io_poll"));
    }

    #[test]
    fn a_method_behind_the_virtual_machine_s_own_code_is_the_program_s() {
        let monitor = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < ObjectMonitor::enter(JavaThread*)@libjvm.so < \
                       SharedRuntime::complete_monitor_locking_C(oopDesc*)@libjvm.so";
        let stub = "_complete_monitor_locking_Java (HotSpot)@anonymous";
        check(&format!("{monitor} < {stub} < Shop.sell@anonymous < Interpreter@anonymous"), |view, _| {
            assert_eq!(view.own.and_then(|c| c.name()), Some("Shop.sell"));
            let entry = view.entry.and_then(|c| c.name()).unwrap();
            assert!(entry.starts_with("SharedRuntime::complete_monitor"), "{entry}");
        });
        // Not beyond code without a name, and not a program around the virtual machine.
        for rest in ["?@anonymous < Shop.sell@anonymous", "JavaCalls::call@libjvm.so < main@launcher"] {
            check(&format!("{monitor} < {stub} < {rest}"), |view, _| assert!(view.own.is_none(), "{:?}", view.own));
        }
    }

    #[test]
    fn a_lock_of_the_program_s_own_make_belongs_to_it() {
        check("syscall@libc.so.6 < enter@app app.c:11 < work@app app.c:13", |view, _| {
            assert!(view.library().is_none());
            assert_eq!(view.responsible().and_then(|c| c.name()), Some("enter"));
        });
        check("syscall@libc.so.6 < futex_wait@app app.c:3 < enter@app app.c:11 < work@app app.c:13", |view, _| {
            assert_eq!(view.responsible().and_then(|c| c.name()), Some("enter"));
        });
    }

    #[test]
    fn a_barrier_made_of_a_condition_is_a_barrier() {
        let stack = "syscall@libc.so.6 < std::sys::sync::condvar::futex::Condvar::wait@app /rustc/x.rs:1 < \
                     std::sync::barrier::Barrier::wait@app /rustc/x.rs:2 < work@app w.rs:3";
        check(stack, |view, _| assert_eq!(view.primitive, Some(Primitive::Barrier)));
    }

    #[test]
    fn a_condition_inside_a_known_pool_is_a_wait_for_one_of_its_things() {
        let wait = "syscall@libc.so.6 < parking_lot::condvar::Condvar::wait_until@app";
        let lock = "syscall@libc.so.6 < parking_lot::raw_mutex::RawMutex::lock_slow@app";
        let rest = "r2d2::Pool<M>::get_timeout@app < r2d2::Pool<M>::get@app < settle@app w.rs:3";
        check(&format!("{wait} < {rest}"), |view, _| assert_eq!(view.primitive, Some(Primitive::Pool)));
        // Near misses: the pool's own lock, and a thread of the pool that waits for work.
        check(&format!("{lock} < {rest}"), |view, _| assert_eq!(view.primitive, Some(Primitive::Lock)));
        let helper = "scheduled_thread_pool::Worker::get_job@app < main@app";
        check(&format!("{wait} < {helper}"), |view, _| assert_eq!(view.primitive, Some(Primitive::Condition)));
    }

    #[test]
    fn the_nameless_slow_path_of_a_team_lock_is_told_by_its_return_address() {
        let (slow, fast) = ("?@libgomp.so.1 < sum@app a.c:9", "GOMP_critical_start@libgomp.so.1 < sum@app a.c:9");
        let role = |stacks: &[&str]| {
            let tables = Sketch::new(2)
                .traced(2, |run| {
                    let mut thread = run.thread("a").runs(ms(1), "main@app a.c:2");
                    for stack in stacks {
                        thread = thread.runs(ms(1), stack);
                    }
                })
                .tables();
            let stacks = Stacks::new(&tables);
            let sampled = tables.samples.iter().map(|s| stacks.view(s.user_stack, false));
            let slow = sampled.filter(|view| view.leaf.is_some_and(|c| c.name().is_none())).map(|view| view.primitive);
            slow.last().flatten()
        };
        assert_eq!(role(&[slow, fast]), Some(Primitive::Lock));
        assert_eq!(role(&[slow, "GOMP_barrier@libgomp.so.1 < sum@app a.c:9"]), Some(Primitive::Barrier));
        assert_eq!(role(&[slow, "GOMP_critical_start@libgomp.so.1 < other@app a.c:7"]), Some(Primitive::Barrier));
    }

    #[test]
    fn a_team_of_openmp_waits_at_barriers_and_takes_locks() {
        let role = |stack: &str| {
            let mut found = None;
            check(stack, |view, _| found = view.primitive);
            found
        };
        assert_eq!(role("?@libgomp.so.1 < ?@libgomp.so.1 < ?@libgomp.so.1 < ?@libc.so.6"), Some(Primitive::Barrier));
        assert_eq!(role("?@libgomp.so.1 < GOMP_parallel@libgomp.so.1 < main@app a.c:3"), Some(Primitive::Barrier));
        assert_eq!(role("?@libgomp.so.1 < GOMP_critical_start@libgomp.so.1 < sum@app a.c:9"), Some(Primitive::Lock));
        assert_eq!(role("GOMP_loop_dynamic_next@libgomp.so.1 < work._omp_fn.0@app a.c:5"), None);
        assert_eq!(role("?@libc.so.6 < wait@app a.c:5 < work._omp_fn.0@app a.c:5 < ?@libgomp.so.1"), None);
    }

    #[test]
    fn a_lock_made_of_a_condition_is_a_lock() {
        let stack =
            "?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < take_gil@python3 < PyEval_Loop@python3 < main@python3";
        check(stack, |view, _| {
            assert_eq!((view.primitive, view.own.and_then(|c| c.name())), (Some(Primitive::Lock), Some("PyEval_Loop")));
        });
    }

    /// Where the interpreter gives the names of the program's functions, these are what the user looks for.
    #[test]
    fn a_function_of_the_program_comes_before_the_interpreter_s() {
        let stack = "?@libc.so.6 < pthread_cond_timedwait@libc.so.6 < take_gil@python3.12 < \
                     _PyEval_EvalFrameDefault@python3.12 < compute@anonymous < _PyEval_Vector@python3.12 < main@anonymous";
        check(stack, |view, _| {
            assert_eq!((view.runtime_lock.is_some(), view.own.and_then(|c| c.name())), (true, Some("compute")));
            assert!(view.library().is_none_or(|c| c.primitive.is_some()), "{:?}", view.library());
        });
        let alone = "_PyEval_EvalFrameDefault@python3.12 < run_mod@python3.12 < main@python3.12";
        check(alone, |view, _| assert_eq!(view.own.and_then(|c| c.name()), Some("_PyEval_EvalFrameDefault")));
    }

    #[test]
    fn the_interpreter_s_lock_is_known_without_its_name() {
        let gil = |stack: &str| {
            let mut found = None;
            check(stack, |view, _| found = Some((view.runtime_lock.is_some(), view.primitive)));
            found.unwrap()
        };
        let wait = "?@libc.so.6 < pthread_cond_timedwait@libc.so.6";
        assert_eq!(
            gil(&format!("{wait} < ?@python3.11 < PyEval_RestoreThread@python3.11")),
            (true, Some(Primitive::Lock))
        );
        assert!(gil(&format!("{wait} < ?@libpython3.11.so.1.0 < ?@libpython3.11.so.1.0 < main@app")).0);
        assert_eq!(gil(&format!("{wait} < wait_for@app app.c:3")), (false, Some(Primitive::Condition)));
        assert!(!gil("sem_clockwait@libc.so.6 < PyThread_acquire_lock_timed@python3.11").0);
    }

    /// Python's `threading` builds all its primitives from one lock of the interpreter.
    #[test]
    fn what_python_waits_for_is_told_by_its_library() {
        let wait = "?@libc.so.6 < __new_sem_wait_slow64@libc.so.6 < PyThread_acquire_lock_timed@libpython3.11.so.1.0";
        let (threading, own) = ("anonymous /usr/lib/python3.11/threading.py", "serve@anonymous shop.py:9");
        let primitive = |between: &str| {
            let mut found = None;
            check(&format!("{wait} < {between}{own}"), |view, _| found = Some(view.primitive));
            found.unwrap()
        };
        let within =
            |functions: &[&str]| -> String { functions.iter().map(|f| format!("{f}@{threading}:3 < ")).collect() };
        assert_eq!(primitive(&within(&["Condition.wait", "Event.wait"])), Some(Primitive::Condition));
        assert_eq!(primitive(&within(&["Condition.wait", "Barrier._wait", "Barrier.wait"])), Some(Primitive::Barrier));
        assert_eq!(primitive(&within(&["Thread._wait_for_tstate_lock", "Thread.join"])), Some(Primitive::Join));
        assert_eq!(primitive(&within(&["Condition.wait", "Queue.get", "QueuePool._do_get"])), Some(Primitive::Pool));
        assert_eq!(primitive(""), None, "a plain lock, which serves for anything");
        let is_lock = |between: &str| {
            let mut found = None;
            check(&format!("{wait} < {between}{own}"), |view, _| found = Some(view.lock_object));
            found.unwrap()
        };
        assert!(is_lock("") && is_lock("Handler.acquire@anonymous /usr/lib/python3.11/logging/__init__.py:9 < "));
        assert!(!is_lock(&within(&["Condition.wait", "Event.wait"])));
        assert!(!is_lock("?@_queue.cpython-311-x86_64-linux-gnu.so < "), "an empty queue");
        check(&format!("{wait} < Condition.wait@anonymous shop.py:3"), |view, _| assert_eq!(view.primitive, None));
    }

    #[test]
    fn without_symbols_the_lock_s_own_frames_are_skipped() {
        let address = |view: View<'_>| view.own.map(|c| c.frame.address);
        // Sketches give equal texts one address, so the frames get different lines.
        check("syscall@libc.so.6 < ?@app a:1 < ?@app a:2 < ?@app a:3", |view, stacks| {
            let frames = stacks.frames(StackId(stacks.stacks.values().map(|s| s.stack.0).max().unwrap()));
            assert_eq!(address(view), Some(frames[2].frame.address));
        });
        check("?@app a:1 < ?@app a:2 < ?@app a:3 < ?@app a:4", |view, stacks| {
            let frames = stacks.frames(StackId(stacks.stacks.values().map(|s| s.stack.0).max().unwrap()));
            assert_eq!(address(view), Some(frames[2].frame.address));
        });
    }
}
