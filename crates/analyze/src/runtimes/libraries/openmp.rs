//! OpenMP's runtimes: GCC's libgomp, LLVM's libomp, Intel's libiomp5.
//!
//! Their teams wait for the slowest member and for the next parallel part. Distributions ship no symbols for the
//! internal functions, so a stack is judged by its module and by the functions that have names.

use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::{CallStack, Called, Primitive};

/// OpenMP.
pub(crate) struct OpenMp;

impl Runtime for OpenMp {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    /// Taking the next share of a loop is no wait. Anything else is a lock where names say so, else a barrier.
    fn primitive_without_name(&self, stack: &CallStack<'_>) -> Option<Primitive> {
        let mut runtime = stack.in_library().iter().filter(|c| is_module(c.module)).peekable();
        runtime.peek()?;
        let names: Vec<&str> = runtime.map(|c| c.name).filter(|name| !name.is_empty()).collect();
        let named = |parts: &[&str]| names.iter().any(|n| parts.iter().any(|p| n.contains(p)));
        match () {
            () if names.iter().copied().any(is_lock) || names.is_empty() && stack.at_lock_call => Some(Primitive::Lock),
            () if named(&SHARES) && !named(&["thread_start"]) => None,
            () => Some(Primitive::Barrier),
        }
    }

    fn takes_lock(&self, called: Called<'_>) -> bool {
        is_module(called.module) && is_lock(called.name)
    }
}

/// Functions that hand out shares of loops and tasks, or memory.
const SHARES: [&str; 6] = ["_next", "_start", "_dispatch", "GOMP_task", "omp_task", "malloc"];

fn is_module(file: &str) -> bool {
    ["libgomp.so", "libomp.so", "libiomp5.so"].iter().any(|name| file.starts_with(name))
}

/// True for the functions with which a team takes and releases locks.
fn is_lock(name: &str) -> bool {
    ["_critical", "set_lock", "set_nest_lock", "GOMP_atomic", "GOMP_ordered"].iter().any(|part| name.contains(part))
}

static NAMES: Names = Names {
    c_primitives: &[
        ("gomp_mutex_", Primitive::Lock),
        ("GOMP_critical_", Primitive::Lock),
        ("kmpc_critical", Primitive::Lock),
        ("gomp_barrier_wait", Primitive::Barrier),
        ("gomp_team_barrier_wait", Primitive::Barrier),
        ("GOMP_barrier", Primitive::Barrier),
        ("GOMP_parallel", Primitive::Barrier),
        ("GOMP_loop_end", Primitive::Barrier),
        ("GOMP_sections_end", Primitive::Barrier),
        ("GOMP_taskgroup_end", Primitive::Barrier),
        ("kmpc_fork_call", Primitive::Barrier),
        ("kmpc_barrier", Primitive::Barrier),
    ],
    ..Names::NONE
};
