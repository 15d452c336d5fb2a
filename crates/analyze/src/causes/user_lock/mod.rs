//! `user-lock`: threads wait for each other at a lock of the program or of its libraries.
//!
//! Evidence: futex waits classified as waits for a lock, the idle capacity that the account charges to them, and the
//! CPU time that lock and futex code takes beyond that at the baseline.
//!
//! May import: `account`, `answer`, `curve`, `facts`, `model`, `runtimes`, `shared`, `sharing`, `statistics`, `words`,
//! `recording`.

pub mod groups;
mod holding_place;
pub mod style;
mod task_holders;

use crate::account::lines::Why;
use crate::account::profile::Doing;
use crate::account::{Ledger, Unexplained};
use crate::answer::{Cause, CauseId, Culprit, Evidence, Site, Unit};
use crate::causes::shared::blame::{Blamed, by_weight, culprit};
use crate::causes::shared::for_whom::for_whom;
use crate::causes::shared::holders::{Holders, holders};
use crate::causes::shared::{self, Meta, NOT_TRACED, Outcome, contradicted, evidence, heaviest, hidden, processes};
use crate::curve::seconds;
use crate::facts::{Facts, in_proportion, large, significant};
use crate::model::Traced;
use crate::model::code::place;
use crate::model::futex::{FutexWait, Purpose};
use crate::model::resources::hand_over::hand_overs;
use crate::model::resources::is_hidden;
use crate::model::stack_view::View;
use crate::runtimes::advice::{self, RuntimeLock};
use crate::runtimes::function_name::{plain, readable};
use crate::runtimes::{self, Called, Primitive};
use crate::sharing::variable_at;
use crate::statistics::MIN_SHARE;
use crate::words::percent;
use groups::{Group, groups, library_name};
use recording::StackId;
use recording::tables::{ModuleKind, Reason};
use std::collections::BTreeMap;
use style::{Style, held as held_by, remedies as remedies_for};

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const USER_LOCK: CauseId = CauseId::new("user-lock");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::USER_LOCK,
    colour: "#e69f00",
    title: "Waiting for a lock",
    what: "Threads wait until another thread releases a lock: of the program, or inside a library that it calls.",
    why: "Only one thread at a time makes progress; putting the others to sleep and waking them costs time as well.",
    example: "random() takes one lock for the whole process, so threads that draw many numbers run one after another.",
    disproved_by: "Give each thread its own copy of what the lock protects (even if the result is then wrong): if the \
                   time at this thread count does not fall, the lock is not the cause.",
    lines: groups::lines,
    hides_in: hidden::WAITS,
    may_be_in: &[],
    standing: shared::Standing::DefectUnless(is_mostly_interpreter_s),
    places: groups::places,
    removal: shared::Removal::Time,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    let certain = |ledger: &&Ledger| contradicted(facts, meta, ledger).is_none();
    for ledger in facts.in_order().into_iter().filter(certain) {
        let found = found(facts, ledger, meta);
        if !found.is_empty() {
            return Outcome::Found(found);
        }
    }
    let of_runtime = |ledger: &&&Ledger| {
        significant(ledger, meta.charged(ledger))
            && groups(ledger).first().is_some_and(|group| group.is_runtime_s_own())
    };
    if let Some(ledger) = facts.in_order().iter().find(of_runtime) {
        return Outcome::Unsure(format!(
            "{} goes to a lock inside the language's runtime, which no code of the program leads to: its scheduler's, mostly, \
             whose holder may be off its processor where more threads than processors run",
            in_proportion(ledger, meta.charged(ledger).0)
        ));
    }
    let of_futex = |what: Unexplained| matches!(what, Unexplained::Futex | Unexplained::FutexCode);
    let unknown = |l: &Ledger| l.unexplained.iter().filter(|u| of_futex(u.0)).map(|u| u.1).sum::<f64>();
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
    if facts.in_order().into_iter().any(|ledger| waits_for_one(ledger)) {
        return Outcome::Unsure(
            "threads wait for a resource that only one of them can hold at a time, and a lock is such a resource: it is told as \
             one of a few resources"
                .to_owned(),
        );
    }
    let behind = facts.in_order().into_iter().find(|l| hidden::behind_tasks(facts, l).is_some());
    let missing = behind.map(|ledger| behind_tasks(facts, ledger));
    match heaviest(facts, meta) {
        Some((ledger, charged)) if large(ledger, charged) => {
            Outcome::Unsure(contradicted(facts, meta, ledger).unwrap_or_else(|| {
                format!(
                    "{} is booked to locks, but the loss itself is within the noise: more runs would tell",
                    in_proportion(ledger, charged)
                )
            }))
        }
        _ => missing.map_or_else(|| Outcome::Clear(little()), Outcome::Unsure),
    }
}

/// Decides: whether a small loss to locks is a remark on a program that scales: less than this share of it may be to locks
/// that are no interpreter's.
/// From: reasoned, not measured: what a change of the program can save is then the smaller part.
/// Shown by: `tests/small_loss.rs`.
/// Wrong if: a lock of the program costs nearly as much as the interpreter's: it is then told in second place.
const OTHER_LOCKS: f64 = 0.5;

/// True where most of the loss is to the lock of an interpreter, which each program of its language takes.
fn is_mostly_interpreter_s(ledger: &Ledger<'_, '_>, cause: &Cause) -> bool {
    let others =
        groups(ledger).iter().filter(|group| !group.is_interpreter_s()).map(|group| group.seconds).sum::<f64>();
    others < OTHER_LOCKS * cause.lost_seconds
}

/// Whether much is lost at a place where threads wait for a resource of which there is one. Only names tell it from a lock.
fn waits_for_one(ledger: &Ledger<'_, '_>) -> bool {
    let ones = ledger.resources.pools.iter().filter(|pool| pool.size == Some(1));
    let traced: f64 = ones.flat_map(|pool| &pool.waits).filter_map(|wait| ledger.split.by_wait.get(wait)).sum();
    large(ledger, traced * ledger.scale)
}

/// Why the cause is excluded.
fn little() -> String {
    let share = MIN_SHARE * 100.0;
    format!("waiting for locks and lock code take less than {share:.0} % of the capacity at every count")
}

/// What is missing where a task may wait for a lock while its thread runs another task. The lock release that ended
/// such a sleep is no proof, because the task may have waited for only a part of the sleep, but it is the place to look
/// first.
fn behind_tasks(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> String {
    let (traced, stacks) = (ledger.traced, &facts.model.stacks);
    let sleeps = traced.waits.values().filter(|wait| is_hidden(traced, stacks, wait));
    let (mut releases, mut all): (BTreeMap<Site, f64>, f64) = (BTreeMap::new(), 0.0);
    for wake in sleeps.filter_map(|wait| traced.wakes.get(&wait.wait)).flatten() {
        let (view, slept) = (stacks.view(wake.waker_stack, true), wake.blocked_ns as f64);
        all += slept;
        if let Some(own) = view.own.filter(|_| view.primitive == Some(Primitive::Lock) && view.parked.is_none()) {
            *releases.entry(own.site()).or_default() += slept;
        }
    }
    let stacks_of_sleeps = traced.waits.values().filter(|wait| is_hidden(traced, stacks, wait));
    let frames = stacks_of_sleeps.filter_map(|wait| wait.user_stack).flat_map(|stack| stacks.frames(stack));
    let tells = runtimes::scheduler(frames.filter_map(|code| code.name()));
    let most = by_weight(releases).into_iter().next().filter(|(_, slept)| *slept > MIN_SHARE * all);
    let first = most.map(|(site, slept)| {
        let share = percent(slept / all);
        format!("; {share} of that time ended when {} released one", place(&site))
    });
    format!(
        "threads find no task that can run, wait for events, or wait inside an interpreter: whether tasks wait for a lock is not in the \
         recording{}; {}",
        first.unwrap_or_default(),
        tells
            .map_or("the runtime's own profile of locks, if it has one, would tell", |scheduler| scheduler.tells_locks)
    )
}

fn found<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, meta: &Meta) -> Vec<Cause> {
    let (total, error) = meta.charged(ledger);
    if !significant(ledger, (total, error)) {
        return Vec::new();
    }
    let mut groups = groups(ledger);
    let all = groups.len();
    groups.retain(|group| !group.is_runtime_s_own());
    if groups.is_empty() && all > 0 {
        return Vec::new();
    }
    let part = |g: &Group| (g.seconds, error * (g.seconds / total).clamp(0.0, 1.0));
    let mut causes: Vec<Cause> = groups
        .iter()
        .filter(|g| significant(ledger, part(g)))
        .map(|g| cause(facts, ledger, Some(g), part(g), meta))
        .collect();
    if causes.is_empty() {
        // Many locks, each too small to be shown, are the cause together; the largest stands for them.
        causes.push(cause(facts, ledger, groups.first(), (total, error), meta));
    }
    causes
}

fn cause<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    group: Option<&Group<'_, 't>>,
    lost: (f64, f64),
    meta: &Meta,
) -> Cause {
    let (mut culprit, in_library) = group.map_or((None, false), |group| holding_place::culprit(facts, ledger, group));
    let interpreter_s = group.is_some_and(Group::is_interpreter_s);
    let one_process = processes::waits_inside_one(ledger).map(|(pid, _)| pid).filter(|_| interpreter_s);
    if interpreter_s {
        let object = culprit.as_ref().and_then(|c| c.object.clone());
        culprit = interpreted(facts, ledger, one_process).map(|runs| Culprit { object, ..runs }).or(culprit);
    }
    if let Some(found) = culprit.as_mut().filter(|found| found.callers.is_empty()) {
        found.callers.extend(for_whom(facts, ledger, found));
    }
    let object = group.and_then(Group::object);
    let variable = object.and_then(|address| variable_at(facts.model.tables, ledger.traced.run.run, address));
    if let Some(culprit) = &mut culprit {
        culprit.object_name = variable.map(str::to_owned);
    }
    let held = group.filter(|g| !g.awake).map(|g| held_by(facts, ledger, g));
    let known = culprit.as_ref().and_then(|c| c.function.as_deref()).map(plain).filter(|_| in_library);
    let runtime_lock = runtime_lock(group, culprit.as_ref());
    let remedies =
        runtime_lock.map(|lock| lock.remedies(one_process.is_some())).or_else(|| known.and_then(advice::for_function));
    let mut evidence = rows(facts, ledger, group);
    let style = held.as_ref().map_or(Style::Awake, |h| h.style);
    let naps = group.is_some_and(|g| g.naps);
    let awake = || {
        if naps {
            return "threads that do not get it sleep for a moment and try again".to_owned();
        }
        let sleeps = if group.is_some_and(|g| g.count() > 0) { "hardly anybody sleeps" } else { "nobody sleeps" };
        format!("{sleeps}: threads spin for it, or its cache line goes back and forth between them")
    };
    let words = held.as_ref().map_or_else(|| Some(awake()), |h| h.words.clone());
    evidence.extend(held.into_iter().flat_map(|h| h.evidence));
    // Threads say nothing of how long a task holds a lock.
    let by_threads = group.filter(|g| !g.awake && !task_holders::is_of_tasks(g));
    let meanwhile = by_threads.and_then(|g| while_held(facts, ledger, g));
    // How long the lock is held says more than what the holder does.
    let words = match &meanwhile {
        Some(m) if matches!(style, Style::Long | Style::HolderWaits(_)) => words.map_or_else(
            || Some(format!("it is {}", m.words())),
            |w| Some(if matches!(style, Style::HolderWaits(_)) { format!("{w}: it is {}", m.words()) } else { w }),
        ),
        _ => words,
    };
    evidence.extend(meanwhile.iter().flat_map(Holders::rows));
    let who = one_process
        .map_or_else(|| "Threads".to_owned(), |pid| format!("Threads of {}", processes::called(ledger, pid)));
    // What a library computes under its own lock is no use to its callers; what it waits for there may be theirs.
    let words = words.filter(|_| !in_library || matches!(style, Style::HolderWaits(_)));
    let summary = summary(&who, culprit.as_ref(), in_library, runtime_lock, variable, words);
    if runtime_lock.is_some_and(|lock| lock.taken_by_program) {
        culprit = culprit.map(at_own_place);
    }
    Cause {
        summary,
        evidence,
        remedies: remedies.unwrap_or_else(|| remedies_for(style)),
        culprit,
        disproved_by: runtime_lock.and_then(|lock| lock.disproved_by).unwrap_or(meta.disproved_by).to_owned(),
        ..shared::found(ledger, meta, lost)
    }
}

/// Replaces a runtime's function as culprit by the program's own place that takes the lock.
fn at_own_place(culprit: Culprit) -> Culprit {
    let Some(site) = culprit.callers.first().cloned() else { return culprit };
    let Site { function, module, file, path, line, .. } = site;
    Culprit { function, module, file, path, line, ..culprit }
}

/// The likely holder of an interpreter's lock: the function of the program that runs most, in this process if there
/// is one.
fn interpreted(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, process: Option<u32>) -> Option<Culprit> {
    let mut samples: BTreeMap<StackId, u64> = BTreeMap::new();
    let here = |thread| process.is_none_or(|pid| processes::is_in(ledger, pid)(thread));
    for stack in ledger.traced.samples.iter().filter(|s| here(s.thread)).filter_map(|sample| sample.user_stack) {
        *samples.entry(stack).or_default() += 1;
    }
    let views = samples.into_iter().map(|(stack, n)| (facts.model.stacks.view(Some(stack), false), n as f64));
    let script = |view: &View<'_>| view.own.is_some_and(|c| c.kind == ModuleKind::Anonymous);
    let views: Vec<(View<'_>, f64)> = views.filter(|(view, _)| view.runtime_lock.is_none() && script(view)).collect();
    culprit(&views, Blamed::Own)
}

/// What the holders of a lock do while others wait for it.
fn while_held(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, group: &Group<'_, '_>) -> Option<Holders> {
    let waits = group.waits.iter().map(|w| w.wait.wait).collect();
    let found = hand_overs(ledger.traced, &waits);
    if found.are_whole() { holders(facts, ledger, &found.holds) } else { None }
}

fn summary(
    who: &str,
    culprit: Option<&Culprit>,
    in_library: bool,
    runtime_lock: Option<&RuntimeLock>,
    variable: Option<&str>,
    held: Option<String>,
) -> String {
    let held = held.map(|h| format!("; {h}")).unwrap_or_default();
    if let Some(lock) = runtime_lock.filter(|lock| !lock.taken_by_program) {
        let told = |c: &&Culprit| c.line.is_some() && !runtimes::is_interpreter(&c.module);
        let site = culprit.filter(told).map(|c| format!(" Most of the time that is {}.", place(&c.site())));
        return format!("{who} wait for {}.{}", lock.called, site.unwrap_or_default());
    }
    let Some(culprit) = culprit else { return "Threads wait for a lock whose place is not known.".to_owned() };
    let caller = culprit.callers.first().map(place);
    if let Some(lock) = runtime_lock {
        if let (true, Some(function), Some(caller)) = (lock.only_one, &culprit.function, &caller) {
            return format!("{who} wait for {}: {}, called from {caller}.", lock.called, readable(plain(function)));
        }
        let taken = caller.map(|c| format!(", which is taken in {c}")).unwrap_or_default();
        return format!("Threads wait for {}{taken}.", lock.called);
    }
    match (&culprit.function, in_library) {
        (Some(function), true) => {
            let called = caller.map(|c| format!(", called from {c}")).unwrap_or_default();
            let function = readable(plain(function));
            // A function's path already names its library, which is mostly linked into the program's file.
            let whose = if function.contains(['.', ':']) {
                String::new()
            } else {
                format!("{}'s ", library_name(&culprit.module))
            };
            format!("Threads wait for the lock inside {whose}{function}{called}{held}.")
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

/// The lock of a language's runtime that the threads wait for, if it is one.
fn runtime_lock(group: Option<&Group<'_, '_>>, culprit: Option<&Culprit>) -> Option<&'static RuntimeLock> {
    let entered = |c: &Culprit| runtimes::lock_entered(Called { name: c.function.as_deref()?, module: &c.module });
    let taken = group.and_then(|g| g.views.iter().find_map(|(view, _)| view.runtime_lock));
    let through = |view: &View<'_>| {
        let entry = view.entry?;
        runtimes::lock_entered(Called { name: entry.name()?, module: entry.module_file })
    };
    let by_the_program = || group.and_then(|g| g.views.iter().find_map(|(view, _)| through(view)));
    taken.or_else(|| culprit.and_then(entered)).or_else(by_the_program)
}

fn rows<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, group: Option<&Group<'_, 't>>) -> Vec<Evidence> {
    let traced = ledger.traced;
    let futex = facts.model.numbers.futex;
    let mut rows = Vec::new();
    let base = facts.model.traced.first().filter(|b| b.run.threads < traced.run.threads);
    // Threads that wait for a lock of a file sleep by the clock: futex calls are then made for something else. Where knee may
    // not count calls, none are known.
    let by_futex = group.is_none_or(|group| group.waits.iter().any(|w| w.wait.reason == Reason::Futex))
        && !traced.syscalls.is_empty();
    if by_futex {
        rows.push(evidence("futex calls", traced.calls(futex) as f64, Unit::Of("calls"), "syscalls"));
    }
    if let Some(base) = base.filter(|_| by_futex) {
        let what = format!("futex calls with {}", base.counted.many(base.run.threads));
        rows.push(evidence(what, base.calls(futex) as f64, Unit::Of("calls"), "syscalls"));
    }
    if let Some(group) = group {
        let (count, blocked) = (group.count(), group.blocked_ns());
        rows.push(evidence("times a thread blocked", count as f64, Unit::Of("waits"), "waits"));
        rows.push(evidence("time blocked, all threads", blocked * 1e-9, Unit::Seconds, "waits"));
        if count > 0 {
            rows.push(evidence("mean wait", blocked * 1e-3 / count as f64, Unit::Microseconds, "waits"));
        }
        rows.push(evidence("threads that waited", group.threads.len() as f64, Unit::Of("threads"), "waits"));
        if group.objects.len() > 1 {
            rows.push(evidence("locks of this make", group.objects.len() as f64, Unit::Of("locks"), "waits"));
        }
        rows.extend(holding_place::releaser(facts, ledger, group));
    }
    rows.push(evidence("time on a processor in lock and futex code", in_lock_code(ledger), Unit::Seconds, "samples"));
    rows.push(evidence("context switches a second", switches(traced), Unit::PerSecond, "threads"));
    if let Some(base) = base {
        let what = format!("context switches a second with {}", base.counted.many(base.run.threads));
        rows.push(evidence(what, switches(base), Unit::PerSecond, "threads"));
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

#[cfg(test)]
mod sketches;
