//! Who ran while capacity was idle: the threads that the others waited for, whatever they waited at.
//!
//! Each CPU sample is charged with the idle capacity of its instant, by reason, divided by the number of threads that
//! ran then: the threads that run keep the others waiting (criticality stacks: Du Bois, Eyerman, Sartor & Eeckhout
//! 2013, "Criticality stacks: identifying critical threads in parallel programs using synchronization behavior").

use super::lines::Shape;
use super::lines::Why;
use super::pieces::Activity;
use recording::tables::{Mode, Sample};
use recording::{QuickMap, StackId, ThreadId};
use std::collections::BTreeMap;

/// Why capacity was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Idle {
    /// Threads waited instead of running.
    Waiting(Activity),
    /// There was no thread that could have run.
    Shape(Shape),
}

/// One instant: how many threads run, and which idle processors are charged to what.
#[derive(Debug, Clone)]
pub struct Instant {
    /// Threads that run.
    pub running: f64,
    /// Idle processors by reason.
    pub why: Vec<(Idle, f64)>,
}

/// Where a sample saw a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeenAt {
    /// The thread.
    pub thread: ThreadId,
    /// Its user stack.
    pub stack: Option<StackId>,
    /// The system call that it was in.
    pub syscall: Option<u32>,
}

/// How often something was seen, and how often while no other thread ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples.
    pub all: u64,
    /// Of those, taken while the thread ran alone.
    pub alone: u64,
}

/// A sample counts as taken alone when at most this many threads were running, the sampled one included.
///
/// Decides: whether a sample counts as taken while no other thread was running.
/// From: chosen: summed-up stretches of the timeline leave fractions of threads, and a tenth covers those.
/// Shown by: `a_serial_part_behind_a_barrier_is_named_with_its_limit`.
/// Wrong if: a second thread keeps running beside the first in short turns that add up to less than a tenth of the
/// time.
const ALONE: f64 = 1.1;

/// Who ran while capacity was idle.
#[derive(Debug, Clone, Default)]
pub struct Criticality {
    /// Sum over samples of idle processors / running threads, by reason and by who ran.
    pub blamed: QuickMap<(Idle, SeenAt), f64>,
    /// Samples taken while capacity was idle for that reason.
    pub samples: BTreeMap<Idle, u64>,
    /// All samples.
    pub seen: QuickMap<SeenAt, SampleCounts>,
    /// Idle processor-seconds in which no thread ran at all, by reason.
    pub nobody: BTreeMap<Idle, f64>,
    /// The part of it in which a thread slept by the clock and none waited for anything from outside, or unknown: nothing
    /// but the clock could go on.
    pub paused: BTreeMap<Idle, f64>,
    /// Seconds in which no thread ran and some waited for a lock, by what other threads did at the same time.
    pub beside_locks: BTreeMap<Activity, f64>,
}

/// True for what may go on although no thread of the program runs and no clock ends it.
fn goes_on_by_itself(kind: Activity) -> bool {
    match kind {
        Activity::Blocked(why) => !matches!(
            why,
            Why::Sleep
                | Why::Condition
                | Why::Task
                | Why::Barrier
                | Why::Lock
                | Why::Join
                | Why::Ended
                | Why::Helper
                | Why::Clock
        ),
        // Stretches that are summed up leave fractions of threads that run.
        Activity::Running | Activity::Compiling => false,
        Activity::Woken(_) | Activity::Ready | Activity::Preempted | Activity::Unseen => true,
        Activity::CompilerReady | Activity::CompilerPreempted => true,
    }
}

impl Criticality {
    /// Adds one sample.
    pub(super) fn sampled(&mut self, sample: &Sample, instant: &Instant) {
        let syscall = sample.syscall.filter(|_| sample.mode == Mode::Kernel);
        let at = SeenAt { thread: sample.thread, stack: sample.user_stack, syscall };
        let seen = self.seen.entry(at).or_default();
        seen.all += 1;
        seen.alone += u64::from(instant.running <= ALONE);
        for (idle, processors) in &instant.why {
            *self.blamed.entry((*idle, at)).or_default() += processors / instant.running.max(1.0);
            *self.samples.entry(*idle).or_default() += 1;
        }
    }

    /// Adds a stretch in which no thread ran.
    pub(super) fn nobody_ran(
        &mut self,
        instant: &Instant,
        present: impl Iterator<Item = Activity> + Clone,
        seconds: f64,
    ) {
        if present.clone().any(|k| k == Activity::Blocked(Why::Lock)) {
            for kind in present.clone().filter(|k| *k != Activity::Blocked(Why::Lock)) {
                *self.beside_locks.entry(kind).or_default() += seconds;
            }
        }
        let sleeps = present.clone().any(|kind| matches!(kind, Activity::Blocked(Why::Sleep | Why::Clock)));
        let paused = sleeps && !present.clone().any(goes_on_by_itself);
        for (idle, processors) in &instant.why {
            *self.nobody.entry(*idle).or_default() += processors * seconds;
            if paused {
                *self.paused.entry(*idle).or_default() += processors * seconds;
            }
        }
    }

    /// Who ran during the idle time that `fits`, with weights; largest weight first.
    pub fn during(&self, fits: impl Fn(Idle) -> bool) -> Vec<(SeenAt, f64)> {
        let mut weights: BTreeMap<SeenAt, f64> = BTreeMap::new();
        let mut blamed: Vec<_> = self.blamed.iter().filter(|((idle, _), _)| fits(*idle)).collect();
        blamed.sort_unstable_by_key(|(key, _)| **key);
        for ((_, at), weight) in blamed {
            *weights.entry(*at).or_default() += weight;
        }
        let mut list: Vec<(SeenAt, f64)> = weights.into_iter().collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        list
    }
}
