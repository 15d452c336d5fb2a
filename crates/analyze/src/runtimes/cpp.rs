//! C++: its standard libraries (libstdc++, libc++), Abseil, Boost and other libraries compiled into programs.

use super::names::Names;
use super::runtime::Runtime;
use super::types::{Primitive, Theme};

/// C++.
pub(super) struct Cpp;

impl Runtime for Cpp {
    fn names(&self) -> &'static Names {
        &NAMES
    }
}

static NAMES: Names = Names {
    semaphores: &["std::counting_semaphore<"],
    paths: &[
        "std::",
        "__gnu_cxx::",
        "__cxxabiv1::",
        "absl::",
        "boost::",
        "asio::",
        "folly::",
        "tbb::",
        "fmt::",
        "spdlog::",
    ],
    c_primitives: &[("gthread_mutex_", Primitive::Lock)],
    path_primitives: &[
        ("std::mutex::", Primitive::Lock),
        ("std::timed_mutex::", Primitive::Lock),
        ("std::recursive_mutex::", Primitive::Lock),
        ("std::shared_mutex::", Primitive::Lock),
        ("std::shared_timed_mutex::", Primitive::Lock),
        ("std::unique_lock", Primitive::Lock),
        ("std::shared_lock", Primitive::Lock),
        ("std::lock_guard", Primitive::Lock),
        ("std::scoped_lock", Primitive::Lock),
        ("Mutex::LockSlow", Primitive::Lock),
        ("SpinLock::SlowLock", Primitive::Lock),
        ("boost::detail::spinlock::", Primitive::Lock),
        ("MicroSpinLock::", Primitive::Lock),
        ("spin_mutex::", Primitive::Lock),
        ("condition_variable", Primitive::Condition),
        ("CondVar::", Primitive::Condition),
        ("std::barrier", Primitive::Barrier),
        ("std::__tree_barrier::", Primitive::Barrier),
        ("std::__1::barrier::", Primitive::Barrier),
        ("boost::barrier::", Primitive::Barrier),
        ("absl::Barrier::", Primitive::Barrier),
        ("std::thread::join", Primitive::Join),
    ],
    // libstdc++ waits for whatever has changed in one function; the type that changes says what it is.
    typed_primitives: &[("std::__atomic_wait_address<std::__barrier_phase_t,", Primitive::Barrier)],
    idle_workers: &[
        "tbb::detail::r1::",
        "boost::asio::detail::scheduler::do_run_one",
        "asio::detail::scheduler::do_run_one",
    ],
    // `operator new` and `operator delete`, mangled and demangled.
    c_themes: &[(Theme::Allocator, &["Znwm", "Znam", "ZdlPv", "ZdaPv", "ZdlPvm", "ZdaPvm"])],
    path_themes: &[(Theme::Allocator, &["operator new", "operator delete"])],
    sources: &["/usr/local/include/", "/opt/homebrew/include/"],
    // Where package managers and build tools put third-party sources (CMake's FetchContent, vcpkg, Conan), and the
    // usual names of a project's folder of third-party code.
    source_folders: &[
        "/_deps/",
        "/vcpkg_installed/",
        "/.conan/",
        "/.conan2/",
        "/third_party/",
        "/third-party/",
        "/3rdparty/",
        "/vendor/",
    ],
    ..Names::NONE
};
