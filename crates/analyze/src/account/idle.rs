//! The idle capacity of a run by line.

use super::criticality::{Idle, SeenAt};
use super::lines::Shape;
use super::lines::Why;
use super::lines::{LineId, Unexplained};
use super::parts::{LossPart, Parts};
use super::pieces::Activity;
use super::serial_code::SerialCode;
use super::timeline::Split;
use crate::curve::seconds;
use crate::model::{Model, Traced};
use crate::runtimes::Theme;
use recording::tables::Reason;

/// The idle capacity of a run, processor-seconds of the run.
///
/// Time spent ready to run while a processor was free is charged in this order: to a control group's quota, up to the
/// time that it held threads back; to other programs and the load of a server, up to the time that they took; to kernel
/// threads; to knee itself, which clean runs do not have; to what the thread had waited for, because a hand-over takes
/// until the next thread runs; to oversubscription, if there are more threads than processors.
pub fn idle<'t>(model: &Model<'t>, traced: &Traced<'t>, split: &Split, serial_code: &SerialCode<'t>) -> Vec<LossPart> {
    let by = Running { split, serial_code, creating: &|at| creates(model, at) };
    let mut parts = Parts::default();
    // Most of these times are known only for the whole trace, so the measured part gets its share.
    let share = traced.measured_share();
    let of_run = if traced.loaded() { 1.0 } else { share };
    let mut throttled = traced.run.throttled_ns.map_or(0.0, seconds) * of_run;
    let others = seconds(traced.trace.foreign_ns) * share;
    let mut kernel = others * traced.kernel_threads();
    let mut foreign = others - kernel;
    let mut load = traced.trace.load_ns.map_or(0.0, seconds);
    // Both the load and other programs took processors: the waiting for them is split in proportion.
    let load_part = load / (load + foreign.max(0.0)).max(f64::MIN_POSITIVE);
    let mut observer = seconds(traced.trace.observer_ns) * share;
    let crowded = traced.asked() > traced.trace.processors;
    let order = |kind: &Activity| match kind {
        Activity::Preempted | Activity::CompilerPreempted => 0,
        Activity::Ready | Activity::CompilerReady => 1,
        _ => 2,
    };
    let mut charged: Vec<(Activity, f64)> = split.charged.iter().map(|(k, s)| (*k, *s)).collect();
    charged.sort_by_key(|(kind, _)| (order(kind), *kind));
    for (kind, mut charge) in charged {
        if kind.is_ready() {
            let of_load = load_part * charge;
            let mut take = |from: &mut f64, id| {
                let taken = charge.min(*from);
                *from -= taken;
                charge -= taken;
                parts.add(id, taken);
            };
            take(&mut throttled, LineId::Throttled);
            let mut part = of_load.min(load);
            load -= part;
            take(&mut part, LineId::LoadRan);
            take(&mut foreign, LineId::OtherPrograms);
            take(&mut load, LineId::LoadRan);
            take(&mut kernel, LineId::KernelThreads);
            take(&mut observer, OBSERVED);
        }
        let id = match kind {
            Activity::Running | Activity::Compiling => continue,
            Activity::Preempted
            | Activity::Ready
            | Activity::CompilerReady
            | Activity::CompilerPreempted
            | Activity::Woken(Why::Join | Why::Child | Why::Helper | Why::Clock | Why::Unknown | Why::Futex) => {
                match crowded {
                    true => LineId::Crowded,
                    false => LineId::Unexplained(Unexplained::Ready),
                }
            }
            Activity::Woken(Why::Lock) => LineId::WokenForLock,
            Activity::Blocked(Why::Fault) | Activity::Woken(Why::Fault) if reads_pages(traced) => LineId::ReadingPages,
            Activity::Blocked(why) | Activity::Woken(why) => LineId::blocked(why),
            Activity::Unseen => LineId::Unexplained(Unexplained::Unseen),
        };
        by.add(&mut parts, Idle::Waiting(kind), id, charge);
    }
    for (shape, charge) in &split.shapes {
        by.add(&mut parts, Idle::Shape(*shape), LineId::Shape(*shape), *charge);
    }
    parts.list()
}

/// Removes from the idle time of a run what other programs took beyond `usual`, and returns it. All in the same unit.
pub fn more_than(parts: &mut [LossPart], usual: f64) -> f64 {
    let mut more = 0.0;
    for part in parts.iter_mut().filter(|p| p.id == LineId::OtherPrograms) {
        let taken = (part.seconds - usual).max(0.0);
        part.seconds -= taken;
        more += taken;
    }
    more
}

/// The line of what knee itself took from the threads. Clean runs do not have it.
pub const OBSERVED: LineId = LineId::Unexplained(Unexplained::Observer);

/// What ran during idle time, and what that says about it.
struct Running<'a, 't> {
    split: &'a Split,
    serial_code: &'a SerialCode<'t>,
    creating: &'a dyn Fn(&SeenAt) -> bool,
}

impl Running<'_, '_> {
    /// Splits idle time whose reason says little by itself according to what ran meanwhile.
    fn add(&self, parts: &mut Parts, idle: Idle, id: LineId, charge: f64) {
        let ((share, variance), instead) = match idle {
            _ if may_hide_serial(idle) && !self.serial_code.is_empty() => {
                (self.share(idle, |at| self.serial_code.function(at.stack).is_some()), LineId::OneAlone)
            }
            Idle::Shape(_) => (self.share(idle, self.creating), LineId::Creating),
            Idle::Waiting(_) => ((0.0, 0.0), LineId::OneAlone),
        };
        let sampled = variance * charge * charge;
        parts.add_sampled(instead, share * charge, sampled);
        parts.add_sampled(id, (1.0 - share) * charge, sampled);
    }

    /// The share of idle time of one kind in which something that `fits` ran, and the variance of that share.
    fn share(&self, idle: Idle, fits: impl Fn(&SeenAt) -> bool) -> (f64, f64) {
        let meanwhile = &self.split.criticality;
        let (mut fitting, mut all) = (0.0, 0.0);
        for (at, weight) in meanwhile.during(|i| i == idle) {
            all += weight;
            fitting += if fits(&at) { weight } else { 0.0 };
        }
        if all <= 0.0 {
            return (0.0, 0.0);
        }
        // Idle time in which no thread ran belongs to no code.
        let nobody = meanwhile.nobody.get(&idle).copied().unwrap_or(0.0);
        let ran = (1.0 - nobody / self.split.charge_of(idle).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let share = fitting / all;
        let samples = meanwhile.samples.get(&idle).copied().unwrap_or(0) as f64;
        (share * ran, ran * ran * share * (1.0 - share) / samples.max(1.0))
    }
}

/// True when a thread creates or ends another.
fn creates(model: &Model<'_>, at: &SeenAt) -> bool {
    let by_call = at.syscall.is_some_and(|n| model.numbers.clone.contains(&n));
    by_call || model.stacks.view(at.stack, false).theme == Some(Theme::Creation)
}

/// True when threads may be waiting for a whole phase to end and not for one definite thing.
pub fn may_hide_serial(idle: Idle) -> bool {
    match idle {
        Idle::Shape(Shape::Finished) => true,
        Idle::Waiting(Activity::Blocked(why) | Activity::Woken(why)) => {
            matches!(why, Why::Barrier | Why::Condition | Why::Ended | Why::Task)
        }
        Idle::Waiting(_) | Idle::Shape(_) => false,
    }
}

/// Decides: whether waits for pages count as waits for a device: more than this share of them must have read something.
/// From: reasoned, not measured: with more than half, the device is what most of them waited for.
/// Wrong if: few faults read, but each of these takes far longer than the others: the time is the device's then.
const READING: f64 = 0.5;

/// True when most of the page faults that made threads wait had to read from a device.
fn reads_pages(traced: &Traced<'_>) -> bool {
    let waits = traced.waits.values().filter(|w| w.reason == Reason::Fault);
    let blocks = waits.fold(0_u64, |n, w| n.saturating_add(w.count));
    let major = traced.threads.values().try_fold(0_u64, |n, t| Some(n.saturating_add(t.major_faults?)));
    major.unwrap_or(traced.run.major_faults) as f64 > READING * blocks as f64
}
