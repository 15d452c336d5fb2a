//! A program that scales: it loses so little that its largest cause is a remark, and no reason why it stops getting
//! faster.

use super::conclude;
use crate::account::LineId;
use crate::answer::{Cause, CauseId, Point, Verdict};
use crate::causes::user_lock;
use crate::facts::Facts;
use crate::words::percent;

/// A program scales while it loses at most this share of the processors' time.
///
/// Decides: whether a cause that was found is the answer, or a remark on a program that scales.
/// From: measured: of 74 programs by two authors who did not know how they would be judged, the 24 without a problem
/// lost at most 23 % with two threads on two processors, and 49 of the 50 with one at least 29 %; the last one loses half
/// with four threads.
/// Shown by: `a_program_that_loses_a_tenth_scales`; the near miss is `a_start_that_costs_a_fifth_is_the_answer`.
/// Wrong if: a program is slow for a reason that costs less on two processors, and more on many: the reason is still
/// reported, but in second place.
const SCALES: f64 = 0.25;

/// And while its largest cause takes at most this share.
///
/// Decides: the same: a program that loses a fifth has a problem if all of it has one reason.
/// From: chosen: half of the above. A thread that is alone for a quarter of the time costs as much on two processors.
/// Shown by: `a_program_that_loses_a_tenth_scales`; the near miss is `a_start_that_costs_a_fifth_is_the_answer`.
/// Wrong if: as above.
const LARGEST: f64 = 0.125;

/// What every parallel program loses something to: it starts, ends, and hands out work. A lock, an allocator or a shared
/// cache line that costs as little is a defect that one change repairs, and stays the answer.
const USUAL: [CauseId; 3] = [CauseId::SERIAL_PHASE, CauseId::IMBALANCE, CauseId::CONDITION_WAIT];

/// True for such a loss, and for one to a garbage collector or to an interpreter's lock, which every program of its
/// language has.
fn is_usual(facts: &Facts<'_, '_>, cause: &Cause) -> bool {
    let ledger = facts.ledgers.iter().find(|ledger| ledger.account.threads == cause.threads);
    let collects = || ledger.is_some_and(|l| 2.0 * l.sum(|id| id == LineId::Collector).0 > cause.lost_seconds);
    let of_interpreter =
        || ledger.is_some_and(|ledger| 2.0 * user_lock::beside_interpreters(ledger) < cause.lost_seconds);
    USUAL.contains(&cause.id)
        || (cause.id == CauseId::ALLOCATOR && collects())
        || (cause.id == CauseId::USER_LOCK && of_interpreter())
}

/// True for a start or an end that costs a program little: a defect that was found comes before it, even at another count.
pub fn is_small_start(facts: &Facts<'_, '_>, cause: &Cause) -> bool {
    let ledger = facts.ledgers.iter().find(|ledger| ledger.account.threads == cause.threads);
    let small = |capacity: f64| cause.lost_seconds <= LARGEST * capacity;
    cause.id == CauseId::SERIAL_PHASE && ledger.is_some_and(|ledger| small(ledger.account.capacity))
}

/// True for a cause that a change of the program removes; every program has some of the others.
pub fn is_defect(cause: &Cause) -> bool {
    !USUAL.contains(&cause.id) && cause.id != CauseId::OVERSUBSCRIPTION
}

/// What is reported first of a program that scales; none where it loses more, or to something else than any program,
/// or where one run alone was observed. `causes`: what was found, the largest first.
pub fn scales(facts: &Facts<'_, '_>, causes: &[Cause]) -> Option<Cause> {
    let largest = causes.first().filter(|_| causes.iter().all(|cause| is_usual(facts, cause)))?;
    let ledger = facts.focus().filter(|l| !l.traced.is_only_run && l.account.threads == largest.threads)?;
    let lost = ledger.own_loss() / ledger.account.capacity;
    // Beside other programs little of the loss may be the program's own, and little of what is its own may show.
    if !nearly_ideal(facts, largest.threads) {
        return None;
    }
    let share = largest.lost_seconds / ledger.account.capacity;
    if lost > SCALES || share > LARGEST {
        return None;
    }
    Some(Cause {
        threads: largest.threads,
        summary: format!(
            "It scales; {} of the processor time is lost. The largest part, {}: {}",
            percent(lost),
            percent(share),
            largest.summary
        ),
        ..conclude(facts)
    })
}

impl Verdict {
    /// True of a program that scales: the causes behind `none` are small losses.
    pub fn scales(&self) -> bool {
        matches!(self.causes.as_slice(), [none, _, ..] if none.id == CauseId::NONE)
    }
}

/// True when the timed runs with so many threads are as fast as a program that scales: whatever took the rest.
fn nearly_ideal(facts: &Facts<'_, '_>, threads: u32) -> bool {
    let at = |p: &&Point| p.threads == threads;
    let (Some(base), Some(point)) = (facts.points.first(), facts.points.iter().find(at)) else { return false };
    let usable = |threads: u32| f64::from(threads.min(facts.processors));
    point.speedup >= (1.0 - SCALES) * usable(threads) / usable(base.threads)
}
