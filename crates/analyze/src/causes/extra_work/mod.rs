//! `extra-work`: a unit of work needs more instructions or calls with more threads.
//!
//! Evidence: functions that the baseline does not run and that are no waiting loops; more system calls per unit
//! of work; more instructions, where counted; a function that each thread runs for as long as a single thread did, also
//! with more threads than processors; a function that takes many times as long, in the same parts, while all other code
//! takes as long as before (`grown`). More time in the same functions alone proves nothing: it may be memory, sharing, or
//! a loop that waits.
//!
//! May import: `account`, `answer`, `facts`, `shared`, `recording`.

mod grown;

use crate::account::profile::Doing;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named, seconds_a_sample, sources};
use crate::causes::shared::repeated::{self, Repeated, while_compiling};
use crate::causes::shared::repeated_memory::collected_for;
use crate::causes::shared::slower_code::{self, SlowerCode};
use crate::causes::shared::{self, Meta, NOT_TRACED, Outcome, evidence, found, hidden, not_significant};
use crate::facts::{Facts, significant};

/// The growth of calls explains the growth of time when it is more than half as large.
///
/// Decides: whether more calls are reported as the reason for more CPU time.
/// From: chosen; no measurement.
/// Shown by: `more_calls_per_unit_of_work_are_extra_work`.
/// Wrong if: a few additional calls are each much more expensive than the others: they are the reason, but are not
/// reported.
const EXPLAINS: f64 = 0.5;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const EXTRA_WORK: CauseId = CauseId::new("extra-work");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::EXTRA_WORK,
    colour: "#c9659b",
    title: "More work",
    what: "A unit of work needs more instructions, calls or kernel time with more threads.",
    why: "Work is repeated, coordinated or merged for each thread.",
    example: "Each thread builds its own copy of a table.",
    disproved_by: "Compare the number of instructions or calls per unit of work: if it does not grow, there is no extra \
                   work.",
    lines: |id| {
        Some(match id {
            LineId::SameFunctions => "same functions, more time",
            LineId::SameFunctionsLess => "same functions, less time",
            LineId::NewFunctions => "functions new at this count",
            LineId::Call(_) => "kernel time in {call}",
            LineId::Interrupt => "interrupts, rest of kernel",
            LineId::KernelThreads => "ready; kernel threads ran",
            LineId::Noise => "noise",
            LineId::Beyond => "ran beyond the capacity",
            _ => return None,
        })
    },
    hides_in: hidden::RUNS,
    may_be_in: &[],
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
        return Outcome::Unsure("whether a unit of work takes more with more threads shows only in a sweep".to_owned());
    }
    let mut missing = None;
    for ledger in facts.in_order() {
        let mut causes = calls(facts, ledger, meta);
        if let Some(code) = slower_code::at(facts, ledger) {
            match functions(facts, ledger, &code, meta) {
                Some(cause) => causes.push(cause),
                None => {
                    let open = slower_code::open(facts).map(|open| match while_compiling(facts, ledger, &code) {
                        true => format!(
                            "{open}; the runtime's compiler works meanwhile, and code that it has not reached is slower"
                        ),
                        false => open,
                    });
                    missing = missing.or(open);
                }
            }
        }
        if !causes.is_empty() {
            return Outcome::Found(causes);
        }
    }
    match missing {
        Some(missing) => Outcome::Unsure(format!(
            "{missing}; counting instructions would tell more work from slower work, and looking at the code whether it waits"
        )),
        None => not_significant(facts, meta),
    }
}

/// System calls that a unit of work makes more often.
fn calls<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, meta: &Meta) -> Vec<Cause> {
    let Some(base) = facts.ledgers.first().filter(|b| b.account.threads < ledger.account.threads) else {
        return Vec::new();
    };
    let mut causes = Vec::new();
    let numbers: Vec<u32> =
        ledger.profile.counts.keys().filter_map(|d| if let Doing::Call(n) = d { Some(*n) } else { None }).collect();
    for number in numbers {
        let name = facts.model.call_name(number);
        let lost = shared::line(ledger, LineId::Call(number));
        let (now, before) =
            (ledger.traced.calls(number) as f64 / ledger.work, base.traced.calls(number) as f64 / base.work);
        let time = |l: &Ledger<'_, 't>| {
            let samples = l.profile.counts.get(&Doing::Call(number)).copied().unwrap_or(0) as f64;
            seconds_a_sample(l) * samples / l.work
        };
        let grows = now - before > EXPLAINS * before * (time(ledger) / time(base).max(f64::MIN_POSITIVE) - 1.0);
        if !significant(ledger, lost) || now <= before || !(grows || before == 0.0) {
            continue;
        }
        let who = culprit(&sources(facts, ledger, |_| false, |d| d == Doing::Call(number)), Blamed::Own);
        let at = who.as_ref().map(|c| format!(", most in {}", named(c))).unwrap_or_default();
        let of = facts.counted().many(base.account.threads);
        causes.push(Cause {
            summary: format!("{name} is called {now:.0} times per unit of work instead of {before:.0} with {of}{at}."),
            culprit: who,
            evidence: vec![
                evidence(format!("{name} calls per unit of work"), now, Unit::Of("calls"), "syscalls"),
                evidence(format!("{name} calls per unit of work with {of}"), before, Unit::Of("calls"), "syscalls"),
                evidence(format!("CPU time in {name}, per unit of work"), time(ledger), Unit::Seconds, "samples"),
            ],
            remedies: vec!["make the call less often: with more at a time, or once for all threads".to_owned()],
            ..found(ledger, meta, lost)
        });
    }
    causes
}

/// Functions that do more work, where the evidence shows it.
fn functions<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, code: &SlowerCode<'t>, meta: &Meta) -> Option<Cause> {
    let repeated = repeated::told(facts, ledger, code);
    let grown = if repeated.is_none() { grown::told(facts, ledger, code) } else { None };
    let known = repeated.is_some() || grown.is_some();
    if !known && code.instructions.is_none() && while_compiling(facts, ledger, code) {
        return None;
    }
    // A loop that waits executes more instructions too.
    let more = code.more_instructions() || code.new && code.instructions.is_none();
    if !known && (code.may_wait() || !more) {
        return None;
    }
    let collected = repeated.as_ref().and_then(|repeated| collected_for(facts, ledger, repeated)).unwrap_or_default();
    let who = match repeated.as_ref().or(grown.as_ref().map(|grown| &grown.work)) {
        Some(work) => work.culprit(facts, ledger),
        None => slower_code::culprit(facts, ledger, code),
    };
    let at = who.as_ref().map_or_else(|| "user-space code".to_owned(), named);
    let beyond = "CPU time of user-space code beyond the baseline, per unit of work";
    let mut rows = vec![evidence(beyond, code.seconds.0, Unit::Seconds, "samples")];
    match &grown {
        Some(grown) => {
            let what = "time in it per unit of work over that of the baseline, at the pace of all other code";
            rows.push(evidence(what, grown.times, Unit::Ratio, "samples"));
        }
        None => {
            let what = "code addresses that hold nearly all of the function's samples";
            rows.push(evidence(what, code.addresses as f64, Unit::Of("addresses"), "samples"));
        }
    }
    if let Some(repeated) = &repeated {
        let what = "time of each thread in it at the largest count, over that at the smallest";
        rows.push(evidence(what, repeated.ratio, Unit::Ratio, "samples"));
    }
    if collected.0 > 0.0 {
        let what = "time of the garbage collector for what it allocates, beyond the baseline, per unit of work";
        rows.push(evidence(what, collected.0, Unit::Seconds, "samples"));
    }
    if let Some(ratio) = code.instructions {
        rows.push(evidence("instructions per unit of work over those of the baseline", ratio, Unit::Ratio, "runs"));
    }
    let counted = facts.counted();
    let summary = match &grown {
        Some(grown) => format!(
            "{at} does more work with {}: it takes {:.1} times as long for the same result, and all other code as long as before.",
            counted.many(ledger.account.threads),
            grown.times
        ),
        None => summary(&at, repeated.as_ref(), code.new, counted.word()),
    };
    let remedies = if grown.is_some() { vec![MADE_ANEW.to_owned()] } else { remedies(repeated.is_some()) };
    Some(Cause {
        summary,
        culprit: who,
        evidence: rows,
        remedies,
        ..found(ledger, meta, (code.seconds.0 + collected.0, code.seconds.1.hypot(collected.1)))
    })
}

/// What helps where more of a function is done.
const MADE_ANEW: &str = "look for what is made anew for each part of the work, as by an initial value for each task, or in a cache of \
                         each thread: make it once and share it, or cut the work into fewer parts";

/// What is said of the function `at`, as `counted` (threads, ...) become more.
fn summary(at: &str, repeated: Option<&Repeated<'_>>, new: bool, counted: &str) -> String {
    let Some(repeated) = repeated else {
        return match new {
            true => format!("{at} runs only with more {counted}s, and takes processor time from the work."),
            false => format!("{at} executes more instructions per unit of work with more {counted}s."),
        };
    };
    let part = if repeated.in_part { "most" } else { "all" };
    match repeated.is_slower() {
        true => format!(
            "Each thread does {part} of {at} for itself: it takes {:.1} times as long in each of them as in one alone, with more \
             threads than processors as well.",
            repeated.ratio
        ),
        false if repeated.in_part => {
            format!("Each thread does most of {at} for itself: that takes as long in each of them as in one alone.")
        }
        false => format!("Each thread does all of {at} for itself: it takes as long in each of them as in one alone."),
    }
}

fn remedies(repeated: bool) -> Vec<String> {
    let mut remedies = vec![
        "do once what each thread does for itself, or divide it among the threads".to_owned(),
        "look for work that is repeated for each thread: scanning all input, copying tables, merging".to_owned(),
    ];
    if repeated {
        let meant = "if more threads are meant to do more work: let the program print how fast it is, such as `1200 ops/s`, and \
                     counts are compared by that (--throughput)";
        remedies.push(meant.to_owned());
    }
    remedies
}

#[cfg(test)]
mod sketches;
