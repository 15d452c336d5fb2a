//! `condition-wait`: threads wait until another thread hands them work, room or a result.
//!
//! Evidence: idle capacity charged to threads that wait for a condition, a queue or a semaphore, and the stage that was
//! busy meanwhile: the one that sets the pace. A pool that waits while nothing in the program runs has no work, which is
//! no fault of the program. May import: `blame`.

use super::blame::{by_weight, named, running, waits};
use super::{Description, blame, by_lines, evidence, found};
use crate::account::Ledger;
use crate::account::meanwhile::{At, Idle};
use crate::account::pieces::{Kind, Why};
use crate::answer::{Cause, CauseId, Culprit, Evidence};
use crate::code::{Code, Owner, place};
use crate::facts::{Facts, significant};
use recording::ThreadId;
use std::collections::{BTreeMap, BTreeSet};

/// A stage sets the pace when most of the waiting fell into its running time: more than half, so that no other can.
const MOST: f64 = 0.5;

/// From this utilisation on a stage is busy: what is left is what handing over costs it.
const BUSY: f64 = 0.7;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::ConditionWait,
    title: "Waiting for work",
    what: "Threads wait until another thread hands them work, room in a queue, or a result.",
    why: "A pipeline is as fast as its slowest stage: the threads of all others wait for it.",
    example: "One thread reads and parses, four decode, and the reader cannot keep up.",
    disproved_by: "Make the busy stage faster, for example by giving it prepared input: if the time does not fall, it is \
                   not the cause.",
    detect: |facts, description| by_lines(facts, description, explain),
};

const SLEEPING: &str = "sleeping";

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    description: &Description,
) -> Result<Vec<Cause>, String> {
    let asleep = super::line(ledger, CauseId::ConditionWait, SLEEPING);
    let rest = (lost.0 - asleep.0, lost.1);
    let mut causes = Vec::new();
    if significant(ledger, asleep) {
        causes.push(sleepers(facts, ledger, asleep, description));
    }
    if significant(ledger, rest) {
        match stage(facts, ledger, rest, description) {
            Ok(cause) => causes.push(cause),
            Err(why) if causes.is_empty() => return Err(why),
            Err(_) => {}
        }
    }
    if causes.is_empty() {
        Err("sleeping and waiting for work are each too small to be told from noise".to_owned())
    } else {
        Ok(causes)
    }
}

/// True for waiting at a condition, before and after the wake-up.
fn waiting(idle: Idle) -> bool {
    matches!(idle, Idle::Waiting(Kind::Blocked(Why::Condition) | Kind::Woken(Why::Condition)))
}

fn stage<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    description: &Description,
) -> Result<Cause, String> {
    let meanwhile = &ledger.split.meanwhile;
    let blocked = Idle::Waiting(Kind::Blocked(Why::Condition));
    let nobody = meanwhile.nobody.get(&blocked).copied().unwrap_or(0.0);
    let charged = ledger.split.charge_of(blocked) + ledger.split.charge_of(Idle::Waiting(Kind::Woken(Why::Condition)));
    if nobody > MOST * charged {
        return Err(format!(
            "threads wait for work, but for {:.0} % of that time nothing in the program runs: there is no work, or what \
             brings it is outside the program",
            100.0 * nobody / charged
        ));
    }
    let mut seen = meanwhile.during(waiting);
    seen.retain(|(at, _)| ledger.alone.function(at.stack).is_none());
    let stages = Stages::new(facts, ledger, &seen);
    let Some(busiest) = stages.0.first() else {
        return Err("no sample was taken while threads waited for work: which stage is busy is not known".to_owned());
    };
    let culprit = running(facts, &busiest.seen, |_| None);
    let what = culprit.as_ref().map_or_else(|| busiest.name.clone(), named);
    let many = busiest.threads.len();
    let alone = busiest.share > MOST && busiest.utilisation >= BUSY;
    let waiters = waiters(facts, ledger);
    let summary = match (alone, waiters.is_subset(&busiest.threads)) {
        // Those that wait are those that run: they need each other's results.
        (_, true) | (false, _) => format!(
            "Threads hand work to each other and wait for the answer: on average {:.1} run at a time, most in {what}.",
            average(ledger)
        ),
        (true, false) => format!(
            "Threads wait for the stage that is busy {:.0} % of the time: {} in {what}.",
            busiest.utilisation * 100.0,
            if many == 1 { "one thread".to_owned() } else { format!("{many} threads") }
        ),
    };
    let pipeline = alone && !waiters.is_subset(&busiest.threads);
    Ok(Cause {
        summary,
        culprit,
        evidence: rows(facts, ledger, busiest, waiters.len()),
        remedies: remedies(pipeline, many),
        ..found(ledger, description, lost)
    })
}

/// Threads that waited for a condition and were charged for it.
fn waiters<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> BTreeSet<ThreadId> {
    waits(facts, ledger, |w| w == Why::Condition).filter(|(_, s)| *s > 0.0).map(|(w, _)| w.thread).collect()
}

/// Threads that run on average.
fn average(ledger: &Ledger<'_, '_>) -> f64 {
    ledger.split.on_cpu / (ledger.traced.length_ns() as f64 * 1e-9).max(f64::MIN_POSITIVE)
}

/// A part of a program: the threads that were started with one function.
struct Stage {
    name: String,
    threads: BTreeSet<ThreadId>,
    seen: Vec<(At, f64)>,
    /// Share of the waiting that fell into its running time.
    share: f64,
    /// Running time over life time of its threads.
    utilisation: f64,
}

/// The stages that ran while others waited, the one that most waiting fell into first.
struct Stages(Vec<Stage>);

impl Stages {
    fn new<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, seen: &[(At, f64)]) -> Stages {
        let mut entries: BTreeMap<ThreadId, BTreeMap<String, f64>> = BTreeMap::new();
        for (at, weight) in seen {
            let name = entry(facts, at).map_or_else(String::new, |c| place_of(&c));
            *entries.entry(at.thread).or_default().entry(name).or_default() += weight;
        }
        let stage_of: BTreeMap<ThreadId, String> =
            entries.into_iter().filter_map(|(t, names)| Some((t, by_weight(names).into_iter().next()?.0))).collect();
        let mut stages: BTreeMap<&String, Stage> = BTreeMap::new();
        let all: f64 = seen.iter().map(|s| s.1).sum();
        for (at, weight) in seen {
            let Some(name) = stage_of.get(&at.thread) else { continue };
            let stage = stages.entry(name).or_insert_with(|| Stage {
                name: name.clone(),
                threads: BTreeSet::new(),
                seen: Vec::new(),
                share: 0.0,
                utilisation: 0.0,
            });
            stage.threads.insert(at.thread);
            stage.seen.push((*at, *weight));
            stage.share += if all > 0.0 { weight / all } else { 0.0 };
        }
        let mut list: Vec<Stage> = stages.into_values().collect();
        for stage in &mut list {
            let rows = || stage.threads.iter().filter_map(|t| ledger.traced.threads.get(t));
            let life: f64 = rows().map(|t| t.end_ns.saturating_sub(t.start_ns) as f64).sum();
            let ran: f64 = rows().map(|t| t.running_ns as f64).sum();
            stage.utilisation = if life > 0.0 { (ran / life).min(1.0) } else { 0.0 };
        }
        list.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
        Stages(list)
    }
}

/// The function that a thread was started with: the outermost of the program's own.
fn entry<'t>(facts: &Facts<'_, 't>, at: &At) -> Option<Code<'t>> {
    let frames = at.stack.map(|s| facts.model.stacks.frames(s)).unwrap_or_default();
    frames.into_iter().rfind(|c| c.owner == Owner::Own)
}

fn place_of(code: &Code<'_>) -> String {
    code.name().map_or_else(|| place(&code.site()), str::to_owned)
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, stage: &Stage, waiters: usize) -> Vec<Evidence> {
    let (mut count, mut blocked) = (0_u64, 0.0);
    let mut wakers: BTreeMap<ThreadId, f64> = BTreeMap::new();
    for (wait, _) in waits(facts, ledger, |w| w == Why::Condition) {
        count = count.saturating_add(wait.count);
        blocked += wait.blocked_ns as f64 * 1e-9;
        for wake in ledger.traced.wakes.get(&wait.wait).into_iter().flatten() {
            if let Some(waker) = wake.waker {
                *wakers.entry(waker).or_default() += wake.blocked_ns as f64 * 1e-9;
            }
        }
    }
    let mut rows = vec![
        evidence("utilisation of the busy stage", stage.utilisation, "share", "threads"),
        evidence("waiting while it ran", stage.share, "share", "samples"),
        evidence("threads that waited", waiters as f64, "threads", "waits"),
        evidence("times a thread waited", count as f64, "waits", "waits"),
        evidence("time waited, all threads", blocked, "seconds", "waits"),
    ];
    if let Some((waker, seconds)) = by_weight(wakers).into_iter().next() {
        let name = ledger.traced.threads.get(&waker).map_or("?", |t| t.name.as_str());
        rows.push(evidence(format!("of that, ended by thread {name}"), seconds, "seconds", "wakes"));
    }
    rows.push(evidence("threads that run on average", average(ledger), "threads", "slices"));
    rows
}

fn remedies(pipeline: bool, threads: usize) -> Vec<String> {
    let list: &[&str] = match (pipeline, threads) {
        (true, 1) => &[
            "divide the busy stage's work: more threads for it, or move a part of it into the stages that wait",
            "make the busy stage cheaper: it sets the pace of all others",
            "fewer threads in the stages that wait give the same speed",
        ],
        (true, _) => &[
            "give the busy stage more threads, or make it cheaper",
            "fewer threads in the stages that wait give the same speed",
        ],
        (false, _) => &[
            "hand over more at a time, so that both sides can run meanwhile",
            "let a thread go on with other work instead of waiting for the answer",
        ],
    };
    list.iter().map(|r| (*r).to_owned()).collect()
}

fn sleepers<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, lost: (f64, f64), description: &Description) -> Cause {
    let views = blame::sources(facts, ledger, |w| w == Why::Sleep, |_| false);
    let culprit: Option<Culprit> = blame::culprit(&views, blame::Blamed::Own);
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let (count, blocked) = waits(facts, ledger, |w| w == Why::Sleep)
        .fold((0_u64, 0.0), |(n, s), (w, _)| (n.saturating_add(w.count), s + w.blocked_ns as f64 * 1e-9));
    Cause {
        summary: format!("Threads sleep for a fixed time{at}."),
        culprit,
        evidence: vec![
            evidence("times a thread slept", count as f64, "waits", "waits"),
            evidence("time slept, all threads", blocked, "seconds", "waits"),
        ],
        remedies: vec![
            "wait for the event itself (a condition variable, a futex, an eventfd) instead of looking again after a pause"
                .to_owned(),
        ],
        ..found(ledger, description, lost)
    }
}
