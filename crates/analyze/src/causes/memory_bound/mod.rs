//! `memory-bound`: the same code does the same work in more time, because the processors share caches or memory.
//!
//! Evidence, only with hardware counters: as many instructions per unit of work as at the baseline, more time,
//! and more cache misses. Without counters it cannot be told from shared variables, or from hardware threads that share
//! a core, and stays unsure.
//!
//! May import: `answer`, `facts`, `shared`, `statistics`.

use crate::answer::{Cause, CauseId, Unit};
use crate::causes::shared::blame::named;
use crate::causes::shared::slower_code;
use crate::causes::shared::{self, Meta, NOT_TRACED, Outcome, evidence, found, hidden};
use crate::facts::Facts;
use crate::statistics::MIN_SHARE;

/// The work counts as unchanged when the growth of instructions is less than this share of the growth of time.
///
/// Decides: whether slower code does the same work as at the baseline.
/// From: chosen; no measurement.
/// Shown by: `as_many_instructions_and_more_misses_are_memory`, `more_instructions_in_a_large_function_are_extra_work`.
/// Wrong if: threads wait for memory and also do somewhat more work: the waiting for memory is not reported.
const SAME_WORK: f64 = 0.2;

/// Cache misses have grown when there are at least this many times as many.
///
/// Decides: whether slower code is reported as waiting for memory.
/// From: chosen: runs of one program differ by a few per cent.
/// Shown by: `as_many_instructions_and_more_misses_are_memory`.
/// Wrong if: threads saturate the memory bandwidth: the same number of misses takes longer, and that is not reported.
const MORE_MISSES: f64 = 1.2;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const MEMORY_BOUND: CauseId = CauseId::new("memory-bound");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::MEMORY_BOUND,
    colour: "#5cb7a0",
    title: "Memory bandwidth or cache",
    what: "The same code takes more time because the threads share caches, memory or a core.",
    why: "What one core does not wait for alone it waits for beside others.",
    example: "All threads sum up large arrays.",
    disproved_by: "Run the same threads on cores that share less, or on data that fits the cache: if the time does not \
                   fall, sharing is not the cause.",
    lines: |_| None,
    hides_in: hidden::RUNS,
    may_be_in: hidden::CODE,
    standing: shared::Standing::Defect,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    if facts.ledgers.iter().any(|l| l.traced.is_only_run) {
        return Outcome::Unsure("whether code gets slower beside other threads shows only in a sweep".to_owned());
    }
    for ledger in facts.in_order() {
        let Some(code) = slower_code::at(facts, ledger) else { continue };
        let (Some(instructions), Some(misses)) = (code.instructions, code.misses) else { continue };
        let same = instructions - 1.0 < SAME_WORK * (code.time - 1.0);
        let cores = facts.model.tables.meta.machine.usable_cores;
        if !same || misses < MORE_MISSES || cores < facts.processors {
            continue;
        }
        let who = slower_code::culprit(facts, ledger, &code);
        let at = who.as_ref().map_or_else(|| "user-space code".to_owned(), named);
        return Outcome::Found(vec![Cause {
            summary: format!("{at} waits for memory: it executes the same instructions in more time."),
            culprit: who,
            evidence: vec![
                evidence("CPU time per unit of work over that of the baseline", code.time, Unit::Ratio, "samples"),
                evidence("instructions per unit of work over those of the baseline", instructions, Unit::Ratio, "runs"),
                evidence("cache misses per unit of work over those of the baseline", misses, Unit::Ratio, "runs"),
            ],
            remedies: vec![
                "work on a block as long as it is in the cache; do several steps in one pass over the data".to_owned(),
                "make the data smaller: narrower types, arrays of what is used together".to_owned(),
                "where several memory nodes exist, keep each thread's data on its own".to_owned(),
            ],
            ..found(ledger, meta, code.seconds)
        }]);
    }
    match slower_code::open(facts) {
        Some(open) => Outcome::Unsure(format!("{open}; hardware counters (stalled cycles, cache misses) would tell")),
        None => Outcome::Clear(format!(
            "user-space code does not take {:.0} % of the capacity more time",
            MIN_SHARE * 100.0
        )),
    }
}

#[cfg(test)]
mod sketches;
