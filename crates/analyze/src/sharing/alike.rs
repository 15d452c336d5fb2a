//! Cache lines that were not tried, and are like one that was: the same instructions update them atomically.
//!
//! Breakpoints can prove only a few lines of a run. Where threads share hundreds, as the reference counts of a tree's nodes,
//! the others are judged by those. Imports `lines`.

use super::lines::{SharedLine, SharingKind, Unconfirmed, Use, is_near};
use recording::FrameId;
use recording::tables::{Access, AccessKind};
use std::collections::BTreeSet;

/// Decides: which lines without a trial count as shared: those whose sampled atomic updates changed from one thread to
/// another at least so often, at an instruction that was proven to share elsewhere.
/// From: chosen: memory that is freed and given to another thread changes once, or twice.
/// Shown by: `counters_like_one_that_was_proven_are_shared`.
/// Wrong if: a few of the memory blocks that an instruction updates are shared, and others go to and fro between threads
/// with pauses: their cost is then told as sharing, too.
const TURNS: usize = 3;

/// Confirms lines like those that breakpoints confirmed. An instruction of which some line was tried in vain proves nothing.
pub(super) fn confirm_alike(lines: &mut [SharedLine<'_>]) {
    let updating = |fits: fn(&Result<(), Unconfirmed>) -> bool| -> BTreeSet<FrameId> {
        let fitting = lines.iter().filter(|line| fits(&line.confirmed));
        fitting.flat_map(|line| line.uses.iter().flat_map(updates)).map(|row| row.frame).collect()
    };
    let mut proven = updating(Result::is_ok);
    let in_vain = updating(|confirmed| confirmed.is_err_and(|why| why != Unconfirmed::NotTried));
    proven.retain(|frame| !in_vain.contains(frame));
    for line in lines.iter_mut().filter(|line| line.confirmed == Err(Unconfirmed::NotTried)) {
        let mut rows: Vec<&Access> = line.uses.iter().flat_map(updates).collect();
        rows.retain(|row| proven.contains(&row.frame));
        rows.sort_by_key(|row| row.time_ns);
        if rows.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count() >= TURNS {
            line.confirmed = Ok(());
        }
    }
}

/// Atomic updates of bytes that several threads use.
fn updates<'u, 't>(used: &'u Use<'t>) -> impl Iterator<Item = &'t Access> + use<'u, 't> {
    let shared = used.overlaps && used.kind == SharingKind::True;
    used.rows.iter().copied().filter(move |row| shared && row.kind == AccessKind::Atomic && is_near(row.distance))
}
