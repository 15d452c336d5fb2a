//! Which functions a compiler inlined into one piece of code, and where: at each place the innermost one, and its
//! callers.
//!
//! Imports nothing of the crate.

use std::sync::Arc;

/// No scope.
const NONE: u32 = u32::MAX;

/// A function that is part of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeFunction {
    pub(crate) name: Arc<str>,
    pub(crate) file: Option<Arc<str>>,
}

/// A line of a function, and the scope that called it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScopeRow {
    /// The number of the function in the table.
    pub(crate) function: u32,
    /// 0 where it is not known.
    pub(crate) line: u32,
    /// A scope that was added before; none for the outermost.
    pub(crate) caller: Option<u32>,
}

/// A function at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeSite<'a> {
    /// The name, in the form that the runtime uses.
    pub function: &'a str,
    /// The source file.
    pub file: Option<&'a str>,
    /// The line, counted from one.
    pub line: Option<u32>,
}

/// The scopes of a piece of code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ScopeTable {
    functions: Vec<ScopeFunction>,
    scopes: Vec<ScopeRow>,
    /// Distances from the start of the code in bytes, ascending, each with the scope that is valid from there up to the
    /// next.
    places: Vec<(u32, u32)>,
}

impl ScopeTable {
    /// Adds a function and returns its number in the table.
    pub(crate) fn add_function(&mut self, function: ScopeFunction) -> u32 {
        self.functions.push(function);
        self.functions.len() as u32 - 1
    }

    /// Adds a scope and returns its number. None when its caller or its function is not in the table.
    pub(crate) fn add_scope(&mut self, row: ScopeRow) -> Option<u32> {
        let known = row.caller.is_none_or(|caller| (caller as usize) < self.scopes.len());
        (known && (row.function as usize) < self.functions.len()).then(|| {
            self.scopes.push(row);
            self.scopes.len() as u32 - 1
        })
    }

    /// Sets which scope begins at a distance. None when the distance is less than the one before.
    pub(crate) fn add_place(&mut self, distance: u32, scope: Option<u32>) -> Option<()> {
        let scope = scope.unwrap_or(NONE);
        match self.places.last_mut() {
            Some((last, _)) if *last > distance => return None,
            Some((last, before)) if *last == distance => *before = scope,
            Some((_, before)) if *before == scope => {}
            _ => self.places.push((distance, scope)),
        }
        Some(())
    }

    /// The functions at a distance from the start, innermost first; empty where that is not known.
    pub(crate) fn sites(&self, distance: u64) -> Vec<CodeSite<'_>> {
        let after = self.places.partition_point(|(place, _)| u64::from(*place) <= distance);
        let mut next = after.checked_sub(1).and_then(|at| self.places.get(at)).map(|(_, scope)| *scope);
        let mut sites = Vec::new();
        // Callers have lower numbers, so this ends.
        while let Some(row) = next.and_then(|scope| self.scopes.get(scope as usize)) {
            let Some(function) = self.functions.get(row.function as usize) else { break };
            sites.push(CodeSite {
                function: &function.name,
                file: function.file.as_deref(),
                line: (row.line > 0).then_some(row.line),
            });
            next = row.caller;
        }
        sites
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_reaches_to_the_next_and_leads_to_its_callers() {
        let mut table = ScopeTable::default();
        let serve = table.add_function(ScopeFunction { name: "serve".into(), file: None });
        let sell = table.add_function(ScopeFunction { name: "sell".into(), file: Some("Shop.java".into()) });
        let outer = table.add_scope(ScopeRow { function: serve, line: 0, caller: None });
        let inner = table.add_scope(ScopeRow { function: sell, line: 12, caller: outer });
        assert_eq!(table.add_scope(ScopeRow { function: sell, line: 12, caller: Some(2) }), None);
        assert_eq!(table.add_scope(ScopeRow { function: 7, line: 12, caller: None }), None);
        for (distance, scope) in [(4, outer), (8, inner), (12, inner), (16, None)] {
            table.add_place(distance, scope).unwrap();
        }
        assert_eq!(table.add_place(15, None), None);
        let serve = CodeSite { function: "serve", file: None, line: None };
        let sell = CodeSite { function: "sell", file: Some("Shop.java"), line: Some(12) };
        assert_eq!(table.sites(3), []);
        assert_eq!(table.sites(7), [serve]);
        assert_eq!(table.sites(15), [sell, serve]);
        assert_eq!(table.sites(16), []);
    }
}
