//! `serial-phase`: only one thread has anything to do.
//!
//! Evidence: idle capacity before the first worker, after the last, and between groups of workers; also at barriers,
//! conditions and the end, where the code that ran meanwhile never runs beside other code.
//!
//! May import: `account`, `answer`, `facts`, `model`, `shared`, `statistics`.

use crate::account::criticality::{Idle, SeenAt};
use crate::account::idle::may_hide_serial;
use crate::account::lines::Shape;
use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Unit};
use crate::causes::shared::blame::{Ran, named, running};
use crate::causes::shared::{self, Meta, Outcome, by_lines, evidence, found, hidden, line, processes};
use crate::facts::{Facts, in_proportion, large, significant};
use crate::model::window::Part;
use crate::statistics::median;
use std::collections::BTreeMap;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const SERIAL_PHASE: CauseId = CauseId::new("serial-phase");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::SERIAL_PHASE,
    colour: "#a58bc9",
    title: "One thread alone",
    what: "Only one thread has anything to do: before, between or after the parallel parts.",
    why: "The other processors idle; the share of this phase bounds the speed-up (Amdahl's law).",
    example: "Reading and sorting the input before the workers start.",
    disproved_by: "Time the phase alone: if it is short against the whole, it is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Shape(Shape::StartUp) => "before the first worker",
            LineId::Shape(Shape::Tail) => "after the last worker ended",
            LineId::Shape(Shape::Between) => "between groups of workers",
            LineId::Shape(Shape::TooFew) => "too few threads at work",
            LineId::Shape(Shape::OneThread) => "the program has one thread",
            LineId::OneAlone => "what only one thread may do",
            LineId::Synchronising(Why::Join) => "joining threads",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS,
    may_be_in: &[],
    standing: shared::Standing::UsualStart,
    places: shared::NO_PLACES,
    removal: shared::Removal::AtMost,
    samples_needed: shared::UNSEEN,
    judge,
};

/// What is missing to exclude a serial phase where the printed rate may or may not cover the whole run.
const OUTSIDE: &str = "whether the printed rate counts what is outside of the workers' lives cannot be told: runs whose speed \
                       differs would tell, or marks";

/// What is missing where the measured part is known by its length: it is taken as short as the runs allow, so that what one
/// thread does alone where it begins may be cut off.
const EDGE: &str = "of the part that the printed rate or time counts only the length is known, within limits: what one thread does \
                    alone where it begins or ends may be outside, and marks would tell";

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    match (by_lines(facts, meta, explain), &facts.model.part) {
        (Outcome::Clear(_), Part::Workers { certain: false }) => Outcome::Unsure(OUTSIDE.to_owned()),
        (Outcome::Clear(_), Part::AsLong) => Outcome::Unsure(EDGE.to_owned()),
        (Outcome::Clear(why), _) => {
            let open = |l: &Ledger<'_, '_>| hardly_sampled(l).or_else(|| one_process(l));
            facts.in_order().into_iter().find_map(open).map_or(Outcome::Clear(why), Outcome::Unsure)
        }
        (outcome, _) => outcome,
    }
}

/// With fewer samples of the code that runs while others wait, it is not known whether only one thread ever runs that
/// code.
///
/// Decides: whether a serial phase can be ruled out where threads wait for others (at barriers and conditions, for a
/// task, for goroutines that have ended).
/// From: twice the samples that a function needs to be known to run alone (`account::serial_code`), because one
/// function may have only half of them.
/// Shown by: `tests/verdict/acquitted.rs`.
/// Wrong if: the code that runs alone is spread over more than two functions without a common caller.
const TOLD_BY: u64 = 20;

/// What is missing where threads wait for others, but too few samples show what those did.
fn hardly_sampled(ledger: &Ledger<'_, '_>) -> Option<String> {
    let waits = [Why::Barrier, Why::Condition, Why::Ended, Why::Task].map(LineId::blocked);
    let waited = ledger.sum(|id| waits.contains(&id) || id == LineId::Shape(Shape::Finished));
    let seen = ledger.split.criticality.samples.iter().filter(|(idle, _)| may_hide_serial(**idle));
    let seen: u64 = seen.map(|(_, samples)| *samples).sum();
    let why = match ledger.serial_code.told() {
        false => "and hardly ever run side by side".to_owned(),
        true if seen < TOLD_BY => format!("and {seen} samples are of what those run"),
        true => return None,
    };
    large(ledger, waited.0).then(|| {
        let waited = in_proportion(ledger, waited.0);
        format!("threads wait for others, {waited}, {why}: whether that is code for one thread alone cannot be told")
    })
}

/// What is missing where the threads of one process of several wait for their interpreter: the others may wait only for
/// what that process does.
fn one_process(ledger: &Ledger<'_, '_>) -> Option<String> {
    let (pid, seconds) = processes::waits_inside_one(ledger).filter(|(_, seconds)| large(ledger, *seconds))?;
    Some(format!(
        "{} is lost where threads of {} wait for their interpreter's lock: whether the other processes wait for that \
         process cannot be told",
        in_proportion(ledger, seconds),
        processes::called(ledger, pid)
    ))
}

/// A part of the run in which one thread is alone.
struct Phase {
    /// The shape of the program at that time; `None` where others wait for the one that runs alone.
    shape: Option<Shape>,
    /// When it is, as a part of a sentence.
    when: &'static str,
}

impl Phase {
    fn line(&self) -> LineId {
        self.shape.map_or(LineId::OneAlone, LineId::Shape)
    }
}

const PHASES: &[Phase] = &[
    Phase { shape: Some(Shape::StartUp), when: "before the first worker thread starts" },
    Phase { shape: Some(Shape::Tail), when: "after the last worker thread has ended" },
    Phase { shape: Some(Shape::Between), when: "between groups of worker threads" },
    Phase { shape: Some(Shape::TooFew), when: "while fewer threads than processors have work" },
    Phase { shape: Some(Shape::OneThread), when: "because the program never starts a second thread" },
    Phase { shape: None, when: "while the others wait for it" },
];

/// If no thread runs for more than this share of a phase, the phase shows threads that wait rather than one thread at
/// work.
///
/// Decides: whether time in which few threads have work is reported as a serial phase, and whether its sentence names the
/// function that runs.
/// From: chosen: the larger half.
/// Shown by: connection pools whose holders sleep: their threads hardly ever run, and used to be reported as a serial
/// phase; `a_pool_whose_threads_hardly_run_is_no_single_thread`.
/// Wrong if: one thread alone reads from a slow device for most of its phase: that serial phase is not reported.
const MOSTLY: f64 = 0.5;

/// Decides: whether the sentence on a phase names a function that does not hold nearly all of it: it must hold more than
/// this share.
/// From: the definition of a majority.
/// Wrong if: two functions share a phase almost evenly: the larger one is named, and its share is told.
const NAMED: f64 = 0.5;

/// What is missing where the only threads with work hardly run.
const WAITING: &str =
    "while fewer threads than processors have work, mostly none of them runs: what they wait for is not known";

/// False when few threads have work and mostly none of them runs: they wait too, so their work is not what keeps the
/// others waiting.
fn one_runs(ledger: &Ledger<'_, '_>, phase: &Phase) -> bool {
    let shape = match phase.shape {
        Some(shape @ (Shape::TooFew | Shape::Tail)) => shape,
        // Others may wait in a pool of which each thread runs too little to count as a worker.
        Some(shape @ Shape::OneThread) if ledger.traced.threads.len() > 1 => shape,
        _ => return true,
    };
    let nobody = ledger.split.criticality.nobody.get(&Idle::Shape(shape)).copied().unwrap_or(0.0);
    nobody <= MOSTLY * ledger.split.shapes.get(&shape).copied().unwrap_or(0.0)
}

/// What is missing where the phase comes before the work, and the printed rate may be of the work alone.
const NOT_COUNTED: &str = "one thread runs alone before the others work, and whether the rate that the program prints counts that \
                           cannot be told: marks would tell, or runs that take longer";

/// Decides: whether the function that runs alone most comes before the work of the other threads: this share of its samples
/// does, before the middle of theirs.
/// From: chosen: nearly all. What runs alone again and again, between parallel parts, has half of its samples before it.
/// Shown by: `what_runs_alone_before_the_work_may_not_be_counted`.
/// Wrong if: code runs alone in the first half of the measured part only.
const BEFORE: f64 = 0.9;

/// True when a phase is over before the other threads do most of their work.
fn is_before_the_work(ledger: &Ledger<'_, '_>, phase: &Phase) -> bool {
    if phase.shape.is_some() {
        return phase.shape == Some(Shape::StartUp);
    }
    let main = ledger.traced.main().map(|thread| thread.thread);
    let of_others = ledger.traced.samples.iter().filter(|sample| Some(sample.thread) != main);
    let middle = median(&of_others.map(|sample| sample.time_ns as f64).collect::<Vec<_>>());
    // Of each function that runs alone: its samples, and those before the middle.
    let mut functions: BTreeMap<(&str, Option<&str>), (u64, u64)> = BTreeMap::new();
    for sample in &ledger.traced.samples {
        let Some(code) = ledger.serial_code.function(sample.user_stack) else { continue };
        let (all, before) = functions.entry((code.module, code.name())).or_default();
        *all += 1;
        *before += u64::from(middle.is_some_and(|middle| (sample.time_ns as f64) < middle));
    }
    let most = functions.into_values().max();
    most.is_some_and(|(all, before)| before as f64 > BEFORE * all as f64)
}

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    _: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    let may_be_counted = |phase: &&Phase| facts.model.part != Part::Open || !is_before_the_work(ledger, phase);
    let of_phase = |phase: &'static Phase| (phase, line(ledger, phase.line()));
    let (parts, others): (Vec<_>, Vec<_>) =
        PHASES.iter().filter(|p| one_runs(ledger, p)).partition(|phase| may_be_counted(phase));
    let parts: Vec<(&Phase, (f64, f64))> = parts.into_iter().map(of_phase).collect();
    let others: Vec<(&Phase, (f64, f64))> = others.into_iter().map(of_phase).collect();
    let lost = together(&parts);
    if !significant(ledger, lost) {
        let waiting = !significant(ledger, together(&others));
        return Err(if waiting { WAITING } else { NOT_COUNTED }.to_owned());
    }
    let large: Vec<_> = parts.iter().filter(|(_, part)| significant(ledger, *part)).collect();
    if large.is_empty() {
        // Several short phases together are the cause; the longest stands for them.
        let longest = parts.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        return Ok(longest.map(|(phase, _)| cause(facts, ledger, phase, lost, meta)).into_iter().collect());
    }
    Ok(large.into_iter().map(|(phase, part)| cause(facts, ledger, phase, *part, meta)).collect())
}

/// The loss in several phases, CPU-seconds per unit of work, and its error.
fn together(phases: &[(&Phase, (f64, f64))]) -> (f64, f64) {
    phases.iter().fold((0.0, 0.0), |sum, (_, part)| (sum.0 + part.0, f64::hypot(sum.1, part.1)))
}

fn cause<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, phase: &Phase, lost: (f64, f64), meta: &Meta) -> Cause {
    let ran = |idle| match phase.shape {
        Some(shape) => idle == Idle::Shape(shape),
        None => may_hide_serial(idle),
    };
    let mut during = ledger.split.criticality.during(ran);
    if phase.shape.is_none() {
        during.retain(|(at, _)| ledger.serial_code.function(at.stack).is_some());
    }
    let ran_alone = who(facts, ledger, phase, &during);
    let processors = f64::from(ledger.traced.processors());
    // One thread ran, so the others' processors idled: the phase took this long per unit of work.
    let alone = lost.0 / (processors - 1.0).max(1.0);
    let of_run = alone / ledger.scale.max(f64::MIN_POSITIVE);
    let mut rows = vec![
        evidence("time in which one thread ran alone, in the observed run", of_run, Unit::Seconds, "slices"),
        evidence("the same per unit of work", alone, Unit::Seconds, "slices"),
    ];
    if alone > 0.0 && ledger.account.useful > alone {
        rows.push(evidence(
            "largest speed-up that this phase allows (Amdahl)",
            ledger.account.useful / alone,
            Unit::Ratio,
            "slices",
        ));
    }
    if let Some((at, _)) = during.first() {
        let name = ledger.traced.threads.get(&at.thread).map_or("?", |t| t.name.as_str());
        rows.push(evidence(
            format!("samples of the phase, most in thread {name}"),
            samples(ledger, ran),
            Unit::Of("samples"),
            "samples",
        ));
    }
    // A thread that itself mostly waits does not count as running alone.
    let nobody = ledger.split.criticality.nobody.iter().filter(|(idle, _)| ran(**idle)).map(|(_, s)| *s).sum::<f64>();
    let charged = lost.0 / ledger.scale.max(f64::MIN_POSITIVE);
    let runs = ran_alone.as_ref().filter(|_| nobody < MOSTLY * charged);
    Cause {
        summary: summary(runs, phase, of_run / (ledger.traced.length_ns() as f64 * 1e-9)),
        culprit: ran_alone.map(|r| r.culprit),
        evidence: rows,
        remedies: remedies(phase),
        ..found(ledger, meta, lost)
    }
}

fn samples(ledger: &Ledger<'_, '_>, ran: impl Fn(Idle) -> bool) -> f64 {
    let samples = ledger.split.criticality.samples.iter().filter(|(idle, _)| ran(**idle));
    samples.map(|(_, n)| *n as f64).sum()
}

/// The function that ran alone: where others wait for it, the one known to run only alone; else the innermost function
/// of the program that holds most of the phase.
fn who<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, phase: &Phase, during: &[(SeenAt, f64)]) -> Option<Ran> {
    match phase.shape {
        Some(_) => running(facts, during, |_| None),
        None => running(facts, during, |at| ledger.serial_code.function(at.stack)),
    }
}

fn summary(ran: Option<&Ran>, phase: &Phase, share: f64) -> String {
    let (when, share) = (phase.when, 100.0 * share.clamp(0.0, 1.0));
    match ran {
        Some(ran) if ran.explains_nearly_all() => {
            format!("{} runs alone for {share:.0} % of the time, {when}.", named(&ran.culprit))
        }
        Some(ran) if ran.share > NAMED => {
            let (part, who) = (100.0 * ran.share, named(&ran.culprit));
            format!("At most one thread runs for {share:.0} % of the time, {when}; {part:.0} % of that in {who}.")
        }
        _ => format!("At most one thread runs for {share:.0} % of the time, {when}."),
    }
}

fn remedies(phase: &Phase) -> Vec<String> {
    let list: &[&str] = match phase.shape {
        Some(Shape::StartUp) => &[
            "divide this preparation among the threads, or start the workers first and let them begin on what is ready",
            "do it once and keep the result, where the input is the same each time",
        ],
        Some(Shape::Tail) => &["merge the results in the workers, pairwise, or while the last ones still compute"],
        Some(Shape::TooFew) => &["start as many workers as there are processors, or cut the work into more parts"],
        Some(Shape::OneThread) => &[
            "check that the option that sets the thread count reaches the program",
            "check whether this input can be divided at all (one stream, one block, one file)",
        ],
        Some(Shape::Between) => &[
            "keep the workers between the groups and divide what is done between them",
            "overlap it with the parallel part: prepare the next round while this one runs",
        ],
        Some(Shape::Finished | Shape::NoShare) | None => &[
            "divide this function's work among the threads that wait for it",
            "overlap it with the parallel part: let one thread do it for the next round while the others work on this one",
        ],
    };
    list.iter().map(|r| (*r).to_owned()).collect()
}

#[cfg(test)]
mod sketches;
