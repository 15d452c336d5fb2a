//! The table that a runtime fills with its names, and the look-ups in it.

use super::function_name::FunctionName;
use super::types::{CollectorSettings, Primitive, Scheduler, Service, Theme, WorkerPool};

/// What the names of a runtime's functions tell. All lists are constant; a runtime leaves out what it does not have.
#[derive(Debug)]
pub(super) struct Names {
    /// Starts of the paths of its functions.
    pub paths: &'static [&'static str],
    /// Primitives by the start of a C name, without leading underscores.
    pub c_primitives: &'static [(&'static str, Primitive)],
    /// Primitives by a part of a path, for functions in `paths`. The first part that fits decides.
    pub path_primitives: &'static [(&'static str, Primitive)],
    /// Functions that are a primitive's for one type only: the beginning of their names with the type.
    pub typed_primitives: &'static [(&'static str, Primitive)],
    /// Primitives by a part of a path, for functions in these packages of a class library whose classes build on each
    /// other.
    pub class_packages: &'static [&'static str],
    pub class_primitives: &'static [(&'static str, Primitive)],
    /// Themes by whole C names, without leading underscores.
    pub c_themes: &'static [(Theme, &'static [&'static str])],
    /// Themes by the start of a C name.
    pub c_theme_prefixes: &'static [(Theme, &'static [&'static str])],
    /// Themes by the start of a path.
    pub path_themes: &'static [(Theme, &'static [&'static str])],
    /// Themes by the start of a path that has a class in it.
    pub class_themes: &'static [(Theme, &'static [&'static str])],
    /// C functions that are the library's even in a static binary, without leading underscores.
    pub carried: &'static [&'static str],
    /// The same by the start of the name, with or without underscores.
    pub carried_prefixes: &'static [&'static str],
    /// Functions in which threads start, by whole C names without leading underscores.
    pub thread_starts: &'static [&'static str],
    /// The same by the start of the whole name.
    pub thread_start_prefixes: &'static [&'static str],
    /// Starts of the functions in which its own threads wait to be called.
    pub service_loops: &'static [&'static str],
    /// Starts of the names of its own threads, as the kernel keeps them (at most 15 bytes), and what these threads do.
    pub service_threads: &'static [(&'static str, Service)],
    /// The same by the start of the name of the function that the thread started in.
    pub service_starts: &'static [(&'static str, Service)],
    /// Programs that only start others, such as shells.
    pub launchers: &'static [&'static str],
    /// Garbage collectors: a part of their functions' names, what they are called, and what to try against their
    /// pauses.
    pub collectors: &'static [(&'static str, &'static str, &'static str)],
    /// The settings of its garbage collector.
    pub collector_settings: Option<&'static CollectorSettings>,
    /// Starts of the functions in which a worker without a task waits; workers wake each other.
    pub idle_workers: &'static [&'static str],
    /// Those of them whose tasks keep their thread until they end: while one is idle, no task waits.
    pub job_workers: &'static [&'static str],
    /// Starts of the functions that run a task on a thread which other tasks want, too.
    pub task_runners: &'static [&'static str],
    /// Starts of the functions below which a task may keep its thread: others have more of them.
    pub blocking_allowed: &'static [&'static str],
    /// Ends of the names of the functions that take something from a queue.
    pub queue_takers: &'static [&'static str],
    /// Ends of the names of the functions in which a thread pauses for a time, or until another one lets it go on.
    pub timed_parks: &'static [&'static str],
    /// Functions in which the threads of a pool do what the program has handed in: how their names begin.
    pub worker_pools: &'static [(&'static [&'static str], &'static WorkerPool)],
    /// The C function that each program has of its own, whatever libraries it contains.
    pub program_start: Option<&'static str>,
    /// The function of a program's first task.
    pub first_task: Option<&'static str>,
    /// Its task scheduler.
    pub scheduler: Option<&'static Scheduler>,
    /// C functions, without leading underscores, that make any system call.
    pub syscall_wrappers: &'static [&'static str],
    /// Starts of the usual names, without leading underscores, of a program's own wrapper of the futex call.
    pub futex_wrappers: &'static [&'static str],
    /// Starts of the functions that wait for a semaphore or post it, without leading underscores.
    pub semaphores: &'static [&'static str],
    /// Starts of the functions that wake who waits at a condition, without leading underscores. They may wait themselves.
    pub wakers: &'static [&'static str],
    /// Starts of the functions of spin locks, without leading underscores.
    pub spin_locks: &'static [&'static str],
    /// Starts of the functions through which programs call everything in its modules: they are never responsible.
    pub borders: &'static [&'static str],
    /// Starts of the file names of its modules, for C libraries.
    pub modules: &'static [&'static str],
    /// File names of its other modules: code in them is never the program's own. A `*` at the end stands for any rest.
    pub own_modules: &'static [&'static str],
    /// What modules without function names do, by file name as above.
    pub module_themes: &'static [(Theme, &'static [&'static str])],
    /// Starts of the paths of its library's sources, as compilers record them.
    pub sources: &'static [&'static str],
    /// Parts of the paths of such sources, for what users may install anywhere.
    pub source_folders: &'static [&'static str],
}

impl Names {
    /// A table without names, to start from.
    pub(super) const NONE: Names = Names {
        paths: &[],
        c_primitives: &[],
        path_primitives: &[],
        typed_primitives: &[],
        class_packages: &[],
        class_primitives: &[],
        c_themes: &[],
        c_theme_prefixes: &[],
        path_themes: &[],
        class_themes: &[],
        carried: &[],
        carried_prefixes: &[],
        thread_starts: &[],
        thread_start_prefixes: &[],
        service_loops: &[],
        service_threads: &[],
        service_starts: &[],
        launchers: &[],
        collectors: &[],
        collector_settings: None,
        idle_workers: &[],
        job_workers: &[],
        task_runners: &[],
        blocking_allowed: &[],
        queue_takers: &[],
        timed_parks: &[],
        worker_pools: &[],
        program_start: None,
        first_task: None,
        scheduler: None,
        syscall_wrappers: &[],
        futex_wrappers: &[],
        semaphores: &[],
        wakers: &[],
        spin_locks: &[],
        borders: &[],
        modules: &[],
        own_modules: &[],
        module_themes: &[],
        sources: &[],
        source_folders: &[],
    };

    /// True when a path is this runtime's.
    pub(super) fn has_path(&self, path: &str) -> bool {
        self.paths.iter().any(|start| path.starts_with(start))
    }

    /// The primitive of a function with a path. Only the path counts, because a closure's or a parameter's type may carry
    /// any name; for a few functions of the runtime itself, the type decides.
    pub(super) fn primitive_by_path(&self, function: &FunctionName<'_>) -> Option<Primitive> {
        if self.path_primitives.is_empty() || !function.has_path || !function.paths.iter().any(|p| self.has_path(p)) {
            return None;
        }
        let found = self.path_primitives.iter().find(|(part, _)| function.paths.iter().any(|p| p.contains(part)));
        let typed = || self.typed_primitives.iter().find(|(start, _)| function.name.contains(start));
        found.or_else(typed).map(|(_, primitive)| *primitive)
    }

    /// The primitive of a C function.
    pub(super) fn primitive_by_prefix(&self, function: &FunctionName<'_>) -> Option<Primitive> {
        let found = self.c_primitives.iter().find(|(prefix, _)| function.c_name.starts_with(prefix));
        found.map(|(_, primitive)| *primitive)
    }

    /// The primitive that a method of a class library is or uses.
    pub(super) fn primitive_by_class(&self, function: &FunctionName<'_>) -> Option<Primitive> {
        let in_package = |path: &&String| self.class_packages.iter().any(|package| path.starts_with(package));
        let method = function.paths.iter().find(in_package)?;
        let found = self.class_primitives.iter().find(|(part, _)| method.contains(part));
        found.map(|(_, primitive)| *primitive)
    }

    /// What a function is busy with.
    pub(super) fn theme(&self, function: &FunctionName<'_>) -> Option<Theme> {
        let c = function.c_name;
        if !c.contains([':', '.', ' ', '(']) {
            let whole = self.c_themes.iter().find(|(_, names)| names.contains(&c));
            let prefix = || self.c_theme_prefixes.iter().find(|(_, starts)| starts.iter().any(|s| c.starts_with(s)));
            return whole.or_else(prefix).map(|(theme, _)| *theme);
        }
        // `operator new` has a blank in its name, which paths lose; so the whole name is compared.
        let named = |start: &&str| start.contains(' ') && function.name.starts_with(*start);
        let starts = |start: &&str| named(start) || function.paths.iter().any(|p| p.starts_with(*start));
        let path = self.path_themes.iter().find(|(_, list)| list.iter().any(starts));
        let class = || self.class_themes.iter().find(|(_, list)| list.iter().any(starts));
        let found = path.or_else(|| if function.name.contains("::") { class() } else { None });
        found.map(|(theme, _)| *theme)
    }

    /// True for a library's function that may be linked into the program.
    pub(super) fn is_carried(&self, function: &FunctionName<'_>) -> bool {
        let starts = |start: &&str| function.name.starts_with(*start) || function.c_name.starts_with(*start);
        self.carried.contains(&function.c_name) || self.carried_prefixes.iter().any(starts)
    }

    /// True for a module of this runtime.
    pub(super) fn has_module(&self, file: &str) -> bool {
        fits(self.own_modules, file) || self.launchers.contains(&file)
    }

    /// What a module does as a whole.
    pub(super) fn module_theme(&self, file: &str) -> Option<Theme> {
        self.module_themes.iter().find(|(_, modules)| fits(modules, file)).map(|(theme, _)| *theme)
    }

    /// True where a source file is this runtime's.
    pub(super) fn has_source(&self, file: &str) -> bool {
        self.sources.iter().any(|start| file.starts_with(start)) || self.has_package(file)
    }

    /// True where a source file is one of a package's that programs are built with.
    pub(super) fn has_package(&self, file: &str) -> bool {
        self.source_folders.iter().any(|folder| file.contains(folder))
    }

    /// True for a function in which threads start.
    pub(super) fn is_thread_start(&self, name: &str, c_name: &str) -> bool {
        self.thread_starts.contains(&c_name) || self.thread_start_prefixes.iter().any(|p| name.starts_with(p))
    }
}

/// True for a file name in a list, where `*` at the end stands for any rest.
fn fits(list: &[&str], file: &str) -> bool {
    list.iter().any(|name| name.strip_suffix('*').map_or(file == *name, |start| file.starts_with(start)))
}
