//! `load`: the load of a server had the processors that the server could have used.
//!
//! Evidence: the server's threads were ready to run while the load had a processor that the server may use.
//!
//! May import: `account`, `answer`, `facts`, `load`, `shared`, `words`.

use crate::account::LineId;
use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::facts::{Facts, large};
use crate::load::processors_taken;
use crate::words::{percent, two_digits};

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const LOAD: CauseId = CauseId::new("load");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::LOAD,
    colour: "#8fa3ad",
    title: "The load",
    what: "The server's threads were ready to run while the load had the processors.",
    why: "The load runs on the same machine: what it uses is missing to the server that it measures.",
    example: "wrk with two threads, on the two processors of its server.",
    disproved_by: "Give the load processors of its own, or another machine: if the server is as slow, it is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::LoadRan => "ready; the load ran",
            _ => return None,
        })
    },
    hides_in: &[],
    may_be_in: &[],
    standing: shared::Standing::Outside,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    for ledger in facts.in_order() {
        let (lost, _) = meta.charged(ledger);
        if !large(ledger, lost) {
            continue;
        }
        let threads = ledger.account.threads;
        let share = lost / ledger.account.capacity.max(f64::MIN_POSITIVE);
        let took = facts.clean.median(threads, processors_taken).unwrap_or(0.0);
        return Outcome::Outside(Condition {
            id: meta.id,
            threads,
            seconds: Some(lost),
            share: Some(share),
            by: Vec::new(),
            summary: format!(
                "the load, which ran on {} processors, took {} of the processor time that the server could have used",
                two_digits(took),
                percent(share)
            ),
            evidence: vec![evidence(
                "processors that the load ran on, in the timed runs",
                took,
                Unit::Of("processors"),
                "runs",
            )],
            remedies: vec![
                "keep the load to processors of its own (--load-processors) and the server to others, or let it run on \
                 another machine"
                    .to_owned(),
            ],
        });
    }
    Outcome::Nothing
}

#[cfg(test)]
mod sketches;
