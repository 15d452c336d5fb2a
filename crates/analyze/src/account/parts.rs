//! The parts of a traced run's loss, each with the cause that it is charged to. May import: `answer`.

use crate::answer::CauseId;
use std::collections::BTreeMap;

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

/// Parts in the making: those of one cause and one name are one part.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<(Option<CauseId>, String), (f64, f64)>);

impl Parts {
    /// What was measured exactly.
    pub(super) fn add(&mut self, cause: Option<CauseId>, what: &str, seconds: f64) {
        self.add_sampled(cause, what.to_owned(), seconds, 0.0);
    }

    /// What samples show, with its variance.
    pub(super) fn add_sampled(&mut self, cause: Option<CauseId>, what: String, seconds: f64, variance: f64) {
        if seconds != 0.0 {
            let part = self.0.entry((cause, what)).or_default();
            part.0 += seconds;
            part.1 += variance;
        }
    }

    /// The parts, in the order of causes and names.
    pub(super) fn list(self) -> Vec<Part> {
        let parts = self.0.into_iter();
        parts.map(|((cause, what), (seconds, variance))| Part { cause, what, seconds, variance }).collect()
    }
}
