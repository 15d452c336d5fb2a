//! `true-sharing`: threads use the same variable at the same time, and some of them write it.
//!
//! Evidence: as for `false-sharing`, with the same bytes.
//!
//! May import: `account`, `answer`, `facts`, `shared`, `sharing`.

use crate::account::LineId;
use crate::answer::CauseId;
use crate::causes::shared::line_sharing::{self, Words};
use crate::causes::shared::{self, Meta, Outcome};
use crate::facts::Facts;
use crate::sharing::SharingKind;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const TRUE_SHARING: CauseId = CauseId::new("true-sharing");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::TRUE_SHARING,
    colour: "#7fa6c9",
    title: "A variable that several threads write",
    what: "Threads use one variable all the time, and some of them write it.",
    why: "Its cache line moves between processors with every write.",
    example: "One atomic counter for all threads.",
    disproved_by: "Count per thread and add up at the end: if the time does not fall, the variable is not the cause.",
    lines: |id| match id {
        LineId::Sharing(SharingKind::True) => Some("delayed by true sharing"),
        _ => None,
    },
    hides_in: &[],
    may_be_in: shared::hidden::CODE,
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::Time,
    samples_needed: shared::NOMINATED,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    line_sharing::judge_kind(
        facts,
        meta,
        &Words {
            kind: SharingKind::True,
            summary: |what, at| format!("Threads write and use {what} all the time, in {at}."),
            remedies: &[
                "keep a copy for each thread, and add them up when the sum is asked for",
                "or change it less often: once for a batch of work, by blocks of numbers instead of one at a time",
                "for reference counts: borrow or copy once for each thread instead of counting every use",
            ],
        },
    )
}

#[cfg(test)]
mod sketches;
