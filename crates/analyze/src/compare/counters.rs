//! Which counters differ between the timed runs of two interleaved cases: processor time, context switches, page
//! faults.

use crate::answer::{Change, Kind};
use crate::curve::{Clean, median_of, seconds};
use crate::statistics::MIN_SHARE;
use crate::statistics::NORMAL_95;
use crate::statistics::paired::{differences, paired};
use recording::tables::Run;

/// A counter of a run: kind, name, value.
type Counter = (Kind, &'static str, fn(&Run) -> f64);

const COUNTERS: [Counter; 6] = [
    (Kind::ProcessorTime, "in user space", |run| seconds(run.user_ns)),
    (Kind::ProcessorTime, "in the kernel", |run| seconds(run.system_ns)),
    (Kind::Counter, "voluntary context switches", |run| run.voluntary_switches as f64),
    (Kind::Counter, "involuntary context switches", |run| run.involuntary_switches as f64),
    (Kind::Counter, "page faults without input/output", |run| run.minor_faults as f64),
    (Kind::Counter, "page faults with input/output", |run| run.major_faults as f64),
];

/// Counters that differ, per unit of work, by more than the noise and by a share that matters. The probability that any
/// of them shows a difference by chance is at most `error`.
pub(crate) fn changes(a: &Clean<'_>, b: &Clean<'_>, threads: u32, error: f64) -> Vec<Change> {
    let each = error / COUNTERS.len() as f64;
    let changed = COUNTERS.iter().filter_map(|(kind, name, value)| {
        let of = |clean: &Clean<'_>| clean.series(threads, |run| value(run) / clean.work(run));
        let (first, second) = (of(a), of(b));
        let (before, after) = (median_of(&first)?, median_of(&second)?);
        let interval = paired(&differences(&first, &second, |a, b| b - a), each)?.interval?;
        let told = interval.low > 0.0 || interval.high < 0.0;
        let matters = (after - before).abs() > MIN_SHARE * before.max(after);
        (told && matters).then(|| Change {
            threads,
            kind: *kind,
            name: (*name).to_owned(),
            before,
            after,
            sampling_error: (interval.high - interval.low) / 2.0 / NORMAL_95,
        })
    });
    changed.collect()
}
