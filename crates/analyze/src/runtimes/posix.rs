//! What every C library offers: POSIX and C11, and the usual names around Linux's futex call.

use super::names::Names;
use super::runtime::Runtime;
use super::types::{Primitive, Theme};

/// The functions of POSIX and C11.
pub(super) struct Posix;

impl Runtime for Posix {
    fn names(&self) -> &'static Names {
        &NAMES
    }
}

static NAMES: Names = Names {
    // The shells in Debian's and Alpine's packages, programs that run another one with changed settings, and what scripts
    // call to find the program that they start.
    launchers: &[
        "bash", "dash", "sh", "zsh", "ksh", "mksh", "fish", "env", "nice", "taskset", "timeout", "numactl", "busybox",
        "chrt", "make", "pyenv", "setsid", "stdbuf", "time", "basename", "dirname", "readlink", "realpath", "uname",
        "which",
    ],
    c_primitives: &[
        ("pthread_mutex_lock", Primitive::Lock),
        ("pthread_mutex_timedlock", Primitive::Lock),
        ("pthread_mutex_clocklock", Primitive::Lock),
        ("pthread_mutex_trylock", Primitive::Lock),
        ("pthread_mutex_unlock", Primitive::Lock),
        ("pthread_rwlock_", Primitive::Lock),
        ("pthread_spin_", Primitive::Lock),
        ("mtx_lock", Primitive::Lock),
        ("mtx_timedlock", Primitive::Lock),
        ("mtx_unlock", Primitive::Lock),
        ("pthread_cond_", Primitive::Condition),
        ("cnd_", Primitive::Condition),
        ("pthread_barrier_", Primitive::Barrier),
        ("pthread_join", Primitive::Join),
        ("pthread_clockjoin", Primitive::Join),
        ("pthread_timedjoin", Primitive::Join),
        ("pthread_tryjoin", Primitive::Join),
        ("thrd_join", Primitive::Join),
    ],
    c_themes: &[(Theme::Creation, &["pthread_create", "thrd_create"])],
    carried: &[
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
        "qsort",
        "qsort_r",
        "memcpy",
        "memset",
        "memmove",
        "syscall",
        "clone",
        "clone3",
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
    ],
    // Names reserved for the implementation.
    carried_prefixes: &["__", "pthread_"],
    program_start: Some("main"),
    thread_starts: &["clone", "clone3", "start", "main"],
    syscall_wrappers: &["syscall"],
    futex_wrappers: &["futex", "sys_futex", "linux_futex"],
    semaphores: &["sem_wait", "sem_timedwait", "sem_clockwait"],
    wakers: &["pthread_cond_signal", "pthread_cond_broadcast", "cnd_signal", "cnd_broadcast"],
    spin_locks: &["pthread_spin_"],
    ..Names::NONE
};
