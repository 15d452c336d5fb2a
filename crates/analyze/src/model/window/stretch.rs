//! Stretches of a run in which its worker threads live or work, and how well a printed rate or time must fit them.
//!
//! Imports `model::run`, `statistics`.

use crate::model::run::Traced;
use crate::statistics::MIN_SHARE;
use recording::tables::{State, Thread};

/// Stretches and printed rates agree with a reading of the rate when the work computed from them differs by no more
/// than this share between the runs.
///
/// Decides: whether the printed rate can refer to the stretch of a run in which its worker threads live, and whether it
/// can refer to the whole run.
/// From: programs start their clock within a thread's creation of the first worker's start. In 15 sweeps (C++, Java,
/// Python, Rust, Go; the machine six times overloaded), rate × life of the workers agreed within 1.7 % from one count
/// to the other, in 13 of them within 0.7 %; rate × wall time of the same timed runs differed by 3 to 15 %.
/// Shown by: `tests/model/window.rs`.
/// Wrong if: a program's clock starts well before or after its workers: then neither of them fits, and the answer says
/// so.
pub(super) const FITS: f64 = 0.02;

/// What starting and ending a process takes by itself, seconds: a run may be longer by that and still fit a reading.
///
/// Decides: how far rate × wall time of short runs may differ when the printed rate refers to the whole run.
/// From: starting a process with a few libraries took 1 to 3 ms in the timed runs of the lab.
/// Shown by: `tests/model/window.rs`.
/// Wrong if: the dynamic loader alone takes longer, and by how much differs from run to run.
pub(super) const PROCESS: f64 = 0.005;

/// Decides: which stretches fit about as well as the best one: the first kind among them is taken.
/// From: chosen: half of what counts as a fit at all.
/// Shown by: `tests/model/window.rs`.
/// Wrong if: a stretch of a kind that comes later is the right one, and fits better by less than that.
pub(super) const ALIKE: f64 = FITS / 2.0;

/// A stretch of time, nanoseconds.
pub(super) type Stretch = (u64, u64);

/// Which stretch of a run is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowKind {
    /// From the first worker's start to the last one's end.
    Workers,
    /// From the first to the last sample of the runtime's tasks.
    Tasks,
    /// The longest stretch in which workers live.
    Longest,
    /// The last stretch in which workers live.
    Last,
    /// The longest stretch in which at least one worker does not wait.
    Busy,
}

pub(super) const KINDS: [WindowKind; 5] =
    [WindowKind::Workers, WindowKind::Tasks, WindowKind::Longest, WindowKind::Last, WindowKind::Busy];

pub(super) fn trace(traced: &Traced<'_>) -> Stretch {
    (traced.trace.begin_ns, traced.trace.end_ns)
}

/// Seconds.
pub(super) fn length((begin, end): Stretch) -> f64 {
    end.saturating_sub(begin) as f64 * 1e-9
}

/// The stretch of one kind in a run.
pub(super) fn stretch(traced: &Traced<'_>, kind: WindowKind) -> Option<Stretch> {
    let (begin, end) = trace(traced);
    let cut = |(from, to): Stretch| (from.max(begin), to.min(end));
    match kind {
        WindowKind::Workers => cover(lives(traced)),
        WindowKind::Tasks => cover(traced.tasks.all().map(|l| (l.first, l.last))),
        WindowKind::Longest => generations(lives(traced).collect()).into_iter().max_by_key(|s| s.1 - s.0),
        WindowKind::Last => generations(lives(traced).collect()).pop(),
        WindowKind::Busy => {
            let most = (length((begin, end)) * MIN_SHARE * 1e9) as u64;
            let workers: std::collections::BTreeSet<_> = workers(traced).map(|t| t.thread).collect();
            let awake = traced.slices.iter().filter(|s| workers.contains(&s.thread) && s.state != State::Blocked);
            joined(awake.map(|s| (s.start_ns, s.end_ns)).collect(), most).into_iter().max_by_key(|s| s.1 - s.0)
        }
    }
    .map(cut)
}

/// Threads that do the program's work beside its main thread. If some of them follow the thread count, only those.
pub(super) fn workers<'a>(traced: &'a Traced<'_>) -> impl Iterator<Item = &'a Thread> {
    let helpers = traced.helpers();
    let main = traced.main().map(|t| t.thread);
    let others = move |t: &&&Thread| !helpers.contains(&t.thread) && Some(t.thread) != main;
    let follow = |t: &&&Thread| !traced.fixed_threads.contains(&t.thread);
    let some = traced.threads.values().filter(others.clone()).any(|t| follow(&t));
    traced.threads.values().filter(others).filter(move |t| !some || follow(t)).copied()
}

fn lives(traced: &Traced<'_>) -> impl Iterator<Item = Stretch> {
    workers(traced).map(|t| (t.start_ns, t.end_ns))
}

/// From the first start to the last end.
fn cover(stretches: impl Iterator<Item = Stretch>) -> Option<Stretch> {
    stretches.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Merges stretches that overlap, in order. A pool that is shut down may outlive the start of the next one for a moment:
/// stretches that share less than the share [`FITS`] of either are one after the other.
fn generations(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.retain(|s| s.1 >= s.0);
    stretches.sort_unstable();
    let mut found: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        let together = |last: &&mut Stretch| {
            let shared = length((stretch.0, last.1.min(stretch.1)));
            last.1 >= stretch.0 && shared > FITS * length(**last).min(length(stretch))
        };
        match found.last_mut().filter(together) {
            Some(last) => last.1 = last.1.max(stretch.1),
            None => found.push(stretch),
        }
    }
    found
}

/// Merges stretches that overlap or are at most `apart` nanoseconds apart; in order.
fn joined(mut stretches: Vec<Stretch>, apart: u64) -> Vec<Stretch> {
    stretches.retain(|s| s.1 >= s.0);
    stretches.sort_unstable();
    let mut joined: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        match joined.last_mut().filter(|last| stretch.0 <= last.1.saturating_add(apart)) {
            Some(last) => last.1 = last.1.max(stretch.1),
            None => joined.push(stretch),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::generations;

    #[test]
    fn pools_that_overlap_for_a_moment_are_one_after_the_other() {
        let second = 1_000_000_000;
        let lives = |overlap: u64| vec![(0, second), (10, second), (second - overlap, 2 * second)];
        assert_eq!(generations(lives(second / 100)), [(0, second), (second - second / 100, 2 * second)]);
        // Near miss: they work side by side for a tenth of their lives.
        assert_eq!(generations(lives(second / 10)), [(0, 2 * second)]);
    }
}
