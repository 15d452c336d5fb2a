//! Locks and cache lines that threads fight for: of these, no law tells a single figure.
//!
//! What is known of them with more processors:
//!
//! - A lock lets one thread through at a time, so that a saturated lock passes no more of them with more processors,
//!   whatever its kind. A read-write lock does the same for its own counter, which every reader writes.
//! - Where all waiters spin at one word (ticket locks and simpler ones), handing the lock over takes time in proportion
//!   to the number of waiters, and a program collapses within a few more processors (Boyd-Wickizer, Kaashoek, Morris &
//!   Zeldovich, *Non-scalable locks are dangerous*, Linux Symposium 2012).
//! - An atomic add to a shared variable takes longer with each further processor that does it (McKenney, *Is Parallel
//!   Programming Hard, And, If So, What Can You Do About It?*, "Counting").
//! - How much a contended lock or line costs is mainly a property of the hardware: of the processors' distance (David,
//!   Guerraoui & Trigonakis, *Everything you always wanted to know about synchronization but were afraid to ask*, SOSP
//!   2013). So one machine does not tell it for another.

use crate::account::lines::{Shape, Why, Within};
use crate::account::{Ledger, LineId};
use crate::answer::Point;
use crate::causes::lines::owner;
use crate::statistics::MIN_SHARE;

/// Decides: whether a contended lock counts as saturated: the largest count is less than this many times as fast as the
/// one before it.
/// From: chosen: a lock that lets a tenth more through with twice the processors has nothing left to give.
/// Shown by: `a_saturated_lock_is_never_told_to_rise`.
/// Wrong if: something else, such as the memory, has already flattened the curve, and the lock is not busy.
const FLAT: f64 = 1.1;

/// What the threads fight for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContendedKind {
    /// A lock whose waiters sleep.
    Sleeping,
    /// A lock whose waiters spin, or one of the kernel.
    Spinning,
    /// A cache line.
    Line,
}

impl ContendedKind {
    fn from_line(id: LineId) -> Option<ContendedKind> {
        match id {
            LineId::Blocked(Why::Lock | Why::Allocator)
            | LineId::Synchronising(Why::Lock)
            | LineId::WokenForLock
            | LineId::Allocator(Within::Lock) => Some(ContendedKind::Sleeping),
            LineId::Spinning | LineId::Yielding | LineId::KernelLock | LineId::Blocked(Why::KernelLock) => {
                Some(ContendedKind::Spinning)
            }
            LineId::Sharing(_) => Some(ContendedKind::Line),
            _ => None,
        }
    }

    /// What it is, and what is known of it with more processors.
    pub(super) fn told(self) -> &'static str {
        match self {
            ContendedKind::Sleeping => {
                "threads wait for a lock: once it is always held, more processors bring nothing, and handing it over may \
                 cost more"
            }
            ContendedKind::Spinning => {
                "threads spin for a lock, or wait for one of the kernel: handing it over may take time in proportion to \
                 the waiters (Boyd-Wickizer et al. 2012)"
            }
            ContendedKind::Line => {
                "threads write the same cache lines: what that costs with more processors depends on the machine (David \
                 et al. 2013)"
            }
        }
    }
}

/// What limits the range where threads fight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contended {
    /// What for.
    pub(super) kind: ContendedKind,
    /// Speeds of the largest measured count: lower and upper end.
    speed: (f64, f64),
    /// The largest measured count.
    largest: f64,
    /// How many times that speed is the most that the lock lets through; none where that is not known.
    room: Option<f64>,
}

impl Contended {
    /// What the threads fight for at the largest count, if that takes enough to matter. `utilisation`: that of the busiest
    /// lock there, where it was seen.
    pub(super) fn new(ledger: &Ledger<'_, '_>, points: &[&Point], utilisation: Option<f64>) -> Option<Contended> {
        let kinds = [ContendedKind::Sleeping, ContendedKind::Spinning, ContendedKind::Line];
        let of = |kind| (kind, ledger.sum(|id| ContendedKind::from_line(id) == Some(kind)).0);
        let all: Vec<(ContendedKind, f64)> = kinds.map(of).into_iter().filter(|(_, seconds)| *seconds > 0.0).collect();
        let together: f64 = all.iter().map(|(_, seconds)| seconds).sum();
        let (kind, _) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let [.., before, last] = points else { return None };
        let flat = last.speedup < FLAT * before.speedup;
        (together > MIN_SHARE * ledger.account.capacity).then_some(Contended {
            kind,
            speed: (last.speedup_interval.low.max(0.0), last.speedup_interval.high),
            largest: f64::from(last.threads),
            room: if flat { Some(1.0) } else { utilisation.filter(|u| *u > 0.0).map(|u| (1.0 / u).max(1.0)) },
        })
    }

    /// The range of a speed with so many processors, from that of the curve.
    pub(super) fn bound(&self, (low, high): (f64, f64), processors: u32) -> (f64, f64) {
        let high = self.room.map_or(high, |room| high.min(self.speed.1 * room));
        let fallen = match self.kind {
            ContendedKind::Sleeping => low,
            ContendedKind::Spinning | ContendedKind::Line => {
                low.min(self.speed.0 * (self.largest / f64::from(processors)).min(1.0))
            }
        };
        (fallen.min(high), high)
    }
}

/// The line of an account for what one thread alone leaves idle. Whichever cause claims it has the replay's serial phases.
pub(super) const ALONE: LineId = LineId::Shape(Shape::OneThread);

/// The line for what unequal shares leave idle; likewise.
pub(super) const UNEVEN: LineId = LineId::Shape(Shape::Finished);

/// True for lines that are what one thread alone, or unequal shares, leave idle: the replay has them already.
pub(super) fn is_replayed(id: LineId) -> bool {
    let cause = |id| owner(id).map(|meta| meta.id);
    id == LineId::Noise
        || [ALONE, UNEVEN].into_iter().any(|replayed| cause(id).is_some() && cause(id) == cause(replayed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fought(kind: ContendedKind, room: Option<f64>) -> Contended {
        Contended { kind, speed: (1.4, 1.6), largest: 2.0, room }
    }

    #[test]
    fn a_saturated_lock_passes_no_more() {
        for kind in [ContendedKind::Sleeping, ContendedKind::Spinning, ContendedKind::Line] {
            assert!((fought(kind, Some(1.0)).bound((1.2, 3.0), 8).1 - 1.6).abs() < 1e-9);
            assert!((fought(kind, Some(1.5)).bound((1.2, 3.0), 8).1 - 2.4).abs() < 1e-9, "held for two thirds");
            assert!((fought(kind, None).bound((1.2, 3.0), 8).1 - 3.0).abs() < 1e-9);
        }
    }

    #[test]
    fn where_all_spin_at_one_word_a_program_collapses() {
        for kind in [ContendedKind::Spinning, ContendedKind::Line] {
            let low = |n| fought(kind, None).bound((1.2, 3.0), n).0;
            assert!((low(4) - 0.7).abs() < 1e-9 && (low(8) - 0.35).abs() < 1e-9);
        }
        assert!((fought(ContendedKind::Sleeping, None).bound((1.2, 3.0), 8).0 - 1.2).abs() < 1e-9);
        assert!(fought(ContendedKind::Sleeping, Some(1.0)).bound((2.0, 3.0), 4).0 <= 1.6);
    }
}
