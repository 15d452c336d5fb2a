//! `service-wait`: the server waited for replies of a service that it asked, or for the clock, inside requests.
//!
//! Evidence: processors were idle while threads waited at sockets, and data from the service ended these waits; how much
//! of the requests' time passes between asking the service and its reply.
//!
//! May import: `account`, `answer`, `facts`, `model`, `shared`, `words`.

use crate::account::lines::Why;
use crate::account::{Ledger, LineId};
use crate::answer::{CauseId, Condition, Requests, ServiceReplies, Site, Unit};
use crate::causes::shared::blame::{Blamed, culprit, named, sources, waits};
use crate::causes::shared::{self, Meta, Outcome, duration, evidence};
use crate::facts::{Facts, large};
use crate::model::code::place;
use crate::model::requests::{called, requests};
use crate::words::percent;

impl CauseId {
    #[expect(missing_docs, reason = "the cause says what it is")]
    pub const SERVICE_WAIT: CauseId = CauseId::new("service-wait");
}

/// The cause.
pub const META: Meta = Meta {
    id: CauseId::SERVICE_WAIT,
    colour: "#9fb0a0",
    title: "Waiting for another service",
    what: "The server's threads waited for replies of a service that they had asked, such as a database.",
    why: "Each request takes as long as the slowest service that it needs, however many processors there are.",
    example: "A web server whose every request asks a database.",
    disproved_by: "Let the service answer at once, from a cache or a stub: if the requests take as long, it is not the cause.",
    lines: |id| {
        Some(match id {
            LineId::Blocked(Why::Reply) => "waiting for other services",
            LineId::Blocked(Why::Pause) => "sleeping in requests",
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

fn condition<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, waited: f64, meta: &Meta) -> Condition {
    let share = waited / ledger.account.capacity.max(f64::MIN_POSITIVE);
    let of = |reason: Why| waits(ledger, |why| why == reason).map(|(_, seconds)| seconds).sum::<f64>();
    if of(Why::Pause) > of(Why::Reply) {
        return pause(facts, ledger, (waited, share), meta);
    }
    let found = requests(ledger.traced);
    let first = found.as_ref().and_then(|found| Some((found, found.services.first()?)));
    let who = culprit(&sources(facts, ledger, |why| why == Why::Reply, |_| false), Blamed::Own);
    let site = who.as_ref().and_then(|who| who.callers.first());
    let at = site.map(|site: &Site| format!(", called from {}", place(site))).unwrap_or_default();
    let name = first.map_or_else(|| "other services".to_owned(), |(_, s)| called(&s.address, s.program.as_deref()));
    let each = first.map(|(all, service)| of_each(all, service)).unwrap_or_default();
    let mut rows = Vec::new();
    if let Some((all, service)) = first {
        rows.push(evidence("requests answered", all.count as f64, Unit::Of("requests"), "peers"));
        let replies = service.replies_per_request * all.count as f64;
        rows.push(evidence(format!("replies of {name}"), replies, Unit::Of("replies"), "peers"));
        let mean = service.seconds * 1e6;
        rows.push(evidence("from asking until the reply began, mean", mean, Unit::Microseconds, "peers"));
    }
    Condition {
        id: meta.id,
        threads: ledger.account.threads,
        seconds: Some(waited),
        share: Some(share),
        by: first.map(|_| name.clone()).into_iter().collect(),
        summary: format!(
            "the server waited for replies of {name} for {} of the processor time{at}{each}",
            percent(share)
        ),
        evidence: rows,
        remedies: vec![
            "ask for less, or for several things at once; keep what is asked for again and again".to_owned(),
            "look at the service itself: knee record -p PID tells what it does meanwhile".to_owned(),
        ],
    }
}

/// Requests that sleep, each in a task of its own.
fn pause<'t>(facts: &Facts<'_, 't>, ledger: &Ledger<'_, 't>, (waited, share): (f64, f64), meta: &Meta) -> Condition {
    let who = culprit(&sources(facts, ledger, |why| why == Why::Pause, |_| false), Blamed::Own);
    let at = who.as_ref().map(|who| format!(" in {}", named(who))).unwrap_or_default();
    Condition {
        id: meta.id,
        threads: ledger.account.threads,
        seconds: Some(waited),
        share: Some(share),
        by: Vec::new(),
        summary: format!("the processors were idle for {} of the time while requests slept{at}", percent(share)),
        evidence: Vec::new(),
        remedies: vec![
            "let the load ask for more at a time: if no more requests are answered, the sleep is the limit".to_owned(),
        ],
    }
}

/// How long each request waits for a service, in words. A request that asks several times at once waits for less than the
/// sum of the replies' times.
fn of_each(all: &Requests, service: &ServiceReplies) -> String {
    match service.share <= 1.0 {
        true => format!(
            "; of the {} of each request, {} wait for them",
            duration(all.seconds),
            duration(service.share * all.seconds)
        ),
        false => String::new(),
    }
}

#[cfg(test)]
mod sketches;
