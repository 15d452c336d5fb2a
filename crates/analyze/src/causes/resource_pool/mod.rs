//! `resource-pool`: threads wait for one of a few things (connections, permits, buffers, slots) that other threads
//! hold.
//!
//! Evidence: idle capacity charged to waits at places where a thread that returns one of the things wakes a waiter
//! (`model::resources`); how many were held at once and for how long; and what the holders did meanwhile.
//!
//! May import: `account`, `answer`, `facts`, `model`, `runtimes`, `shared`, `recording`.

mod tell;

use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId};
use crate::causes::shared::{self, Meta, Outcome, UNSEEN, blame, by_lines, hidden};
use crate::facts::{Facts, in_proportion, large, significant};
use crate::model::code::place;
use crate::model::resources::{DoubtReason, Pool, Resources};
use tell::tell;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const RESOURCE_POOL: CauseId = CauseId::new("resource-pool");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::RESOURCE_POOL,
    colour: "#5f9580",
    title: "Waiting for one of a few resources",
    what: "Threads wait for one of a few connections, permits, buffers or slots, all of which other threads hold.",
    why: "However many threads there are, only as many get on as there are things to hold, and each holds one for as long as \
          it is busy with it.",
    example: "Eight threads share two connections to a database, and each holds one until its query is answered.",
    disproved_by: "Make the pool larger than the number of threads: if the time does not fall, it is not the cause.",
    lines: |id| match id {
        LineId::Blocked(Why::Pool) => Some("one of a few resources"),
        LineId::Synchronising(Why::Pool) => Some("code of acquiring resources"),
        _ => None,
    },
    hides_in: hidden::WAITS,
    may_be_in: &[],
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::AtMost,
    samples_needed: UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    match by_lines(facts, meta, explain) {
        Outcome::Clear(why) => {
            match facts.in_order().into_iter().find_map(|l| doubt(l, &l.resources).or_else(|| unseen(facts, l))) {
                Some(missing) => Outcome::Unsure(missing),
                None => Outcome::Clear(why),
            }
        }
        other => other,
    }
}

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let pools = &ledger.resources.pools;
    let charged = |waits: &mut dyn Iterator<Item = &recording::WaitId>| {
        waits.filter_map(|w| ledger.split.by_wait.get(w)).sum::<f64>()
    };
    // Some waits belong to a pool by name alone.
    let all: f64 = blame::waits(ledger, |w| w == Why::Pool).map(|(_, seconds)| seconds).sum();
    let part = |seconds: f64| if all > 0.0 { seconds / all } else { 0.0 };
    let mut told: Vec<Cause> = Vec::new();
    for pool in pools {
        let share = part(charged(&mut pool.waits.iter()));
        let own = (lost.0 * share, lost.1 * share);
        if significant(ledger, own) {
            told.push(tell(facts, ledger, Some(pool), own, meta));
        }
    }
    if told.is_empty() {
        // The pools matter only together: the largest stands for all.
        let seconds = |pool: &&Pool<'_>| charged(&mut pool.waits.iter());
        let heaviest = pools.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        told.push(tell(facts, ledger, heaviest, lost, meta));
    }
    Ok(told)
}

/// Why a place that looks like a limited resource is not certainly one, where enough time is lost there.
fn doubt(ledger: &Ledger<'_, '_>, found: &Resources<'_>) -> Option<String> {
    found.doubts.iter().find_map(|doubt| {
        let traced: f64 = doubt.waits.iter().filter_map(|w| ledger.split.by_wait.get(w)).sum();
        large(ledger, traced * ledger.scale).then(|| {
            format!(
                "threads that wait in {} wake each other, as those do that share a few things, but {}",
                place(&doubt.place.site()),
                doubt_words(doubt.why)
            )
        })
    })
}

fn doubt_words(why: DoubtReason) -> &'static str {
    match why {
        DoubtReason::FewHandOvers => "too few threads were seen to hand one on",
        DoubtReason::Interpreter => "an interpreter hides which of the program's functions waits",
        DoubtReason::OneOfAll => {
            "all are woken and one goes on, as where threads wait for their turn; a profile of holders would tell"
        }
        DoubtReason::SameNext => "each thread wakes always the same next one, as threads that take turns do",
        DoubtReason::Unsteady => "how many hold one while others wait changes from moment to moment",
        DoubtReason::TwoThreads => "two threads that wake each other may as well take turns; more threads would tell",
    }
}

/// What a recording cannot show: where tasks of an executor or an event loop, and threads of an interpreter, wait.
fn unseen(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<String> {
    hidden::behind_tasks(facts, ledger).map(|seconds| {
        format!(
            "for {}, threads wait for events, for tasks of a scheduler, or inside an interpreter: who holds what the tasks wait \
             for is not in the recording; counters of the pool itself would tell (how many are in use, how long one waits)",
            in_proportion(ledger, seconds)
        )
    })
}

#[cfg(test)]
mod sketches;
