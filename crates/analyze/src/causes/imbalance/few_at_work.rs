//! Few threads have work, and what those run also runs side by side at other times: their shares may be larger, or it is a
//! part for one thread alone that calls the same functions. Then unequal shares are not excluded.

use crate::account::criticality::Idle;
use crate::account::lines::Shape;
use crate::account::{Ledger, LineId};
use crate::causes::shared::line;
use crate::facts::{in_proportion, large};

const TOO_FEW: Shape = Shape::TooFew;

/// Decides: whether unequal shares stay open where too few threads have work: more than this share of what those run is
/// code that also runs side by side.
/// From: the definition of a majority: else most of it is code for one thread alone, which is a cause of its own.
/// Shown by: `the_last_with_work_may_have_a_larger_share`, `a_part_for_one_thread_alone_excludes_unequal_shares`.
/// Wrong if: one thread alone does two things in turn, of which the larger one calls functions of the parallel part.
const SHARED_CODE: f64 = 0.5;

/// What is missing to exclude unequal shares in this run.
pub(super) fn open(ledger: &Ledger<'_, '_>) -> Option<String> {
    let lost = line(ledger, LineId::Shape(TOO_FEW)).0;
    if !ledger.serial_code.told() || !large(ledger, lost) {
        return None;
    }
    let ran = ledger.split.criticality.during(|idle| idle == Idle::Shape(TOO_FEW));
    let (mut all, mut shared) = (0.0, 0.0);
    for (at, weight) in &ran {
        all += weight;
        shared += if ledger.serial_code.function(at.stack).is_none() { *weight } else { 0.0 };
    }
    (shared > SHARED_CODE * all).then(|| {
        format!(
            "few threads have work, {}, and what they run also runs side by side at other times: whether their shares of the \
             work are larger cannot be told",
            in_proportion(ledger, lost)
        )
    })
}
