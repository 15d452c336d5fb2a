//! When nothing is predicted, why, and what would tell.

use super::replay::Replay;
use super::told::NotKnown;
use crate::account::Ledger;
use crate::account::lines::{LineId, Why};
use crate::facts::Facts;
use crate::foresight::outside::disturbed;
use crate::scaling::mostly_waits;
use crate::words::{percent, said};

/// Decides: whether nothing is predicted because the program waits for files, sockets or the clock, or because a
/// runtime's collector or compiler takes part: more than this share of the processors, at a count that it would be
/// predicted from.
/// From: chosen: as much as others may take.
/// Shown by: `what_no_processor_brings_is_not_predicted`.
/// Wrong if: what is waited for, or the collector, scales as the program does.
const MOST_FOREIGN: f64 = 0.1;

/// Decides: whether the work may grow with the count: without a printed throughput, the processor time of a run grows by
/// more than this share of what it would if each thread did the whole work.
/// From: chosen: what threads do to each other mostly shows as more than just slower code.
/// Shown by: `work_that_grows_with_the_threads_is_not_predicted`.
/// Wrong if: the same code takes twice as long because of the memory.
const WORK_GROWS: f64 = 0.8;

/// Decides: the same: the code of the baseline accounts for more than this share of that growth.
/// From: chosen: more than half.
/// Shown by: `work_that_grows_with_the_threads_is_not_predicted`.
/// Wrong if: as above.
const SAME_CODE: f64 = 0.6;

/// Decides: the same: a run takes at least this share of the time that it takes at the baseline.
/// From: chosen: a program whose threads each do the whole work is never faster.
/// Shown by: `work_that_grows_with_the_threads_is_not_predicted`.
/// Wrong if: as above.
const NO_FASTER: f64 = 0.9;

/// Why nothing can be predicted, if so. `tested`: fewer counts are used than there are, to compare with the others.
pub(super) fn refused(facts: &Facts<'_, '_>, replay: &Replay, tested: bool) -> Option<NotKnown> {
    let used = || {
        let counts = || replay.within.iter().chain(&replay.beyond).map(|step| step.count);
        facts.ledgers.iter().filter(move |l| counts().any(|count| count == l.account.threads))
    };
    if facts.model.tables.meta.load.is_some() {
        return Some(not_known(
            "a load asks the program for work: its rate is the load's, and so is the limit",
            "the same load from another machine, with a sweep of the server on the larger one",
        ));
    }
    if replay.within.len() < if tested { 1 } else { 2 } {
        return Some(not_known(
            "fewer than two counts within the processors were measured: one shows nothing of what threads do to each other",
            "a sweep with two counts or more, such as 1 and 2",
        ));
    }
    if let Some(why) = disturbed(facts.counted(), used()) {
        return Some(not_known(
            &format!("{why}: what they changed would be taken for the program's own"),
            "the same sweep on a machine where nothing else runs",
        ));
    }
    let mostly = facts.points.first().filter(|point| mostly_waits(point, facts.processors));
    if mostly.is_some() {
        return Some(not_known(
            "the program's threads mostly wait: more threads may bring more, whatever the processors",
            "a sweep of more threads on this machine",
        ));
    }
    let most = |fits: fn(LineId) -> bool| used().map(|l| l.sum(fits).0 / l.account.capacity).fold(0.0, f64::max);
    let waited = most(|id| {
        matches!(id, LineId::Blocked(Why::Io | Why::Poll | Why::Sleep | Why::Reply | Why::Pause) | LineId::ReadingPages)
    });
    // What the work waits for at the baseline, too, is no loss there.
    let waited = waited.max(replay.waiting());
    if waited > MOST_FOREIGN {
        return Some(not_known(
            &format!(
                "{} of the time is waiting for files, sockets or the clock, which no processor makes faster",
                percent(waited)
            ),
            "a sweep on a machine with the larger number of processors and the same devices",
        ));
    }
    let runtime = most(|id| matches!(id, LineId::Collector | LineId::Compiling));
    if runtime > MOST_FOREIGN {
        return Some(not_known(
            &format!(
                "the runtime's collector or compiler takes {} of the processors; with more of them it runs with other \
                 threads of its own",
                percent(runtime)
            ),
            "a sweep on a machine with the larger number of processors",
        ));
    }
    grows(facts, replay).then(|| {
        not_known(
            "each further thread takes about as much processor time as the first, in the same code, and the program \
             prints no throughput: it may do more work, or the same work slower",
            "a sweep in which the program prints what it has done (--throughput)",
        )
    })
}

/// True where a run may do more work the more threads it has.
fn grows(facts: &Facts<'_, '_>, replay: &Replay) -> bool {
    let (Some(base), Some(last)) = (replay.base(), replay.largest()) else { return false };
    let ledger = facts.ledgers.iter().find(|l| l.account.threads == last.count);
    let Some(ledger) = ledger.filter(|_| !facts.clean.counts_work() && last.count > base.count) else { return false };
    let cpu = |count| facts.clean.median(count, crate::curve::cpu).unwrap_or(f64::NAN);
    let growth = cpu(last.count) / cpu(base.count) - 1.0;
    let full = last.processors / base.processors - 1.0;
    last.time >= NO_FASTER * base.time && growth >= WORK_GROWS * full && in_same_code(ledger, cpu(base.count) * growth)
}

fn in_same_code(ledger: &Ledger<'_, '_>, growth: f64) -> bool {
    ledger.sum(|id| id == LineId::SameFunctions).0 >= SAME_CODE * growth
}

pub(super) fn not_known(why: &str, would_tell: &str) -> NotKnown {
    NotKnown { why: said(why.to_owned(), String::new), would_tell: said(would_tell.to_owned(), String::new) }
}
