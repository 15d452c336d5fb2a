//! Where the time of a traced run went, as the sweep over its timelines finds it.

use super::beside_compiler::BesideCompiler;
use crate::account::criticality::{Criticality, Idle};
use crate::account::lines::Shape;
use crate::account::pieces::Activity;
use recording::WaitId;
use std::collections::{BTreeMap, HashMap};

/// Where the time of one traced run went, processor-seconds of the run.
#[derive(Debug, Clone, Default)]
pub struct Split {
    /// Processors × time.
    pub capacity: f64,
    /// On-CPU time, all of it.
    pub on_cpu: f64,
    /// On-CPU time while more threads ran than the capacity counts.
    pub surplus: f64,
    /// Capacity that was not used.
    pub idle: f64,
    /// The part of `idle` that is charged to threads, by what they did instead of running.
    pub charged: BTreeMap<Activity, f64>,
    /// All thread-seconds by what threads did, whether or not processors were idle meanwhile.
    pub spent: BTreeMap<Activity, f64>,
    /// The same as `charged`, by wait, from blocking until running again.
    pub by_wait: HashMap<WaitId, f64>,
    /// The part of `idle` that no thread could have used.
    pub shapes: BTreeMap<Shape, f64>,
    /// Who ran while capacity was idle.
    pub criticality: Criticality,
    /// What threads waited for while a runtime's compiler used processors that they could have used.
    pub beside_compiler: BesideCompiler,
    /// Time in which two threads or more were on processors, seconds.
    pub together: f64,
    /// Time in which two threads or more were on processors or ready, seconds.
    pub together_wanted: f64,
}

/// Decides: how much less threads were together than it seems where other virtual machines had the processors: for each
/// second taken from one of them, so many times its share.
/// From: reasoned, not measured: of two threads that seem to run together either may stand still, and they are hardly
/// ever taken off at once.
/// Wrong if: the hypervisor takes all processors at once, as with gang scheduling: then once would be right.
const EITHER: f64 = 2.0;

impl Split {
    /// Of the time in which two threads or more wanted processors, the share in which they had them, 0 to 1. What
    /// threads do to each other shows only while they run together. `others`: seconds that other programs had the
    /// processors; only up to these can time together be missing. `stolen`: seconds that other virtual machines had
    /// them, from this program and from others alike. A thread stands still meanwhile, but seems to run, and two that
    /// seem to run together do so only while neither stands still.
    pub fn exposure(&self, others: f64, stolen: f64) -> f64 {
        let missing = (self.together_wanted - self.together).clamp(0.0, others.max(0.0));
        let wanted = self.together + missing;
        let ran = self.on_cpu + others.max(0.0);
        let stood_still = if ran > 0.0 { (EITHER * stolen / ran).min(1.0) } else { 0.0 };
        if wanted > 0.0 { self.together * (1.0 - stood_still) / wanted } else { 1.0 }
    }

    /// What is charged to one reason.
    pub fn charge_of(&self, idle: Idle) -> f64 {
        let charge = match idle {
            Idle::Waiting(kind) => self.charged.get(&kind),
            Idle::Shape(shape) => self.shapes.get(&shape),
        };
        charge.copied().unwrap_or(0.0)
    }

    /// Capacity + surplus − on-CPU time − idle capacity; and idle capacity − all charges. Both are 0 except for
    /// rounding.
    pub fn imprecision(&self) -> (f64, f64) {
        let charged: f64 = self.charged.values().sum::<f64>() + self.shapes.values().sum::<f64>();
        (self.capacity + self.surplus - self.on_cpu - self.idle, self.idle - charged)
    }
}
