//! `kernel-lock`: threads wait for a lock that the kernel takes on their behalf.
//!
//! Evidence: idle capacity charged to waits for kernel locks, CPU time spent taking them, and the table of locks: which
//! one, in which system call or page fault, called from where.
//!
//! May import: `account`, `answer`, `facts`, `model`, `runtimes`, `shared`, `statistics`, `words`, `recording`.

mod known;

use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Culprit, Evidence, Unit};
use crate::causes::shared::blame::{Blamed, by_weight, culprit, on_cpu, sources, waits};
use crate::causes::shared::{self, Meta, by_lines, evidence, found, hidden};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::stack_view::View;
use crate::runtimes::kernel::{self, KernelObject};
use crate::statistics::MIN_SHARE;
use crate::words::listed;
use known::Way;
use recording::tables::KernelLock;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const KERNEL_LOCK: CauseId = CauseId::new("kernel-lock");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::KERNEL_LOCK,
    colour: "#d55e4a",
    title: "A lock inside the kernel",
    what: "Threads wait for a lock that the kernel takes on their behalf.",
    why: "System calls and page faults of one process, or on one file, run one after another.",
    example: "Threads that map and unmap memory wait for the process's memory-map lock.",
    disproved_by: "Avoid the system calls or faults that take the lock: if the time does not fall, it is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::KernelLock) => "waiting for kernel locks",
            LineId::KernelLock => "getting kernel locks",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS_AND_RUNS,
    may_be_in: &[],
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::Code(shared::removal::same_callers),
    samples_needed: shared::UNSEEN,
    judge: |facts, meta| by_lines(facts, meta, explain),
};

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let locks = Locks::new(facts, ledger);
    let views = match locks.views.is_empty() {
        true => sources(facts, ledger, |w| w == Why::KernelLock, |d| d == Doing::KernelLock),
        false => locks.views.clone(),
    };
    let mut who: Option<Culprit> = culprit(&views, Blamed::Own);
    let name = locks.name.clone().or_else(|| named_by_waits(ledger));
    if let Some(who) = &mut who {
        who.object.clone_from(&name);
    }
    let object = name.as_deref().and_then(kernel::object);
    let ways: Vec<Way> = locks.main_ways().map(|(way, _)| *way).collect();
    Ok(vec![Cause {
        summary: summary(facts, who.as_ref(), (object, name.as_deref()), &ways),
        culprit: who,
        evidence: rows(facts, ledger, &locks),
        remedies: known::remedies(object, &ways, &facts.model.numbers),
        ..found(ledger, meta, lost)
    }])
}

/// The kernel locks of a run, summed up, without those taken by the allocator or by thread creation.
#[derive(Default)]
struct Locks<'t> {
    /// The lock with most waiting time.
    name: Option<String>,
    /// For that lock: the system calls and faults that took it, with the seconds waited.
    ways: Vec<(Way, f64)>,
    /// For that lock: where it was taken, with weights.
    views: Vec<(View<'t>, f64)>,
    /// For that lock: waits, seconds waited, seconds of these blocked, longest wait in seconds.
    waits: f64,
    waited: f64,
    blocked: f64,
    longest: f64,
    /// Seconds waited for other locks.
    others: f64,
}

impl<'t> Locks<'t> {
    /// The main ways to the lock. Ways with less waiting than makes a cause are left out: changing them would gain
    /// nothing.
    fn main_ways(&self) -> impl Iterator<Item = &(Way, f64)> {
        self.ways.iter().take(3).filter(|(_, seconds)| *seconds > MIN_SHARE * self.waited)
    }

    fn new(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Locks<'t> {
        let view = |l: &KernelLock| facts.model.stacks.view(l.user_stack, l.syscall.is_some());
        let futex = facts.model.numbers.futex;
        let rows: Vec<&KernelLock> = ledger
            .traced
            .kernel_locks
            .iter()
            .copied()
            .filter(|l| l.syscall != Some(futex) && view(l).theme.is_none())
            .collect();
        let mut waited: BTreeMap<&str, f64> = BTreeMap::new();
        for row in &rows {
            *waited.entry(row.lock.as_str()).or_default() += row.waited_ns as f64 * 1e-9;
        }
        let all: f64 = waited.values().sum();
        let Some((name, most)) = by_weight(waited).into_iter().next().filter(|(_, s)| *s > 0.0) else {
            return Locks::default();
        };
        let mut locks = Locks { name: Some(name.to_owned()), others: all - most, waited: most, ..Locks::default() };
        let mut ways: BTreeMap<Way, f64> = BTreeMap::new();
        for row in rows.iter().filter(|r| r.lock == name) {
            let seconds = row.waited_ns as f64 * 1e-9;
            let way = row.syscall.map_or(Way::Fault, Way::Call);
            *ways.entry(way).or_default() += seconds;
            if row.user_stack.is_some() {
                locks.views.push((view(row), seconds));
            }
            locks.waits += row.count as f64;
            locks.blocked += row.blocked_ns as f64 * 1e-9;
            locks.longest = locks.longest.max(row.longest_ns as f64 * 1e-9);
        }
        locks.ways = by_weight(ways);
        locks
    }
}

/// The lock's name in the table of waits.
fn named_by_waits(ledger: &Ledger<'_, '_>) -> Option<String> {
    let mut names: BTreeMap<&str, f64> = BTreeMap::new();
    for (wait, seconds) in waits(ledger, |w| w == Why::KernelLock) {
        if let Some(what) = &wait.what {
            *names.entry(what.as_str()).or_default() += seconds;
        }
    }
    by_weight(names).into_iter().next().map(|(name, _)| name.to_owned())
}

/// A way in words.
fn called(facts: &Facts<'_, '_>, way: Way) -> String {
    match way {
        Way::Fault => "page faults".to_owned(),
        Way::Call(number) => facts.model.call_name(number),
    }
}

fn summary(
    facts: &Facts<'_, '_>,
    culprit: Option<&Culprit>,
    (object, name): (Option<KernelObject>, Option<&str>),
    ways: &[Way],
) -> String {
    let lock = match (object, name) {
        (Some(object), Some(name)) => format!("{} ({name})", known::meaning(object)),
        (None, Some(name)) => format!("a lock inside the kernel ({name})"),
        _ => "a lock inside the kernel".to_owned(),
    };
    // Singular for one system call; plural for several, and for page faults.
    let take = if ways.len() == 1 && !ways.contains(&Way::Fault) { "takes" } else { "take" };
    let ways: Vec<String> = ways.iter().map(|way| called(facts, *way)).collect();
    let through = if ways.is_empty() { String::new() } else { format!(", which {} {take}", listed(&ways)) };
    let at = culprit.and_then(|c| c.callers.first()).map(|s| format!(", called from {}", place(s))).unwrap_or_default();
    format!("Threads wait for {lock}{through}{at}.")
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, locks: &Locks<'t>) -> Vec<Evidence> {
    let mut rows = Vec::new();
    if locks.name.is_some() {
        rows.push(evidence("times a thread waited for the lock", locks.waits, Unit::Of("waits"), "kernel_locks"));
        rows.push(evidence("time waited, all threads", locks.waited, Unit::Seconds, "kernel_locks"));
        rows.push(evidence("of that, off the processor", locks.blocked, Unit::Seconds, "kernel_locks"));
        rows.push(evidence("longest wait", locks.longest, Unit::Seconds, "kernel_locks"));
    } else {
        let blocked: f64 = waits(ledger, |w| w == Why::KernelLock).map(|(w, _)| w.blocked_ns as f64 * 1e-9).sum();
        rows.push(evidence("time blocked, all threads", blocked, Unit::Seconds, "waits"));
    }
    rows.extend(
        locks
            .main_ways()
            .map(|(way, s)| evidence(format!("waited in {}", called(facts, *way)), *s, Unit::Seconds, "kernel_locks")),
    );
    if locks.others > 0.0 {
        rows.push(evidence("time waited for other locks of the kernel", locks.others, Unit::Seconds, "kernel_locks"));
    }
    rows.push(evidence(
        "CPU time spent getting locks",
        on_cpu(ledger, |d| d == Doing::KernelLock),
        Unit::Seconds,
        "samples",
    ));
    rows
}

#[cfg(test)]
mod sketches;
