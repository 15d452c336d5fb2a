//! Rust: its standard library, and crates in which many programs wait.

use super::names::Names;
use super::runtime::Runtime;
use super::types::{CallStack, Called, Primitive, Theme};

/// Rust.
pub(super) struct Rust;

impl Runtime for Rust {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    /// Who drops the guard of a task's lock wakes the next task in its queue (`Semaphore::add_permits_locked` in tokio's
    /// sync/batch_semaphore.rs), and that task's waker calls a thread of the scheduler.
    fn given_back(&self, stack: &CallStack<'_>) -> Option<Primitive> {
        let library = stack.in_library();
        let wakes = library.iter().rposition(|c| WAKES.iter().any(|wakes| c.name.contains(wakes)))?;
        let drops =
            |c: &Called<'_>| TASK_LOCKS.iter().any(|guard| c.name.contains(guard)) && c.name.ends_with("::drop");
        library.get(wakes..)?.iter().any(drops).then_some(Primitive::Lock)
    }
}

/// Guards of locks that tasks wait for: tokio's, the `async-lock` crate's, and those of `futures`.
const TASK_LOCKS: [&str; 4] =
    ["tokio::sync::mutex::", "tokio::sync::rwlock::", "async_lock::", "futures_util::lock::mutex::"];

/// Functions that wake a task: the standard library's handle, and the trait behind it, which compilers inline into.
const WAKES: [&str; 2] = ["core::task::wake::Waker>::wake", "as alloc::task::Wake>::wake"];

static NAMES: Names = Names {
    timed_parks: &["std::thread::park_timeout"],
    paths: &[
        "std::",
        "core::",
        "alloc::",
        "parking_lot::",
        "parking_lot_core::",
        "lock_api::",
        "rayon_core::",
        "crossbeam_",
        "tokio::runtime::",
        "tokio::loom::",
        "hashbrown::",
        "r2d2::",
    ],
    path_primitives: &[
        // A pool of connections that threads share: a thread that waits in it waits for one that another holds.
        ("r2d2::Pool::get", Primitive::Pool),
        ("lock_contended", Primitive::Lock),
        ("lock_common", Primitive::Lock),
        ("sync::mutex::", Primitive::Lock),
        ("sync::rwlock::", Primitive::Lock),
        ("sync::reentrant_lock::", Primitive::Lock),
        ("sync::poison::mutex::", Primitive::Lock),
        ("sync::poison::rwlock::", Primitive::Lock),
        ("locks::mutex::", Primitive::Lock),
        ("locks::rwlock::", Primitive::Lock),
        ("lock_api::mutex::", Primitive::Lock),
        ("lock_api::rwlock::", Primitive::Lock),
        ("lock_api::remutex::", Primitive::Lock),
        ("RawMutex", Primitive::Lock),
        ("RawRwLock", Primitive::Lock),
        ("Condvar", Primitive::Condition),
        ("condvar::", Primitive::Condition),
        ("std::thread::park", Primitive::Condition),
        ("thread::current::park", Primitive::Condition),
        ("sync::barrier::Barrier::wait", Primitive::Barrier),
        ("JoinHandle", Primitive::Join),
        ("JoinInner", Primitive::Join),
        ("thread::Thread::join", Primitive::Join),
        ("Parker::park", Primitive::Condition),
    ],
    c_themes: &[(
        Theme::Allocator,
        &[
            "rust_alloc",
            "rust_dealloc",
            "rust_realloc",
            "rust_alloc_zeroed",
            "rdl_alloc",
            "rdl_dealloc",
            "rdl_realloc",
            "rdl_alloc_zeroed",
        ],
    )],
    path_themes: &[(Theme::Allocator, &["std::sys::alloc::"])],
    idle_workers: &[
        "tokio::runtime::",
        "async_io::driver::block_on",
        "rayon_core::sleep::",
        "rayon_core::registry::WorkerThread::wait_until",
    ],
    job_workers: &["rayon_core::sleep::", "rayon_core::registry::WorkerThread::wait_until"],
    task_runners: &[
        "tokio::runtime::scheduler::multi_thread::worker::Context::run_task",
        "tokio::runtime::scheduler::current_thread::",
        "async_executor::",
    ],
    // `spawn_blocking` and `block_in_place`: tokio has threads for what they run.
    blocking_allowed: &["tokio::runtime::blocking::", "tokio::task::blocking::", "blocking::"],
    // What the compiler makes to end a value's life: releasing a lock is the doing of who took it.
    borders: &["core::ptr::drop_in_place"],
    sources: &["/rustc/"],
    // Where cargo puts the crates that a program depends on: from a registry, and from git.
    source_folders: &["/registry/src/", "/.cargo/git/checkouts/", "/cargo/git/checkouts/"],
    ..Names::NONE
};

#[cfg(test)]
mod tests {
    use super::*;

    fn given_back(stack: &str, library: usize) -> Option<Primitive> {
        let functions: Vec<Called> = stack.split(" < ").map(|name| Called { name, module: "app" }).collect();
        Rust.given_back(&CallStack { functions: &functions, library, at_lock_call: false })
    }

    #[test]
    fn a_task_that_drops_a_lock_wakes_the_next_one() {
        let wake = "tokio::runtime::scheduler::Handle::schedule_task < <core::task::wake::Waker>::wake < \
                    tokio::sync::batch_semaphore::Semaphore::add_permits_locked";
        let guard = "<tokio::sync::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop";
        assert_eq!(given_back(&format!("{wake} < {guard} < app::publish"), 4), Some(Primitive::Lock));
        // An executor that parks its thread for one task wakes the thread itself.
        let thread = "parking::Inner::unpark < <async_io::driver::block_on::BlockOnWaker as alloc::task::Wake>::wake_by_ref < \
                      event_listener::Event<T>::notify";
        let guard_of = "<async_lock::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop";
        assert_eq!(given_back(&format!("{thread} < {guard_of} < app::confirm"), 4), Some(Primitive::Lock));
        // Near misses: a permit, a message, and a lock that is dropped where no task is woken.
        let permit = "<tokio::sync::semaphore::SemaphorePermit as core::ops::drop::Drop>::drop";
        assert_eq!(given_back(&format!("{wake} < {permit} < app::publish"), 4), None);
        assert_eq!(given_back(&format!("{wake} < tokio::sync::mpsc::chan::Tx<T,S>::send < app::publish"), 4), None);
        assert_eq!(given_back(&format!("{guard} < app::publish"), 1), None);
    }
}
