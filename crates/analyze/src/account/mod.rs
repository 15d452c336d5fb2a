//! The account: where the processors' time went at each thread count, and how that adds up.
//!
//! It does arithmetic only, without causes or words. Capacity, useful work and loss come from the clean runs; the
//! traced run says how the loss splits.
//!
//! Rooms: `pieces` the timelines; `pool` which of their waits are for a next task; `timeline` the split instant by
//! instant; `criticality` who ran while capacity was idle; `profile` the CPU samples; `kernel_code` what kernel stacks
//! show; `serial_code` code that never runs beside other code; `idle` and `growth` idle time and processor time by
//! line; `losses` and `scale` how both are scaled to the clean runs; `latency` what the work already waits for at the
//! baseline; `lines` what an account consists of; `parts` lines in the making; `wakers` who ended a wait; `waste` what is loss
//! at the baseline too.
//!
//! May import: `answer`, `curve`, `model`, `runtimes`, `sharing`, `statistics`, `recording`.

pub mod criticality;
pub mod growth;
pub mod idle;
mod kernel_code;
mod latency;
pub mod lines;
mod losses;
pub mod parts;
pub mod pieces;
pub mod pool;
pub mod profile;
mod scale;
pub mod serial_code;
pub mod timeline;
pub mod wakers;
mod waste;

use crate::curve::{Clean, Outside, cpu, median_of, seconds};
use crate::model::futex::{FutexWait, Ground, Purpose};
use crate::model::held_up::sleeps_hold_up_tasks;
use crate::model::requests::requests;
use crate::model::resources::{Resources, resources};
use crate::model::{Model, Traced};
use crate::statistics::intervals;
use crate::statistics::paired::ERROR;
use crate::statistics::{MIN_SHARE, Measured, median, point};
use growth::{Base, CpuProfile};
use latency::Latency;
use lines::Why;
pub use lines::{Balance, Booked, LineId, Unexplained};
use losses::{CleanTimes, Comparand, Losses};

use parts::LossPart;
use pieces::Activity;
use profile::{Doing, LibraryFunction, Profile, lock_owners, profile};
use recording::{QuickMap, WaitId};
use scale::Both;
use serial_code::SerialCode;
use std::collections::{BTreeMap, BTreeSet};
use timeline::pace::{self, Busiest};
use timeline::{Split, split};
use waste::wasted_at_base;

/// The account of one thread count, with the data it was made from.
#[derive(Debug)]
pub struct Ledger<'m, 't> {
    /// The traced run.
    pub traced: &'m Traced<'t>,
    /// The account.
    pub account: Balance,
    /// Capacity − useful work, processor-seconds per unit of work.
    pub loss: f64,
    /// The loss is above this with 95 % certainty, in the same unit.
    pub least_loss: f64,
    /// Clean processor-seconds per unit of work for one traced processor-second of idle time.
    pub scale: f64,
    /// The same for one traced second of processor time beyond that of the baseline.
    pub on_cpu_scale: f64,
    /// The same for one traced second of any code: to compare the whole time that code takes at two counts. Growth is scaled
    /// by itself, because observing may cost most where threads interact.
    pub code_scale: f64,
    /// What other programs took from the traced run beyond what they took from the clean runs, in the unit of the
    /// lines. It is in no line.
    pub disturbed: f64,
    /// What the hypervisor gave to other virtual machines, in the unit of the lines: during the traced run, or the median
    /// of the timed ones, if that is more. It is in no line: threads seem to run meanwhile.
    pub stolen: f64,
    /// The idle time of the clean runs is above this with 95 % certainty, in the same unit; absent where not known.
    pub least_idle: Option<f64>,
    /// The split of the traced run.
    pub split: Split,
    /// Its futex waits, classified.
    pub futexes: BTreeMap<WaitId, FutexWait<'t>>,
    /// What all its waits are for.
    pub reasons: QuickMap<WaitId, Why>,
    /// Its limited resources.
    pub resources: Resources<'t>,
    /// Its samples, counted.
    pub profile: Profile<'t>,
    /// Its code that never runs beside other code.
    pub serial_code: SerialCode<'t>,
    /// Units of work done in the measured part of the traced run.
    pub work: f64,
    /// Efficiency of the timed runs (speed-up over the baseline per thread; 1 is ideal): median and lower end of
    /// the 95 % interval; absent at the baseline.
    pub efficiency: Option<(f64, f64)>,
    /// What the unexplained part consists of, as far as known: in the unit of the lines, largest first.
    pub unexplained: Vec<(Unexplained, f64)>,
    /// User-space functions by growth against the baseline, largest first, in the unit of the lines.
    pub grown: Vec<(Doing<'t>, f64)>,
    /// What [`LineId::Noise`] consists of: parts that are each within their sampling error.
    pub small: Vec<Booked>,
    /// The processor time of the timed runs exceeds the useful by less than this with 95 % certainty, in the same unit;
    /// absent where not known.
    pub most_growth: Option<f64>,
    /// True in a server whose tasks keep their threads while they sleep.
    pub holds_up_tasks: bool,
    /// The thread that sets the pace, where one does.
    pub pace: Option<Busiest>,
}

impl Ledger<'_, '_> {
    /// True where each thread does about as much as at the baseline: idle processors then do not keep threads
    /// from helping. Where tasks keep their threads while they sleep, the other tasks could have used more at any count.
    pub fn scales(&self) -> bool {
        !self.holds_up_tasks && self.efficiency.is_some_and(|(median, _)| median >= 1.0 - MIN_SHARE)
    }

    /// The sum of the lines that `fits` selects, and its standard error from sampling.
    pub fn sum(&self, fits: impl Fn(LineId) -> bool) -> (f64, f64) {
        let lines = self.account.lines.iter().filter(|l| fits(l.id));
        let (sum, variance) = lines.fold((0.0, 0.0), |(s, v), l| (s + l.seconds, v + l.sampling_error.powi(2)));
        (sum, variance.sqrt())
    }

    /// The loss that is not the program's own ([`LineId::is_outside`]).
    pub fn to_machine(&self) -> f64 {
        let others = |id| matches!(id, LineId::OtherPrograms | LineId::OtherProgramsTimed);
        let rest = self.account.lines.iter().filter(|line| line.id.is_outside() && !others(line.id));
        self.to_others().0.max(0.0) + rest.map(|line| line.seconds.max(0.0)).sum::<f64>()
    }

    /// The rest of the loss: what the program itself loses, in processor-seconds per unit of work.
    pub fn own_loss(&self) -> f64 {
        self.loss - self.to_machine()
    }

    /// What ready threads lost to other programs, and its standard error from sampling.
    pub fn to_others(&self) -> (f64, f64) {
        self.sum(|id| matches!(id, LineId::OtherPrograms | LineId::OtherProgramsTimed))
    }
}

/// What the waits of a traced run are for, for callers that need no account.
#[derive(Debug)]
pub struct WaitReasons<'t> {
    /// Its futex waits, classified.
    pub futexes: BTreeMap<WaitId, FutexWait<'t>>,
    /// Its limited resources.
    pub resources: Resources<'t>,
    /// What all its waits are for.
    pub reasons: QuickMap<WaitId, Why>,
}

impl<'t> WaitReasons<'t> {
    /// Those of a run of the model.
    pub fn new(model: &Model<'t>, traced: &Traced<'t>) -> WaitReasons<'t> {
        let runs = model.traced.iter().zip(&model.futexes).zip(&model.sites);
        let found = runs.filter(|((run, _), _)| run.run.run == traced.run.run).map(|((_, f), s)| (f, s)).next();
        let mut futexes = found.map(|(futexes, _)| futexes.clone()).unwrap_or_default();
        let found = found.map(|(futexes, sites)| resources(traced, sites, futexes, &model.places)).unwrap_or_default();
        for (waits, purpose) in [(&found.locks, Purpose::Lock), (&found.turns, Purpose::Condition)] {
            for wait in waits {
                futexes.entry(*wait).and_modify(|wait| (wait.purpose, wait.ground) = (purpose, Ground::Structure));
            }
        }
        let reasons = pieces::reasons(traced, &model.stacks, &futexes, &found.pools);
        WaitReasons { futexes, resources: found, reasons }
    }

    /// True in a server whose tasks keep their threads while they sleep.
    fn sleeps_hold_up_tasks(&self, model: &Model<'t>, traced: &Traced<'t>) -> bool {
        sleeps_hold_up_tasks(traced, &model.stacks, |wait| self.reasons.get(&wait) == Some(&Why::Sleep))
    }
}

/// One traced run on the way to its ledger.
struct Draft<'m, 't> {
    traced: &'m Traced<'t>,
    waits: WaitReasons<'t>,
    split: Split,
    profile: Profile<'t>,
    serial_code: SerialCode<'t>,
    /// Units of work that it did.
    work: f64,
    /// True in a server whose tasks keep their threads while they sleep.
    holds_up_tasks: bool,
}

/// The accounts of all traced runs, ascending by thread count.
pub fn ledgers<'m, 't>(model: &'m Model<'t>, clean: &Clean<'t>) -> Vec<Ledger<'m, 't>> {
    let owners: BTreeSet<LibraryFunction> =
        model.traced.iter().zip(&model.futexes).flat_map(|(t, f)| lock_owners(t, &model.stacks, f)).collect();
    let drafts: Vec<Draft> = model
        .traced
        .iter()
        .map(|traced| {
            let waits = WaitReasons::new(model, traced);
            let split = split(traced, &waits.reasons);
            Draft {
                serial_code: SerialCode::new(&model.stacks, &split.criticality),
                profile: profile(model, traced, &waits.futexes, &owners),
                work: work(traced, clean),
                holds_up_tasks: waits.sleeps_hold_up_tasks(model, traced),
                split,
                traced,
                waits,
            }
        })
        .collect();
    let base_count = clean.base().or(drafts.first().map(|d| d.traced.run.threads));
    let base = drafts.iter().find(|d| Some(d.traced.run.threads) == base_count);
    let base_cpu = match base {
        Some(base) => base.clean_cpu(clean).unwrap_or_else(|| clean.cpu_per_unit(base.traced.run.threads)),
        None => base_count.map(|count| clean.cpu_per_unit(count)).unwrap_or_default(),
    };
    let base_strength = base.map(|b| CpuProfile {
        wasted_at_base: wasted_at_base(model, clean, b.traced, &b.strength()),
        beside: b.beside(clean, &base_cpu),
        ..b.strength()
    });
    let against = Smallest { count: base_count, cpu: base_cpu, strength: base_strength.as_ref() };
    let mut lines: Vec<_> = drafts.iter().map(|d| draw_up(model, clean, d, &against)).collect();
    // In a program that runs more threads than requested, threads wait for each other at the baseline too.
    let by_itself = |d: &Draft| !d.traced.is_only_run && !d.traced.uses_more();
    if let Some(base) = drafts.iter().position(|d| Some(d.traced.run.threads) == base_count && by_itself(d)) {
        let latency = lines.get(base).zip(drafts.get(base)).map(|(l, d)| {
            let holds_up = d.holds_up_tasks.then_some(LineId::Blocked(Why::Sleep));
            Latency::new(&l.account, d.waited(), d.room(), holds_up)
        });
        for (lines, draft) in lines.iter_mut().zip(&drafts) {
            latency.iter().for_each(|latency| lines.leave_out(latency, draft));
        }
    }
    let compared = |d: &&Draft| !d.traced.loaded() && !d.traced.is_only_run;
    let busiest = |d: &Draft| Some(d).filter(compared).and_then(|d| Busiest::new(d.traced, d.work));
    let at_base = drafts.iter().find(|d| Some(d.traced.run.threads) == base_count).and_then(busiest);
    let pace = |d: &Draft| {
        let base = at_base.filter(|_| Some(d.traced.run.threads) != base_count)?;
        busiest(d).filter(|busiest| busiest.sets_the_pace(&base) && busiest.is_stage(&model.stacks, d.traced))
    };
    let paces: Vec<Option<Busiest>> = drafts.iter().map(pace).collect();
    for (lines, _) in lines.iter_mut().zip(&paces).filter(|(_, pace)| pace.is_some()) {
        pace::book(&mut lines.account);
    }
    let points = clean.points();
    let together = drafts.into_iter().zip(lines).zip(paces);
    together
        .map(|((d, lines), pace)| {
            let threads = d.traced.run.threads;
            let point = points.iter().find(|p| p.threads == threads && Some(threads) != base_count);
            let efficiency = point.map(|p| (p.efficiency, p.efficiency_interval.low));
            d.close(lines, efficiency, pace)
        })
        .collect()
}

fn work(traced: &Traced<'_>, clean: &Clean<'_>) -> f64 {
    let usual = || clean.median(traced.run.threads, |r| clean.work(r));
    // Of a run alone, the unit is a request where these were counted.
    if let Some(found) = requests(traced).filter(|_| traced.is_only_run && !clean.by_throughput) {
        return found.count as f64;
    }
    let own = match traced.run.throughput {
        // The printed speed is that of the measured part: speed × length is the work done there.
        Some(speed) if clean.by_throughput => Some(speed * traced.length_ns() as f64 * 1e-9),
        None if clean.by_throughput => None,
        _ => Some(clean.work(traced.run)),
    };
    own.or_else(usual).filter(|w| w.is_finite() && *w > 0.0).unwrap_or(1.0)
}

/// The lines of an account and the values that go with them; see [`Ledger`].
struct Lines<'t> {
    account: Balance,
    loss: f64,
    least_loss: f64,
    scale: f64,
    on_cpu_scale: f64,
    code_scale: f64,
    disturbed: f64,
    stolen: f64,
    least_idle: Option<f64>,
    unexplained: Vec<(Unexplained, f64)>,
    grown: Vec<(Doing<'t>, f64)>,
    small: Vec<Booked>,
    most_growth: Option<f64>,
}

/// The baseline, with which the others are compared.
struct Smallest<'a, 't> {
    count: Option<u32>,
    /// Processor time of the timed runs per unit of work.
    cpu: Vec<Measured>,
    /// The traced run.
    strength: Option<&'a CpuProfile<'a, 't>>,
}

fn draw_up<'t>(model: &Model<'t>, clean: &Clean<'t>, draft: &Draft<'_, 't>, smallest: &Smallest<'_, 't>) -> Lines<'t> {
    let (traced, split) = (draft.traced, &draft.split);
    let threads = traced.run.threads;
    let processors = f64::from(traced.processors());
    let traced_capacity = split.capacity / draft.work;
    let clean_time = clean.seconds_per_unit(threads);
    let (base, clean_useful) = (smallest.strength, &smallest.cpu);
    let strength = draft.strength();
    let working = 1.0 - base.filter(|_| !traced.is_only_run).map_or(0.0, |b| b.wasted() + b.served());
    let traced_useful = match traced.is_only_run {
        true => Some(strength.useful()),
        false => base.map(|b| b.on_cpu * working),
    };
    let capacity = median_of(&clean_time).map_or(traced_capacity, |t| t * processors);
    let clean_useful_median = median_of(clean_useful).map(|u| u * working);
    let useful = clean_useful_median.or(traced_useful).unwrap_or_else(|| cpu(traced.run) / draft.work);
    let loss = capacity - useful;
    let times = |series: &[Measured], factor: f64| -> Vec<Measured> {
        series.iter().map(|m| Measured { value: m.value * factor, ..*m }).collect()
    };
    let inside = intervals::difference(&times(clean_useful, working), &times(&clean_time, processors), ERROR);
    let loss_interval = intervals::holding(inside.unwrap_or(point(loss)), loss);
    let least_loss =
        intervals::above(&times(clean_useful, working), &times(&clean_time, processors), ERROR).unwrap_or(loss);
    let time = Some(seconds(traced.run.wall_ns)).filter(|t| *t > 0.0).unwrap_or(split.capacity / processors);
    // For a server, the run's time is already that of the load.
    let time = if traced.loaded() { time } else { time * traced.measured_share() };
    let mut found = idle::idle(model, traced, split, &draft.serial_code);
    for part in &mut found {
        part.seconds /= draft.work;
        part.variance /= draft.work * draft.work;
    }
    // The account is about the clean runs: what knee took, or other programs took only from the traced run, does not
    // count.
    let observed = |p: &mut LossPart| !clean_time.is_empty() && p.id == idle::OBSERVED;
    let knee = found.extract_if(.., observed).map(|p| p.seconds).sum::<f64>();
    let others = clean.foreign_per_unit(threads).map(|others| others * (1.0 - traced.kernel_threads()));
    let took =
        seconds(traced.trace.foreign_ns) * traced.measured_share() * (1.0 - traced.kernel_threads()) / draft.work;
    let busy = split.on_cpu / split.capacity.max(f64::MIN_POSITIVE);
    let wanted = wanted(&found, took, traced_capacity, busy);
    let disturbed = others.map_or(0.0, |others| idle::more_than(&mut found, others));
    // A program that could use all processors loses what others take; with fewer threads it may lose nothing.
    let more = others.filter(|_| traced.processors() == traced.trace.processors);
    let pressed = more.map_or(0.0, |others| (others - took).max(0.0) * wanted);
    let clean_cpu = draft.clean_cpu(clean);
    let capacities = times(&clean_time, processors);
    let most_growth =
        clean_cpu.as_ref().and_then(|cpu| intervals::above(cpu, &times(clean_useful, working), ERROR)).map(|w| -w);
    let foreign = clean.series(threads, |run| run.foreign_ns.map_or(0.0, seconds) / clean.work(run));
    let idle_beside = |others: &[Measured]| {
        clean_cpu.as_ref().and_then(|cpu| least_idle(cpu, others, &capacities)).map(|share| share * capacity)
    };
    let least_idle = idle_beside(&[]);
    // Where the work may cost as much processor time as at the baseline, idle time that is large enough for a cause
    // is a loss, however much the speed of the runs differs. What other programs took is not idle.
    let no_gain = most_growth.is_some_and(|most| most > 0.0) && !traced.is_only_run;
    let idles = idle_beside(&foreign).filter(|idle| no_gain && *idle > MIN_SHARE * capacity);
    let least_loss = idles.map_or(least_loss, |idle| least_loss.max(idle));
    let sides = CleanTimes {
        capacity: Both { traced: traced_capacity - knee - disturbed, clean: capacity },
        useful: Both { traced: traced_useful.unwrap_or(useful), clean: useful },
        on_cpu: clean_cpu.and_then(|cpu| used(&cpu, &capacities)).map(|used| used.min(1.0) * capacity),
        pressed,
        surplus: split.surplus / draft.work,
        base: median_of(clean_useful),
    };
    let against = match base {
        _ if traced.is_only_run => Comparand::Base(Base::RunAlone),
        _ if Some(threads) == smallest.count => Comparand::Itself,
        Some(base) => Comparand::Base(Base::Run(base)),
        None => Comparand::Base(Base::Unknown),
    };
    let wasted_at_base = base.map(|b| b.wasted_at_base.clone()).unwrap_or_default();
    let strength = CpuProfile { wasted_at_base, ..strength };
    let Losses { parts, grown, idle: scale, on_cpu, code } = sides.scale(model, found, &strength, against);
    let parts = split.beside_compiler.give_back(parts);
    let Sorted { lines, unexplained, small } = sort_out(parts);
    let explained: f64 = lines.iter().map(|l| l.seconds).sum();
    let timed_steal = clean.median(threads, |run| run.steal_ns.map_or(0.0, seconds) / clean.work(run)).unwrap_or(0.0);
    Lines {
        account: Balance {
            threads: traced.shown_count(),
            capacity,
            useful,
            unexplained: loss - explained,
            traced_over_clean: median_of(&clean_time).map_or(1.0, |t| time / draft.work / t),
            loss_interval,
            lines,
        },
        loss,
        least_loss,
        scale: scale / draft.work,
        on_cpu_scale: on_cpu / draft.work,
        code_scale: code / draft.work,
        disturbed: disturbed * scale,
        stolen: (traced.run.steal_ns.map_or(0.0, seconds) / draft.work * on_cpu).max(timed_steal),
        least_idle,
        unexplained,
        grown,
        small,
        most_growth,
    }
}

/// The share of the capacity that the timed runs leave idle, 0 to 1: it is above this with 95 % certainty. A run's idle
/// time and its capacity vary together where the machine is slower for a while, so shares tell more than differences.
/// `others`: what else had the processors, per block; nothing where a block is missing.
fn least_idle(cpu: &[Measured], others: &[Measured], capacities: &[Measured]) -> Option<f64> {
    let of = |series: &[Measured], block: u32| series.iter().find(|m| m.block == block).map(|m| m.value);
    let share = |m: &Measured| {
        let taken = of(cpu, m.block)? + of(others, m.block).unwrap_or(0.0);
        Some(Measured { value: 1.0 - taken / m.value, ..*m })
    };
    let shares: Vec<Measured> = capacities.iter().filter_map(share).collect();
    let nothing: Vec<Measured> = shares.iter().map(|m| Measured { value: 0.0, ..*m }).collect();
    intervals::above(&nothing, &shares, ERROR)
}

/// The share of the time taken by other programs that threads of this program were ready to use, 0 to 1. Time taken
/// while all threads wait for something else is no loss. `found`: idle time of the observed run; `took`: what others
/// had in it; `busy`: the share of the capacity that the program used, which stands for the result where others had
/// next to nothing.
fn wanted(found: &[LossPart], took: f64, capacity: f64, busy: f64) -> f64 {
    let ready: f64 = found.iter().filter(|p| p.id == LineId::OtherPrograms).map(|p| p.seconds).sum();
    let share = if took > MIN_SHARE * capacity { ready / took } else { busy };
    share.clamp(0.0, 1.0)
}

impl Lines<'_> {
    /// Counts as useful what the work already waits for at the baseline.
    fn leave_out(&mut self, latency: &Latency, draft: &Draft<'_, '_>) {
        let before = self.account.unexplained;
        let own = latency.leave_out(&mut self.account, &draft.waited(), draft.room());
        let more = self.account.unexplained - before;
        if more > 0.0 {
            self.unexplained.push((Unexplained::Wait, more));
            self.unexplained.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
        }
        self.loss -= own;
        self.least_loss -= own;
    }
}

impl<'m, 't> Draft<'m, 't> {
    /// Processors that its threads could use, and the number of threads.
    fn room(&self) -> (u32, u32) {
        (self.traced.processors(), self.traced.asked())
    }

    fn strength(&self) -> CpuProfile<'_, 't> {
        let (profile, on_cpu) = (&self.profile, self.split.on_cpu / self.work);
        let failing = growth::failing(self.traced);
        CpuProfile { profile, on_cpu, failing, wasted_at_base: BTreeSet::new(), beside: 0.0 }
    }

    /// The share of the time of a runtime's compilers and collectors that they ran on processors that the capacity does
    /// not count: as the observed run shows, or as the timed runs (processor time `cpu`) used beyond their capacity, if
    /// that is more.
    fn beside(&self, clean: &Clean<'_>, cpu: &[Measured]) -> f64 {
        let served = self.profile.served();
        let observed = self.split.surplus / self.split.on_cpu.max(f64::MIN_POSITIVE);
        let time = median_of(&clean.seconds_per_unit(self.traced.run.threads));
        let timed = median_of(cpu).zip(time).map(|(cpu, time)| 1.0 - time * f64::from(self.traced.processors()) / cpu);
        let beyond = observed.max(timed.filter(|share| share.is_finite()).unwrap_or(0.0));
        if served > 0.0 { (beyond / served).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Thread-seconds per unit of work that threads were blocked, by line.
    fn waited(&self) -> BTreeMap<LineId, f64> {
        let mut waited = BTreeMap::new();
        for (kind, spent) in &self.split.spent {
            // Threads that wait for others to end, or hardly ever run, do not do the work; waiting for requests is the
            // load's.
            if let Activity::Blocked(why) = kind
                && !matches!(
                    why,
                    Why::Join | Why::Child | Why::Helper | Why::Clock | Why::Request | Why::Reply | Why::Pause
                )
            {
                *waited.entry(LineId::blocked(*why)).or_default() += spent / self.work;
            }
        }
        waited
    }

    /// Processor time per unit of work of the timed runs at its count; absent where it is not known.
    ///
    /// A run's printed rate is for its measured part alone, but its processor time is for the whole run. The time
    /// outside is taken from the traced run, which does the same work there.
    fn clean_cpu(&self, clean: &Clean<'_>) -> Option<Vec<Measured>> {
        let (traced, threads) = (self.traced, self.traced.run.threads);
        let told = match traced.measured_share() < 1.0 && !traced.loaded() {
            true => {
                let inside = clean.cpu_inside(threads, self.work, self.outside(), f64::from(traced.processors()));
                // A measured part too short to be told from the rest is assumed to be as busy as in the traced run.
                let busy = self.split.on_cpu / (traced.length_ns() as f64 * 1e-9);
                inside.or_else(|| Some(clean.busy_per_unit(threads, busy)))
            }
            false => Some(clean.cpu_per_unit(threads)),
        };
        told.filter(|cpu| !traced.is_only_run && !cpu.is_empty())
    }

    fn outside(&self) -> Outside {
        let run = self.traced.run;
        let inside = self.traced.length_ns() as f64 * 1e-9;
        Outside { wall: (seconds(run.wall_ns) - inside).max(0.0), cpu: (cpu(run) - self.split.on_cpu).max(0.0) }
    }

    fn close(self, lines: Lines<'t>, efficiency: Option<(f64, f64)>, pace: Option<Busiest>) -> Ledger<'m, 't> {
        let Draft { traced, waits, split, profile, serial_code, work, holds_up_tasks } = self;
        let WaitReasons { futexes, resources, reasons } = waits;
        let Lines { account, loss, least_loss, scale, on_cpu_scale, code_scale, disturbed, stolen, .. } = lines;
        let Lines { least_idle, unexplained, grown, small, most_growth, .. } = lines;
        Ledger {
            traced,
            account,
            loss,
            least_loss,
            scale,
            on_cpu_scale,
            code_scale,
            disturbed,
            stolen,
            least_idle,
            split,
            futexes,
            reasons,
            resources,
            profile,
            serial_code,
            work,
            efficiency,
            unexplained,
            grown,
            small,
            most_growth,
            holds_up_tasks,
            pace,
        }
    }
}

/// The median share of its capacity that a run used. It is steadier than the ratio of the medians, which may come from
/// different runs.
fn used(cpu: &[Measured], capacities: &[Measured]) -> Option<f64> {
    let of = |block: u32| capacities.iter().find(|c| c.block == block).map(|c| c.value);
    let shares: Vec<f64> = cpu.iter().filter_map(|c| Some(c.value / of(c.block)?)).collect();
    median(&shares)
}

/// Parts of an account, sorted.
struct Sorted {
    lines: Vec<Booked>,
    unexplained: Vec<(Unexplained, f64)>,
    small: Vec<Booked>,
}

/// Splits parts into lines, largest first, and unexplained parts. Sampled parts below their own standard error become
/// one line.
fn sort_out(parts: Vec<LossPart>) -> Sorted {
    let mut sorted = Sorted { lines: Vec::new(), unexplained: Vec::new(), small: Vec::new() };
    for LossPart { id, seconds, variance } in parts {
        let booked = |id| Booked { id, seconds, sampling_error: variance.sqrt() };
        match id {
            LineId::Unexplained(what) => sorted.unexplained.push((what, seconds)),
            _ if variance > 0.0 && seconds * seconds < variance => sorted.small.push(booked(id)),
            LineId::SameFunctions if seconds < 0.0 => sorted.lines.push(booked(LineId::SameFunctionsLess)),
            _ => sorted.lines.push(booked(id)),
        }
    }
    if !sorted.small.is_empty() {
        let (seconds, variance) =
            sorted.small.iter().fold((0.0, 0.0), |(s, v), b| (s + b.seconds, v + b.sampling_error.powi(2)));
        sorted.lines.push(Booked { id: LineId::Noise, seconds, sampling_error: variance.sqrt() });
    }
    sorted.lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.id.cmp(&b.id)));
    sorted.unexplained.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
    sorted
}
