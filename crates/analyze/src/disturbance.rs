//! What disturbed a timed run from outside, as far as the machine shows it.
//!
//! A run is judged by what happened on the machine, never by how long it took: leaving out slow runs would make every
//! program look fast. Steal and other load are judged by their size. The clock and the quota belong to the machine;
//! they disturb a run only when they differ from the other runs.

use crate::statistics::MIN_SHARE;
use crate::statistics::median;
use recording::Tables;
use recording::tables::{Run, RunKind};
use std::collections::{BTreeMap, BTreeSet};

/// The smallest share that counts as a disturbance: a loss of this size is called a cause, so a disturbance could make
/// or hide one.
///
/// Decides: whether a block of runs is set aside and made again, whether an observed run is repeated because of other
/// programs, and whether the machine is too busy for a sweep to start.
/// From: the smallest loss that is called a cause.
/// Wrong if: several smaller disturbances add up in one direction.
const DISTURBED: f64 = MIN_SHARE;

/// Load below this cannot be told from the rounding of /proc/stat, nanoseconds: five kinds of busy time are added up,
/// each in steps of 10 ms.
///
/// Decides: which load from other programs is too small to be seen.
/// From: proc(5): five kinds of time in ticks of 10 ms.
/// Wrong if: the kernel's ticks for user space are not 100 Hz.
const TICKS_OF_LOAD_NS: u64 = 50_000_000;
/// The limit for steal time, nanoseconds: it is one kind of time, read at the beginning and at the end.
///
/// Decides: which steal time is too small to be seen.
/// From: proc(5): one kind of time, both ends rounded to 10 ms.
/// Wrong if: the kernel's ticks for user space are not 100 Hz.
const TICKS_OF_STEAL_NS: u64 = 20_000_000;

/// What disturbed a run, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbance {
    /// The hypervisor gave this share of the processors to other virtual machines.
    Steal(f64),
    /// Other programs took this share of the processors. In short runs, rounding to clock ticks may make it exceed 1.
    Load(f64),
    /// The control group's quota held threads back for this share of the processors' time more than usual.
    Quota(f64),
    /// How often a processor throttled itself because of heat or power.
    Heat(u64),
    /// The highest clock at the run's end, and the usual one, hertz.
    Clock(f64, f64),
}

/// The usual values of a case at a thread count: medians of its timed runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usual {
    clock_khz: Option<f64>,
    quota: Option<f64>,
}

impl Usual {
    /// The medians of these runs, all of one thread count.
    pub fn from_runs<'r>(runs: impl Iterator<Item = &'r Run> + Clone, processors: u32) -> Usual {
        let clocks: Vec<f64> = runs.clone().filter_map(|run| run.clock_khz).map(|khz| khz as f64).collect();
        let quotas: Vec<f64> = runs.filter_map(|run| quota(run, processors)).collect();
        Usual { clock_khz: median(&clocks), quota: median(&quotas) }
    }
}

/// The largest disturbance of a run; `None` without one, or when the run was too short for clock ticks to show it.
pub fn disturbance(run: &Run, usual: &Usual, processors: u32) -> Option<Disturbance> {
    let whole = whole(run, processors);
    let share = |ns: u64, ticks: u64| (ns > ticks).then(|| ns as f64 / whole).filter(|share| *share > DISTURBED);
    let steal = run.steal_ns.and_then(|ns| share(ns, TICKS_OF_STEAL_NS));
    let load = run.foreign_ns.and_then(|ns| share(ns, TICKS_OF_LOAD_NS));
    let quota = quota(run, processors).zip(usual.quota).map(|(quota, usual)| quota - usual);
    let quota = quota.filter(|more| *more > DISTURBED);
    let shares = [steal.map(Disturbance::Steal), load.map(Disturbance::Load), quota.map(Disturbance::Quota)];
    let size = |d: &Disturbance| match d {
        Disturbance::Steal(share) | Disturbance::Load(share) | Disturbance::Quota(share) => *share,
        Disturbance::Heat(_) | Disturbance::Clock(..) => 0.0,
    };
    let largest = shares.into_iter().flatten().max_by(|a, b| size(a).total_cmp(&size(b)));
    let heat = run.thermal_throttles.filter(|times| *times > 0).map(Disturbance::Heat);
    let clock = run.clock_khz.map(|khz| khz as f64).zip(usual.clock_khz);
    let clock = clock.filter(|(khz, usual)| (khz - usual).abs() > DISTURBED * usual);
    largest.or(heat).or(clock.map(|(khz, usual)| Disturbance::Clock(khz * 1e3, usual * 1e3)))
}

/// The share of the processors that other programs took during a run; absent where not known. Amounts below the
/// resolution of clock ticks count as 0.
pub fn load(run: &Run, processors: u32) -> Option<f64> {
    let ns = run.foreign_ns?;
    Some(if ns > TICKS_OF_LOAD_NS { (ns as f64 / whole(run, processors)).min(1.0) } else { 0.0 })
}

/// The share of the processors that other programs and other virtual machines took during a run.
pub fn taken(run: &Run, processors: u32) -> Option<f64> {
    let steal = run.steal_ns.filter(|ns| *ns > TICKS_OF_STEAL_NS).unwrap_or(0) as f64 / whole(run, processors);
    Some((load(run, processors)? + steal).min(1.0))
}

/// True when a load exceeds the usual one by enough to make or hide a cause.
pub fn beyond(load: f64, usual: f64) -> bool {
    load - usual > DISTURBED
}

/// Timed blocks that something disturbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisturbedBlocks {
    /// True when they had to be kept; false when they were set aside and made again.
    pub kept: bool,
    /// How many they are.
    pub blocks: usize,
    /// How many blocks of that kind there are, disturbed or not.
    pub of: usize,
    /// What disturbed the first of their runs, and its thread count; none where that was a run of another case.
    pub first: Option<(Disturbance, u32)>,
}

/// The disturbed blocks of a recording: those that were set aside, then those that were kept.
pub fn disturbed_blocks(tables: &Tables) -> Vec<DisturbedBlocks> {
    let timed = |run: &&Run| matches!(run.kind, RunKind::Clean | RunKind::Disturbed);
    let mut by_count: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
    for run in tables.runs.iter().filter(timed) {
        by_count.entry(run.threads).or_default().push(run);
    }
    let mut found: Vec<(&Run, Disturbance)> = Vec::new();
    for (count, runs) in &by_count {
        let processors = tables.meta.usable_at(*count);
        let usual = Usual::from_runs(runs.iter().copied(), processors);
        found.extend(runs.iter().filter_map(|run| Some((*run, disturbance(run, &usual, processors)?))));
    }
    found.sort_by_key(|(run, _)| run.run);
    let all = |kind| tables.runs.iter().filter(|run| run.kind == kind).map(|run| run.block).collect::<BTreeSet<u32>>();
    let of_kind = |kind| found.iter().filter(move |(run, _)| run.kind == kind);
    let first = |kind| of_kind(kind).next().map(|(run, disturbance)| (*disturbance, run.threads));
    let (aside, of) = (all(RunKind::Disturbed).len(), all(RunKind::Clean).len());
    let kept = of_kind(RunKind::Clean).map(|(run, _)| run.block).collect::<BTreeSet<u32>>().len();
    let aside = DisturbedBlocks { kept: false, blocks: aside, of: aside, first: first(RunKind::Disturbed) };
    let kept = DisturbedBlocks { kept: true, blocks: kept, of, first: first(RunKind::Clean) };
    [aside, kept].into_iter().filter(|blocks| blocks.blocks > 0).collect()
}

/// Processor time that the run could have had, nanoseconds.
fn whole(run: &Run, processors: u32) -> f64 {
    (run.wall_ns as f64 * f64::from(processors)).max(1.0)
}

fn quota(run: &Run, processors: u32) -> Option<f64> {
    Some(run.throttled_ns? as f64 / whole(run, processors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::Sketch;

    /// Runs of two seconds on two processors, with two threads.
    fn tables(runs: usize) -> Tables {
        Sketch::new(2).clean(2, &vec![2.0; runs]).tables()
    }

    fn of(tables: &Tables, run: usize) -> Option<Disturbance> {
        disturbance(&tables.runs[run], &Usual::from_runs(tables.runs.iter(), 2), 2)
    }

    #[test]
    fn shares_of_the_processors_are_judged_for_themselves() {
        let mut tables = tables(3);
        for run in &mut tables.runs {
            run.foreign_ns = Some(1_000_000_000);
            run.steal_ns = Some(0);
        }
        tables.runs[2].steal_ns = Some(1_200_000_000);
        assert_eq!(of(&tables, 0), Some(Disturbance::Load(0.25)));
        assert_eq!(of(&tables, 2), Some(Disturbance::Steal(0.3)));
        tables.runs[0].foreign_ns = Some(190_000_000);
        assert_eq!(of(&tables, 0), None);
    }

    #[test]
    fn clock_ticks_show_nothing_in_short_runs() {
        let mut tables = Sketch::new(2).clean(2, &[0.05]).tables();
        tables.runs[0].foreign_ns = Some(50_000_000);
        assert_eq!(of(&tables, 0), None);
        tables.runs[0].foreign_ns = Some(60_000_000);
        assert!(of(&tables, 0).is_some());
    }

    #[test]
    fn quota_and_clock_are_judged_by_the_other_runs() {
        let mut tables = tables(5);
        for run in &mut tables.runs {
            (run.throttled_ns, run.clock_khz) = (Some(800_000_000), Some(3_000_000));
        }
        assert_eq!(of(&tables, 0), None, "a quota that is always there is the machine's");
        tables.runs[1].throttled_ns = Some(2_000_000_000);
        tables.runs[2].clock_khz = Some(2_400_000);
        tables.runs[3].thermal_throttles = Some(4);
        tables.runs[4].thermal_throttles = Some(0);
        assert_eq!(of(&tables, 1), Some(Disturbance::Quota(0.3)));
        assert_eq!(of(&tables, 2), Some(Disturbance::Clock(2.4e9, 3.0e9)));
        assert_eq!(of(&tables, 3), Some(Disturbance::Heat(4)));
        assert_eq!(of(&tables, 4), None);
    }
}
