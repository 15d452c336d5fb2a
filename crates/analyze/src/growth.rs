//! What takes more per unit of work with more threads.

use crate::amounts::{Amounts, Item, amounts};
use crate::answer::{At, Growth, Kind};
use crate::facts::Facts;
use crate::statistics::NORMAL_95;
use std::collections::{BTreeMap, BTreeSet};

/// How many rows of each kind are kept: those that grow most.
///
/// Decides: how many functions, locks, system calls and losses `growth` lists.
/// From: chosen; no measurement.
/// Wrong if: more than twenty functions each grow a little, and what they have in common shows only in those left out.
const MOST: usize = 20;

/// Seconds that samples stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledSeconds {
    /// All of them.
    pub seconds: f64,
    /// How many one sample stands for.
    pub each: f64,
}

impl SampledSeconds {
    /// The standard error of n samples is √n; s seconds at `each` seconds a sample are s / each samples.
    fn variance(self) -> f64 {
        self.seconds * self.each
    }
}

/// True when two runs differ by more than the error of sampling (95 %).
pub fn differ(now: SampledSeconds, baseline: SampledSeconds) -> bool {
    let change = now.seconds - baseline.seconds;
    change.abs() > NORMAL_95 * (now.variance() + baseline.variance()).sqrt()
}

/// Functions, locks, system calls and losses at each traced count, those that grow most first. Empty for fewer than two
/// counts. What grows by less than its sampling error is left out.
pub fn growth(facts: &Facts<'_, '_>) -> Vec<Growth> {
    if facts.ledgers.len() < 2 {
        return Vec::new();
    }
    let counts: Vec<(u32, Amounts)> =
        facts.ledgers.iter().map(|l| (l.account.threads, amounts(facts.model, l))).collect();
    rows(&counts)
}

/// What grows from the first of `counts` to any other.
pub(crate) fn rows(counts: &[(u32, Amounts)]) -> Vec<Growth> {
    let items: BTreeSet<&Item> = counts.iter().flat_map(|(_, found)| found.keys()).collect();
    let mut rows: Vec<Growth> = items.into_iter().filter_map(|item| row(item, counts)).collect();
    rows.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.growth.total_cmp(&a.growth)).then(a.name.cmp(&b.name)));
    let mut kept: BTreeMap<Kind, usize> = BTreeMap::new();
    rows.retain(|row| {
        let kept = kept.entry(row.kind).or_default();
        *kept += 1;
        *kept <= MOST
    });
    rows
}

fn row(item: &Item, counts: &[(u32, Amounts)]) -> Option<Growth> {
    let at = |found: &Amounts| found.get(item).copied().unwrap_or_default();
    let base = at(&counts.first()?.1);
    // The largest growth at any count, so that items that fall again are seen too.
    let grown = counts.iter().skip(1).map(|(_, found)| {
        let amount = at(found);
        (amount.value - base.value, (amount.variance + base.variance).sqrt())
    });
    let (growth, error) = grown.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (growth > NORMAL_95 * error && growth > 0.0).then(|| Growth {
        kind: item.kind,
        name: item.name.clone(),
        growth,
        sampling_error: error,
        at: counts.iter().map(|(threads, found)| At { threads: *threads, per_unit: at(found).value }).collect(),
    })
}
