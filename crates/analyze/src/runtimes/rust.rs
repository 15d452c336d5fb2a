//! Rust: its standard library, and crates in which many programs wait.

use super::names::Names;
use super::runtime::Runtime;
use super::types::{Primitive, Theme};

/// Rust.
pub(super) struct Rust;

impl Runtime for Rust {
    fn names(&self) -> &'static Names {
        &NAMES
    }
}

static NAMES: Names = Names {
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
    ],
    path_primitives: &[
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
    idle_workers: &["tokio::runtime::", "rayon_core::sleep::", "rayon_core::registry::WorkerThread::wait_until"],
    // What the compiler makes to end a value's life: releasing a lock is the doing of who took it.
    borders: &["core::ptr::drop_in_place"],
    sources: &["/rustc/"],
    // Where cargo puts the crates that a program depends on: from a registry, and from git.
    source_folders: &["/registry/src/", "/.cargo/git/checkouts/", "/cargo/git/checkouts/"],
    ..Names::NONE
};
