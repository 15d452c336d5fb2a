//! Call stacks, resolved to code.

use super::code::{Code, FunctionFacts, Owner, ProgramFile, file_name, is_foreign_source};
use super::stack_view::{View, called, summed_up};
use crate::runtimes::user::UserFunctions;
use crate::runtimes::{self, OwnClasses, Primitive};
use recording::tables::{Frame, Module, ModuleKind, Stack};
use recording::{FrameId, ModuleId, QuickMap, StackId, Tables};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// How many frames of a stack are looked at, from the innermost outwards.
///
/// Decides: after how many frames a stack ends, even if it goes on.
/// From: chosen: deeper than the collector unwinds (256, `DEPTH_LIMIT` of `resolve::unwind`); also ends a cycle of
/// parents.
/// Shown by: `cycles_and_dangling_handles_end`.
/// Wrong if: a deep recursion has more than one inlined function in each of 256 frames: the outermost functions are not
/// seen.
pub const DEEPEST: usize = 512;

/// A function of the program itself, by its module and name.
pub type OwnFunction<'t> = (&'t str, &'t str);

/// All stacks of a recording.
#[derive(Debug)]
pub struct Stacks<'t> {
    pub(super) stacks: QuickMap<StackId, &'t Stack>,
    frames: QuickMap<FrameId, Vec<Code<'t>>>,
    views: RefCell<QuickMap<(StackId, bool), View<'t>>>,
    /// Frames that take or release a lock whose slow path is jumped to: it has the same return address as the named
    /// function.
    lock_calls: HashSet<FrameId>,
    /// Which classes are the program's own, if it has classes.
    classes: Option<OwnClasses>,
}

impl<'t> Stacks<'t> {
    /// Indexes stacks, frames and modules. Dangling handles are left out when stacks are read.
    pub fn new(tables: &'t Tables) -> Stacks<'t> {
        let modules: HashMap<ModuleId, &Module> = tables.modules.iter().map(|m| (m.module, m)).collect();
        let is_c_library =
            |m: &Module| m.kind == ModuleKind::Library && runtimes::is_c_library_module(file_name(&m.path));
        // A program of a virtual machine has its lines in the code that is made at run time.
        let made =
            |f: &Frame| f.file.is_some() && modules.get(&f.module).is_some_and(|m| m.kind == ModuleKind::Anonymous);
        let has_lines = tables.modules.iter().any(|m| m.kind == ModuleKind::Program && m.has_lines)
            || tables.frames.iter().any(made);
        let program =
            ProgramFile { carries_c_library: !tables.modules.iter().any(is_c_library), has_lines, own_lines: false };
        let own_line = |f: &&Frame| f.file.as_deref().is_some_and(|file| !is_foreign_source(file));
        let with_lines: HashSet<ModuleId> = tables.frames.iter().filter(own_line).map(|f| f.module).collect();
        let user = UserFunctions::new(&tables.meta.functions);
        let mut frames: QuickMap<FrameId, Vec<Code>> = QuickMap::default();
        let mut names: HashMap<&str, FunctionFacts> = HashMap::new();
        for frame in &tables.frames {
            let name = frame.function.as_deref();
            let named = name.map(|name| *names.entry(name).or_insert_with(|| FunctionFacts::new(name, &user)));
            let program = ProgramFile { own_lines: with_lines.contains(&frame.module), ..program };
            let code = Code::new(frame, modules.get(&frame.module).copied(), named.as_ref(), program);
            frames.entry(frame.frame).or_default().push(code);
        }
        for inlined in frames.values_mut() {
            inlined.sort_by_key(|c| c.frame.depth);
        }
        let stacks: QuickMap<StackId, &Stack> = tables.stacks.iter().map(|s| (s.stack, s)).collect();
        let takes_lock = |codes: &[Code]| codes.iter().any(|c| runtimes::takes_lock(called(c)));
        let taking: HashSet<FrameId> =
            frames.iter().filter(|(_, codes)| takes_lock(codes)).map(|(at, _)| *at).collect();
        let locks = tables.stacks.iter().filter(|row| taking.contains(&row.frame));
        let lock_calls = locks.filter_map(|row| stacks.get(&row.parent?)).map(|caller| caller.frame).collect();
        let methods = frames.values().flatten().filter(|c| is_method(c)).filter_map(Code::name);
        let classes = runtimes::own_classes(tables.modules.iter().map(|m| file_name(&m.path)), methods);
        Stacks { stacks, frames, views: RefCell::default(), lock_calls, classes }
    }

    /// From now on, these functions of the program count as the lock that they take or release.
    pub fn count_as_locks(&mut self, functions: &HashSet<OwnFunction<'t>>) {
        if functions.is_empty() {
            return;
        }
        let counts = |c: &&mut Code<'t>| c.name().is_some_and(|name| functions.contains(&(c.module, name)));
        for code in self.frames.values_mut().flatten().filter(counts) {
            (code.owner, code.primitive) = (Owner::Library, Some(Primitive::Lock));
        }
        self.views.get_mut().clear();
    }

    /// The functions of a stack, innermost first, inlined ones included; at most [`DEEPEST`].
    pub fn frames(&self, stack: StackId) -> Vec<Code<'t>> {
        let mut found = Vec::new();
        let mut next = Some(stack);
        for _ in 0..DEEPEST {
            let Some(row) = next.and_then(|s| self.stacks.get(&s)) else { break };
            found.extend(self.frames.get(&row.frame).into_iter().flatten().take(DEEPEST - found.len()));
            if found.len() >= DEEPEST {
                break;
            }
            next = row.parent;
        }
        behind_interpreter(&mut found);
        if let Some(classes) = &self.classes {
            around_own_classes(&mut found, classes);
        }
        found
    }

    /// True when unwinding broke off before the thread's start: callers are missing.
    pub fn is_cut(&self, stack: StackId) -> bool {
        let mut row = self.stacks.get(&stack);
        for _ in 0..DEEPEST {
            match row.and_then(|row| row.parent) {
                Some(parent) => row = self.stacks.get(&parent),
                None => break,
            }
        }
        row.is_some_and(|row| row.truncated)
    }

    /// The innermost code address of a stack.
    pub fn innermost(&self, stack: StackId) -> Option<FrameId> {
        self.stacks.get(&stack).map(|row| row.frame)
    }

    /// The functions at a code address, the innermost first.
    pub fn code(&self, frame: FrameId) -> &[Code<'t>] {
        self.frames.get(&frame).map(Vec::as_slice).unwrap_or_default()
    }

    /// What a stack says. `in_call`: the thread was in a system call, so the innermost frame made it.
    pub fn view(&self, stack: Option<StackId>, in_call: bool) -> View<'t> {
        let Some(stack) = stack else { return View::default() };
        if let Some(view) = self.views.borrow().get(&(stack, in_call)) {
            return *view;
        }
        let view = summed_up(&self.frames(stack), in_call, &self.lock_calls);
        self.views.borrow_mut().insert((stack, in_call), view);
        view
    }
}

/// A function of the program that was made at run time.
fn is_method(code: &Code<'_>) -> bool {
    code.kind == ModuleKind::Anonymous && !code.stub && code.name().is_some()
}

/// What a method of the program's own classes calls in other packages counts as a library, and so does what calls it from
/// there. A stack without such a method is all the program's.
fn around_own_classes(frames: &mut [Code<'_>], classes: &OwnClasses) {
    let own = |c: &Code<'_>| is_method(c) && c.name().is_some_and(|name| classes.hold(name));
    if !frames.iter().any(own) {
        return;
    }
    let others = frames.iter_mut().filter(|c| c.owner == Owner::Own && is_method(c) && !own(c));
    others.for_each(|c| c.owner = Owner::Library);
}

/// An interpreter's functions stand for those of its program where these have no names. Where they have names, the
/// interpreter counts as a library, and so do the packages installed for it.
fn behind_interpreter(frames: &mut [Code<'_>]) {
    let interpreter = |c: &Code<'_>| c.interpreter;
    if !frames.iter().any(is_method) || !frames.iter().any(interpreter) {
        return;
    }
    let installed = |c: &Code<'_>| c.kind != ModuleKind::Anonymous && runtimes::is_runtime_source(c.module);
    for code in frames.iter_mut().filter(|c| c.owner == Owner::Own && (interpreter(c) || installed(c))) {
        code.owner = Owner::Library;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::{Sketch, ms};

    /// The program's own functions in a stack.
    fn own(stack: &str) -> Vec<String> {
        own_beside(stack, stack)
    }

    /// The program's own functions in a stack, while another thread runs `other`.
    fn own_beside(stack: &str, other: &str) -> Vec<String> {
        let tables = Sketch::new(2)
            .traced(2, |run| {
                run.thread("a").runs(ms(1), &format!("memcpy@libc.so.6 < {stack}"));
                run.thread("b").runs(ms(1), &format!("memcpy@libc.so.6 < {other}"));
            })
            .tables();
        let stacks = Stacks::new(&tables);
        let deepest = tables.samples.iter().find_map(|s| s.user_stack).unwrap();
        let own = stacks.frames(deepest).into_iter().filter(|c| c.owner == Owner::Own);
        own.filter_map(|c| c.name().map(str::to_owned)).collect()
    }

    #[test]
    fn an_interpreter_is_a_library_where_its_program_s_functions_have_names() {
        let interpreter = "loop@python3.11";
        assert_eq!(own(&format!("{interpreter} < rank@anonymous rank.py:7")), ["rank"]);
        assert_eq!(own(interpreter), ["loop"], "it stands for the program");
        let installed = "multiply@lib/python3.11/site-packages/numpy/_umath";
        assert_eq!(own(&format!("{installed} < {interpreter} < rank@anonymous rank.py:7")), ["rank"]);
        let extension = "score@_score";
        assert_eq!(own(&format!("{extension} < {interpreter} < rank@anonymous rank.py:7")), ["score", "rank"]);
    }

    #[test]
    fn what_the_interpreter_brings_along_is_no_function_of_the_program() {
        let interpreter = "take_gil@/opt/lib/libpython3.11.so.1.0";
        for library in ["/opt/lib/python3.11/threading.py", "<frozen importlib._bootstrap>", "<string>"] {
            assert!(own(&format!("{interpreter} < run@anonymous {library}:7")).is_empty(), "{library}");
        }
    }

    #[test]
    fn what_a_java_program_calls_in_other_packages_is_a_library_s() {
        let pool = "com.zaxxer.Pool.get@anonymous < com.zaxxer.Source.get@anonymous";
        let stack = |rest: &str| own(&format!("park@libjvm.so < {pool} < {rest}"));
        let main = "com.acme.Desk.serve@anonymous < com.acme.app.Main.main@anonymous";
        assert_eq!(stack(main), ["com.acme.Desk.serve", "com.acme.app.Main.main"]);
        let other = "io.shop.Desk.serve@anonymous";
        assert_eq!(stack(other), ["com.zaxxer.Pool.get", "com.zaxxer.Source.get", "io.shop.Desk.serve"]);
        let library = "org.rx.Map.next@anonymous < start@libjvm.so";
        let callback = format!("com.acme.Desk.rate@anonymous < com.acme.Desk$$Lambda.apply@anonymous < {library}");
        let called = own_beside(&callback, &format!("{main} < start@libjvm.so"));
        assert_eq!(called, ["com.acme.Desk.rate"], "a library calls it, through code that was made for it");
        let native = own(&format!("wait@libc.so.6 < {pool} < {main}"));
        assert_eq!(native.len(), 4, "no virtual machine: {native:?}");
    }

    /// A native library that a package brings along: who looks for the lock inside it looks at the call.
    #[test]
    fn native_code_without_lines_is_a_library_s_where_methods_have_lines() {
        let of = |caller: &str| {
            let mut tables = Sketch::new(2)
                .traced(2, |run| {
                    run.thread("a").runs(ms(1), &format!("step@libstore.so < {caller} < main@java"));
                })
                .tables();
            for module in &mut tables.modules {
                module.path = module.path.replace("/usr/lib/", "/tmp/");
                module.has_lines = false;
            }
            let stacks = Stacks::new(&tables);
            let deepest = tables.samples.iter().find_map(|s| s.user_stack).unwrap();
            stacks.frames(deepest)[0].owner
        };
        assert_eq!(of("Report.run@anonymous Report.java:9"), Owner::Library);
        assert_eq!(of("Report.run@anonymous"), Owner::Own, "near miss: nothing has lines");
    }

    #[test]
    fn cycles_and_dangling_handles_end() {
        let mut tables = Sketch::new(2)
            .traced(2, |run| {
                run.thread("a").runs(ms(1), "a@app < b@app");
            })
            .tables();
        tables.stacks[0].parent = Some(tables.stacks[1].stack);
        let stacks = Stacks::new(&tables);
        assert_eq!(stacks.frames(tables.stacks[0].stack).len(), DEEPEST);
        assert!(stacks.frames(StackId(99)).is_empty());
        tables.stacks[0].frame = FrameId(77);
        assert!(Stacks::new(&tables).frames(tables.stacks[0].stack).len() <= DEEPEST);
    }
}
