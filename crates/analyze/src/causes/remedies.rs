//! What to try against locks that are known by the name of the library function that owns them. May import: nothing.

/// Advice for a family of functions.
struct Advice {
    functions: &'static [&'static str],
    remedies: &'static [&'static str],
}

/// What to try against the Python interpreter's global lock.
pub fn for_interpreter_lock() -> Vec<String> {
    [
        "use processes instead of threads for what computes: multiprocessing, concurrent.futures.ProcessPoolExecutor",
        "move the hot part into code that releases the lock (numpy, a C extension, Cython's nogil)",
        "or use a free-threaded build of CPython (3.13 or later)",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// What to try against a contended Java monitor.
pub fn for_java_monitor() -> Vec<String> {
    [
        "do less inside the synchronized block, or split the object that it locks",
        "use java.util.concurrent: ConcurrentHashMap, LongAdder, a lock for each part",
    ]
    .map(str::to_owned)
    .to_vec()
}

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
        ],
        remedies: &[
            "allocate less often: reuse buffers, allocate in blocks, keep objects in arrays",
            "try an allocator with caches per thread: jemalloc, mimalloc or tcmalloc, by LD_PRELOAD for a first look",
            "with glibc, raise the number of arenas: MALLOC_ARENA_MAX, or mallopt(M_ARENA_MAX, ...)",
        ],
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
        // glibc's time/tzset.c: one lock for all of them. `tz_convert` is inside localtime_r and gmtime_r.
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

/// What to try for a lock that this function owns; absent when it is not known.
pub fn for_function(name: &str) -> Option<Vec<String>> {
    let advice = KNOWN.iter().find(|a| a.functions.contains(&name))?;
    Some(advice.remedies.iter().map(|r| (*r).to_owned()).collect())
}
