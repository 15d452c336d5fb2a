//! `serial-phase`: only one thread has anything to do.
//!
//! Evidence: idle capacity before the first worker, after the last, between groups of workers; and at barriers,
//! conditions and the end, where the code that ran meanwhile is code that never runs beside other code. May import:
//! `blame`.

use super::blame::{Ran, named, running};
use super::{Description, by_lines, evidence, found, line};
use crate::account::Ledger;
use crate::account::idle::{BETWEEN, ONE_ALONE, ONE_THREAD, START_UP, TAIL, TOO_FEW, may_hide_serial};
use crate::account::meanwhile::{At, Idle};
use crate::account::timeline::Shape;
use crate::answer::{Cause, CauseId};
use crate::facts::{Facts, significant};

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::SerialPhase,
    title: "One thread alone",
    what: "Only one thread has anything to do: before, between or after the parallel parts.",
    why: "The other processors idle; the share of this phase bounds the speed-up (Amdahl's law).",
    example: "Reading and sorting the input before the workers start.",
    disproved_by: "Time the phase alone: if it is short against the whole, it is not the cause.",
    detect: |facts, description| by_lines(facts, description, explain),
};

/// A part of the run in which one thread is alone.
struct Phase {
    line: &'static str,
    shape: Option<Shape>,
    /// When it is, as a sentence goes on with it.
    when: &'static str,
}

const PHASES: &[Phase] = &[
    Phase { line: START_UP, shape: Some(Shape::StartUp), when: "before the first worker thread starts" },
    Phase { line: TAIL, shape: Some(Shape::Tail), when: "after the last worker thread has ended" },
    Phase { line: BETWEEN, shape: Some(Shape::Between), when: "between groups of worker threads" },
    Phase { line: TOO_FEW, shape: Some(Shape::TooFew), when: "while fewer threads than processors have work" },
    Phase { line: ONE_THREAD, shape: Some(Shape::OneThread), when: "because the program never starts a second thread" },
    Phase { line: ONE_ALONE, shape: None, when: "while the others wait for it" },
];

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    description: &Description,
) -> Result<Vec<Cause>, String> {
    let parts: Vec<(&Phase, (f64, f64))> =
        PHASES.iter().map(|p| (p, line(ledger, CauseId::SerialPhase, p.line))).collect();
    let large: Vec<_> = parts.iter().filter(|(_, part)| significant(ledger, *part)).collect();
    if large.is_empty() {
        // Several short phases: together they are the cause, and the longest stands for them.
        let longest = parts.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        return Ok(longest.map(|(phase, _)| cause(facts, ledger, phase, lost, description)).into_iter().collect());
    }
    Ok(large.into_iter().map(|(phase, part)| cause(facts, ledger, phase, *part, description)).collect())
}

fn cause<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    phase: &Phase,
    lost: (f64, f64),
    description: &Description,
) -> Cause {
    let ran = |idle| match phase.shape {
        Some(shape) => idle == Idle::Shape(shape),
        None => may_hide_serial(idle),
    };
    let mut during = ledger.split.meanwhile.during(ran);
    if phase.shape.is_none() {
        during.retain(|(at, _)| ledger.alone.function(at.stack).is_some());
    }
    let ran_alone = who(facts, ledger, phase, &during);
    let processors = f64::from(ledger.traced.processors());
    // One thread ran, so the others' processors idled: the phase took this long per unit of work.
    let alone = lost.0 / (processors - 1.0).max(1.0);
    let of_run = alone / ledger.scale.max(f64::MIN_POSITIVE);
    let mut rows = vec![
        evidence("time in which one thread ran alone, in the observed run", of_run, "seconds", "slices"),
        evidence("the same per unit of work", alone, "seconds", "slices"),
    ];
    if alone > 0.0 && ledger.account.useful > alone {
        rows.push(evidence(
            "largest speed-up that this phase allows (Amdahl)",
            ledger.account.useful / alone,
            "ratio",
            "slices",
        ));
    }
    if let Some((at, _)) = during.first() {
        let name = ledger.traced.threads.get(&at.thread).map_or("?", |t| t.name.as_str());
        rows.push(evidence(
            format!("samples of the phase, most in thread {name}"),
            samples(ledger, ran),
            "samples",
            "samples",
        ));
    }
    // Who mostly waits itself does not run alone.
    let nobody = ledger.split.meanwhile.nobody.iter().filter(|(idle, _)| ran(**idle)).map(|(_, s)| *s).sum::<f64>();
    let charged = lost.0 / ledger.scale.max(f64::MIN_POSITIVE);
    let runs = ran_alone.as_ref().filter(|_| nobody < charged / 2.0);
    Cause {
        summary: summary(runs, phase, of_run / (ledger.traced.length_ns() as f64 * 1e-9)),
        culprit: ran_alone.map(|r| r.culprit),
        evidence: rows,
        remedies: remedies(phase),
        ..found(ledger, description, lost)
    }
}

fn samples(ledger: &Ledger<'_, '_>, ran: impl Fn(Idle) -> bool) -> f64 {
    let samples = ledger.split.meanwhile.samples.iter().filter(|(idle, _)| ran(**idle));
    samples.map(|(_, n)| *n as f64).sum()
}

/// The function that ran alone: of code that only ever runs alone the one found there, else the innermost function of
/// the program that holds most of the phase.
fn who<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, phase: &Phase, during: &[(At, f64)]) -> Option<Ran> {
    match phase.shape {
        Some(_) => running(facts, during, |_| None),
        None => running(facts, during, |at| ledger.alone.function(at.stack)),
    }
}

fn summary(ran: Option<&Ran>, phase: &Phase, share: f64) -> String {
    let (when, share) = (phase.when, 100.0 * share.clamp(0.0, 1.0));
    match ran {
        Some(ran) if ran.alone() => format!("{} runs alone for {share:.0} % of the time, {when}.", named(&ran.culprit)),
        Some(ran) if ran.share > 0.5 => {
            let (part, who) = (100.0 * ran.share, named(&ran.culprit));
            format!("At most one thread runs for {share:.0} % of the time, {when}; {part:.0} % of that in {who}.")
        }
        _ => format!("At most one thread runs for {share:.0} % of the time, {when}."),
    }
}

fn remedies(phase: &Phase) -> Vec<String> {
    let list: &[&str] = match phase.line {
        START_UP => &[
            "divide this preparation among the threads, or start the workers first and let them begin on what is ready",
            "do it once and keep the result, where the input is the same each time",
        ],
        TAIL => &["merge the results in the workers, pairwise, or while the last ones still compute"],
        TOO_FEW => &["start as many workers as there are processors, or cut the work into more parts"],
        ONE_THREAD => &[
            "check that the option that sets the thread count reaches the program",
            "check whether this input can be divided at all (one stream, one block, one file)",
        ],
        BETWEEN => &[
            "keep the workers between the groups and divide what is done between them",
            "overlap it with the parallel part: prepare the next round while this one runs",
        ],
        _ => &[
            "divide this function's work among the threads that wait for it",
            "overlap it with the parallel part: let one thread do it for the next round while the others work on this one",
        ],
    };
    list.iter().map(|r| (*r).to_owned()).collect()
}
