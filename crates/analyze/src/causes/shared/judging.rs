//! What most causes need for judging: what is booked to them, whether it is enough, and the frame of an answer.

use super::meta::{Meta, Outcome};
use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, Evidence, Unit};
use crate::facts::{Facts, in_proportion, interval, large, share, significant};
use crate::statistics::MIN_SHARE;
use crate::words::said;

/// Something never seen in n samples may still take up to 3 / n of the time, at 95 % confidence.
///
/// Decides: how large a cause may be that shows in no sample.
/// From: the rule of three (Hanley & Lippman-Hand 1983, JAMA 249).
/// Wrong if: samples are not independent of what runs.
pub const UNSEEN: u64 = 3;

/// Memory is observed for sharing where there are at least this many samples.
///
/// Decides: how much time a shared cache line may take without being noticed: that of this many samples.
/// From: measured with `bench/sharing`: lines with fewer samples are mostly not selected for a trial with breakpoints.
/// Wrong if: a program spreads its sharing over very many cache lines.
pub const NOMINATED: u64 = 20;

/// A charge is small up to this share of the capacity.
///
/// Decides: whether a loss by samples counts although a larger count gains as much by the same.
/// From: chosen: an eighth, the most that the largest cause of a program that scales takes.
/// Shown by: `a_small_loss_that_more_threads_gain_is_none`.
/// Wrong if: more threads than processors take turns by themselves, and stop to be in each other's way.
const SMALL: f64 = 0.125;

/// One row of evidence.
pub fn evidence(what: impl Into<String>, value: f64, unit: Unit, source: &'static str) -> Evidence {
    Evidence { what: said(what.into(), || format!("{} of {source}", unit.name())), value, unit, source }
}

/// A cause with its numbers, to be completed with words, culprit and evidence.
pub fn found(ledger: &Ledger<'_, '_>, meta: &Meta, lost: (f64, f64)) -> Cause {
    Cause {
        id: meta.id,
        share: share(ledger, lost.0),
        lost_seconds: lost.0,
        interval: interval(ledger, lost),
        threads: ledger.account.threads,
        summary: String::new(),
        culprit: None,
        evidence: Vec::new(),
        remedies: Vec::new(),
        disproved_by: meta.disproved_by.to_owned(),
    }
}

/// A cause is not clear where much of such waiting is told as something from outside the program.
pub fn not_clear_beside(facts: &Facts<'_, '_>, why: Why, because: &str, outcome: Outcome) -> Outcome {
    let waited = |ledger: &Ledger<'_, '_>| large(ledger, ledger.sum(|id| id == LineId::Blocked(why)).0);
    match outcome {
        Outcome::Clear(_) if facts.in_order().into_iter().any(waited) => Outcome::Unsure(because.to_owned()),
        other => other,
    }
}

/// Looks for a cause that has lines in the account: at each count at which these are significant, `explain` says what
/// it is, or what is missing to call it found.
pub fn by_lines<'t>(
    facts: &Facts<'_, 't>,
    meta: &Meta,
    explain: impl Fn(&Facts<'_, 't>, &Ledger<'_, 't>, (f64, f64), &Meta) -> Result<Vec<Cause>, String>,
) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    let mut missing = None;
    for ledger in facts.in_order() {
        let lost = meta.charged(ledger);
        if !significant(ledger, lost) {
            continue;
        }
        if let Some(why) = contradicted(facts, meta, ledger) {
            missing = missing.or(Some(why));
            continue;
        }
        match explain(facts, ledger, lost, meta) {
            Ok(causes) if !causes.is_empty() => return Outcome::Found(causes),
            Ok(_) => {}
            Err(why) => missing = missing.or(Some(why)),
        }
    }
    missing.map_or_else(|| not_significant(facts, meta), Outcome::Unsure)
}

/// Why a small charge by samples does not count: at a larger count, the same is a gain as large as a loss has to be for a
/// cause. Where threads are in each other's way, more of them make nothing cheaper.
pub fn contradicted(facts: &Facts<'_, '_>, meta: &Meta, ledger: &Ledger<'_, '_>) -> Option<String> {
    let (charged, error) = meta.charged(ledger);
    if error <= 0.0 || charged > SMALL * ledger.account.capacity {
        return None;
    }
    let larger = facts.ledgers.iter().filter(|l| l.account.threads > ledger.account.threads && !facts.overtaken(l));
    let gain = larger.filter(|l| large(l, -meta.charged(l).0)).map(|l| l.account.threads).next()?;
    Some(format!(
        "{} is booked to it, but with {} it takes less than with the fewest: more runs would tell",
        in_proportion(ledger, charged),
        facts.counted().many(gain)
    ))
}

/// What is said about a cause whose lines are not significant at any count.
pub fn not_significant(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    match heaviest(facts, meta) {
        Some((ledger, charged)) if facts.any_loss() && large(ledger, charged) => Outcome::Unsure(format!(
            "{} is booked to it, which is within the noise: more or longer runs would tell",
            in_proportion(ledger, charged)
        )),
        _ => Outcome::Clear(format!("it takes less than {:.0} % of the capacity at every count", MIN_SHARE * 100.0)),
    }
}

/// The seconds of a line of an account, with the standard error from sampling.
pub fn line(ledger: &Ledger<'_, '_>, id: LineId) -> (f64, f64) {
    ledger.sum(|line| line == id)
}

/// The account in which a cause has the largest share of the capacity.
pub fn heaviest<'a, 't>(facts: &Facts<'a, 't>, meta: &Meta) -> Option<(&'a Ledger<'a, 't>, f64)> {
    let charged = facts.ledgers.iter().map(|l| (l, meta.charged(l).0));
    charged.max_by(|a, b| (a.1 / a.0.account.capacity).total_cmp(&(b.1 / b.0.account.capacity)))
}

/// A duration, rounded as a sentence needs it: `320 ms`, `1.5 s`.
pub fn duration(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 0.95e-3 => format!("{:.0} µs", seconds * 1e6),
        s if s < 0.0095 => format!("{:.1} ms", seconds * 1e3),
        s if s < 0.95 => format!("{:.0} ms", seconds * 1e3),
        s if s < 9.5 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// What every cause says that needs a traced run where there is none.
pub const NOT_TRACED: &str = "no run was traced, so nothing is known about where the time went";
