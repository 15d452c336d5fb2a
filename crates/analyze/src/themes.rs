//! What a library is busy with, by the names of its functions: giving out memory, or making threads.
//!
//! Both are one cause each although their time shows as locks, system calls, page faults and plain code, so the theme
//! of a stack comes before everything else that it shows. Names only: where an allocator has no symbols its time is
//! booked to what the kernel and the samples see. May import: `paths`, `names`.

use crate::names::c_name;
use crate::paths::paths;

/// What the library functions between the innermost frame and the program's own code are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Theme {
    /// Allocating and freeing memory.
    Allocator,
    /// Finding memory that is no longer used: the garbage collector of a managed language.
    Collector,
    /// Creating and ending threads.
    Creation,
}

/// C functions of allocators by their whole names, without leading underscores: ISO C, POSIX, glibc's inner functions,
/// the exports of jemalloc, tcmalloc, mimalloc, CPython and the Rust language.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "free",
    "cfree",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_trim",
    "malloc_usable_size",
    "libc_malloc",
    "libc_free",
    "libc_calloc",
    "libc_realloc",
    "libc_memalign",
    "libc_malloc_impl",
    "int_malloc",
    "int_free",
    "int_realloc",
    "int_memalign",
    "int_free_merge_chunk",
    "int_free_maybe_consolidate",
    "malloc_consolidate",
    "sysmalloc",
    "systrim",
    "arena_get2",
    "arena_get_retry",
    "tcache_init",
    "heap_trim",
    "new_heap",
    "grow_heap",
    "shrink_heap",
    "Znwm",
    "Znam",
    "ZdlPv",
    "ZdaPv",
    "ZdlPvm",
    "ZdaPvm",
    "rust_alloc",
    "rust_dealloc",
    "rust_realloc",
    "rust_alloc_zeroed",
    "rdl_alloc",
    "rdl_dealloc",
    "rdl_realloc",
    "rdl_alloc_zeroed",
    "PyObject_Malloc",
    "PyObject_Free",
    "PyObject_Realloc",
    "PyMem_Malloc",
    "PyMem_Free",
    "PyMem_Realloc",
    "nallocx",
    "mallocx",
    "rallocx",
    "xallocx",
    "dallocx",
    "sdallocx",
];

/// Prefixes that allocators give to all of their C functions.
const ALLOCATOR_PREFIXES: &[&str] =
    &["je_", "rjem_", "jemalloc_", "tc_malloc", "tc_free", "tc_new", "tc_delete", "mi_"];

/// Starts of paths of C++ and Go functions. In Go the allocator is a part of the run-time.
const ALLOCATOR_PATHS: &[&str] = &[
    "operator new",
    "operator delete",
    "tcmalloc::",
    "runtime.mallocgc",
    "runtime.(*mheap)",
    "runtime.(*mcache)",
    "runtime.(*mcentral)",
    "runtime.(*pageAlloc)",
    "std::sys::alloc::",
    "tikv_jemallocator::",
    "mimalloc::",
];

/// Go's collector, by the start of a path.
const COLLECTOR_PATHS: &[&str] = &[
    "runtime.gc",
    "runtime.bgsweep",
    "runtime.bgscavenge",
    "runtime.scanobject",
    "runtime.greyobject",
    "runtime.(*gc",
];

/// CPython's collector, and the names under which the JVM's collector threads are found where it has symbols.
const COLLECTORS: &[&str] = &["PyGC_Collect", "gc_collect_main", "gc_collect_region", "deduce_unreachable"];

/// The JVM's collectors, by the start of a C++ path.
const COLLECTOR_CLASSES: &[&str] = &["G1", "PSParallelCompact", "PSScavenge", "GCTaskThread", "GangWorker", "ZMark"];

/// Functions that create a thread, or free what it leaves.
const CREATORS: &[&str] = &[
    "pthread_create",
    "thrd_create",
    "allocate_stack",
    "nptl_free_tcb",
    "nptl_deallocate_stack",
    "nptl_free_stacks",
    "allocate_thread_stack",
];

/// The same in Go. C++ and Rust create threads by `pthread_create`.
const CREATOR_PATHS: &[&str] = &["runtime.newm", "runtime.newosproc"];

/// The theme of a function, by its name.
pub fn theme(name: &str) -> Option<Theme> {
    let c = c_name(name);
    if !c.contains([':', '.', ' ', '(']) {
        return match () {
            () if ALLOCATORS.contains(&c) || ALLOCATOR_PREFIXES.iter().any(|p| c.starts_with(p)) => {
                Some(Theme::Allocator)
            }
            () if CREATORS.contains(&c) => Some(Theme::Creation),
            () if COLLECTORS.contains(&c) => Some(Theme::Collector),
            () => None,
        };
    }
    let paths = paths(name);
    let starts = |list: &[&str]| list.iter().any(|p| paths.iter().any(|path| path.starts_with(p)));
    match () {
        // `operator new` is a name with a blank: what a path loses of it, the whole name keeps.
        () if starts(ALLOCATOR_PATHS) || name.starts_with("operator new") || name.starts_with("operator delete") => {
            Some(Theme::Allocator)
        }
        () if starts(COLLECTOR_PATHS) || (name.contains("::") && starts(COLLECTOR_CLASSES)) => Some(Theme::Collector),
        () if starts(CREATOR_PATHS) => Some(Theme::Creation),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_by_name() {
        for name in [
            "malloc",
            "__libc_malloc",
            "_int_free",
            "_int_malloc.constprop.0",
            "malloc@@GLIBC_2.2.5",
            "operator new(unsigned long)",
            "operator delete(void*)",
            "_Znwm",
            "je_arena_malloc_hard",
            "_rjem_malloc",
            "tc_malloc",
            "tcmalloc::CentralFreeList::RemoveRange(void**, void**, int)",
            "mi_malloc",
            "_mi_page_malloc",
            "runtime.mallocgc",
            "runtime.(*mheap).alloc",
            "__rust_alloc",
            "PyObject_Malloc",
        ] {
            assert_eq!(theme(name), Some(Theme::Allocator), "{name}");
        }
        for name in ["my_malloc", "mine::malloc", "free_list_walk", "mine::operator_new", "make_node", "main.mallocgc"]
        {
            assert_eq!(theme(name), None, "{name}");
        }
    }

    #[test]
    fn collectors_and_creation_by_name() {
        for name in
            ["runtime.gcBgMarkWorker", "runtime.gcDrain", "gc_collect_main", "G1ParScanThreadState::trim_queue()"]
        {
            assert_eq!(theme(name), Some(Theme::Collector), "{name}");
        }
        for name in ["pthread_create@@GLIBC_2.34", "runtime.newosproc"] {
            assert_eq!(theme(name), Some(Theme::Creation), "{name}");
        }
        for name in ["start_thread", "__clone3", "G1", "main.gc", "spawn", "std::thread::sleep"] {
            assert_eq!(theme(name), None, "{name}");
        }
    }
}
