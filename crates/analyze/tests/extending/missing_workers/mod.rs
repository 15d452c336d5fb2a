//! `missing-workers`: the program starts fewer threads than it was asked for. The example of `docs/extending.md`.

mod sketches;

use analyze::account::Ledger;
use analyze::account::lines::{LineId, Shape};
use analyze::answer::{Cause, CauseId, Unit};
use analyze::causes::shared::{UNSEEN, by_lines, evidence, found};
use analyze::causes::{Meta, NO_PLACES, Outcome, Removal, Standing};
use analyze::facts::Facts;

/// The cause.
pub(crate) const META: Meta = Meta {
    id: CauseId::new("missing-workers"),
    colour: "#b07aa1",
    title: "Fewer threads than asked for",
    what: "The program was told to use more threads than it starts.",
    why: "Processors stay idle that a thread could have used.",
    example: "An option that the program caps at the number of input files.",
    disproved_by: "Count the threads of a run, with ps -L: if there are as many as asked for, they are not missing.",
    lines: |id| match id {
        LineId::Shape(Shape::TooFew) => Some("threads that never started"),
        _ => None,
    },
    hides_in: &[],
    standing: Standing::Defect,
    places: NO_PLACES,
    removal: Removal::AtMost,
    may_be_in: &[],
    samples_needed: UNSEEN,
    judge,
};

/// Found where the line that it claims is a significant loss and `explain` can tell it; clear where it is none.
fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    by_lines(facts, meta, explain)
}

fn explain<'t>(
    _: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let (asked, ran) = (ledger.account.threads, ledger.traced.threads.len());
    if ran >= asked as usize {
        return Err("as many threads as it was asked for were there: why so few had work is not known".to_owned());
    }
    Ok(vec![Cause {
        summary: format!("The program runs {ran} threads where it was asked for {asked}."),
        evidence: vec![evidence("threads in the observed run", ran as f64, Unit::Of("threads"), "threads")],
        remedies: vec!["look for a limit in the program: files, connections, a configured maximum".to_owned()],
        ..found(ledger, meta, lost)
    }])
}
