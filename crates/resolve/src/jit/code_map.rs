//! Which code is at an address: the latest that was placed there.
//!
//! Imports `scope_table`.

use super::scope_table::{CodeSite, ScopeTable};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most pieces of code that are kept; what comes later is counted and left out. The largest servers have some
/// hundred thousand compiled functions.
const PIECES_LIMIT: usize = 1 << 20;

/// A function that was made at run time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JitFunction {
    /// Its name, in the form that the runtime uses.
    pub name: String,
    /// The lines, by distance from the start of the function in bytes; ascending.
    pub(crate) lines: Vec<Line>,
    /// Which functions were inlined into it; used instead of the lines, where it is known.
    pub(crate) scopes: Option<ScopeTable>,
}

/// A line of the source; valid up to the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) distance: u64,
    pub(crate) file: Arc<str>,
    /// Counted from one; 0 where the runtime gave only the file.
    pub(crate) line: u32,
}

impl JitFunction {
    pub(crate) fn named(name: String) -> JitFunction {
        JitFunction { name, ..JitFunction::default() }
    }

    /// The functions at the byte at this distance from the start, innermost first: those that were inlined there, then
    /// the function itself.
    pub fn sites(&self, distance: u64) -> Vec<CodeSite<'_>> {
        let mut sites = self.scopes.as_ref().map(|scopes| scopes.sites(distance)).unwrap_or_default();
        if sites.is_empty() {
            let line = self.line(distance);
            sites.push(CodeSite {
                function: &self.name,
                file: line.map(|(file, _)| file),
                line: line.and_then(|(_, line)| line),
            });
        }
        sites
    }

    /// The source file of the byte at this distance from the start, and the line where that is known.
    pub(crate) fn line(&self, distance: u64) -> Option<(&str, Option<u32>)> {
        let after = self.lines.partition_point(|line| line.distance <= distance);
        let line = self.lines.get(after.checked_sub(1)?)?;
        Some((&line.file, (line.line > 0).then_some(line.line)))
    }
}

/// A piece of code, and since when it has been at its place.
#[derive(Debug, Clone)]
struct CodeRange {
    /// First address after it.
    end: u64,
    /// Where the function starts: before the piece, when its beginning was overwritten.
    start: u64,
    since_ns: u64,
    code: Arc<JitFunction>,
}

/// What was found at an address.
#[derive(Debug, Clone)]
pub struct FunctionAt {
    /// The function.
    pub code: Arc<JitFunction>,
    /// Where it starts.
    pub start: u64,
    /// The time since when it is known to be there, in nanoseconds of the reader's clock.
    pub since_ns: u64,
}

/// The functions at the addresses of one process; later ones replace what they overlap.
#[derive(Debug, Default)]
pub(crate) struct CodeMap {
    /// By first address; never overlapping.
    pieces: BTreeMap<u64, CodeRange>,
    /// Functions for which there was no room.
    pub(crate) left_out: u64,
}

impl CodeMap {
    /// Puts a function at `start..end` and cuts what it overlaps.
    pub(crate) fn insert(&mut self, start: u64, end: u64, since_ns: u64, code: Arc<JitFunction>) {
        if start >= end {
            return;
        }
        self.clear(start, end);
        if self.pieces.len() >= PIECES_LIMIT {
            self.left_out += 1;
            return;
        }
        self.pieces.insert(start, CodeRange { end, start, since_ns, code });
    }

    /// Moves the function that starts at `from`; does nothing when none starts there.
    pub(crate) fn move_code(&mut self, from: u64, to: u64, size: u64, since_ns: u64) {
        let Some(code) = self.pieces.get(&from).map(|piece| piece.code.clone()) else { return };
        if let (Some(from_end), Some(to_end)) = (from.checked_add(size), to.checked_add(size)) {
            self.clear(from, from_end);
            self.insert(to, to_end, since_ns, code);
        }
    }

    /// Removes what lies in `start..end`.
    pub(crate) fn clear(&mut self, start: u64, end: u64) {
        while let Some((&at, last)) = self.pieces.range(..end).next_back()
            && last.end > start
        {
            let Some(old) = self.pieces.remove(&at) else { break };
            if old.end > end {
                self.pieces.insert(end, old.clone());
            }
            if at < start {
                self.pieces.insert(at, CodeRange { end: start, ..old });
            }
        }
    }

    /// The function that contains an address.
    pub(crate) fn find(&self, address: u64) -> Option<FunctionAt> {
        let (_, piece) = self.pieces.range(..=address).next_back()?;
        (address < piece.end).then(|| FunctionAt {
            code: piece.code.clone(),
            start: piece.start,
            since_ns: piece.since_ns,
        })
    }

    /// The number of pieces: functions, and the remains of functions that were partly overwritten.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// True when it has no function.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn insert(map: &mut CodeMap, start: u64, size: u64, name: &str) {
        map.insert(start, start + size, 0, Arc::new(JitFunction::named(name.to_owned())));
    }

    fn name(map: &CodeMap, address: u64) -> Option<String> {
        map.find(address).map(|found| found.code.name.clone())
    }

    #[test]
    fn a_later_function_replaces_what_it_overlaps() {
        let mut map = CodeMap::default();
        insert(&mut map, 0x100, 0x100, "old");
        insert(&mut map, 0x140, 0x20, "new");
        assert_eq!(name(&map, 0x13f).as_deref(), Some("old"));
        assert_eq!(name(&map, 0x140).as_deref(), Some("new"));
        assert_eq!(name(&map, 0x160).as_deref(), Some("old"));
        assert_eq!(map.find(0x160).unwrap().start, 0x100, "the start of the function, not of what is left of it");
        assert_eq!(name(&map, 0x200), None);
        insert(&mut map, 0, 0x1000, "all");
        assert_eq!((name(&map, 0x150).as_deref(), map.len()), (Some("all"), 1));
    }

    #[test]
    fn a_moved_function_leaves_its_old_place() {
        let mut map = CodeMap::default();
        insert(&mut map, 0x100, 0x10, "f");
        map.move_code(0x100, 0x500, 0x10, 7);
        map.move_code(0x900, 0x100, 0x10, 8);
        assert_eq!(name(&map, 0x100), None);
        assert_eq!(name(&map, 0x50f).as_deref(), Some("f"));
        assert_eq!(map.find(0x500).unwrap().since_ns, 7);
    }

    #[test]
    fn a_line_reaches_to_the_next() {
        let line = |distance, line| Line { distance, file: "a.js".into(), line };
        let code = JitFunction { name: "f".into(), lines: vec![line(4, 10), line(8, 12)], scopes: None };
        assert_eq!(code.line(3), None);
        assert_eq!(code.line(7), Some(("a.js", Some(10))));
        assert_eq!(code.line(1000), Some(("a.js", Some(12))));
    }

    proptest! {
        #[test]
        fn the_last_function_at_an_address_wins(all in proptest::collection::vec((0u64..200, 1u64..50), 1..40)) {
            let mut map = CodeMap::default();
            for (i, (start, size)) in all.iter().enumerate() {
                insert(&mut map, *start, *size, &format!("f{i}"));
            }
            for address in 0..260 {
                let last = all.iter().rposition(|&(start, size)| (start..start + size).contains(&address));
                prop_assert_eq!(name(&map, address), last.map(|index| format!("f{index}")));
            }
        }
    }
}
