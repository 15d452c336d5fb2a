//! The names of code that was looked up in the virtual machine, kept as long as that code is there.
//!
//! Imports `code_map`.

use super::super::code_map::{CodeMap, JitFunction};
use super::machine::{CodeBlob, HotSpot, Identity};
use super::tables::Tables;
use std::collections::HashMap;
use std::sync::Arc;

/// After this many nanoseconds an address is looked up again: the code may be gone, or may have a name by now.
const AGAIN_NS: u64 = 1_000_000_000;

/// How many addresses without a name are remembered, so that not every sample there causes a look-up.
const ASKED_LIMIT: usize = 1 << 16;

/// A piece of code whose name is known.
#[derive(Debug)]
struct KnownPiece {
    end: u64,
    function: Arc<JitFunction>,
    identity: Identity,
    /// When it was last seen unchanged.
    seen_ns: u64,
}

/// The names of code of one virtual machine.
#[derive(Debug)]
pub(in super::super) struct HotSpotNames {
    machine: HotSpot,
    /// By first address.
    pieces: HashMap<u64, KnownPiece>,
    /// Addresses for which the virtual machine had no name, and when.
    asked: HashMap<u64, u64>,
    /// Since when descriptions of methods have been remembered.
    methods_ns: u64,
}

impl HotSpotNames {
    pub(in super::super) fn new(tables: Tables) -> HotSpotNames {
        HotSpotNames { machine: HotSpot::new(tables), pieces: HashMap::new(), asked: HashMap::new(), methods_ns: 0 }
    }

    /// Adds the code at an address to the map, unless it is there. True when the map has changed.
    pub(in super::super) fn ask(&mut self, address: u64, time_ns: u64, map: &mut CodeMap) -> bool {
        let (known, mut changed) = self.known(address, time_ns, map);
        if known || !self.due(address, time_ns) {
            return changed;
        }
        match self.machine.find(address) {
            Some(piece) => {
                self.insert(piece, time_ns, map);
                changed = true;
            }
            None => self.put_off(address, time_ns),
        }
        changed
    }

    /// Adds the place of an interpreted method to the map, unless it is there. `method` is the address of the method's
    /// description, `bytecode` that of the bytecode (0: not known). Returns the address under which the map has it, and
    /// whether the map has changed.
    pub(in super::super) fn ask_interpreted(
        &mut self,
        method: u64,
        bytecode: u64,
        time_ns: u64,
        map: &mut CodeMap,
    ) -> (u64, bool) {
        let (known, changed) = self.known(bytecode, time_ns, map);
        if known {
            return (bytecode, changed);
        }
        let (known, changed_too) = self.known(method, time_ns, map);
        let changed = changed || changed_too;
        if known && (bytecode == 0 || !self.due(bytecode, time_ns)) || !known && !self.due(method, time_ns) {
            return (method, changed);
        }
        let Some(piece) = self.machine.interpreted(method, bytecode) else {
            self.put_off(method, time_ns);
            return (method, changed);
        };
        let start = piece.start;
        if start == method {
            self.put_off(bytecode, time_ns);
        }
        if start == method && known {
            return (method, changed);
        }
        self.insert(piece, time_ns, map);
        (start, true)
    }

    /// Whether the map has code at an address, and whether it had other code there, which was removed.
    fn known(&mut self, address: u64, time_ns: u64, map: &mut CodeMap) -> (bool, bool) {
        let Some(found) = map.find(address) else { return (false, false) };
        let Some(piece) = self.pieces.get_mut(&found.start) else { return (true, false) };
        if time_ns.saturating_sub(piece.seen_ns) < AGAIN_NS || !Arc::ptr_eq(&piece.function, &found.code) {
            return (true, false);
        }
        piece.seen_ns = time_ns;
        if self.machine.is_still(found.start, &piece.function, &piece.identity) != Some(false) {
            return (true, false);
        }
        map.clear(found.start, piece.end);
        self.pieces.remove(&found.start);
        (false, true)
    }

    /// Whether the virtual machine may be asked about an address (again).
    fn due(&self, address: u64, time_ns: u64) -> bool {
        self.asked.get(&address).is_none_or(|asked| time_ns.saturating_sub(*asked) >= AGAIN_NS)
    }

    fn put_off(&mut self, address: u64, time_ns: u64) {
        if self.asked.len() >= ASKED_LIMIT {
            self.asked.clear();
        }
        self.asked.insert(address, time_ns);
    }

    fn insert(&mut self, piece: CodeBlob, time_ns: u64, map: &mut CodeMap) {
        if time_ns.saturating_sub(self.methods_ns) >= AGAIN_NS {
            self.methods_ns = time_ns;
            self.machine.forget_methods();
        }
        let CodeBlob { start, end, function, identity } = piece;
        let function = Arc::new(function);
        map.insert(start, end, time_ns, function.clone());
        self.pieces.insert(start, KnownPiece { end, function, identity, seen_ns: time_ns });
    }
}
