//! `page-fault`: time goes into mapping, clearing or copying pages of memory.
//!
//! Evidence: CPU time in the kernel's fault handling beyond that of the baseline, waits for pages that need no
//! device, and the places whose code causes the faults. Faults inside the allocator belong to `allocator`, faults that
//! read from a device to `io-wait`.
//!
//! May import: `account`, `answer`, `facts`, `model`, `shared`.

use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Evidence, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named, on_cpu, sources};
use crate::causes::shared::{self, Meta, by_lines, evidence, found, hidden};
use crate::facts::Facts;
use crate::model::stack_view::View;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const PAGE_FAULT: CauseId = CauseId::new("page-fault");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::PAGE_FAULT,
    colour: "#d9b98c",
    title: "Page faults",
    what: "Time goes to bringing in, clearing or copying pages of memory.",
    why: "Each first touch of a page enters the kernel, which clears or copies it and changes the page table.",
    example: "Every thread allocates and frees large buffers again and again.",
    disproved_by: "Touch the memory before the measured part: if the time does not fall, faults are not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Fault) => "waiting for pages",
            LineId::Fault => "page faults in the kernel",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS_AND_RUNS,
    may_be_in: &[],
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::Code(shared::removal::own_lines),
    samples_needed: shared::UNSEEN,
    judge: |facts, meta| by_lines(facts, meta, explain),
};

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let view = |stack| facts.model.stacks.view(stack, false);
    let sites = ledger.traced.fault_sites.iter().map(|s| (view(s.user_stack), s.sampled as f64 * s.period as f64));
    let mut views: Vec<(View, f64)> = sites.filter(|(view, _)| view.theme.is_none()).collect();
    if views.is_empty() {
        views = sources(facts, ledger, |w| w == Why::Fault, |d| d == Doing::Fault);
    }
    let who = culprit(&views, Blamed::Own);
    let at = who.as_ref().map(|c| format!(", most at {}", named(c))).unwrap_or_default();
    Ok(vec![Cause {
        summary: format!("Time goes to page faults: memory that is touched for the first time{at}."),
        culprit: who,
        evidence: rows(facts, ledger),
        remedies: vec![
            "reuse buffers instead of allocating and freeing them; keep freed memory in the process".to_owned(),
            "fault in advance, outside the hot part: MAP_POPULATE, madvise(MADV_POPULATE_WRITE)".to_owned(),
            "use larger pages: madvise(MADV_HUGEPAGE), or an allocator that does".to_owned(),
        ],
        ..found(ledger, meta, lost)
    }])
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> Vec<Evidence> {
    let per_unit = |l: &Ledger<'_, 't>| l.traced.run.minor_faults as f64 / l.work;
    let mut rows = vec![evidence("page faults per unit of work", per_unit(ledger), Unit::Of("faults"), "runs")];
    if let Some(base) = facts.ledgers.first().filter(|b| b.account.threads < ledger.account.threads) {
        let what = format!("page faults per unit of work with {}", facts.counted().many(base.account.threads));
        rows.push(evidence(what, per_unit(base), Unit::Of("faults"), "runs"));
    }
    let kernel = on_cpu(ledger, |d| d == Doing::Fault);
    rows.push(evidence("CPU time in page faults", kernel, Unit::Seconds, "samples"));
    let faults = ledger.traced.run.minor_faults as f64;
    if faults > 0.0 && kernel > 0.0 {
        rows.push(evidence("CPU time of one fault", kernel * 1e6 / faults, Unit::Microseconds, "samples"));
    }
    rows
}

#[cfg(test)]
mod sketches;
