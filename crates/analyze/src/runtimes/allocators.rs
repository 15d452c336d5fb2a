//! Memory allocators: the functions of ISO C and POSIX, and the exports of jemalloc, tcmalloc and mimalloc.

use super::glibc;
use super::names::Names;
use super::runtime::Runtime;
use super::types::Advice;
use super::types::Theme;

/// Memory allocators.
pub(super) struct Allocators;

impl Runtime for Allocators {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn allocator_advice(&self, _module: Option<&str>, _gives_back: bool) -> &'static [&'static str] {
        &REMEDIES
    }

    fn advice(&self) -> &'static [Advice] {
        const { &[Advice { functions: FUNCTIONS, remedies: &[REMEDIES[0], REMEDIES[1], glibc::MORE_ARENAS] }] }
    }
}

const REMEDIES: [&str; 2] = [
    "allocate less often: reuse buffers, allocate in blocks, keep objects in arrays",
    "try an allocator with caches per thread: jemalloc, mimalloc or tcmalloc, by LD_PRELOAD for a first look",
];

/// The functions that programs call, by which the locks inside are known.
const FUNCTIONS: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "operator new",
    "operator delete",
    "_Znwm",
    "_ZdlPv",
    "cfree",
];

static NAMES: Names = Names {
    c_themes: &[(
        Theme::Allocator,
        &[
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
            "malloc_usable_size",
            "nallocx",
            "mallocx",
            "rallocx",
            "xallocx",
            "dallocx",
            "sdallocx",
        ],
    )],
    // Prefixes that allocators give all their C functions.
    c_theme_prefixes: &[(
        Theme::Allocator,
        &["je_", "rjem_", "jemalloc_", "tc_malloc", "tc_free", "tc_new", "tc_delete", "mi_"],
    )],
    path_themes: &[(Theme::Allocator, &["tcmalloc::", "tikv_jemallocator::", "mimalloc::"])],
    ..Names::NONE
};

#[cfg(test)]
mod tests {
    use super::super::function_name::FunctionName;
    use super::*;

    fn theme(name: &str) -> Option<Theme> {
        super::super::theme(&FunctionName::new(name))
    }

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
            "GenCollectedHeap::mem_allocate_work(unsigned long, bool, bool*)",
            "MemAllocator::allocate() const",
            "mono_gc_alloc_obj",
            "mono_threads_state_poll",
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
        for name in [
            "runtime.gcBgMarkWorker",
            "runtime.gcDrain",
            "gc_collect_main",
            "G1ParScanThreadState::trim_queue()",
            "VM_GenCollectForAllocation::doit()",
            "v8::internal::Scavenger::Process(v8::JobDelegate*)",
        ] {
            assert_eq!(theme(name), Some(Theme::Collector), "{name}");
        }
        for name in [
            "pthread_create@@GLIBC_2.34",
            "runtime.newosproc",
            "JavaThread::post_run()",
            "ThreadsSMRSupport::smr_delete(JavaThread*)",
        ] {
            assert_eq!(theme(name), Some(Theme::Creation), "{name}");
        }
        for name in ["start_thread", "__clone3", "G1", "main.gc", "spawn", "std::thread::sleep", "JavaThread::run()"] {
            assert_eq!(theme(name), None, "{name}");
        }
    }
}
