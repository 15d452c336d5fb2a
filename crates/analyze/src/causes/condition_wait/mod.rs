//! `condition-wait`: threads wait until another thread hands them work, room or a result.
//!
//! Evidence: idle capacity charged to threads that wait for a condition, a queue or a semaphore, and the stage that was
//! busy meanwhile and so sets the pace. A pool that waits while nothing in the program runs has no work, which is not
//! the program's fault. Rooms: `handed_in` where a stage's work comes from; `handing` what handing over costs; `paced` one
//! thread that is busy all the time; `pausing` work that comes from a thread that sleeps; `stage` what
//! is said of a stage.
//!
//! May import: `account`, `answer`, `facts`, `model`, `runtimes`, `scaling`,
//! `shared`, `recording`.

mod handed_in;
mod handing;
mod paced;
mod pausing;
mod stage;

use crate::account::criticality::{Idle, SeenAt};
use crate::account::lines::Why;
use crate::account::pieces::Activity;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Culprit, Evidence, Unit};
use crate::causes::shared::blame::{by_weight, innermost, named, running, waits};
use crate::causes::shared::holders::{Act, holders};
use crate::causes::shared::{self, Meta, blame, by_lines, duration, evidence, found, hidden, not_clear_beside};
use crate::facts::{Facts, significant};
use crate::model::code::{Code, place};
use crate::model::resources::Pool;
use crate::model::similar_threads::{self, Calls};
use crate::model::task_sleeps::SleepReason;
use crate::runtimes::{self, Scheduler, is_interpreter, is_scheduler_alone};
use crate::scaling::more_could_wait;
use recording::tables::Thread;
use recording::{StackId, ThreadId};
use stage::{MOST, one_thread, remedies};
use std::collections::{BTreeMap, BTreeSet};

/// A stage with at least this utilisation is busy: the rest is the cost of handing over.
///
/// Decides: whether a stage is reported as the one that the other threads wait for.
/// From: chosen: a busy stage spends the rest of its time on handing over; no measurement.
/// Shown by: `the_stage_that_sets_the_pace_is_named_with_its_utilisation`, at 100 %, and
/// `a_stage_is_busy_also_while_others_have_its_processor`, at 90 % and 60 %.
/// Wrong if: the slowest stage waits for a device for a third of its time: it sets the pace, but is not named.
const BUSY: f64 = 0.7;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const CONDITION_WAIT: CauseId = CauseId::new("condition-wait");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::CONDITION_WAIT,
    colour: "#f0d060",
    title: "Waiting for work",
    what: "Threads wait until another thread hands them work, room in a queue, or a result.",
    why: "A pipeline is as fast as its slowest stage: the threads of all others wait for it.",
    example: "One thread reads and parses, four decode, and the reader cannot keep up.",
    disproved_by: "Make the busy stage faster, for example by giving it prepared input: if the time does not fall, it is \
                   not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Condition) => "waiting for work",
            SLEEPING => "sleeping",
            LineId::Synchronising(Why::Condition) => "condition and futex code",
            LineId::Paced => "beside one busy thread",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS,
    may_be_in: &[],
    standing: shared::Standing::Usual,
    places: shared::NO_PLACES,
    removal: shared::Removal::AtMost,
    samples_needed: shared::UNSEEN,
    judge: |facts, meta| not_clear_beside(facts, Why::Pause, ASLEEP, by_lines(facts, meta, explain)),
};

/// Decides: whether threads that wait for work wait for a thread that sleeps by the clock. For at least this share of the
/// time in which no thread runs, one must sleep, and none may wait for anything that could go on without it.
/// From: chosen; the rest is when the sleeper was just woken, or when tasks were not looked at.
/// Shown by: `who_waits_for_work_from_a_thread_that_sleeps_is_told_where_it_sleeps`.
/// Wrong if: something outside the program, which the recording does not show, wakes the sleeper before its time.
const PAUSED: f64 = 0.7;

const SLEEPING: LineId = LineId::Blocked(Why::Sleep);

/// Why it is not clear where requests of a server sleep.
const ASLEEP: &str = "requests sleep, each in a task of its own: a load that asks for more at a time would tell whether that is the limit";

/// What would disprove the cause where threads sleep.
const SLEEP_DISPROVED: &str =
    "Sleep for a shorter time, or wait for the event itself: if the time does not fall, sleeping is not the cause.";

/// What would disprove the cause where threads wait for each other's answers.
const HAND_OVER_DISPROVED: &str =
    "Hand over more at a time, or do the work without handing it over: if the time does not fall, it is not the cause.";

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    if let Some(cause) = paced::cause(facts, ledger, lost, meta) {
        return Ok(vec![cause]);
    }
    let scheduling = in_scheduler(facts, ledger);
    if scheduling > MOST {
        let runs = running(facts, &ledger.split.criticality.during(waiting), |_| None);
        let meanwhile = runs.map(|r| format!(", while {} runs most", named(&r.culprit))).unwrap_or_default();
        let scheduler = scheduler(facts, ledger);
        let called = scheduler.map_or("the runtime", |scheduler| scheduler.called);
        let task = scheduler.map_or("task", |scheduler| scheduler.task);
        let tells = scheduler.map_or("its own profiles may tell", |scheduler| scheduler.tells);
        return Err(format!(
            "for {:.0} % of that time threads of {called} find no {task} that can run{meanwhile}; what the {task}s wait \
             for is not in the recording: {tells}",
            100.0 * scheduling
        ));
    }
    let asleep = shared::line(ledger, SLEEPING);
    let rest = (lost.0 - asleep.0, lost.1);
    let mut causes = Vec::new();
    // Threads that sleep while they hold what others wait for are told by the cause `resource-pool`.
    let held = significant(ledger, asleep) && held_asleep(facts, ledger);
    if significant(ledger, asleep) && unseen_asleep(facts, ledger) && more_could_wait(facts.points, facts.processors) {
        return Err(format!(
            "tasks or threads of an interpreter sleep, and more could sleep at the same time: what keeps them from that \
             is not in the recording; {}",
            scheduler(facts, ledger).map_or("profiles of where they wait would tell", |scheduler| scheduler.tells)
        ));
    }
    if significant(ledger, asleep) && !held {
        causes.push(sleepers(facts, ledger, asleep, meta));
    }
    if significant(ledger, rest) {
        let handing = ledger.traced.is_only_run && handing::is_mostly_code(ledger, rest.0);
        let told = if handing { Err(handing::ONE_RUN.to_owned()) } else { stage(facts, ledger, rest, meta) };
        match told {
            Ok(cause) => causes.push(cause),
            Err(why) if causes.is_empty() => return Err(why),
            Err(_) => {}
        }
    }
    if causes.is_empty() && held {
        Err("threads sleep while they hold one of a few resources that others wait for; resource-pool says more"
            .to_owned())
    } else if causes.is_empty() {
        Err("sleeping and waiting for work are each too small to be told from noise".to_owned())
    } else {
        Ok(causes)
    }
}

/// The scheduler in which threads wait.
fn scheduler(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> Option<&'static Scheduler> {
    let stacks = waits(ledger, |w| matches!(w, Why::Condition | Why::Sleep)).filter_map(|(wait, _)| wait.user_stack);
    let mut stacks: Vec<StackId> = stacks.collect();
    stacks.sort_unstable();
    stacks.dedup();
    stacks
        .into_iter()
        .find_map(|stack| runtimes::scheduler(facts.model.stacks.frames(stack).iter().filter_map(Code::name)))
}

/// The share of sleeping and waiting for work that happens in a task scheduler for an unknown reason, 0 to 1. Tasks such
/// as goroutines do not keep their threads while they wait: whether for a lock or a channel, the threads go to the
/// scheduler.
fn in_scheduler<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> f64 {
    let stacks = &facts.model.stacks;
    let (mut inside, mut all) = (0.0, 0.0);
    let mut known: BTreeMap<StackId, bool> = BTreeMap::new();
    let mut scheduler_alone = |stack: Option<StackId>| match stack {
        Some(stack) => *known
            .entry(stack)
            .or_insert_with(|| is_scheduler_alone(stacks.frames(stack).iter().filter_map(Code::name))),
        None => false,
    };
    for (wait, seconds) in waits(ledger, |w| matches!(w, Why::Condition | Why::Sleep)) {
        all += seconds;
        inside += match ledger.traced.task_sleeps.reason(wait.wait) {
            // Polling counts as waiting for work where the program talks to itself: other goroutines then bring what is
            // polled for.
            Some(SleepReason::Unknown | SleepReason::Polls) => seconds,
            Some(_) => 0.0,
            None if scheduler_alone(wait.user_stack) => seconds,
            None => 0.0,
        };
    }
    if all > 0.0 { inside / all } else { 0.0 }
}

/// True for waiting at a condition, before the wake-up and after it.
fn waiting(idle: Idle) -> bool {
    matches!(idle, Idle::Waiting(Activity::Blocked(Why::Condition) | Activity::Woken(Why::Condition)))
}

/// True where one stage is busy while the others wait.
fn alone_at(busiest: &Stage) -> bool {
    busiest.share > MOST && busiest.utilisation >= BUSY
}

fn stage<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, lost: (f64, f64), meta: &Meta) -> Result<Cause, String> {
    let meanwhile = &ledger.split.criticality;
    let blocked = Idle::Waiting(Activity::Blocked(Why::Condition));
    let nobody = meanwhile.nobody.get(&blocked).copied().unwrap_or(0.0);
    let charged =
        ledger.split.charge_of(blocked) + ledger.split.charge_of(Idle::Waiting(Activity::Woken(Why::Condition)));
    let mostly_code = handing::is_mostly_code(ledger, lost.0);
    let handing_over = || Cause { disproved_by: HAND_OVER_DISPROVED.to_owned(), ..handing::cause(ledger, lost, meta) };
    if nobody > MOST * charged {
        if mostly_code {
            return Ok(handing_over());
        }
        let paused = meanwhile.paused.get(&blocked).copied().unwrap_or(0.0);
        let waiters = waiters(ledger);
        let pause = (paused >= PAUSED * nobody).then(|| pausing::pausing(facts, ledger, &waiters)).flatten();
        if let Some(pause) = pause {
            let told = pausing::cause(pause, waiters.len(), ledger, lost, meta);
            return Ok(Cause { disproved_by: SLEEP_DISPROVED.to_owned(), ..told });
        }
        return Err(format!(
            "threads wait for work, but for {:.0} % of that time nothing in the program runs: there is no work, or what \
             brings it is outside the program",
            100.0 * nobody / charged
        ));
    }
    let mut seen = meanwhile.during(waiting);
    seen.retain(|(at, _)| ledger.serial_code.function(at.stack).is_none());
    let stages = stages(facts, ledger, &seen);
    let Some(busiest) = stages.first() else {
        return Err("no sample was taken while threads waited for work: which stage is busy is not known".to_owned());
    };
    let waiters = waiters(ledger);
    let pipeline = alone_at(busiest) && !waiters.is_subset(&busiest.threads);
    // A stage is named by the function that is nearly all of it; of threads that wait for each other, the innermost
    // that runs most of that time is nearer to the reason.
    let culprit = match pipeline {
        true => running(facts, &busiest.seen, |_| None),
        false => innermost(facts, &busiest.seen, MOST, |_| None),
    };
    let culprit = culprit.map(|r| r.culprit);
    let what = culprit.as_ref().map_or_else(|| "code without a name".to_owned(), named);
    let origin = handed_in::handed_in(facts, ledger, &busiest.threads, &busiest.seen);
    let pool = handed_in::pool(facts, &busiest.seen);
    let what = match &origin {
        Some(origin) => format!("{what}, whose work comes from {}", named(origin)),
        None => what,
    };
    if !alone_at(busiest) && ledger.stolen >= lost.0 {
        return Err(format!(
            "threads waited {} for each other, but other virtual machines had the processors for {}, and who waits for a \
             thread that stands still waits for that too: repeat it at another time",
            duration(lost.0),
            duration(ledger.stolen)
        ));
    }
    let many = busiest.threads.len();
    let summary = match pipeline {
        // The threads that wait are also those that run: they need each other's results.
        false => {
            format!("Threads wait for each other: on average {:.1} run at a time, most in {what}.", average(ledger))
        }
        true => format!(
            "Threads wait for the stage that is busy {:.0} % of the time: {} in {what}.",
            busiest.utilisation * 100.0,
            match (many, pool) {
                (1, Some(pool)) => format!("the one thread of {}", pool.called),
                (1, None) => one_thread(ledger, &busiest.threads),
                (_, Some(pool)) => format!("the {many} threads of {}", pool.called),
                (_, None) => format!("{many} threads"),
            }
        ),
    };
    if !pipeline && mostly_code {
        return Ok(handing_over());
    }
    let evidence = rows(facts, ledger, busiest, waiters.len(), pipeline);
    let mut cause = found(ledger, meta, lost);
    if !pipeline {
        HAND_OVER_DISPROVED.clone_into(&mut cause.disproved_by);
    }
    let mut remedies = remedies(pipeline, many);
    if let Some(pool) = pool.filter(|_| pipeline) {
        remedies = pool.remedies.iter().map(|remedy| (*remedy).to_owned()).collect();
    }
    Ok(Cause { summary, culprit: origin.or(culprit), evidence, remedies, ..cause })
}

/// Threads that waited for a condition and were charged for it.
fn waiters(ledger: &Ledger<'_, '_>) -> BTreeSet<ThreadId> {
    waits(ledger, |w| w == Why::Condition).filter(|(_, s)| *s > 0.0).map(|(w, _)| w.thread).collect()
}

/// How many threads run on average.
fn average(ledger: &Ledger<'_, '_>) -> f64 {
    ledger.split.on_cpu / (ledger.traced.length_ns() as f64 * 1e-9).max(f64::MIN_POSITIVE)
}

/// A part of a program: threads that run the same code.
struct Stage {
    threads: BTreeSet<ThreadId>,
    seen: Vec<(SeenAt, f64)>,
    /// Share of the waiting that fell into its running time.
    share: f64,
    /// Of the life time of its threads, the share in which they run; of one thread, in which it runs or is ready to.
    utilisation: f64,
}

/// The stages that ran while others waited, by the share of the waiting, largest first.
fn stages(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, seen: &[(SeenAt, f64)]) -> Vec<Stage> {
    let mut ran: BTreeMap<ThreadId, f64> = BTreeMap::new();
    for (at, weight) in seen {
        *ran.entry(at.thread).or_default() += weight;
    }
    let all: f64 = ran.values().sum();
    let code = ledger.traced.thread_calls(&facts.model.stacks);
    let mut stages: Vec<(Stage, &Calls)> = Vec::new();
    let none = Calls::new();
    for (thread, weight) in by_weight(ran) {
        let calls = code.get(&thread).unwrap_or(&none);
        let alike = stages.iter_mut().find(|(_, leader)| similar_threads::overlap(leader, calls) > MOST);
        let share = if all > 0.0 { weight / all } else { 0.0 };
        match alike {
            Some((stage, _)) => {
                stage.threads.insert(thread);
                stage.share += share;
            }
            None => {
                let threads = BTreeSet::from([thread]);
                stages.push((Stage { threads, seen: Vec::new(), share, utilisation: 0.0 }, calls));
            }
        }
    }
    let mut stages: Vec<Stage> = stages.into_iter().map(|(stage, _)| stage).collect();
    for stage in &mut stages {
        stage.seen = seen.iter().filter(|(at, _)| stage.threads.contains(&at.thread)).copied().collect();
        let rows = || stage.threads.iter().filter_map(|t| ledger.traced.threads.get(t));
        let life: f64 = rows().map(|t| t.end_ns.saturating_sub(t.start_ns) as f64).sum();
        // Others, such as its runtime's own threads, may have the processor of one thread that has work. Of several, one is
        // often ready because another one has just woken it.
        let alone = stage.threads.len() == 1;
        let ready = |t: &Thread| if alone { t.runnable_ns.saturating_add(t.preempted_ns) } else { 0 };
        let had_work: f64 = rows().map(|t| t.running_ns.saturating_add(ready(t)) as f64).sum();
        stage.utilisation = if life > 0.0 { (had_work / life).min(1.0) } else { 0.0 };
        // Where one sets the pace, that counts for the measured part of its life.
        let pace = ledger.pace.filter(|pace| stage.threads.iter().eq([&pace.thread]));
        stage.utilisation = pace.map_or(stage.utilisation, |pace| pace.has_work.clamp(stage.utilisation, 1.0));
    }
    stages.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.threads.cmp(&b.threads)));
    stages
}

fn rows<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    stage: &Stage,
    waiters: usize,
    pipeline: bool,
) -> Vec<Evidence> {
    let (mut count, mut blocked) = (0_u64, 0.0);
    let mut wakers: BTreeMap<ThreadId, f64> = BTreeMap::new();
    let mut goroutines: BTreeMap<String, f64> = BTreeMap::new();
    for (wait, _) in waits(ledger, |w| w == Why::Condition) {
        count = count.saturating_add(wait.count);
        blocked += wait.blocked_ns as f64 * 1e-9;
        let own = facts.model.stacks.view(wait.user_stack, wait.syscall.is_some()).own;
        if let (Some(SleepReason::Waits(_)), Some(own)) = (ledger.traced.task_sleeps.reason(wait.wait), own) {
            *goroutines.entry(place(&own.site())).or_default() += wait.blocked_ns as f64 * 1e-9;
        }
        for wake in ledger.traced.wakes.get(&wait.wait).into_iter().flatten() {
            if let Some(waker) = wake.waker {
                *wakers.entry(waker).or_default() += wake.blocked_ns as f64 * 1e-9;
            }
        }
    }
    let mut rows = Vec::new();
    // Where no stage is busy, these rows would contradict the summary.
    if pipeline {
        rows.push(evidence("utilisation of the busy stage", stage.utilisation, Unit::Share, "threads"));
        rows.push(evidence("share of the waiting while it ran", stage.share, Unit::Share, "samples"));
    }
    rows.extend([
        evidence("threads that waited", waiters as f64, Unit::Of("threads"), "waits"),
        evidence("times a thread waited", count as f64, Unit::Of("waits"), "waits"),
        evidence("time waited, all threads", blocked, Unit::Seconds, "waits"),
    ]);
    // Threads of Go's runtime run any goroutine: where goroutines wait says more than which threads wait.
    if let Some((at, seconds)) = by_weight(goroutines).into_iter().next() {
        rows.push(evidence(format!("of that, goroutines wait in {at}"), seconds, Unit::Seconds, "waits"));
        wakers.clear();
    }
    if let Some((waker, seconds)) = by_weight(wakers).into_iter().next() {
        let name = ledger.traced.threads.get(&waker).map_or("?", |t| t.name.as_str());
        rows.push(evidence(format!("of that, ended by thread {name}"), seconds, Unit::Seconds, "wakes"));
    }
    rows.push(evidence("threads that run on average", average(ledger), Unit::Of("threads"), "slices"));
    rows
}

/// True when most of the sleeping is by tasks that a runtime schedules on threads, or inside an interpreter: what other
/// tasks wait for meanwhile is not visible.
fn unseen_asleep(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> bool {
    let (mut tasks, mut all) = (0.0, 0.0);
    for (wait, seconds) in waits(ledger, |w| w == Why::Sleep) {
        all += seconds;
        let own = facts.model.stacks.view(wait.user_stack, wait.syscall.is_some()).own;
        let interpreted = own.is_some_and(|c| is_interpreter(c.module_file));
        // A wait without a call is one that a look at the tasks told, and such a look shows all of them.
        let of_task = ledger.traced.task_sleeps.reason(wait.wait).is_some() && wait.syscall.is_some();
        let unseen = interpreted || of_task;
        tasks += if unseen { seconds } else { 0.0 };
    }
    tasks > MOST * all
}

/// True when most of the sleeping is by threads that hold one of a few resources, and waiting for these is a cause.
fn held_asleep<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>) -> bool {
    if !significant(ledger, shared::line(ledger, LineId::Blocked(Why::Pool))) {
        return false;
    }
    let found = &ledger.resources;
    let asleep = |pool: &Pool<'_>| holders(facts, ledger, &pool.holds).map_or(0.0, |h| h.spent(Act::Sleeps));
    let held: f64 = found.pools.iter().map(asleep).sum();
    let all: f64 = waits(ledger, |w| w == Why::Sleep).map(|(w, _)| w.blocked_ns as f64 * 1e-9).sum();
    held > MOST * all
}

fn sleepers<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, lost: (f64, f64), meta: &Meta) -> Cause {
    let views = blame::sources(facts, ledger, |w| w == Why::Sleep, |_| false);
    let culprit: Option<Culprit> = blame::culprit(&views, blame::Blamed::Own);
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let (count, blocked) = waits(ledger, |w| w == Why::Sleep)
        .fold((0_u64, 0.0), |(n, s), (w, _)| (n.saturating_add(w.count), s + w.blocked_ns as f64 * 1e-9));
    let (meanwhile, remedy) = match ledger.holds_up_tasks {
        true => (
            ", inside a task: no other task runs on these threads meanwhile",
            "await the answer, or the timer of the runtime, instead of blocking the thread; or run what blocks on threads \
             of its own (spawn_blocking, to_thread)",
        ),
        false => (
            "",
            "wait for the event itself (a condition variable, a futex, an eventfd) instead of looking again after a pause",
        ),
    };
    Cause {
        summary: format!("Threads sleep for a fixed time{at}{meanwhile}."),
        culprit,
        evidence: vec![
            evidence("times a thread slept", count as f64, Unit::Of("waits"), "waits"),
            evidence("time slept, all threads", blocked, Unit::Seconds, "waits"),
        ],
        remedies: vec![remedy.to_owned()],
        disproved_by: SLEEP_DISPROVED.to_owned(),
        ..found(ledger, meta, lost)
    }
}

#[cfg(test)]
mod sketches;
