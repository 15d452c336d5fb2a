//! The parts of a traced run's loss, each with the cause that it is charged to. May import: `pieces`, `profile`,
//! `timeline`.

use super::pieces::{Kind, Why};
use super::profile::{Doing, Profile};
use super::timeline::{Shape, Split};
use crate::answer::CauseId;
use crate::curve::seconds;
use crate::model::{Model, Traced};
use std::collections::{BTreeMap, BTreeSet};

/// A part of the loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The cause that it is charged to; absent for what no evidence explains.
    pub cause: Option<CauseId>,
    /// What it is.
    pub what: String,
    /// Processor-seconds.
    pub seconds: f64,
    /// Its variance from sampling; 0 for what was measured exactly.
    pub variance: f64,
}

/// The idle capacity of a run by cause, processor-seconds of the run.
///
/// Time spent ready to run while a processor was free is charged to other programs up to the time that they took, then
/// to knee itself (which clean runs do not have, so to no cause), then to what the thread had waited for (a hand-over costs the time until the next one runs), then to oversubscription
/// when there are more threads than processors.
pub fn idle(traced: &Traced<'_>, split: &Split) -> Vec<Part> {
    let mut parts = Parts::default();
    let mut foreign = seconds(traced.trace.foreign_ns);
    let mut observer = seconds(traced.trace.observer_ns);
    let crowded = traced.run.threads > traced.trace.processors;
    let order = |kind: &Kind| match kind {
        Kind::Preempted => 0,
        Kind::Ready => 1,
        _ => 2,
    };
    let mut charged: Vec<(Kind, f64)> = split.charged.iter().map(|(k, s)| (*k, *s)).collect();
    charged.sort_by_key(|(kind, _)| (order(kind), *kind));
    for (kind, mut charge) in charged {
        if matches!(kind, Kind::Preempted | Kind::Ready | Kind::Woken(_)) {
            let pressed = charge.min(foreign);
            foreign -= pressed;
            charge -= pressed;
            parts.add(Some(CauseId::CpuPressure), "ready to run while other programs had the processor", pressed);
            let observed = charge.min(observer);
            observer -= observed;
            charge -= observed;
            parts.add(None, "ready to run while knee had the processor", observed);
        }
        let (cause, what) = match kind {
            Kind::Running => continue,
            Kind::Preempted | Kind::Ready | Kind::Woken(Why::Join | Why::Child | Why::Unknown | Why::Futex) => {
                match crowded {
                    true => (Some(CauseId::Oversubscription), "ready to run, more threads than processors"),
                    false => (None, "ready to run while a processor was free"),
                }
            }
            Kind::Woken(Why::Lock) => (Some(CauseId::UserLock), "woken for a lock, not yet running"),
            Kind::Blocked(why) | Kind::Woken(why) => blocked(why),
            Kind::Unseen => (None, "threads whose state was not recorded"),
        };
        parts.add(cause, what, charge);
    }
    for (shape, charge) in &split.shapes {
        let (cause, what) = match shape {
            Shape::StartUp => (CauseId::SerialPhase, "before the first worker thread started"),
            Shape::Tail => (CauseId::SerialPhase, "after the last worker thread had ended"),
            Shape::Between => (CauseId::SerialPhase, "between groups of worker threads"),
            Shape::TooFew => (CauseId::SerialPhase, "fewer threads than processors"),
            Shape::OneThread => (CauseId::SerialPhase, "the program has one thread"),
            Shape::Finished => (CauseId::Imbalance, "other threads had already finished"),
        };
        parts.add(Some(cause), what, *charge);
    }
    parts.0.into_iter().map(|((cause, what), (seconds, variance))| Part { cause, what, seconds, variance }).collect()
}

fn blocked(why: Why) -> (Option<CauseId>, &'static str) {
    match why {
        Why::Lock => (Some(CauseId::UserLock), "waiting for locks"),
        Why::Condition => (Some(CauseId::ConditionWait), "waiting for a condition or for work"),
        Why::Barrier => (Some(CauseId::Imbalance), "waiting at a barrier"),
        Why::Sleep => (Some(CauseId::ConditionWait), "sleeping"),
        Why::Io => (Some(CauseId::IoWait), "waiting for files or devices"),
        Why::Poll => (Some(CauseId::IoWait), "waiting for pipes, sockets or events"),
        Why::Fault => (Some(CauseId::PageFault), "waiting for pages"),
        Why::KernelLock => (Some(CauseId::KernelLock), "waiting for locks in the kernel"),
        Why::Futex => (None, "waiting on a futex of unknown purpose"),
        Why::Call => (None, "blocked in other system calls"),
        Why::Join | Why::Child | Why::Unknown => (None, "blocked for an unknown reason"),
    }
}

/// On-CPU time per unit of work that a run has beyond the base run, by what the threads did.
///
/// Without a base only what the base cannot have is known: locks and conditions that nobody contends cost next to
/// nothing. The rest stays unexplained.
pub fn growth<'t>(
    model: &Model<'t>,
    run: &Strength<'_, 't>,
    base: Option<&Strength<'_, 't>>,
) -> (Vec<Part>, Vec<(Doing<'t>, f64)>) {
    let mut parts = Parts::default();
    let mut functions = Vec::new();
    let keys: BTreeSet<Doing> =
        run.profile.counts.keys().chain(base.into_iter().flat_map(|b| b.profile.counts.keys())).copied().collect();
    for doing in keys {
        let (now, error) = run.spent(doing);
        let (before, base_error) = base.map_or((0.0, 0.0), |b| b.spent(doing));
        let (cause, what) = match doing {
            Doing::Synchronising(Why::Lock) => (Some(CauseId::UserLock), "lock and futex code".to_owned()),
            Doing::Synchronising(Why::Condition) => {
                (Some(CauseId::ConditionWait), "condition and futex code".to_owned())
            }
            Doing::Synchronising(Why::Barrier) => (Some(CauseId::Imbalance), "barrier code".to_owned()),
            _ if base.is_none() => continue,
            Doing::Synchronising(Why::Futex) => (None, "futex calls of unknown purpose".to_owned()),
            Doing::Synchronising(_) => (Some(CauseId::SerialPhase), "joining threads".to_owned()),
            Doing::Call(number) => call(model, number),
            Doing::Fault => (Some(CauseId::PageFault), "page faults in the kernel".to_owned()),
            Doing::Interrupt => (Some(CauseId::ExtraWork), "interrupts and other kernel code".to_owned()),
            Doing::Function(..) => {
                functions.push((doing, now - before));
                let known = base.is_some_and(|b| b.profile.counts.contains_key(&doing));
                let what = if known { SAME_FUNCTIONS } else { NEW_FUNCTIONS };
                (Some(CauseId::ExtraWork), what.to_owned())
            }
            Doing::Unknown => (None, "on a processor, stack unknown".to_owned()),
        };
        parts.add_sampled(cause, what, now - before, error + base_error);
    }
    functions.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let parts = parts.0.into_iter();
    (parts.map(|((cause, what), (seconds, variance))| Part { cause, what, seconds, variance }).collect(), functions)
}

/// Line for functions that the base run has too.
pub const SAME_FUNCTIONS: &str = "the same functions take more time";
/// What that line is called when it is a gain.
pub const SAME_FUNCTIONS_GAIN: &str = "the same functions take less time";
/// Line for functions that only the larger count runs.
pub const NEW_FUNCTIONS: &str = "functions that the smallest count does not run";

fn call(model: &Model<'_>, number: u32) -> (Option<CauseId>, String) {
    let name = || {
        let row = model.traced.iter().flat_map(|t| &t.syscalls).find(|s| s.number == number);
        row.map_or_else(|| number.to_string(), |s| s.name.clone())
    };
    match number {
        n if n == model.numbers.sched_yield => (Some(CauseId::SpinWait), "kernel time in sched_yield".to_owned()),
        n if model.numbers.clone.contains(&n) => {
            (Some(CauseId::ThreadCreation), "kernel time creating threads".to_owned())
        }
        _ => (Some(CauseId::ExtraWork), format!("kernel time in {}", name())),
    }
}

/// On-CPU time per unit of work, and the samples that split it.
#[derive(Debug, Clone, Copy)]
pub struct Strength<'a, 't> {
    /// The samples.
    pub profile: &'a Profile<'t>,
    /// On-CPU seconds per unit of work, measured exactly.
    pub on_cpu: f64,
}

impl Strength<'_, '_> {
    /// Seconds per unit of work in a part of the samples, and the variance: the count of a part is about Poisson
    /// distributed, so its variance is the count, and one sample stands for on-CPU time / samples.
    fn spent(&self, doing: Doing<'_>) -> (f64, f64) {
        let count = self.profile.counts.get(&doing).copied().unwrap_or(0) as f64;
        let each = if self.profile.total == 0 { 0.0 } else { self.on_cpu / self.profile.total as f64 };
        (count * each, count * each * each)
    }
}

#[derive(Debug, Default)]
struct Parts(BTreeMap<(Option<CauseId>, String), (f64, f64)>);

impl Parts {
    fn add(&mut self, cause: Option<CauseId>, what: &str, seconds: f64) {
        self.add_sampled(cause, what.to_owned(), seconds, 0.0);
    }

    fn add_sampled(&mut self, cause: Option<CauseId>, what: String, seconds: f64, variance: f64) {
        if seconds != 0.0 {
            let part = self.0.entry((cause, what)).or_default();
            part.0 += seconds;
            part.1 += variance;
        }
    }
}
