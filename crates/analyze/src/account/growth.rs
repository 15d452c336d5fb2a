//! On-CPU time beyond that of the baseline, by line.

use super::lines::Why;
use super::lines::{LineId, Unexplained, Within};
use super::parts::{LossPart, Parts};
use super::profile::{Doing, Profile};
use crate::model::{Model, Traced};
use std::collections::{BTreeMap, BTreeSet};

/// Error numbers with which a call says that there is nothing to do yet: EINTR, EAGAIN, EINPROGRESS, ETIMEDOUT.
/// (Numbers of asm-generic/errno.h, which x86 shares.)
///
/// Decides: which calls that return an error do not count as failing.
/// From: the manual pages errno(3), connect(2) and futex(2): programs that do not want to wait expect these errors.
/// Wrong if: a program asks again and again for what is never ready: its calls are then no failing calls, and their time
/// is told as that of the system call.
const NOT_YET: [u32; 4] = [4, 11, 115, 110];

/// On-CPU time per unit of work, and the samples that split it.
#[derive(Debug, Clone)]
pub struct CpuProfile<'a, 't> {
    /// The samples.
    pub profile: &'a Profile<'t>,
    /// On-CPU seconds per unit of work, measured exactly.
    pub on_cpu: f64,
    /// For each system call, the share of its on-CPU time that failing calls took.
    pub failing: BTreeMap<u32, f64>,
    /// What is loss at the baseline too: creating and ending threads, waiting in loops.
    pub wasted_at_base: BTreeSet<Doing<'t>>,
    /// At the baseline, the share of the time of a runtime's compilers and collectors that they ran beside the
    /// requested threads, on processors that the capacity does not count. It is no part of the work.
    pub beside: f64,
}

/// What a run is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a, 't> {
    /// Another run, at the baseline.
    Run(&'a CpuProfile<'a, 't>),
    /// Nothing: the baseline was not traced.
    Unknown,
    /// Nothing: there is only this one run, and no curve. Everything but the program's own functions then counts as
    /// loss.
    RunAlone,
}

impl<'t> CpuProfile<'_, 't> {
    /// Seconds per unit of work in a part of the samples, and the variance. The part's sample count is about Poisson
    /// distributed, so its variance is the count; one sample stands for on-CPU time / samples.
    pub fn spent(&self, doing: Doing<'t>) -> (f64, f64) {
        let count = self.profile.counts.get(&doing).copied().unwrap_or(0) as f64;
        let each = if self.profile.total == 0 { 0.0 } else { self.on_cpu / self.profile.total as f64 };
        (count * each, count * each * each)
    }

    /// Seconds per unit of work in the program's own functions: the useful part of a single run. Without samples, all
    /// of its time.
    pub fn useful(&self) -> f64 {
        if self.profile.total == 0 {
            return self.on_cpu;
        }
        let own = self.profile.counts.keys().filter(|d| d.is_own());
        own.map(|d| self.spent(*d).0).sum()
    }

    /// Share of the on-CPU time that is loss at the baseline too.
    pub fn wasted(&self) -> f64 {
        let seconds: f64 = self.wasted_at_base.iter().map(|doing| self.spent(*doing).0).sum();
        (seconds / self.on_cpu).min(1.0)
    }

    /// That time as parts of the account.
    pub fn waste(&self) -> Vec<LossPart> {
        let part = |doing: &Doing<'t>| {
            let (seconds, variance) = self.spent(*doing);
            let id = match doing {
                // The only call among them is the one that lets others run.
                Doing::Call(_) => LineId::Yielding,
                other => line(*other),
            };
            LossPart { id, seconds, variance }
        };
        self.wasted_at_base.iter().map(part).collect()
    }

    /// Share of the on-CPU time in which a runtime's own threads ran beside the requested threads.
    pub fn served(&self) -> f64 {
        self.beside * self.profile.served()
    }

    fn failing(&self, number: u32) -> f64 {
        self.failing.get(&number).copied().unwrap_or(0.0)
    }
}

/// For each system call of a run, the share of its on-CPU time that failing calls took.
pub fn failing(traced: &Traced<'_>) -> BTreeMap<u32, f64> {
    let mut times: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for site in &traced.call_sites {
        let times = times.entry(site.number).or_default();
        let spent = on_cpu(site);
        times.1 += spent;
        times.0 += if site.error.is_some_and(is_failure) { spent } else { 0.0 };
    }
    times.into_iter().filter(|(_, t)| t.1 > 0.0).map(|(n, t)| (n, t.0 / t.1)).collect()
}

/// True for an error number that says that the call could not do what it was asked to do.
pub fn is_failure(error: u32) -> bool {
    !NOT_YET.contains(&error)
}

/// On-CPU nanoseconds of all calls of a site, extrapolated from those that were timed.
pub fn on_cpu(site: &recording::tables::CallSite) -> f64 {
    let raised = if site.timed > 0 { site.calls / site.timed as f64 } else { 0.0 };
    let spent = site.on_cpu_ns as f64 * raised;
    if spent.is_finite() { spent.max(0.0) } else { 0.0 }
}

/// The parts, and user-space functions by growth, largest first.
///
/// Without a baseline, growth is known only of what costs next to nothing without contention: synchronising and spinning.
/// The rest stays unexplained.
pub fn growth<'t>(
    model: &Model<'t>,
    run: &CpuProfile<'_, 't>,
    base: Base<'_, 't>,
) -> (Vec<LossPart>, Vec<(Doing<'t>, f64)>) {
    let mut parts = Parts::default();
    let mut functions = Vec::new();
    let base_run = match base {
        Base::Run(base) => Some(base),
        Base::Unknown | Base::RunAlone => None,
    };
    let others = base_run.into_iter().flat_map(|b| b.profile.counts.keys());
    let mut synchronising = Vec::new();
    let slower = base_run.map_or(1.0, |base| slower(run, base));
    let keys: BTreeSet<Doing> = run.profile.counts.keys().chain(others).copied().collect();
    for doing in keys {
        let (now, error) = run.spent(doing);
        let loss_there_too = |b: &CpuProfile<'_, 't>| b.wasted_at_base.contains(&doing);
        let inside = |b: &CpuProfile<'_, 't>| match doing {
            // What a program's own thread collects at the baseline takes its time there too.
            Doing::Compiling | Doing::Collector => 1.0 - b.beside * b.profile.served_of(doing),
            _ => 1.0,
        };
        let spent_before = |b: &CpuProfile<'_, 't>| (b.spent(doing).0 * inside(b), b.spent(doing).1 * inside(b));
        let (before, base_error) = base_run.filter(|b| !loss_there_too(b)).map_or((0.0, 0.0), spent_before);
        let is_function = doing.is_own();
        let certain = matches!(
            doing,
            Doing::Synchronising(Why::Lock | Why::Condition | Why::Barrier | Why::Pool) | Doing::Spinning
        );
        match base {
            Base::Unknown if !certain => continue,
            Base::RunAlone if is_function => {
                functions.push((doing, now));
                continue;
            }
            _ => {}
        }
        if let Doing::Synchronising(_) = doing {
            synchronising.push((doing, now - before, error + base_error));
            continue;
        }
        if let Doing::Call(number) = doing {
            let failed = now * run.failing(number) - before * base_run.map_or(0.0, |b| b.failing(number));
            let variance = |share: f64| (error + base_error) * share;
            let share = if now > before { (failed / (now - before)).clamp(0.0, 1.0) } else { 0.0 };
            let other = match number == model.numbers.sched_yield {
                true => LineId::Yielding,
                false => LineId::Call(number),
            };
            parts.add_sampled(LineId::FailingCall(number), (now - before) * share, variance(share));
            parts.add_sampled(other, (now - before) * (1.0 - share), variance(1.0 - share));
            continue;
        }
        let id = match doing {
            Doing::Function(..) => {
                functions.push((doing, now - before));
                let known = base_run.is_some_and(|b| b.profile.counts.contains_key(&doing));
                if known { LineId::SameFunctions } else { LineId::NewFunctions }
            }
            other => line(other),
        };
        // What is as much slower as the program's own code has no reason of its own.
        let evenly = match doing {
            Doing::Allocator(Within::Code) => (now - before).min(before * (slower - 1.0)).max(0.0),
            _ => 0.0,
        };
        parts.add_sampled(LineId::SameFunctions, evenly, 0.0);
        parts.add_sampled(id, now - before - evenly, error + base_error);
    }
    settle(&mut synchronising);
    for (doing, seconds, variance) in synchronising {
        parts.add_sampled(line(doing), seconds, variance);
    }
    functions.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    (parts.list(), functions)
}

/// How many times as long the functions of the baseline take: all of them together, at least 1. All code takes longer on
/// a slower processor, and where threads compete for caches and memory.
///
/// Decides: how much of the growth of the allocator's code is booked as that of the same functions.
/// From: the model: what slows all code alike is no property of the allocator. One clean program, on a machine whose speed
/// changed, showed the need.
/// Shown by: `an_allocator_that_is_as_much_slower_as_the_program_is_none`.
/// Wrong if: the program's own code is slower because of how memory is allocated, by as much as the allocator's code:
/// objects of several threads in one cache line, say. The allocator is then *unsure*.
fn slower<'t>(run: &CpuProfile<'_, 't>, base: &CpuProfile<'_, 't>) -> f64 {
    let functions = base.profile.counts.keys().filter(|doing| matches!(doing, Doing::Function(..)));
    let (now, before) = functions
        .map(|doing| (run.spent(*doing).0, base.spent(*doing).0))
        .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    if before > 0.0 { (now / before).max(1.0) } else { 1.0 }
}

/// Offsets kinds of synchronising that take more than at the baseline against kinds that take less. Code of locks
/// and code of conditions is one activity: a thread that comes too late to wait for work meets the others at the
/// queue's lock instead, so the same call counts as another kind. Only the growth of all kinds together is a loss.
fn settle(changes: &mut [(Doing<'_>, f64, f64)]) {
    let more: f64 = changes.iter().map(|c| c.1.max(0.0)).sum();
    let less: f64 = changes.iter().map(|c| (-c.1).max(0.0)).sum();
    let moved = more.min(less);
    if moved <= 0.0 {
        return;
    }
    for (_, seconds, _) in changes {
        let side = if *seconds > 0.0 { more } else { less };
        *seconds *= 1.0 - moved / side;
    }
}

/// The line that growth of anything but a function or a system call is charged to.
pub fn line(doing: Doing<'_>) -> LineId {
    match doing {
        Doing::Synchronising(why) => LineId::synchronising(why),
        Doing::Allocator(within) => LineId::Allocator(within),
        Doing::Collector => LineId::Collector,
        Doing::Compiling => LineId::Compiling,
        Doing::Creation => LineId::Creation,
        Doing::KernelLock => LineId::KernelLock,
        Doing::Fault => LineId::Fault,
        Doing::Interrupt => LineId::Interrupt,
        Doing::Sharing(kind) => LineId::Sharing(kind),
        Doing::Spinning => LineId::Spinning,
        Doing::Call(_) | Doing::Function(..) | Doing::Unknown => LineId::Unexplained(Unexplained::NoStack),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(changes: [(Why, f64); 3]) -> [f64; 3] {
        let mut changes = changes.map(|(why, seconds)| (Doing::Synchronising(why), seconds, 0.0));
        settle(&mut changes);
        changes.map(|c| c.1)
    }

    #[test]
    fn one_kind_of_synchronising_in_place_of_another_is_no_loss() {
        assert_eq!(settled([(Why::Condition, -8.0), (Why::Lock, 3.0), (Why::Futex, 1.0)]), [-4.0, 0.0, 0.0]);
        assert_eq!(settled([(Why::Condition, -2.0), (Why::Lock, 3.0), (Why::Futex, 1.0)]), [0.0, 1.5, 0.5]);
        // All kinds grow: nothing is offset.
        assert_eq!(settled([(Why::Condition, 0.5), (Why::Lock, 3.0), (Why::Futex, 0.0)]), [0.5, 3.0, 0.0]);
    }
}
