//! `none`: no cause was found. Says how far the program scales, and what would limit it next.
//!
//! May import: `account`, `answer`, `facts`, `model`, `scaling`, `shared`, `statistics`, `words`, `recording`.

mod mostly_waiting;
mod next_limit;
mod small_loss;

pub use small_loss::{LARGEST, SCALES, nearly_ideal};

use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Evidence, Interval, Point, Unit, Verdict};
use crate::causes::shared::blame::by_weight;
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::facts::{Facts, large};
use crate::statistics::MIN_SHARE;
use crate::words::percent;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const NONE: CauseId = CauseId::new("none");
}

impl Cause {
    /// False for `none`, which says that nothing was found.
    pub fn is_found(&self) -> bool {
        self.id != CauseId::NONE
    }
}

impl Verdict {
    /// The causes that were found, without `none`.
    pub fn found(&self) -> impl DoubleEndedIterator<Item = &Cause> {
        self.causes.iter().filter(|cause| cause.is_found())
    }
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::NONE,
    colour: "var(--unknown)",
    title: "Nothing found",
    what: "No cause was found: the program uses the processors that it has, or what it loses is not explained.",
    why: "Where nothing is lost, only more processors or less work make it faster.",
    example: "Threads that share nothing, as many as there are processors.",
    disproved_by: "A change of the program, at the same thread count and on the same machine, that makes it clearly \
                   faster without doing less work.",
    lines: |_| None,
    hides_in: &[],
    may_be_in: &[],
    standing: shared::Standing::Neither,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge: |facts, _| Outcome::Found(vec![conclude(facts)]),
};

/// The cause that stands for the absence of causes.
pub fn conclude(facts: &Facts<'_, '_>) -> Cause {
    // A loss without a proven cause is told for the count that has it.
    let lossy = facts.focus();
    let point = match lossy {
        Some(ledger) => facts.points.iter().find(|p| p.threads == ledger.account.threads),
        None => {
            let within = facts.points.iter().rfind(|p| p.threads <= facts.processors);
            let overtaken =
                |p: &Point| facts.ledgers.iter().any(|l| l.account.threads == p.threads && facts.overtaken(l));
            let fastest = || facts.points.iter().max_by(|a, b| a.speedup.total_cmp(&b.speedup));
            if within.is_some_and(overtaken) { fastest() } else { within.or(facts.points.first()) }
        }
    };
    let traced = lossy.or(facts.ledgers.first()).map_or(1, |l| l.account.threads);
    let threads = point.map_or(traced, |p| p.threads);
    let with = facts.counted().many(threads);
    let mut rows = vec![evidence("processors", f64::from(facts.processors), Unit::Of("processors"), "meta")];
    if let Some(point) = point {
        rows.push(evidence(format!("speed-up with {with}"), point.speedup, Unit::Ratio, "runs"));
        rows.push(evidence(format!("efficiency with {with}"), point.efficiency, Unit::Share, "runs"));
    }
    if let Some(ledger) = lossy {
        let what = format!("processor time lost with {with}");
        rows.push(evidence(what, ledger.own_loss() / ledger.account.capacity, Unit::Share, "runs"));
    }
    if let Some(ledger) = facts.ledgers.iter().find(|l| l.account.threads == threads) {
        rows.extend(besides(ledger));
    }
    Cause {
        id: CauseId::NONE,
        share: 0.0,
        lost_seconds: 0.0,
        interval: Interval { low: 0.0, high: 0.0 },
        threads,
        summary: summary(facts, threads),
        culprit: None,
        evidence: rows,
        remedies: Vec::new(),
        disproved_by: match facts.ledgers.is_empty() {
            // Nothing is claimed.
            true => String::new(),
            false => META.disproved_by.to_owned(),
        },
    }
}

/// A count keeps more processors busy than it has threads if there are more than this many times as many busy
/// processors as threads.
///
/// Decides: whether an answer without a cause says that the baseline already uses several processors.
/// From: chosen: in most programs a runtime's own threads take less than a quarter of a processor beside one thread.
/// Wrong if: a garbage collector takes more: the answer then says so although the program's own threads do not use
/// these processors.
const BUSIER: f64 = 1.25;

/// What keeps the processors busy besides code of the program and its libraries, largest first: less of it would make
/// the program faster at any thread count. Shares below the smallest loss that is called a cause are left out.
fn besides(ledger: &Ledger<'_, '_>) -> Vec<Evidence> {
    let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
    for (doing, samples) in &ledger.profile.counts {
        let group = match doing {
            Doing::Collector => "garbage collection",
            Doing::Compiling => "the runtime's compiler",
            Doing::Allocator(_) => "the memory allocator",
            Doing::Creation => "creating and ending threads",
            Doing::Synchronising(_) | Doing::KernelLock => "lock and futex code",
            Doing::Fault => "page faults",
            Doing::Call(_) => "system calls",
            Doing::Spinning => "loops that wait for another thread",
            Doing::Sharing(_) | Doing::Interrupt | Doing::Function(..) | Doing::Unknown => continue,
        };
        *groups.entry(group).or_default() += samples;
    }
    let share = |samples: u64| samples as f64 / ledger.profile.total.max(1) as f64;
    let large = by_weight(groups.into_iter().map(|(group, samples)| (group, share(samples))).collect());
    let large = large.into_iter().filter(|(_, share)| *share >= MIN_SHARE);
    large.map(|(group, share)| evidence(format!("processor time in {group}"), share, Unit::Share, "samples")).collect()
}

/// A loss that is large enough for a cause but not certain: at a count within the processors, or at any count where only
/// the baseline is within them.
fn uncertain(facts: &Facts<'_, '_>) -> Option<String> {
    let more = || facts.ledgers.iter().skip(1).filter(|l| !facts.overtaken(l));
    let within = || more().filter(|l| l.account.threads <= facts.processors);
    let any = within().next().is_none();
    let ledger =
        more().rev().filter(|l| any || l.account.threads <= facts.processors).find(|l| large(l, l.own_loss()))?;
    let with = facts.counted().many(ledger.account.threads);
    let tell = "more runs, or a quieter machine, would tell";
    Some(match small_loss::scales_everywhere(facts) {
        true => format!("It scales; what it may lose with {with} is within the noise of these runs: {tell}."),
        false => format!("Too noisy to tell whether anything is lost with {with}: {tell}."),
    })
}

/// The sentence for a baseline that keeps more processors busy than it has threads: the speed-up then cannot
/// reach the number of processors.
fn busy_already(facts: &Facts<'_, '_>) -> String {
    let first = facts.points.first().filter(|first| first.processors_used > BUSIER * f64::from(first.threads));
    let told = first.filter(|first| first.threads < facts.processors).map(|first| {
        let with = facts.counted().many(first.threads);
        format!(": with {with} it keeps {:.1} of them busy already", first.processors_used)
    });
    told.unwrap_or_default()
}

fn summary(facts: &Facts<'_, '_>, threads: u32) -> String {
    if facts.ledgers.is_empty() {
        return "No run was traced, so what limits the program is not known.".to_owned();
    }
    let alone = facts.ledgers.iter().any(|l| l.traced.is_only_run);
    let Some(ledger) = facts.focus() else {
        if alone {
            return "The program keeps its processors busy; whether more would help shows only in a sweep.".to_owned();
        }
        if let Some(waits) = mostly_waiting::sentence(facts, threads) {
            return waits;
        }
        if let Some(open) = uncertain(facts) {
            return open;
        }
        return match threads < facts.processors {
            true => format!(
                "Up to {} nothing limits it; more of the {} processors could be tried.",
                facts.counted().many(threads),
                facts.processors
            ),
            false => {
                let next = next_limit::sentence(facts).map(|next| format!(" {next}")).unwrap_or_default();
                let busy = busy_already(facts);
                format!("Nothing but the number of processors ({}) limits it{busy}.{next}", facts.processors)
            }
        };
    };
    // Losses from outside the program are told elsewhere.
    let mut own = ledger.account.lines.iter().filter(|line| !line.id.is_outside());
    let largest = own.find(|l| l.seconds > ledger.account.unexplained.max(0.0));
    let part = |seconds: f64| percent(seconds / ledger.account.capacity);
    let mostly = match largest {
        Some(line) if line.id == LineId::Noise => {
            "it is spread over changes that are each within the sampling error".to_owned()
        }
        Some(line) if !large(ledger, line.seconds) => {
            format!("no single part of it is larger than {}", part(line.seconds))
        }
        Some(line) => format!("the largest part, {}: {}", part(line.seconds), (facts.named)(facts.model, line.id)),
        None => format!("the largest part, {}, is not explained", part(ledger.account.unexplained)),
    };
    let of = if alone { String::new() } else { format!(" with {}", facts.counted().many(ledger.account.threads)) };
    let but = if !alone && small_loss::scales_openly(facts, ledger) { "It scales; " } else { "" };
    let lost = part(ledger.own_loss());
    format!("{but}{lost} of the processor time{of} is lost, and no cause is proven; {mostly}.")
}

#[cfg(test)]
mod sketches;
