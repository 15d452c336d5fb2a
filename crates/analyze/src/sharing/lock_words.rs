//! Words of locks. A compiler puts the first try for a lock into the function that takes it: HotSpot does so with a Java
//! monitor's owner, Rust with its mutexes. Such an instruction has no name of a lock, but it uses the word that the lock's
//! own functions use, too. Imports `lines`, `model`.

use super::lines::{FEWEST, SharedLine, Use, is_near};
use crate::model::stacks::Stacks;
use crate::runtimes::Primitive;
use recording::tables::{Access, AccessKind};
use recording::{RunId, Tables, ThreadId};
use std::collections::BTreeMap;

/// Takes the accesses of locks' words from the lines: samples there are lock code, and no sharing of the program's.
///
/// Decides: which samples at shared memory are a lock's: those at a word that functions of locks were seen to use as often as a
/// thread must to count as a user of it, and that is updated atomically.
/// From: the model: nobody else has a reason to use that word. A monitor of Java in a loop showed the need: its owner is set in
/// the compiled method, and read by `ObjectMonitor::enter`.
/// Shown by: `a_word_that_a_lock_s_functions_use_is_the_lock_s`.
/// Wrong if: a program has a lock of its own make in a word that functions of another lock use, too.
pub(super) fn taken<'t>(
    tables: &'t Tables,
    stacks: &Stacks<'t>,
    process: &dyn Fn(RunId, ThreadId) -> u32,
    lines: &mut Vec<SharedLine<'t>>,
) -> Vec<&'t Access> {
    let mut words: BTreeMap<(RunId, u32, u64), (usize, bool)> = BTreeMap::new();
    for row in tables.accesses.iter().filter(|row| is_near(row.distance)) {
        let word = (row.run, process(row.run, row.thread), row.address);
        let (by_lock, atomic) = words.entry(word).or_default();
        *by_lock += usize::from(stacks.code(row.frame).iter().any(|code| code.primitive == Some(Primitive::Lock)));
        *atomic |= row.kind == AccessKind::Atomic;
    }
    words.retain(|_, (by_lock, atomic)| *by_lock >= FEWEST && *atomic);
    let mut found = Vec::new();
    for line in lines.iter_mut() {
        let (run, start) = (line.run, line.address);
        let of_lock = |used: &mut Use<'t>| {
            words.contains_key(&(run, process(run, used.thread), start.saturating_add(used.offset)))
        };
        for used in line.uses.extract_if(.., of_lock) {
            found.extend(used.rows);
        }
    }
    lines.retain(|line| !line.uses.is_empty());
    found
}
