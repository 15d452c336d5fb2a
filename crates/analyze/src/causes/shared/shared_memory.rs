//! What false sharing, true sharing and waiting loops have in common: how memory is named, and what stays open.

use super::{Meta, slower_code};
use crate::account::Ledger;
use crate::facts::{Facts, has_loss, in_proportion, large};
use crate::model::code::{Owner, file_name};
use crate::sharing::{LINE, Use};
use crate::statistics::NORMAL_95;
use recording::tables::{Region, Variable};
use recording::{FrameId, RunId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes at an address of a run in words: `total`, `counters[3].value`, `bytes 8 to 15 of counters`,
/// `struct stats.hits`, `struct stats +8`, an address.
pub(crate) fn bytes(facts: &Facts<'_, '_>, run: RunId, address: u64, width: u64) -> String {
    let last = |first: u64| first.saturating_add(width.max(1) - 1);
    let range = |first: u64| match width {
        0 | 1 => format!("byte {first}"),
        _ => format!("bytes {first} to {}", last(first)),
    };
    match facts.model.sharing.variable(run, address) {
        Some(Variable { name: Some(name), member: Some(member), .. }) => format!("{name}{member}"),
        Some(Variable { name: Some(name), offset: Some(0), size: Some(size), .. }) if *size <= width => name.clone(),
        Some(Variable { name: Some(name), offset: Some(offset), .. }) => format!("{} of {name}", range(*offset)),
        // Objects of one type differ only in their addresses; the caller tells them apart where that matters.
        Some(Variable { type_name: Some(of), member, offset: Some(offset), size: Some(size), .. }) => match member {
            Some(member) => format!("{of}{member}"),
            None if *offset > 0 && *size > width => format!("{of} +{offset}"),
            None => of.clone(),
        },
        Some(Variable { region: Region::Heap, .. }) => format!("{address:#x} (heap)"),
        Some(Variable { region: Region::Stack, .. }) => format!("{address:#x} (a thread's stack)"),
        Some(Variable { region: Region::Global, module: Some(module), .. }) => {
            format!("{address:#x} (a variable of {})", file_name(module))
        }
        _ => format!("{address:#x}"),
    }
}

/// What is known about memory without a name.
fn unnamed(facts: &Facts<'_, '_>, run: RunId, address: u64) -> Option<String> {
    match facts.model.sharing.variable(run, address) {
        Some(Variable { name: Some(_), .. } | Variable { type_name: Some(_), .. }) => None,
        Some(Variable { region: Region::Heap, .. }) => Some("memory on the heap".to_owned()),
        Some(Variable { region: Region::Stack, .. }) => Some("memory on a thread's stack".to_owned()),
        Some(Variable { region: Region::Global, module: Some(module), .. }) => {
            Some(format!("a variable of {}", file_name(module)))
        }
        _ => Some("memory without a name".to_owned()),
    }
}

/// A place in a cache line that threads use.
pub(crate) struct LinePart {
    /// In words that tell it from the other places of the line.
    pub(crate) name: String,
    /// The same without an address: equal for the same member of several objects.
    pub(crate) plain: String,
    /// Whether it has its own name, not just that of the memory around it.
    pub(crate) named: bool,
    /// First byte, in the line.
    pub(crate) offset: u64,
    /// Who uses it.
    pub(crate) threads: Vec<ThreadId>,
    /// Samples.
    pub(crate) samples: usize,
}

/// What threads of a run use in a line, most samples first.
pub(crate) fn places<'u>(
    facts: &Facts<'_, '_>,
    run: RunId,
    line: u64,
    uses: impl Iterator<Item = &'u Use<'u>>,
) -> Vec<LinePart> {
    let mut places: BTreeMap<(u64, u64), (Vec<ThreadId>, usize)> = BTreeMap::new();
    for used in uses {
        let place = places.entry((used.offset, used.width)).or_default();
        place.0.push(used.thread);
        place.1 += used.samples().max(1);
    }
    let at = |offset: u64| line.saturating_add(offset.min(LINE));
    let mut same: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (offset, width) in places.keys() {
        same.entry(bytes(facts, run, at(*offset), *width)).or_default().insert(*offset);
    }
    let mut named: Vec<LinePart> = places
        .into_iter()
        .map(|((offset, width), (threads, samples))| {
            let whole = bytes(facts, run, at(offset), width);
            // The same member of several objects.
            let several = same.get(&whole).is_some_and(|offsets| offsets.len() > 1);
            let name = if several { format!("{whole} at {:#x}", at(offset)) } else { whole.clone() };
            let unnamed = unnamed(facts, run, at(offset));
            LinePart { name, named: unnamed.is_none(), plain: unnamed.unwrap_or(whole), offset, threads, samples }
        })
        .collect();
    named.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
    named
}

/// The name of a thread of a run with its number: `worker (4711)`.
pub(crate) fn thread(ledger: &Ledger<'_, '_>, thread: ThreadId) -> String {
    ledger.traced.threads.get(&thread).map_or_else(|| thread.to_string(), |row| format!("{} ({})", row.name, row.tid))
}

/// The source line of an instruction; the program's line where library code was inlined into it.
pub(crate) fn source(facts: &Facts<'_, '_>, frame: FrameId) -> Option<crate::answer::Site> {
    let codes = facts.model.stacks.code(frame);
    let own = codes.iter().find(|code| code.owner == Owner::Own);
    own.or(codes.first()).map(crate::model::code::Code::site)
}

/// Where a cause of this kind shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// In the instructions of the sampled code.
    InCode,
    /// At cache lines that several threads were sampled at.
    AtLines,
}

/// Why a cause of this kind cannot be excluded although nothing was found; `None` when it can be excluded.
pub(crate) fn open(facts: &Facts<'_, '_>, meta: &Meta, evidence: Shows) -> Option<String> {
    // Time that the account itself books to the cause, such as sched_yield to spinning.
    let booked = |l: &&Ledger| {
        let (seconds, error) = meta.charged(l);
        large(l, seconds) && seconds > NORMAL_95 * error
    };
    if let Some(ledger) = facts.in_order().into_iter().find(booked) {
        let largest = ledger.account.lines.iter().find(|l| meta.claims(l.id));
        let largest = largest.map_or_else(String::new, |l| meta.words(facts.model, l.id));
        let missing = match () {
            () if !has_loss(ledger) => {
                "the times of the runs scatter too much to show a loss: more or longer runs would tell"
            }
            () if evidence == Shows::InCode => "which loop waits for what is not proven",
            () => "it is not certain in spite of sampling: longer runs would tell",
        };
        return Some(format!(
            "the account books {} to it ({largest}); {missing}",
            in_proportion(ledger, meta.charged(ledger).0)
        ));
    }
    if facts.model.sharing.observed {
        // Waiting loops show in the code itself. A shared line shows only if several threads were sampled at it: where
        // other programs kept them apart, or samples were few, no line was nominated, which proves nothing.
        let slower = slower_code::open(facts).filter(|_| evidence == Shows::AtLines)?;
        return Some(format!("{slower}; no cache line was seen there that threads share"));
    }
    let open = slower_code::open(facts).or_else(|| unexplained(facts))?;
    Some(format!("{open}; what would tell sharing and spinning from slower work is missing"))
}

/// An unexplained loss, which may hide anything.
fn unexplained(facts: &Facts<'_, '_>) -> Option<String> {
    let open = |l: &&Ledger| has_loss(l) && large(l, l.account.unexplained);
    let ledger = facts.ledgers.iter().find(open)?;
    Some(format!("{} stays unexplained", in_proportion(ledger, ledger.account.unexplained)))
}

/// Clean seconds per unit of work that this many samples of a run stand for, as in the lines.
pub(crate) fn seconds(ledger: &Ledger<'_, '_>, samples: u64) -> f64 {
    crate::causes::shared::blame::seconds_a_sample(ledger) * samples as f64 * ledger.on_cpu_scale
}
