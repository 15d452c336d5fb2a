//! The parts of a traced run's loss on their way to lines.

use super::lines::LineId;
use std::collections::BTreeMap;

/// A part of the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossPart {
    /// What it is.
    pub id: LineId,
    /// Processor-seconds.
    pub seconds: f64,
    /// Its variance from sampling; 0 for what was measured exactly.
    pub variance: f64,
}

impl LossPart {
    /// What was measured exactly.
    pub(super) fn exact(id: LineId, seconds: f64) -> LossPart {
        LossPart { id, seconds, variance: 0.0 }
    }
}

/// Collects parts: everything added for one line becomes one part.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<LineId, (f64, f64)>);

impl Parts {
    /// What was measured exactly.
    pub(super) fn add(&mut self, id: LineId, seconds: f64) {
        self.add_sampled(id, seconds, 0.0);
    }

    /// Adds seconds estimated from samples, with their variance.
    pub(super) fn add_sampled(&mut self, id: LineId, seconds: f64, variance: f64) {
        if seconds != 0.0 {
            let part = self.0.entry(id).or_default();
            part.0 += seconds;
            part.1 += variance;
        }
    }

    /// The parts, in the order of lines.
    pub(super) fn list(self) -> Vec<LossPart> {
        let parts = self.0.into_iter();
        parts.map(|(id, (seconds, variance))| LossPart { id, seconds, variance }).collect()
    }
}
