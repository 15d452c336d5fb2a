//! How a lock costs time: held for long, taken too often, handed over to sleeping threads, or held by a thread that
//! waits.

use super::groups::Group;
use super::task_holders;
use crate::account::Ledger;
use crate::account::criticality::{Idle, SeenAt};
use crate::account::lines::Why;
use crate::account::pieces::Activity;
use crate::answer::{Culprit, Evidence, Unit};
use crate::causes::shared::blame::{by_weight, named, running};
use crate::causes::shared::evidence;
use crate::facts::Facts;
use crate::runtimes::Primitive;
use recording::ThreadId;
use std::collections::BTreeMap;

/// Threads that wait longer than this on average (nanoseconds) wait for the holder's work, not for the hand-over.
///
/// Decides: whether a lock is reported as held for long, or as taken too often.
/// From: chosen: ten times what a hand-over between threads takes, which is about 3 µs for its two context switches.
/// Shown by: `a_long_critical_section_is_named_by_what_the_holder_does`, `a_short_critical_section_is_taken_too_often`.
/// Wrong if: many threads queue for a lock that is held only briefly: each waits for all those before it, which looks
/// like a long critical section.
const LONG_WAIT_NS: f64 = 30_000.0;

/// When no thread ran for more than this share of the waiting, the code that ran cannot be the reason.
///
/// Decides: whether a lock is reported as a convoy, or as held by a thread that is itself waiting; and whether the answer says
/// what runs meanwhile.
/// From: the definition of a majority.
/// Shown by: `a_lock_that_is_handed_to_sleepers_is_a_convoy`, `a_holder_that_waits_itself_is_said`,
/// `what_hardly_runs_while_tasks_wait_for_a_lock_is_not_told`.
/// Wrong if: a program has two locks, one with a convoy and one that is held for long: the share is computed over both
/// together.
const MOST: f64 = 0.5;

/// How a lock costs time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The holder works for a long time while it holds it.
    Long,
    /// It is held for short times and taken often.
    Short,
    /// It is handed to sleeping threads: most of the time no thread runs, because the next holder is still waking up.
    Convoy,
    /// The holder itself waits for something.
    HolderWaits(Why),
    /// No thread sleeps for it.
    Awake,
}

/// How a lock costs time, with words and evidence.
#[derive(Debug, Clone)]
pub struct LockCost {
    /// The style.
    pub style: Style,
    /// What to add to the cause's sentence.
    pub words: Option<String>,
    /// Who held it, and what ran meanwhile.
    pub evidence: Vec<Evidence>,
}

fn of_lock(idle: Idle) -> bool {
    matches!(idle, Idle::Waiting(Activity::Blocked(Why::Lock) | Activity::Woken(Why::Lock)))
}

/// How the locks of a group cost time.
pub fn held<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, group: &Group<'_, 't>) -> LockCost {
    let meanwhile = &ledger.split.criticality;
    let holders = holders(ledger, group);
    let working = |at: &SeenAt| {
        let in_futex = at.syscall == Some(facts.model.numbers.futex);
        !in_futex
            && !matches!(facts.model.stacks.view(at.stack, false).primitive, Some(Primitive::Lock | Primitive::Pool))
    };
    let is_holder = |at: &SeenAt| holders.is_empty() || holders.iter().any(|(h, _)| *h == at.thread);
    let all: Vec<(SeenAt, f64)> = meanwhile.during(of_lock);
    let ran: Vec<(SeenAt, f64)> = all.iter().filter(|(at, _)| working(at) && is_holder(at)).copied().collect();
    let (weight, whole): (f64, f64) = (ran.iter().map(|r| r.1).sum(), all.iter().map(|r| r.1).sum());
    let charged: f64 = [Activity::Blocked(Why::Lock), Activity::Woken(Why::Lock)]
        .iter()
        .map(|k| ledger.split.charge_of(Idle::Waiting(*k)))
        .sum();
    let nobody: f64 = meanwhile.nobody.iter().filter(|(i, _)| of_lock(**i)).map(|(_, s)| s).sum();
    let of_tasks = task_holders::is_of_tasks(group);
    let task = task_holders::holder(facts, ledger, group).filter(|_| of_tasks);
    let style = match &task {
        Some(task) => Style::HolderWaits(task.why),
        // How long its thread needs to wake up says nothing of a task.
        None if of_tasks => length(group),
        None => style(ledger, group, if charged > 0.0 { nobody / charged } else { 0.0 }),
    };
    let mut rows = Vec::new();
    if let Some((holder, seconds)) = holders.first() {
        let name = ledger.traced.threads.get(holder).map_or("?", |t| t.name.as_str());
        let what = match holders.len() {
            1 => format!("time blocked while thread {name} held the lock"),
            n => format!("time blocked while thread {name} held the lock (most of {n} holders)"),
        };
        rows.push(evidence(what, *seconds, Unit::Seconds, "wakes"));
    }
    let who = running(facts, &ran, |_| None).map(|r| r.culprit);
    if let Some(who) = who.as_ref().filter(|_| whole > 0.0) {
        rows.push(evidence(
            format!(
                "share of what ran meanwhile: work of {}, most in {}",
                if holders.is_empty() { "other threads" } else { "the holder" },
                named(who)
            ),
            weight / whole,
            Unit::Share,
            "samples",
        ));
    }
    let words = match style {
        // The function that takes the lock is named already. What runs for a little of the waiting does not explain it.
        Style::Long => {
            who.filter(|w| !takes_it(group, w) && nobody <= MOST * charged).map(|w| match holders.is_empty() {
                true => format!("meanwhile mostly {} runs", named(&w)),
                false => format!("the holder works in {}", named(&w)),
            })
        }
        Style::Short => None,
        Style::Convoy => Some("most of the time nobody runs, because the next owner is still waking up".to_owned()),
        Style::Awake => None,
        Style::HolderWaits(why) => {
            let at = task.as_ref().map(|task| format!(", in {}", task.at)).unwrap_or_default();
            Some(format!("the holder itself waits for {} meanwhile{at}", meaning(why)))
        }
    };
    if let Some(task) = &task {
        let what = format!("looks at waiting tasks in which one waits in {}", task.at);
        rows.push(evidence(what, task.share, Unit::Share, "parked_tasks"));
    }
    if nobody > 0.0 && charged > 0.0 {
        rows.push(evidence(
            "share of the waiting in which nobody ran",
            (nobody / charged).min(1.0),
            Unit::Share,
            "slices",
        ));
    }
    LockCost { style, words, evidence: rows }
}

fn takes_it(group: &Group<'_, '_>, who: &Culprit) -> bool {
    let functions = group.views.iter().filter_map(|(view, _)| view.own.and_then(|c| c.name()));
    functions.into_iter().any(|name| Some(name) == who.function.as_deref())
}

/// Threads that held the lock when others began to wait, with the seconds blocked, most first. Empty when unknown.
fn holders<'t>(ledger: &Ledger<'_, 't>, group: &Group<'_, 't>) -> Vec<(ThreadId, f64)> {
    let mut holders: BTreeMap<ThreadId, f64> = BTreeMap::new();
    for wake in group.waits.iter().filter_map(|w| ledger.traced.wakes.get(&w.wait.wait)).flatten() {
        if let Some(holder) = wake.holder {
            *holders.entry(holder).or_default() += wake.blocked_ns as f64 * 1e-9;
        }
    }
    by_weight(holders)
}

fn style(ledger: &Ledger<'_, '_>, group: &Group<'_, '_>, nobody: f64) -> Style {
    if nobody > MOST {
        let beside = &ledger.split.criticality.beside_locks;
        let waking: f64 = beside.iter().filter(|(k, _)| matches!(k, Activity::Woken(Why::Lock))).map(|(_, s)| s).sum();
        let mut others: BTreeMap<Why, f64> = BTreeMap::new();
        for (kind, seconds) in beside {
            if let Activity::Blocked(
                why @ (Why::Io | Why::Poll | Why::Sleep | Why::Fault | Why::KernelLock | Why::Call),
            ) = kind
            {
                *others.entry(*why).or_default() += seconds;
            }
        }
        match by_weight(others).first() {
            Some((why, seconds)) if *seconds > waking => return Style::HolderWaits(*why),
            _ if waking > 0.0 => return Style::Convoy,
            _ => {}
        }
    }
    length(group)
}

/// Whether the lock is held for long or taken often, by how long threads wait for it.
fn length(group: &Group<'_, '_>) -> Style {
    match group.blocked_ns() > LONG_WAIT_NS * group.count() as f64 {
        true => Style::Long,
        false => Style::Short,
    }
}

fn meaning(why: Why) -> &'static str {
    match why {
        Why::Io => "a file or a device",
        Why::Poll => "a pipe, a socket or an event",
        Why::Sleep => "the clock (a sleep)",
        Why::Fault => "a page",
        Why::KernelLock => "a kernel lock",
        Why::Lock => "another lock",
        Why::Pool => "one of a few resources",
        Why::Condition => "work from another thread",
        _ => "a system call",
    }
}

/// What to try against a lock about which no runtime knows more.
pub fn remedies(style: Style) -> Vec<String> {
    let list: &[&str] = match style {
        Style::Long => &[
            "shorten what is done while the lock is held: prepare before, publish after, move input/output out",
            "divide what the lock protects: a lock per shard, or data per thread that is merged at the end",
        ],
        Style::Short => &[
            "take the lock less often: work in batches, or keep data per thread and merge it at the end",
            "divide what the lock protects: a lock per shard",
        ],
        Style::Convoy => &[
            "take the lock less often: each time it goes to a thread that sleeps, all wait until that thread runs",
            "let waiters spin for a moment before they sleep (an adaptive mutex), or use a lock that is not fair",
        ],
        Style::Awake => &[
            "take the lock less often: work in batches, or keep data per thread and merge it at the end",
            "divide what the lock protects: a lock per shard",
            "of a read-write lock, readers write the lock's own line too: publish data that is mostly read as a whole new copy \
             (RCU, an atomic pointer)",
        ],
        Style::HolderWaits(_) => &[
            "do not wait while holding the lock: read, write, sleep and allocate before or after",
            "divide what the lock protects, so that only those wait that need the same part",
        ],
    };
    list.iter().map(|r| (*r).to_owned()).collect()
}
