//! Two recordings compared, before and after a change. May import: everything that `lib` does.

use crate::account;
use crate::amounts::{Amounts, amounts};
use crate::answer::{Change, Comparison, CurveChange, Judgement, Kind};
use crate::curve::{Clean, median_of};
use crate::model::Model;
use crate::statistics::{Measured, NORMAL_95, ratio_interval};
use crate::words::count_threads;
use recording::Tables;
use std::collections::BTreeSet;

/// Changes of things are told from this share of the time of a unit of work on: between two identical sweeps they differ
/// by a few per cent, because each has one traced run a count.
const TOLD: f64 = crate::facts::MIN_SHARE;

/// Compares what two recordings say of each thread count that both have.
pub fn compare(before: &Tables, after: &Tables) -> Comparison {
    let (clean_before, clean_after) = (Clean::new(before), Clean::new(after));
    let mut warnings = Vec::new();
    if before.meta.command != after.meta.command {
        warnings.push("the commands differ: what is compared may not be the same work".to_owned());
    }
    let machine = |t: &Tables| (t.meta.machine.model.clone(), t.meta.machine.usable_processors);
    if machine(before) != machine(after) {
        warnings.push("the machines differ, or the processors that could be used".to_owned());
    }
    if clean_before.by_throughput != clean_after.by_throughput {
        warnings.push(
            "only one of the two prints a throughput: a run of it is compared with a unit of work of the other"
                .to_owned(),
        );
    }
    let counts = |clean: &Clean<'_>| clean.counts().collect::<BTreeSet<u32>>();
    let (of_before, of_after) = (counts(&clean_before), counts(&clean_after));
    for threads in of_before.symmetric_difference(&of_after) {
        let which = if of_before.contains(threads) { "before" } else { "after" };
        warnings.push(format!("{} were timed only {which} the change", count_threads(*threads)));
    }
    let curve: Vec<CurveChange> = of_before
        .intersection(&of_after)
        .filter_map(|threads| {
            point(*threads, &clean_before.seconds_per_unit(*threads), &clean_after.seconds_per_unit(*threads), before)
        })
        .collect();
    let changes = things((before, &clean_before), (after, &clean_after));
    Comparison { summary: summary(&curve), curve, changes, warnings }
}

fn point(threads: u32, before: &[Measured], after: &[Measured], tables: &Tables) -> Option<CurveChange> {
    let (old, new) = (median_of(before)?, median_of(after)?);
    let speed = old / new;
    let interval = ratio_interval(before, after, tables.meta.order_seed);
    let judgement = match interval {
        Some(i) if i.low > 1.0 => Judgement::Better,
        Some(i) if i.high < 1.0 => Judgement::Worse,
        _ => Judgement::Unclear,
    };
    Some(CurveChange { threads, before: old, after: new, speed, interval, judgement })
}

fn things(before: (&Tables, &Clean<'_>), after: (&Tables, &Clean<'_>)) -> Vec<Change> {
    let (old, new) = (Model::new(before.0), Model::new(after.0));
    let (old_ledgers, new_ledgers) = (account::ledgers(&old, before.1), account::ledgers(&new, after.1));
    let mut changes = Vec::new();
    for a in &old_ledgers {
        let Some(b) = new_ledgers.iter().find(|b| b.account.threads == a.account.threads) else { continue };
        let (was, is) = (amounts(&old, a), amounts(&new, b));
        let whole = a.account.capacity.max(b.account.capacity);
        let calls = |of: &Amounts| {
            of.iter().filter(|((kind, _), _)| *kind == Kind::SystemCall).map(|(_, amount)| amount.value).sum::<f64>()
        };
        let all_calls = calls(&was).max(calls(&is));
        for name in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            let (x, y) = (was.get(name).copied().unwrap_or_default(), is.get(name).copied().unwrap_or_default());
            let error = (x.variance + y.variance).sqrt();
            let change = y.value - x.value;
            let least = TOLD * if name.0 == Kind::SystemCall { all_calls } else { whole };
            if change.abs() > least && change.abs() > NORMAL_95 * error {
                changes.push(Change {
                    threads: a.account.threads,
                    kind: name.0,
                    name: name.1.clone(),
                    before: x.value,
                    after: y.value,
                    sampling_error: error,
                });
            }
        }
    }
    let size = |c: &Change| (c.after - c.before).abs();
    changes.sort_by(|a, b| {
        a.threads.cmp(&b.threads).then(a.kind.cmp(&b.kind)).then(size(b).total_cmp(&size(a))).then(a.name.cmp(&b.name))
    });
    changes
}

fn summary(curve: &[CurveChange]) -> String {
    let of =
        |j: Judgement| curve.iter().filter(|c| c.judgement == j).map(|c| c.threads.to_string()).collect::<Vec<_>>();
    let parts: Vec<String> =
        [(Judgement::Better, "faster"), (Judgement::Worse, "slower"), (Judgement::Unclear, "not told from noise")]
            .into_iter()
            .map(|(j, word)| (of(j), word))
            .filter(|(counts, _)| !counts.is_empty())
            .map(|(counts, word)| format!("{word} with {} threads", counts.join(", ")))
            .collect();
    match parts.is_empty() {
        true => "No thread count was timed in both recordings.".to_owned(),
        false => format!("After the change: {}.", parts.join("; ")),
    }
}
