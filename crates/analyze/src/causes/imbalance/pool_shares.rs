//! Unequal tasks of a pool of threads.
//!
//! How much a thread of a pool has to do depends on the tasks that it takes. Threads that find no task left wait while
//! the last one is busy.

use crate::account::Ledger;
use crate::account::criticality::{Idle, SeenAt};
use crate::account::lines::Why;
use crate::account::pieces::Activity;
use crate::account::pool::{LargestShare, LargestTask, are_told_by_shares, largest_share, largest_task, pools};
use crate::answer::{Cause, Evidence, Unit};
use crate::causes::shared::blame::{
    Blamed, by_weight, culprit as blame_culprit, named, running, samples_of, sources, waits,
};
use crate::causes::shared::{Meta, evidence, found};
use crate::facts::Facts;
use crate::model::code::place;
use crate::model::tasks::start;
use crate::runtimes::Primitive;
use recording::ThreadId;
use std::collections::{BTreeMap, BTreeSet};

/// The others wait for a thread when more than half of their waiting falls into its running time. Of threads without a
/// task, those that wait for another one's part are told when theirs is more than half of the time.
///
/// Decides: whether the evidence names the thread with the large task, and whether threads are said to wait for a part or
/// for a task.
/// From: the definition of a majority.
/// Shown by: `a_task_that_is_larger_than_what_is_left_is_unequal_work`, `where_the_last_part_is_waited_for_is_told`.
/// Wrong if: a different thread has the last task in each round: no thread is named.
const MOST: f64 = 0.5;

/// How to disprove that the shares are unequal, where one thread or task has most of the work all the time.
pub(super) const DISPROVED: &str = "Give out the parts at random instead of by their key (even if the result is then wrong): if the \
                         time does not fall, the shares are not the cause.";

pub(super) fn no_task(idle: Idle) -> bool {
    matches!(idle, Idle::Waiting(Activity::Blocked(Why::Task) | Activity::Woken(Why::Task)))
}

/// The cause.
pub(super) fn explain<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, lost: (f64, f64), meta: &Meta) -> Cause {
    let traced = ledger.traced;
    let mut seen = ledger.split.criticality.during(no_task);
    seen.retain(|(at, _)| ledger.serial_code.function(at.stack).is_none());
    let all: f64 = seen.iter().map(|s| s.1).sum();
    let mut by_thread: BTreeMap<ThreadId, f64> = BTreeMap::new();
    for (at, weight) in &seen {
        *by_thread.entry(at.thread).or_default() += weight;
    }
    let one = by_weight(by_thread).into_iter().next().filter(|(_, weight)| *weight > MOST * all).map(|(t, _)| t);
    let mut culprit = running(facts, &seen, |_| None).map(|r| r.culprit);
    let at = culprit.as_ref().map(|c| format!(" in {}", named(c))).unwrap_or_default();
    let (mut threads, mut count, mut blocked) = (BTreeSet::new(), 0_u64, 0.0);
    let mut joined = 0.0;
    for (wait, _) in waits(ledger, |w| w == Why::Task) {
        let purpose = facts.model.stacks.view(wait.user_stack, wait.syscall.is_some()).primitive;
        threads.insert(wait.thread);
        count = count.saturating_add(wait.count);
        let seconds = wait.blocked_ns as f64 * 1e-9;
        blocked += seconds;
        joined += if purpose == Some(Primitive::Join) { seconds } else { 0.0 };
    }
    let mut rows = vec![
        evidence("threads without a task", threads.len() as f64, Unit::Of("threads"), "waits"),
        evidence("times one had none", count as f64, Unit::Of("waits"), "waits"),
        evidence("time without a task, all threads", blocked, Unit::Seconds, "waits"),
    ];
    if let Some(last) = one.and_then(|t| traced.threads.get(&t)) {
        let name = format!("CPU time of the thread that was busy then ({})", last.name);
        rows.push(evidence(name, last.running_ns as f64 * 1e-9, Unit::Seconds, "threads"));
    }
    if let Some(task) = largest_task(traced, &facts.model.stacks) {
        return unequal_tasks(facts, &task, &seen, rows, found(ledger, meta, lost));
    }
    if are_told_by_shares(traced, blocked * 1e9, count)
        && let Some(largest) = largest_share(traced, &pools(traced, &facts.model.stacks))
    {
        return unequal(facts, &largest, ledger, rows, found(ledger, meta, lost));
    }
    let mostly_joins = joined > MOST * blocked;
    // Where the work was divided. The stack of a pool's thread does not show that.
    let mut joins = sources(facts, ledger, |w| w == Why::Task, |_| false);
    joins.retain(|(view, _)| view.own.is_some() && view.primitive == Some(Primitive::Join));
    let joined = blame_culprit(&joins, Blamed::Own).filter(|joined| joined.function.is_some());
    let joins = joined.as_ref().map(|joined| format!(" in {}", place(&joined.site()))).unwrap_or_default();
    let divided = joined.as_ref().map(|joined| format!("; {} waits for it", place(&joined.site()))).unwrap_or_default();
    if let (Some(culprit), Some(joined)) = (&mut culprit, joined)
        && culprit.callers.iter().all(|caller| caller.function != joined.function)
    {
        culprit.callers.push(joined.site());
    }
    Cause {
        summary: match mostly_joins {
            true if threads.len() < 2 => {
                format!("A thread that has done its part waits{joins} for another one, which is still busy{at}.")
            }
            true => format!("Threads that have done their part wait{joins} for another one, which is still busy{at}."),
            false => format!("Threads of a pool have no task left while another one is still busy{at}{divided}."),
        },
        culprit,
        evidence: rows,
        remedies: vec![
            "start the largest tasks first, so that small ones fill the gaps at the end".to_owned(),
            "cut the largest tasks into several".to_owned(),
            "where tasks are given out in rounds, do not wait for all of a round: give a free thread one of the next"
                .to_owned(),
        ],
        ..found(ledger, meta, lost)
    }
}

/// What is said where one thread of the pool gets most of the work in the whole run.
fn unequal<'t>(
    facts: &Facts<'_, 't>,
    largest: &LargestShare,
    ledger: &Ledger<'_, 't>,
    mut rows: Vec<Evidence>,
    cause: Cause,
) -> Cause {
    let thread = largest.busiest.thread;
    let culprit = running(facts, &samples_of(ledger, thread), |_| None).map(|r| r.culprit);
    let at = culprit.as_ref().map(|c| format!(": {}", named(c))).unwrap_or_default();
    let has_work = largest.busiest.has_work.min(1.0);
    rows.push(evidence("share of the time in which the busiest has work", has_work, Unit::Share, "slices"));
    Cause {
        summary: format!(
            "One of {} threads that do the same work has most of it: it is busy {:.0} % of the time, and the others wait{at}.",
            largest.pool.len(),
            has_work * 100.0
        ),
        culprit,
        evidence: rows,
        remedies: vec![
            "let any free thread take the next task: one queue for all, or threads that take from the longest queue"
                .to_owned(),
            "where tasks are given to threads by a key, divide the most frequent key further, or by another key"
                .to_owned(),
        ],
        disproved_by: DISPROVED.to_owned(),
        ..cause
    }
}

/// What is said where one task of a scheduler gets most of the work in the whole run. `seen`: what runs meanwhile.
fn unequal_tasks<'t>(
    facts: &Facts<'_, 't>,
    task: &LargestTask<'t>,
    seen: &[(SeenAt, f64)],
    mut rows: Vec<Evidence>,
    cause: Cause,
) -> Cause {
    let of_it = |(at, _): &&(SeenAt, f64)| start(&facts.model.stacks, at.stack) == Some(task.start);
    let of_it: Vec<(SeenAt, f64)> = seen.iter().filter(of_it).copied().collect();
    let culprit = running(facts, &of_it, |_| None).map(|r| r.culprit);
    let at = culprit.as_ref().map(|c| format!(": {}", named(c))).unwrap_or_default();
    rows.push(evidence("share of the time in which the largest runs", task.runs, Unit::Share, "samples"));
    rows.push(evidence("share of the time in which the next one runs", task.next, Unit::Share, "samples"));
    Cause {
        summary: format!(
            "One of {} goroutines that do the same work has most of it: it runs for {:.0} % of the time, the next one for \
             {:.0} %, and the others wait{at}.",
            task.tasks,
            task.runs * 100.0,
            task.next * 100.0
        ),
        culprit,
        evidence: rows,
        remedies: vec![
            "let any free goroutine take the next part: one channel for all of them".to_owned(),
            "where parts are given to goroutines by a key, divide the most frequent key further, or by another key"
                .to_owned(),
        ],
        disproved_by: DISPROVED.to_owned(),
        ..cause
    }
}
