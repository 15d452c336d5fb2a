//! Whether a cause to which nothing was booked may hide in what the account could not explain.
//!
//! May import: `facts`, the account's names of unexplained parts.

use crate::account::growth::NO_STACK;
use crate::account::idle::{UNKNOWN_WAIT, UNSEEN};
use crate::answer::CauseId;
use crate::facts::{Facts, has_loss, in_proportion, large};

/// Causes that make threads wait.
const WAITS: [CauseId; 9] = [
    CauseId::UserLock,
    CauseId::ConditionWait,
    CauseId::Imbalance,
    CauseId::SerialPhase,
    CauseId::Allocator,
    CauseId::KernelLock,
    CauseId::PageFault,
    CauseId::ThreadCreation,
    CauseId::IoWait,
];

/// Causes that take processor time of which a missing stack would tell.
const RUNS: [CauseId; 7] = [
    CauseId::Allocator,
    CauseId::KernelLock,
    CauseId::PageFault,
    CauseId::ThreadCreation,
    CauseId::FailingSyscall,
    CauseId::ExtraWork,
    CauseId::MemoryBound,
];

/// Why the cause is not clear, if it is not: at a count with a loss, as much as makes a cause stays unexplained, and
/// this cause's time could be among it.
pub(crate) fn hiding(facts: &Facts<'_, '_>, id: CauseId) -> Option<String> {
    let fits = |part: &str| match part {
        UNKNOWN_WAIT | UNSEEN => WAITS.contains(&id),
        NO_STACK => RUNS.contains(&id),
        _ => false,
    };
    facts.in_order().into_iter().filter(|ledger| has_loss(ledger)).find_map(|ledger| {
        let parts: Vec<_> = ledger.unexplained.iter().filter(|(what, seconds)| *seconds > 0.0 && fits(what)).collect();
        let seconds: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        // No more can hide than is unexplained in the end: gains elsewhere take from it.
        let seconds = seconds.min(ledger.account.unexplained);
        large(ledger, seconds).then(|| {
            let names: Vec<&str> = parts.iter().map(|(what, _)| what.as_str()).collect();
            format!(
                "{} stays unexplained, and it may be among that: {}",
                in_proportion(ledger, seconds),
                names.join(", ")
            )
        })
    })
}
