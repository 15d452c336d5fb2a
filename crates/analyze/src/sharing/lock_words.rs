//! Words of locks. A compiler puts the first try for a lock into the function that takes it: HotSpot does so with a Java
//! monitor's owner, Rust with its mutexes. Such an instruction has no name of a lock, but it uses the word that the lock's
//! own functions use, too. Imports `lines`, `model`.

use super::lines::{FEWEST, SharedLine, is_near};
use crate::model::stacks::Stacks;
use crate::runtimes::Primitive;
use recording::tables::{Access, AccessKind};
use recording::{RunId, Tables, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a lock's word.
///
/// Decides: which accesses are to the same word as a lock's.
/// From: the futex word of Linux has four bytes, the owner of a Java monitor eight; allocators align both to eight.
/// Shown by: `a_word_that_a_lock_s_functions_use_is_the_lock_s`.
/// Wrong if: a lock of four bytes has a counter of four bytes beside it, aligned to eight together: both are the lock's.
const WORD: u64 = 8;

/// Takes the accesses of locks' words from the lines: samples there are lock code, and no sharing of the program's.
///
/// Decides: which samples at shared memory are a lock's: those at a word that functions of locks were seen to use as often as a
/// thread must to count as a user of it, and that is updated atomically.
/// From: the model: nobody else has a reason to use that word. A monitor of Java in a loop showed the need: its owner is set in
/// the compiled method, and read by `ObjectMonitor::enter`.
/// Shown by: `a_word_that_a_lock_s_functions_use_is_the_lock_s`.
/// Wrong if: a program keeps something of its own in the same eight bytes as a lock, and all threads write that.
pub(super) fn taken<'t>(
    tables: &'t Tables,
    stacks: &Stacks<'t>,
    process: &dyn Fn(RunId, ThreadId) -> u32,
    lines: &mut Vec<SharedLine<'t>>,
) -> Vec<&'t Access> {
    let mut words: BTreeMap<(RunId, u32, u64), (usize, bool)> = BTreeMap::new();
    let word = |row: &Access| (row.run, process(row.run, row.thread), row.address / WORD);
    for row in tables.accesses.iter().filter(|row| is_near(row.distance)) {
        let (by_lock, atomic) = words.entry(word(row)).or_default();
        *by_lock += usize::from(stacks.code(row.frame).iter().any(|code| code.primitive == Some(Primitive::Lock)));
        *atomic |= row.kind == AccessKind::Atomic;
    }
    let of_locks: BTreeSet<_> = words
        .into_iter()
        .filter(|(_, (by_lock, atomic))| *by_lock >= FEWEST && *atomic)
        .map(|(word, _)| word)
        .collect();
    let mut found = Vec::new();
    for line in lines.iter_mut() {
        for used in line.uses.extract_if(.., |used| used.rows.iter().any(|row| of_locks.contains(&word(row)))) {
            found.extend(used.rows);
        }
    }
    lines.retain(|line| !line.uses.is_empty());
    found
}
