//! Mono: the virtual machine of .NET that most distributions have. Its own functions have no names; methods that it
//! compiles at run time have them where it writes a map file. The class library is compiled ahead.

use super::dotnet;
use crate::runtimes::function_name::FunctionName;
use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::{CallStack, Called, Primitive, Service, Theme};

/// Mono.
pub(crate) struct Mono;

impl Runtime for Mono {
    fn names(&self) -> &'static Names {
        &NAMES
    }

    fn collects_garbage(&self, module: &str) -> bool {
        is_machine(module)
    }

    /// Code that the virtual machine makes for calls between its parts (mini-trampolines.c, marshal.c), and for
    /// allocating: such names have no class.
    fn is_stub(&self, name: &str) -> bool {
        let allocates = || ALLOCATORS.iter().any(|allocator| name.ends_with(allocator)) && !name.contains(['.', ':']);
        name.starts_with("runtime_invoke_") || name.contains("_trampoline") || allocates()
    }

    /// Threads wait in functions without names. The outermost method of the class library says what for.
    fn primitive_behind(&self, stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        let before = stack.in_library();
        if !before.iter().any(|c| is_machine(c.module)) {
            return None;
        }
        // The waits of a monitor and of everything that is built of it are calls of the machine.
        if before.iter().any(|c| c.name.ends_with("Monitor.Monitor_wait")) {
            return Some(Some(Primitive::Condition));
        }
        before.iter().rev().find_map(by_class).map(Some)
    }
}

/// What a method of the class library waits for. Methods compiled ahead have underscores where their sources have dots.
fn by_class(called: &Called<'_>) -> Option<Primitive> {
    let of = |name: &str| dotnet::NAMES.primitive_by_class(&FunctionName::new(name));
    if called.module.ends_with(".dll.so") { of(&called.name.replace('_', ".")) } else { of(called.name) }
}

/// True for the virtual machine's own module, which mostly is the program that is run.
fn is_machine(module: &str) -> bool {
    module == "mono" || module.starts_with("mono-") || module.starts_with("libmonosgen-")
}

/// How the functions are called that Mono compiles for allocating (sgen-mono.c).
const ALLOCATORS: [&str; 3] = ["AllocSmall", "AllocVector", "AllocString"];

static NAMES: Names = Names {
    // In which compiled code stops for a collection, and comes again and again until all threads have stopped
    // (mono-threads-coop.c); in which it allocates, and collects where the nursery is full (sgen-mono.c).
    c_themes: &[(Theme::Allocator, &["mono_threads_state_poll"])],
    c_theme_prefixes: &[(Theme::Allocator, &["mono_gc_alloc_"])],
    c_primitives: &[("mono_monitor_enter", Primitive::Lock), ("mono_monitor_try_enter", Primitive::Lock)],
    service_threads: &[
        ("SGen worker", Service::Collector),
        ("Finalizer", Service::Other),
        ("Timer-Scheduler", Service::Other),
    ],
    own_modules: &["mono", "mono-*", "libmonosgen-*", "libmono-*", "Mono.*"],
    ..Names::NONE
};
