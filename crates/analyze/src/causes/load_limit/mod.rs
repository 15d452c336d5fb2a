//! `load-limit`: the server waited for requests of its load.
//!
//! Evidence: processors were idle while threads of the server waited at sockets and events during the load; and how
//! busy the load itself was.
//!
//! May import: `account`, `answer`, `curve`, `facts`, `load`, `model`, `shared`, `statistics`, `words`.

use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{CauseId, Condition, Unit};
use crate::causes::shared::{self, Meta, Outcome, evidence};
use crate::curve::seconds;
use crate::facts::{Facts, large};
use crate::load::processors_taken;
use crate::model::requests::requests;
use crate::statistics::MIN_SHARE;
use crate::words::{percent, two_digits};

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const LOAD_LIMIT: CauseId = CauseId::new("load-limit");
}

/// A load generator that runs for this share of the time on each of its processors cannot send more requests.
///
/// Decides: whether the load generator is reported as the limit, or as one that simply asks for little.
/// From: chosen: the rest is what a program that never waits loses to context switches and interrupts.
/// Shown by: `a_busy_load_is_the_limit`, `a_load_that_asks_for_little_is_told_so`.
/// Wrong if: other programs take the load generator's processors for a tenth of the time: a generator at its limit is
/// then reported as one that asks for little.
const BUSY: f64 = 0.9;

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::LOAD_LIMIT,
    colour: "#a9c0b5",
    title: "Waiting for the load",
    what: "The server's threads waited for the next request of the load.",
    why: "What asks for work sets the pace: the server could do more than it was asked for.",
    example: "A server measured by a client with one connection.",
    disproved_by: "Let more clients ask, or give the load more processors: if the throughput stays, the load is not the limit.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Request) => "waiting for the next request",
            _ => return None,
        })
    },
    hides_in: &[],
    may_be_in: &[],
    standing: shared::Standing::OutsidePace,
    places: shared::NO_PLACES,
    removal: shared::Removal::Unknown,
    samples_needed: shared::UNSEEN,
    judge,
};

fn judge(facts: &Facts<'_, '_>, meta: &Meta) -> Outcome {
    for ledger in facts.in_order() {
        let (waited, _) = meta.charged(ledger);
        if large(ledger, waited) {
            return Outcome::Outside(condition(facts, ledger, waited, meta));
        }
    }
    Outcome::Nothing
}

/// The condition for a server that already ran: it is not known what asks it for work.
fn attached(ledger: &Ledger<'_, '_>, waited: f64, meta: &Meta) -> Condition {
    let share = waited / ledger.account.capacity.max(f64::MIN_POSITIVE);
    // Where requests are counted, replies of other services are a line of their own.
    let what = match requests(ledger.traced) {
        Some(_) => "requests",
        None => "requests, or for replies of other services,",
    };
    let (summary, next) = match counted(ledger) {
        Some(many) => (held_back(&percent(share), &format!("at least {}", two_digits(many))), INSIDE),
        None => (format!("the server waited for {what} for {} of the processor time", percent(share)), ATTACHED),
    };
    Condition {
        id: meta.id,
        threads: ledger.account.threads,
        seconds: Some(waited),
        share: Some(share),
        by: Vec::new(),
        summary,
        evidence: Vec::new(),
        remedies: vec![next.to_owned()],
    }
}

/// How many requests were under way at a time, as far as the server knows of them, if they could keep all processors
/// busy: the requests per second times the seconds that each takes (Little's law). A request begins when the server reads
/// it; there may be more that it has not read yet.
fn counted(ledger: &Ledger<'_, '_>) -> Option<f64> {
    let found = requests(ledger.traced)?;
    Some(found.per_second * found.seconds).filter(|many| *many >= f64::from(ledger.traced.processors()))
}

fn held_back(percent: &str, many: &str) -> String {
    format!(
        "threads of the server waited at sockets or events for {percent} of the processor time, while {many} requests at a time \
         were under way: something in the server, or another service, holds these back"
    )
}

fn condition(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>, waited: f64, meta: &Meta) -> Condition {
    if !ledger.traced.loaded() {
        return attached(ledger, waited, meta);
    }
    let threads = ledger.account.threads;
    let tables = &facts.model.tables.meta;
    let ran = facts.clean.median(threads, processors_taken).unwrap_or(0.0);
    let had = facts.clean.median(threads, |run| run.load_threads.map_or(f64::NAN, f64::from)).unwrap_or(1.0);
    let pinned = tables.load.as_ref().map_or(0, |load| load.processors.len());
    let room = if pinned > 0 { pinned as f64 } else { f64::from(tables.machine.usable_processors) };
    // A load with one thread can use one processor, however many there are.
    let most = had.min(room).max(1.0);
    let share = waited / ledger.account.capacity.max(f64::MIN_POSITIVE);
    let busy = ran >= BUSY * most;
    let ran_on = format!("{} of {}", two_digits(ran), processors(most));
    let (waited_for, percent) = ("the server waited for the load's requests for", percent(share));
    // Requests per second × seconds per request = requests under way at a time (Little's law).
    let under_way = facts.clean.median(threads, |run| {
        let latency = run.latency_median_ns.map_or(f64::NAN, seconds);
        run.throughput.unwrap_or(f64::NAN) * latency
    });
    let could = f64::from(ledger.traced.processors());
    // A load that waits for processors is itself late: the number of requests under way then says nothing about the
    // server.
    let others = facts.clean.median(threads, |run| {
        run.foreign_ns.map_or(0.0, seconds)
            / (seconds(run.wall_ns) * f64::from(tables.machine.usable_processors.max(1)))
    });
    let told = under_way.filter(|number| number.is_finite() && (*number < could || others.unwrap_or(0.0) < MIN_SHARE));
    let (summary, next) = match (busy, told, counted(ledger)) {
        (true, ..) => (
            format!(
                "the load is the limit: it was busy all the time ({ran_on} that its threads can use), while {waited_for} {percent} \
                 of the processor time",
                waited_for = waited_for.replace("the load's", "its")
            ),
            LARGER,
        ),
        (false, Some(few), _) if few < could => (
            format!(
                "{waited_for} {percent} of the processor time, and the load, which ran on {ran_on}, asked for no more: {} requests \
                 at a time",
                two_digits(few)
            ),
            MORE,
        ),
        (false, Some(many), _) => (held_back(&percent, &two_digits(many)), INSIDE),
        (false, None, Some(many)) => (held_back(&percent, &format!("at least {}", two_digits(many))), INSIDE),
        (false, None, None) => (
            format!(
                "{waited_for} {percent} of the processor time, and the load, which ran on {ran_on}, asked for no more, or waited \
                 itself: for answers, or for a processor"
            ),
            MORE,
        ),
    };
    Condition {
        id: meta.id,
        threads,
        seconds: Some(waited),
        share: Some(share),
        by: Vec::new(),
        summary,
        evidence: vec![
            evidence("processors that the load ran on, in the timed runs", ran, Unit::Of("processors"), "runs"),
            evidence("threads of the load", had, Unit::Of("threads"), "runs"),
        ],
        remedies: vec![next.to_owned()],
    }
}

/// What to do, by how busy the load was.
const LARGER: &str =
    "give the load more threads, and processors of its own (--load-processors), or let it run on another machine";
const MORE: &str =
    "let it ask for more at a time, by more connections or clients: --param clients=4,16,64 with {clients} in --load";
const ATTACHED: &str = "knee sweep --load 'COMMAND' -- SERVER tells whether the load or the server is the limit";
const INSIDE: &str = "look at the waits of the tasks, coroutines or other services that requests go through";

fn processors(most: f64) -> String {
    if most > 1.0 { format!("{most:.0} processors") } else { "the one processor".to_owned() }
}

#[cfg(test)]
mod sketches;
