//! Names for code addresses: functions, inlined functions, files and lines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::coreclr;
use super::debug_file::{find_debug_file, shared_file};
use super::kernel::KernelSymbols;
use super::lines::{Lines, LinesError};
use super::split::SplitUnits;
use super::symbol_table::{SymbolMatch, SymbolTable, preference};
use crate::demangle::{demangle, is_mangled};
use crate::error::SymbolProblem;
use crate::module::{Module, ModuleRef};
use crate::rust_path::qualified;
use crate::site::Site;

/// How many demangled names are remembered; a program with more starts over so that memory does not grow.
const NAMES_LIMIT: usize = 100_000;

/// Where distributions put separate debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// One function at a code address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct FunctionSite {
    /// The function, demangled; none when no symbol covers the address.
    pub function: Option<String>,
    /// The source file as the compiler recorded it.
    pub file: Option<String>,
    /// The line, counted from 1; for a function into which another was inlined, the line of the call.
    pub line: Option<u32>,
    /// True when the function was inlined into the next one.
    pub inlined: bool,
}

/// What is known of one code address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResolvedFrame {
    /// The functions there, the innermost inlined one first; always at least one, the last with `inlined` false.
    pub functions: Vec<FunctionSite>,
    /// Start of the last function, as an offset in the module's file (kernel: an address), from its symbol or from the
    /// unwind information: used for a label (`libfoo.so+0x1230`) when it has no name.
    pub function_start: Option<u64>,
}

/// Names addresses, and keeps what it has read of each module.
pub struct Symbolizer {
    debug_directories: Vec<PathBuf>,
    /// By the address of the shared module, which cannot be reused while the module is held here.
    modules: HashMap<usize, ModuleSymbols>,
    kernel: Option<KernelSymbols>,
    names: HashMap<String, String>,
    problems: Vec<SymbolProblem>,
}

struct ModuleSymbols {
    module: ModuleRef,
    table: SymbolTable,
    lines: Option<Lines>,
    malformed: bool,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// Searches for separate debug files where distributions put them (`/usr/lib/debug`) and beside the modules.
    pub fn new() -> Self {
        Self::with_debug_directories(vec![DEBUG_DIRECTORY.into()])
    }

    /// Searches for separate debug files in these directories and beside the modules.
    pub fn with_debug_directories(debug_directories: Vec<PathBuf>) -> Self {
        Self { debug_directories, modules: HashMap::new(), kernel: None, names: HashMap::new(), problems: Vec::new() }
    }

    /// Names code of a module by offsets in its file; returns one frame for each, in the same order. For a return
    /// address, pass its lookup address, see [`CodeAddress::lookup`](crate::CodeAddress::lookup).
    pub fn user(&mut self, module: &ModuleRef, file_offsets: &[u64]) -> Vec<ResolvedFrame> {
        let key = self.load(module);
        let Some(symbols) = self.modules.get_mut(&key) else { return Vec::new() };
        let mut name = DemangledNames { known: &mut self.names };
        file_offsets.iter().map(|&offset| symbols.resolve(offset, &mut name, &mut self.problems)).collect()
    }

    /// True when lines are known for the module: it carries debug information, or a separate debug file was found.
    pub fn has_lines(&mut self, module: &ModuleRef) -> bool {
        let key = self.load(module);
        self.modules.get(&key).is_some_and(|symbols| symbols.lines.is_some())
    }

    /// Names an address in the kernel. When the kernel hides its addresses, nothing has a name and
    /// [`Symbolizer::problems`] says so once.
    pub fn kernel(&mut self, address: u64) -> ResolvedFrame {
        let problems = &mut self.problems;
        let symbols = self.kernel.get_or_insert_with(|| {
            KernelSymbols::read(Path::new("/proc/kallsyms")).unwrap_or_else(|problem| {
                problems.push(problem);
                KernelSymbols::default()
            })
        });
        let found = symbols.find(address);
        let function = found.map(|(_, name)| demangle(name));
        ResolvedFrame {
            functions: vec![FunctionSite { function, ..FunctionSite::default() }],
            function_start: found.map(|(start, _)| start),
        }
    }

    /// Why names or lines are missing, each reason once.
    pub fn problems(&self) -> &[SymbolProblem] {
        &self.problems
    }

    fn load(&mut self, module: &ModuleRef) -> usize {
        let key = Arc::as_ptr(module) as usize;
        if !self.modules.contains_key(&key) {
            let symbols = ModuleSymbols::read(module, &self.debug_directories, &mut self.problems);
            self.modules.insert(key, symbols);
        }
        key
    }
}

impl ModuleSymbols {
    fn read(module: &ModuleRef, directories: &[PathBuf], problems: &mut Vec<SymbolProblem>) -> Self {
        let mut problem = |error: LinesError| {
            let path = module.path().to_path_buf();
            problems.push(match error {
                LinesError::Module(source) => SymbolProblem::Module { path, source },
                LinesError::Malformed(error) => SymbolProblem::DebugInformation { path, reason: error.to_string() },
            });
        };
        let mut table = SymbolTable::default();
        let complete = module.elf.section(".debug_info").is_some() && module.elf.section(".symtab").is_some();
        let debug = if complete { None } else { find_debug_file(module, directories) };
        let files = || [Some(&module.elf), debug.as_ref().map(|debug| &debug.elf)].into_iter().flatten();
        for file in files() {
            if let Err(error) = table.add(file) {
                problem(error.into());
            }
        }
        if files().all(|file| file.section(".symtab").is_none()) {
            let bounded = |(start, name)| Some((module.unwind.function(start)?, name));
            table.add_named(coreclr::functions(module).into_iter().filter_map(bounded));
        }
        table.finish();
        let own_shared = || shared_file(&module.elf, module.opened(), directories);
        let lines = match (Lines::read(&module.elf, own_shared().as_ref(), || SplitUnits::for_module(module)), &debug) {
            (Ok(None), Some(debug)) => {
                Lines::read(&debug.elf, debug.shared.as_ref(), || SplitUnits::for_module(module))
            }
            (own, _) => own,
        };
        let lines = lines.unwrap_or_else(|error| {
            problem(error);
            None
        });
        Self { module: module.clone(), table, lines, malformed: false }
    }

    fn resolve(&mut self, offset: u64, names: &mut DemangledNames, problems: &mut Vec<SymbolProblem>) -> ResolvedFrame {
        let Some(address) = self.module.stated_address(offset) else {
            return ResolvedFrame { functions: vec![FunctionSite::default()], function_start: None };
        };
        let mut sites = match self.lines.as_ref().map(|lines| lines.sites(address)) {
            Some(Ok(sites)) => sites,
            Some(Err(error)) => {
                if !std::mem::replace(&mut self.malformed, true) {
                    let path = self.module.path().to_path_buf();
                    problems.push(SymbolProblem::DebugInformation { path, reason: error.to_string() });
                }
                Vec::new()
            }
            None => Vec::new(),
        };
        let symbol = self.table.find(address);
        let mut outermost = sites.pop().unwrap_or_default();
        if outermost.line.is_none()
            && let Some(go) = self.module.go()
            && let Some(function) = go.find(address)
        {
            let elf = &self.module.elf;
            let read = |at, size| self.module.file_offset(at).map_or(Vec::new(), |at| elf.some_bytes(at, size));
            sites = go.sites(function, address, read);
            let described = sites.pop().unwrap_or_default();
            let name = outermost.name.or(if symbol.is_none() { described.name } else { None });
            outermost = Site { name, ..described };
        }
        let inlined = sites.into_iter().map(|site| function_site(site, true, names));
        let mut functions: Vec<FunctionSite> = inlined.collect();
        let outermost = Site { name: outer_name(outermost.name, symbol.as_ref()), ..outermost };
        functions.push(function_site(outermost, false, names));
        ResolvedFrame { functions, function_start: self.start(symbol, address, offset) }
    }

    fn start(&self, symbol: Option<SymbolMatch>, address: u64, offset: u64) -> Option<u64> {
        let module: &Module = &self.module;
        match symbol {
            // Symbol and address lie in the same section, so their distance in the file is the same.
            Some(symbol) => offset.checked_sub(address - symbol.start),
            None => module.function_start(offset),
        }
    }
}

fn function_site(site: Site, inlined: bool, names: &mut DemangledNames) -> FunctionSite {
    let name = site.name.map(|name| names.readable(name));
    let qualified = name.as_deref().zip(site.file.as_deref()).and_then(|(name, file)| qualified(name, file));
    FunctionSite { function: qualified.or(name), file: site.file, line: site.line, inlined }
}

/// The better of a function's names in the debug information and in the symbol table. A mangled name says most. Between
/// plain names, the rule for aliases decides: debug information has the name of the definition (`__random`), which may
/// be less known than an alias; and the symbol of a part of a function that was moved away has a suffix (`work.cold`).
fn outer_name(described: Option<String>, symbol: Option<&SymbolMatch>) -> Option<String> {
    match (described, symbol) {
        (Some(described), Some(symbol)) if !is_mangled(&described) => {
            let better = is_mangled(&symbol.name) || preference(&symbol.name) < preference(&described);
            Some(if better { symbol.name.clone().into_owned() } else { described })
        }
        (Some(described), _) => Some(described),
        (None, symbol) => symbol.map(|symbol| symbol.name.clone().into_owned()),
    }
}

/// Demangled names; many addresses share one.
struct DemangledNames<'a> {
    known: &'a mut HashMap<String, String>,
}

impl DemangledNames<'_> {
    fn readable(&mut self, raw: String) -> String {
        if !is_mangled(&raw) {
            return demangle(&raw);
        }
        if let Some(name) = self.known.get(&raw) {
            return name.clone();
        }
        if self.known.len() >= NAMES_LIMIT {
            self.known.clear();
        }
        let name = demangle(&raw);
        self.known.insert(raw, name.clone());
        name
    }
}
