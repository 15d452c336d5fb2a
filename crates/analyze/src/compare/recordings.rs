//! Two recordings compared: before and after a change, or two commands whose runs were interleaved.

use super::summary::half;
use super::{counters, drift, load, summary};
use crate::account;
use crate::amounts::{Amounts, amounts};
use crate::answer::{Change, Comparison, CurveChange, Interval, Judgement, Kind, Setup};
use crate::curve::{Clean, median_of, seconds};
use crate::model::Model;
use crate::statistics::intervals::{holding, unpaired_ratio};
use crate::statistics::paired::{ERROR, differences, paired};
use crate::statistics::{Measured, NORMAL_95};
use crate::words::runs;
use recording::Tables;
use std::collections::BTreeSet;

/// An item's change is reported if it is more than this share of the capacity per unit of work, or, for system calls,
/// of all calls. Two identical sweeps differ by a few per cent, because each has one observed run per count.
///
/// Decides: which changes of functions, locks, system calls and losses a comparison reports.
/// From: the smallest loss that is called a cause.
/// Wrong if: the one observed run of a count is unlike its other runs.
const TOLD: f64 = crate::statistics::MIN_SHARE;

/// Compares two recordings, made one after the other, at each thread count that both have.
pub fn compare(before: &Tables, after: &Tables) -> Comparison {
    compared(before, after, Setup::Apart)
}

/// Compares two commands, A and B, whose timed runs were made in the same blocks. Intervals are those of differences
/// inside blocks, so that drift and disturbances of a block cancel out.
pub fn interleaved(a: &Tables, b: &Tables) -> Comparison {
    compared(a, b, Setup::Interleaved)
}

/// Compares a command with itself, from runs made in the same blocks: whatever differs is noise.
pub fn noise(first: &Tables, second: &Tables) -> Comparison {
    compared(first, second, Setup::Same)
}

/// The speed of a case at a thread count, compared with that of another whose runs were made in the same blocks. `error` is
/// the share of intervals that may miss the truth. `None` without blocks in common.
pub fn curve_change(other: &Tables, case: &Tables, threads: u32, error: f64) -> Option<CurveChange> {
    let (old, new) = (Clean::new(other), Clean::new(case));
    let alike = unit(other, &old) == unit(case, &new);
    in_blocks(threads, &series(&old, threads, alike), &series(&new, threads, alike), error)
}

/// The unit of what a program prints; none where runs are compared as a whole.
fn unit(tables: &Tables, clean: &Clean<'_>) -> Option<String> {
    tables.meta.throughput.as_ref().filter(|_| clean.by_throughput).map(|throughput| throughput.unit.clone())
}

/// Seconds per unit of work of each run, or per run where units of work are not `alike`.
fn series(clean: &Clean<'_>, threads: u32, alike: bool) -> Vec<Measured> {
    match alike {
        true => clean.seconds_per_unit(threads),
        false => clean.series(threads, |run| seconds(run.wall_ns)),
    }
}

fn compared(before: &Tables, after: &Tables, setup: Setup) -> Comparison {
    let (clean_before, clean_after) = (Clean::new(before), Clean::new(after));
    let mut warnings = Vec::new();
    if setup == Setup::Apart && before.meta.command != after.meta.command {
        warnings.push("the commands differ: what is compared may not be the same work".to_owned());
    }
    let machine = |t: &Tables| (t.meta.machine.model.clone(), t.meta.machine.usable_processors);
    if machine(before) != machine(after) {
        warnings.push("the machines differ, or the processors that could be used".to_owned());
    }
    if clean_before.counted != clean_after.counted {
        warnings.push("the counts of one are of threads, those of the other of processors".to_owned());
    }
    let alike = unit(before, &clean_before) == unit(after, &clean_after);
    if setup == Setup::Apart && clean_before.by_throughput != clean_after.by_throughput {
        warnings.push(
            "only one of the two prints a throughput: a run of it is compared with a unit of work of the other"
                .to_owned(),
        );
    }
    if setup != Setup::Apart {
        if !alike {
            let what = "the two do not print a throughput in the same unit: whole runs are compared, and nothing else";
            warnings.push(what.to_owned());
        }
        for warning in [before, after].into_iter().flat_map(|tables| {
            let notes = tables.meta.notes.iter().cloned();
            notes.chain(runs::disturbed(tables)).collect::<Vec<String>>()
        }) {
            // Both recordings mostly report the same disturbed block.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let counts = |clean: &Clean<'_>| clean.counts().collect::<BTreeSet<u32>>();
    let (of_before, of_after) = (counts(&clean_before), counts(&clean_after));
    for threads in of_before.symmetric_difference(&of_after) {
        let first = of_before.contains(threads);
        let which = match (setup, first) {
            (Setup::Apart, true) => "before the change",
            (Setup::Apart, false) => "after the change",
            (_, true) => "by the first command",
            (_, false) => "by the second command",
        };
        warnings.push(format!("{} were timed only {which}", clean_before.counted.many(*threads)));
    }
    let both: Vec<u32> = of_before.intersection(&of_after).copied().collect();
    // The error is divided among the counts, so that all together are wrong no more often than one alone (Bonferroni).
    let error = ERROR / both.len().max(1) as f64;
    let moved = match setup {
        Setup::Apart => drift::moved(&clean_before).max(drift::moved(&clean_after)),
        _ => 0.0,
    };
    let point = |threads: &u32| {
        let alike = alike || setup == Setup::Apart;
        let (old, new) = (series(&clean_before, *threads, alike), series(&clean_after, *threads, alike));
        match setup {
            Setup::Apart => apart(*threads, &old, &new, error, moved),
            _ => in_blocks(*threads, &old, &new, error),
        }
    };
    let mut curve: Vec<CurveChange> = both.iter().filter_map(point).collect();
    warnings.extend(drift::warning(&curve, moved));
    if setup == Setup::Apart {
        let loads = |point: &CurveChange| {
            let of = |tables: &Tables, clean: &Clean<'_>| {
                load::load(clean, point.threads, tables.meta.usable_at(point.threads))
            };
            (of(before, &clean_before), of(after, &clean_after))
        };
        let loads: Vec<_> = curve.iter().map(loads).collect();
        for (point, (old, new)) in curve.iter_mut().zip(&loads) {
            load::allow_for(point, *old, *new);
            point.judgement = judge(point.interval);
            point.resolution = point.interval.map(half);
        }
        warnings.extend(load::warning(&loads));
    }
    let mut changes = match setup {
        Setup::Apart => things((before, &clean_before), (after, &clean_after)),
        Setup::Interleaved if alike => {
            let mut changes = things((before, &clean_before), (after, &clean_after));
            let counted = both.iter().map(|threads| counters::changes(&clean_before, &clean_after, *threads, error));
            changes.extend(counted.flatten());
            changes
        }
        _ => Vec::new(),
    };
    order(&mut changes);
    let summary = match setup {
        Setup::Apart => summary::of_change(&curve, error, clean_after.counted),
        Setup::Interleaved => summary::of_commands(&curve, error, clean_after.counted),
        Setup::Same => summary::of_noise(&curve, error, clean_after.counted),
    };
    Comparison { setup, counted: clean_after.counted, summary, curve, changes, warnings }
}

/// The change of speed between two samples of runs. `moved`: how far the machine may have drifted in between, as a
/// difference of logarithms.
fn apart(threads: u32, before: &[Measured], after: &[Measured], error: f64, moved: f64) -> Option<CurveChange> {
    let (old, new) = (median_of(before)?, median_of(after)?);
    let interval = unpaired_ratio(after, before, error).map(|i| {
        let Interval { low, high } = holding(i, old / new);
        Interval { low: low * (-moved).exp(), high: high * moved.exp() }
    });
    let (judgement, resolution) = (judge(interval), interval.map(half));
    Some(CurveChange {
        threads,
        before: old,
        after: new,
        speed: old / new,
        interval,
        judgement,
        blocks: None,
        resolution,
    })
}

/// The change of speed from ratios inside blocks, computed as differences of logarithms.
fn in_blocks(threads: u32, before: &[Measured], after: &[Measured], error: f64) -> Option<CurveChange> {
    let (old, new) = (median_of(before)?, median_of(after)?);
    let paired = paired(&differences(before, after, |a, b| (a / b).ln()), error)?;
    let interval = paired.interval.map(|i| Interval { low: i.low.exp(), high: i.high.exp() });
    Some(CurveChange {
        threads,
        before: old,
        after: new,
        speed: paired.centre.exp(),
        interval,
        judgement: judge(interval),
        blocks: Some(paired.blocks as u32),
        resolution: interval.map(half),
    })
}

fn judge(interval: Option<Interval>) -> Judgement {
    match interval {
        Some(i) if i.low > 1.0 => Judgement::Better,
        Some(i) if i.high < 1.0 => Judgement::Worse,
        _ => Judgement::Unclear,
    }
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
            of.iter().filter(|(item, _)| item.kind == Kind::SystemCall).map(|(_, amount)| amount.value).sum::<f64>()
        };
        let all_calls = calls(&was).max(calls(&is));
        for item in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            let (x, y) = (was.get(item).copied().unwrap_or_default(), is.get(item).copied().unwrap_or_default());
            let error = (x.variance + y.variance).sqrt();
            let change = y.value - x.value;
            let least = TOLD * if item.kind == Kind::SystemCall { all_calls } else { whole };
            if change.abs() > least && change.abs() > NORMAL_95 * error {
                changes.push(Change {
                    threads: a.account.threads,
                    kind: item.kind,
                    name: item.name.clone(),
                    before: x.value,
                    after: y.value,
                    sampling_error: error,
                });
            }
        }
    }
    changes
}

fn order(changes: &mut [Change]) {
    let size = |c: &Change| (c.after - c.before).abs();
    changes.sort_by(|a, b| {
        a.threads.cmp(&b.threads).then(a.kind.cmp(&b.kind)).then(size(b).total_cmp(&size(a))).then(a.name.cmp(&b.name))
    });
}
