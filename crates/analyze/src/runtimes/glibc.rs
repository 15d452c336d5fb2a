//! The GNU C library: its internal functions, and what to try against its locks.

use super::names::Names;
use super::runtime::Runtime;
use super::types::Advice;
use super::types::{Primitive, Theme};

/// The GNU C library.
pub(super) struct Glibc;

impl Runtime for Glibc {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn allocator_advice(&self, module: Option<&str>, gives_back: bool) -> &'static [&'static str] {
        match module.is_some_and(is_module) {
            true if gives_back => &[MORE_ARENAS, KEEP_MEMORY],
            true => &[MORE_ARENAS],
            false => &[],
        }
    }

    fn advice(&self) -> &'static [Advice] {
        KNOWN
    }
}

fn is_module(file: &str) -> bool {
    ["libc.so", "libc-"].iter().any(|start| file.starts_with(start))
}

pub(super) const MORE_ARENAS: &str =
    "with glibc, raise the number of arenas: MALLOC_ARENA_MAX, or mallopt(M_ARENA_MAX, ...)";

const KEEP_MEMORY: &str = "keep memory instead of giving it back: mallopt(M_TRIM_THRESHOLD, ...) and mallopt(M_MMAP_THRESHOLD, ...), or \
     GLIBC_TUNABLES=glibc.malloc.trim_threshold=...";

static NAMES: Names = Names {
    // Its internal function.
    semaphores: &["new_sem_wait"],
    // Low-level locks (sysdeps/nptl/lowlevellock.h), including those of older versions.
    c_primitives: &[
        ("pthread_mutex_cond_lock", Primitive::Lock),
        ("lll_lock", Primitive::Lock),
        ("lll_unlock", Primitive::Lock),
        ("lll_mutex", Primitive::Lock),
        ("lll_trylock", Primitive::Lock),
    ],
    c_themes: &[
        (
            Theme::Allocator,
            &[
                "libc_malloc",
                "libc_free",
                "libc_calloc",
                "libc_realloc",
                "libc_memalign",
                "int_malloc",
                "int_free",
                "int_realloc",
                "int_memalign",
                "int_free_merge_chunk",
                "int_free_maybe_consolidate",
                "malloc_trim",
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
            ],
        ),
        (
            Theme::Creation,
            &["allocate_stack", "nptl_free_tcb", "nptl_deallocate_stack", "nptl_free_stacks", "allocate_thread_stack"],
        ),
    ],
    carried: &["dl_iterate_phdr"],
    carried_prefixes: &["_IO_", "_dl_"],
    thread_starts: &["start_thread", "libc_start_main", "libc_start_call_main"],
    modules: &["libc.so", "libc-"],
    ..Names::NONE
};

const KNOWN: &[Advice] = &[
    Advice {
        functions: &["random", "srandom", "rand", "srand", "initstate", "setstate"],
        remedies: &[
            "use random_r with a state of its own for each thread",
            "or a generator per thread, such as xoshiro256++ or PCG: faster than random_r, and no shared state",
        ],
    },
    Advice {
        functions: &["drand48", "lrand48", "mrand48", "erand48"],
        remedies: &["use drand48_r and its kin with a state of its own for each thread, or a generator per thread"],
    },
    Advice {
        functions: &[
            "printf", "fprintf", "vfprintf", "fputs", "fputc", "puts", "putchar", "putc", "getc", "fgetc", "getchar",
            "fgets", "fread", "fwrite", "fflush", "getline", "getdelim",
        ],
        remedies: &[
            "collect output in a buffer per thread and write it in large pieces",
            "for a stream that one thread uses: the _unlocked functions, or __fsetlocking(stream, FSETLOCKING_BYCALLER)",
        ],
    },
    Advice {
        functions: &["getenv", "setenv", "putenv", "unsetenv", "secure_getenv"],
        remedies: &["read the environment once at the start and keep the values"],
    },
    Advice {
        // glibc's time/tzset.c: one lock for all of these. localtime_r and gmtime_r call `tz_convert`.
        functions: &[
            "localtime",
            "localtime_r",
            "gmtime",
            "gmtime_r",
            "mktime",
            "timelocal",
            "strftime",
            "tzset",
            "ctime",
            "ctime_r",
            "tz_convert",
        ],
        remedies: &[
            "convert a time once and reuse the result: most stamps of a second differ only in what no time zone changes",
            "or use a time library that leaves the C library's time zone alone, such as C++20's std::chrono; in glibc gmtime_r \
             takes the same lock",
        ],
    },
    Advice {
        functions: &["dl_iterate_phdr", "_Unwind_Find_FDE", "dlopen", "dlsym", "dladdr", "_Unwind_RaiseException"],
        remedies: &[
            "throw fewer exceptions and take fewer backtraces: both walk the list of libraries under the loader's lock",
            "use glibc 2.35 and GCC 12 or later, whose unwinder looks libraries up without the lock",
        ],
    },
    Advice {
        functions: &["setlocale", "newlocale", "freelocale", "gettext", "dcgettext"],
        remedies: &["set the locale once at the start; format with functions that take a locale or none"],
    },
];
