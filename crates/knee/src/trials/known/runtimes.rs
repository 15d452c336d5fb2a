//! Settings of runtimes and libraries: OpenMP, BLAS, Go, Java, Python.

use crate::trials::{Change, Keep, Needs, Trial};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;

/// The OpenMP specification's OMP_WAIT_POLICY; LLVM's and Intel's runtimes have their own variable, the time to spin.
pub(super) const PASSIVE: Trial = Trial {
    id: "openmp-passive",
    title: "OpenMP threads that sleep, not spin",
    changes: &[
        Change::Variable { name: "OMP_WAIT_POLICY", value: "passive", join: None },
        Change::Variable { name: "KMP_BLOCKTIME", value: "0", join: None },
    ],
    aims: &[(CauseId::SPIN_WAIT, Aim::Eases), (CauseId::OVERSUBSCRIPTION, Aim::Eases)],
    only_in: &[],
    needs: Needs::OpenMp,
    proves: "threads that spin while they wait for work take processors from threads that have some",
    limits: "why they have none",
    keep: Keep::Setting,
};

/// The OpenMP specification's OMP_PROC_BIND.
pub(super) const BOUND: Trial = Trial {
    id: "openmp-bound",
    title: "OpenMP threads bound to processors",
    changes: &[
        Change::Variable { name: "OMP_PROC_BIND", value: "true", join: None },
        Change::Variable { name: "OMP_PLACES", value: "threads", join: None },
    ],
    aims: &[(CauseId::MEMORY_BOUND, Aim::EasesSeveral), (CauseId::IMBALANCE, Aim::EasesSeveral)],
    only_in: &[],
    needs: Needs::OpenMp,
    proves: "moving threads between processors costs time",
    limits: "anything where other programs need the same processors",
    keep: Keep::Setting,
};

pub(super) const BLAS: Trial = Trial {
    id: "blas-one-thread",
    title: "one thread inside BLAS",
    changes: &[
        Change::Variable { name: "OPENBLAS_NUM_THREADS", value: "1", join: None },
        Change::Variable { name: "MKL_NUM_THREADS", value: "1", join: None },
        Change::Variable { name: "BLIS_NUM_THREADS", value: "1", join: None },
    ],
    aims: &[
        (CauseId::OVERSUBSCRIPTION, Aim::Eases),
        (CauseId::SPIN_WAIT, Aim::Eases),
        (CauseId::CONDITION_WAIT, Aim::EasesSeveral),
    ],
    only_in: &[],
    needs: Needs::Blas,
    proves: "the library's threads compete with the program's own",
    limits: "how fast one large product would be with all processors",
    keep: Keep::Setting,
};

/// runtime package, "Environment Variables": the heap grows to five times the live memory before a collection, not twice.
pub(super) const GO_GC: Trial = Trial {
    id: "go-gc",
    title: "Go's collector at a quarter of its work",
    changes: &[Change::Variable { name: "GOGC", value: "400", join: None }],
    aims: &[(CauseId::SERIAL_PHASE, Aim::Eases), (CauseId::EXTRA_WORK, Aim::Eases), (CauseId::ALLOCATOR, Aim::Eases)],
    only_in: &[],
    needs: Needs::Go,
    proves: "garbage collection costs this much",
    limits: "which allocations make the garbage",
    keep: Keep::Setting,
};

pub(super) const PARALLEL_GC: Trial = Trial {
    id: "parallel-gc",
    title: "Java's parallel collector",
    changes: &[Change::Variable { name: "JAVA_TOOL_OPTIONS", value: "-XX:+UseParallelGC", join: Some(" ") }],
    aims: &[(CauseId::SERIAL_PHASE, Aim::Eases), (CauseId::EXTRA_WORK, Aim::EasesSeveral)],
    only_in: &[],
    needs: Needs::Java,
    proves: "the collector, and what it asks of the program's threads, costs this much",
    limits: "whether its pauses are short enough for a service",
    keep: Keep::Setting,
};

pub(super) const YOUNG: Trial = Trial {
    id: "java-young",
    title: "a large young generation",
    changes: &[Change::Variable {
        name: "JAVA_TOOL_OPTIONS",
        value: "-XX:NewSize=512m -XX:MaxNewSize=512m -Xms1g",
        join: Some(" "),
    }],
    aims: &[(CauseId::SERIAL_PHASE, Aim::Eases), (CauseId::EXTRA_WORK, Aim::EasesSeveral)],
    only_in: &[],
    needs: Needs::Java,
    proves: "the heap is collected too often for what the program allocates",
    limits: "which allocations make the garbage",
    keep: Keep::Setting,
};

/// Python's "Command line and environment": PYTHONMALLOC.
pub(super) const PYTHON_MALLOC: Trial = Trial {
    id: "python-malloc",
    title: "Python's objects in malloc",
    changes: &[Change::Variable { name: "PYTHONMALLOC", value: "malloc", join: None }],
    aims: &[(CauseId::KERNEL_LOCK, Aim::EasesSeveral), (CauseId::PAGE_FAULT, Aim::EasesSeveral)],
    only_in: &[],
    needs: Needs::Python,
    proves: "the arenas of Python's own allocator cost this much",
    limits: "which objects they hold",
    keep: Keep::Setting,
};
