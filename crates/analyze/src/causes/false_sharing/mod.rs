//! `false-sharing`: threads use different variables that lie in one cache line, and one of them writes.
//!
//! Evidence: sampled memory accesses of several threads to different bytes of a line; breakpoints that saw them there
//! at the same time; and more time per unit of work in instructions that use the line than at the baseline.
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
    pub const FALSE_SHARING: CauseId = CauseId::new("false-sharing");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::FALSE_SHARING,
    colour: "#4f93d2",
    title: "False sharing",
    what: "Threads use different variables that lie in one cache line, and one of them writes.",
    why: "A processor that writes takes the whole line away from the others: they wait for memory that nobody changed.",
    example: "An array of counters, one a thread, without padding.",
    disproved_by: "Pad the variables to lines of their own: if the time does not fall, they were not shared.",
    lines: |id| match id {
        LineId::Sharing(SharingKind::False) => Some("delayed by false sharing"),
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
            kind: SharingKind::False,
            summary: |what, at| {
                format!("Threads use different parts of one cache line, {what}, at the same time in {at}.")
            },
            remedies: &[
                "give each thread's part a cache line of its own: alignas(64), #[repr(align(64))], or 128 bytes where \
             processors fetch lines in pairs",
                "or work on a local variable, and write the shared one once at the end",
                "keep what is written often apart from what all threads read",
            ],
        },
    )
}

#[cfg(test)]
mod sketches;
