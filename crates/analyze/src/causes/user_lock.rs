//! `user-lock`: threads wait for each other at a lock of the program or of its libraries.
//!
//! Evidence: futex waits that are classified as a lock's, the idle capacity that the account charges to them, and the
//! CPU time that lock and futex code takes beyond the smallest count. May import: `lock_groups`, `lock_style`,
//! `remedies`.

use super::blame::by_weight;
use super::lock_groups::{Group, groups, library_name};
use super::lock_style::{self, Style};
use super::remedies;
use super::{Description, NOT_TRACED, Outcome, evidence};
use crate::account::Ledger;
use crate::account::pieces::Why;
use crate::account::profile::Doing;
use crate::answer::{Cause, CauseId, Culprit, Evidence};
use crate::code::place;
use crate::curve::seconds;
use crate::facts::{Facts, in_proportion, large, significant};
use crate::model::Traced;
use crate::names;
use crate::sharing::variable_at;
use crate::statistics::MIN_SHARE;
use crate::waits::{FutexWait, Purpose};
use crate::words::count_threads;
use std::collections::BTreeMap;

/// The cause.
pub const DESCRIPTION: Description = Description {
    id: CauseId::UserLock,
    title: "Waiting for a lock",
    what: "Threads wait until another thread releases a lock: of the program, or inside a library that it calls.",
    why: "Only one thread at a time makes progress; putting the others to sleep and waking them costs time as well.",
    example: "random() takes one lock for the whole process, so threads that draw many numbers run one after another.",
    disproved_by: "Give each thread its own copy of what the lock protects (even if the result is then wrong): if the \
                   time at this thread count does not fall, the lock is not the cause.",
    detect,
};

fn detect(facts: &Facts<'_, '_>, description: &Description) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    for ledger in facts.in_order() {
        let found = found(facts, ledger, description);
        if !found.is_empty() {
            return Outcome::Found(found);
        }
    }
    let unknown =
        |l: &Ledger| l.unexplained.iter().filter(|(what, _)| what.contains("futex")).map(|u| u.1).sum::<f64>();
    if let Some(ledger) = facts.ledgers.iter().find(|l| large(l, unknown(l))) {
        let nameless = |w: &&FutexWait| w.purpose == Purpose::Unknown && w.view.nameless.is_some();
        let would = match ledger.futexes.values().find(nameless) {
            Some(_) => "names for the code that is made at run time would (a lock, a queue and a future look alike)",
            None => "symbols for the program and its libraries would",
        };
        return Outcome::Unsure(format!(
            "{} went to futexes whose purpose neither names nor wake-ups tell; {would}",
            in_proportion(ledger, unknown(ledger))
        ));
    }
    match facts.heaviest(CauseId::UserLock) {
        Some((ledger, charged)) if large(ledger, charged) => Outcome::Unsure(format!(
            "{} is booked to locks, but the loss itself is within the noise: more runs would tell",
            in_proportion(ledger, charged)
        )),
        _ => Outcome::Clear(format!(
            "waiting for locks and lock code take less than {:.0} % of the capacity at every count",
            MIN_SHARE * 100.0
        )),
    }
}

fn found<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, description: &Description) -> Vec<Cause> {
    let (total, error) = ledger.charged(CauseId::UserLock);
    if !significant(ledger, (total, error)) {
        return Vec::new();
    }
    let groups = groups(ledger);
    let part = |g: &Group| (g.seconds, error * (g.seconds / total).clamp(0.0, 1.0));
    let mut causes: Vec<Cause> = groups
        .iter()
        .filter(|g| significant(ledger, part(g)))
        .map(|g| cause(facts, ledger, Some(g), part(g), description))
        .collect();
    if causes.is_empty() {
        // Many locks, each too small to be shown: together they are the cause, and the largest stands for them.
        causes.push(cause(facts, ledger, groups.first(), (total, error), description));
    }
    causes
}

fn cause<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    group: Option<&Group<'_, 't>>,
    lost: (f64, f64),
    description: &Description,
) -> Cause {
    let mut culprit = group.and_then(Group::culprit);
    let object = group.and_then(Group::object);
    let variable = object.and_then(|address| variable_at(facts.model.tables, ledger.traced.run.run, address));
    if let Some(culprit) = &mut culprit {
        culprit.object_name = variable.map(str::to_owned);
    }
    let in_library = group.is_some_and(Group::in_library);
    let interpreter = group.is_some_and(|g| g.views.iter().any(|(view, _)| view.interpreter_lock));
    let held = group.filter(|g| !g.awake).map(|g| lock_style::held(facts, ledger, g));
    let known = culprit.as_ref().and_then(|c| c.function.as_deref()).map(names::c_name).filter(|_| in_library);
    let monitor = culprit.as_ref().is_some_and(is_java_monitor);
    let remedies = match interpreter {
        true => Some(remedies::for_interpreter_lock()),
        false if monitor => Some(remedies::for_java_monitor()),
        false => known.and_then(remedies::for_function),
    };
    let mut evidence = rows(facts, ledger, group);
    let style = held.as_ref().map_or(Style::Awake, |h| h.style);
    let awake = || {
        let sleeps = if group.is_some_and(|g| g.count() > 0) { "hardly anybody sleeps" } else { "nobody sleeps" };
        format!("{sleeps}: threads spin for it, or its cache line goes back and forth between them")
    };
    let words = held.as_ref().map_or_else(|| Some(awake()), |h| h.words.clone());
    evidence.extend(held.into_iter().flat_map(|h| h.evidence));
    Cause {
        summary: summary(culprit.as_ref(), in_library, interpreter, variable, words),
        evidence,
        remedies: remedies.unwrap_or_else(|| lock_style::remedies(style)),
        culprit,
        ..super::found(ledger, description, lost)
    }
}

fn summary(
    culprit: Option<&Culprit>,
    in_library: bool,
    interpreter: bool,
    variable: Option<&str>,
    held: Option<String>,
) -> String {
    let held = held.map(|h| format!("; {h}")).unwrap_or_default();
    if interpreter {
        return "Threads wait for the Python interpreter's global lock: only the one that holds it runs Python code."
            .to_owned();
    }
    let Some(culprit) = culprit else { return "Threads wait for a lock whose place is not known.".to_owned() };
    let caller = culprit.callers.first().map(place);
    if is_java_monitor(culprit) {
        let taken = caller.map(|c| format!(", which is taken in {c}")).unwrap_or_default();
        return format!("Threads wait for a Java monitor (synchronized){taken}.");
    }
    match (&culprit.function, in_library) {
        (Some(function), true) => {
            let library = library_name(&culprit.module);
            let called = caller.map(|c| format!(", called from {c}")).unwrap_or_default();
            format!("Threads wait for the lock inside {library}'s {}{called}.", names::c_name(function))
        }
        _ => match (caller, variable) {
            (Some(caller), Some(name)) => {
                format!("Threads wait for the lock \"{name}\", which is taken in {caller}{held}.")
            }
            (Some(caller), None) => format!("Threads wait for a lock that is taken in {caller}{held}."),
            (None, Some(name)) => format!("Threads wait for the lock \"{name}\"{held}."),
            (None, None) => format!("Threads wait for a lock whose place is not known{held}."),
        },
    }
}

fn is_java_monitor(culprit: &Culprit) -> bool {
    culprit.function.as_deref().is_some_and(|f| names::is_java_monitor(f, &culprit.module))
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, group: Option<&Group<'_, 't>>) -> Vec<Evidence> {
    let traced = ledger.traced;
    let futex = facts.model.numbers.futex;
    let mut rows = vec![evidence("futex calls", traced.calls(futex) as f64, "calls", "syscalls")];
    let base = facts.model.traced.first().filter(|b| b.run.threads < traced.run.threads);
    if let Some(base) = base {
        let what = format!("futex calls with {}", count_threads(base.run.threads));
        rows.push(evidence(what, base.calls(futex) as f64, "calls", "syscalls"));
    }
    if let Some(group) = group {
        let (count, blocked) = (group.count(), group.blocked_ns());
        rows.push(evidence("times a thread blocked", count as f64, "waits", "waits"));
        rows.push(evidence("time blocked, all threads", blocked * 1e-9, "seconds", "waits"));
        if count > 0 {
            rows.push(evidence("mean wait", blocked * 1e-3 / count as f64, "microseconds", "waits"));
        }
        rows.push(evidence("threads that waited", group.threads.len() as f64, "threads", "waits"));
        if group.objects.len() > 1 {
            rows.push(evidence("locks of this make", group.objects.len() as f64, "locks", "waits"));
        }
        rows.extend(releaser(facts, traced, group));
    }
    rows.push(evidence("time on a processor in lock and futex code", in_lock_code(ledger), "seconds", "samples"));
    rows.push(evidence("context switches a second", switches(traced), "1/second", "threads"));
    if let Some(base) = base {
        let what = format!("context switches a second with {}", count_threads(base.run.threads));
        rows.push(evidence(what, switches(base), "1/second", "threads"));
    }
    rows
}

/// On-CPU seconds of the traced run in lock code.
fn in_lock_code(ledger: &Ledger<'_, '_>) -> f64 {
    let samples = ledger.profile.counts.get(&Doing::Synchronising(Why::Lock)).copied().unwrap_or(0);
    let all = ledger.profile.total.max(1);
    ledger.split.on_cpu * samples as f64 / all as f64
}

/// Context switches a second of the traced run.
fn switches(traced: &Traced<'_>) -> f64 {
    let threads = traced.threads.values();
    let all = threads.fold(0_u64, |n, t| n.saturating_add(t.voluntary_switches).saturating_add(t.involuntary_switches));
    let length = seconds(traced.trace.end_ns.saturating_sub(traced.trace.begin_ns));
    if length > 0.0 { all as f64 / length } else { 0.0 }
}

/// Where the holder released the lock that most of the blocked time was spent at.
fn releaser(facts: &Facts<'_, '_>, traced: &Traced<'_>, group: &Group<'_, '_>) -> Option<Evidence> {
    let mut releases = BTreeMap::new();
    for wake in group.waits.iter().filter_map(|w| traced.wakes.get(&w.wait.wait)).flatten() {
        let own = facts.model.stacks.view(wake.waker_stack, true).own;
        if let (Some(own), Some(_)) = (own, wake.waker) {
            *releases.entry(place(&own.site())).or_insert(0.0) += wake.blocked_ns as f64;
        }
    }
    let (site, blocked) = by_weight(releases).into_iter().next()?;
    Some(evidence(format!("blocked time ended by a release in {site}"), blocked * 1e-9, "seconds", "wakes"))
}
