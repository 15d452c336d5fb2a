//! Names for code addresses. The lookups themselves follow; until then nothing has a name.
use crate::error::SymbolProblem;
use crate::module::ModuleRef;

/// A function at an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct FunctionSite {
    /// The function, demangled; none when no symbol covers the address.
    pub function: Option<String>,
    /// The source file as the compiler recorded it.
    pub file: Option<String>,
    /// The line, counted from 1; for a caller of an inlined function that of the call.
    pub line: Option<u32>,
    /// True when the function was inlined into the next one.
    pub inlined: bool,
}

/// What is known of one code address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResolvedFrame {
    /// The functions there, innermost inlined one first; at least one.
    pub functions: Vec<FunctionSite>,
    /// Start of the outermost function as an offset in the module's file (kernel: as an address), from its symbol or
    /// the unwind information: a label for functions without a name.
    pub function_start: Option<u64>,
}

/// Names addresses.
pub struct Symbolizer {
    problems: Vec<SymbolProblem>,
}

impl Symbolizer {
    /// Not yet implemented: knows no symbols.
    pub fn new() -> Self {
        Self { problems: Vec::new() }
    }
    /// Not yet implemented: knows no symbols.
    pub fn user(&mut self, _module: &ModuleRef, file_offsets: &[u64]) -> Vec<ResolvedFrame> {
        vec![ResolvedFrame { functions: vec![FunctionSite::default()], function_start: None }; file_offsets.len()]
    }
    /// Not yet implemented: knows no symbols.
    pub fn kernel(&mut self, _address: u64) -> ResolvedFrame {
        ResolvedFrame { functions: vec![FunctionSite::default()], function_start: None }
    }
    /// True when lines are known for the module: it carries them, or a separate debug file was found.
    pub fn has_lines(&mut self, _module: &ModuleRef) -> bool {
        false
    }
    /// Not yet implemented: knows no symbols.
    pub fn problems(&self) -> &[SymbolProblem] {
        &self.problems
    }
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}
