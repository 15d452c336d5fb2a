//! What is known of languages, their libraries and their virtual machines: one file or folder each, behind [`Runtime`].
//!
//! Everything outside this folder asks the functions below and names no runtime (`tests/runtimes/names.rs`). Names only
//! make an answer more precise: on most machines the C library's internal functions have none.
//!
//! Rooms: [`types`] what is told, [`runtime`] what each of them answers; [`function_name`] takes a function's name apart;
//! [`names`] the table that each runtime fills; [`advice`] what to try against what is known by name; [`user`] what the
//! user said of functions; [`kernel`] what names in the kernel tell; the rest one runtime each. May import: `recording`,
//! and nothing of the crate.

pub mod advice;
mod allocators;
mod cpp;
pub mod function_name;
mod glibc;
mod go;
pub mod kernel;
mod libraries;
mod managed;
mod musl;
mod names;
mod posix;
mod runtime;
mod rust;
mod types;
pub mod user;

use function_name::FunctionName;
pub use managed::own_classes::OwnClasses;
use names::Names;
use runtime::Runtime;
pub use types::{CallStack, Called, Exchange, Parked, Primitive, Scheduler, Service, Theme, WorkerPool};
use types::{CollectorSettings, RuntimeLock};

/// All runtimes. If several recognise a stack, the first decides.
const ALL: [&dyn Runtime; 14] = [
    &go::Go,
    &managed::cpython::CPython,
    &managed::java::Java,
    &managed::dotnet::DotNet,
    &managed::mono::Mono,
    &managed::node::Node,
    &posix::Posix,
    &glibc::Glibc,
    &musl::Musl,
    &cpp::Cpp,
    &rust::Rust,
    &libraries::openmp::OpenMp,
    &libraries::sqlite::Sqlite,
    &allocators::Allocators,
];

fn tables() -> impl Iterator<Item = &'static Names> {
    ALL.iter().map(|runtime| runtime.names())
}

/// True where one of the tables has a function, by its name without leading underscores.
fn named(name: &str, has: impl Fn(&Names, &str) -> bool) -> bool {
    let c_name = function_name::plain(name);
    tables().any(|names| has(names, c_name))
}

fn starts(list: &[&str], name: &str) -> bool {
    list.iter().any(|start| name.starts_with(start))
}

fn first<T>(ask: impl Fn(&dyn Runtime) -> Option<T>) -> Option<T> {
    ALL.iter().find_map(|runtime| ask(*runtime))
}

/// Which primitive a function is.
pub fn primitive(function: &FunctionName<'_>) -> Option<Primitive> {
    tables()
        .find_map(|names| names.primitive_by_path(function))
        .or_else(|| tables().find_map(|names| names.primitive_by_prefix(function)))
        .or_else(|| tables().find_map(|names| names.primitive_by_class(function)))
}

/// What a function is busy with.
pub fn theme(function: &FunctionName<'_>) -> Option<Theme> {
    tables().find_map(|names| names.theme(function))
}

/// True when a function belongs to a language's standard library or runtime, and not to the program.
pub fn is_runtime(function: &FunctionName<'_>) -> bool {
    let known = |path: &str| tables().any(|names| names.has_path(path));
    match function.paths.as_slice() {
        [path] => known(path),
        // `<Type as Trait>` is the program's if the type or the trait is; a type without a path is a type parameter and
        // says nothing.
        [of, by] => known(by) && (known(of) || !of.contains("::")),
        _ => false,
    }
}

/// True for functions of the C library itself, for programs that contain it (static binaries).
pub fn is_c_library(function: &FunctionName<'_>) -> bool {
    !function.name.contains("::") && tables().any(|names| names.is_carried(function))
}

/// True for the module (file name) of the C library itself.
pub fn is_c_library_module(module: &str) -> bool {
    tables().any(|names| names.modules.iter().any(|start| module.starts_with(start)))
}

/// True for the module (file name) of a language's virtual machine or interpreter: code in it is never the program's
/// own.
pub fn is_runtime_module(module: &str) -> bool {
    tables().any(|names| names.has_module(module))
}

/// What a runtime's module (file name) is busy with as a whole, whatever its functions are called.
pub fn module_theme(module: &str) -> Option<Theme> {
    tables().find_map(|names| names.module_theme(module))
}

/// True where a source file is a standard library's or a package's, as compilers and runtimes record its path.
pub fn is_runtime_source(file: &str) -> bool {
    tables().any(|names| names.has_source(file))
}

/// True where a source file is one of a package's that the program was built with.
pub fn is_package_source(file: &str) -> bool {
    tables().any(|names| names.has_package(file))
}

/// True for the functions that every thread starts in: they are never blamed.
pub fn is_thread_start(name: &str) -> bool {
    let c_name = function_name::plain(name);
    tables().any(|names| names.is_thread_start(name, c_name))
}

/// True for the function that each program has of its own, also one that contains its libraries.
pub fn is_program_start(name: &str) -> bool {
    tables().any(|names| names.program_start == Some(name))
}

/// True for the first task of a program whose runtime schedules tasks on threads, by its function.
pub fn is_first_task(name: &str) -> bool {
    tables().any(|names| names.first_task == Some(name))
}

/// True for the loops in which a virtual machine's own threads wait for code to compile, for operations, and for the
/// clock. This is not the program's work, and more processors would not help them.
pub fn is_service_loop(name: &str) -> bool {
    tables().any(|names| names.service_loops.iter().any(|start| name.starts_with(start)))
}

/// True for a shell, and for other programs that only start another one.
pub fn is_launcher(program: &str) -> bool {
    tables().any(|names| names.launchers.contains(&program))
}

/// What a runtime's own thread does, by the thread's name; `None` for the program's threads. A thread that still has a
/// shell's name when it ends only started programs.
pub fn service_thread(name: &str) -> Option<Service> {
    if is_launcher(name) {
        return Some(Service::Other);
    }
    let known = tables().flat_map(|names| names.service_threads);
    known.into_iter().find(|(start, _)| name.starts_with(start)).map(|(_, service)| *service)
}

/// The same, by the function that the thread started in.
pub fn service_start(name: &str) -> Option<Service> {
    let known = tables().flat_map(|names| names.service_starts);
    known.into_iter().find(|(start, _)| name.starts_with(start)).map(|(_, service)| *service)
}

/// True for generated code that belongs to no function of the program, by the name that the virtual machine gives it.
pub fn is_stub(name: &str) -> bool {
    ALL.iter().any(|runtime| runtime.is_stub(name))
}

/// True for the C library's `syscall`, which makes any system call.
pub fn is_syscall_wrapper(name: &str) -> bool {
    named(name, |names, c| names.syscall_wrappers.contains(&c))
}

/// True for a function that passes the program's calls on to a virtual machine.
pub fn is_border(name: &str) -> bool {
    tables().any(|names| names.borders.iter().any(|start| name.starts_with(start)))
}

/// True for the usual names of a program's own wrapper of the futex call: its caller is to blame, not the wrapper.
pub fn is_futex_wrapper(name: &str) -> bool {
    named(name, |names, c| !c.contains("::") && starts(names.futex_wrappers, c))
}

/// True for a library's function that takes something from a queue, and waits if the queue is empty.
pub fn takes_from_queue(name: &str) -> bool {
    tables().any(|names| names.queue_takers.iter().any(|part| name.ends_with(part)))
}

/// True for a library's function in which the thread that calls it pauses for a time, or until another one lets it go on.
pub fn parks_for_a_time(name: &str) -> bool {
    tables().any(|names| names.timed_parks.iter().any(|part| name.ends_with(part)))
}

/// True for the functions that wait for a semaphore: it is a lock if the waiting threads also post, a queue if others
/// do.
pub fn is_semaphore(name: &str) -> bool {
    named(name, |names, c| starts(names.semaphores, c))
}

/// True for the functions that wake who waits at a condition: a thread that waits inside takes nothing.
pub fn is_waker(name: &str) -> bool {
    named(name, |names, c| starts(names.wakers, c))
}

/// True for the function in which an executor's worker waits when it has no task.
pub fn is_worker_without_task(name: &str) -> bool {
    tables().any(|names| names.idle_workers.iter().any(|start| name.starts_with(start)))
}

/// True for such a function of an executor whose tasks keep their thread until they end.
pub fn is_worker_without_job(name: &str) -> bool {
    tables().any(|names| names.job_workers.iter().any(|start| name.starts_with(start)))
}

/// True where a thread that runs tasks is inside one of them, and no other task can run on it meanwhile. `functions`: its
/// stack, innermost first.
pub fn keeps_tasks_waiting<'n>(mut functions: impl Iterator<Item = &'n str>) -> bool {
    let decides = functions.find_map(|name| {
        let allowed = tables().any(|names| starts(names.blocking_allowed, name));
        (allowed || tables().any(|names| starts(names.task_runners, name))).then_some(allowed)
    });
    decides == Some(false)
}

/// True for a function whose author calls it, or the type that it belongs to, a barrier.
pub fn is_named_a_barrier(function: &str) -> bool {
    let plain = function.split(['(', '<']).next().unwrap_or(function);
    plain.rsplit(['.', ':']).filter(|part| !part.is_empty()).take(2).any(|part| part.to_lowercase().contains("barrier"))
}

/// The pool whose threads do in this function what the program has handed in.
pub fn worker_pool(name: &str) -> Option<&'static WorkerPool> {
    let mut all = tables().flat_map(|names| names.worker_pools);
    all.find(|(starts, _)| starts.iter().any(|start| name.starts_with(start))).map(|(_, pool)| *pool)
}

/// True for the module (file name) of a virtual machine with a garbage collector: a wait for memory there is a wait for
/// it.
pub fn collects_garbage(module: &str) -> bool {
    ALL.iter().any(|runtime| runtime.collects_garbage(module))
}

/// The name of the collector to which a function belongs, and what to try against its pauses.
pub fn collector(function: &str) -> Option<(&'static str, &'static str)> {
    let mut all = tables().flat_map(|names| names.collectors);
    all.find(|(part, ..)| function.contains(part)).map(|(_, name, remedy)| (*name, *remedy))
}

/// The settings of the garbage collector that one of the functions belongs to; each of them with its module.
pub fn collector_settings<'a>(mut functions: impl Iterator<Item = Called<'a>>) -> Option<&'static CollectorSettings> {
    let collects = |runtime: &&&dyn Runtime, called: Called<'_>| {
        let function = (!called.name.is_empty()).then(|| FunctionName::new(called.name));
        let theme = function.and_then(|function| runtime.names().theme(&function));
        runtime.collects_garbage(called.module) || theme == Some(Theme::Collector)
    };
    functions.find_map(|called| ALL.iter().find(|runtime| collects(runtime, called))?.names().collector_settings)
}

/// The settings of the collector that a program calls with this function.
pub fn asks_for_collection(function: &str) -> Option<&'static CollectorSettings> {
    let plain = function.split('(').next().unwrap_or(function);
    let mut all = tables().filter_map(|names| names.collector_settings);
    all.find(|settings| settings.asked_by.contains(&plain))
}

/// The settings of the collector that takes back what this function allocates; `None` where memory is freed by hand.
pub fn collects_from(function: Called<'_>) -> Option<&'static CollectorSettings> {
    let name = (!function.name.is_empty()).then(|| FunctionName::new(function.name));
    let allocates = |names: &Names| name.as_ref().and_then(|name| names.theme(name)) == Some(Theme::Allocator);
    let mut own = ALL.iter().filter(|runtime| runtime.collects_garbage(function.module) || allocates(runtime.names()));
    own.find_map(|runtime| runtime.names().collector_settings)
}

/// Which classes of a program are its own, by the names of all compiled methods; `None` where `modules` (file names)
/// has no virtual machine whose programs have packages.
pub fn own_classes<'n>(
    mut modules: impl Iterator<Item = &'n str>,
    methods: impl Iterator<Item = &'n str>,
) -> Option<OwnClasses> {
    let machine = modules.find_map(|module| ALL.iter().find(|runtime| runtime.has_packages(module)))?;
    Some(OwnClasses::from_methods(methods, |class| machine.names().has_path(class)))
}

/// True for the module (file name) of an interpreter: its functions stand for those of its program.
pub fn is_interpreter(module: &str) -> bool {
    ALL.iter().any(|runtime| runtime.is_interpreter(module))
}

/// True for the functions of spin locks: a thread that waits for one never sleeps.
pub fn is_spin_lock(name: &str) -> bool {
    named(name, |names, c| starts(names.spin_locks, c))
}

/// Why a task scheduler's thread sleeps; `None` for any other thread.
pub fn parked(stack: &CallStack<'_>) -> Option<Parked> {
    first(|runtime| runtime.parked(stack))
}

/// What a task gives back in a stack, if that is why a thread of the task scheduler is woken: another task waited for it.
pub fn given_back(stack: &CallStack<'_>) -> Option<Primitive> {
    first(|runtime| runtime.given_back(stack))
}

/// What a function of a task scheduler lets tasks do with each other.
pub fn exchange(function: &str) -> Option<Exchange> {
    first(|runtime| runtime.exchange(function))
}

/// The task scheduler that one of the functions belongs to.
pub fn scheduler<'n>(mut functions: impl Iterator<Item = &'n str>) -> Option<&'static Scheduler> {
    functions.find_map(scheduler_of)
}

/// True where all functions are a task scheduler's own.
pub fn is_scheduler_alone<'n>(mut functions: impl Iterator<Item = &'n str>) -> bool {
    let is_scheduler = |name: &str| scheduler_of(name).is_some();
    functions.next().is_some_and(is_scheduler) && functions.all(is_scheduler)
}

fn scheduler_of(name: &str) -> Option<&'static Scheduler> {
    tables().filter_map(|names| names.scheduler).find(|scheduler| name.starts_with(scheduler.start))
}

/// The runtime's own lock that is being taken in a stack, such as an interpreter's.
pub fn lock_taken(stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
    first(|runtime| runtime.lock_taken(stack))
}

/// The kind of lock that a runtime provides for programs and that this function takes, such as a virtual machine's
/// monitor.
pub fn lock_entered(called: Called<'_>) -> Option<&'static RuntimeLock> {
    first(|runtime| runtime.lock_entered(called))
}

/// True where the stack waits for a lock object of a language whose programs build other primitives of such objects,
/// too.
pub fn is_lock_object(stack: &CallStack<'_>) -> bool {
    ALL.iter().any(|runtime| runtime.is_lock_object(stack))
}

/// True where the stack's thread waits until a collector lets it go on, wherever that stopped it.
pub fn stopped_by_collector(stack: &CallStack<'_>) -> bool {
    ALL.iter().any(|runtime| runtime.stopped_by_collector(stack))
}

/// True for a function with which a runtime takes or releases locks, and which jumps to the slow path. The slow path,
/// which may have no name, then has the same return address, which identifies the lock.
pub fn takes_lock(called: Called<'_>) -> bool {
    ALL.iter().any(|runtime| runtime.takes_lock(called))
}

/// The primitive that a stack is in. `innermost`: the primitives of the functions before the program's own, in order.
///
/// The innermost decides, except that a lock, a barrier or a join around a condition or a sleep is what that is used for.
pub fn primitive_of_stack(
    stack: &CallStack<'_>,
    mut innermost: impl Iterator<Item = Primitive> + Clone,
) -> Option<Primitive> {
    if let Some(told) = first(|runtime| runtime.primitive_behind(stack)) {
        return told;
    }
    let all = innermost.clone();
    match innermost.next() {
        Some(Primitive::Condition | Primitive::Sleep) => {
            let used_for = |p: &Primitive| !matches!(p, Primitive::Condition | Primitive::Sleep);
            let sleep = || all.clone().find(|p| *p == Primitive::Sleep);
            all.clone().find(used_for).or_else(sleep).or(Some(Primitive::Condition))
        }
        Some(other) => Some(other),
        None => first(|runtime| runtime.primitive_without_name(stack)),
    }
}

#[cfg(test)]
mod tests;
