//! Whose code a frame is: the program's own, a library's, or the kernel's.

use crate::answer::Site;
use crate::runtimes::function_name::{FunctionName, readable};
use crate::runtimes::user::{self, UserFunctions};
use crate::runtimes::{self, Primitive, Theme};
use recording::tables::{Frame, Module, ModuleKind};

/// Folders where systems keep libraries that are not the user's own.
const SYSTEM_FOLDERS: &[&str] = &[
    "/lib/",
    "/lib64/",
    "/lib32/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/lib32/",
    "/usr/libexec/",
    "/nix/store/",
    "/snap/",
];

/// Where systems keep sources that are not the user's own, also below another root. Of `/usr/src` only what distributions
/// put there: images of containers keep the user's program in `/usr/src/app`.
const SYSTEM_SOURCES: &[&str] = &["/usr/include/", "/usr/lib/gcc/", "/usr/src/debug/", "/usr/src/linux"];

/// Who is responsible for a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The program's author.
    Own,
    /// A library or a language's run-time.
    Library,
    /// The kernel, its pages in user space, or unknown.
    System,
}

/// What is known about the file of the program itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProgramFile {
    /// It is a static binary that contains the C library.
    pub carries_c_library: bool,
    /// It has line tables, or the code that a virtual machine made of it has lines.
    pub has_lines: bool,
    /// Functions of its own file have lines that are in no library's source.
    pub own_lines: bool,
}

impl ProgramFile {
    /// True where the program has lines and a shared library of it has none (`lines`: whether it has).
    ///
    /// Decides: whether a library outside the system's folders is somebody else's: its functions are then called by the
    /// program's own code, and are not that code.
    /// From: reasoned, not measured: who builds a program with line tables builds libraries of their own with them, too,
    /// while libraries are published without. A private copy of RE2 showed the need, and SQLite inside of a Java package.
    /// Shown by: `a_library_without_lines_is_not_of_a_program_that_has_them`,
    /// `native_code_without_lines_is_a_library_s_where_methods_have_lines`.
    /// Wrong if: a program's own library is built without lines: its locks are told at the program's line that calls it.
    fn alone_has_lines(self, lines: bool) -> bool {
        self.has_lines && !lines
    }

    /// True where a named function of the program's file has no line although the program's own functions have (`file`: its
    /// source, `start`: it starts a program).
    ///
    /// Decides: whether a function is of a library that was linked into the program: it is then called by the program's own
    /// code, and is not that code.
    /// From: reasoned, not measured: who builds a program with line tables builds all of its files so, while libraries are
    /// published without. RE2, linked statically, showed the need.
    /// Shown by: `a_function_without_lines_in_a_program_that_has_them_is_a_library_s`.
    /// Wrong if: some files of a program are built without lines: their locks are told at the caller that has some.
    fn links_library(self, file: Option<&str>, start: bool) -> bool {
        self.own_lines && file.is_none() && !start
    }
}

/// True for a source of a runtime, or of a library that the system installed.
pub(super) fn is_foreign_source(file: &str) -> bool {
    SYSTEM_SOURCES.iter().any(|source| file.contains(source)) || runtimes::is_runtime_source(file)
}

/// What is known about a function by its name. A recording has many more frames than names.
#[derive(Debug, Clone, Copy)]
pub struct FunctionFacts {
    primitive: Option<Primitive>,
    theme: Option<Theme>,
    /// A runtime's, or one of which the user said what it is.
    runtime: bool,
    c_library: bool,
    /// It starts a program.
    start: bool,
    stub: bool,
    role: Role,
}

impl FunctionFacts {
    /// Judges a name. `user`: what the user said about functions, which overrides what their names tell.
    pub fn new(name: &str, user: &UserFunctions) -> FunctionFacts {
        let function = FunctionName::new(name);
        let said = user.kind(&function);
        let primitive = said.map_or_else(|| runtimes::primitive(&function), user::primitive);
        let theme = if said.is_none() { runtimes::theme(&function) } else { None };
        FunctionFacts {
            primitive,
            theme,
            runtime: said.is_some() || primitive.is_some() || theme.is_some() || runtimes::is_runtime(&function),
            c_library: runtimes::is_c_library(&function),
            start: runtimes::is_program_start(name),
            stub: runtimes::is_stub(name),
            role: Role::of_name(name),
        }
    }
}

/// One function in a stack, with what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Code<'t> {
    /// The frame.
    pub frame: &'t Frame,
    /// Path of its module, or empty when the recording does not say.
    pub module: &'t str,
    /// File name of its module.
    pub module_file: &'t str,
    /// What kind of module.
    pub kind: ModuleKind,
    /// Whose it is.
    pub owner: Owner,
    /// Which synchronisation primitive it is, by its name.
    pub primitive: Option<Primitive>,
    /// What it is for, by its name.
    pub theme: Option<Theme>,
    /// True for code that a virtual machine generated and that belongs to no function of the program.
    pub stub: bool,
    /// True in an interpreter's file.
    pub interpreter: bool,
    /// What an executor's or a virtual machine's threads do there, by its name.
    pub role: Role,
}

/// What threads of an executor or a virtual machine do in a function.
#[derive(Debug, Clone, Copy, Default)]
pub struct Role {
    /// The virtual machine's own loop that waits to be called.
    pub service_loop: bool,
    /// It wakes other threads.
    pub wakes: bool,
    /// A worker without a task.
    pub without_task: bool,
    /// The same, of an executor whose tasks keep their thread until they end.
    pub without_job: bool,
}

impl Role {
    fn of_name(name: &str) -> Role {
        Role {
            service_loop: runtimes::is_service_loop(name),
            wakes: runtimes::is_waker(name),
            without_task: runtimes::is_worker_without_task(name),
            without_job: runtimes::is_worker_without_job(name),
        }
    }
}

impl<'t> Code<'t> {
    /// Judges a frame. `named`: what is known of its function by the name.
    pub fn new(
        frame: &'t Frame,
        module: Option<&'t Module>,
        named: Option<&FunctionFacts>,
        program: ProgramFile,
    ) -> Code<'t> {
        let (path, kind) = module.map_or(("", ModuleKind::Anonymous), |m| (m.path.as_str(), m.kind));
        let module_file = file_name(path);
        let lines = module.is_some_and(|m| m.has_lines);
        let theme = named.and_then(|f| f.theme).or_else(|| runtimes::module_theme(module_file));
        let runtime = frame.file.as_deref().is_some_and(is_foreign_source)
            || theme.is_some()
            || runtimes::is_runtime_module(module_file)
            || named.is_some_and(|f| f.runtime);
        let stub = named.is_some_and(|f| f.stub);
        let carried = |f: &FunctionFacts| f.c_library || (lines && !f.start);
        let linked = |f: &FunctionFacts| program.links_library(frame.file.as_deref(), f.start);
        let inside = program.carries_c_library && frame.file.is_none();
        let owner = match kind {
            ModuleKind::Kernel | ModuleKind::Vdso => Owner::System,
            // Code made at run time that has a name is the program's: a just-in-time compiler named it.
            ModuleKind::Anonymous if named.is_none() || stub => Owner::System,
            ModuleKind::Library if SYSTEM_FOLDERS.iter().any(|f| path.starts_with(f)) => Owner::Library,
            ModuleKind::Library if runtimes::is_runtime_source(path) => Owner::Library,
            ModuleKind::Library if frame.file.is_none() && program.alone_has_lines(lines) => Owner::Library,
            _ if runtime => Owner::Library,
            // In a static binary with line tables, functions with a name but no lines are the C library's.
            ModuleKind::Program if inside && named.is_some_and(carried) => Owner::Library,
            ModuleKind::Program if named.is_some_and(linked) => Owner::Library,
            _ => Owner::Own,
        };
        Code {
            frame,
            module: path,
            module_file,
            kind,
            owner,
            primitive: named.and_then(|f| f.primitive),
            theme,
            stub,
            interpreter: runtimes::is_interpreter(module_file),
            role: named.map(|f| f.role).unwrap_or_default(),
        }
    }

    /// The function's name.
    pub fn name(&self) -> Option<&'t str> {
        self.frame.function.as_deref()
    }

    /// The function by module and name.
    pub fn function(&self) -> (&'t str, Option<&'t str>) {
        (self.module, self.name())
    }

    /// What it is called in an answer.
    pub fn site(&self) -> Site {
        Site {
            function: self.frame.function.clone(),
            module: self.module_file.to_owned(),
            file: self.frame.file.as_deref().map(|f| file_name(f).to_owned()),
            path: self.frame.file.clone().filter(|f| f.contains('/')),
            relative: None,
            line: self.frame.line,
            // The address of a method made at run time says nothing: it differs from run to run.
            address: match (self.kind, &self.frame.function) {
                (ModuleKind::Anonymous, Some(_)) => String::new(),
                _ => format!("{:#x}", self.frame.address),
            },
        }
    }
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A site in words: `simulate (birthday.c:41)`, or its module and address where there is no symbol.
pub fn place(site: &Site) -> String {
    let name = match &site.function {
        Some(function) => readable(function),
        None if site.address.is_empty() => site.module.clone(),
        None => format!("{}+{}", site.module, site.address),
    };
    match (&site.file, site.line) {
        (Some(file), Some(line)) => format!("{name} ({file}:{line})"),
        (Some(file), None) => format!("{name} ({file})"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{FrameId, ModuleId};

    fn frame(name: Option<&str>, file: Option<&str>) -> Frame {
        Frame {
            frame: FrameId(0),
            depth: 0,
            module: ModuleId(0),
            address: 16,
            function: name.map(str::to_owned),
            file: file.map(str::to_owned),
            line: None,
        }
    }

    fn facts(frame: &Frame) -> Option<FunctionFacts> {
        frame.function.as_deref().map(|name| FunctionFacts::new(name, &UserFunctions::default()))
    }

    fn owner(kind: ModuleKind, path: &str, name: Option<&str>, file: Option<&str>, carries_c_library: bool) -> Owner {
        owner_in(kind, path, name, file, ProgramFile { carries_c_library, ..ProgramFile::default() })
    }

    fn owner_in(kind: ModuleKind, path: &str, name: Option<&str>, file: Option<&str>, program: ProgramFile) -> Owner {
        let module = Module {
            module: ModuleId(0),
            kind,
            path: path.to_owned(),
            has_lines: file.is_some() || program.carries_c_library,
        };
        let frame = frame(name, file);
        Code::new(&frame, Some(&module), facts(&frame).as_ref(), program).owner
    }

    #[test]
    fn owners() {
        use ModuleKind::{Anonymous, Kernel, Library, Program};
        let own = [
            owner(Program, "/home/u/app", Some("work"), Some("/home/u/app.c"), false),
            owner(Program, "/home/u/app", None, None, false),
            owner(Program, "/home/u/app", Some("work"), None, false),
            owner(Program, "/home/u/app", Some("work"), Some("app.c"), true),
            owner(Library, "/home/u/libmine.so", Some("work"), None, false),
            owner(Library, "/opt/x/libmine.so", None, None, false),
            owner(Anonymous, "", Some("LFoo;bar"), None, false),
            owner(Program, "/usr/src/app/target/app", Some("work"), Some("/usr/src/app/src/main.rs"), false),
        ];
        assert_eq!(own, [Owner::Own; 8]);
        let library = [
            owner(Library, "/usr/lib/x86_64-linux-gnu/libc.so.6", Some("random"), None, false),
            owner(Library, "/lib/libz.so", None, None, false),
            owner(Program, "/home/u/app", Some("core::ptr::drop_in_place<app::X>"), Some("/rustc/1/x.rs"), false),
            owner(Program, "/home/u/app", Some("helper"), Some("/usr/include/c++/12/mutex"), false),
            owner(Program, "/home/u/app", Some("Apply"), Some("/home/u/root/usr/include/re2/re2.h"), false),
            owner(Program, "/home/u/app", Some("round"), Some("/usr/src/debug/glibc-2.36/math/round.c"), false),
            owner(Program, "/home/u/app", Some("random"), None, true),
            owner(Program, "/home/u/app", Some("msort_with_tmp"), None, true),
            owner(
                Program,
                "/home/u/app",
                Some("r2d2::Pool<M>::get"),
                Some("/home/u/.cargo/registry/src/i-1/r2d2-0.8/src/lib.rs"),
                false,
            ),
            owner(
                Program,
                "/home/u/app",
                Some("github.com/x/y.(*P).Get"),
                Some("github.com/x/y@v1.2.3/pool.go"),
                false,
            ),
            owner(Program, "/home/u/app", Some("json::parse"), Some("/home/u/build/_deps/json-src/json.hpp"), false),
            owner(Library, "/home/u/venv/lib/python3.11/site-packages/x.so", Some("parse"), None, false),
        ];
        assert_eq!(library, [Owner::Library; 12]);
        assert_eq!(owner(Kernel, "kernel", Some("futex_wait"), None, false), Owner::System);
        assert_eq!(owner(Anonymous, "", None, None, false), Owner::System);
    }

    #[test]
    fn a_library_without_lines_is_not_of_a_program_that_has_them() {
        let of = |has_lines, file| {
            let program = ProgramFile { has_lines, ..ProgramFile::default() };
            owner_in(ModuleKind::Library, "/home/u/deps/libre2.so.9", Some("Match"), file, program)
        };
        assert_eq!(of(true, None), Owner::Library);
        assert_eq!(of(true, Some("/home/u/plugin.cc")), Owner::Own, "near miss: it has lines as well");
        assert_eq!(of(false, None), Owner::Own, "near miss: neither has lines, so nothing tells whose it is");
    }

    #[test]
    fn a_function_without_lines_in_a_program_that_has_them_is_a_library_s() {
        let of = |name, file, own_lines| {
            let program = ProgramFile { has_lines: true, own_lines, ..ProgramFile::default() };
            owner_in(ModuleKind::Program, "/home/u/app", Some(name), file, program)
        };
        assert_eq!(of("re2::RE2::Set::Match", None, true), Owner::Library);
        assert_eq!(of("Tagger::Tag", Some("/home/u/app.cc"), true), Owner::Own, "near miss: it has a line");
        assert_eq!(of("main", None, true), Owner::Own, "near miss: where a program starts");
        // Near miss: the lines are those of Rust's library, and the program itself was built without.
        assert_eq!(of("app::work", None, false), Owner::Own);
    }

    #[test]
    fn a_method_made_at_run_time_has_no_address_that_says_anything() {
        let address = |kind, name: Option<&str>| {
            let module = Module { module: ModuleId(0), kind, path: "x".to_owned(), has_lines: false };
            let frame = frame(name, None);
            Code::new(&frame, Some(&module), facts(&frame).as_ref(), ProgramFile::default()).site().address
        };
        assert_eq!(address(ModuleKind::Anonymous, Some("Shop.sell")), "");
        assert_eq!(address(ModuleKind::Anonymous, None), "0x10");
        assert_eq!(address(ModuleKind::Program, Some("sell")), "0x10");
    }

    #[test]
    fn places_in_words() {
        let mut site = Site {
            function: Some("work".into()),
            module: "app".into(),
            file: Some("app.c".into()),
            path: None,
            relative: None,
            line: Some(7),
            address: "0x10".into(),
        };
        assert_eq!(place(&site), "work (app.c:7)");
        (site.function, site.file) = (None, None);
        assert_eq!(place(&site), "app+0x10");
    }
}
