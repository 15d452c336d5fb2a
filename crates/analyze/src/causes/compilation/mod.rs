//! `compilation`: a runtime compiles the program while it runs, on the processors that its threads could use.
//!
//! Evidence: samples in the threads that a runtime starts to compile. With one working thread they have the other
//! processors; with more, fewer are left for them. This is not the program's own fault, and fades the longer it runs.
//!
//! May import: `account`, `answer`, `facts`, `shared`, `statistics`, `words`.

use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::blame::on_cpu;
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::facts::{Facts, large};
use crate::statistics::NORMAL_95;
use crate::words::percent;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const COMPILATION: CauseId = CauseId::new("compilation");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::COMPILATION,
    colour: "#9aa88f",
    title: "Compiling at run time",
    what: "The runtime compiles the program while it runs, on processors that its threads could use.",
    why: "With one thread the compiler has the other processors; with more threads it takes them from the work.",
    example: "A program on a virtual machine works for two seconds, and its compiler is busy for one of them.",
    disproved_by: "Let the program work ten times longer: the compiler's share falls, and if the program does not get faster \
                   with more threads then, it is not the cause.",
    lines: |id| match id {
        LineId::Compiling => Some("the runtime's compiler"),
        _ => None,
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
        let (lost, error) = meta.charged(ledger);
        if large(ledger, lost) && lost > NORMAL_95 * error {
            return Outcome::Outside(condition(ledger, lost, meta));
        }
    }
    Outcome::Nothing
}

fn condition(ledger: &Ledger<'_, '_>, lost: f64, meta: &Meta) -> Condition {
    let share = lost / ledger.account.capacity.max(f64::MIN_POSITIVE);
    let compiling = on_cpu(ledger, |d| d == Doing::Compiling);
    Condition {
        id: meta.id,
        threads: ledger.account.threads,
        seconds: Some(lost),
        share: Some(share),
        by: Vec::new(),
        summary: format!(
            "the runtime's compiler took {} of the processor time that it could have used",
            percent(share)
        ),
        evidence: vec![evidence("CPU time of the runtime's compiler threads", compiling, Unit::Seconds, "samples")],
        remedies: vec![
            "let it work longer, or warm it up before the part that is measured".to_owned(),
            "compile ahead of time where the runtime can".to_owned(),
        ],
    }
}

#[cfg(test)]
mod sketches;
