//! `true-sharing`: threads use the same variable at the same time, and some of them write it.
//!
//! Evidence: as for `false-sharing`, with the same bytes. May import: `line_sharing`.

use super::line_sharing::{self, Words};
use super::{Description, Outcome};
use crate::answer::CauseId;
use crate::facts::Facts;
use crate::sharing::Kind;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::TrueSharing,
    title: "A variable that several threads write",
    what: "Threads use one variable all the time, and some of them write it.",
    why: "Its cache line moves between processors with every write.",
    example: "One atomic counter for all threads.",
    disproved_by: "Count per thread and add up at the end: if the time does not fall, the variable is not the cause.",
    detect,
};

fn detect(facts: &Facts<'_, '_>, description: &Description) -> Outcome {
    line_sharing::detect(
        facts,
        description,
        &Words {
            kind: Kind::True,
            summary: |what, at| format!("Threads write and use {what} all the time, in {at}."),
            remedies: &[
                "keep a copy for each thread, and add them up when the sum is asked for",
                "or change it less often: once for a batch of work, by blocks of numbers instead of one at a time",
                "for reference counts: borrow or copy once for each thread instead of counting every use",
            ],
        },
    )
}
