//! `imbalance`: threads that have finished wait for one that has not, at the end or at a barrier.
//!
//! Evidence: idle capacity while workers have ended or wait at a barrier, and code of the parallel part ran meanwhile;
//! which thread was last, and that it had more to do. A thread that was late because it was kept from the processor
//! does not count.
//!
//! May import: `account`, `answer`, `curve`, `facts`, `model`, `runtimes`, `shared`, `statistics`, `recording`.

mod barrier_code;
mod few_at_work;
mod goroutine_shares;
mod pool_shares;
mod same_calls;
mod without_share;

use crate::account::criticality::{Idle, SeenAt};
use crate::account::lines::Shape;
use crate::account::lines::Why;
use crate::account::pieces::Activity;
use crate::account::pool::who_has_all;
use crate::account::timeline::others;
use crate::account::{Ledger, LineId};
use crate::answer::{Cause, CauseId, Culprit, Unit};
use crate::causes::shared::blame::{named, running};
use crate::causes::shared::{self, Meta, Outcome, by_lines, duration, evidence, found, hidden, line};
use crate::curve::seconds;
use crate::facts::{Facts, large, significant};
use crate::statistics::MIN_SHARE;
use crate::statistics::median;
use recording::ThreadId;
use recording::tables::Thread;
use std::collections::BTreeMap;

const BARRIER: LineId = LineId::Blocked(Why::Barrier);
/// Threads of Go's runtime whose goroutines have ended.
const GOROUTINES_ENDED: LineId = LineId::Blocked(Why::Ended);
/// Threads of a pool that have no task.
const NO_TASK: LineId = LineId::Blocked(Why::Task);
/// Workers wait all the time for work.
const NO_SHARE: LineId = LineId::Shape(Shape::NoShare);
/// Threads that have ended.
const FINISHED: LineId = LineId::Shape(Shape::Finished);

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const IMBALANCE: CauseId = CauseId::new("imbalance");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::IMBALANCE,
    colour: "#ecd0e3",
    title: "Unequal shares of work",
    what: "Some threads finish early, arrive early at a barrier, or find no task left, and wait for the last.",
    why: "Processors idle from the first arrival to the last.",
    example: "Four equal ranges of a table, one of which holds most of the work.",
    disproved_by: "Divide the work into many more parts that idle threads take: if the finishing times stay as far apart, \
                   the division is not the cause.",
    lines: |id| {
        Some(match id {
            BARRIER => "waiting at a barrier",
            GOROUTINES_ENDED => "too few goroutines left",
            NO_TASK => "too few tasks left",
            FINISHED => "other threads had finished",
            NO_SHARE => "workers got no work",
            LineId::Synchronising(Why::Barrier) => "barrier code",
            _ => return None,
        })
    },
    hides_in: hidden::WAITS,
    may_be_in: &[],
    standing: shared::Standing::Usual,
    places: shared::NO_PLACES,
    removal: shared::Removal::AtMost,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    match by_lines(facts, meta, explain) {
        Outcome::Clear(why) => {
            let open = |ledger| few_at_work::open(facts, ledger);
            facts.in_order().into_iter().find_map(open).map_or(Outcome::Clear(why), Outcome::Unsure)
        }
        outcome => outcome,
    }
}

fn explain<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Vec<Cause>, String> {
    // Threads with equal work also end at different times when one processor of a virtual machine is slower for a
    // while. One observed run cannot tell this from unequal shares, but these are unequal in every run.
    let code = line(ledger, barrier_code::CODE);
    let idle = without(lost, code);
    if let Some(least) = ledger.least_idle.filter(|least| !significant(ledger, (idle.0.min(*least), idle.1))) {
        // Who spins at a barrier leaves no processor idle.
        if significant(ledger, code)
            && let Some(cause) = barrier_code::explain(facts, ledger, code, meta)
        {
            return Ok(vec![cause]);
        }
        return Err(format!(
            "in the observed run threads waited for the last one for {}, but not every timed run left processors idle for \
             as long ({} at least): one processor was slower at times, or the shares differ from run to run; more runs \
             would tell",
            duration(idle.0),
            duration(least.max(0.0))
        ));
    }
    let finished = line(ledger, FINISHED);
    let ended = line(ledger, GOROUTINES_ENDED);
    let no_task = line(ledger, NO_TASK);
    let no_share = line(ledger, NO_SHARE);
    // Who brings work waits for those that have all of it: that is the same time.
    let (no_task, no_share) = match who_has_all(ledger.traced) {
        None => (no_task, no_share),
        Some(_) => ((0.0, 0.0), (no_task.0 + no_share.0, no_task.1.hypot(no_share.1))),
    };
    let (mut causes, mut missing) = (Vec::new(), None);
    // The barrier's code belongs to its waits: the wait for the last thread costs both.
    let rest = [finished, ended, no_task, no_share].into_iter().fold(lost, without);
    // The part that no cause has been given yet.
    let mut lost = lost;
    if significant(ledger, no_share) {
        let nobody = ledger.split.criticality.nobody.get(&Idle::Shape(Shape::NoShare)).copied().unwrap_or(0.0);
        // Those that have the work wait, too: it is not their work that keeps the others waiting.
        let waits = nobody > EXPLAINS * ledger.split.shapes.get(&Shape::NoShare).copied().unwrap_or(0.0);
        let only = ![finished, ended, no_task, rest].into_iter().any(|part| significant(ledger, part));
        match waits {
            false => causes.push(without_share::explain(facts, ledger, if only { lost } else { no_share }, meta)),
            true => missing = Some("workers without work wait for one that mostly waits, too".to_owned()),
        }
        if only {
            return if causes.is_empty() { Err(missing.unwrap_or_default()) } else { Ok(causes) };
        }
        lost = without(lost, no_share);
    }
    if significant(ledger, no_task) {
        let only = ![finished, ended, rest].into_iter().any(|part| significant(ledger, part));
        causes.push(pool_shares::explain(facts, ledger, if only { lost } else { no_task }, meta));
        if only {
            return Ok(causes);
        }
        lost = without(lost, no_task);
    }
    if significant(ledger, ended) {
        let only = !significant(ledger, finished) && !significant(ledger, rest);
        match goroutine_shares::explain(facts, ledger, if only { lost } else { ended }, meta) {
            Ok(cause) => causes.push(cause),
            Err(why) if only && causes.is_empty() => return Err(why),
            Err(why) => missing = Some(why),
        }
        if only {
            return Ok(causes);
        }
        lost = without(lost, ended);
    }
    if significant(ledger, finished) || finished.0 >= rest.0 {
        let charge = if significant(ledger, rest) { finished } else { lost };
        match stragglers(facts, ledger, charge, meta) {
            Ok(cause) => causes.push(cause),
            Err(why) => missing = missing.or(Some(why)),
        }
    }
    if significant(ledger, rest) || rest.0 > finished.0 {
        let charge = if significant(ledger, finished) { rest } else { lost };
        match held_back(ledger, charge.0) {
            None => causes.push(
                barrier_code::explain(facts, ledger, charge, meta)
                    .unwrap_or_else(|| barrier(facts, ledger, charge, meta)),
            ),
            Some(why) => missing = missing.or(Some(why)),
        }
    }
    match missing {
        Some(why) if causes.is_empty() => Err(why),
        _ => Ok(causes),
    }
}

/// A charge minus a part of it, both with their standard errors.
fn without(charge: (f64, f64), part: (f64, f64)) -> (f64, f64) {
    (charge.0 - part.0, (charge.1.powi(2) - part.1.powi(2)).max(0.0).sqrt())
}

/// Decides: whether a reason other than unequal shares explains that threads wait for the last one: what it kept that thread
/// must be this share of the waiting, and what the thread ran beyond the others less than it.
/// From: reasoned: what explains more than half is the larger of two reasons. Of the sketches, half of it changes no answer,
/// and twice as much those of two, in which the last thread was held back.
/// Shown by: `who_has_the_slower_processor_makes_no_imbalance`, `a_little_later_on_slower_processors_is_no_imbalance`,
/// `who_ends_late_for_several_small_reasons_had_no_unequal_share`.
/// Wrong if: both reasons are there in nearly equal parts: the smaller one may then be told.
const EXPLAINS: f64 = 0.5;

/// Decides: whether a thread is the one that the others wait for: midway, by this share, between its part of the time if
/// all are last in turn and all of the time.
/// From: reasoned, not measured: it then is last more often than all others together would be.
/// Shown by: the snapshots of barriers in `tests/verdicts.rs`.
/// Wrong if: two threads alternate in being last: none is named.
const ALWAYS_LAST: f64 = 0.5;

/// Why waiting at barriers may have another reason than unequal shares: either the last thread was held back, or its
/// processor was slower. It may have been held back if other programs and virtual machines held threads back for at least
/// as long as threads waited, and if the thread that was waited for most ran too briefly to explain half of the waiting.
/// (A thread that is held back runs as long as the others, or shorter where work is taken in parts. What the hypervisor
/// takes looks like running.)
fn held_back(ledger: &Ledger<'_, '_>, waited: f64) -> Option<String> {
    let pressure = ledger.to_others().0 + ledger.disturbed + ledger.stolen;
    let traced = ledger.traced;
    let not_workers = others(traced);
    let workers: Vec<&Thread> = traced.threads.values().copied().filter(|t| !not_workers.contains(&t.thread)).collect();
    let last = Late::new(ledger, at_barrier).most().and_then(|(thread, _)| traced.threads.get(&thread));
    let ran = last.map_or(0, |t| t.running_ns);
    let more: f64 = workers.iter().map(|t| seconds(ran.saturating_sub(t.running_ns))).sum::<f64>() * ledger.scale;
    if pressure >= waited && more - ledger.stolen < EXPLAINS * waited {
        return Some(format!(
            "threads waited {} at barriers, but other programs and virtual machines held threads back for {}, and the last ones had not more \
             to do: repeat it on an idle machine",
            duration(waited),
            duration(pressure)
        ));
    }
    // If a different thread is last each time, none runs for that much longer.
    let slower = more >= EXPLAINS * waited && last.is_some_and(|last| slower_processor(ledger, &workers, last));
    slower.then(|| format!("threads waited {} at barriers, but {SLOWER}", duration(waited)))
}

/// What is missing if the last thread may have had a slower processor.
const SLOWER: &str = "those that waited ran as long as a fair share of the work takes at the baseline, or nearly as \
                      long as the last one, and what that one ran beyond them is processor time that the work does not \
                      take there: its processor may have been the slower one; repeat it at another time";

/// A slower processor is a possible reason when the median time of the other threads is within this share of a fair
/// share, or when the last thread took at most this much longer than that median.
///
/// Decides: whether the last thread may merely have had a slower processor.
/// From: chosen: repeated runs of the same single-threaded program differ by a tenth on virtual machines, and now and
/// then by more.
/// Shown by: `who_has_the_slower_processor_makes_no_imbalance`, `a_little_later_on_slower_processors_is_no_imbalance`,
/// `who_ends_late_for_several_small_reasons_had_no_unequal_share`.
/// Wrong if: one processor is slower by more than that for the whole run, as with a busy neighbour on its core, and the
/// other threads' times are not near a fair share either.
const FAIR: f64 = 0.15;

/// Whether the last thread may just have had a slower processor: processors of a virtual machine differ for seconds or
/// minutes when neighbours on the same core are busy. Unequal shares lie around a fair share and take no more processor
/// time in all. On a slower processor an equal share takes longer than on the others, and longer than in a single
/// thread. Where all threads take longer than that, all processors were slower, and one may have been a little slower
/// still.
fn slower_processor(ledger: &Ledger<'_, '_>, group: &[&Thread], last: &Thread) -> bool {
    let others: Vec<f64> = group.iter().filter(|t| t.thread != last.thread).map(|t| seconds(t.running_ns)).collect();
    let Some(middle) = median(&others) else { return false };
    let fair = ledger.account.useful * ledger.work / group.len() as f64;
    // A slower processor does not explain the cost of sharing or locks, only growth of the same code without a known
    // reason.
    let grown = line(ledger, LineId::SameFunctions).0;
    let more = (seconds(last.running_ns) - middle) * ledger.on_cpu_scale;
    let alike = (middle - fair).abs() <= FAIR * fair || seconds(last.running_ns) <= (1.0 + FAIR) * middle;
    alike && grown >= EXPLAINS * more
}

fn at_barrier(idle: Idle) -> bool {
    matches!(idle, Idle::Waiting(Activity::Blocked(Why::Barrier) | Activity::Woken(Why::Barrier)))
}

/// Which threads ran while others waited for them, and where.
struct Late {
    threads: BTreeMap<ThreadId, f64>,
    seen: Vec<(SeenAt, f64)>,
}

impl Late {
    fn new(ledger: &Ledger<'_, '_>, idle: impl Fn(Idle) -> bool) -> Late {
        let mut seen = ledger.split.criticality.during(idle);
        seen.retain(|(at, _)| ledger.serial_code.function(at.stack).is_none());
        let mut threads: BTreeMap<ThreadId, f64> = BTreeMap::new();
        for (at, weight) in &seen {
            *threads.entry(at.thread).or_default() += weight;
        }
        Late { threads, seen }
    }

    /// The thread that others waited for most, and its share.
    fn most(&self) -> Option<(ThreadId, f64)> {
        let all: f64 = self.threads.values().sum();
        let (thread, weight) = self.threads.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((*thread, if all > 0.0 { weight / all } else { 0.0 }))
    }

    /// What that thread ran, or without one, what all of them ran.
    fn culprit(&self, facts: &Facts<'_, '_>, thread: Option<ThreadId>) -> Option<Culprit> {
        let of = |(at, _): &&(SeenAt, f64)| thread.is_none_or(|t| t == at.thread);
        running(facts, &self.seen.iter().filter(of).copied().collect::<Vec<_>>(), |_| None).map(|r| r.culprit)
    }
}

/// Processor time that threads lose to each other (at shared memory, at locks), in processor-seconds per unit of work, if
/// other programs kept threads from their processors. A thread that runs alone meanwhile loses nothing, so that equal
/// shares of the work then take different time. On an undisturbed machine all threads lose the same: `None`.
fn unequal_contention(ledger: &Ledger<'_, '_>) -> Option<f64> {
    let kept_off = ledger.to_others().0 + ledger.disturbed + ledger.stolen;
    let paid = |id| {
        matches!(
            id,
            LineId::Sharing(_) | LineId::Synchronising(_) | LineId::Spinning | LineId::Yielding | LineId::KernelLock
        )
    };
    large(ledger, kept_off).then(|| ledger.sum(paid).0)
}

fn stragglers<'t>(
    facts: &Facts<'_, 't>,
    ledger: &Ledger<'_, 't>,
    lost: (f64, f64),
    meta: &Meta,
) -> Result<Cause, String> {
    let traced = ledger.traced;
    let late = Late::new(ledger, |i| i == Idle::Shape(Shape::Finished));
    let not_workers = others(traced);
    let workers = || traced.threads.values().copied().filter(|t| !not_workers.contains(&t.thread));
    let last = late.most().and_then(|(thread, _)| traced.threads.get(&thread).copied());
    let last = last.filter(|t| !not_workers.contains(&t.thread)).or_else(|| workers().max_by_key(|t| t.end_ns));
    let Some(last) = last else { return Err("no worker thread is known that finished last".to_owned()) };
    let group: Vec<&Thread> = workers().filter(|t| t.start_ns < last.end_ns && t.end_ns > last.start_ns).collect();
    let others: Vec<&Thread> = group.iter().copied().filter(|t| t.thread != last.thread).collect();
    let middle =
        |of: fn(&Thread) -> u64| median(&others.iter().map(|t| of(t) as f64).collect::<Vec<_>>()).unwrap_or(0.0);
    let later = |of: fn(&Thread) -> u64| of(last) as f64 - middle(of);
    let apart = later(|t| t.end_ns);
    let more_to_do = later(|t| t.running_ns);
    let reasons = [
        (later(|t| t.start_ns), "was started later"),
        (later(|t| t.runnable_ns.saturating_add(t.preempted_ns)), "was kept off the processor"),
        (later(|t| t.blocked_ns), "waited longer"),
    ];
    let reason = reasons.into_iter().filter(|(ns, _)| *ns >= more_to_do).max_by(|a, b| a.0.total_cmp(&b.0));
    if reason.is_none()
        && let Some((number, count)) = same_calls::same_calls(ledger, last.thread, &others, EXPLAINS)
    {
        return Err(format!(
            "threads finish {} apart, but the last one made {} as often as the others, {count} times: it had the same to do, \
             and its calls took longer",
            duration(apart * 1e-9),
            facts.model.call_name(number)
        ));
    }
    match reason {
        None if slower_processor(ledger, &group, last) => {
            return Err(format!("threads finish {} apart, but {SLOWER}", duration(apart * 1e-9)));
        }
        None if ledger.stolen > 0.0 && ledger.stolen >= more_to_do * 1e-9 * ledger.on_cpu_scale => {
            return Err(format!(
                "threads finish {} apart, but other virtual machines had the processors for {} meanwhile, which may be why \
                 the last one took longer: repeat it at another time",
                duration(apart * 1e-9),
                duration(ledger.stolen)
            ));
        }
        None if unequal_contention(ledger).is_some_and(|paid| paid >= more_to_do * 1e-9 * ledger.on_cpu_scale) => {
            return Err(format!(
                "threads finish {} apart, but other programs or virtual machines kept threads from their processors, and a thread that runs \
                 alone meanwhile pays less for locks and for memory that it shares; that may be why the last one took \
                 longer: repeat it on an idle machine",
                duration(apart * 1e-9)
            ));
        }
        Some((most, why)) if most > EXPLAINS * apart => {
            return Err(format!(
                "threads finish {} apart because the last one {why}, not because it had more to do",
                duration(apart * 1e-9)
            ));
        }
        // Several small reasons, none of which explains it alone.
        _ if more_to_do < EXPLAINS * apart => {
            let longer = match more_to_do > 0.0 {
                true => format!("ran only {} longer than the others", duration(more_to_do * 1e-9)),
                false => "did not run longer than the others".to_owned(),
            };
            return Err(format!("threads finish {} apart, but the last one {longer}", duration(apart * 1e-9)));
        }
        _ => {}
    }
    let culprit = late.culprit(facts, Some(last.thread));
    let work = last.running_ns as f64;
    let mean = group.iter().map(|t| t.running_ns as f64).sum::<f64>() / group.len().max(1) as f64;
    let ratio = if middle(|t| t.running_ns) > 0.0 { work / middle(|t| t.running_ns) } else { f64::INFINITY };
    let (first_end, last_end) = (group.iter().map(|t| t.end_ns).min(), group.iter().map(|t| t.end_ns).max());
    let spread = last_end.unwrap_or(0).saturating_sub(first_end.unwrap_or(0));
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let times =
        if ratio.is_finite() { format!("{ratio:.1} times as long as the middle one") } else { "alone".to_owned() };
    Ok(Cause {
        summary: format!(
            "Threads finish {} apart: {} works {times}{at}.",
            duration(seconds(spread)),
            thread_name(last)
        ),
        culprit,
        evidence: vec![
            evidence("from the first thread's end to the last's", seconds(spread), Unit::Seconds, "threads"),
            evidence(
                format!("CPU time of the last thread ({})", thread_name(last)),
                work * 1e-9,
                Unit::Seconds,
                "threads",
            ),
            evidence("CPU time of the middle one", middle(|t| t.running_ns) * 1e-9, Unit::Seconds, "threads"),
            evidence("threads", group.len() as f64, Unit::Of("threads"), "threads"),
        ],
        remedies: division(group.len(), work / mean.max(1.0)),
        ..found(ledger, meta, lost)
    })
}

/// How finely to divide the work, from the measured spread: the largest part should take no longer than the smallest
/// loss that counts, as a share of a thread's fair share.
fn division(threads: usize, largest_share: f64) -> Vec<String> {
    let parts = (threads as f64 * largest_share.max(1.0) / MIN_SHARE).ceil();
    vec![
        format!(
            "cut the work into {parts:.0} parts or more that threads take when they are free, because the largest of {threads} \
             shares took {largest_share:.1} times as long as the mean: an atomic counter, schedule(dynamic), a \
             work-stealing pool"
        ),
        "or weigh the shares by what they cost, the largest first".to_owned(),
    ]
}

/// Where threads wait at the barrier, as the end of a sentence; empty where that is in the function of the culprit.
fn meet<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, culprit: Option<&Culprit>) -> String {
    let waits = shared::blame::waits(ledger, |w| w == Why::Barrier);
    let mut seen: BTreeMap<SeenAt, f64> = BTreeMap::new();
    for (wait, _) in waits {
        let at = SeenAt { thread: wait.thread, stack: wait.user_stack, syscall: wait.syscall };
        *seen.entry(at).or_default() += wait.blocked_ns as f64;
    }
    let meets = running(facts, &shared::blame::by_weight(seen), |_| None).map(|ran| ran.culprit);
    let elsewhere = meets.filter(|at| at.function.is_some() && culprit.is_none_or(|c| c.function != at.function));
    elsewhere.map(|at| format!("; they meet most in {}", named(&at))).unwrap_or_default()
}

fn barrier<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, lost: (f64, f64), meta: &Meta) -> Cause {
    let traced = ledger.traced;
    let late = Late::new(ledger, at_barrier);
    let mut waits: BTreeMap<ThreadId, (u64, f64)> = BTreeMap::new();
    for (wait, _) in shared::blame::waits(ledger, |w| w == Why::Barrier) {
        let entry = waits.entry(wait.thread).or_default();
        entry.0 = entry.0.saturating_add(wait.count);
        entry.1 += wait.blocked_ns as f64 * 1e-9;
    }
    let members = waits.len().max(late.threads.len()).max(2);
    // Midway between "all take turns" and "always the same".
    let in_turn = 1.0 / members as f64;
    let always = in_turn + ALWAYS_LAST * (1.0 - in_turn);
    let most = late.most();
    let straggler = most.filter(|(_, share)| *share > always).map(|m| m.0);
    let culprit = late.culprit(facts, straggler);
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let thread = straggler.and_then(|t| traced.threads.get(&t).copied());
    let summary = match thread {
        Some(thread) => format!("Threads wait at a barrier for {}, which is still busy{at}.", thread_name(thread)),
        None => {
            format!("Threads wait at a barrier for whichever is last{at}{}.", meet(facts, ledger, culprit.as_ref()))
        }
    };
    let blocks: u64 = waits.values().fold(0, |n, w| n.saturating_add(w.0));
    let (least, largest) = waits.values().fold((f64::INFINITY, 0.0_f64), |(a, b), w| (a.min(w.1), b.max(w.1)));
    let mut rows = vec![evidence("times a thread blocked at a barrier", blocks as f64, Unit::Of("waits"), "waits")];
    if largest > 0.0 {
        rows.push(evidence("longest waiting of one thread, in all", largest, Unit::Seconds, "waits"));
        rows.push(evidence("shortest waiting of one thread, in all", least, Unit::Seconds, "waits"));
    }
    if let (Some((_, share)), Some(thread)) = (most, thread) {
        rows.push(evidence(format!("waiting in which {} ran", thread_name(thread)), share, Unit::Share, "samples"));
    }
    let remedies = match thread {
        Some(_) => vec![
            "give that thread less: divide by cost instead of by count, or let threads take small parts".to_owned(),
            "replace the barrier where a thread needs only its neighbours' results".to_owned(),
        ],
        None => vec![
            "put fewer barriers between the same work, so that differences even out".to_owned(),
            "replace the barrier where a thread needs only its neighbours' results".to_owned(),
        ],
    };
    Cause { summary, culprit, evidence: rows, remedies, ..found(ledger, meta, lost) }
}

fn thread_name(thread: &Thread) -> String {
    format!("thread {} ({})", thread.tid, thread.name)
}

#[cfg(test)]
mod sketches;
