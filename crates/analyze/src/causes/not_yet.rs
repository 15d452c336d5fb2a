//! Causes that make user-space code take more time, and whose proof is not built yet.
//!
//! They are clear when no user-space code takes more time, else unsure, never found. Each moves to a file of its own
//! when its proof is built. May import: `facts`, `account`, `slower_code`.

use super::slower_code;
use super::{Description, NOT_TRACED, Outcome};
use crate::account::Ledger;
use crate::answer::CauseId;
use crate::facts::{Facts, MIN_SHARE, has_loss, large};
use crate::statistics::NORMAL_95;
use crate::words::count_threads;

macro_rules! not_yet {
    ($($id:ident: $title:literal, $what:literal, $why:literal, $example:literal, $disproved_by:literal;)*) => {
        /// The causes.
        pub const DESCRIPTIONS: &[Description] = &[$(Description {
            id: CauseId::$id,
            title: $title,
            what: $what,
            why: $why,
            example: $example,
            disproved_by: $disproved_by,
            detect,
        }),*];
    };
}

not_yet! {
    SpinWait: "Waiting in a loop",
        "Threads wait by reading a variable again and again.",
        "It looks like work, uses a processor, and slows the thread that is waited for.",
        "A worker loops until the row above it is finished.",
        "Let the waiting threads sleep: if the CPU time does not fall, they were not spinning.";
    FalseSharing: "False sharing",
        "Threads write to different variables that lie in one cache line.",
        "The line moves between processors with every write.",
        "An array of counters, one a thread, without padding.",
        "Pad the variables to lines of their own: if the time does not fall, they were not shared.";
    TrueSharing: "A variable that all threads write",
        "Threads write to one variable all the time.",
        "Its cache line moves between processors with every write.",
        "One atomic counter for all threads.",
        "Count per thread and add up at the end: if the time does not fall, the variable is not the cause.";
}

fn detect(facts: &Facts<'_, '_>, description: &Description) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    if facts.ledgers.iter().any(|l| l.traced.alone) {
        return Outcome::Unsure("whether code gets slower beside other threads shows only in a sweep".to_owned());
    }
    // What the account books itself: sched_yield to spinning.
    let booked = |l: &&Ledger| {
        let (seconds, error) = l.charged(description.id);
        large(l, seconds) && seconds > NORMAL_95 * error
    };
    if let Some(ledger) = facts.in_order().into_iter().find(booked) {
        let largest = ledger.account.lines.iter().find(|l| l.cause == description.id).map_or("", |l| l.what.as_str());
        return Outcome::Unsure(format!(
            "the account books {:.3} s with {} to it ({largest}); which loop waits for what is not proven",
            ledger.charged(description.id).0,
            count_threads(ledger.account.threads)
        ));
    }
    match slower_code::open(facts).or_else(|| unexplained(facts)) {
        Some(open) => {
            Outcome::Unsure(format!("{open}; what would tell sharing and spinning from slower work is missing"))
        }
        None => Outcome::Clear(format!(
            "user-space code does not take {:.0} % of the capacity more time",
            MIN_SHARE * 100.0
        )),
    }
}

/// A loss that nothing explains may hide anything.
fn unexplained(facts: &Facts<'_, '_>) -> Option<String> {
    let open = |l: &&Ledger| has_loss(l) && large(l, l.account.unexplained);
    let ledger = facts.ledgers.iter().find(open)?;
    let threads = count_threads(ledger.account.threads);
    Some(format!("{:.3} s with {threads} stay unexplained", ledger.account.unexplained))
}
