//! Which run, which thread, which stretch of time.

use crate::observed::Observed;
use recording::ThreadId;
use std::collections::BTreeSet;

/// What a table is restricted to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pick {
    /// Only the threads with this thread id.
    pub tid: Option<u32>,
    /// Only what happened from here to there, seconds since the run's start.
    pub between: Option<(f64, f64)>,
}

impl Pick {
    /// The threads that the table is about.
    pub fn threads(&self, observed: &Observed<'_, '_>) -> BTreeSet<ThreadId> {
        let meant = |tid: u32| self.tid.is_none_or(|t| t == tid);
        observed.traced.threads.values().filter(|t| meant(t.tid)).map(|t| t.thread).collect()
    }

    /// The stretch of time that the table is about, on the recording's clock, nanoseconds.
    pub fn range(&self, observed: &Observed<'_, '_>) -> (u64, u64) {
        let trace = observed.traced.trace;
        let (begin, end) = (trace.begin_ns, trace.end_ns);
        // Casts from float to integer saturate, so no number of seconds can leave the trace.
        let at = |seconds: f64| begin.saturating_add((seconds.max(0.0) * 1e9) as u64).min(end);
        self.between.map_or((begin, end), |(a, b)| (at(a.min(b)), at(a.max(b))))
    }
}

/// How much of `start..end` lies in the range, nanoseconds.
pub(crate) fn overlap((from, to): (u64, u64), start: u64, end: u64) -> u64 {
    end.min(to).saturating_sub(start.max(from))
}
