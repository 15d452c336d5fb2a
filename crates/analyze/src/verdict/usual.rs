//! Small losses to what every parallel program has: remarks on a program that scales, and no reason why it stops getting
//! faster. Each cause's [`Standing`] says whether it is one of these.

use crate::account::Ledger;
use crate::answer::Cause;
use crate::causes::none::{LARGEST, SCALES, nearly_ideal};
use crate::causes::{Standing, describe};
use crate::facts::Facts;

/// A cause that a test or a user's build adds to the registry's is a defect.
fn standing(cause: &Cause) -> Standing {
    describe(cause.id).map_or(Standing::Defect, |meta| meta.standing)
}

fn at<'a, 't>(facts: &Facts<'a, 't>, cause: &Cause) -> Option<&'a Ledger<'a, 't>> {
    facts.ledgers.iter().find(|ledger| ledger.account.threads == cause.threads)
}

/// True for what every parallel program, or every program of its language, loses something to: it starts, ends, and hands
/// out work. A lock, an allocator or a shared cache line that costs as little is a defect that one change repairs, and
/// stays the answer.
fn is_usual(facts: &Facts<'_, '_>, cause: &Cause) -> bool {
    match standing(cause) {
        Standing::Usual | Standing::UsualStart => true,
        Standing::DefectUnless(is_usual) => at(facts, cause).is_some_and(|ledger| is_usual(ledger, cause)),
        Standing::Defect | Standing::Neither | Standing::Outside | Standing::OutsidePace => false,
    }
}

/// True for a start or an end that costs a program little: a defect that was found comes before it, even at another count.
pub(super) fn is_small_start(facts: &Facts<'_, '_>, cause: &Cause) -> bool {
    matches!(standing(cause), Standing::UsualStart) && is_small(facts, cause)
}

/// True for what every program has, where it costs little.
pub(super) fn is_small_and_usual(facts: &Facts<'_, '_>, cause: &Cause) -> bool {
    is_usual(facts, cause) && is_small(facts, cause)
}

fn is_small(facts: &Facts<'_, '_>, cause: &Cause) -> bool {
    at(facts, cause).is_some_and(|ledger| cause.lost_seconds <= LARGEST * ledger.account.capacity)
}

/// True for a cause that a change of the program removes; every program has some of the others.
pub(super) fn is_defect(cause: &Cause) -> bool {
    matches!(standing(cause), Standing::Defect | Standing::DefectUnless(_))
}

/// Of a program that scales, the parts of the processors' time that are lost in all and to the largest cause; none where it
/// loses more, or to something else than any program, or where one run alone was observed. `causes`: what was found, the
/// largest first.
pub(super) fn scales(facts: &Facts<'_, '_>, causes: &[Cause]) -> Option<(f64, f64)> {
    let largest = causes.first().filter(|_| causes.iter().all(|cause| is_usual(facts, cause)))?;
    let ledger = facts.focus().filter(|l| !l.traced.is_only_run && l.account.threads == largest.threads)?;
    let lost = ledger.own_loss() / ledger.account.capacity;
    let share = largest.lost_seconds / ledger.account.capacity;
    // Beside other programs little of the loss may be the program's own, and little of what is its own may show.
    let small = nearly_ideal(facts, largest.threads) && lost <= SCALES && share <= LARGEST;
    small.then_some((lost, share))
}
