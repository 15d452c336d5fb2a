//! The functions of Python, read from the interpreter's memory: the program needs no change and no option.
//!
//! The addresses of a thread's frames are read by the BPF side, while the thread cannot run, with the offsets of
//! `layout`. The code objects at these addresses (functions, files, lines) live longer and are read here. All of it
//! comes from the target and cannot be trusted.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | the offsets of the fields in CPython 3.8 to 3.13 |
//! | `code` | code objects: function, file, table of lines |
//! | `lines` | the tables of lines, in their three forms |
//!
//! May import: `memory`, `unwind`.

mod code;
mod layout;
mod lines;

pub use layout::{Border, PythonLayout};

use crate::memory::Memory;
use crate::unwind::Unwinder;
use code::PythonFunction;
use std::collections::HashMap;
use std::ops::Range;

/// How many code objects are remembered. The largest programs have some hundred thousand functions.
const KNOWN: usize = 1 << 18;

/// For this many nanoseconds, a remembered code object is used without another look. Later it is compared with memory,
/// because another one may be at the same address after it was freed.
const TRUSTED_NS: u64 = 50_000_000;

/// Symbols that the interpreter exports: its state, the function that runs code, and the type of code objects.
const EXPORTED: [&str; 3] = ["_PyRuntime", "_PyEval_EvalFrameDefault", "PyCode_Type"];

/// The Python interpreter of a process.
#[derive(Debug)]
pub struct Python {
    pid: u32,
    layout: &'static PythonLayout,
    /// The address of the pointer to the main interpreter.
    interpreter: u64,
    evaluates: Range<u64>,
    code_type: u64,
    memory: Option<Memory>,
    functions: HashMap<u64, (u64, Option<PythonFunction>)>,
}

/// The place of a Python frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonPlace {
    /// The function, with its class from Python 3.11 on.
    pub function: String,
    /// The file, as the program names it.
    pub file: String,
    /// The line; none where the code has none.
    pub line: Option<u32>,
    /// A number that differs for each place: the address of the code object plus the distance into the code.
    pub address: u64,
}

impl Python {
    /// The interpreter that a process has mapped; none where there is none or its version is unknown.
    pub fn for_process(pid: u32, unwinder: &Unwinder) -> Option<Python> {
        PythonLayout::all().iter().find_map(|layout| {
            let [runtime, evaluates, code_type] = unwinder.exported(|file| layout.is_file(file), EXPORTED)?;
            Some(Python {
                pid,
                layout,
                interpreter: runtime.start.checked_add(layout.interpreter)?,
                evaluates,
                code_type: code_type.start,
                memory: None,
                functions: HashMap::new(),
            })
        })
    }

    /// The address of the pointer to the main interpreter.
    pub fn interpreter(&self) -> u64 {
        self.interpreter
    }

    /// Where it keeps its frames.
    pub fn layout(&self) -> &'static PythonLayout {
        self.layout
    }

    /// True for an address in the function that runs Python code.
    pub fn evaluates(&self, address: u64) -> bool {
        self.evaluates.contains(&address)
    }

    /// Where a frame is, from the address of its code object and the frame's value for the instruction. None when the
    /// process has ended, or there is no code object at the address.
    pub fn place(&mut self, code: u64, at: u64, now_ns: u64) -> Option<PythonPlace> {
        if self.functions.len() >= KNOWN {
            self.functions.clear();
        }
        let fresh = |(checked_ns, _): &(u64, _)| now_ns.saturating_sub(*checked_ns) < TRUSTED_NS;
        if !self.functions.get(&code).is_some_and(fresh) {
            self.look(code, now_ns);
        }
        let function = self.functions.get(&code)?.1.as_ref()?;
        let distance = self.layout.distance(code, at);
        Some(PythonPlace {
            function: function.name.clone(),
            file: function.file.clone(),
            line: self.layout.lines.at(&function.lines, function.first_line, distance),
            address: code.checked_add(distance)?,
        })
    }

    /// Reads a code object, unless it is already remembered.
    fn look(&mut self, code: u64, now_ns: u64) {
        if self.memory.is_none() {
            self.memory = Memory::of_process(self.pid);
        }
        let Some(memory) = &self.memory else { return };
        let head = self.layout.head(memory, code, self.code_type);
        let known = self.functions.remove(&code).and_then(|(_, function)| function);
        let function = match (head, known) {
            (Some(head), Some(known)) if known.head == head => Some(known),
            (Some(head), _) => self.layout.function(memory, head),
            // The process may have ended: then the remembered function is the best answer.
            (None, known) => known,
        };
        self.functions.insert(code, (now_ns, function));
    }
}
