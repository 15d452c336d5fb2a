//! What the causes that were found leave open: how little they cost a program that scales, and a larger part of the loss
//! that has no proven cause.

use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Unsure, Verdict};
use crate::causes::lines::owner;
use crate::causes::{describe, none};
use crate::facts::{Facts, large};
use crate::verdict::usual;
use crate::words::percent;

/// A part of the loss that no cause was found for.
struct Open {
    /// Processor-seconds per unit of work.
    seconds: f64,
    /// What the line is called; absent for what is not explained.
    what: Option<String>,
}

/// The largest such part, if it is larger than the first of the causes that were found.
fn larger(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, causes: &[Cause]) -> Option<Open> {
    let account = &ledger.account;
    let found = |id: LineId| owner(id).is_none_or(|meta| causes.iter().any(|cause| cause.id == meta.id));
    let lines = account.lines.iter().filter(|l| !l.id.is_outside() && l.id != LineId::Noise && !found(l.id));
    let largest = lines.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let line = largest.filter(|line| line.seconds > account.unexplained);
    let open = Open {
        seconds: line.map_or(account.unexplained, |line| line.seconds),
        what: line.map(|line| (facts.named)(facts.model, line.id)),
    };
    let cause = causes.first()?;
    (open.seconds > cause.lost_seconds && large(ledger, open.seconds) && ledger.own_loss() > 0.0).then_some(open)
}

fn at<'a, 't>(facts: &Facts<'a, 't>, cause: &Cause) -> Option<&'a Ledger<'a, 't>> {
    facts.ledgers.iter().find(|ledger| ledger.account.threads == cause.threads)
}

/// What is said of a loss that is larger than the first cause and has none itself: without it, readers would believe
/// that a repair of the first cause brings most of the time back.
pub(super) fn sentence(facts: &Facts<'_, '_>, causes: &[Cause]) -> Option<String> {
    let ledger = at(facts, causes.first()?)?;
    let open = larger(facts, ledger, causes)?;
    let part = percent(open.seconds / ledger.account.capacity);
    Some(match open.what {
        None => format!("A larger part, {part} of the processor time, is not explained."),
        Some(what) => format!("A larger part, {part} of the processor time, has no proven cause: {what}."),
    })
}

/// Puts open causes in order: those to which most processor time is booked at any count come first, because to settle
/// them tells the reader most.
pub(super) fn most_first(facts: &Facts<'_, '_>, unsure: &mut [Unsure]) {
    let booked = |unsure: &Unsure| {
        let meta = describe(unsure.id);
        let seconds = facts.ledgers.iter().filter_map(|ledger| Some(meta?.charged(ledger).0));
        seconds.fold(0.0, f64::max)
    };
    unsure.sort_by(|a, b| booked(b).total_cmp(&booked(a)));
}

/// What is reported first of a program that scales: that it does. `causes`: what was found, the largest first.
pub(super) fn scales(facts: &Facts<'_, '_>, causes: &[Cause]) -> Option<Cause> {
    let (lost, share) = usual::scales(facts, causes)?;
    let largest = causes.first()?;
    Some(Cause {
        threads: largest.threads,
        summary: format!(
            "It scales; {} of the processor time is lost. The largest part, {}: {}",
            percent(lost),
            percent(share),
            largest.summary
        ),
        ..none::conclude(facts)
    })
}

/// What is reported first where all causes are such as every program has, cost little, and leave a larger part of the loss
/// open: they are not why the program stops getting faster. None where they are, and where there is a defect among them.
pub(super) fn mostly_open(facts: &Facts<'_, '_>, causes: &[Cause]) -> Option<Cause> {
    let largest = causes.first().filter(|_| causes.iter().all(|cause| usual::is_small_and_usual(facts, cause)))?;
    let ledger = at(facts, largest)?;
    let open = larger(facts, ledger, causes)?;
    let part = |seconds: f64| percent(seconds / ledger.account.capacity);
    let why = match open.what {
        None => "is not explained".to_owned(),
        Some(what) => format!("has no proven cause: {what}"),
    };
    Some(Cause {
        threads: largest.threads,
        summary: format!(
            "{} of the processor time with {} is lost. The largest part, {}, {why}. A smaller part, {}: {}",
            part(ledger.own_loss()),
            facts.counted().many(largest.threads),
            part(open.seconds),
            part(largest.lost_seconds),
            largest.summary
        ),
        ..none::conclude(facts)
    })
}

impl Verdict {
    /// True where the causes behind `none` are small losses: of a program that scales, or beside a larger part that has
    /// no proven cause.
    pub fn only_small_losses(&self) -> bool {
        matches!(self.causes.as_slice(), [none, _, ..] if none.id == CauseId::NONE)
    }
}
