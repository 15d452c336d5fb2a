//! What the program would do without a cause: how many times as fast it would be, from its account.
//!
//! Rooms: `model` the arithmetic for one thread count; [`outside`] what others took. May import: `account`, `answer`, `causes`, `facts`,
//! `statistics`, `words`, `recording`.
//!
//! Nothing is predicted of runs that other programs disturbed, and of causes whose removal an account cannot tell.

mod model;
pub mod outside;

use crate::account::Ledger;
use crate::answer::{Cause, Foreseen, Removed, Verdict, WhatIf};
use crate::causes::{Meta, Removal};
use crate::facts::{Facts, share};
use crate::words::{is_about_one, said, two_digits};
use model::{Count, Taken};

/// Decides: whether nothing is predicted because the program runs hardly anything but the cause's code: more than this
/// share of its processor time at the baseline.
/// From: arithmetic: the speed without it is 1 over the rest, so that an error of 5 % in the share makes 25 % in the
/// speed.
/// Shown by: `nothing_is_predicted_where_little_is_left`.
/// Wrong if: the share is known more exactly than that, and the repair leaves nothing of the code.
const MOST_CODE: f64 = 0.8;

/// How much of a cause is removed: all of it, and half of it.
const PARTS: [f64; 2] = [1.0, 0.5];

/// What the program would do without the causes of its verdict.
pub fn what_if(facts: &Facts<'_, '_>, metas: &[&Meta], verdict: &Verdict) -> WhatIf {
    let base = facts.clean.base().and_then(|base| facts.ledgers.iter().find(|l| l.account.threads == base));
    let known: Vec<KnownCause<'_>> =
        verdict.causes.iter().enumerate().filter_map(|cause| known(metas, cause)).collect();
    let (Some(base), false) = (base.filter(|l| !l.traced.is_only_run), known.is_empty()) else {
        return WhatIf::default();
    };
    if let Some(refused) = disturbed(facts, base, &known) {
        return WhatIf { refused: Some(refused), removals: Vec::new() };
    }
    let mut removals = Vec::new();
    for cause in &known {
        removals.extend(PARTS.iter().filter_map(|part| removed(facts, base, &[*cause], *part)));
    }
    let focus = known.first().map(|first| first.cause.threads);
    let together: Vec<KnownCause<'_>> =
        known.iter().filter(|k| Some(k.cause.threads) == focus).take(2).copied().collect();
    if together.len() > 1 {
        removals.extend(removed(facts, base, &together, 1.0));
    }
    let refused = removals.is_empty().then(|| said(LITTLE_LEFT.to_owned(), String::new));
    WhatIf { refused, removals }
}

/// Why nothing is predicted where each cause's code is most of the program.
const LITTLE_LEFT: &str = "at the baseline the program runs hardly anything but what the cause is about: what would be \
                           left without it cannot be told";

/// A cause of the verdict whose removal can be predicted.
#[derive(Clone, Copy)]
struct KnownCause<'a> {
    number: usize,
    cause: &'a Cause,
    meta: &'a Meta,
}

fn known<'a>(metas: &[&'a Meta], (number, cause): (usize, &'a Cause)) -> Option<KnownCause<'a>> {
    let meta = metas.iter().find(|meta| meta.id == cause.id)?;
    (!matches!(meta.removal, Removal::Unknown)).then_some(KnownCause { number, cause, meta })
}

/// Why nothing can be predicted of a program that others disturbed, if they did.
fn disturbed<'t>(facts: &Facts<'_, 't>, base: &Ledger<'_, 't>, known: &[KnownCause<'_>]) -> Option<String> {
    let told = |l: &&Ledger<'_, '_>| known.iter().any(|k| k.cause.threads == l.account.threads);
    let why = outside::disturbed(facts.counted(), facts.ledgers.iter().filter(told).chain([base]))?;
    Some(said(format!("{why}: what a repair would bring cannot be told"), String::new))
}

fn removed<'t>(facts: &Facts<'_, 't>, base: &Ledger<'_, 't>, of: &[KnownCause<'_>], part: f64) -> Option<Removed> {
    let points: Vec<Foreseen> =
        facts.ledgers.iter().filter_map(|ledger| foreseen(facts, (ledger, base), of, part)).collect();
    let at_most = of.iter().any(|k| is_bound(k.meta));
    let threads = of.first()?.cause.threads;
    let point = points.iter().find(|p| p.threads == threads)?;
    let summary = said(sentence(facts, point, (of.len(), part), at_most), String::new);
    Some(Removed {
        causes: of.iter().map(|k| k.cause.id).collect(),
        numbers: of.iter().map(|k| k.number).collect(),
        part,
        at_most,
        points,
        summary,
    })
}

/// True where only an upper bound can be predicted.
fn is_bound(meta: &Meta) -> bool {
    !matches!(meta.removal, Removal::Time)
}

/// The speed at one thread count without (a part of) these causes.
fn foreseen<'t>(
    facts: &Facts<'_, 't>,
    (ledger, base): (&Ledger<'_, 't>, &Ledger<'_, 't>),
    of: &[KnownCause<'_>],
    part: f64,
) -> Option<Foreseen> {
    let count = Count::new(facts, ledger, base)?;
    let mut taken = Taken::new(part);
    for known in of {
        let (lost, error) = lost(facts, ledger, known)?;
        // At the baseline creating threads and waiting in loops may be a loss already.
        let in_loss = known.meta.charged(base).0 > 0.0;
        let code = own_code(facts, known.meta, (ledger, base));
        let losses = (share(ledger, lost), share(ledger, error));
        taken.add(losses, (code, in_loss), at_base(facts, base, known)?, is_bound(known.meta));
    }
    (taken.code <= MOST_CODE && taken.lost > 0.0).then(|| count.without(&taken))
}

/// Processor-seconds per unit of work that the cause takes at a count, and their standard error. Where the cause was
/// found at another count, all that its kind takes there is divided in the same proportion.
fn lost(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, known: &KnownCause<'_>) -> Option<(f64, f64)> {
    let own = facts.ledgers.iter().find(|l| l.account.threads == known.cause.threads)?;
    let (all, error) = known.meta.charged(own);
    let relative = if all > 0.0 { error / all } else { 0.0 };
    if own.account.threads == ledger.account.threads {
        return Some((known.cause.lost_seconds, relative * known.cause.lost_seconds));
    }
    let of_all = if all > 0.0 { (known.cause.lost_seconds / all).min(1.0) } else { 0.0 };
    let (here, error) = known.meta.charged(ledger);
    Some((here.max(0.0) * of_all, error * of_all))
}

/// The share of the capacity at the baseline that the cause takes there. Code that would not run is told apart.
fn at_base(facts: &Facts<'_, '_>, base: &Ledger<'_, '_>, known: &KnownCause<'_>) -> Option<f64> {
    match known.meta.removal {
        Removal::Code(_) => Some(0.0),
        Removal::Time | Removal::AtMost | Removal::Unknown => {
            let (lost, _) = lost(facts, base, known)?;
            Some((lost / base.account.capacity).clamp(0.0, 1.0)).filter(|share| share.is_finite())
        }
    }
}

/// The share of the processor time at the baseline that the cause's own code takes.
fn own_code<'t>(facts: &Facts<'_, 't>, meta: &Meta, (ledger, base): (&Ledger<'_, 't>, &Ledger<'_, 't>)) -> f64 {
    match meta.removal {
        Removal::Code(share) => share(facts, meta, ledger, base),
        Removal::Time | Removal::AtMost | Removal::Unknown => 0.0,
    }
}

fn sentence(facts: &Facts<'_, '_>, point: &Foreseen, (causes, part): (usize, f64), at_most: bool) -> String {
    let without = match causes {
        1 if part < 1.0 => "With half of it",
        1 => "Without it",
        _ => "Without both",
    };
    let with = facts.counted().many(point.threads);
    let speed = two_digits(point.times_as_fast);
    let (low, high) = (two_digits(point.interval.low), two_digits(point.interval.high));
    match at_most {
        _ if is_about_one(point.times_as_fast) => {
            format!("{without} the program would be about as fast with {with} as it is now.")
        }
        true => format!("{without} the program would be at most {speed} times as fast with {with} as it is now."),
        false => {
            format!("{without} the program would be {speed} times as fast with {with} as it is now ({low} to {high}).")
        }
    }
}
