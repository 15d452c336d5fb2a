//! `missing-workers`: the program starts fewer threads than it was asked for. The example of `docs/extending.md`.

use analyze::answer::{Cause, CauseId, Unit};
use analyze::causes::shared::{UNSEEN, evidence, found};
use analyze::causes::{Meta, NO_PLACES, Outcome, Removal, Standing};
use analyze::facts::{Facts, has_loss};

/// The cause.
pub(crate) const META: Meta = Meta {
    id: CauseId::new("missing-workers"),
    colour: "#b07aa1",
    title: "Fewer threads than asked for",
    what: "The program was told to use more threads than it starts.",
    why: "Processors stay idle that a thread could have used.",
    example: "An option that the program caps at the number of input files.",
    disproved_by: "Count the threads of a run, with ps -L: if there are as many as asked for, they are not missing.",
    lines: |_| None,
    hides_in: &[],
    standing: Standing::Defect,
    places: NO_PLACES,
    removal: Removal::AtMost,
    may_be_in: &[],
    samples_needed: UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure("no run was observed: how many threads it starts is not known".to_owned());
    }
    let short = |asked: u32, ran: usize| ran < asked as usize;
    let few = facts.in_order().into_iter().find(|l| has_loss(l) && short(l.account.threads, l.traced.threads.len()));
    let Some(ledger) = few else {
        return Outcome::Clear("every run that lost time had as many threads as it was asked for".to_owned());
    };
    let (asked, ran) = (ledger.account.threads, ledger.traced.threads.len() as f64);
    let lost = ledger.loss * (1.0 - ran / f64::from(asked));
    Outcome::Found(vec![Cause {
        summary: format!("The program runs {ran} threads where it was asked for {asked}."),
        evidence: vec![evidence("threads in the observed run", ran, Unit::Of("threads"), "threads")],
        remedies: vec!["look for a limit in the program: files, connections, a configured maximum".to_owned()],
        ..found(ledger, meta, (lost, 0.0))
    }])
}
