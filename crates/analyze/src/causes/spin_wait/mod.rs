//! `spin-wait`: threads read a variable again and again until another thread writes it.
//!
//! Evidence: samples in small loops that only read (no store, nothing carried from round to round), and breakpoints
//! that saw another thread write what they read.
//!
//! May import: `account`, `answer`, `facts`, `model`, `shared`, `sharing`.

use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Evidence, Unit};
use crate::causes::shared::blame::{Blamed, by_weight, culprit, named, sources};
use crate::causes::shared::shared_memory::{Shows, bytes, open, seconds, source};
use crate::causes::shared::{self, Meta, NOT_TRACED, Outcome, by_lines, evidence, found};
use crate::facts::{Facts, has_loss, in_proportion, large};
use crate::model::code::place;
use crate::sharing::Waiting;
use std::collections::BTreeMap;

/// How many loops are listed one by one.
///
/// Decides: how many loops an answer lists, and how many writers of each.
/// From: chosen; no measurement.
/// Wrong if: threads wait equally long in four loops, and the fourth is the one that is easy to change.
const TOLD: usize = 3;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const SPIN_WAIT: CauseId = CauseId::new("spin-wait");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::SPIN_WAIT,
    colour: "#e07f73",
    title: "Waiting in a loop",
    what: "Threads wait by reading a variable again and again.",
    why: "It looks like work, uses a processor, and slows the thread that is waited for.",
    example: "A worker loops until the row above it is finished.",
    disproved_by: "Count the iterations of each wait: if most waits end after a few, this loop is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Spinning => "waiting in loops",
            LineId::Yielding => "kernel time in sched_yield",
            _ => return None,
        })
    },
    hides_in: &[],
    may_be_in: shared::hidden::CODE,
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::AtMost,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    let found = by_lines(facts, meta, |facts, ledger, lost, meta| {
        let loops = confirmed_loops(facts, ledger);
        if loops.is_empty() {
            return Err(suspected(facts).or_else(|| open(facts, meta, Shows::InCode)).unwrap_or_default());
        }
        Ok(vec![cause(facts, ledger, &loops, lost, meta)])
    });
    match found {
        Outcome::Clear(_) => match suspected(facts).or_else(|| open(facts, meta, Shows::InCode)) {
            Some(open) => Outcome::Unsure(open),
            None if facts.ledgers.iter().any(|l| l.traced.is_only_run) && !facts.model.sharing.observed => {
                Outcome::Unsure(
                    "the code was not looked at, and whether it gets slower beside other threads shows only in a sweep"
                        .to_owned(),
                )
            }
            None => found,
        },
        other => other,
    }
}

/// The confirmed loops of a run, most samples first.
fn confirmed_loops<'a, 't>(facts: &Facts<'a, 't>, ledger: &Ledger<'_, 't>) -> Vec<&'a Waiting<'t>> {
    let run = ledger.traced.run.run;
    let loops = facts.model.sharing.loops.iter().filter(|one| one.run == run && !one.writers.is_empty());
    let mut loops: Vec<&Waiting> = loops.collect();
    loops.sort_by_key(|one| (std::cmp::Reverse(one.samples()), one.frame));
    loops
}

/// Loops that look like waiting, but whose variable no thread was seen to write.
fn suspected(facts: &Facts<'_, '_>) -> Option<String> {
    facts.in_order().into_iter().filter(|l| has_loss(l)).find_map(|ledger| {
        let run = ledger.traced.run.run;
        let loops = facts.model.sharing.loops.iter().filter(|one| one.run == run && one.writers.is_empty());
        let heaviest = loops.max_by_key(|one| one.samples())?;
        let spent = seconds(ledger, heaviest.samples());
        let at = source(facts, heaviest.frame).map_or_else(|| "a place without a name".to_owned(), |site| place(&site));
        large(ledger, spent).then(|| {
            format!(
                "{} is spent in a loop at {at} that does nothing but look; no other thread was seen to write what it \
                 looks at",
                in_proportion(ledger, spent)
            )
        })
    })
}

fn cause<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    loops: &[&Waiting<'_>],
    lost: (f64, f64),
    meta: &Meta,
) -> Cause {
    let first = loops.first();
    let site = first.and_then(|one| source(facts, one.frame));
    let awaited = first.and_then(|one| address(facts, one));
    let mut who = culprit(&sources(facts, ledger, |_| false, |doing| doing == Doing::Spinning), Blamed::Own);
    let inside = first.is_some_and(|one| {
        facts.model.stacks.code(one.frame).iter().all(|code| code.owner != crate::model::code::Owner::Own)
    });
    let mut at = site.as_ref().map_or_else(|| "a place without a name".to_owned(), place);
    match (&mut who, &site) {
        // For a loop inside a library, the program's line is what can be changed.
        (Some(who), Some(_)) if inside => at = format!("{at}, called from {}", named(who)),
        (Some(who), Some(site)) => {
            (who.function, who.module) = (site.function.clone(), site.module.clone());
            (who.file, who.path, who.line) = (site.file.clone(), site.path.clone(), site.line);
        }
        _ => {}
    }
    if let Some(who) = &mut who {
        who.object = first.and_then(|one| one.addresses.first()).map(|address| format!("{address:#x}"));
        who.object_name.clone_from(&awaited);
    }
    let writer = first.and_then(|one| writers(facts, one).into_iter().next()).map(|(line, _)| line);
    let until = match (writer, awaited) {
        (Some(line), Some(name)) => format!(" until {line} writes to {name}"),
        (Some(line), None) => format!(" until {line} writes to memory"),
        (None, Some(name)) => format!(" until {name} changes"),
        (None, None) => String::new(),
    };
    Cause {
        summary: format!("Threads wait in a loop at {at}{until}."),
        evidence: rows(facts, ledger, loops),
        remedies: vec![
            "let the waiting thread sleep: a condition variable, a semaphore, a futex, a queue that blocks".to_owned(),
            "or wait less: give a thread more work between two waits".to_owned(),
            "if the loop must stay: put a pause into it, and never run more threads than processors".to_owned(),
        ],
        culprit: who,
        ..found(ledger, meta, lost)
    }
}

/// What a loop waits for, in words.
fn address(facts: &Facts<'_, '_>, one: &Waiting<'_>) -> Option<String> {
    let (first, others) = (one.addresses.first()?, one.addresses.len() - 1);
    let width = one.rows.first().map_or(0, |row| u64::from(row.width));
    let name = bytes(facts, one.run, *first, width);
    Some(if others == 0 { name } else { format!("{name} (one of {} such objects)", others + 1) })
}

/// Who writes what a loop waits for, by line of source, most writes first.
fn writers(facts: &Facts<'_, '_>, one: &Waiting<'_>) -> Vec<(String, f64)> {
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    for row in &one.writers {
        let site = row.frame.and_then(|frame| source(facts, frame));
        let line = site.map_or_else(|| "a place without a name".to_owned(), |site| place(&site));
        *lines.entry(line).or_default() += row.hits as f64;
    }
    by_weight(lines)
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, loops: &[&Waiting<'_>]) -> Vec<Evidence> {
    let mut rows = Vec::new();
    for one in loops.iter().take(TOLD) {
        let at = source(facts, one.frame).map_or_else(|| "a place without a name".to_owned(), |site| place(&site));
        let spent = shared::blame::seconds_a_sample(ledger) * one.samples() as f64;
        rows.push(evidence(format!("CPU time in the loop at {at}"), spent, Unit::Seconds, "spins"));
        let threads = one.threads().len();
        rows.push(evidence("threads that waited there".to_owned(), threads as f64, Unit::Of("threads"), "spins"));
        for (line, writes) in writers(facts, one).into_iter().take(TOLD) {
            let what = format!("writes in {line} to what is waited for there, seen by breakpoints");
            rows.push(evidence(what, writes, Unit::Of("writes"), "confirmations"));
        }
    }
    rows
}

#[cfg(test)]
mod sketches;
