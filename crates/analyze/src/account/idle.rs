//! The idle capacity of a run by cause. May import: `alone`, `meanwhile`, `parts`, `pieces`, `timeline`, `model`, `themes`.

use super::alone::Alone;
use super::meanwhile::{At, Idle};
use super::parts::{Part, Parts};
use super::pieces::{Kind, Why};
use super::timeline::{Shape, Split};
use crate::answer::CauseId;
use crate::curve::seconds;
use crate::model::{Model, Traced};
use crate::themes::Theme;
use recording::tables::Reason;

/// The line for idle time of any kind in which code ran that only ever runs alone.
pub const ONE_ALONE: &str = "while one thread did what only one may do";

/// The idle capacity of a run, processor-seconds of the run.
///
/// Time spent ready to run while a processor was free is charged to a control group's quota up to the time that it
/// held threads back, then to other programs up to the time that they took, then to the kernel's own threads, then to knee
/// itself (which clean runs do not have, so to no cause), then to what the thread had waited for (a hand-over costs the
/// time until the next one runs), then to oversubscription when there are more threads than processors.
pub fn idle<'t>(model: &Model<'t>, traced: &Traced<'t>, split: &Split, alone: &Alone<'t>) -> Vec<Part> {
    let by = Running { split, alone, creating: &|at| creates(model, at) };
    let mut parts = Parts::default();
    // Known for the whole trace only.
    let share = traced.measured_share();
    let mut throttled = traced.run.throttled_ns.map_or(0.0, seconds) * share;
    let others = seconds(traced.trace.foreign_ns) * share;
    let mut kernel = others * traced.kernel_threads();
    let mut foreign = others - kernel;
    let mut observer = seconds(traced.trace.observer_ns) * share;
    let crowded = traced.asked() > traced.trace.processors;
    let order = |kind: &Kind| match kind {
        Kind::Preempted => 0,
        Kind::Ready => 1,
        _ => 2,
    };
    let mut charged: Vec<(Kind, f64)> = split.charged.iter().map(|(k, s)| (*k, *s)).collect();
    charged.sort_by_key(|(kind, _)| (order(kind), *kind));
    for (kind, mut charge) in charged {
        if matches!(kind, Kind::Preempted | Kind::Ready | Kind::Woken(_)) {
            let mut take = |from: &mut f64, cause, what| {
                let taken = charge.min(*from);
                *from -= taken;
                charge -= taken;
                parts.add(cause, what, taken);
            };
            take(&mut throttled, Some(CauseId::CpuQuota), "held back by the control group's quota");
            take(&mut foreign, Some(CauseId::CpuPressure), OTHERS);
            take(&mut kernel, Some(CauseId::ExtraWork), "ready to run while threads of the kernel had the processor");
            take(&mut observer, None, OBSERVED);
        }
        let (cause, what) = match kind {
            Kind::Running => continue,
            Kind::Preempted
            | Kind::Ready
            | Kind::Woken(Why::Join | Why::Child | Why::Helper | Why::Unknown | Why::Futex) => match crowded {
                true => (Some(CauseId::Oversubscription), "ready to run, more threads than processors"),
                false => (None, "ready to run while a processor was free"),
            },
            Kind::Woken(Why::Lock) => (Some(CauseId::UserLock), "woken for a lock, not yet running"),
            Kind::Blocked(Why::Fault) | Kind::Woken(Why::Fault) if reads_pages(traced) => {
                (Some(CauseId::IoWait), READING)
            }
            Kind::Blocked(why) | Kind::Woken(why) => blocked(why),
            Kind::Unseen => (None, UNSEEN),
        };
        by.add(&mut parts, Idle::Waiting(kind), (cause, what, charge));
    }
    for (shape, charge) in &split.shapes {
        let (cause, what) = match shape {
            Shape::StartUp => (CauseId::SerialPhase, START_UP),
            Shape::Tail => (CauseId::SerialPhase, TAIL),
            Shape::Between => (CauseId::SerialPhase, BETWEEN),
            Shape::TooFew => (CauseId::SerialPhase, TOO_FEW),
            Shape::OneThread => (CauseId::SerialPhase, ONE_THREAD),
            Shape::Finished => (CauseId::Imbalance, FINISHED),
        };
        by.add(&mut parts, Idle::Shape(*shape), (Some(cause), what, *charge));
    }
    parts.list()
}

/// Takes from the idle time of a run what other programs took of it beyond so much, and returns that. All in one unit.
pub fn more_than(parts: &mut [Part], usual: f64) -> f64 {
    let mut more = 0.0;
    for part in parts.iter_mut().filter(|p| p.what == OTHERS) {
        let taken = (part.seconds - usual).max(0.0);
        part.seconds -= taken;
        more += taken;
    }
    more
}

/// Time that other programs took of the clean runs alone.
pub(super) fn pressed(seconds: f64) -> Part {
    Part { cause: Some(CauseId::CpuPressure), what: PRESSED.to_owned(), seconds, variance: 0.0 }
}

/// Line for time that other programs took from the threads in the timed runs, and not in the observed one.
const PRESSED: &str = "other programs had the processor in the timed runs";
/// Line for time that other programs took from the threads.
const OTHERS: &str = "ready to run while other programs had the processor";
/// Part for time that knee itself took from the threads. Clean runs do not have it.
pub const OBSERVED: &str = "ready to run while knee had the processor";
/// Part for threads of which nobody knows what they did.
pub const UNSEEN: &str = "threads whose state was not recorded";
/// Part for waits of which nobody knows what they were for.
pub const UNKNOWN_WAIT: &str = "blocked for an unknown reason";
/// Line for idle time before the first worker.
pub const START_UP: &str = "before the first worker thread started";
/// Line for idle time after the last worker.
pub const TAIL: &str = "after the last worker thread had ended";
/// Line for idle time between groups of workers.
pub const BETWEEN: &str = "between groups of worker threads";
/// Line for idle time that no living thread could have used.
pub const TOO_FEW: &str = "fewer threads than processors";
/// Line for idle time of a program without a second thread.
pub const ONE_THREAD: &str = "the program has one thread";
/// Line for idle time of those that are done.
pub const FINISHED: &str = "other threads had already finished";
/// Line for idle time of Go's threads whose goroutines are done.
pub const GOROUTINES_ENDED: &str = "fewer goroutines than processors could run";
/// Line for idle time of a pool's threads that have no task.
pub const NO_TASK: &str = "fewer tasks left than threads";
/// Line for idle time at barriers.
pub const BARRIER: &str = "waiting at a barrier";

/// The line for idle time in which a thread created or ended others.
pub const CREATING: &str = "while one thread creates or ends the others";

/// What ran during idle time, and what that says about it.
struct Running<'a, 't> {
    split: &'a Split,
    alone: &'a Alone<'t>,
    creating: &'a dyn Fn(&At) -> bool,
}

impl Running<'_, '_> {
    /// Idle time whose reason says little by itself is divided by what ran meanwhile.
    fn add(&self, parts: &mut Parts, idle: Idle, (cause, what, charge): (Option<CauseId>, &str, f64)) {
        let (share, variance, instead, name) = match idle {
            _ if may_hide_serial(idle) && !self.alone.is_empty() => {
                let (share, variance) = self.share(idle, |at| self.alone.function(at.stack).is_some());
                (share, variance, CauseId::SerialPhase, ONE_ALONE)
            }
            Idle::Shape(_) => {
                let (share, variance) = self.share(idle, self.creating);
                (share, variance, CauseId::ThreadCreation, CREATING)
            }
            Idle::Waiting(_) => (0.0, 0.0, CauseId::SerialPhase, ONE_ALONE),
        };
        let sampled = variance * charge * charge;
        parts.add_sampled(Some(instead), name.to_owned(), share * charge, sampled);
        parts.add_sampled(cause, what.to_owned(), (1.0 - share) * charge, sampled);
    }

    /// The share of idle time of one kind in which something ran that fits, and the variance of that share.
    fn share(&self, idle: Idle, fits: impl Fn(&At) -> bool) -> (f64, f64) {
        let meanwhile = &self.split.meanwhile;
        let (mut fitting, mut all) = (0.0, 0.0);
        for (at, weight) in meanwhile.during(|i| i == idle) {
            all += weight;
            fitting += if fits(&at) { weight } else { 0.0 };
        }
        if all <= 0.0 {
            return (0.0, 0.0);
        }
        // Idle time in which nobody ran belongs to no code.
        let nobody = meanwhile.nobody.get(&idle).copied().unwrap_or(0.0);
        let ran = (1.0 - nobody / self.split.charge_of(idle).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let share = fitting / all;
        let samples = meanwhile.samples.get(&idle).copied().unwrap_or(0) as f64;
        (share * ran, ran * ran * share * (1.0 - share) / samples.max(1.0))
    }
}

/// True when a thread creates or ends another.
fn creates(model: &Model<'_>, at: &At) -> bool {
    let by_call = at.syscall.is_some_and(|n| model.numbers.clone.contains(&n));
    by_call || model.stacks.view(at.stack, false).theme == Some(Theme::Creation)
}

/// True when threads wait for a whole phase to end rather than for a definite thing.
pub fn may_hide_serial(idle: Idle) -> bool {
    match idle {
        Idle::Shape(Shape::Finished) => true,
        Idle::Waiting(Kind::Blocked(why) | Kind::Woken(why)) => {
            matches!(why, Why::Barrier | Why::Condition | Why::Ended | Why::Task)
        }
        Idle::Waiting(_) | Idle::Shape(_) => false,
    }
}

/// Line for faults that read from a device.
pub const READING: &str = "waiting for pages to be read";

/// True when most of the faults that made threads wait needed input or output.
fn reads_pages(traced: &Traced<'_>) -> bool {
    let waits = traced.waits.values().filter(|w| w.reason == Reason::Fault);
    let blocks = waits.fold(0_u64, |n, w| n.saturating_add(w.count));
    let major = traced.threads.values().try_fold(0_u64, |n, t| Some(n.saturating_add(t.major_faults?)));
    major.unwrap_or(traced.run.major_faults) > blocks / 2
}

fn blocked(why: Why) -> (Option<CauseId>, &'static str) {
    match why {
        Why::Lock => (Some(CauseId::UserLock), "waiting for locks"),
        Why::Allocator => (Some(CauseId::Allocator), "waiting inside the memory allocator"),
        Why::Creation => (Some(CauseId::ThreadCreation), "waiting while creating or ending threads"),
        Why::Condition => (Some(CauseId::ConditionWait), "waiting for a condition or for work"),
        Why::Barrier => (Some(CauseId::Imbalance), BARRIER),
        Why::Ended => (Some(CauseId::Imbalance), GOROUTINES_ENDED),
        Why::Task => (Some(CauseId::Imbalance), NO_TASK),
        Why::Sleep => (Some(CauseId::ConditionWait), "sleeping"),
        Why::Io => (Some(CauseId::IoWait), "waiting for files or devices"),
        Why::Poll => (Some(CauseId::IoWait), "waiting for pipes, sockets or events"),
        Why::Fault => (Some(CauseId::PageFault), "waiting for pages"),
        Why::KernelLock => (Some(CauseId::KernelLock), "waiting for locks in the kernel"),
        Why::Futex => (None, "waiting on a futex of unknown purpose"),
        Why::Call => (None, "blocked in other system calls"),
        Why::Join | Why::Child | Why::Helper | Why::Unknown => (None, UNKNOWN_WAIT),
    }
}
